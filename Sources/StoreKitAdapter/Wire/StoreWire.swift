import Foundation
import StoreModel

/// What `RemoteStoreConnection` and the simulator say to each other over HTTP, in JSON with RFC 3339 dates (`WireJSON`).
///
/// | method, path | request | answer |
/// |---|---|---|
/// | POST `/store/v1/devices` | `SignIn` | `Device` |
/// | GET `/store/v1/devices/{device}` | | `Device` |
/// | GET `/store/v1/devices/{device}/products?id=…&id=…` | no id: all | `ProductAnswer` |
/// | POST `/store/v1/devices/{device}/payments` | `Payment`; the same `id` again changes nothing | `Accepted` |
/// | POST `/store/v1/devices/{device}/offer-codes` | `OfferCodeRedemption` with a code | `{}` |
/// | GET `/store/v1/devices/{device}/updates?after=CURSOR&wait=SECONDS&storefront=ID` | long poll; no `after`: what is unfinished first | `Updates` |
/// | POST `/store/v1/devices/{device}/messages/{id}` | `MessageAnswer` | `{}` |
/// | POST `/store/v1/devices/{device}/transactions/{id}/finish` | | `{}` |
/// | POST `/store/v1/devices/{device}/restore` | | `Transactions` |
///
/// Refusals are `HTTPProblem`s: `unknownAccount`, `unknownDevice`, `unknownTransaction` (404), `malformed` (400), and a
/// `StoreFailure`'s code where the store does not do it (`unsupported` 501, `invalidProduct` 404, others 422).
public enum StoreWire {
    public struct SignIn: Codable, Sendable, Equatable {
        public var account: String
        public init(account: String) { self.account = account }
    }

    /// A device signed in to an account of the store.
    public struct Device: Codable, Sendable, Equatable {
        public var deviceID: String
        public var account: String
        public var storefront: Storefront
        public var canMakePayments: Bool

        public init(deviceID: String, account: String, storefront: Storefront, canMakePayments: Bool = true) {
            self.deviceID = deviceID
            self.account = account
            self.storefront = storefront
            self.canMakePayments = canMakePayments
        }
    }

    public struct Accepted: Codable, Sendable, Equatable {
        public var paymentID: PaymentID
        public init(paymentID: PaymentID) { self.paymentID = paymentID }
    }

    /// Updates after the cursor asked for, oldest first; `cursor`, a text of the simulator's own, is what to ask after
    /// next time. A question that names another storefront than the device's is answered at once.
    public struct Updates: Codable, Sendable, Equatable {
        public var updates: [Update]
        public var cursor: String
        /// Where the customer shops now.
        public var storefront: Storefront?
        /// All messages that are open now; absent where the simulator has none to give.
        public var messages: [StoreMessage]?

        public init(
            updates: [Update], cursor: String, storefront: Storefront? = nil, messages: [StoreMessage]? = nil
        ) {
            self.updates = updates
            self.cursor = cursor
            self.storefront = storefront
            self.messages = messages
        }
    }

    public struct MessageAnswer: Codable, Sendable, Equatable {
        public var answer: StoreMessage.Answer
        public init(answer: StoreMessage.Answer) { self.answer = answer }
    }

    /// `StoreUpdate` on the wire.
    public struct Update: Codable, Sendable, Equatable {
        public var paymentID: PaymentID?
        public var productID: ProductID
        /// `purchased`, `deferred`, `failed`, `revoked` or `renewalChanged`.
        public var state: String
        public var transaction: StoreTransaction?
        public var alreadyOwned: Bool?
        public var failure: StoreFailure?

        public init(
            paymentID: PaymentID? = nil, productID: ProductID, state: String, transaction: StoreTransaction? = nil,
            alreadyOwned: Bool? = nil, failure: StoreFailure? = nil
        ) {
            self.paymentID = paymentID
            self.productID = productID
            self.state = state
            self.transaction = transaction
            self.alreadyOwned = alreadyOwned
            self.failure = failure
        }
    }

    public struct Transactions: Codable, Sendable, Equatable {
        public var transactions: [StoreTransaction]
        public init(transactions: [StoreTransaction]) { self.transactions = transactions }
    }
}

