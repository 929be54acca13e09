import Primitives
import StoreModel

/// Reads the `settings` of a catalogue. A setting that cannot be read is a warning. A storefront or locale that is not
/// a string is an error, because the storefront determines the currency of every price.
extension CatalogueReader {
    mutating func readSettings(_ root: JSONPlace) {
        guard let place = root["settings"] else { return }
        guard place.isObject else { return fail(.wrongShape, place.pointer, "the settings should be a JSON object") }
        readStorefront(place)
        settings.asksToBuy = flag(place, "_askToBuyEnabled") ?? false
        settings.interruptsPurchases = flag(place, "_billingIssuesEnabled") ?? false
        settings.failsRenewals = flag(place, "_renewalBillingIssuesEnabled") ?? false
        settings.allowsGracePeriod = flag(place, "_billingGracePeriodEnabled") ?? false
        settings.failsTransactions = flag(place, "_failTransactionsEnabled") ?? false
        settings.hidesDialogs = flag(place, "_disableDialogs") ?? false
        settings.developerTeamID = place["_developerTeamID"]?.value.stringValue
        settings.applicationInternalID = place["_applicationInternalID"]?.value.stringValue
        readTimeRate(place)
        readTransactionError(place)
        readErrors(place)
    }

    private mutating func readStorefront(_ place: JSONPlace) {
        let name = text(place, "_storefront")
        if name == nil, place["_storefront"] != nil { return }
        settings.storefront = name
        settings.locale = text(place, "_locale")
        let country = name?.uppercased() ?? Storefronts.usa.countryCode
        if let known = Storefronts.storefront(country, locale: settings.locale) {
            storefront = known
        } else {
            storefront.locale = settings.locale ?? storefront.locale
            warn(
                .unknownStorefront, "\(place.pointer)/_storefront",
                "the storefront \(country) is not known; prices are in \(storefront.currency) as in the USA")
        }
    }

    private mutating func readTimeRate(_ place: JSONPlace) {
        guard let member = place["_timeRate"] else { return }
        guard let number = member.value.intValue else {
            return warn(.unknownTimeRate, member.pointer, "_timeRate should be a whole number; time runs at real speed")
        }
        settings.timeRate = .init(rawValue: number)
        if !settings.timeRate.isKnown {
            warn(.unknownTimeRate, member.pointer, "the time rate \(number) is not known; time runs at real speed")
        }
    }

    private mutating func readTransactionError(_ place: JSONPlace) {
        guard let member = place["_storeKitError"] else { return }
        guard let number = member.value.intValue else {
            return warn(.unknownError, member.pointer, "_storeKitError should be a whole number; the error is unknown")
        }
        let error = CatalogueSettings.TransactionError(rawValue: number)
        settings.transactionError = error
        if !CatalogueSettings.TransactionError.all.contains(error) {
            warn(.unknownError, member.pointer, "Xcode offers no error \(number) for transactions")
        }
    }

    private mutating func readErrors(_ place: JSONPlace) {
        guard let member = place["_storeKitErrors"] else { return }
        guard let elements = member.elements else {
            return warn(.wrongShape, member.pointer, "_storeKitErrors should be a list; it is ignored")
        }
        var seen: Set<CatalogueSettings.SimulatedFailure.API> = []
        for entry in elements {
            guard let name = entry["name"]?.value.stringValue else {
                warn(
                    .missingField, "\(entry.pointer)/name",
                    "the name of the API that fails is missing; the entry is ignored")
                continue
            }
            let api = CatalogueSettings.SimulatedFailure.API(rawValue: name)
            if !CatalogueSettings.SimulatedFailure.API.all.contains(api) {
                warn(.unknownAPI, "\(entry.pointer)/name", "\(name) is not an API that can fail; the entry is ignored")
            } else if !seen.insert(api).inserted {
                warn(
                    .unknownAPI, "\(entry.pointer)/name",
                    "\(name) is in the list more than once; the first enabled one is used")
            }
            settings.simulatedErrors.append(
                .init(api: api, isEnabled: flag(entry, "enabled") ?? false, error: choice(entry)))
        }
    }

    private mutating func choice(_ entry: JSONPlace) -> CatalogueSettings.SimulatedFailure.Choice? {
        guard let current = entry["current"] else { return nil }
        guard let family = current["type"]?.value.stringValue, let index = current["index"]?.value.intValue else {
            warn(
                .wrongShape, current.pointer,
                "the chosen error should have a type and an index; it is read as an unknown error")
            return nil
        }
        return .init(family: family, index: index)
    }
}
