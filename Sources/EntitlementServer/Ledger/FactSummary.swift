import Foundation
import Primitives
import StoreModel

/// The part of a fact that the ledger stores unencrypted: the product, amounts and dates from which state is computed,
/// and nothing that identifies a person. It remains after an erasure.
///
/// It is JSON with Apple's names where they exist, and dates in milliseconds since 1970. It omits absent values, the
/// quantity 1, and each `false` except those of
/// `autoRenewStatus` and `commitmentAutoRenewStatus`.
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
        if fact.refundedQuantity != 0 { members["refundedQuantity"] = .number(fact.refundedQuantity) }
        if let price = fact.price {
            members["price"] = .string("\(price.amount)")
            members["currency"] = .string(price.currency)
        }
        for (name, isSet) in [
            ("isUpgraded", fact.isUpgraded), ("isFamilyShared", fact.isFamilyShared), ("isTrial", fact.isTrial),
            ("isIntroductory", fact.isIntroductory), ("isFromReceipt", fact.isFromReceipt),
            ("isAssigned", fact.isAssigned), ("sharesPeriod", fact.sharesPeriod),
        ] where isSet {
            members[name] = true
        }
        members["storefront"] = fact.storefront.map { .string($0) }
        members["offerType"] = fact.offerType.map { .number($0) }
        members["offerIdentifier"] = fact.offerIdentifier.map { .string($0) }
        members["revocationPercentage"] = fact.revocationPercentage.map { .number($0) }
        members["packageName"] = fact.packageName.map { .string($0) }
        if fact.source == .googlePlay {
            members["replaces"] = fact.replaces.map { .string($0.rawValue) }
            members["replacedBy"] = fact.replacedBy.map { .string($0.rawValue) }
            members["paidUntilDate"] = fact.paidUntil?.json
        }
        return members.text()
    }

    /// Returns the summaries that earlier versions wrote. Versions without replacements in the figures wrote no link to
    /// another purchase and no end of the paid time. Versions without seats knew no assigned seat and no period of
    /// several transactions. Versions without figures wrote no country, no offer and no percentage of a refund either.
    /// Versions without commitments did not write whether a commitment renews.
    static func formerTexts(of content: PresentedFact.Content) -> [String] {
        switch content {
        case .transaction(let fact):
            var former = fact
            (former.replaces, former.replacedBy, former.paidUntil) = (nil, nil, nil)
            let withoutLinks = text(of: former)
            if fact.isAssigned { former.isFamilyShared = false }
            (former.isAssigned, former.sharesPeriod) = (false, false)
            let withoutSeats = text(of: former)
            (former.storefront, former.offerType, former.offerIdentifier) = (nil, nil, nil)
            former.revocationPercentage = nil
            return [withoutLinks, withoutSeats, text(of: former)]
        case .renewal(var former):
            former.renewsCommitment = nil
            return [text(of: former)]
        }
    }

    static func text(of fact: RenewalFact) -> String {
        var members: JSONValue = [:]
        members["autoRenewStatus"] = fact.autoRenews.map { .bool($0) }
        members["commitmentAutoRenewStatus"] = fact.renewsCommitment.map { .bool($0) }
        members["autoRenewProductId"] = fact.renewsTo.map { .string($0.rawValue) }
        members["gracePeriodExpiresDate"] = fact.gracePeriodExpiresDate?.json
        if fact.isInBillingRetry { members["isInBillingRetryPeriod"] = true }
        if fact.isPaused { members["isPaused"] = true }
        members["cancelledDate"] = fact.cancelledAt?.json
        return members.text()
    }

    /// - Throws: `JSONError`, and `internalInconsistency` for an invalid summary.
    static func transaction(
        _ text: String, of original: TransactionID, source: PurchaseSource, signedAt: Date, digest: [UInt8]
    ) throws -> TransactionFact {
        let summary = try JSONValue(parsing: text)
        guard let id = summary["transactionId"]?.stringValue, let product = summary["productId"]?.stringValue,
            let kind = summary["type"]?.stringValue, let purchasedAt = summary.date("purchaseDate")
        else { throw unreadable }
        var price: Price?
        if let amount = summary["price"]?.stringValue, let currency = summary["currency"]?.stringValue {
            guard let decimal = Decimal(string: amount, locale: nil) else { throw unreadable }
            price = Price(amount: decimal, currency: currency)
        }
        let isFromPlay = source == .googlePlay
        func linked(_ name: String) -> TransactionID? {
            isFromPlay ? summary[name]?.stringValue.map { TransactionID(unchecked: $0) } : nil
        }
        return TransactionFact(
            id: TransactionID(unchecked: id), originalID: original, productID: ProductID(unchecked: product),
            kind: ProductType(rawValue: kind), purchaseDate: purchasedAt,
            originalPurchaseDate: summary.date("originalPurchaseDate"), expiresDate: summary.date("expiresDate"),
            revocationDate: summary.date("revocationDate"), quantity: summary["quantity"]?.intValue ?? 1,
            refundedQuantity: summary["refundedQuantity"]?.intValue ?? 0,
            isUpgraded: summary.flag("isUpgraded"), isFamilyShared: summary.flag("isFamilyShared"),
            groupID: summary["subscriptionGroupIdentifier"]?.stringValue, price: price,
            isTrial: summary.flag("isTrial"),
            isIntroductory: summary.flag("isIntroductory"), storefront: summary["storefront"]?.stringValue,
            offerType: summary["offerType"]?.intValue, offerIdentifier: summary["offerIdentifier"]?.stringValue,
            revocationPercentage: summary["revocationPercentage"]?.intValue, source: source,
            packageName: summary["packageName"]?.stringValue, replaces: linked("replaces"),
            replacedBy: linked("replacedBy"), paidUntil: isFromPlay ? summary.date("paidUntilDate") : nil,
            isFromReceipt: summary.flag("isFromReceipt"),
            isAssigned: summary.flag("isAssigned"),
            sharesPeriod: summary.flag("sharesPeriod"), signedDate: signedAt, digest: digest)
    }

    static func renewal(
        _ text: String, of original: TransactionID, signedAt: Date, digest: [UInt8]
    ) throws -> RenewalFact {
        let summary = try JSONValue(parsing: text)
        return RenewalFact(
            originalID: original, autoRenews: summary["autoRenewStatus"]?.boolValue,
            renewsCommitment: summary["commitmentAutoRenewStatus"]?.boolValue,
            renewsTo: summary["autoRenewProductId"]?.stringValue.map { ProductID(unchecked: $0) },
            gracePeriodExpiresDate: summary.date("gracePeriodExpiresDate"),
            isInBillingRetry: summary.flag("isInBillingRetryPeriod"), isPaused: summary.flag("isPaused"),
            cancelledAt: summary.date("cancelledDate"), signedDate: signedAt, digest: digest)
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

    fileprivate func flag(_ name: String) -> Bool { self[name]?.boolValue ?? false }
}
