import Foundation
import SimulatorControl
import StoreKitAdapter
import StoreModel

/// The conditions of win-back offers, which the catalogue format does not have.
extension SimulatedAppStore {
    /// Sets the conditions of a win-back offer, and removes those that `conditions` does not have.
    ///
    /// Throws `unknownProduct`; `invalidValue` for an offer that the product does not have, and for a maximum below the
    /// minimum.
    @discardableResult
    package func setWinBackConditions(
        _ conditions: StoreControlWire.WinBackConditions, of product: ProductID
    ) async throws -> StoreControlWire.WinBackOffer {
        guard let item = configuration.catalogue[product] else {
            throw SimulatorError(.unknownProduct, "The store does not sell \(product).")
        }
        guard let offer = item.winBackOffers.first(where: { $0.id.hasSameBytes(as: conditions.offerID) }) else {
            throw SimulatorError(.invalidValue, "\(product) has no win-back offer \(conditions.offerID).")
        }
        if let least = conditions.minimumMonthsSinceEnd, let most = conditions.maximumMonthsSinceEnd, most < least {
            throw SimulatorError(.invalidValue, "The maximum since the end, \(most), is below the minimum, \(least).")
        }
        return try await recordStoreEvent { db, now in
            var all = try db.conditions().winBackConditions[product] ?? []
            all.removeAll { $0.offerID.hasSameBytes(as: conditions.offerID) }
            try db.set(all + [conditions], ofWinBackOffersOf: product, at: now)
            return StoreControlWire.WinBackOffer(productID: product, offer: offer.offer, conditions: conditions)
        }
    }

    /// Returns the win-back offers in the order of the catalogue. With an account, each says whether the account can
    /// redeem it, and the prices are those of its storefront. Throws `unknownAccount`.
    package func winBackOffers(for name: AccountName? = nil) throws -> [StoreControlWire.WinBackOffer] {
        guard let name else {
            let conditions = try database.read { try SimulatorDatabase($0).conditions() }
            return catalogues.home.catalogue.winBackListing(conditions)
        }
        return try read({ try $0.existingAccount(name) }) { [catalogues] db, account, now in
            let settings = try db.settings()
            let catalogue = catalogues[account.country(settings)].catalogue
            let event = try SimulatorEvent(db, [account], at: now, catalogue: catalogue, settings, nil)
            return try catalogue.winBackListing(event.conditions).map { listing in
                var listing = listing
                let order = Order(
                    accountID: account.id, productID: listing.productID, offerID: listing.offer.id,
                    offerKind: .winBack)
                var trial = event.rules
                let existing = try event.existing(for: listing.productID, of: account.id)
                if case .refused(let failure) = trial.sell(order, existing, at: now).decision {
                    listing.reason = failure.reason
                }
                listing.isEligible = listing.reason == nil
                return listing
            }
        }
    }
}

extension Catalogue {
    fileprivate func winBackListing(_ conditions: RenewalConditions) -> [StoreControlWire.WinBackOffer] {
        items.flatMap { item in
            item.winBackOffers.compactMap { offer in
                offer.id.map { id in
                    let known = conditions.winBackConditions[item.id]?.first { $0.offerID.hasSameBytes(as: id) }
                    return StoreControlWire.WinBackOffer(
                        productID: item.id, offer: offer.offer, conditions: known ?? .init(offerID: id))
                }
            }
        }
    }
}
