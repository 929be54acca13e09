import Foundation
import Primitives
import SQLStorage
import StoreModel

/// The books of all apps: what was said, who claimed it, and what follows from it for each customer.
///
/// Whatever a call returns is durable. Answers come from the cache or the stored row while they are true, and are
/// computed anew when time has passed them. An alias is taken for the customer it was merged into.
struct Ledger: Sendable {
    let database: any SQLDatabase
    let clock: any WallClock
    let cache: AnswerCache
    let headers: SignedHeaders
    /// Whether the files may hold what was erased. True at the start: a process that was killed may have left it.
    let erasureJob = Locked(true)
    /// When the database may be written anew again; `nil` at once.
    let compacted = Locked<ContinuousClock.Instant?>(nil)
    private let metrics: ServerMetrics
    private let changes: ChangeSignal
    let rules: ActiveRules
    /// A copy of the database that can be read instead.
    let standby: Standby?

    /// Whether other servers write the same database.
    var isShared: Bool { database.dialect != .sqlite }

    init(
        database: any SQLDatabase, clock: any WallClock, cache: AnswerCache, metrics: ServerMetrics,
        changes: ChangeSignal,
        rules: ActiveRules, standby: Standby? = nil
    ) {
        self.database = database
        self.clock = clock
        self.cache = cache
        headers = SignedHeaders(database: database)
        self.metrics = metrics
        self.changes = changes
        self.rules = rules
        self.standby = standby
    }

    private var skew: TimeInterval { isShared ? StoredAnswer.clockSkew : 0 }

    /// What a write of this ledger returns: the caller's result, and what the cache is to know.
    private struct Settled<Result: Sendable>: Sendable {
        let result: Result
        let answers: [(key: CustomerKey, answer: StoredAnswer, ticket: AnswerCache.Ticket)]
        let departed: Set<CustomerKey>
        let appended: [String: Int]
    }

    /// What a write found out about customers.
    struct Outcome: Sendable {
        var answers: [CustomerKey: StoredAnswer] = [:]
        /// Who is no customer any more.
        var departed: Set<CustomerKey> = []
        /// How many facts were new, by kind.
        var appended: [String: Int] = [:]
        /// The customer whom the answer names, where that is not the one in the request's path.
        var subject: CustomerID?
    }

