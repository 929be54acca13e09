import Foundation
import Primitives
import StoreModel

/// What the ledger keeps of a fact in the clear: what state is computed from, so product, amounts and dates, and nothing
/// that names a person. It stays when the customer is erased.
///
/// JSON with Apple's names, dates in milliseconds since 1970; what is false or absent is left out.
enum FactSummary {
    static func text(of fact: TransactionFact) -> String {
        var members: JSONValue = [
            "transactionId": .string(fact.id.rawValue), "productId": .string(fact.productID.rawValue),
            "type": .string(fact.kind.rawValue), "purchaseDate": fact.purchaseDate.json,
            "originalPurchaseDate": fact.originalPurchaseDate.json,
        ]
        members["expiresDate"] = fact.expiresDate?.json
        members["revocationDate"] = fact.revocationDate?.json
        members["subscriptionGroupIdentifier"] = fact.groupID.map { .string($0) }
        if fact.quantity != 1 { members["quantity"] = .number(fact.quantity) }
        if let price = fact.price {
            members["price"] = .string("\(price.amount)")
            members["currency"] = .string(price.currency)
        }
        for (name, holds) in [
            ("isUpgraded", fact.isUpgraded), ("isFamilyShared", fact.isFamilyShared), ("isTrial", fact.isTrial),
            ("isIntroductory", fact.isIntroductory), ("isFromReceipt", fact.isFromReceipt),
        ] where holds {
            members[name] = true
        }
        return members.text()
    }

    static func text(of fact: RenewalFact) -> String {
        var members: JSONValue = [:]
        members["autoRenewStatus"] = fact.autoRenews.map { .bool($0) }
        members["autoRenewProductId"] = fact.renewsTo.map { .string($0.rawValue) }
        members["gracePeriodExpiresDate"] = fact.gracePeriodExpiresDate?.json
        if fact.isInBillingRetry { members["isInBillingRetryPeriod"] = true }
        return members.text()
    }

    /// - Throws: `JSONError`, and `internalInconsistency` for a summary that nothing here wrote.
    static func transaction(
        _ text: String, of original: TransactionID, source: PurchaseSource, signedAt: Date, digest: [UInt8]
    ) throws -> TransactionFact {
        let said = try JSONValue(parsing: text)
        guard let id = said["transactionId"]?.stringValue, let product = said["productId"]?.stringValue,
            let kind = said["type"]?.stringValue, let purchasedAt = said.date("purchaseDate")
        else { throw unreadable }
        var price: Price?
        if let amount = said["price"]?.stringValue, let currency = said["currency"]?.stringValue {
            guard let decimal = Decimal(string: amount, locale: nil) else { throw unreadable }
            price = Price(amount: decimal, currency: currency)
        }
        return TransactionFact(
            id: TransactionID(unchecked: id), originalID: original, productID: ProductID(unchecked: product),
            kind: ProductType(rawValue: kind), purchaseDate: purchasedAt,
            originalPurchaseDate: said.date("originalPurchaseDate"), expiresDate: said.date("expiresDate"),
            revocationDate: said.date("revocationDate"), quantity: said["quantity"]?.intValue ?? 1,
            isUpgraded: said.holds("isUpgraded"), isFamilyShared: said.holds("isFamilyShared"),
            groupID: said["subscriptionGroupIdentifier"]?.stringValue, price: price, isTrial: said.holds("isTrial"),
            isIntroductory: said.holds("isIntroductory"), source: source,
            isFromReceipt: said.holds("isFromReceipt"), signedDate: signedAt, digest: digest)
    }

    static func renewal(
        _ text: String, of original: TransactionID, signedAt: Date, digest: [UInt8]
    ) throws -> RenewalFact {
        let said = try JSONValue(parsing: text)
        return RenewalFact(
            originalID: original, autoRenews: said["autoRenewStatus"]?.boolValue,
            renewsTo: said["autoRenewProductId"]?.stringValue.map { ProductID(unchecked: $0) },
            gracePeriodExpiresDate: said.date("gracePeriodExpiresDate"),
            isInBillingRetry: said.holds("isInBillingRetryPeriod"), signedDate: signedAt, digest: digest)
    }

    private static let unreadable = EntitlementServerError(
        .internalInconsistency, "The summary of a fact in the ledger cannot be read.")
}

extension Date {
    fileprivate var json: JSONValue { .number(milliseconds) }
}

extension JSONValue {
    fileprivate func date(_ name: String) -> Date? {
        self[name]?.intValue.map { Date(milliseconds: Int64($0)) }
    }

    fileprivate func holds(_ name: String) -> Bool { self[name]?.boolValue ?? false }
}
