import Foundation
import SimulatorControl
import StoreModel

/// An offer of a product that does not renew. Only codes redeem it.
struct PurchaseOffer: Sendable, Hashable {
    var id: String
    /// The price in the currency of the storefront; 0 if the offer is free.
    var amount: Decimal
    var customers: Set<StoreControlWire.PurchaseCustomer>
}

/// Offer codes that were created together: a custom code, or one-time codes.
struct CodeBatch: Sendable, Hashable {
    var id: Int64
    var createdAt: Date
    var product: ProductID
    var offer: String
    var isCustom: Bool
    /// The number of accounts that can redeem each code.
    var limit: Int
    var expiresAt: Date?
    var deactivatedAt: Date?

    /// The limit of a custom code.
    static let limits = 1...1_000_000
    /// The number of one-time codes of a batch.
    static let counts = 1...25_000
    /// The months after which one-time codes end at the latest.
    static let lifetime = 6

    static let rule = "1 to 64 letters and digits of ASCII"

    static func isValid(_ code: String) -> Bool {
        (1...64).contains(code.utf8.count)
            && code.unicodeScalars.allSatisfy { $0.isASCII && $0.properties.isAlphabetic || ("0"..."9").contains($0) }
    }

    /// Returns the one-time code at `place` of a batch, which follows from the store's seed. It has no letters and
    /// digits that look alike.
    static func oneTimeCode(seed: UInt64, batch: Int64, place: Int) -> String {
        let id = UUID(namespace: .simulatedStore, name: "offer code \(seed) \(batch) \(place)")
        return withUnsafeBytes(of: id.uuid) { bytes in
            String(decoding: bytes.map { alphabet[Int($0) % alphabet.count] }, as: UTF8.self)
        }
    }

    private static let alphabet = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789".utf8)

    /// Returns the reason why no account can redeem a code of the batch now, after `redeemed` redemptions of the code;
    /// `nil` if there is none. A code has expired at its date.
    func refusal(after redeemed: Int, at now: Date) -> String? {
        if deactivatedAt != nil { return "The code was deactivated." }
        if let expiresAt, expiresAt <= now { return "The code has expired." }
        guard redeemed >= limit else { return nil }
        return isCustom ? "The code is used up: it was redeemed \(limit) times." : "The code was redeemed before."
    }
}

extension StoreRules {
    /// Returns the reason to refuse the code of an order, apart from its batch and from earlier redemptions; `nil` if
    /// there is none. Without it, the order would succeed and sell nothing.
    func refusal(ofCodeFor order: Order, _ existing: ExistingPurchases) -> StoreFailure? {
        if let state = existing.state, state.record.share != nil, state.isActive {
            return StoreFailure(
                code: .ineligibleForOffer, reason: "The account has the subscription through Family Sharing.")
        }
        if existing.owned != nil {
            return StoreFailure(code: .ineligibleForOffer, reason: "The account owns \(order.productID).")
        }
        return nil
    }
}
