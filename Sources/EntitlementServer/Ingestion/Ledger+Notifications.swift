import StoreModel

extension Ledger {
    /// Stores a notification once, and appends the facts in it. This makes no claim: the purchase belongs to the
    /// customer of its token or of an earlier claim. Also stores what it says about a refund.
    ///
    /// The store signs a repeated notification again, perhaps with newer data, so the facts are appended each time.
    func record(
        _ notification: PresentedDocument, _ facts: [PresentedFact], _ refund: RefundNotification? = nil,
        of app: BundleID
    ) async throws {
        let facts = try headers.numbered(facts)
        try await write { connection, outcome in
            var transaction = transaction(
                connection, on: LedgerID(app: app, environment: notification.environment))
            try transaction.lock(forAppending: facts)
            for fact in facts { try transaction.append(fact) }
            try transaction.keep(notification, about: Set(facts.map(\.original)))
            if let refund {
                try transaction.keep(refund, of: notification)
                outcome.concernsRefundRequests = true
            }
            try computeAnswers(transaction, including: nil, &outcome)
        }
    }
}
