extension HubGraph {
    /// Returns the graph as a Mermaid flowchart, which GitHub and many documentation tools draw.
    ///
    /// Commands are solid arrows, queries are thick arrows, view queries are thick arrows with a ring, and events are
    /// dotted arrows. A message without a sender or receiver begins or ends at a node with the label "nobody".
    public func mermaid() -> String {
        var lines = ["flowchart LR"]
        lines += plugins.map { "    p\($0.id)[\"\(Self.mermaid($0.label))\"]" }
        var arrowLines: [String] = []
        var missingPlugins: [String] = []
        for arrow in arrows {
            let messages = arrow.messages.map(Self.mermaid).joined(separator: "<br/>")
            let from = arrow.from.map { "p\($0)" } ?? missingPlugin("i", connectedTo: arrow.to)
            let to = arrow.to.map { "p\($0)" } ?? missingPlugin("o", connectedTo: arrow.from)
            arrowLines.append("    \(from) \(arrow.kind.mermaidArrow)|\"\(messages)\"| \(to)")
            missingPlugins += [arrow.from == nil ? from : nil, arrow.to == nil ? to : nil].compactMap { $0 }
        }
        let missing = "nobody"
        lines += missingPlugins.unique.map { "    \($0)([\"\(missing)\"]):::\(missing)" }
        lines += arrowLines
        if !missingPlugins.isEmpty { lines.append("    classDef \(missing) stroke-dasharray: 4 3") }
        return lines.joined(separator: "\n") + "\n"
    }

    private func missingPlugin(_ prefix: String, connectedTo plugin: Plugin.ID?) -> String { "\(prefix)\(plugin ?? 0)" }

    /// Escapes every ASCII character except letters, digits, spaces and `._-/`, so that Mermaid does not interpret
    /// quotes and markup.
    private static func mermaid(_ name: String) -> String {
        var out = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-", "/", " ": out.unicodeScalars.append(scalar)
            case _ where scalar.isASCII || scalar.breaksLines: out += "#\(scalar.value);"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }
}

extension MessageKind {
    fileprivate var mermaidArrow: String {
        switch self {
        case .command: "-->"
        case .query: "==>"
        case .viewQuery: "==o"
        case .event: "-.->"
        }
    }
}

extension Unicode.Scalar {
    /// Whether the character is a control character or ends a line in Unicode.
    var breaksLines: Bool { value < 0x20 || (0x7F...0x9F).contains(value) || value == 0x2028 || value == 0x2029 }
}
