import Primitives
import StoreModel

/// An introductory or promotional offer of a catalogue: what a customer sees, and what only the file says.
package struct CatalogueOffer: Sendable, Hashable {
    package var offer: Offer
    package var referenceName: String?
    package var internalID: String?
    /// The way of billing to which the offer belongs.
    package var billingPlan: BillingPlan.Kind

    package init(
        offer: Offer, referenceName: String? = nil, internalID: String? = nil,
        billingPlan: BillingPlan.Kind = .upFront
    ) {
        self.offer = offer
        self.referenceName = referenceName
        self.internalID = internalID
        self.billingPlan = billingPlan
    }

    package var id: String? { offer.id }
}

/// An offer that a customer redeems with a code.
package struct OfferCode: Sendable, Hashable {
    /// Its id is the file's `offerID`, else the reference name, by which Apple's renewal info names such an offer.
    package var offer: Offer
    package var referenceName: String?
    package var internalID: String?
    package var billingPlan: BillingPlan.Kind
    /// Who may redeem it.
    package var eligibility: Set<Customer>
    /// Whether a customer who redeems it may have the introductory offer too.
    package var isStackable: Bool

    package init(
        offer: Offer, referenceName: String? = nil, internalID: String? = nil,
        billingPlan: BillingPlan.Kind = .upFront, eligibility: Set<Customer> = Customer.all, isStackable: Bool = true
    ) {
        self.offer = offer
        self.referenceName = referenceName
        self.internalID = internalID
        self.billingPlan = billingPlan
        self.eligibility = eligibility
        self.isStackable = isStackable
    }

    package var id: String? { offer.id }

    /// A customer seen from a subscription group.
    package struct Customer: RawRepresentable, Hashable, Sendable, Codable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// Has never subscribed.
        package static let new = Customer(rawValue: "new")
        /// Subscribes now.
        package static let existing = Customer(rawValue: "existing")
        /// Has subscribed, and no longer does.
        package static let expired = Customer(rawValue: "expired")
        package static let all: Set<Customer> = [.new, .existing, .expired]
    }
}

/// An offer to win back a customer whose subscription has expired.
package struct WinBackOffer: Sendable, Hashable {
    package var offer: Offer
    package var referenceName: String?
    package var internalID: String?
    package var billingPlan: BillingPlan.Kind
    /// Whether those whose subscription has expired may have it. The format knows no other condition: how long somebody
    /// subscribed, or has been gone, is App Store Connect's to say.
    package var isEligible: Bool

    package init(
        offer: Offer, referenceName: String? = nil, internalID: String? = nil,
        billingPlan: BillingPlan.Kind = .upFront, isEligible: Bool = true
    ) {
        self.offer = offer
        self.referenceName = referenceName
        self.internalID = internalID
        self.billingPlan = billingPlan
        self.isEligible = isEligible
    }

    package var id: String? { offer.id }
}

/// A way in which a subscription is billed (version 5 of the format).
package struct BillingPlan: Sendable, Hashable {
    package var kind: Kind
    /// What one bill comes to.
    package var price: Price
    /// What all bills of the commitment come to.
    package var commitmentPrice: Price?
    package var isEnabled: Bool
    package var internalID: String?

    package init(
        kind: Kind, price: Price, commitmentPrice: Price? = nil, isEnabled: Bool = true, internalID: String? = nil
    ) {
        self.kind = kind
        self.price = price
        self.commitmentPrice = commitmentPrice
        self.isEnabled = isEnabled
        self.internalID = internalID
    }

    /// Raw values are the file's. An open set: an unknown one is kept.
    package struct Kind: RawRepresentable, Hashable, Sendable, Codable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The whole period at once.
        package static let upFront = Kind(rawValue: "BILLED_UPFRONT")
        /// Every month, with a commitment to the whole period.
        package static let monthly = Kind(rawValue: "MONTHLY")
    }
}
