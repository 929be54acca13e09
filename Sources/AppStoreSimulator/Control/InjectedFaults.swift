import Primitives
import StoreModel

/// The errors and latencies that the store's settings inject into the APIs of devices.
///
///     let faults = InjectedFaults(["errors.purchase": "networkError", "latency.purchase": 0.5])
///     faults.answer(to: .purchase)      // 0.5 seconds, then StoreFailure unreachable
public struct InjectedFaults: Sendable, Hashable {
    /// An API that a device calls. The set is closed. Raw values are the names in settings.
    public enum API: String, Sendable, CaseIterable {
        case signIn, device, loadProducts, purchase, updates, finish, appStoreSync, receipt, offerCodeRedeem, messages
    }

    /// An error that Xcode can inject, by Apple's name (`StoreKitError`, `Product.PurchaseError`). The set is closed.
    public enum Kind: String, Sendable, CaseIterable {
        case unknown, userCancelled, networkError, systemError, notAvailableInStorefront, notEntitled
        case invalidQuantity, productUnavailable, purchaseNotAllowed, ineligibleForOffer, invalidOfferIdentifier,
            invalidOfferPrice, invalidOfferSignature, missingOfferParameters
    }

    /// The fault that is injected into a call.
    public struct Answer: Sendable, Hashable {
        /// The real time before the answer, in seconds.
        public var delay = 0.0
        /// The injected error; `nil` if there is none.
        public var failure: StoreFailure?
    }

    private var answers: [API: Answer] = [:]

    /// Creates faults from settings by name. Ignores other settings and invalid values.
    ///
    /// - Parameter settings: The settings, such as `errors.purchase` and `latency.purchase`.
    public init(_ settings: [String: JSONValue] = [:]) {
        for api in API.allCases {
            let kind = settings[StoreSetting.errors(api).name]?.stringValue.flatMap(Kind.init)
            let delay = settings[StoreSetting.latency(api).name]?.doubleValue ?? 0
            guard kind != nil || delay > 0 else { continue }
            answers[api] = Answer(
                delay: min(max(delay, 0), StoreSetting.longestLatency), failure: kind.map { $0.failure(of: api) })
        }
    }

    /// Returns the fault for a call of `api`.
    public func answer(to api: API) -> Answer { answers[api] ?? Answer() }

    /// Whether no fault is injected.
    public var isEmpty: Bool { answers.isEmpty }
}

extension InjectedFaults.API {
    /// The errors that can be injected into this API.
    public var errors: [InjectedFaults.Kind] {
        self == .purchase ? InjectedFaults.Kind.allCases : InjectedFaults.Kind.generic
    }

    /// The call as the subject of a sentence that continues with "is answered".
    var summary: String {
        switch self {
        case .signIn: "a sign-in"
        case .device: "a request for the device and its storefront"
        case .loadProducts: "a request for products"
        case .purchase: "a payment"
        case .updates: "a request for updates"
        case .finish: "the finish of a transaction"
        case .appStoreSync: "a restore"
        case .receipt: "a request for the receipt"
        case .offerCodeRedeem: "the redemption of an offer code"
        case .messages: "the answer to a message"
        }
    }
}

extension InjectedFaults.Kind {
    /// The cases of Apple's `StoreKitError`. The other errors are those of a purchase.
    static let generic: [Self] = [
        .unknown, .userCancelled, .networkError, .systemError, .notAvailableInStorefront, .notEntitled,
    ]

    func failure(of api: InjectedFaults.API) -> StoreFailure {
        StoreFailure(code: code, reason: "The setting errors.\(api.rawValue) is \(rawValue); set it to off.")
    }

    private var code: StoreFailure.Code {
        switch self {
        case .unknown: .unknown
        case .userCancelled: .cancelled
        case .networkError: .unreachable
        case .systemError: .systemError
        case .notAvailableInStorefront: .notAvailableInStorefront
        case .notEntitled: .notEntitled
        case .invalidQuantity: .invalidQuantity
        case .productUnavailable: .productUnavailable
        case .purchaseNotAllowed: .notAllowed
        case .ineligibleForOffer: .ineligibleForOffer
        case .invalidOfferIdentifier: .invalidOffer
        case .invalidOfferPrice: .invalidOfferPrice
        case .invalidOfferSignature: .invalidOfferSignature
        case .missingOfferParameters: .missingOfferParameters
        }
    }
}
