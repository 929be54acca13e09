import Foundation

/// How one plugin did when all were asked.
public struct PluginReport: Sendable {
    public var pluginName: String
    /// `nil` when it answered.
    public var error: (any Error)?
    /// It did not answer, and what it had said before was used in its place.
    public var usedLastKnownAnswer: Bool
    /// Where what was used of it came from, and when it was true; `nil` when nothing of it was used.
    public var origin: AnswerOrigin?

    public init(
        pluginName: String, error: (any Error)? = nil, usedLastKnownAnswer: Bool = false, origin: AnswerOrigin? = nil
    ) {
        self.pluginName = pluginName
        self.error = error
        self.usedLastKnownAnswer = usedLastKnownAnswer
        self.origin = origin
    }

    public var didAnswer: Bool { error == nil }
}

/// Where an answer came from, and of when it is.
public struct AnswerOrigin: Hashable, Sendable {
    public var source: Source
    /// When the system behind the answer was last known to say so.
    public var asOf: Date

    public init(_ source: Source, asOf: Date) {
        self.source = source
        self.asOf = asOf
    }

    /// An open set; a plugin may bring its own.
    public struct Source: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The plugin, which did not say from where it had it.
        public static let plugin = Source(rawValue: "plugin")
        /// The plugin asked its system for this answer.
        public static let network = Source(rawValue: "network")
        /// The plugin had the answer and held it for fresh enough.
        public static let cache = Source(rawValue: "cache")
        /// The plugin failed, and this is what it said earlier in this run.
        public static let memory = Source(rawValue: "memory")
        /// The plugin failed, and this is what it said in an earlier run.
        public static let disk = Source(rawValue: "disk")
    }
}
