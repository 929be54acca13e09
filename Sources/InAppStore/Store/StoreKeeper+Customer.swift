import StoreModel

/// Who uses the app.
extension StoreKeeper {
    private static let rememberedTokens = 100

    /// Somebody logs in: what was known of the customer before is forgotten on this device, and the server is asked.
    /// The customer is changed also when the server cannot be asked, and then this throws.
    ///
    /// - Parameter changed: called when it is somebody else than before, and the server not asked yet.
    func logIn(_ customer: CustomerID, changed: @Sendable () async -> Void) async throws {
        questions += 1
        defer {
            questions -= 1
            watch()
        }
        if change(to: .init(customer: customer, isAnonymous: false)) { await changed() }
        try await refresh()
    }

    /// The anonymous customer of this device takes over.
    func logOut(changed: @Sendable () async -> Void) async throws {
        let owner = StoreState.Owner(customer: try records.anonymousCustomer(telling: happenings), isAnonymous: true)
        if change(to: owner) { await changed() }
    }

    /// Returns whether it is somebody else.
    private func change(to owner: StoreState.Owner) -> Bool {
        let isSomebodyElse = owner.customer != self.owner.customer
        guard isSomebodyElse else {
            commit { $0.owner = owner }
            return false
        }
        remember(owner)
        commit { state in
            state.owner = owner
            state.answer = nil
            state.acquiredViaSubscription = []
            (state.provisional, state.refuted) = ([], [])
            (state.failures, state.lastFailure) = (0, nil)
        }
        for key in StoreRecords.Key.ofOneCustomer {
            do {
                try records.remove(key)
            } catch {
                report(.storage("What was known of the former customer could not be removed: \(error)"))
            }
        }
        tellSiblings()
        return true
    }

    /// Keeps the token of who has logged in, so that their purchases are never presented as somebody else's here.
    func remember(_ owner: StoreState.Owner) {
        let token = owner.customer.appAccountToken
        guard !owner.isAnonymous, tokensOfThisDevice.last != token else { return }
        tokensOfThisDevice.removeAll { $0 == token }
        tokensOfThisDevice = (tokensOfThisDevice + [token]).suffix(Self.rememberedTokens)
        do {
            try records.set(tokensOfThisDevice: tokensOfThisDevice)
        } catch {
            report(.storage("Who has logged in could not be written down: \(error)"))
        }
    }
}
