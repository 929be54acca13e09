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
/// | POST `/store/v1/devices/{device}/promoted-purchases/{product}` | | `PromotedPurchase`, to one device |
/// | POST `/store/v1/devices/{device}/transactions/{id}/finish` | | `{}` |
/// | POST `/store/v1/devices/{device}/restore` | | `Transactions` |
/// | GET `/store/v1/devices/{device}/owned-transactions` | | `Transactions` |
/// | GET `/store/v1/devices/{device}/receipt` | | `StoreWire.Receipt` |
/// | GET `/store/v1/devices/{device}/app-transaction` | | `AppTransaction` |
///
/// Refusals are `HTTPProblem`s: `unknownAccount`, `unknownDevice`, `unknownTransaction` (404), `malformed` (400), and a
/// `StoreFailure`'s code where the store does not do it (`invalidProduct` 404, others 422).
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

    /// Updates after the cursor asked for, oldest first; `cursor`, a text of the simulator's own, is what to ask after
    /// next time. A question that names another storefront than the device's is answered at once.
    package struct Updates: Codable, Sendable, Equatable {
        package var updates: [Update]
        package var cursor: String
        /// Where the customer shops now.
        package var storefront: Storefront?
        /// All messages that are open now; absent where the simulator has none to give. One that opens or closes comes with
        /// an update of its subscription, which ends the long poll.
        package var messages: [StoreMessage]?
        /// What the customer has begun to buy in the store and no device has taken; absent where there is nothing.
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

    /// `StoreUpdate` on the wire.
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

    /// How the customer got the app itself: a JWS of Apple's app transaction.
    package struct AppTransaction: Codable, Sendable, Equatable {
        package var signedAppTransaction: String
        package init(signedAppTransaction: String) { self.signedAppTransaction = signedAppTransaction }
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
