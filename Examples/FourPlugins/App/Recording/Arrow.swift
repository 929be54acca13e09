/// One line of a sequence diagram.
struct Arrow: Sendable {
    let from: String
    let to: String
    /// The text, in the form of the diagrams of the hub's version Alpha.9.
    let what: String
    /// Whether the arrow is an event or a response of the server; otherwise it is a call, its result or a plugin's
    /// action.
    var isDeferred = false

    /// The arrow in Mermaid's syntax.
    var mermaid: String { "\(from)\(isDeferred ? "-->>" : "->>")\(to): \(what)" }

    /// The arrow as text.
    var text: String {
        let line = isDeferred ? "┄┄▶" : "──▶"
        func padded(_ name: String) -> String { name + String(repeating: " ", count: max(0, 14 - name.count)) }
        return "\(padded(from))\(line) \(padded(to))\(what)"
    }
}
