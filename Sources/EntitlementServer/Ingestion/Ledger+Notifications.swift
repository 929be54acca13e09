import StoreModel

extension Ledger {
    /// Stores a notification once, and appends the facts in it. This makes no claim: the purchase belongs to the
    /// customer of its token or of an earlier claim.
    ///
    /// The store signs a repeated notification again, perhaps with newer data, so the facts are appended each time.
    func record(_ notification: PresentedDocument, _ facts: [PresentedFact], of app: BundleID) async throws {
        let facts = try headers.numbered(facts)
        try await write { connection, outcome in
            var transaction = transaction(
                connection, on: LedgerID(app: app, environment: notification.environment))
            try transaction.lock(forAppending: facts)
            for fact in facts { try transaction.append(fact) }
            try transaction.keep(notification, about: Set(facts.map(\.original)))
            try computeAnswers(transaction, including: nil, &outcome)
        }
    }
}
