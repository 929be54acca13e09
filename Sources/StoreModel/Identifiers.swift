import Foundation
import Primitives

/// A string that identifies something. By default it has 1 to 255 bytes of UTF-8 and no control characters; a type can
/// have a stricter rule.
///
/// Two identifiers are equal if their bytes are equal (`ExactText`), as in the database, in tokens and in URLs.
public protocol Identifier: ExactText, Codable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// Creates an identifier without a check. Use it only for strings that were checked before.
    ///
    /// - Parameter rawValue: The checked string, in its canonical spelling.
    init(unchecked rawValue: String)
    /// Returns whether a string is a valid identifier of this type.
    ///
    /// - Parameter text: The string to check.
    static func isValid(_ text: String) -> Bool
    /// The rule that `isValid` checks, in words that complete "should have …".
    static var rule: String { get }
    /// Returns the one spelling under which a valid string is stored.
    ///
    /// - Parameter text: A valid string.
    static func canonical(_ text: String) -> String
}

extension Identifier {
    /// Creates an identifier, or returns `nil` if the string is not valid: empty, longer than 255 bytes or with a
    /// control character, unless the type has a rule of its own.
    ///
    /// - Parameter rawValue: The string, which is stored in its canonical spelling.
    public init?(rawValue: String) {
        guard Self.isValid(rawValue) else { return nil }
        self.init(unchecked: Self.canonical(rawValue))
    }

    /// Returns whether a string has 1 to 255 bytes and no control characters. Control characters are those of ASCII and
    /// of Latin-1, U+0080 to U+009F.
    ///
    /// - Parameter text: The string to check.
    public static func isValid(_ text: String) -> Bool { IdentifierRule.isSatisfied(by: text) }

    /// The default rule.
    public static var rule: String { "1 to 255 bytes and no control characters" }

    /// Returns the string unchanged.
    ///
    /// - Parameter text: A valid string.
    public static func canonical(_ text: String) -> String { text }

    /// Creates an identifier from a literal. An invalid literal is a programming error and stops the process.
    ///
    /// - Parameter value: A valid string.
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
    /// Returns whether a text has 1 to 255 bytes and no control characters.
    static func isSatisfied(by text: String) -> Bool {
        guard (1...255).contains(text.utf8.count) else { return false }
        if text.isPrintableASCII { return true }
        var before: UInt8 = 0
        for byte in text.utf8 {
            if byte < 0x20 || byte == 0x7F || before == 0xC2 && byte < 0xA0 { return false }
            before = byte
        }
        return true
    }
}

/// The identifier of a product at the store, for example `com.example.darkroom.pro.monthly`. Names of features, credits
/// and items have the same form.
///
/// A string must be in Unicode's normal form NFC: two spellings that look the same would otherwise be two products.
public struct ProductID: Identifier {
    public let rawValue: String
    /// Creates an identifier without a check.
    ///
    /// - Parameter rawValue: A string that was checked before.
    public init(unchecked rawValue: String) { self.rawValue = rawValue }

    /// Returns whether a string has 1 to 255 bytes, is in normal form NFC and has no control characters.
    ///
    /// - Parameter text: The string to check.
    public static func isValid(_ text: String) -> Bool {
        IdentifierRule.isSatisfied(by: text) && text.isInNormalFormC
    }

    /// The rule of `isValid`, in words.
    public static var rule: String { "1 to 255 bytes in Unicode's form NFC and no control characters" }
}

/// The identifier of a transaction at the store.
public struct TransactionID: Identifier {
    public let rawValue: String
    /// Creates an identifier without a check.
    ///
    /// - Parameter rawValue: A string that was checked before.
    public init(unchecked rawValue: String) { self.rawValue = rawValue }
}

extension TransactionID {
    /// The name-based UUID that identifies the purchase of this original transaction in the answers of
    /// `/feature-provisioner` and `/subscriptions-tracker`. It is the same on every system.
    public var subscriptionUUID: UUID { UUID(namespace: CustomerID.namespace, name: "subscription:\(rawValue)") }
}

