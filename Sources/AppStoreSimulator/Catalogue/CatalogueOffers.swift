import Primitives
import StoreModel

/// An introductory or promotional offer of a catalogue: what a customer sees, and what only the file says.
public struct CatalogueOffer: Sendable, Hashable {
    public var offer: Offer
    public var referenceName: String?
    public var internalID: String?
    /// The way of billing to which the offer belongs.
    public var billingPlan: BillingPlan.Kind

    public init(
        offer: Offer, referenceName: String? = nil, internalID: String? = nil,
        billingPlan: BillingPlan.Kind = .upFront
    ) {
        self.offer = offer
        self.referenceName = referenceName
        self.internalID = internalID
        self.billingPlan = billingPlan
    }

    public var id: String? { offer.id }
}

/// An offer that a customer redeems with a code.
public struct CodeOffer: Sendable, Hashable {
    /// Its id is the file's `offerID`, else the reference name, by which Apple's renewal info names such an offer.
    public var offer: Offer
    public var referenceName: String?
    public var internalID: String?
    public var billingPlan: BillingPlan.Kind
    /// Who may redeem it.
    public var eligibility: Set<Customer>
    /// Whether a customer who redeems it may have the introductory offer too.
    public var isStackable: Bool

    public init(
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

    public var id: String? { offer.id }

    /// A customer seen from a subscription group.
    public struct Customer: RawRepresentable, Hashable, Sendable, Codable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Has never subscribed.
        public static let new = Customer(rawValue: "new")
        /// Subscribes now.
        public static let existing = Customer(rawValue: "existing")
        /// Has subscribed, and no longer does.
        public static let expired = Customer(rawValue: "expired")
        public static let all: Set<Customer> = [.new, .existing, .expired]
    }
}

/// An offer to win back a customer whose subscription has expired.
public struct WinBackOffer: Sendable, Hashable {
    public var offer: Offer
    public var referenceName: String?
    public var internalID: String?
    public var billingPlan: BillingPlan.Kind
    /// Whether those whose subscription has expired may have it. The format knows no other condition: how long somebody
    /// subscribed, or has been gone, is App Store Connect's to say.
    public var isEligible: Bool

    public init(
        offer: Offer, referenceName: String? = nil, internalID: String? = nil,
        billingPlan: BillingPlan.Kind = .upFront, isEligible: Bool = true
    ) {
        self.offer = offer
        self.referenceName = referenceName
        self.internalID = internalID
        self.billingPlan = billingPlan
        self.isEligible = isEligible
    }

    public var id: String? { offer.id }
}

/// A way in which a subscription is billed (version 5 of the format).
public struct BillingPlan: Sendable, Hashable {
    public var kind: Kind
    /// What one bill comes to.
    public var price: Price
    /// What all bills of the commitment come to.
    public var commitmentPrice: Price?
    public var isEnabled: Bool
    public var internalID: String?

    public init(
        kind: Kind, price: Price, commitmentPrice: Price? = nil, isEnabled: Bool = true, internalID: String? = nil
    ) {
        self.kind = kind
        self.price = price
        self.commitmentPrice = commitmentPrice
        self.isEnabled = isEnabled
        self.internalID = internalID
    }

    /// Raw values are the file's. An open set: an unknown one is kept.
    public struct Kind: RawRepresentable, Hashable, Sendable, Codable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The whole period at once.
        public static let upFront = Kind(rawValue: "BILLED_UPFRONT")
        /// Every month, with a commitment to the whole period.
        public static let monthly = Kind(rawValue: "MONTHLY")
    }
}
