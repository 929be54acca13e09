import Primitives

/// The resources of the Google Play Developer API (`androidpublisher` v3): purchases, orders and voided purchases, with
/// Google's names. The discovery document of the API describes each member.
///
/// A member is `nil` if the JSON does not have it. Unknown members are ignored, and the values of enumerations are open,
/// so a resource of a later version can be read. Keep the JSON itself if unknown members matter.
///
///     let purchase = try WireJSON.decode(AndroidPublisher.SubscriptionPurchaseV2.self, from: bytes)
///     purchase.subscriptionState == .active
package enum AndroidPublisher {
    /// The OAuth scope of the API.
    package static let scope = "https://www.googleapis.com/auth/androidpublisher"

    /// A message without members. Its presence is its meaning.
    package struct Presence: Codable, Sendable, Hashable {
        package init() {}
    }
}

/// A resource whose members are all optional.
package protocol PlayResource: Codable, Sendable, Hashable {
    init()
}

extension PlayResource {
    /// Creates a resource with the members that `fill` sets.
    ///
    ///     AndroidPublisher.OfferDetails { $0.basePlanId = "monthly" }
    package init(_ fill: (inout Self) throws -> Void) rethrows {
        self.init()
        try fill(&self)
    }
}

/// A 64-bit integer, which Google's JSON has as a string. The decoder also accepts a number.
package struct Int64Text: Codable, Sendable, Hashable {
    package var value: Int64

    package init(_ value: Int64) { self.value = value }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            guard let value = Int64(text), String(value).hasSameBytes(as: text) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "this is not a 64-bit integer")
            }
            self.value = value
        } else {
            value = try container.decode(Int64.self)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(String(value))
    }
}
