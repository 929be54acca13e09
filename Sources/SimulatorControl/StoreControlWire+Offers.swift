import Foundation
import Primitives
import StoreModel

extension StoreControlWire {
    /// An offer of the catalogue that a code redeems.
    package struct OfferCode: Codable, Sendable, Equatable {
        /// The code: the identifier of the offer, or `PRODUCT:OFFER` if several products have the offer.
        package var code: String
        package var productID: ProductID
        package var offer: Offer
        /// The kinds of customers who can redeem the code: `existing`, `expired`, `new`.
        package var eligibility: [String]
        /// Whether a customer who is eligible for the introductory offer gets it before this one.
        package var isStackable: Bool
        /// The state for one account, or `nil` if the request names none.
        package var state: State?
        /// The reason why the account cannot redeem the code, if its state is `unavailable`.
        package var reason: String?

        package init(
            code: String, productID: ProductID, offer: Offer, eligibility: [String], isStackable: Bool,
            state: State? = nil, reason: String? = nil
        ) {
            self.code = code
            self.productID = productID
            self.offer = offer
            self.eligibility = eligibility
            self.isStackable = isStackable
            self.state = state
            self.reason = reason
        }

        /// The state of a code for an account. The set is closed.
        package enum State: String, Codable, Sendable, CaseIterable {
            /// The account can redeem the code.
            case available
            /// The account has redeemed the code. Each account can redeem it once.
            case redeemed
            /// The store would refuse the code now.
            case unavailable
        }
    }

    package struct OfferCodes: Codable, Sendable, Equatable {
        package var offerCodes: [OfferCode]
        package init(offerCodes: [OfferCode]) { self.offerCodes = offerCodes }
    }

    /// A purchase that began on the app's page in the App Store, and that no device of the account has taken.
    package struct PromotedPurchase: Codable, Sendable, Equatable {
        package var account: String
        package var productID: ProductID
        /// The win-back offer that the store shows with the product.
        package var offerID: String?
        package var begunAt: Date

        package init(account: String, productID: ProductID, offerID: String? = nil, begunAt: Date) {
            self.account = account
            self.productID = productID
            self.offerID = offerID
            self.begunAt = begunAt
        }
    }

    package struct PromotedPurchases: Codable, Sendable, Equatable {
        package var promotedPurchases: [PromotedPurchase]
        package init(promotedPurchases: [PromotedPurchase]) { self.promotedPurchases = promotedPurchases }
    }
}
