import StoreModel

/// Login and logout.
extension StoreCoordinator {
    private static let tokenLimit = 100

    /// Logs a customer in: removes the former customer's data from this device, and requests the access. If the server
    /// is unreachable, throws after the customer has changed.
    ///
    /// - Parameter changed: Called if the customer differs from the former one, before the request to the server.
    func logIn(_ customer: CustomerID, changed: @Sendable () async -> Void) async throws {
        openRequests += 1
        defer {
            openRequests -= 1
            scheduleTimer()
        }
        if change(to: .init(customer: customer, isAnonymous: false)) { await changed() }
        try await refresh()
    }

    /// Makes the anonymous customer of this device the current one.
    func logOut(changed: @Sendable () async -> Void) async throws {
        let owner = StoreState.Owner(customer: try records.anonymousCustomer(reportingTo: events), isAnonymous: true)
        if change(to: owner) { await changed() }
    }

    /// Changes the customer. Returns whether the new one differs from the former one.
    private func change(to owner: StoreState.Owner) -> Bool {
        let isOtherCustomer = owner.customer != self.owner.customer
        guard isOtherCustomer else {
            commit { $0.owner = owner }
            return false
        }
        remember(owner)
        commit { state in
            state.owner = owner
            state.answer = nil
            state.acquiredViaSubscription = []
            (state.provisional, state.rejectedTransactions) = ([], [])
            (state.failures, state.lastFailure) = (0, nil)
        }
        for key in StoreRecords.Key.ofOneCustomer {
            do {
                try records.remove(key)
            } catch {
                report(.storage("Cannot remove the data of the former customer: \(error)"))
            }
        }
        writeForSiblings()
        return true
    }

    /// Stores the token of a logged-in customer, so that this customer's purchases are not presented for another one
    /// on this device.
    func remember(_ owner: StoreState.Owner) {
        let token = owner.customer.appAccountToken
        guard !owner.isAnonymous, tokensOfThisDevice.last != token else { return }
        tokensOfThisDevice.removeAll { $0 == token }
        tokensOfThisDevice = (tokensOfThisDevice + [token]).suffix(Self.tokenLimit)
        do {
            try records.set(tokensOfThisDevice: tokensOfThisDevice)
        } catch {
            report(.storage("Cannot store the tokens of the customers of this device: \(error)"))
        }
    }
}
