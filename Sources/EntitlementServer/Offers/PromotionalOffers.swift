import Foundation
import SignedData
import StoreModel

/// The promotional offers of an app: the rules that decide who gets one, and the key that signs them.
package struct PromotionalOffers: Sendable {
    let rules: OfferRules
    private let key: AppStoreConnectKey?

    /// - Parameter key: The app's key of App Store Connect for in-app purchases. It is required if the rules have an
    ///   offer.
    package init(_ rules: OfferRules, key: AppStoreConnectKey? = nil) {
        self.rules = rules
        self.key = key
    }

    /// Signs an offer in both versions. Both have the same nonce, so that they allow one purchase.
    ///
    /// - Parameters:
    ///   - appAccountToken: The token of the payment, which version 1 contains; `nil` for an anonymous customer.
    ///   - subscription: A transaction of the customer, which version 2 contains.
    ///   - instant: The real time, from which Apple counts the lifetime of a signature.
    /// - Throws: `SignedDataError`.
    func sign(
        _ offer: OfferRules.Offer, appAccountToken: UUID?, subscription: TransactionID?, nonce: UUID, at instant: Date
    ) throws(SignedDataError) -> SignedOffer {
        guard let key else { throw SignedDataError(.unknownKey, "There is no key for promotional offers.") }
        let id = offer.offerID.rawValue
        return SignedOffer(
            productID: offer.productID, offerID: id, appAccountToken: appAccountToken,
            signature: try key.sign(
                id, of: offer.productID, appAccountToken: appAccountToken, nonce: nonce, at: instant),
            compactJWS: try key.sign(
                .promotionalOffer(id, for: offer.productID, transactionID: subscription), nonce: nonce, at: instant))
    }

    fileprivate func check(_ app: EntitlementService.Configuration.App) throws(EntitlementServerError) {
        guard key == nil, let offer = rules.offers.first else { return }
        throw EntitlementServerError(
            .invalidConfiguration,
            "The promotional offer \"\(offer.offerID)\" of \(app.bundleID) must be signed; give --app-store-key.")
    }
}

extension EntitlementService.Configuration.App {
    /// Checks that the server can sign the offers of the app.
    package func checkOffers() throws(EntitlementServerError) { try offers?.check(self) }
}
