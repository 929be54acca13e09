/// One thing the store reports.
public struct StoreUpdate: Hashable, Sendable {
    /// The payment that this answers; `nil` for what happened by itself or in an earlier run.
    public var paymentID: PaymentID?
    public var productID: ProductID
    public var state: State

    public init(paymentID: PaymentID? = nil, productID: ProductID, state: State) {
        self.paymentID = paymentID
        self.productID = productID
        self.state = state
    }

    /// Closed: the states of a transaction at a store, and the change of how a subscription goes on.
    public enum State: Hashable, Sendable {
        /// The payment is on its way to the store.
        case purchasing
        /// Paid; it must be delivered and finished. `alreadyOwned` when the store gave back an earlier purchase.
        case purchased(StoreTransaction, alreadyOwned: Bool = false)
        /// Waits for somebody's approval; an update with the same payment id follows, perhaps in another run.
        case deferred
        case failed(StoreFailure)
        /// Taken back by the store: refunded, or no longer shared by the family.
        case revoked(StoreTransaction)
        /// The latest transaction of a subscription with its changed renewal info. There is nothing to finish.
        case renewalChanged(StoreTransaction)
    }
}

/// Something the store wants the customer to know, which the app may show when it fits (Apple: `Message`).
public struct StoreMessage: Hashable, Sendable, Codable, Identifiable {
    /// The same for as long as the message is open.
    public var id: String
    public var reason: Reason
    /// The subscription it is about, where it is about one.
    public var productID: ProductID?

    public init(id: String, reason: Reason, productID: ProductID? = nil) {
        self.id = id
        self.reason = reason
        self.productID = productID
    }

    /// An open set: an unknown reason is kept.
    public struct Reason: RawRepresentable, Hashable, Sendable, Codable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let generic = Reason(rawValue: "generic")
        /// The price of a subscription rises, and it ends unless the customer agrees.
        public static let priceIncreaseConsent = Reason(rawValue: "priceIncreaseConsent")
        public static let billingIssue = Reason(rawValue: "billingIssue")
        public static let winBackOffer = Reason(rawValue: "winBackOffer")
    }

    /// What is to become of a message. An open set: a store says `unsupported` to what it does not know.
    public struct Answer: RawRepresentable, Hashable, Sendable, Codable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The store is to show it now, and takes the customer's answer itself.
        public static let show = Answer(rawValue: "show")
        /// The customer agrees to the higher price.
        public static let accept = Answer(rawValue: "accept")
        /// The customer does not agree: the subscription ends with its period.
        public static let decline = Answer(rawValue: "decline")
    }
}

/// Why the store did not do what it was asked.
public struct StoreFailure: Error, Hashable, Sendable, Codable {
    public var code: Code
    public var reason: String

    public init(code: Code, reason: String) {
        self.code = code
        self.reason = reason
    }

    /// An open set; Apple's `Product.PurchaseError` and `StoreKitError` have a code each.
    public struct Code: RawRepresentable, Hashable, Sendable, Codable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The customer changed their mind (Apple: `userCancelled`).
        public static let cancelled = Code(rawValue: "cancelled")
        /// This device or this customer may not pay (Apple: `purchaseNotAllowed`).
        public static let notAllowed = Code(rawValue: "notAllowed")
        /// The store knows no such product.
        public static let invalidProduct = Code(rawValue: "invalidProduct")
        /// The store knows the product and does not sell it now.
        public static let productUnavailable = Code(rawValue: "productUnavailable")
        public static let notAvailableInStorefront = Code(rawValue: "notAvailableInStorefront")
        public static let invalidQuantity = Code(rawValue: "invalidQuantity")
        /// The product has no such offer (Apple: `invalidOfferIdentifier`).
        public static let invalidOffer = Code(rawValue: "invalidOffer")
        public static let invalidOfferPrice = Code(rawValue: "invalidOfferPrice")
        public static let invalidOfferSignature = Code(rawValue: "invalidOfferSignature")
        /// The offer needs a signature, and a part of it is missing.
        public static let missingOfferParameters = Code(rawValue: "missingOfferParameters")
        /// There is such an offer, not for this customer.
        public static let ineligibleForOffer = Code(rawValue: "ineligibleForOffer")
        /// The offer code is unknown, used up or has expired.
        public static let invalidCode = Code(rawValue: "invalidCode")
        /// Whoever had to approve did not, or the store took the money and then gave it back.
        public static let declined = Code(rawValue: "declined")
        /// The payment did not go through.
        public static let paymentFailed = Code(rawValue: "paymentFailed")
        /// The store cannot be reached (Apple: `networkError`); asking again may help.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The store itself failed (Apple: `systemError`); asking again may help.
        public static let systemError = Code(rawValue: "systemError")
        /// The store has received a refund request for this transaction before (Apple: `duplicateRequest`).
        public static let duplicateRefundRequest = Code(rawValue: "duplicateRefundRequest")
        /// The store did not take a refund request (Apple: `RefundRequestError.failed`).
        public static let refundRequestFailed = Code(rawValue: "refundRequestFailed")
        /// The app lacks an entitlement of the platform.
        public static let notEntitled = Code(rawValue: "notEntitled")
        public static let unsupported = Code(rawValue: "unsupported")
        public static let unknown = Code(rawValue: "unknown")
    }
}
