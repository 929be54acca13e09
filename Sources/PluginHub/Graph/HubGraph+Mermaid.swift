extension HubGraph {
    /// The graph as a Mermaid flowchart, which GitHub and many documentation tools draw.
    ///
    /// A solid arrow is a command, a thick one a query, a thick one with a ring a view query, a dotted one an event. A
    /// message whose other end is missing goes to or comes from a node called "nobody".
    public func mermaid() -> String {
        var lines = ["flowchart LR"]
        lines += plugins.map { "    p\($0.id)[\"\(Self.mermaid($0.label))\"]" }
        var arrowLines: [String] = []
        var strangers: [String] = []
        for arrow in arrows {
            let messages = arrow.messages.map(Self.mermaid).joined(separator: "<br/>")
            let from = arrow.from.map { "p\($0)" } ?? stranger("i", besides: arrow.to)
            let to = arrow.to.map { "p\($0)" } ?? stranger("o", besides: arrow.from)
            arrowLines.append("    \(from) \(arrow.kind.mermaidArrow)|\"\(messages)\"| \(to)")
            strangers += [arrow.from == nil ? from : nil, arrow.to == nil ? to : nil].compactMap { $0 }
        }
        lines += strangers.unique.map { "    \($0)([\"nobody\"]):::nobody" }
        lines += arrowLines
        if !strangers.isEmpty { lines.append("    classDef nobody stroke-dasharray: 4 3") }
        return lines.joined(separator: "\n") + "\n"
    }

    private func stranger(_ prefix: String, besides plugin: Plugin.ID?) -> String { "\(prefix)\(plugin ?? 0)" }

    /// Anything of ASCII that is not part of plain words as a character code: quotes, markup and Mermaid's own marks are
    /// then text, whatever they would have meant.
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
    /// Control characters and what Unicode counts as the end of a line.
    var breaksLines: Bool { value < 0x20 || (0x7F...0x9F).contains(value) || value == 0x2028 || value == 0x2029 }
}
