import Primitives

/// Changes to a catalogue. Each function returns a new catalogue, parsed from the changed JSON, so an invalid change
/// throws the errors that `lint` reports.
extension Catalogue {
    /// Creates a catalogue from a document. Its bytes have the layout that Xcode writes.
    ///
    /// - Parameters:
    ///   - document: The content of a StoreKit configuration file.
    ///   - file: The name of the file in error messages.
    /// - Throws: An error that lists all errors of the document, if it cannot be used.
    public init(document: JSONValue, file: String) throws {
        try self.init(parsing: JSONText(xcode: document).bytes, file: file)
    }

    /// Returns a catalogue in which one value of the document is changed or removed. The rest of the file stays as it
    /// is.
    ///
    ///     try catalogue.replacing("\(item.pointer)/displayPrice", with: "5.99")
    ///
    /// A member that does not exist is added, and an element can be added after the last.
    ///
    /// - Parameters:
    ///   - pointer: The place, as a JSON Pointer (RFC 6901).
    ///   - value: The new value; `nil` removes the present value.
    /// - Returns: The changed catalogue.
    /// - Throws: An error if the document cannot have a value at the place, or if the changed catalogue cannot be used.
    public func replacing(_ pointer: String, with value: JSONValue?) throws -> Catalogue {
        try changed([(pointer, value)])
    }

    /// Returns the catalogue with other settings. Settings that `change` does not touch stay as they are in the file.
    ///
    ///     try catalogue.changingSettings { $0.asksToBuy = true }
    package func changingSettings(_ change: (inout CatalogueSettings) -> Void) throws -> Catalogue {
        var wanted = settings
        change(&wanted)
        let edits = settingsEdits(to: wanted)
        if edits.isEmpty { return self }
        guard document["settings"]?.isNull ?? true else {
            return try changed(edits.map { ("/settings/\($0.0)", $0.1) })
        }
        let members = edits.compactMap { name, value in value.map { (name, $0) } }
            .sorted { $0.0.lowercased() < $1.0.lowercased() }
        return try changed([("/settings", .object(JSONMembers(members)))])
    }

    private func changed(_ edits: [(String, JSONValue?)]) throws -> Catalogue {
        var text = JSONText(source)
        for (pointer, value) in edits {
            guard let steps = JSONPointer.steps(pointer), text.set(steps, to: value) else {
                throw CatalogueError(findings: [
                    .init(
                        severity: .error, code: .noSuchPlace, file: file, pointer: pointer,
                        reason: "there is no such place in the catalogue")
                ])
            }
        }
        return try Catalogue(parsing: text.bytes, file: file)
    }

    /// Returns the settings that differ, each as its path below `settings` and its new value.
    private func settingsEdits(to wanted: CatalogueSettings) -> [(String, JSONValue?)] {
        var edits: [(String, JSONValue?)] = []
        func edit<Value: Equatable>(
            _ name: String, _ path: KeyPath<CatalogueSettings, Value>, _ value: (Value) -> JSONValue?
        ) {
            let new = wanted[keyPath: path]
            if new != settings[keyPath: path] { edits.append((name, value(new))) }
        }
        let text: (String?) -> JSONValue? = { $0.map { .string($0) } }
        edit("_applicationInternalID", \.applicationInternalID, text)
        edit("_askToBuyEnabled", \.asksToBuy) { .bool($0) }
        edit("_billingGracePeriodEnabled", \.allowsGracePeriod) { .bool($0) }
        edit("_billingIssuesEnabled", \.interruptsPurchases) { .bool($0) }
        edit("_developerTeamID", \.developerTeamID, text)
        edit("_disableDialogs", \.hidesDialogs) { .bool($0) }
        edit("_failTransactionsEnabled", \.failsTransactions) { .bool($0) }
        edit("_locale", \.locale, text)
        edit("_renewalBillingIssuesEnabled", \.failsRenewals) { .bool($0) }
        edit("_storefront", \.storefront, text)
        edit("_storeKitError", \.transactionError) { $0.map { .number($0.rawValue) } }
        edit("_timeRate", \.timeRate) { .number($0.rawValue) }
        return edits + errorEdits(to: wanted.simulatedErrors)
    }

    /// Returns an edit for each changed error if the list has the same APIs in the same order. Otherwise returns one
    /// edit that replaces the whole list.
    private func errorEdits(to wanted: [CatalogueSettings.SimulatedFailure]) -> [(String, JSONValue?)] {
        if wanted == settings.simulatedErrors { return [] }
        let list = document["settings"]?["_storeKitErrors"]?.arrayValue ?? []
        guard !list.isEmpty, list.map({ $0["name"]?.stringValue }) == wanted.map(\.api.rawValue) else {
            return [("_storeKitErrors", .array(wanted.map(\.document)))]
        }
        var edits: [(String, JSONValue?)] = []
        for (index, (old, new)) in zip(settings.simulatedErrors, wanted).enumerated() {
            if old.isEnabled != new.isEnabled {
                edits.append(("_storeKitErrors/\(index)/enabled", .bool(new.isEnabled)))
            }
            if old.error != new.error {
                edits.append(("_storeKitErrors/\(index)/current", new.error?.document ?? .null))
            }
        }
        return edits
    }
}

extension CatalogueSettings.SimulatedFailure {
    fileprivate var document: JSONValue {
        ["current": error?.document ?? .null, "enabled": .bool(isEnabled), "name": .string(api.rawValue)]
    }
}

extension CatalogueSettings.SimulatedFailure.Choice {
    fileprivate var document: JSONValue { ["index": .number(index), "type": .string(family)] }
}
