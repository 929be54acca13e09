import Foundation
import StoreModel

/// The HTTP messages between `RemoteStoreConnection` and the simulator: JSON with RFC 3339 dates (`WireJSON`).
///
/// | method, path | request | answer |
/// |---|---|---|
/// | POST `/store/v1/devices` | `SignIn` | `Device` |
/// | GET `/store/v1/devices/{device}` | | `Device` |
/// | GET `/store/v1/devices/{device}/products?id=…&id=…` | no id: all | `ProductAnswer` |
/// | POST `/store/v1/devices/{device}/payments` | `Payment`; the same `id` again changes nothing | `Accepted` |
/// | POST `/store/v1/devices/{device}/offer-codes` | `OfferCodeRedemption` with a code | `{}` |
/// | GET `/store/v1/devices/{device}/updates?after=CURSOR&wait=SECONDS&storefront=ID` | long poll; without `after`: unfinished transactions first | `Updates` |
/// | POST `/store/v1/devices/{device}/messages/{id}` | `MessageAnswer` | `{}` |
/// | POST `/store/v1/devices/{device}/promoted-purchases/{product}` | | `PromotedPurchase`; only one device gets it |
/// | POST `/store/v1/devices/{device}/transactions/{id}/finish` | | `{}` |
/// | POST `/store/v1/devices/{device}/restore` | | `Transactions` |
/// | GET `/store/v1/devices/{device}/owned-transactions` | | `Transactions` |
/// | GET `/store/v1/devices/{device}/receipt` | | `StoreWire.Receipt` |
/// | GET `/store/v1/devices/{device}/app-transaction` | | `AppTransaction` |
///
/// An error is an `HTTPProblem`: `unknownAccount`, `unknownDevice`, `unknownTransaction` (404), `malformed` (400), or
/// the code of a `StoreFailure` if the store refuses (`invalidProduct` 404, others 422).
package enum StoreWire {
    package struct SignIn: Codable, Sendable, Equatable {
        package var account: String
        package init(account: String) { self.account = account }
    }

    /// A device signed in to an account of the store.
    package struct Device: Codable, Sendable, Equatable {
        package var deviceID: String
        package var account: String
        package var storefront: Storefront
        package var canMakePayments: Bool

        package init(deviceID: String, account: String, storefront: Storefront, canMakePayments: Bool = true) {
            self.deviceID = deviceID
            self.account = account
            self.storefront = storefront
            self.canMakePayments = canMakePayments
        }
    }

    package struct Accepted: Codable, Sendable, Equatable {
        package var paymentID: PaymentID
        package init(paymentID: PaymentID) { self.paymentID = paymentID }
    }

    /// The updates after the requested cursor, oldest first. `cursor` is an opaque string for the next request. A
    /// request that names another storefront than the device's is answered at once.
    package struct Updates: Codable, Sendable, Equatable {
        package var updates: [Update]
        package var cursor: String
        /// The customer's current storefront.
        package var storefront: Storefront?
        /// All messages that are open now; absent if there are none. A message that opens or closes ends the long poll.
        package var messages: [StoreMessage]?
        /// The purchases that the customer began in the store and that no device has taken yet; absent if there are
        /// none.
        package var promotedPurchases: [PromotedPurchase]?

        package init(
            updates: [Update], cursor: String, storefront: Storefront? = nil, messages: [StoreMessage]? = nil,
            promotedPurchases: [PromotedPurchase]? = nil
        ) {
            self.updates = updates
            self.cursor = cursor
            self.storefront = storefront
            self.messages = messages
            self.promotedPurchases = promotedPurchases
        }
    }

    package struct MessageAnswer: Codable, Sendable, Equatable {
        package var answer: StoreMessage.Answer
        package init(answer: StoreMessage.Answer) { self.answer = answer }
    }

    /// The wire format of `StoreUpdate`.
    package struct Update: Codable, Sendable, Equatable {
        package var paymentID: PaymentID?
        package var productID: ProductID
        /// `purchased`, `deferred`, `failed`, `revoked` or `renewalChanged`.
        package var state: String
        package var transaction: StoreTransaction?
        package var alreadyOwned: Bool?
        package var failure: StoreFailure?

        package init(
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

    /// Apple's app transaction as a JWS: how the customer got the app.
    package struct AppTransaction: Codable, Sendable, Equatable {
        package var signedAppTransaction: String
        package init(signedAppTransaction: String) { self.signedAppTransaction = signedAppTransaction }
    }

    /// Whether an account is eligible for the introductory offers of a subscription group.
    package struct IntroductoryOfferEligibility: Codable, Sendable, Equatable {
        package var isEligible: Bool
        package init(isEligible: Bool) { self.isEligible = isEligible }
    }

    package struct Transactions: Codable, Sendable, Equatable {
        package var transactions: [StoreTransaction]
        package init(transactions: [StoreTransaction]) { self.transactions = transactions }
    }

    /// A device's app receipt, base64 of PKCS #7.
    package struct Receipt: Codable, Sendable, Equatable {
        package var receipt: String
        package init(receipt: String) { self.receipt = receipt }
    }
}
