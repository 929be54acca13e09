extension HubGraph {
    /// The graph in Graphviz's DOT language; `dot -Tsvg` draws it.
    ///
    /// Nodes are called as the plugins. A solid arrow is a command, a bold one a query, a bold one with a ring a view
    /// query, a dashed one an event. A message whose other end is missing ends at a point, in red. With more than
    /// 150 arrows they are straight, and Graphviz is told to look less long for the best places.
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
                    let name = freeName("nobody \(number)")
                    lines.append("    \(Self.quoted([name])) [shape=point, label=\"\", color=\"#c0392b\"];")
                    ends.append(Self.quoted([name]))
                    attributes.append("color=\"#c0392b\", fontcolor=\"#c0392b\"")
                }
            }
            lines.append("    \(ends.joined(separator: " -> ")) [\(attributes.joined(separator: ", "))];")
        }
        return lines.joined(separator: "\n") + "\n}\n"
    }

    /// Sixty plugins with 360 arrows took Graphviz a minute with curves, and half a second with lines.
    private static let mostCurves = 150

    /// `name`, made longer until no plugin has it.
    private func freeName(_ name: String) -> String {
        let taken = Set(plugins.map(\.label))
        var name = name
        while taken.contains(name) { name += "'" }
        return name
    }

    /// A string in quotes, one line for each of `lines`. Graphviz reads backslashes and character references in labels,
    /// so both are written as what they are.
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
