import Foundation
import Primitives
import SQLStorage
import SimulatorControl
import StoreKitAdapter
import StoreModel

/// Promoted purchases: they begin on the app's page in the App Store, and the app completes them.
extension SimulatedAppStore {
    /// Begins a promoted purchase: the customer taps a product on the app's page in the App Store.
    ///
    /// It sells nothing. The first device of the account that takes the purchase completes it, now or when the app is
    /// next started. A second tap on the same product replaces the first one.
    ///
    /// - Parameters:
    ///   - product: The product.
    ///   - offerID: The identifier of a win-back offer.
    ///   - name: The account.
    /// - Throws: `SimulatorError` (`unknownAccount`, `unknownProduct`); `StoreFailure` (`invalidOffer`) if the product
    ///   has no such win-back offer.
    public func promote(_ product: ProductID, offerID: String? = nil, for name: AccountName) async throws {
        try await promote(StoreControlWire.Promotion(productID: product, offerID: offerID), for: name)
    }

    package func promote(_ request: StoreControlWire.Promotion, for name: AccountName) async throws {
        try await recordEvent({ try $0.existingAccount(name) }) { event in
            guard let item = event.rules.catalogue[request.productID] else {
                throw SimulatorError(.unknownProduct, "The catalogue has no product \(request.productID).")
            }
            if let offer = request.offerID,
                item.subscription?.winBackOffers.contains(where: { $0.id.hasSameBytes(as: offer) }) != true
            {
                throw StoreFailure(
                    code: .invalidOffer, reason: "The product \(item.id) has no win-back offer \(offer) to show.")
            }
            try event.db.setPromoted(item.id, offer: request.offerID, of: event.account.id, at: event.now)
        }
    }

    /// Takes a promoted purchase, so that the device completes it.
    ///
    /// - Parameters:
    ///   - product: The product.
    ///   - device: The device.
    /// - Returns: The promoted purchase.
    /// - Throws: `SimulatorError` (`unknownDevice`; `unknownPromotedPurchase` if there is none, or if it was taken).
    public func takePromotedPurchase(
        of product: ProductID, for device: DeviceID
    ) async throws -> PromotedPurchase {
        try await recordEvent({ try $0.existingDevice(device).account }) { event in
            guard let open = try event.db.promotedPurchases(of: event.account.id).first(where: { $0.id == product })
            else {
                throw SimulatorError(
                    .unknownPromotedPurchase,
                    "There is no promoted purchase of \(product), or a device has taken it.")
            }
            try event.db.endPromoted(product, of: event.account.id)
            return open.purchase
        }
    }

    /// Returns the promoted purchases that no device has taken, oldest first. Throws `unknownAccount`.
    ///
    /// - Parameter account: The account; `nil` means all.
    package func promotedPurchases(of account: AccountName? = nil) throws -> [StoreControlWire.PromotedPurchase] {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            if let account {
                return try db.promotedPurchases(of: db.existingAccount(account).id).map { $0.listing(for: account) }
            }
            return try db.promotedPurchases().map { $0.listing(for: $1) }
        }
    }
}

extension SimulatorDatabase.OpenPromotion {
    func listing(for account: AccountName) -> StoreControlWire.PromotedPurchase {
        StoreControlWire.PromotedPurchase(
            account: account.rawValue, productID: id, offerID: purchase.offer?.id, begunAt: at.wholeMilliseconds)
    }
}

extension SimulatorDatabase {
    struct OpenPromotion: Sendable {
        var purchase: PromotedPurchase
        var at: Date
        var id: ProductID { purchase.productID }
    }

    /// The promoted purchases of an account that no device has taken, oldest first.
    func promotedPurchases(of account: Int64) throws -> [OpenPromotion] {
        try sql.query(
            "SELECT product, offer, at FROM promoted_purchase WHERE account = ?1 ORDER BY at, product",
            [.integer(account)]
        ).map(Self.promotion)
    }

    /// The promoted purchases that no device has taken, of all accounts, oldest first.
    func promotedPurchases() throws -> [(OpenPromotion, AccountName)] {
        try sql.query(
            """
            SELECT name, product, offer, at FROM promoted_purchase JOIN account ON account.id = promoted_purchase.account
            ORDER BY at, account.id, product
            """
        ).map { (try Self.promotion($0), AccountName(unchecked: try $0["name"])) }
    }

    private static func promotion(_ row: SQLRow) throws -> OpenPromotion {
        let offer: String? = try row["offer"]
        return OpenPromotion(
            purchase: PromotedPurchase(
                productID: ProductID(unchecked: try row["product"]), offer: offer.map { .winBack($0) }),
            at: try row.date("at"))
    }

    func setPromoted(_ product: ProductID, offer: String?, of account: Int64, at now: Date) throws {
        try sql.execute(
            "INSERT OR REPLACE INTO promoted_purchase (account, product, offer, at) VALUES (?1, ?2, ?3, ?4)",
            [.integer(account), .text(product.rawValue), SQLValue(offer), .integer(now.microseconds)])
    }

    func endPromoted(_ product: ProductID, of account: Int64) throws {
        try sql.execute(
            "DELETE FROM promoted_purchase WHERE account = ?1 AND product = ?2",
            [.integer(account), .text(product.rawValue)])
    }
}