/// The bundle identifier of an app: 1 to 155 ASCII letters, digits, hyphens and periods.
public struct BundleID: Identifier {
    public let rawValue: String
    /// Creates an identifier without a check.
    ///
    /// - Parameter rawValue: A string that was checked before.
    public init(unchecked rawValue: String) { self.rawValue = rawValue }

    /// Returns whether a string has 1 to 155 ASCII letters, digits, hyphens and periods.
    ///
    /// - Parameter text: The string to check.
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

    /// The rule of `isValid`, in words.
    public static var rule: String { "1 to 155 letters and digits of ASCII, hyphens and periods" }
}

/// The identifier of one payment. The caller chooses it, and each update about the payment has it.
public struct PaymentID: Identifier {
    public let rawValue: String
    /// Creates an identifier without a check.
    ///
    /// - Parameter rawValue: A string that was checked before.
    public init(unchecked rawValue: String) { self.rawValue = rawValue }
    /// Creates an identifier from a UUID, in lower case.
    ///
    /// - Parameter uuid: The UUID of the payment.
    public init(_ uuid: UUID) { rawValue = uuid.uuidString.lowercased() }
}

/// The identifier of a customer, as the app chooses it. A UUID is the same customer in upper and lower case. It is
/// stored in lower case. Other strings are stored unchanged, and two strings that differ in one byte are two customers.
public struct CustomerID: Identifier {
    public let rawValue: String
    /// Creates an identifier without a check.
    ///
    /// - Parameter rawValue: A string that was checked before, in its canonical spelling.
    public init(unchecked rawValue: String) { self.rawValue = rawValue }

    /// Returns a UUID in lower case, and any other string unchanged.
    ///
    /// - Parameter text: A valid string.
    public static func canonical(_ text: String) -> String {
        CustomerID(unchecked: text).isUUID ? text.lowercased() : text
    }

    /// Whether the identifier is a UUID, which is then also the app account token.
    package var isUUID: Bool { UUID(text: rawValue) != nil }

    /// The app account token of this customer's purchases at the store (Apple: `appAccountToken`): the customer's own
    /// UUID, or the name-based UUID of the identifier.
    public var appAccountToken: UUID {
        UUID(text: rawValue) ?? UUID(namespace: Self.namespace, name: rawValue)
    }

    /// The name-based UUID of `souk.invalid` in the DNS namespace of RFC 9562.
    fileprivate static let namespace = UUID(
        namespace: UUID(
            uuid: (0x6B, 0xA7, 0xB8, 0x10, 0x9D, 0xAD, 0x11, 0xD1, 0x80, 0xB4, 0, 0xC0, 0x4F, 0xD4, 0x30, 0xC8)),
        name: "souk.invalid")
}

/// The environment in which a transaction was signed. Facts and answers of different environments never mix.
public struct StoreEnvironment: ExactText, Codable, CustomStringConvertible {
    public let rawValue: String
    /// Creates an environment, known or unknown.
    ///
    /// - Parameter rawValue: The name, for example `sandbox`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The App Store, where customers pay with money.
    public static let production = StoreEnvironment(rawValue: "production")
    /// Apple's sandbox, for testers with sandbox accounts.
    public static let sandbox = StoreEnvironment(rawValue: "sandbox")
    /// StoreKit testing in Xcode.
    public static let xcode = StoreEnvironment(rawValue: "xcode")
    /// Local tests. A local certificate signs the payloads, as in Xcode.
    public static let localTesting = StoreEnvironment(rawValue: "localTesting")

    /// Creates an environment from Apple's spelling in signed payloads: `Production`, `Sandbox`, `Xcode`,
    /// `LocalTesting`.
    ///
    /// - Parameter text: The value of the payload's `environment`.
    public init(apple text: String) {
        self.init(rawValue: text.prefix(1).lowercased() + text.dropFirst())
    }

    /// The environment in Apple's spelling.
    public var appleText: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
    public var description: String { rawValue }
}
