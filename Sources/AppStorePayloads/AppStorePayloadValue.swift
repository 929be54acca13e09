import Foundation
import Primitives

/// A Swift value that Apple's JSON can contain.
package protocol AppStorePayloadValue: Sendable {
    /// The kind of JSON value that represents it.
    static var payloadKind: PayloadSchema.Kind { get }
    /// Creates a value from JSON, or returns `nil` if the JSON has another kind.
    init?(payloadValue: JSONValue)
    /// The JSON value that represents it.
    var payloadValue: JSONValue { get }
}

extension String: AppStorePayloadValue {
    package static var payloadKind: PayloadSchema.Kind { .text }

    package init?(payloadValue: JSONValue) {
        guard case .string(let text) = payloadValue else { return nil }
        self = text
    }

    package var payloadValue: JSONValue { .string(self) }
}

extension Int: AppStorePayloadValue {
    package static var payloadKind: PayloadSchema.Kind { .integer }

    package init?(payloadValue: JSONValue) {
        guard let number = payloadValue.intValue else { return nil }
        self = number
    }

    package var payloadValue: JSONValue { .number(self) }
}

extension Bool: AppStorePayloadValue {
    package static var payloadKind: PayloadSchema.Kind { .boolean }

    package init?(payloadValue: JSONValue) {
        guard case .bool(let value) = payloadValue else { return nil }
        self = value
    }

    package var payloadValue: JSONValue { .bool(self) }
}

extension Date: AppStorePayloadValue {
    package static var payloadKind: PayloadSchema.Kind { .date }

    /// Creates a date from milliseconds since 1970, or returns `nil` for a date that RFC 3339 cannot express.
    package init?(payloadValue: JSONValue) {
        guard let milliseconds = payloadValue.doubleValue else { return nil }
        self.init(timeIntervalSince1970: milliseconds / 1000)
        guard RFC3339.hasText(for: self) else { return nil }
    }

    package var payloadValue: JSONValue { .number((timeIntervalSince1970 * 1000).rounded()) }
}

extension UUID: AppStorePayloadValue {
    package static var payloadKind: PayloadSchema.Kind { .text }

    package init?(payloadValue: JSONValue) {
        guard case .string(let text) = payloadValue else { return nil }
        self.init(text: text)
    }

    /// The UUID in lower case, as the App Store writes it.
    package var payloadValue: JSONValue { .string(uuidString.lowercased()) }
}

extension Array: AppStorePayloadValue where Element: AppStorePayloadValue {
    package static var payloadKind: PayloadSchema.Kind { .list(Element.payloadKind) }

    package init?(payloadValue: JSONValue) {
        guard case .array(let elements) = payloadValue else { return nil }
        self = elements.compactMap { Element(payloadValue: $0) }
    }

    package var payloadValue: JSONValue { .array(map(\.payloadValue)) }
}
