import Foundation
import Primitives

/// The name of a message, with an optional id to recognise its answers. By convention the parts of a name are joined
/// with dots.
///
/// The hub routes by the name only, and `case "info.refresh":` in a `switch` compares only the name; `==` also compares
/// the ids. The id is the `correlationId` of every event that the message causes, so a sender creates it first:
///
///     let id = MessageID.unique()
///     subscription = infos.filter(correlationId: id).sink { show($0) }
///     try messageSender.send(command: Message("info.refresh", id: id), payload: nil, sender: self)
///
/// A name has 1 to 255 bytes of UTF-8 in Unicode's form NFC, without control characters. The throwing initialiser
/// refuses any other name with the code `invalidName`. An invalid literal is a programming error and stops the program.
public struct Message: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The name.
    public let name: String
    /// The id, or `nil` if the sender does not need to recognise the answers.
    public let id: MessageID?

    /// Creates a message.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - id: The id for the events that the message causes.
    /// - Throws: `PluginError` with the code `invalidName` when the name is invalid.
    public init(_ name: String, id: MessageID? = nil) throws {
        if let fault = NameRule.fault(of: name) {
            throw PluginError(.invalidName, "A message's name \(fault).")
        }
        self.name = name
        self.id = id
    }

    /// Creates a message without an id from the literal `name`.
    public init(stringLiteral name: String) {
        let fault = NameRule.fault(of: name)
        precondition(fault == nil, "A message's name \(fault ?? "").")
        self.name = name
        id = nil
    }

    /// Returns the same message with another id.
    ///
    /// - Parameter id: The new id, or `nil`.
    /// - Returns: The message.
    public func with(id: MessageID?) -> Message { Message(checked: name, id: id) }

    init(checked name: String, id: MessageID?) {
        self.name = name
        self.id = id
    }
}

/// Returns whether a message has the name of a pattern, for `case "info.refresh":` in a `switch`. If the pattern has an
/// id, the message must have the same id.
///
/// - Parameters:
///   - pattern: The pattern.
///   - message: The message.
/// - Returns: Whether the message matches.
public func ~= (pattern: Message, message: Message) -> Bool {
    pattern.name == message.name && (pattern.id == nil || pattern.id == message.id)
}

extension Message: CustomStringConvertible {
    /// The name and the id.
    public var description: String { id.map { "\(name)#\($0)" } ?? name }
}

extension Message: Codable {
    private enum CodingKeys: String, CodingKey { case name, id }

    /// Decodes a message.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: `DecodingError`, or `PluginError` with the code `invalidName`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            container.decode(String.self, forKey: .name), id: container.decodeIfPresent(MessageID.self, forKey: .id))
    }

    /// Encodes the message.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(id, forKey: .id)
    }
}

/// The id that connects events to the message that caused them. The sender chooses it; the hub neither checks nor
/// changes it.
///
/// Two messages that can cause the same event must have different ids, even from different senders. Otherwise an answer
/// to another plugin's message looks like an answer to yours. `unique()` returns an id that no other message has. The
/// text follows the rule of `Message.name`.
public struct MessageID: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The text of the id.
    public let text: String

    /// Creates an id.
    ///
    /// - Parameter text: The text of the id.
    /// - Throws: `PluginError` with the code `invalidName` when the text is invalid.
    public init(_ text: String) throws {
        if let fault = NameRule.fault(of: text) { throw PluginError(.invalidName, "A message's id \(fault).") }
        self.text = text
    }

    /// Creates an id from the literal `text`.
    public init(stringLiteral text: String) {
        let fault = NameRule.fault(of: text)
        precondition(fault == nil, "A message's id \(fault ?? "").")
        self.text = text
    }

    /// Returns a unique id: 128 random bits of the system in hexadecimal.
    public static func unique() -> MessageID {
        var generator = SystemRandomNumberGenerator()
        return unique(using: &generator)
    }

    /// Returns an id of 128 bits from a generator, for tests that need to know the id in advance.
    ///
    /// - Parameter generator: The generator.
    /// - Returns: The id.
    public static func unique(using generator: inout some RandomNumberGenerator) -> MessageID {
        let digits = [generator.next(), generator.next()].map { (half: UInt64) in
            let text = String(half, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }
        return MessageID(stringLiteral: digits.joined())
    }
}

extension MessageID: CustomStringConvertible {
    /// The text.
    public var description: String { text }
}

extension MessageID: Codable {
    /// Decodes an id.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: `DecodingError`, or `PluginError` with the code `invalidName`.
    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the id.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// The rule for the names and ids in the hub. Unicode can write the same visible name in several forms, of which only
/// NFC is valid here. So two strings are equal when their bytes are equal.
enum NameRule {
    static let longest = 255

    /// Returns the violation of the rule as the end of a sentence, or `nil` for a valid name.
    static func fault(of name: String) -> String? {
        let count = name.utf8.count
        if count == 0 { return "must not be empty" }
        if count > longest { return "must not be longer than \(longest) bytes (it has \(count))" }
        let hasControl = name.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
        if hasControl { return "must not contain control characters" }
        return name.isInNormalFormC ? nil : "must be in Unicode's form NFC: compose its letters with their accents"
    }
}
