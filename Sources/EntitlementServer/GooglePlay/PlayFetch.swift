import Foundation
import GooglePlay
import Primitives
import SignedData
import StoreModel

/// One purchase at Google Play, as a fetch returned it.
///
/// Google's answers have no signature and no date, so a fact of Google Play is a fetch: what Google answered over TLS, and
/// when the server began to ask. `source` is the fact's source, from which `reading` computes the fact again.
/// Documentation/Decisions/0015-a-fetch-is-a-fact.md has the reasons.
struct PlayFetch: Sendable {
    enum Kind: String, Sendable { case subscription, product }

    /// The beginnings of the ids of Google Play's purchases and orders.
    static let prefixes = [originalPrefix, "GPA."]
    private static let originalPrefix = "play."

    let packageName: PackageName
    /// The token; `nil` for a fetch that was read from the ledger.
    let token: PurchaseToken?
    let original: TransactionID
    let kind: Kind
    /// Whether the app's rules say that the one-time product can be bought again.
    let isConsumable: Bool
    let beganAt: Date
    /// The purchase, without its `etag`.
    let resource: JSONValue
    /// The order of the last payment, without the token and the address of the buyer.
    let order: JSONValue?
    /// The instant at which another purchase replaced this subscription. The ledger knows it from the other purchase.
    var replacedAt: Date?
    /// The purchase that replaced this subscription. The ledger knows it from the other purchase.
    var replacedBy: TransactionID?
    /// The instant at which Google voided this purchase of a one-time product. The ledger knows it from Google's list of
    /// voided purchases.
    var voidedAt: Date?

    init(
        _ token: PurchaseToken, of packageName: PackageName, _ kind: Kind, isConsumable: Bool = false, beganAt: Date,
        resource: JSONValue, order: JSONValue? = nil
    ) {
        self.packageName = packageName
        self.token = token
        original = Self.original(token, of: packageName)
        self.kind = kind
        self.isConsumable = isConsumable
        self.beganAt = beganAt
        self.resource = Self.without(["etag"], resource)
        self.order = order.map { Self.without(["etag", "purchaseToken", "buyerAddress"], $0) }
    }

    private static func without(_ names: [String], _ json: JSONValue) -> JSONValue {
        var json = json
        for name in names { json[name] = nil }
        return json.sortedByName
    }

    /// Returns the original transaction id of a purchase. A token is a credential, so the id is its digest.
    static func original(_ token: PurchaseToken, of packageName: PackageName) -> TransactionID {
        let digest = SHA256.hash(Array("\(packageName.rawValue)\n\(token.rawValue)".utf8))
        return TransactionID(unchecked: originalPrefix + Hex.encode(digest))
    }

    // MARK: - The stored form

    /// The content without its date, in a canonical form.
    private var content: JSONValue {
        var content: JSONValue = [
            "packageName": .string(packageName.rawValue), "purchase": .string(original.rawValue),
            "kind": .string(kind.rawValue), "resource": resource,
        ]
        if isConsumable { content["isConsumable"] = true }
        content["order"] = order
        content["replacedAt"] = replacedAt.map { .number($0.milliseconds) }
        content["replacedBy"] = replacedBy.map { .string($0.rawValue) }
        content["voidedAt"] = voidedAt.map { .number($0.milliseconds) }
        return content
    }

    /// The digest of the content. An unchanged purchase has the same digest in every fetch.
    var contentDigest: [UInt8] { SHA256.hash(content.sortedByName.encoded()) }

    /// The source of the facts: the content and the begin of the fetch.
    var source: [UInt8] {
        var source = content
        source["fetchedAt"] = .number(beganAt.milliseconds)
        return source.sortedByName.encoded()
    }

    /// Reads the source of a fact. Throws `JSONError`, and `internalInconsistency`.
    init(source: [UInt8]) throws {
        let json = try JSONValue(parsing: source)
        guard let packageName = json["packageName"]?.stringValue, let original = json["purchase"]?.stringValue,
            let kind = json["kind"]?.stringValue.flatMap(Kind.init(rawValue:)), let resource = json["resource"],
            let fetchedAt = json["fetchedAt"]?.intValue
        else {
            throw EntitlementServerError(
                .internalInconsistency, "The source of a fact of Google Play in the ledger cannot be read.")
        }
        self.packageName = PackageName(unchecked: packageName)
        token = nil
        self.original = TransactionID(unchecked: original)
        self.kind = kind
        isConsumable = json["isConsumable"]?.boolValue ?? false
        beganAt = Date(milliseconds: Int64(fetchedAt))
        self.resource = resource
        order = json["order"]
        replacedAt = json["replacedAt"]?.intValue.map { Date(milliseconds: Int64($0)) }
        replacedBy = json["replacedBy"]?.stringValue.map { TransactionID(unchecked: $0) }
        voidedAt = json["voidedAt"]?.intValue.map { Date(milliseconds: Int64($0)) }
    }

    // MARK: - Other purchases

    /// The token of the subscription that this one replaced.
    var replacedToken: PurchaseToken? { resource["linkedPurchaseToken"]?.stringValue.flatMap(PurchaseToken.init) }

    /// The subscription that this one replaced.
    var replaced: TransactionID? { replacedToken.map { Self.original($0, of: packageName) } }

    /// The token of a purchase of the same customer: the replaced subscription, or the expired one that the customer
    /// bought again outside the app.
    var formerToken: PurchaseToken? {
        replacedToken
            ?? resource["outOfAppPurchaseContext"]?["expiredPurchaseToken"]?.stringValue.flatMap(PurchaseToken.init)
    }

    /// The order of the last payment; `nil` before the first.
    var orderID: String? {
        switch kind {
        case .subscription: (try? subscriptionItem())?.item.latestSuccessfulOrderId
        case .product: resource["orderId"]?.stringValue
        }
    }

    /// Whether a line item is of `product`. Until a deferred replacement takes effect, a subscription has the old product
    /// and the new one.
    func names(_ product: ProductID) -> Bool {
        let items = resource[kind == .subscription ? "lineItems" : "productLineItem"]?.arrayValue ?? []
        return items.contains { $0["productId"]?.stringValue?.hasSameBytes(as: product.rawValue) == true }
    }

    /// Whether a licence tester made the purchase, who pays nothing.
    var isTest: Bool {
        ["testPurchase", "testPurchaseContext"].contains { resource[$0].map { !$0.isNull } ?? false }
    }

    /// Returns the subscription, and the product in it that gives access for longest.
    ///
    /// Throws `SignedDataError` (`payloadMalformed`).
    func subscriptionItem() throws(SignedDataError) -> (
        purchase: AndroidPublisher.SubscriptionPurchaseV2, item: AndroidPublisher.SubscriptionLineItem
    ) {
        let purchase: AndroidPublisher.SubscriptionPurchaseV2 = try decode(resource, "subscription")
        let items = purchase.lineItems ?? []
        let item = items.max { ($0.expiryTime ?? .distantPast) < ($1.expiryTime ?? .distantPast) }
        guard let item else { throw Self.malformed("lineItems") }
        return (purchase, item)
    }

    func decode<Resource: Decodable>(_ json: JSONValue, _ name: String) throws(SignedDataError) -> Resource {
        do { return try WireJSON.decode(Resource.self, from: json) } catch {
            throw SignedDataError(
                .payloadMalformed, "Google Play's \(name) is not in the documented format.", underlying: error)
        }
    }

    static func malformed(_ member: String) -> SignedDataError {
        SignedDataError(.payloadMalformed, "Google Play's answer has no valid \(member).")
    }
}
