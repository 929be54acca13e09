/// The kind of a message.
public enum MessageKind: String, Sendable, Codable, CaseIterable {
    /// Starts an action and returns nothing. A refusal is thrown; results are events.
    case command
    /// Returns known data.
    case query
    /// Returns a screen.
    case viewQuery
    /// Reports that something happened.
    case event

    /// The kind as a noun.
    var noun: String { self == .viewQuery ? "view query" : rawValue }

    /// The noun with its article.
    var phrase: String { self == .event ? "an event" : "a \(noun)" }
}
