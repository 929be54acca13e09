import Primitives
import StoreModel

extension CatalogueSettings {
    /// What the file asks for, as settings of the simulated store by name: only what is not a store's default, and only
    /// what this store can do.
    ///
    ///     catalogue.settings.storeSettings      // ["askToBuy": true, "gracePeriod": "16d"]
    ///
    /// Xcode names an error by a number whose meaning is not known: it becomes `unknown`.
    package var storeSettings: [String: JSONValue] {
        var values: [StoreSetting: JSONValue] = [:]
        if asksToBuy { values[.askToBuy] = true }
        if interruptsPurchases { values[.interruptedPurchases] = true }
        if failsRenewals { values[.renewalsFail] = true }
        if allowsGracePeriod { values[.gracePeriod] = "\(GracePeriod.xcode.rawValue)d" }
        if let country = storefront?.uppercased(), Storefronts.storefront(country) != nil {
            values[.storefront] = .string(country)
        }
        if let rate = timeRate.simulated, rate != .real { values[.timeRate] = .string(rate.description) }
        if failsTransactions { values[.errors(.purchase)] = .string((transactionError ?? .unknown).kind.rawValue) }
        for (api, own) in Self.ownAPIs where failure(of: api) != nil {
            values[.errors(own)] = .string(InjectedFaults.Kind.unknown.rawValue)
        }
        return Dictionary(uniqueKeysWithValues: values.map { ($0.key.name, $0.value) })
    }

    /// The APIs that Xcode and this store can both make fail.
    private static let ownAPIs: [(SimulatedFailure.API, InjectedFaults.API)] = [
        (.loadProducts, .loadProducts), (.purchase, .purchase), (.sync, .appStoreSync),
        (.offerCodeRedeem, .offerCodeRedeem),
    ]
}

extension CatalogueSettings.TransactionError {
    fileprivate var kind: InjectedFaults.Kind {
        switch self {
        case .invalidOfferIdentifier: .invalidOfferIdentifier
        case .invalidSignature: .invalidOfferSignature
        case .missingOfferParameters: .missingOfferParameters
        case .invalidOfferPrice: .invalidOfferPrice
        default: .unknown
        }
    }
}
