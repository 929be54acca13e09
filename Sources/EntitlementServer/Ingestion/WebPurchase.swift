import Foundation
import Primitives
import StoreModel

extension EntitlementService.Configuration {
    /// A shop on the web that tells what it sold, by requests that it signs.
    public struct WebPurchaseSource: Sendable {
        /// What it is called in `/v1/webhooks/{source}`.
        public var name: String
        public var app: BundleID
        public var environment: StoreEnvironment
        /// What its signatures are judged by: any of them, so that a secret can be exchanged for another.
        public var secrets: [WebhookSecret]

        public init(name: String, app: BundleID, environment: StoreEnvironment, secrets: [WebhookSecret]) {
            self.name = name
            self.app = app
            self.environment = environment
            self.secrets = secrets
        }
    }

    func checkWebPurchases() throws(EntitlementServerError) {
        for (index, source) in webPurchases.enumerated() {
            let title = "The web purchases \"\(source.name)\""
            guard ProductID(rawValue: source.name) != nil else {
                throw EntitlementServerError(
                    .invalidConfiguration, "The name of web purchases should have \(ProductID.rule).")
            }
            guard !webPurchases[..<index].contains(where: { $0.name == source.name }) else {
                throw EntitlementServerError(.invalidConfiguration, "\(title) are named twice.")
            }
            guard apps.contains(where: { $0.bundleID == source.app }), environments.contains(source.environment) else {
                throw EntitlementServerError(
                    .invalidConfiguration,
                    "\(title) are of \(source.app) in \(source.environment), which this server does not serve.")
            }
            guard !source.secrets.isEmpty else {
                throw EntitlementServerError(.invalidConfiguration, "\(title) have no secret to be signed with.")
            }
        }
    }
}

/// POST `/v1/webhooks/{source}`: one purchase as it stands at `occurredAt`. The newest of a transaction counts, so a refund
/// or another end is the same transaction, said later.
package struct WebPurchase: Codable, Sendable, Equatable {
    package var customer: CustomerID
    /// One payment: a period of a subscription, an order of anything else. Not a number alone; those are the App Store's.
    package var transactionID: TransactionID
    /// The first payment of the subscription; absent for itself.
    package var originalTransactionID: TransactionID?
    package var productID: ProductID
    /// The kind of the product that was bought.
    package var kind: ProductType
    package var purchasedAt: Date
    /// When the period ends; a subscription that renews needs one.
    package var expiresAt: Date?
    package var revokedAt: Date?
    /// Absent for 1.
    package var quantity: Int?
    package var price: Price?
    package var isTrial: Bool?
    /// Whether the subscription will go on after this period; absent when the shop does not say.
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

    /// Throws 400 for what the types allow and a purchase cannot be.
    func check() throws {
        for (field, id) in [("transactionID", transactionID), ("originalTransactionID", originalTransactionID)] {
            guard let id, id.rawValue.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { continue }
            throw Refusal.invalid(field, "should not be a number alone, as the App Store's are: begin it with a word")
        }
        guard Self.kinds.contains(kind) else {
            throw Refusal.invalid("kind", "should be \(Self.kinds.map(\.rawValue).joined(separator: ", "))")
        }
        if kind == .autoRenewableSubscription, expiresAt == nil {
            throw Refusal.invalid("expiresAt", "is missing, which a subscription that renews needs")
        }
        guard TransactionFact.quantities.contains(quantity ?? 1) else {
            throw Refusal.invalid(
                "quantity", "should be a number from 1 to \(TransactionFact.quantities.upperBound)")
        }
    }

    /// The facts in `body`, which said this.
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
