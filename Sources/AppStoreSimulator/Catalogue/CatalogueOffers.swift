import Primitives
import StoreModel

/// An introductory or promotional offer: the offer that a customer sees, and the fields that only the file has.
package struct CatalogueOffer: Sendable, Hashable {
    package var offer: Offer
    package var referenceName: String?
    package var internalID: String?
    /// The billing plan of the offer.
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
    /// The offer. Its id is the `offerID` in the file, else the reference name, which Apple's renewal info contains,
    /// else the internal id.
    package var offer: Offer
    package var referenceName: String?
    package var internalID: String?
    package var billingPlan: BillingPlan.Kind
    /// The customers who can redeem the code.
    package var eligibility: Set<Customer>
    /// Whether a customer who redeems the code can have the introductory offer too.
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

    /// A kind of customer, in relation to a subscription group.
    package struct Customer: RawRepresentable, Hashable, Sendable, Codable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// A customer who has never subscribed in the group.
        package static let new = Customer(rawValue: "new")
        /// A customer with a subscription that has not ended.
        package static let existing = Customer(rawValue: "existing")
        /// A customer whose subscription has ended.
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
    /// Whether customers whose subscription has expired can have the offer. The format has no other condition. App
    /// Store Connect can also require how long the subscription lasted and how long ago it ended.
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

/// A billing plan of a subscription (version 5 of the format).
package struct BillingPlan: Sendable, Hashable {
    /// The number of bills of a commitment, one each month. Apple has only commitments of a year.
    static let billCount = 12

    package var kind: Kind
    /// The price of one bill.
    package var price: Price
    /// The price of all bills of the commitment.
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

    /// The kind of a billing plan. Raw values are those of the file. An open set: unknown values are kept.
    package struct Kind: RawRepresentable, Hashable, Sendable, Codable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The whole period is paid at once.
        package static let upFront = Kind(rawValue: "BILLED_UPFRONT")
        /// Each month is paid, with a commitment to the whole period.
        package static let monthly = Kind(rawValue: "MONTHLY")
    }
}
