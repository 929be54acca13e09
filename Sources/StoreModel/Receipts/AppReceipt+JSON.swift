import Foundation
import Primitives

extension AppReceipt {
    /// The receipt as JSON, in the form of `souk receipt` and of the server's answers.
    ///
    /// Identifiers are strings, bytes are hexadecimal, and dates are RFC 3339 in UTC. A missing value has no member.
    /// `unknownAttributes` has the other attributes by number, including those with an unexpected value. A number that
    /// occurs several times has an array.
    ///
    ///     {"bundleID","appVersion","originalAppVersion","receiptType","creationDate","expirationDate","opaqueValue",
    ///      "sha1Hash","inAppPurchases":[{"productID","quantity","transactionID","originalTransactionID",
    ///      "purchaseDate","originalPurchaseDate","expiresDate","cancellationDate","webOrderLineItemID",
    ///      "isTrialPeriod","isInIntroOfferPeriod","promotionalOfferID","productType","unknownAttributes":{…}}],
    ///      "unknownAttributes":{"6":"0e4f…"}}
    public var json: JSONValue {
        var members = JSONMembers()
        members["bundleID"] = bundleID.map { .string($0.rawValue) }
        members["appVersion"] = appVersion.map { .string($0) }
        members["originalAppVersion"] = originalAppVersion.map { .string($0) }
        members["receiptType"] = receiptType.map { .string($0) }
        members["creationDate"] = creationDate.map { .date($0) }
        members["expirationDate"] = expirationDate.map { .date($0) }
        members["opaqueValue"] = opaqueValue.map { .string(Hex.encode($0)) }
        members["sha1Hash"] = sha1Hash.map { .string(Hex.encode($0)) }
        members["inAppPurchases"] = .array(inAppPurchases.map(\.json))
        members["unknownAttributes"] = .attributes(otherAttributes) ?? [:]
        return .object(members)
    }
}

extension AppReceipt.InAppPurchase {
    /// The purchase as JSON, an element of `inAppPurchases` in the receipt.
    public var json: JSONValue {
        var members = JSONMembers()
        members["productID"] = productID.map { .string($0.rawValue) }
        members["quantity"] = quantity.map { .number($0) }
        members["transactionID"] = transactionID.map { .string($0.rawValue) }
        members["originalTransactionID"] = originalTransactionID.map { .string($0.rawValue) }
        members["purchaseDate"] = purchaseDate.map { .date($0) }
        members["originalPurchaseDate"] = originalPurchaseDate.map { .date($0) }
        members["expiresDate"] = expiresDate.map { .date($0) }
        members["cancellationDate"] = cancellationDate.map { .date($0) }
        members["webOrderLineItemID"] = webOrderLineItemID.map { .string($0) }
        members["isTrialPeriod"] = isTrialPeriod.map { .bool($0) }
        members["isInIntroOfferPeriod"] = isInIntroOfferPeriod.map { .bool($0) }
        members["promotionalOfferID"] = promotionalOfferID.map { .string($0) }
        members["productType"] = productType?.receiptNumber.map { .number($0) }
        members["unknownAttributes"] = .attributes(otherAttributes)
        return .object(members)
    }
}

extension JSONValue {
    fileprivate static func date(_ date: Date) -> JSONValue { .string(RFC3339.string(from: date)) }

    /// Returns an object with the attributes by number, or `nil` if there are none.
    fileprivate static func attributes(_ attributes: ReceiptAttributes) -> JSONValue? {
        guard !attributes.isEmpty else { return nil }
        let values = Dictionary(grouping: attributes, by: \.type).map { type, attributes in
            let texts = attributes.map { JSONValue.string(Hex.encode($0.value)) }
            return (String(type), texts.count == 1 ? texts[0] : .array(texts))
        }
        return .object(JSONObject(uniqueKeysWithValues: values))
    }
}
