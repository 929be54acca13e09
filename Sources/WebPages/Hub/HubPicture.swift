import PluginHub

/// A layout as inline SVG. The page defines colours and line styles.
struct HubPicture {
    let layout: HubLayout

    init(_ layout: HubLayout) { self.layout = layout }

    var svg: HTML {
        """
        <svg class="map" viewBox="0 0 \(layout.width) \(layout.height)" width="\(layout.width)" height="\(layout.height)">
        <g>\(layout.lines.map(line).joined())\(layout.stubs.map(stub).joined())</g>
        <g>\(layout.boxes.map(box).joined())</g>
        </svg>
        """
    }

    /// A short arrow of a kind, for the legend.
    static func sample(_ kind: MessageKind) -> HTML {
        """
        <path class="stroke" d="M4 6H28"/>\(head(x: 36, y: 6, pointsLeft: false))\(origin(kind, x: 4, y: 6))
        """
    }

    private func box(_ box: HubLayout.Box) -> HTML {
        let name = HubLayout.shortened(box.plugin.label, to: 26)
        let full: HTML = name == box.plugin.label ? "" : "<title>\(box.plugin.label)</title>"
        return """
            <a class="box" href="#plugin-\(box.plugin.id)" data-plugin="\(box.plugin.id)">\(full)\
            <rect x="\(box.left)" y="\(box.top)" width="\(box.width)" height="\(box.height)" rx="12"/>\
            <text x="\((box.left + box.right) / 2)" y="\(box.middle + 5)">\(name)</text></a>

            """
    }

    private func line(_ line: HubLayout.Line) -> HTML {
        guard let first = line.segments.first, let last = line.segments.last else { return "" }
        let start = first.start + (line.pointsLeft ? 8 : 0)
        let end = last.end - (line.pointsLeft ? 0 : 8)
        var path: HTML = "M\(start) \(first.y)"
        for (here, next) in zip(line.segments, line.segments.dropFirst()) {
            let bend = (next.start - here.end) / 2
            path +=
                "H\(here.end)C\(here.end + bend) \(here.y) \(next.start - bend) \(next.y) \(next.start) \(next.y)"
        }
        path += "H\(end)"
        let from = line.pointsLeft ? (last.end, last.y) : (first.start, first.y)
        let to = line.pointsLeft ? (first.start, first.y) : (last.end, last.y)
        return """
            \(opening(line.arrow, isOpen: false))<path class="hit"\(Self.pathData(path))/><path class="stroke"\(Self.pathData(path))/>\
            \(Self.head(x: to.0, y: to.1, pointsLeft: line.pointsLeft))\(Self.origin(line.arrow.kind, x: from.0 + (line.pointsLeft ? -4 : 4), y: from.1))\
            \(label(line.label))</g>

            """
    }

    private func stub(_ stub: HubLayout.Stub) -> HTML {
        let side = stub.isRight ? 1.0 : -1.0
        let far = stub.x + side * HubLayout.stubLength
        let (x, y) = (stub.x, stub.y)
        var drawing: HTML
        switch stub.shape {
        case .loop:
            drawing = """
                <path class="stroke" d="M\(x) \(y - 6)H\(far - 6)a6 6 0 0 1 0 12H\(x + 8)"/>\
                \(Self.head(x: x, y: y + 6, pointsLeft: true))
                """
        case .open:
            let pointsAway = stub.arrow.to == nil
            drawing = """
                <path class="stroke" d="M\(x + (pointsAway ? 0 : side * 8)) \(y)H\(far - side * 4)"/>\
                <circle class="open" cx="\(far)" cy="\(y)" r="4"/>
                """
            if !pointsAway { drawing += Self.head(x: x, y: y, pointsLeft: stub.isRight) }
        }
        return
            "\(opening(stub.arrow, isOpen: stub.shape == .open, at: stub.plugin))\(drawing)\(label(stub.label))</g>\n"
    }

    /// The start of the group around an arrow. Its title lists all messages.
    private func opening(_ arrow: HubGraph.Arrow, isOpen: Bool, at plugin: HubGraph.Plugin.ID? = nil) -> HTML {
        let ends = Set([arrow.from, arrow.to, plugin].compactMap { $0 }).sorted().map(String.init).joined(
            separator: " ")
        let words = arrow.messages.joined(separator: "\n")
        return """
            <g class="line \(arrow.kind.className)\(" open-ended", when: isOpen)\(" needed", when: isOpen && arrow.lacksCallee)" \
            data-ends="\(ends)" data-words="\(words.lowercased())"><title>\(title(arrow))</title>
            """
    }

    private func title(_ arrow: HubGraph.Arrow) -> String {
        func name(_ plugin: HubGraph.Plugin.ID?) -> String {
            plugin.map { layout.boxes[$0].plugin.label } ?? "no plugin"
        }
        return "\(arrow.kind.title), \(name(arrow.from)) to \(name(arrow.to)):\n"
            + arrow.messages.joined(separator: "\n")
    }

    private func label(_ label: HubLayout.Label) -> HTML {
        "<text x=\"\(label.x)\" y=\"\(label.y)\"\(" class=\"ends-here\"", if: label.endsHere)>\(label.text)</text>"
    }

    private static func pathData(_ path: HTML) -> HTML { " d=\"" + path + "\"" }

    private static func head(x: Double, y: Double, pointsLeft: Bool) -> HTML {
        let back = pointsLeft ? x + 9 : x - 9
        return "<path class=\"head\" d=\"M\(x) \(y)L\(back) \(y - 4.5)V\(y + 4.5)Z\"/>"
    }

    /// The symbol at the start of a query: a ring or a square, so that queries differ not only in colour.
    private static func origin(_ kind: MessageKind, x: Double, y: Double) -> HTML {
        switch kind {
        case .query: "<circle class=\"origin\" cx=\"\(x)\" cy=\"\(y)\" r=\"3.5\"/>"
        case .viewQuery: "<rect class=\"origin\" x=\"\(x - 3.5)\" y=\"\(y - 3.5)\" width=\"7\" height=\"7\"/>"
        case .command, .event: ""
        }
    }
}

extension HubGraph.Arrow {
    /// Whether no plugin receives the messages, or publishes the event. Only that is an error: a sender or subscriber
    /// may be missing.
    var lacksCallee: Bool { sides.callee == nil }
}
