/// One line of a sequence diagram.
struct Arrow: Sendable {
    let from: String
    let to: String
    /// In the words of the diagrams of Alpha.9.
    let what: String
    /// It comes later, on its own; otherwise it is a call or what the call returns.
    var isDeferred = false

    /// As Mermaid writes it.
    var mermaid: String { "\(from)\(isDeferred ? "-->>" : "->>")\(to): \(what)" }

    /// As a person reads it.
    var text: String {
        let line = isDeferred ? "┄┄▶" : "──▶"
        func padded(_ name: String) -> String { name + String(repeating: " ", count: max(0, 14 - name.count)) }
        return "\(padded(from))\(line) \(padded(to))\(what)"
    }
}
