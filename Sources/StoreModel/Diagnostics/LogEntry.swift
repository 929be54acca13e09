import Primitives

/// One line for a log: a store's event, or a question of a purchase client to one of its plugins.
///
/// An app sends entries wherever it logs:
///
///     configuration.log = { entry in print("\(entry.level.rawValue) \(entry.category): \(entry.message)") }
///
/// On Apple's systems they go to the unified log by default, and nowhere elsewhere.
public struct LogEntry: Hashable, Sendable {
    /// How much it matters, by the names of Apple's unified log; an open set.
    public typealias Level = OpenEnum<LogEntry>

    /// How much it matters.
    public var level: Level
    /// The part of the SDK that it is about, such as `InAppStore`.
    public var category: String
    /// Codes and names of plugins and operations. It identifies no customer and may be kept.
    public var message: String
    /// The rest, such as products, transactions and sentences of errors. It is private in the unified log, and not to be
    /// sent anywhere without the customer's consent.
    public var detail: String?

    /// Creates an entry.
    public init(_ level: Level, category: String, _ message: String, detail: String? = nil) {
        self.level = level
        self.category = category
        self.message = message
        self.detail = detail
    }
}

extension LogEntry {
    /// Returns the log that a store and a purchase client write to by default: the unified log on Apple's systems, `nil`
    /// elsewhere.
    public static func systemLog() -> (@Sendable (LogEntry) -> Void)? {
        #if canImport(os)
            let log = SystemLog()
            return { log.write($0) }
        #else
            return nil
        #endif
    }
}

extension LogEntry.Level {
    /// Of use while looking for a fault.
    public static var debug: Self { Self(rawValue: "debug") }
    /// Nothing went wrong.
    public static var info: Self { Self(rawValue: "info") }
    /// Something did not work, and nothing is lost.
    public static var error: Self { Self(rawValue: "error") }
    /// A customer may not get what they paid for.
    public static var fault: Self { Self(rawValue: "fault") }
}
