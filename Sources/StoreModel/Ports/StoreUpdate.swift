import Primitives

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

extension StoreUpdate {
    /// The transaction that was bought or taken back; `nil` where there is none, and for a changed renewal.
    public var completedTransaction: StoreTransaction? {
        switch state {
        case .purchased(let transaction, _), .revoked(let transaction): transaction
        case .purchasing, .deferred, .failed, .renewalChanged: nil
        }
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
    public typealias Reason = OpenEnum<StoreMessage>

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
    public typealias Code = OpenEnum<StoreFailure>
}

extension StoreMessage.Reason {
    public static var generic: Self { Self(rawValue: "generic") }
    /// The price of a subscription rises, and it ends unless the customer agrees.
    public static var priceIncreaseConsent: Self { Self(rawValue: "priceIncreaseConsent") }
    public static var billingIssue: Self { Self(rawValue: "billingIssue") }
    public static var winBackOffer: Self { Self(rawValue: "winBackOffer") }
}

extension StoreFailure.Code {
    /// The customer changed their mind (Apple: `userCancelled`).
    public static var cancelled: Self { Self(rawValue: "cancelled") }
    /// This device or this customer may not pay (Apple: `purchaseNotAllowed`).
    public static var notAllowed: Self { Self(rawValue: "notAllowed") }
    /// The store knows no such product.
    public static var invalidProduct: Self { Self(rawValue: "invalidProduct") }
    /// The store knows the product and does not sell it now.
    public static var productUnavailable: Self { Self(rawValue: "productUnavailable") }
    public static var notAvailableInStorefront: Self { Self(rawValue: "notAvailableInStorefront") }
    public static var invalidQuantity: Self { Self(rawValue: "invalidQuantity") }
    /// The product has no such offer (Apple: `invalidOfferIdentifier`).
    public static var invalidOffer: Self { Self(rawValue: "invalidOffer") }
    public static var invalidOfferPrice: Self { Self(rawValue: "invalidOfferPrice") }
    public static var invalidOfferSignature: Self { Self(rawValue: "invalidOfferSignature") }
    /// The offer needs a signature, and a part of it is missing.
    public static var missingOfferParameters: Self { Self(rawValue: "missingOfferParameters") }
    /// There is such an offer, not for this customer.
    public static var ineligibleForOffer: Self { Self(rawValue: "ineligibleForOffer") }
    /// The offer code is unknown, used up or has expired.
    public static var invalidCode: Self { Self(rawValue: "invalidCode") }
    /// Whoever had to approve did not, or the store took the money and then gave it back.
    public static var declined: Self { Self(rawValue: "declined") }
    /// The payment did not go through.
    public static var paymentFailed: Self { Self(rawValue: "paymentFailed") }
    /// The store cannot be reached (Apple: `networkError`); asking again may help.
    public static var unreachable: Self { Self(rawValue: "unreachable") }
    /// The store itself failed (Apple: `systemError`); asking again may help.
    public static var systemError: Self { Self(rawValue: "systemError") }
    /// The store has received a refund request for this transaction before (Apple: `duplicateRequest`).
    public static var duplicateRefundRequest: Self { Self(rawValue: "duplicateRefundRequest") }
    /// The store did not take a refund request (Apple: `RefundRequestError.failed`).
    public static var refundRequestFailed: Self { Self(rawValue: "refundRequestFailed") }
    /// The app lacks an entitlement of the platform.
    public static var notEntitled: Self { Self(rawValue: "notEntitled") }
    public static var unsupported: Self { Self(rawValue: "unsupported") }
    public static var unknown: Self { Self(rawValue: "unknown") }
}
