import Foundation
import Primitives

extension WireSchema {
    package static let date = text("a date of RFC 3339 such as \"2026-11-20T14:40:00Z\"", format: "date-time") {
        RFC3339.date(from: $0) != nil
    }
    package static let uuid = text(
        "a UUID", pattern: "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$", format: "uuid"
    ) { UUID(text: $0) != nil }
    package static let amount = text("an amount of money such as \"4.99\"", pattern: #"^-?[0-9]+(\.[0-9]+)?$"#) {
        JSONNumber(text: $0) != nil && !$0.utf8.contains { $0 | 0x20 == UInt8(ascii: "e") }
    }
    /// Padded, canonical base64.
    package static let base64 = text(
        "base64",
        pattern: "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"
    ) { text in Base64.decode(text).map { Base64.encode($0) == text } ?? false }
}
