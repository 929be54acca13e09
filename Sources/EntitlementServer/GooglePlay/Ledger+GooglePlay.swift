import Foundation
import GooglePlay
import SQLStorage
import StoreModel

extension Ledger {
    /// Appends the facts of a fetched purchase and of the subscription that it replaced, and adds the claim of
    /// `customer`. Returns the result of `respond`, which gets the rejection or the customer's answer.
    ///
    /// A fetch that began before the newest known one of the same purchase adds no fact, and an unchanged one neither.
    ///
    /// - Parameters:
    ///   - customer: The customer that presents the purchase; `nil` for a fetch without a claim.
    ///   - note: The entry of the audit log about `subject`, for the poll of an operator.
    ///   - respond: Creates the response, which is stored in the same transaction for repetitions of `request`. If it
    ///     throws, all changes are rolled back.
    @discardableResult
    func record(
        _ presented: PlayReader.Presented, of app: BundleID, by customer: CustomerID?,
        answering environment: StoreEnvironment, as request: IdempotentRequest?, noting note: AuditNote? = nil,
        about subject: CustomerID? = nil,
        respond: @escaping @Sendable (RejectedTransaction?, StoredAnswer?) throws -> KeptAnswer
    ) async throws -> KeptAnswer {
        let environments = Set([presented.environment, environment]).sorted { $0.rawValue < $1.rawValue }
        return try await write(once: request) { connection, outcome in
            var rejected: RejectedTransaction?
            var isAcknowledged = false
            var answer: StoredAnswer?
            for ledgerID in environments.map({ LedgerID(app: app, environment: $0) }) {
                var transaction = transaction(connection, on: ledgerID)
                let isOwn = presented.environment == ledgerID.environment
                try transaction.lock(forAppending: isOwn ? try presented.facts() : [], by: customer)
                if isOwn { try transaction.lock(purchases: presented.formerPurchases) }
                let registered = try customer.map {
                    (presenter: $0, customer: try transaction.register($0, isPresenting: true))
                }
                if isOwn {
                    rejected = try transaction.record(presented, by: registered)
                    isAcknowledged = rejected == nil
                    if let subject { try transaction.write(note, about: subject) }
                }
                var isUnknown = false
                if !isAcknowledged, let registered { isUnknown = transaction.unregister(registered.customer) }
                let answered = ledgerID.environment == environment ? registered?.customer : nil
                try computeAnswers(transaction, including: isUnknown ? nil : answered, &outcome)
                if let answered {
                    answer =
                        isUnknown
                        ? StoredAnswer(ofUnknown: answered, in: environment, at: transaction.now)
                        : outcome.answers[CustomerKey(ledgerID: ledgerID, customer: answered)]
                }
            }
            return try respond(rejected, answer)
        }
    }

    /// Returns the kind of a purchase that the ledger knows.
    func playKind(of original: TransactionID, in app: BundleID) throws -> PlayFetch.Kind? {
        try database.read { connection in
            try connection.first(
                "SELECT kind FROM play_purchase WHERE app = ?1 AND original_transaction_id = ?2 LIMIT 1",
                [.text(app.rawValue), .text(original.rawValue)]
            ).map { row in
                ProductType(rawValue: try row["kind"]) == .autoRenewableSubscription ? .subscription : .product
            }
        }
    }
}

extension PlayReader.Presented {
    /// The purchases that this one continues.
    fileprivate var formerPurchases: Set<TransactionID> {
        Set(
            [fetch.replacedToken, fetch.formerToken].compactMap(\.self).map {
                PlayFetch.original($0, of: fetch.packageName)
            })
    }

    /// Returns the facts of both purchases as they are without what the ledger knows, for the locks.
    fileprivate func facts() throws -> [PresentedFact] {
        try [fetch, replaced].compactMap(\.self).flatMap { fetch in
            guard case .purchased(let purchase) = try fetch.reading() else { return [PresentedFact]() }
            return fetch.facts(of: purchase, in: environment)
        }
    }
}

