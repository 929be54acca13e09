import Foundation
import Primitives

/// A Swift value that has a form in Apple's JSON.
public protocol AppStorePayloadValue {
    /// `nil` when the JSON is of another kind.
    init?(payloadValue: JSONValue)
    /// The form in JSON.
    var payloadValue: JSONValue { get }
}

/// A value of an enumeration that Apple may extend: unknown ones are kept as they came.
public protocol OpenAppStoreValue: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible,
    AppStorePayloadValue
where RawValue: Hashable & Sendable & Codable & AppStorePayloadValue {
    init(rawValue: RawValue)
}

extension OpenAppStoreValue {
    public var description: String { "\(rawValue)" }
}

extension String: AppStorePayloadValue {
    public init?(payloadValue: JSONValue) {
        guard case .string(let text) = payloadValue else { return nil }
        self = text
    }

    public var payloadValue: JSONValue { .string(self) }
}

extension Int: AppStorePayloadValue {
    public init?(payloadValue: JSONValue) {
        guard let number = payloadValue.intValue else { return nil }
        self = number
    }

    public var payloadValue: JSONValue { .number(self) }
}

extension Bool: AppStorePayloadValue {
    public init?(payloadValue: JSONValue) {
        guard case .bool(let value) = payloadValue else { return nil }
        self = value
    }

    public var payloadValue: JSONValue { .bool(self) }
}

extension Date: AppStorePayloadValue {
    /// Milliseconds since 1970, of an instant that can be written on Souk's own wire.
    public init?(payloadValue: JSONValue) {
        guard let milliseconds = payloadValue.doubleValue else { return nil }
        self.init(timeIntervalSince1970: milliseconds / 1000)
        guard RFC3339.hasText(for: self) else { return nil }
    }

    public var payloadValue: JSONValue { .number((timeIntervalSince1970 * 1000).rounded()) }
}

extension UUID: AppStorePayloadValue {
    public init?(payloadValue: JSONValue) {
        guard case .string(let text) = payloadValue else { return nil }
        self.init(text: text)
    }

    /// Lower case, as the App Store writes them.
    public var payloadValue: JSONValue { .string(uuidString.lowercased()) }
}

extension Array: AppStorePayloadValue where Element: AppStorePayloadValue {
    public init?(payloadValue: JSONValue) {
        guard case .array(let elements) = payloadValue else { return nil }
        self = elements.compactMap { Element(payloadValue: $0) }
    }

    public var payloadValue: JSONValue { .array(map(\.payloadValue)) }
}

extension OpenAppStoreValue {
    public init?(payloadValue: JSONValue) {
        guard let raw = RawValue(payloadValue: payloadValue) else { return nil }
        self.init(rawValue: raw)
    }

    public var payloadValue: JSONValue { rawValue.payloadValue }
}

extension AppStorePayload {
    public init?(payloadValue: JSONValue) {
        guard case .object(let members) = payloadValue else { return nil }
        self.init(unchecked: members)
    }

    public var payloadValue: JSONValue { json }
}
