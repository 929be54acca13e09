/// The four ways to say something through the hub.
public enum MessageKind: String, Sendable, Codable, CaseIterable {
    /// Do something. One way: refusals are thrown, results come as events.
    case command
    /// Read something that is known already.
    case query
    /// Give me a screen.
    case viewQuery
    /// Tell me when something happens.
    case event

    /// As in a sentence.
    var noun: String { self == .viewQuery ? "view query" : rawValue }

    /// With its article.
    var phrase: String { self == .event ? "an event" : "a \(noun)" }
}
