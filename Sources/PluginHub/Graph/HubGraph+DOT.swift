extension HubGraph {
    /// Returns the graph in Graphviz's DOT language, which `dot -Tsvg` draws.
    ///
    /// Nodes have the names of the plugins. Commands are solid arrows, queries are bold arrows, view queries are bold
    /// arrows with a ring, and events are dashed arrows. A message without a sender or receiver begins or ends at a red
    /// point. With more than 150 arrows, arrows are straight and Graphviz spends less time on the layout.
    public func dot() -> String {
        var lines = [
            "digraph hub {", "    rankdir=LR;", "    charset=\"UTF-8\";",
            "    node [shape=box, style=rounded, fontname=\"Helvetica\"];",
            "    edge [fontname=\"Helvetica\", fontsize=10];",
        ]
        if arrows.count > Self.mostCurves { lines.append("    splines=line; nslimit=1; nslimit1=1;") }
        lines += plugins.map { "    \(Self.quoted([$0.label])) [label=\(Self.quoted([$0.label]))];" }
        for (number, arrow) in arrows.enumerated() {
            var attributes = ["label=\(Self.quoted(arrow.messages))", arrow.kind.dotStyle]
            var ends: [String] = []
            for end in [arrow.from, arrow.to] {
                if let end {
                    ends.append(Self.quoted([plugins[end].label]))
                } else {
                    let name = freeName("missing \(number)")
                    lines.append("    \(Self.quoted([name])) [shape=point, label=\"\", color=\"#c0392b\"];")
                    ends.append(Self.quoted([name]))
                    attributes.append("color=\"#c0392b\", fontcolor=\"#c0392b\"")
                }
            }
            lines.append("    \(ends.joined(separator: " -> ")) [\(attributes.joined(separator: ", "))];")
        }
        return lines.joined(separator: "\n") + "\n}\n"
    }

    /// The greatest number of arrows that are drawn as curves. For sixty plugins with 360 arrows, Graphviz took a
    /// minute with curves, and half a second with straight lines.
    private static let mostCurves = 150

    /// Returns `name`, extended until no plugin has it.
    private func freeName(_ name: String) -> String {
        let taken = Set(plugins.map(\.label))
        var name = name
        while taken.contains(name) { name += "'" }
        return name
    }

    /// Returns a quoted string with one line for each of `lines`. Escapes backslashes and character references, which
    /// Graphviz would interpret in labels.
    private static func quoted(_ lines: [String]) -> String {
        let escaped = lines.map { line in
            line.unicodeScalars.reduce(into: "") { out, scalar in
                switch scalar {
                case "\"": out += "\\\""
                case "\\": out += "\\\\"
                case "&": out += "&amp;"
                case _ where scalar.breaksLines: out += "\u{FFFD}"
                default: out.unicodeScalars.append(scalar)
                }
            }
        }
        return "\"\(escaped.joined(separator: "\\n"))\""
    }
}

extension MessageKind {
    fileprivate var dotStyle: String {
        switch self {
        case .command: "style=solid"
        case .query: "style=bold"
        case .viewQuery: "style=bold, arrowhead=odot"
        case .event: "style=dashed"
        }
    }
}
