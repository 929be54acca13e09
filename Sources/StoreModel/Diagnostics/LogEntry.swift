import Primitives

/// A line for a log: an event of a store, or a call of a purchase client to one of its plugins.
///
/// An app can send entries to any log:
///
///     configuration.log = { entry in print("\(entry.level.rawValue) \(entry.category): \(entry.message)") }
///
/// By default, entries go to the unified log on Apple's systems, and nowhere on other systems.
public struct LogEntry: Hashable, Sendable {
    /// A severity with the name of a level of Apple's unified log, from an open set.
    public typealias Level = OpenEnum<LogEntry>

    /// The severity.
    public var level: Level
    /// The part of the SDK that made the entry, such as `InAppStore`.
    public var category: String
    /// The event: codes, and the names of plugins and operations. The message identifies no customer and may be stored.
    public var message: String
    /// The private details, such as products, transactions and sentences of errors. Do not send them anywhere without
    /// the customer's consent.
    public var detail: String?

    /// Creates an entry.
    ///
    /// - Parameters:
    ///   - level: The severity.
    ///   - category: The part of the SDK that made the entry, such as `InAppStore`.
    ///   - message: The event: codes, and the names of plugins and operations.
    ///   - detail: The private details, such as products, transactions and sentences of errors.
    public init(_ level: Level, category: String, _ message: String, detail: String? = nil) {
        self.level = level
        self.category = category
        self.message = message
        self.detail = detail
    }
}

extension LogEntry {
    /// Returns the default log of stores and purchase clients: the unified log on Apple's systems, `nil` on other
    /// systems.
    ///
    /// - Returns: A function that writes an entry, or `nil`.
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
    /// Helps to find a fault.
    public static var debug: Self { Self(rawValue: "debug") }
    /// Reports a normal event.
    public static var info: Self { Self(rawValue: "info") }
    /// Reports an operation that failed without a loss.
    public static var error: Self { Self(rawValue: "error") }
    /// Reports that a customer may not get a paid product.
    public static var fault: Self { Self(rawValue: "fault") }
}