extension LedgerTransaction {
    /// Appends a fetched purchase and the subscription that it replaced. Lock both before.
    ///
    /// Returns the rejection if the presenting customer may not have the purchase. Then nothing is appended.
    fileprivate mutating func record(
        _ presented: PlayReader.Presented, by registered: (presenter: CustomerID, customer: CustomerID)?
    ) throws -> RejectedTransaction? {
        let fetch = presented.fetch
        guard case .purchased(let purchase) = try fetch.reading() else {
            throw EntitlementServerError(.internalInconsistency, "A purchase that is not paid was to be stored.")
        }
        let claimant = try registered.map { presenter, customer in
            try self.claimant(presenter, for: customer, of: fetch.original)
        }
        if let claimant, try refuses(purchase.transaction, presentedBy: claimant) {
            return .boundToAnotherCustomer(at: 0)
        }
        let isNew = try self.purchase(fetch.original) == nil
        try append(fetch, in: presented.environment, claimedBy: claimant)
        if isNew, claimant == nil { try inheritHolders(of: fetch, purchase) }
        if let replaced = fetch.replaced { try end(replaced, by: purchase.transaction, presented) }
        return nil
    }

    /// Appends the facts of a fetch unless it is older than the known one or unchanged, and adds the claim.
    private mutating func append(
        _ fetch: PlayFetch, in environment: StoreEnvironment, claimedBy claimant: Claimant? = nil
    ) throws {
        let known = try playPurchase(fetch.original)
        var fetch = fetch
        if fetch.replacedAt == nil { (fetch.replacedAt, fetch.replacedBy) = (known?.replacedAt, known?.replacedBy) }
        fetch.voidedAt = fetch.voidedAt ?? known?.voidedAt
        guard case .purchased(let purchase) = try fetch.reading() else { return }
        let digest = fetch.contentDigest
        let isOlder = known.map { fetch.beganAt <= $0.fetchedAt } ?? false
        let isUnchanged = known?.contentDigest == digest
        let facts = fetch.facts(of: purchase, in: environment)
        if isOlder || isUnchanged, try !lacksToken(facts[0].row, presentedBy: claimant) {
            if let claimant { try addClaim(of: claimant, on: fetch.original) }
        } else {
            try append(facts[0], claimedBy: claimant)
            for fact in facts.dropFirst() { try append(fact) }
        }
        guard !isOlder else { return }
        var row =
            known
            ?? PlayPurchase(
                original: fetch.original, packageName: fetch.packageName, productID: purchase.transaction.productID,
                kind: purchase.transaction.kind, fetchedAt: fetch.beganAt, contentDigest: digest)
        row.update(fetch, purchase, contentDigest: digest)
        try keep(row, token: fetch.token)
    }

    /// Gives a purchase that no customer has presented to the customers of the purchase that it continues. A customer
    /// whom the token of its account names has priority.
    private mutating func inheritHolders(of fetch: PlayFetch, _ purchase: PlayFetch.Purchase) throws {
        guard let token = fetch.formerToken else { return }
        let former = PlayFetch.original(token, of: fetch.packageName)
        for holder in try withoutErased(holders(of: former)) {
            let claimant = try claimant(holder, for: holder, of: fetch.original)
            if purchase.transaction.appAccountToken != nil,
                try refuses(purchase.transaction, presentedBy: claimant)
            {
                continue
            }
            try addClaim(of: claimant, on: fetch.original)
        }
    }

    /// Ends a subscription at the instant at which another one replaced it. It is history for its holder then.
    private mutating func end(
        _ original: TransactionID, by replacement: TransactionFact, _ presented: PlayReader.Presented
    ) throws {
        let (instant, other) = (replacement.originalPurchaseDate, replacement.originalID)
        if var fetch = presented.replaced {
            (fetch.replacedAt, fetch.replacedBy) = (instant, other)
            try append(fetch, in: presented.environment)
        }
        guard var known = try playPurchase(original), known.replacedAt != instant || known.replacedBy != other else {
            return
        }
        (known.replacedAt, known.replacedBy) = (instant, other)
        try keep(known)
    }
}

extension PlayPurchase {
    /// Takes over what the newest fetch says. A pending acknowledgement keeps its attempts.
    fileprivate mutating func update(_ fetch: PlayFetch, _ purchase: PlayFetch.Purchase, contentDigest: [UInt8]) {
        (productID, kind) = (purchase.transaction.productID, purchase.transaction.kind)
        (fetchedAt, self.contentDigest) = (fetch.beganAt, contentDigest)
        (replacedAt, replacedBy, voidedAt) = (fetch.replacedAt, fetch.replacedBy, fetch.voidedAt)
        (checkAt, acknowledgeBy) = (purchase.checkAt, purchase.acknowledgeBy)
        if !purchase.awaitsAcknowledgement {
            (acknowledgement, acknowledgementDueAt) = (.done, nil)
        } else if acknowledgement == .done || acknowledgementDueAt == nil {
            (acknowledgement, acknowledgementAttempts) = (.pending, 0)
            acknowledgementDueAt = Date(milliseconds: 0)
        }
    }
}
