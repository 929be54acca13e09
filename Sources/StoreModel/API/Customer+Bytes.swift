import Foundation
import Primitives

extension Customer {
    /// The answer as it goes over the wire: what `WireJSON.encode` makes of it, at a fraction of its cost.
    public func wireBytes() -> [UInt8] { wireBytes(around: wireContent()) }

    /// The same, around its `wireContent`.
    public func wireBytes(around content: [UInt8]) -> [UInt8] {
        let instant: JSONValue = ["asOf": asOf.wire]
        return instant.encoded().dropLast() + content
    }

    /// The bytes of the answer behind its instant: equal for answers that say the same, whenever they were computed.
    public func wireContent() -> [UInt8] {
        // Members in the order of their names.
        var members: [(String, JSONValue)] = [
            ("customer", .string(customer.rawValue)), ("environment", .string(environment.rawValue)),
            ("features", .array(features.map(\.wire))), ("managementURL", managementURL.map { .string($0) } ?? .null),
            ("purchases", .array(purchases.map(\.wire))), ("subscriptions", .array(subscriptions.map(\.wire))),
        ]
        if let validUntil { members.append(("validUntil", validUntil.wire)) }
        var bytes = JSONValue.object(JSONMembers(members)).encoded()
        bytes[0] = UInt8(ascii: ",")
        return bytes
    }
}

extension Date {
    fileprivate var wire: JSONValue { .string(RFC3339.string(from: self)) }
}

extension JSONValue {
    /// An object of the members that are there, in their order.
    fileprivate static func present(_ members: [(String, JSONValue?)]) -> JSONValue {
        .object(JSONMembers(members.compactMap { name, value in value.map { (name, $0) } }))
    }

    fileprivate static func text(_ value: String?) -> JSONValue? { value.map { .string($0) } }
}

extension CustomerFeature {
    fileprivate var wire: JSONValue {
        .present([
            ("because", .string(because)), ("effectiveUntil", effectiveUntil?.wire), ("from", from.wire),
            ("grantID", .text(grantID)), ("isActive", .bool(isActive)), ("name", .string(name)),
            ("originalTransactionID", .text(originalTransactionID?.rawValue)),
            ("productID", .text(productID?.rawValue)),
            ("source", .string(source.rawValue)), ("until", until?.wire),
        ])
    }
}

extension CustomerSubscription {
    fileprivate var wire: JSONValue {
        .present([
            ("autoRenews", autoRenews.map { .bool($0) }), ("cancelledAt", cancelledAt?.wire ?? .null),
            ("effectiveUntil", effectiveUntil.wire), ("expiresAt", expiresAt.wire),
            ("gracePeriodUntil", gracePeriodUntil?.wire ?? .null), ("groupID", .text(groupID)),
            ("isIntroductory", .bool(isIntroductory)), ("isTrial", .bool(isTrial)),
            ("originalTransactionID", .string(originalTransactionID.rawValue)), ("price", price?.wire),
            ("productID", .string(productID.rawValue)), ("renewsTo", .text(renewsTo?.rawValue)),
            ("revokedAt", revokedAt?.wire ?? .null), ("source", .string(source.rawValue)),
            ("startedAt", startedAt.wire), ("state", .string(state.rawValue)),
        ])
    }
}

extension CustomerPurchase {
    fileprivate var wire: JSONValue {
        .present([
            ("kind", .string(kind.rawValue)), ("originalTransactionID", .string(originalTransactionID.rawValue)),
            ("productID", .string(productID.rawValue)), ("purchasedAt", purchasedAt.wire),
            ("quantity", .number(quantity)), ("revokedAt", revokedAt?.wire ?? .null),
            ("source", .string(source.rawValue)), ("transactionID", .string(transactionID.rawValue)),
        ])
    }
}

extension Price {
    fileprivate var wire: JSONValue { ["amount": .string("\(amount)"), "currency": .string(currency)] }
}
