import Foundation
import Primitives

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
    public typealias Source = OpenEnum<AnswerOrigin>
}

extension AnswerOrigin.Source {
    /// The plugin, which did not say from where it had it.
    public static var plugin: Self { Self(rawValue: "plugin") }
    /// The plugin asked its system for this answer.
    public static var network: Self { Self(rawValue: "network") }
    /// The plugin had the answer and held it for fresh enough.
    public static var cache: Self { Self(rawValue: "cache") }
    /// The plugin failed, and this is what it said earlier in this run.
    public static var memory: Self { Self(rawValue: "memory") }
    /// The plugin failed, and this is what it said in an earlier run.
    public static var disk: Self { Self(rawValue: "disk") }
}
