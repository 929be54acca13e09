import Foundation
import Primitives
import StoreModel

extension StoreControlWire {
    /// A request for codes that redeem an offer: a custom code, or one-time codes. Exactly one of `code` and `count` is
    /// set.
    package struct NewOfferCodes: Codable, Sendable, Equatable {
        package var productID: ProductID
        /// An offer of the product in the catalogue. If the product is not a subscription, a new name declares an offer.
        package var offerID: String
        /// The text of a custom code.
        package var code: String?
        /// How many accounts can redeem the custom code; 1,000,000 by default.
        package var limit: Int?
        /// The number of one-time codes.
        package var count: Int?
        /// The instant from which the codes are refused. A custom code need not have one; one-time codes end after six
        /// months by default.
        package var expiresAt: Date?
        /// The price of a new offer of a product that is not a subscription, such as `"0.99"`; `"0"` is free.
        package var price: String?
        /// The customers whom a new offer of a product that is not a subscription is for; all by default.
        package var customers: [PurchaseCustomer]?

        package init(
            productID: ProductID, offerID: String, code: String? = nil, limit: Int? = nil, count: Int? = nil,
            expiresAt: Date? = nil, price: String? = nil, customers: [PurchaseCustomer]? = nil
        ) {
            self.productID = productID
            self.offerID = offerID
            self.code = code
            self.limit = limit
            self.count = count
            self.expiresAt = expiresAt
            self.price = price
            self.customers = customers
        }
    }

    /// A customer, by the purchases for which the app was paid. The set is closed.
    package enum PurchaseCustomer: String, Codable, Sendable, CaseIterable {
        /// The customer has never paid.
        case nonSpender
        /// The customer last paid within 30 days.
        case activeSpender
        /// The customer last paid 30 days ago or earlier.
        case churnedSpender
    }

    /// Codes that were created together.
    package struct OfferCodeBatch: Codable, Sendable, Equatable {
        package var batch: String
        package var kind: Kind
        package var productID: ProductID
        package var offerID: String
        /// The text of a custom code.
        package var code: String?
        /// The number of redemptions that the codes allow together.
        package var limit: Int
        package var redeemed: Int
        package var createdAt: Date
        package var expiresAt: Date?
        package var deactivatedAt: Date?
        /// Each code, in an answer about one batch.
        package var codes: [Code]?
        /// The state for one account, or `nil` if the request names none.
        package var state: OfferCode.State?
        /// The reason why the account cannot redeem the codes, if the state is `unavailable`.
        package var reason: String?

        package init(
            batch: String, kind: Kind, productID: ProductID, offerID: String, code: String? = nil, limit: Int,
            redeemed: Int, createdAt: Date, expiresAt: Date? = nil, deactivatedAt: Date? = nil, codes: [Code]? = nil,
            state: OfferCode.State? = nil, reason: String? = nil
        ) {
            self.batch = batch
            self.kind = kind
            self.productID = productID
            self.offerID = offerID
            self.code = code
            self.limit = limit
            self.redeemed = redeemed
            self.createdAt = createdAt
            self.expiresAt = expiresAt
            self.deactivatedAt = deactivatedAt
            self.codes = codes
            self.state = state
            self.reason = reason
        }

        /// The kind of the codes. The set is closed.
        package enum Kind: String, Codable, Sendable, CaseIterable {
            /// One text, which many accounts can redeem.
            case custom
            /// Texts of which each can be redeemed once.
            case oneTime
        }

        package struct Code: Codable, Sendable, Equatable {
            package var code: String
            package var redeemed: Int
            package init(code: String, redeemed: Int) {
                self.code = code
                self.redeemed = redeemed
            }
        }
    }

    package struct OfferCodeBatches: Codable, Sendable, Equatable {
        package var offerCodeBatches: [OfferCodeBatch]
        package init(offerCodeBatches: [OfferCodeBatch]) { self.offerCodeBatches = offerCodeBatches }
    }

    /// The conditions of a win-back offer, besides an ended subscription. Months are those of the calendar, in UTC. A
    /// condition that is `nil` always holds.
    package struct WinBackConditions: Codable, Sendable, Hashable {
        package var offerID: String
        /// The months for which the customer must have paid, in all periods together.
        package var paidMonths: Int?
        /// The months that must have passed since the subscription ended.
        package var minimumMonthsSinceEnd: Int?
        /// The months since the end of the subscription after which the offer is no longer available.
        package var maximumMonthsSinceEnd: Int?
        /// The months that must have passed since the customer last redeemed a win-back offer of the group.
        package var monthsBetweenOffers: Int?

        package init(
            offerID: String, paidMonths: Int? = nil, minimumMonthsSinceEnd: Int? = nil,
            maximumMonthsSinceEnd: Int? = nil, monthsBetweenOffers: Int? = nil
        ) {
            self.offerID = offerID
            self.paidMonths = paidMonths
            self.minimumMonthsSinceEnd = minimumMonthsSinceEnd
            self.maximumMonthsSinceEnd = maximumMonthsSinceEnd
            self.monthsBetweenOffers = monthsBetweenOffers
        }

        /// App Store Connect's ranges.
        package static let paidRange = 1...60
        package static let sinceEndRange = 1...24
        package static let betweenOffersRange = 2...24
    }

    /// A win-back offer of the catalogue.
    package struct WinBackOffer: Codable, Sendable, Equatable {
        package var productID: ProductID
        package var offer: Offer
        package var conditions: WinBackConditions
        /// Whether the account can redeem the offer now, or `nil` if the request names no account.
        package var isEligible: Bool?
        /// The reason why the account cannot redeem the offer.
        package var reason: String?

        package init(
            productID: ProductID, offer: Offer, conditions: WinBackConditions, isEligible: Bool? = nil,
            reason: String? = nil
        ) {
            self.productID = productID
            self.offer = offer
            self.conditions = conditions
            self.isEligible = isEligible
            self.reason = reason
        }
    }

    package struct WinBackOffers: Codable, Sendable, Equatable {
        package var winBackOffers: [WinBackOffer]
        package init(winBackOffers: [WinBackOffer]) { self.winBackOffers = winBackOffers }
    }
}
