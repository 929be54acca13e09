import Foundation
import Primitives

/// The result of one plugin in a request to all plugins.
public struct PluginReport: Sendable {
    /// The name of the plugin.
    public var pluginName: String
    /// The error of the plugin, or `nil` if it answered.
    public var error: (any Error)?
    /// Whether the plugin failed and its last known answer was used.
    public var usedLastKnownAnswer: Bool
    /// The source and time of the answer that was used, or `nil` if none was used.
    public var origin: AnswerOrigin?

    /// Creates a report.
    ///
    /// - Parameters:
    ///   - pluginName: The name of the plugin.
    ///   - error: The error of the plugin, or `nil` if it answered.
    ///   - usedLastKnownAnswer: Whether the plugin failed and its last known answer was used.
    ///   - origin: The source and time of the answer that was used, or `nil` if none was used.
    public init(
        pluginName: String, error: (any Error)? = nil, usedLastKnownAnswer: Bool = false, origin: AnswerOrigin? = nil
    ) {
        self.pluginName = pluginName
        self.error = error
        self.usedLastKnownAnswer = usedLastKnownAnswer
        self.origin = origin
    }

    /// Whether the plugin answered.
    public var didAnswer: Bool { error == nil }
}

/// The source and time of an answer.
public struct AnswerOrigin: Hashable, Sendable {
    /// The source of the answer.
    public var source: Source
    /// The latest time at which the system behind the plugin confirmed the answer.
    public var asOf: Date

    /// Creates an origin.
    ///
    /// - Parameters:
    ///   - source: The source of the answer.
    ///   - asOf: The latest time at which the system behind the plugin confirmed the answer.
    public init(_ source: Source, asOf: Date) {
        self.source = source
        self.asOf = asOf
    }

    /// The source of an answer, from an open set. A plugin can define its own.
    public typealias Source = OpenEnum<AnswerOrigin>
}

extension AnswerOrigin.Source {
    /// The plugin, which did not report where its answer came from.
    public static var plugin: Self { Self(rawValue: "plugin") }
    /// The network: the plugin requested the answer from its system.
    public static var network: Self { Self(rawValue: "network") }
    /// The cache of the plugin, whose answer was new enough.
    public static var cache: Self { Self(rawValue: "cache") }
    /// The last answer of a failed plugin in this run of the app.
    public static var memory: Self { Self(rawValue: "memory") }
    /// The last answer of a failed plugin in an earlier run of the app.
    public static var disk: Self { Self(rawValue: "disk") }
}
