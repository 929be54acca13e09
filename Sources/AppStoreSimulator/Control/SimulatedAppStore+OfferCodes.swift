import Foundation
import Primitives
import SimulatorControl
import StoreKitAdapter
import StoreModel

/// The list of the offers that codes redeem.
extension SimulatedAppStore {
    /// Returns the offers that their identifiers redeem, in the order of the catalogue. Offers for which codes were
    /// created are not among them. With an account, each has its state for the
    /// account, and the prices are those of the account's storefront.
    ///
    /// Throws `unknownAccount`.
    package func offerCodes(for name: AccountName? = nil) throws -> [StoreControlWire.OfferCode] {
        guard let name else {
            return try database.read { sql in
                try catalogues.home.catalogue.redeemableOffers(without: SimulatorDatabase(sql)).map(\.listing)
            }
        }
        return try read({ try $0.existingAccount(name) }) { [catalogues] db, account, now in
            let settings = try db.settings()
            let catalogue = catalogues[account.country(settings)].catalogue
            let event = try SimulatorEvent(db, [account], at: now, catalogue: catalogue, settings, nil)
            return try catalogue.redeemableOffers(without: db).map { redeemable in
                let order = try event.order(for: redeemable.offer.id ?? "", of: redeemable.product)
                var listing = redeemable.listing
                (listing.state, listing.reason) = try event.codeState(of: order)
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
    /// The offers that codes redeem, without those for which `db` has codes.
    func redeemableOffers(without db: SimulatorDatabase) throws -> [RedeemableOffer] {
        try redeemableOffers.filter { try !db.hasCodes($0.offer.id ?? "", of: $0.product) }
    }

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