    /// The one way to write: `body` settles its transactions into the outcome, and readers see it after the commit.
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection, inout Outcome) throws -> Result
    ) async throws -> Result {
        let settled = try await database.write { [cache] connection in
            var outcome = Outcome()
            let result = try body(connection, &outcome)
            // Nobody else writes at this moment, so whatever is newer than these answers comes after the tickets.
            return Settled(
                result: result, answers: outcome.answers.map { ($0, $1, cache.ticket(for: $0)) },
                departed: outcome.departed, appended: outcome.appended)
        }
        // Others who wrote after us may have come this far before us; the cache sees to that.
        for (key, answer, ticket) in settled.answers { cache.replace(answer, for: key, ticket: ticket) }
        for key in settled.departed { cache.remove(key) }
        for (kind, number) in settled.appended { metrics.facts.add(kind, number) }
        changes.send()
        return settled.result
    }

    /// `write` for what its sender may repeat: `body` makes the answer, which is kept in the same commit. A repetition gets
    /// the kept answer and changes nothing; with `nil` every call counts.
    ///
    /// Throws `Refusal.idempotencyMismatch` when the key was used for another request.
    func write(
        once request: IdempotentRequest?,
        _ body: @escaping @Sendable (any SQLConnection, inout Outcome) throws -> KeptAnswer
    ) async throws -> KeptAnswer {
        let waitsForKey = Locked(false)
        do {
            return try await write { connection, outcome in
                guard var request else { return try body(connection, &outcome) }
                waitsForKey.withLock { $0 = true }
                let isFirst = try request.begin(connection)
                waitsForKey.withLock { $0 = false }
                guard isFirst else {
                    guard let kept = try request.kept(connection) else { throw Refusal.idempotencyInProgress }
                    return kept
                }
                let answer = try body(connection, &outcome)
                request.customer = outcome.subject ?? request.customer
                try request.complete(answer, connection)
                return answer
            }
        } catch let error as SQLError {
            // The request that has the key is not answered yet, on another server. A transaction that could not even begin waited
            // for something else.
            guard error.code == .busy, waitsForKey.withLock(\.self) else { throw error }
            throw Refusal.idempotencyInProgress
        }
    }

    func transaction(_ connection: any SQLConnection, on ledgerID: LedgerID) -> LedgerTransaction {
        LedgerTransaction(connection, ledgerID: ledgerID, rules: rules[ledgerID.app], now: clock.now().wholeMillisecond)
    }

    // MARK: - Reading

    /// What can be said about a customer without writing.
    enum Reading: Sendable {
        case answer(StoredAnswer)
        /// Time has passed the stored answer, or a purchase waits for this customer.
        case needsRefresh
    }

    /// The answer of a customer, from the cache or one row; an empty one for a customer never seen.
    func read(_ key: CustomerKey) throws -> Reading {
        let now = clock.now().wholeMillisecond
        if let answer = cache.answer(for: key) {
            return answer.isValid(at: now, skew: skew) ? .answer(answer) : .needsRefresh
        }
        let ticket = cache.ticket(for: key)
        return try database.read { connection in
            try reading(of: key, at: now, connection) { cache.keep($0, for: key, ticket: ticket) }
        }
    }

    /// The answer that a database has of a customer. `keep` is called with a stored answer that is true.
    func reading(
        of key: CustomerKey, at now: Date, _ connection: any SQLConnection, keep: (StoredAnswer) -> Void
    ) throws -> Reading {
        let transaction = transaction(connection, on: key.ledgerID)
        if let stored = try transaction.stored(key.customer) {
            if stored.isValid(at: now, skew: skew) {
                keep(stored)
                return .answer(stored)
            }
            return try transaction.continued(stored, of: key.customer).map { .answer($0) } ?? .needsRefresh
        }
        if let customer = try transaction.customer(named: key.customer) {
            // Kept under one name only, so that no name's answer outlives its truth.
            guard let stored = try transaction.stored(customer) else { return .needsRefresh }
            if stored.isValid(at: now, skew: skew) { return .answer(stored) }
            return try transaction.continued(stored, of: customer).map { .answer($0) } ?? .needsRefresh
        }
        if try transaction.hasPurchaseWaiting(for: key.customer) { return .needsRefresh }
        return .answer(StoredAnswer(ofUnknown: key.customer, in: key.ledgerID.environment, at: now))
    }

    /// Computes the answer of a customer anew where it has to be, and keeps it.
    func refresh(_ key: CustomerKey) async throws -> StoredAnswer {
        try await rules.refresh(from: database)
        return try await write { connection, outcome in
            var transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.register(key.customer, isReading: true)
            transaction.continuing.insert(customer)
            return try finish(transaction, asking: customer, &outcome)
        }
    }

    /// The answer, computed anew if it has to be.
    func answer(_ key: CustomerKey) async throws -> StoredAnswer {
        switch try read(key) {
        case .answer(let answer): answer
        case .needsRefresh: try await refresh(key)
        }
    }

    // MARK: - Writing

    /// What became of facts that were presented.
    struct Recorded: Sendable {
        var acknowledged: [TransactionID] = []
        var rejected: [RejectedTransaction] = []
    }

    /// Appends facts, notes that `asking` claims the purchases among them, and answers with what `respond` makes of the
    /// result and the customer's answer. Facts go to the book of their own environment. A customer who is new is
    /// registered only with a fact that is acknowledged.
    ///
    /// - Parameters:
    ///   - document: what they were taken out of; kept when any of them is.
    ///   - customer: who presents them; `nil` for what nobody claims.
    ///   - respond: makes the response, which is kept for repetitions of `request` in the same transaction. Throws to undo
    ///     everything.
    func record(
        _ facts: [PresentedFact], from document: PresentedDocument? = nil, of app: BundleID, by customer: CustomerID?,
        answering environment: StoreEnvironment, as request: IdempotentRequest?,
        respond: @escaping @Sendable (Recorded, StoredAnswer?) throws -> KeptAnswer
    ) async throws -> KeptAnswer {
        let answered = LedgerID(app: app, environment: environment)
        let (foreseen, facts) = try foresee(try headers.numbered(facts), by: customer, in: answered)
        let environments = Set(facts.map(\.environment) + [environment]).sorted { $0.rawValue < $1.rawValue }
        return try await write(once: request) { connection, outcome in
            var recorded = Recorded()
            var answer: StoredAnswer?
            for ledgerID in environments.map({ LedgerID(app: app, environment: $0) }) {
                var transaction = transaction(connection, on: ledgerID)
                if ledgerID == answered { transaction.foreseen = foreseen }
                let own = facts.filter { $0.environment == ledgerID.environment }
                try transaction.lock(forAppending: own, by: customer)
                let known = try customer.map { (asked: $0, customer: try transaction.register($0, isPresenting: true)) }
                for fact in own {
                    try Self.record(fact, by: known, in: &transaction, &recorded)
                }
                if let document, document.environment == ledgerID.environment, !recorded.acknowledged.isEmpty {
                    try transaction.keep(document, about: Set(facts.map(\.original)))
                }
                // A request of which nothing was true leaves no customer behind.
                var isUnknown = false
                if recorded.acknowledged.isEmpty, let known { isUnknown = transaction.unregister(known.customer) }
                let asked = ledgerID.environment == environment ? known?.customer : nil
                try settle(transaction, asking: isUnknown ? nil : asked, &outcome)
                if let asked {
                    answer =
                        isUnknown
                        ? StoredAnswer(ofUnknown: asked, in: environment, at: transaction.now)
                        : outcome.answers[CustomerKey(ledgerID: ledgerID, customer: asked)]
                }
            }
            return try respond(recorded, answer)
        }
    }

    /// Works out what somebody who may be new here presents, on whatever thread this is.
    private func foresee(
        _ facts: [PresentedFact], by customer: CustomerID?, in ledgerID: LedgerID
    ) throws -> (FirstPurchases?, [PresentedFact]) {
        guard let customer, cache.answer(for: CustomerKey(ledgerID: ledgerID, customer: customer)) == nil,
            facts.allSatisfy({ $0.environment == ledgerID.environment })
        else { return (nil, facts) }
        let foreseen = FirstPurchases(
            of: customer, facts, in: ledgerID, by: rules[ledgerID.app], at: clock.now().wholeMillisecond)
        let sealed = try facts.map { fact in
            var fact = fact
            fact.sealedSource = try SealedSource(fact.sourceBehindHeader, authenticating: fact.row.digest)
            return fact
        }
        return (foreseen, sealed)
    }

    /// Appends one fact, as `customer` presents it; `asked` is the name they were called by.
    static func record(
        _ fact: PresentedFact, by known: (asked: CustomerID, customer: CustomerID)?,
        in transaction: inout LedgerTransaction, _ recorded: inout Recorded
    ) throws {
        switch fact.content {
        case .transaction(let said):
            let claimant = try known.map { asked, customer in
                try transaction.claimant(asked, for: customer, of: said.originalID)
            }
            if let claimant, try transaction.refuses(said, presentedBy: claimant) {
                recorded.rejected.append(.boundToAnotherCustomer(at: fact.index))
                return
            }
            if said.source == .web, try transaction.isOfAnotherPurchase(said) {
                recorded.rejected.append(.ofAnotherPurchase(at: fact.index))
                return
            }
            try transaction.append(fact, claimedBy: claimant)
            if !recorded.acknowledged.contains(said.id) { recorded.acknowledged.append(said.id) }
        case .renewal(let said):
            guard try transaction.purchase(said.originalID) != nil else {
                recorded.rejected.append(.unknownTransaction(at: fact.index))
                return
            }
            try transaction.append(fact)
        }
    }

    /// Gives a feature by hand.
    func add(
        _ grant: Grant, to key: CustomerKey, as request: IdempotentRequest?,
        respond: @escaping @Sendable (StoredAnswer) throws -> KeptAnswer
    ) async throws -> KeptAnswer {
        try await write(once: request) { connection, outcome in
            var transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.register(key.customer)
            try transaction.add(grant, to: customer)
            return try respond(try finish(transaction, asking: customer, &outcome))
        }
    }

    /// Takes a grant back; `nil` when the customer has no such grant.
    func withdrawGrant(_ id: String, of key: CustomerKey) async throws -> StoredAnswer? {
        try await write { connection, outcome in
            var transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.lockedCustomer(named: key.customer)
            guard try transaction.withdrawGrant(id, of: customer) else { return nil }
            return try finish(transaction, asking: customer, &outcome)
        }
    }

    /// Computes the answers that a transaction changed, for the outcome of its write.
    func settle(
        _ transaction: LedgerTransaction, asking asked: CustomerID?, _ outcome: inout Outcome
    ) throws {
        var transaction = transaction
        for (customer, answer) in try transaction.settle(asking: asked) {
            outcome.answers[CustomerKey(ledgerID: transaction.ledgerID, customer: customer)] = answer
        }
        outcome.appended.merge(transaction.appended, uniquingKeysWith: +)
        for customer in transaction.departed {
            outcome.departed.insert(CustomerKey(ledgerID: transaction.ledgerID, customer: customer))
        }
    }

    /// `settle`, and the answer of `asked`.
    func finish(
        _ transaction: LedgerTransaction, asking asked: CustomerID, _ outcome: inout Outcome
    ) throws -> StoredAnswer {
        try settle(transaction, asking: asked, &outcome)
        guard let answer = outcome.answers[CustomerKey(ledgerID: transaction.ledgerID, customer: asked)] else {
            throw EntitlementServerError(.internalInconsistency, "The customer's answer was not computed.")
        }
        return answer
    }
}

extension RejectedTransaction {
    fileprivate static func boundToAnotherCustomer(at index: Int) -> RejectedTransaction {
        RejectedTransaction(
            index: index, code: "boundToAnotherCustomer",
            detail: """
                The purchase belongs to another customer: by its appAccountToken, or because it was presented before and \
                this app does not let it move.
                """, retryable: false)
    }

    fileprivate static func ofAnotherPurchase(at index: Int) -> RejectedTransaction {
        RejectedTransaction(
            index: index, code: "boundToAnotherPurchase",
            detail: """
                This payment came before with another originalTransactionID; a payment belongs to one purchase.
                """, retryable: false)
    }

    fileprivate static func unknownTransaction(at index: Int) -> RejectedTransaction {
        RejectedTransaction(
            index: index, code: "unknownTransaction",
            detail: "No transaction of this subscription was presented; present one before or with its renewal info.",
            retryable: true)
    }
}
