import Primitives
import StoreModel

extension CatalogueSettings {
    /// The values of the simulator's settings by name, converted from the file. Contains a known storefront that the
    /// file names, and those other settings that differ from the simulator's defaults.
    ///
    ///     catalogue.settings.storeSettings      // ["askToBuy": true, "gracePeriod": "16d"]
    ///
    /// Apple does not document the error numbers in `simulatedErrors`, so each of these errors becomes `unknown`.
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
        for (xcode, simulated) in Self.commonAPIs where failure(of: xcode) != nil {
            values[.errors(simulated)] = .string(InjectedFaults.Kind.unknown.rawValue)
        }
        return Dictionary(uniqueKeysWithValues: values.map { ($0.key.name, $0.value) })
    }

    /// The APIs that can fail both in Xcode and in the simulator.
    private static let commonAPIs: [(SimulatedFailure.API, InjectedFaults.API)] = [
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