/// The simulator's control API, in the same JSON.
///
/// | method, path | request | answer |
/// |---|---|---|
/// | GET `/control/v1/clock?after=REVISION&wait=SECONDS` | long poll when `after` is given | `ClockState` |
/// | POST `/control/v1/clock/advance` | `Advance` | `ClockState` |
/// | GET, POST `/control/v1/accounts` | POST: `Account` | `Accounts`; 201 `Account` |
/// | GET `/control/v1/products` | | `ProductAnswer` |
/// | POST `/control/v1/accounts/{account}/buy` | `Buy` | `Transaction` |
/// | POST `/control/v1/accounts/{account}/cancel` | `Cancel` | `Transaction` |
/// | GET `/control/v1/accounts/{account}/transactions` | | `Transactions` |
///
/// Refusals are `HTTPProblem`s: those of `StoreWire`, `accountExists` (409), `unknownSubscription` (404), and a `StoreFailure`'s
/// code where the store does not sell (`invalidProduct` 404, `unsupported` 501, others 422). Answered 501 `unsupported`
/// until they are built: POST `/control/v1/accounts/{account}/renew`, `…/fail-billing` and `…/resolve-billing`, POST
/// `/control/v1/transactions/{transaction}/refund`, `…/revoke` and `…/ask-to-buy`, PUT `/control/v1/settings/{name}`.
public enum StoreControlWire {
    /// Virtual time: `now` at the moment of the answer, running at `rate` virtual seconds a real second (0 is frozen).
    /// `revision` grows with every jump and every change of rate.
    public struct ClockState: Codable, Sendable, Equatable {
        public var now: Date
        public var rate: Double
        public var revision: Int64
        public init(now: Date, rate: Double, revision: Int64) {
            self.now = now
            self.rate = rate
            self.revision = revision
        }
    }

    /// Exactly one of the two: a calendar period (`P1M`) or seconds.
    public struct Advance: Codable, Sendable, Equatable {
        public var period: SubscriptionPeriod?
        public var seconds: Double?
        public init(period: SubscriptionPeriod? = nil, seconds: Double? = nil) {
            self.period = period
            self.seconds = seconds
        }
    }

    public struct Account: Codable, Sendable, Equatable {
        public var name: String
        public init(name: String) { self.name = name }
    }

    public struct Accounts: Codable, Sendable, Equatable {
        public var accounts: [Account]
        public init(accounts: [Account]) { self.accounts = accounts }
    }

    public struct Buy: Codable, Sendable, Equatable {
        public var productID: ProductID
        public var quantity: Int?
        public var offerID: String?
        public var appAccountToken: UUID?
        public init(productID: ProductID, quantity: Int? = nil, offerID: String? = nil, appAccountToken: UUID? = nil) {
            self.productID = productID
            self.quantity = quantity
            self.offerID = offerID
            self.appAccountToken = appAccountToken
        }
    }

    public struct Cancel: Codable, Sendable, Equatable {
        public var productID: ProductID
        public init(productID: ProductID) { self.productID = productID }
    }

    /// What `souk store buy --json` prints (CLI.md), signed as the store signs it now.
    public struct Transaction: Codable, Sendable, Equatable {
        public var transactionID: TransactionID
        public var originalTransactionID: TransactionID
        public var productID: ProductID
        /// `purchased`, `expired`, `revoked`.
        public var state: String
        public var signedTransaction: String
        public var signedRenewalInfo: String?

        public init(
            transactionID: TransactionID, originalTransactionID: TransactionID, productID: ProductID, state: String,
            signedTransaction: String, signedRenewalInfo: String? = nil
        ) {
            self.transactionID = transactionID
            self.originalTransactionID = originalTransactionID
            self.productID = productID
            self.state = state
            self.signedTransaction = signedTransaction
            self.signedRenewalInfo = signedRenewalInfo
        }
    }

    public struct Transactions: Codable, Sendable, Equatable {
        public var transactions: [Transaction]
        public init(transactions: [Transaction]) { self.transactions = transactions }
    }
}
