import Foundation
import Primitives

/// A text that names something: 1 to 255 bytes of UTF-8 without control characters, or what a type's own rule says.
///
/// Two identifiers are equal when their bytes are (`ExactText`), as they are in the database, in tokens and in URLs.
public protocol Identifier: ExactText, Codable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// Without looking at the text: for texts that were looked at before.
    init(unchecked rawValue: String)
    /// Whether a text can be such a name.
    static func isValid(_ text: String) -> Bool
    /// What `isValid` asks for, in words that go on after "should have".
    static var rule: String { get }
    /// The one spelling under which a valid text is kept.
    static func canonical(_ text: String) -> String
}

extension Identifier {
    /// `nil` when the text is not valid: empty, longer than 255 bytes or with a control character, unless the type's own
    /// rule says otherwise.
    public init?(rawValue: String) {
        guard Self.isValid(rawValue) else { return nil }
        self.init(unchecked: Self.canonical(rawValue))
    }

    /// The control characters are those of ASCII and of Latin-1, U+0080 to U+009F.
    public static func isValid(_ text: String) -> Bool { IdentifierRule.hasNoControl(text) }

    public static var rule: String { "1 to 255 bytes and no control characters" }

    public static func canonical(_ text: String) -> String { text }

    public init(stringLiteral value: String) {
        precondition(Self.isValid(value), "\(Self.self) should have \(Self.rule)")
        self.init(unchecked: Self.canonical(value))
    }

    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let value = Self(rawValue: text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "it should have \(Self.rule)"))
        }
        self = value
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    public var description: String { rawValue }
}

private enum IdentifierRule {
    /// Whether a text has 1 to 255 bytes and no control characters.
    static func hasNoControl(_ text: String) -> Bool {
        guard (1...255).contains(text.utf8.count) else { return false }
        var before: UInt8 = 0
        for byte in text.utf8 {
            if byte < 0x20 || byte == 0x7F || before == 0xC2 && byte < 0xA0 { return false }
            before = byte
        }
        return true
    }
}

/// What is sold, as the store names it: `com.example.darkroom.pro.monthly`. Features, credits and their items have names
/// of the same form.
///
/// A name in another form than Unicode's NFC is refused: people who type it see the same letters, so it must have one
/// spelling only.
public struct ProductID: Identifier {
    public let rawValue: String
    public init(unchecked rawValue: String) { self.rawValue = rawValue }

    public static func isValid(_ text: String) -> Bool {
        IdentifierRule.hasNoControl(text) && text.isInNormalFormC
    }

    public static var rule: String { "1 to 255 bytes in Unicode's form NFC and no control characters" }
}

/// One transaction of the store.
public struct TransactionID: Identifier {
    public let rawValue: String
    public init(unchecked rawValue: String) { self.rawValue = rawValue }
}

extension TransactionID {
    /// The UUID under which the formats of the feature provisioner name the purchase whose original transaction this is: name-based, the
    /// same everywhere.
    public var subscriptionUUID: UUID { UUID(namespace: CustomerID.namespace, name: "subscription:\(rawValue)") }
}

/// An app, as its bundle identifier: 1 to 155 letters and digits of ASCII, hyphens and periods.
public struct BundleID: Identifier {
    public let rawValue: String
    public init(unchecked rawValue: String) { self.rawValue = rawValue }

    public static func isValid(_ text: String) -> Bool {
        (1...155).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    public static var rule: String { "1 to 155 letters and digits of ASCII, hyphens and periods" }
}

/// One attempt of an app to buy: made by the caller, named in every update that answers it.
public struct PaymentID: Identifier {
    public let rawValue: String
    public init(unchecked rawValue: String) { self.rawValue = rawValue }
    public init(_ uuid: UUID) { rawValue = uuid.uuidString.lowercased() }
}

/// Who may use what was bought, as the app names its customers. A UUID in any case is the same customer and is kept in
/// lower case; any other text is kept as it is, and two that differ in one byte are two customers.
public struct CustomerID: Identifier {
    public let rawValue: String
    public init(unchecked rawValue: String) { self.rawValue = rawValue }

    public static func canonical(_ text: String) -> String {
        CustomerID(unchecked: text).isUUID ? text.lowercased() : text
    }

    /// Whether the customer is named by a UUID, which then is the token too.
    package var isUUID: Bool { UUID(text: rawValue) != nil }

    /// What a purchase of this customer carries at the store (Apple: `appAccountToken`): the customer's own UUID, or the
    /// name-based UUID of its text.
    public var appAccountToken: UUID {
        UUID(text: rawValue) ?? UUID(namespace: Self.namespace, name: rawValue)
    }

    /// The name-based UUID of `souk.invalid` in the DNS namespace of RFC 9562.
    fileprivate static let namespace = UUID(
        namespace: UUID(
            uuid: (0x6B, 0xA7, 0xB8, 0x10, 0x9D, 0xAD, 0x11, 0xD1, 0x80, 0xB4, 0, 0xC0, 0x4F, 0xD4, 0x30, 0xC8)),
        name: "souk.invalid")
}

/// Where a signed fact comes from. Facts and answers of different environments never mix.
public struct StoreEnvironment: ExactText, Codable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let production = StoreEnvironment(rawValue: "production")
    public static let sandbox = StoreEnvironment(rawValue: "sandbox")
    public static let xcode = StoreEnvironment(rawValue: "xcode")
    public static let localTesting = StoreEnvironment(rawValue: "localTesting")

    /// From Apple's spelling in signed payloads: `Production`, `Sandbox`, `Xcode`, `LocalTesting`.
    public init(apple text: String) {
        self.init(rawValue: text.prefix(1).lowercased() + text.dropFirst())
    }

    /// Apple's spelling.
    public var appleText: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
    public var description: String { rawValue }
}
