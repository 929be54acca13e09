import Primitives

/// An event that the store reports.
public struct StoreUpdate: Hashable, Sendable {
    /// The payment that caused the event, or `nil` if the event has no payment, such as a renewal, or its payment is
    /// not known.
    public var paymentID: PaymentID?
    /// The product.
    public var productID: ProductID
    /// The new state.
    public var state: State

    /// Creates an update.
    ///
    /// - Parameters:
    ///   - paymentID: The payment that caused the event, or `nil` if there is no payment or it is not known.
    ///   - productID: The product.
    ///   - state: The new state.
    public init(paymentID: PaymentID? = nil, productID: ProductID, state: State) {
        self.paymentID = paymentID
        self.productID = productID
        self.state = state
    }

    /// The state of a transaction at the store, or a change of a subscription's renewal. The set is closed.
    public enum State: Hashable, Sendable {
        /// The payment is being sent to the store.
        case purchasing
        /// The store has a new transaction, such as a purchase or a renewal. The app must deliver and finish it.
        /// `alreadyOwned` is true if the store returned an earlier purchase.
        case purchased(StoreTransaction, alreadyOwned: Bool = false)
        /// The payment waits for an approval. After the approval, an update with the same payment id follows, possibly
        /// in another run of the app.
        case deferred
        /// The payment failed.
        case failed(StoreFailure)
        /// The store revoked the purchase: it was refunded, or the family no longer shares it.
        case revoked(StoreTransaction)
        /// The renewal info of a subscription changed. The value is its latest transaction; there is nothing to finish.
        case renewalChanged(StoreTransaction)
    }
}

extension StoreUpdate {
    /// The transaction that was bought or revoked, or `nil` for other states, including `renewalChanged`.
    public var completedTransaction: StoreTransaction? {
        switch state {
        case .purchased(let transaction, _), .revoked(let transaction): transaction
        case .purchasing, .deferred, .failed, .renewalChanged: nil
        }
    }
}

/// A message of the store to the customer, which the app can show at a suitable time (Apple: `Message`).
public struct StoreMessage: Hashable, Sendable, Codable, Identifiable {
    /// The id of the message. It stays the same while the message is open.
    public var id: String
    /// The reason of the message.
    public var reason: Reason
    /// The subscription that the message is about, if any.
    public var productID: ProductID?

    /// Creates a message.
    ///
    /// - Parameters:
    ///   - id: The id of the message.
    ///   - reason: The reason of the message.
    ///   - productID: The subscription that the message is about, if any.
    public init(id: String, reason: Reason, productID: ProductID? = nil) {
        self.id = id
        self.reason = reason
        self.productID = productID
    }

    /// The reason of a message, from an open set: an unknown reason is kept.
    public typealias Reason = OpenEnum<StoreMessage>

    /// An answer to a message, from an open set. For an unknown answer, a store throws `unsupported`.
    public struct Answer: RawRepresentable, Hashable, Sendable, Codable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The store shows the message now, and takes the customer's answer itself.
        public static let show = Answer(rawValue: "show")
        /// The customer agrees to the higher price.
        public static let accept = Answer(rawValue: "accept")
        /// The customer declines. After a declined price increase, the subscription ends with its period.
        public static let decline = Answer(rawValue: "decline")
    }
}

/// An error of the store.
public struct StoreFailure: Error, Hashable, Sendable, Codable {
    /// The kind of failure.
    public var code: Code
    /// A sentence that says what is wrong and what to do.
    public var reason: String

    /// Creates a failure.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - reason: A sentence that says what is wrong and what to do.
    public init(code: Code, reason: String) {
        self.code = code
        self.reason = reason
    }

    /// The kind of failure, from an open set. Each case of Apple's `Product.PurchaseError` and `StoreKitError` has a
    /// code.
    public typealias Code = OpenEnum<StoreFailure>
}

extension StoreMessage.Reason {
    /// A message without a more specific reason.
    public static var generic: Self { Self(rawValue: "generic") }
    /// The price of a subscription increases. The subscription ends unless the customer agrees.
    public static var priceIncreaseConsent: Self { Self(rawValue: "priceIncreaseConsent") }
    /// The store could not collect a payment.
    public static var billingIssue: Self { Self(rawValue: "billingIssue") }
    /// The customer is eligible for a win-back offer.
    public static var winBackOffer: Self { Self(rawValue: "winBackOffer") }
}

extension StoreFailure.Code {
    /// The customer cancelled the purchase (Apple: `userCancelled`).
    public static var cancelled: Self { Self(rawValue: "cancelled") }
    /// This device or customer may not make payments (Apple: `purchaseNotAllowed`).
    public static var notAllowed: Self { Self(rawValue: "notAllowed") }
    /// The store does not know the product.
    public static var invalidProduct: Self { Self(rawValue: "invalidProduct") }
    /// The store knows the product but does not sell it now.
    public static var productUnavailable: Self { Self(rawValue: "productUnavailable") }
    /// The product is not sold in the customer's storefront.
    public static var notAvailableInStorefront: Self { Self(rawValue: "notAvailableInStorefront") }
    /// The store does not sell this quantity of the product.
    public static var invalidQuantity: Self { Self(rawValue: "invalidQuantity") }
    /// The product does not have this offer (Apple: `invalidOfferIdentifier`).
    public static var invalidOffer: Self { Self(rawValue: "invalidOffer") }
    /// The price of the offer is not valid.
    public static var invalidOfferPrice: Self { Self(rawValue: "invalidOfferPrice") }
    /// The signature of the offer is not valid.
    public static var invalidOfferSignature: Self { Self(rawValue: "invalidOfferSignature") }
    /// The offer needs a signature, and a part of it is missing.
    public static var missingOfferParameters: Self { Self(rawValue: "missingOfferParameters") }
    /// The offer exists, but this customer is not eligible for it.
    public static var ineligibleForOffer: Self { Self(rawValue: "ineligibleForOffer") }
    /// The offer code is unknown, used up or has expired.
    public static var invalidCode: Self { Self(rawValue: "invalidCode") }
    /// The purchase was not approved, or the store returned the money.
    public static var declined: Self { Self(rawValue: "declined") }
    /// The payment failed.
    public static var paymentFailed: Self { Self(rawValue: "paymentFailed") }
    /// The store cannot be reached (Apple: `networkError`). Trying again may help.
    public static var unreachable: Self { Self(rawValue: "unreachable") }
    /// The store failed (Apple: `systemError`). Trying again may help.
    public static var systemError: Self { Self(rawValue: "systemError") }
    /// The store has already received a refund request for this transaction (Apple: `duplicateRequest`).
    public static var duplicateRefundRequest: Self { Self(rawValue: "duplicateRefundRequest") }
    /// The store did not accept the refund request (Apple: `RefundRequestError.failed`).
    public static var refundRequestFailed: Self { Self(rawValue: "refundRequestFailed") }
    /// The app lacks an entitlement of the platform.
    public static var notEntitled: Self { Self(rawValue: "notEntitled") }
    /// The store does not support the operation.
    public static var unsupported: Self { Self(rawValue: "unsupported") }
    /// The store gave no known reason.
    public static var unknown: Self { Self(rawValue: "unknown") }
}
