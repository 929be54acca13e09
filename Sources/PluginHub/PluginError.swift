import Foundation

/// Why the hub, or a plugin, refused. Two are equal when their codes are.
///
/// What a receiver throws reaches the sender as it is, whatever its type; what the hub itself refuses is one of these.
public struct PluginError: Error, Equatable {
    public let code: Code
    /// What is wrong and what to do about it. Never contains payloads.
    public let sentence: String
    /// The plugin at fault.
    public let plugin: String?
    /// The name of the message it is about.
    public let message: String?
    public let underlying: (any Error)?

    public init(
        _ code: Code, _ sentence: String, plugin: String? = nil, message: String? = nil,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.sentence = sentence
        self.plugin = plugin
        self.message = message
        self.underlying = underlying
    }

    public static func == (left: PluginError, right: PluginError) -> Bool { left.code == right.code }
}

extension PluginError {
    /// What kind of refusal it is. Open: a plugin may throw codes of its own.
    public struct Code: RawRepresentable, Hashable, Sendable, Codable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// The sender's policy does not list the message.
        public static let notAllowed = Code(rawValue: "notAllowed")
        /// A plugin gave another plugin as the sender or subscriber.
        public static let senderMismatch = Code(rawValue: "senderMismatch")
        /// No running plugin receives the command or query, or publishes the event.
        public static let noReceiver = Code(rawValue: "noReceiver")
        /// Two plugins want to receive the same message.
        public static let ambiguousReceiver = Code(rawValue: "ambiguousReceiver")
        /// Two plugins have the same name.
        public static let duplicatePlugin = Code(rawValue: "duplicatePlugin")
        /// The receiver does not handle the message, or nobody does (`requests`).
        public static let unsupportedMessage = Code(rawValue: "unsupportedMessage")
        /// The payload lacks a field.
        public static let missingField = Code(rawValue: "missingField")
        /// A field of the payload is not what it must be.
        public static let invalidField = Code(rawValue: "invalidField")
        /// The plugin is not registered any more.
        public static let unknownPlugin = Code(rawValue: "unknownPlugin")
        /// The plugin is not running yet: it sent something from its initialiser or before `start()`.
        public static let notRunning = Code(rawValue: "notRunning")
        /// A plugin's code threw something that is no `PluginError`; see `underlying`.
        public static let handlerFailed = Code(rawValue: "handlerFailed")
        /// No plugin subscribes to an event that one publishes.
        public static let nobodyListens = Code(rawValue: "nobodyListens")
        /// A configuration file is absent or may not be read.
        public static let unreadableConfiguration = Code(rawValue: "unreadableConfiguration")
        /// A plugin could not be made; see the sentence.
        public static let initializationFailed = Code(rawValue: "initializationFailed")
        /// The receiver has no view to give now.
        public static let viewUnavailable = Code(rawValue: "viewUnavailable")
        /// Calls are nested deeper than `Hub.Configuration.reentrancyLimit`.
        public static let reentrancyLimit = Code(rawValue: "reentrancyLimit")
        /// A message's name or id breaks the rule.
        public static let invalidName = Code(rawValue: "invalidName")
        /// A policy cannot be read or names something impossible.
        public static let invalidPolicy = Code(rawValue: "invalidPolicy")
        /// A view document cannot be read.
        public static let invalidDocument = Code(rawValue: "invalidDocument")
    }
}

extension PluginError: CustomStringConvertible, LocalizedError {
    public var description: String { "\(code.rawValue): \(sentence)" }
    public var errorDescription: String? { sentence }
}

extension PluginError {
    /// `error` itself if it is one of ours, else one around it.
    static func around(_ error: any Error, plugin: String, message: String) -> PluginError {
        if let error = error as? PluginError { return error }
        return PluginError(
            .handlerFailed, "The plugin \"\(plugin)\" failed on \"\(message)\": \(error).", plugin: plugin,
            message: message, underlying: error)
    }
}
