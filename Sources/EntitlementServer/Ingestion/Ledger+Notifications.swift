import StoreModel

extension Ledger {
    /// Keeps a notification once, and appends what it says about a purchase. Nobody claims anything: the purchase is, or
    /// becomes, whose it is by its token or by a later claim.
    ///
    /// Sent again, it is signed again and may say something newer of the purchase, so the facts are taken each time.
    func record(_ notification: PresentedDocument, _ facts: [PresentedFact], of app: BundleID) async throws {
        let facts = try headers.numbered(facts)
        try await write { connection, outcome in
            var transaction = transaction(
                connection, on: LedgerID(app: app, environment: notification.environment))
            try transaction.lock(forAppending: facts)
            for fact in facts { try transaction.append(fact) }
            try transaction.keep(notification, about: Set(facts.map(\.original)))
            try settle(transaction, asking: nil, &outcome)
        }
    }
}
