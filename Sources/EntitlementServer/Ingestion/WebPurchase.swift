import Foundation
import Primitives
import StoreModel

extension EntitlementService.Configuration {
    /// A web shop that reports its sales with signed requests.
    public struct WebPurchaseSource: Sendable {
        /// The name in `/v1/webhooks/{source}`.
        public var name: String
        /// The app whose products the shop sells.
        public var app: BundleID
        /// The environment of the sales.
        public var environment: StoreEnvironment
        /// The secrets of the shop's signatures. Each of them is accepted, so that a secret can be replaced.
        public var secrets: [WebhookSecret]

        /// Creates a source of web purchases.
        ///
        /// - Parameters:
        ///   - name: The name in `/v1/webhooks/{source}`.
        ///   - app: The app whose products the shop sells.
        ///   - environment: The environment of the sales.
        ///   - secrets: The secrets of the shop's signatures.
        public init(name: String, app: BundleID, environment: StoreEnvironment, secrets: [WebhookSecret]) {
            self.name = name
            self.app = app
            self.environment = environment
            self.secrets = secrets
        }
    }

    func checkWebPurchases() throws(EntitlementServerError) {
        for (index, source) in webPurchases.enumerated() {
            let title = "The source of web purchases \"\(source.name)\""
            guard ProductID(rawValue: source.name) != nil else {
                throw EntitlementServerError(
                    .invalidConfiguration, "The name of a source of web purchases should have \(ProductID.rule).")
            }
            guard !webPurchases[..<index].contains(where: { $0.name == source.name }) else {
                throw EntitlementServerError(.invalidConfiguration, "\(title) is named twice.")
            }
            guard apps.contains(where: { $0.bundleID == source.app }), environments.contains(source.environment) else {
                throw EntitlementServerError(
                    .invalidConfiguration,
                    "\(title) belongs to \(source.app) in \(source.environment), which this server does not serve.")
            }
            guard !source.secrets.isEmpty else {
                throw EntitlementServerError(.invalidConfiguration, "\(title) has no secret; configure at least one.")
            }
        }
    }
}

/// The body of POST `/v1/webhooks/{source}`: the state of one purchase at `occurredAt`. The newest state of a
/// transaction counts, so a shop reports a refund or another end as the same transaction with a later `occurredAt`.
package struct WebPurchase: Codable, Sendable, Equatable {
    package var customer: CustomerID
    /// The id of one payment: a period of a subscription, or an order. It must not be a number, because the App Store's
    /// ids are numbers, and not begin with `GPA.` or `play.`, as the ids of Google Play do.
    package var transactionID: TransactionID
    /// The `transactionID` of the subscription's first payment; absent in the first payment.
    package var originalTransactionID: TransactionID?
    package var productID: ProductID
    /// The type of the product.
    package var kind: ProductType
    package var purchasedAt: Date
    /// The end of the period; required for an auto-renewable subscription.
    package var expiresAt: Date?
    package var revokedAt: Date?
    /// The quantity; 1 if absent.
    package var quantity: Int?
    package var price: Price?
    package var isTrial: Bool?
    /// Whether the subscription renews after this period; absent if the shop does not know.
    package var autoRenews: Bool?
    package var occurredAt: Date

    package init(
        customer: CustomerID, transactionID: TransactionID, originalTransactionID: TransactionID? = nil,
        productID: ProductID, kind: ProductType, purchasedAt: Date, expiresAt: Date? = nil,
        revokedAt: Date? = nil, quantity: Int? = nil, price: Price? = nil, isTrial: Bool? = nil,
        autoRenews: Bool? = nil, occurredAt: Date
    ) {
        self.customer = customer
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.productID = productID
        self.kind = kind
        self.purchasedAt = purchasedAt
        self.expiresAt = expiresAt
        self.revokedAt = revokedAt
        self.quantity = quantity
        self.price = price
        self.isTrial = isTrial
        self.autoRenews = autoRenews
        self.occurredAt = occurredAt
    }
}

extension WebPurchase {
    private static let kinds: [ProductType] = [
        .consumable, .nonConsumable, .autoRenewableSubscription, .nonRenewingSubscription,
    ]

    /// Checks the values. Throws 400 for those that the types allow but a purchase cannot have.
    func check() throws {
        for (field, id) in [("transactionID", transactionID), ("originalTransactionID", originalTransactionID)] {
            guard let id, id.rawValue.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { continue }
            throw Refusal.invalid(field, "should not be a number, which only the App Store uses: begin it with a word")
        }
        for (field, id) in [("transactionID", transactionID), ("originalTransactionID", originalTransactionID)] {
            guard let id, let prefix = PlayFetch.prefixes.first(where: { id.rawValue.utf8.starts(with: $0.utf8) })
            else {
                continue
            }
            throw Refusal.invalid(field, "should not begin with \(prefix), which only Google Play uses")
        }
        guard Self.kinds.contains(kind) else {
            throw Refusal.invalid("kind", "should be \(Self.kinds.map(\.rawValue).joined(separator: ", "))")
        }
        if kind == .autoRenewableSubscription, expiresAt == nil {
            throw Refusal.invalid("expiresAt", "is missing: a subscription needs it")
        }
        guard TransactionFact.quantities.contains(quantity ?? 1) else {
            throw Refusal.invalid(
                "quantity", "should be a number from 1 to \(TransactionFact.quantities.upperBound)")
        }
    }

    /// Returns the facts of this purchase, whose source is `body`.
    func facts(_ body: [UInt8], in environment: StoreEnvironment) -> [PresentedFact] {
        let original = originalTransactionID ?? transactionID
        let fact = TransactionFact(
            id: transactionID, originalID: original, productID: productID, kind: kind,
            purchaseDate: purchasedAt.wholeMillisecond, expiresDate: expiresAt?.wholeMillisecond,
            revocationDate: revokedAt?.wholeMillisecond, quantity: quantity ?? 1, price: price,
            isTrial: isTrial ?? false, source: .web, signedDate: occurredAt.wholeMillisecond,
            digest: SHA256.hash(body))
        var contents = [PresentedFact.Content.transaction(fact)]
        if let autoRenews, kind == .autoRenewableSubscription {
            contents.append(
                .renewal(
                    RenewalFact(
                        originalID: original, autoRenews: autoRenews, renewsTo: productID,
                        signedDate: occurredAt.wholeMillisecond,
                        digest: SHA256.hash(Array("renewal\n".utf8) + body))))
        }
        return contents.map {
            PresentedFact(content: $0, environment: environment, format: .web, source: body, index: 0)
        }
    }
}
