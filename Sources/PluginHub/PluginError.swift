import Foundation

/// An error of the hub or of a plugin. Errors are equal when their codes are equal.
///
/// An error that a receiver throws reaches the sender unchanged, whatever its type. The hub itself throws only errors
/// of this type.
public struct PluginError: Error, Equatable {
    /// The kind of error.
    public let code: Code
    /// A sentence that says what is wrong and what to do. The hub adds no payloads to it.
    public let sentence: String
    /// The plugin that caused the error.
    public let plugin: String?
    /// The name of the message that the error is about.
    public let message: String?
    /// The error of other code that caused this one.
    public let underlying: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of error.
    ///   - sentence: A sentence that says what is wrong and what to do.
    ///   - plugin: The plugin that caused the error.
    ///   - message: The name of the message that the error is about.
    ///   - underlying: The error of other code that caused this one.
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

    /// Returns whether both errors have the same code.
    public static func == (left: PluginError, right: PluginError) -> Bool { left.code == right.code }
}

extension PluginError {
    /// The kind of error. The set is open: a plugin can throw its own codes.
    public struct Code: RawRepresentable, Hashable, Sendable, Codable {
        /// The code as a string.
        public let rawValue: String

        /// Creates a code from `rawValue`.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The sender's policy does not list the message.
        public static let notAllowed = Code(rawValue: "notAllowed")
        /// A plugin gave another plugin as the sender or subscriber.
        public static let senderMismatch = Code(rawValue: "senderMismatch")
        /// No running plugin receives the command, query or view query, or publishes the event.
        public static let noReceiver = Code(rawValue: "noReceiver")
        /// Two plugins want to receive the same message.
        public static let ambiguousReceiver = Code(rawValue: "ambiguousReceiver")
        /// Two plugins have the same name.
        public static let duplicatePlugin = Code(rawValue: "duplicatePlugin")
        /// The receiver does not handle the message, a policy lists `requests`, a row cannot be changed, or a screen
        /// does not have the action.
        public static let unsupportedMessage = Code(rawValue: "unsupportedMessage")
        /// A payload or answer lacks a required field.
        public static let missingField = Code(rawValue: "missingField")
        /// A field of a payload or answer, or the new value of a row, is invalid.
        public static let invalidField = Code(rawValue: "invalidField")
        /// The plugin was removed from the hub, or the hub refused it.
        public static let unknownPlugin = Code(rawValue: "unknownPlugin")
        /// The plugin is not running yet: it sent a message from its initialiser or before `start()`.
        public static let notRunning = Code(rawValue: "notRunning")
        /// The code of a plugin threw an error of another type; see `underlying`.
        public static let handlerFailed = Code(rawValue: "handlerFailed")
        /// A plugin publishes an event to which no plugin subscribes.
        public static let nobodyListens = Code(rawValue: "nobodyListens")
        /// A configuration file is missing or cannot be read.
        public static let unreadableConfiguration = Code(rawValue: "unreadableConfiguration")
        /// A plugin could not be created; see the sentence.
        public static let initializationFailed = Code(rawValue: "initializationFailed")
        /// The receiver cannot show a view now, for example because the query was not sent on the main actor.
        public static let viewUnavailable = Code(rawValue: "viewUnavailable")
        /// Calls are nested deeper than `Hub.Configuration.reentrancyLimit`.
        public static let reentrancyLimit = Code(rawValue: "reentrancyLimit")
        /// The name or id of a message is invalid.
        public static let invalidName = Code(rawValue: "invalidName")
        /// A policy cannot be read or contains an invalid name.
        public static let invalidPolicy = Code(rawValue: "invalidPolicy")
        /// A view document cannot be read.
        public static let invalidDocument = Code(rawValue: "invalidDocument")
    }
}

extension PluginError: CustomStringConvertible, LocalizedError {
    /// The code and the sentence.
    public var description: String { "\(code.rawValue): \(sentence)" }
    /// The sentence.
    public var errorDescription: String? { sentence }
}

extension PluginError {
    /// Returns `error` itself if it is a `PluginError`, otherwise a `PluginError` that contains it.
    static func wrapping(_ error: any Error, plugin: String, message: String) -> PluginError {
        if let error = error as? PluginError { return error }
        return PluginError(
            .handlerFailed, "The plugin \"\(plugin)\" failed on \"\(message)\": \(error).", plugin: plugin,
            message: message, underlying: error)
    }
}
