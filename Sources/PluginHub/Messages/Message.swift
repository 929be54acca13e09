import Foundation
import Primitives

/// What is said: a name, by convention in parts joined with dots, and an id when the sender wants to recognise the answers.
///
/// Routing looks at the name alone, and so does `case "info.refresh":` in a `switch`; `==` compares the ids too. The id
/// comes back as the `correlationId` of every event the message causes, so a sender makes it first:
///
///     let id = MessageID.unique()
///     subscription = infos.filter(correlationId: id).sink { show($0) }
///     try messageSender.send(command: Message("info.refresh", id: id), payload: nil, sender: self)
///
/// A name is 1 to 255 bytes of UTF-8 in Unicode's form NFC, without control characters. The throwing initialiser refuses another with
/// `PluginError` code `invalidName`; a literal that breaks the rule is a programming error and stops the program.
public struct Message: Hashable, Sendable, ExpressibleByStringLiteral {
    public let name: String
    public let id: MessageID?

    public init(_ name: String, id: MessageID? = nil) throws {
        if let fault = NameRule.fault(of: name) {
            throw PluginError(.invalidName, "A message's name \(fault).")
        }
        self.name = name
        self.id = id
    }

    public init(stringLiteral name: String) {
        let fault = NameRule.fault(of: name)
        precondition(fault == nil, "A message's name \(fault ?? "").")
        self.name = name
        id = nil
    }

    /// The same message under another id.
    public func with(id: MessageID?) -> Message { Message(checked: name, id: id) }

    init(checked name: String, id: MessageID?) {
        self.name = name
        self.id = id
    }
}

/// `case "info.refresh":` in a `switch` over a message: whether it has that name, whatever its id. A pattern with an id of
/// its own asks for that id too.
public func ~= (pattern: Message, message: Message) -> Bool {
    pattern.name == message.name && (pattern.id == nil || pattern.id == message.id)
}

extension Message: CustomStringConvertible {
    public var description: String { id.map { "\(name)#\($0)" } ?? name }
}

extension Message: Codable {
    private enum CodingKeys: String, CodingKey { case name, id }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            container.decode(String.self, forKey: .name), id: container.decodeIfPresent(MessageID.self, forKey: .id))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encodeIfPresent(id, forKey: .id)
    }
}

/// Ties the events a message causes to that message. Chosen by the sender; the hub neither checks nor changes it.
///
/// No two messages that cause the same event may have the same id, whoever sends them: an answer to another plugin's `abc`
/// looks like one to yours. One from `unique()` is nobody else's. The rule for its text is the one of `Message.name`.
public struct MessageID: Hashable, Sendable, ExpressibleByStringLiteral {
    public let text: String

    public init(_ text: String) throws {
        if let fault = NameRule.fault(of: text) { throw PluginError(.invalidName, "A message's id \(fault).") }
        self.text = text
    }

    public init(stringLiteral text: String) {
        let fault = NameRule.fault(of: text)
        precondition(fault == nil, "A message's id \(fault ?? "").")
        self.text = text
    }

    /// An id nobody else has: 128 random bits in hexadecimal, from the system's generator.
    public static func unique() -> MessageID {
        var generator = SystemRandomNumberGenerator()
        return unique(using: &generator)
    }

    /// An id made of 128 bits of `generator`, for tests that want to know it beforehand.
    public static func unique(using generator: inout some RandomNumberGenerator) -> MessageID {
        let digits = [generator.next(), generator.next()].map { (half: UInt64) in
            let text = String(half, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }
        return MessageID(stringLiteral: digits.joined())
    }
}

extension MessageID: CustomStringConvertible {
    public var description: String { text }
}

extension MessageID: Codable {
    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// What every name that crosses the hub must be.
enum NameRule {
    static let longest = 255

    /// What is wrong with `name`, as the end of a sentence; `nil` when nothing is.
    static func fault(of name: String) -> String? {
        let count = name.utf8.count
        if count == 0 { return "must not be empty" }
        if count > longest { return "must not be longer than \(longest) bytes (it has \(count))" }
        let hasControl = name.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
        if hasControl { return "must not contain control characters" }
        // Of names that look the same one is allowed, so that comparing strings is comparing bytes.
        return name.isInNormalFormC ? nil : "must be in Unicode's form NFC: compose its letters with their accents"
    }
}
