import Foundation
import Primitives
import SimulatorControl
import StoreKitAdapter
import StoreModel

/// The list of the offers that codes redeem.
extension SimulatedAppStore {
    /// Returns the offers that codes redeem, in the order of the catalogue. With an account, each has its state for the
    /// account, and the prices are those of the account's storefront.
    ///
    /// Throws `unknownAccount`.
    package func offerCodes(for name: AccountName? = nil) throws -> [StoreControlWire.OfferCode] {
        guard let name else { return catalogues.home.catalogue.redeemableOffers.map(\.listing) }
        return try read({ try $0.existingAccount(name) }) { [catalogues] db, account, now in
            let catalogue = catalogues[try db.country(of: account)].catalogue
            let event = try SimulatorEvent(db, [account], at: now, catalogue: catalogue, nil)
            return try catalogue.redeemableOffers.map { redeemable in
                let order = Order(
                    accountID: account.id, productID: redeemable.product, offerID: redeemable.offer.id, offerKind: .code
                )
                let existing = try event.existing(for: redeemable.product, of: account.id)
                var listing = redeemable.listing
                (listing.state, listing.reason) = event.rules.codeState(of: order, existing, at: now)
                return listing
            }
        }
    }
}

/// An offer with the code that redeems it.
struct RedeemableOffer: Sendable {
    var code: String
    var product: ProductID
    var offer: OfferCode

    var listing: StoreControlWire.OfferCode {
        StoreControlWire.OfferCode(
            code: code, productID: product, offer: offer.offer, eligibility: offer.eligibility.map(\.rawValue).sorted(),
            isStackable: offer.isStackable)
    }
}

extension Catalogue {
    /// The offers that codes redeem, with the code that `offer(forCode:of:)` accepts without a product.
    var redeemableOffers: [RedeemableOffer] {
        // The number of products with an offer of this identifier, by its bytes.
        var products: [[UInt8]: Int] = [:]
        for item in items {
            for id in Set(item.offerCodes.compactMap(\.id).map { Array($0.utf8) }) { products[id, default: 0] += 1 }
        }
        return items.flatMap { item in
            item.offerCodes.compactMap { offer in
                offer.id.map { id in
                    let isUnique = products[Array(id.utf8)] == 1
                    return RedeemableOffer(code: isUnique ? id : "\(item.id):\(id)", product: item.id, offer: offer)
                }
            }
        }
    }
}

extension StoreRules {
    /// Returns the state of a code for the customer of `order`, and the reason if the code is unavailable.
    func codeState(
        of order: Order, _ existing: ExistingPurchases, at now: Date
    ) -> (StoreControlWire.OfferCode.State, String?) {
        if let state = existing.state, state.record.share != nil, state.isActive {
            return (.unavailable, "The account has the subscription through Family Sharing.")
        }
        if let id = order.offerID, existing.state?.hasTaken(code: id, of: order.productID) == true {
            return (.redeemed, nil)
        }
        var trial = self
        guard case .refused(let failure) = trial.sell(order, existing, at: now).decision else {
            return (.available, nil)
        }
        return (.unavailable, failure.reason)
    }
}
