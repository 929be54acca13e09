import Foundation
import Primitives
import SQLStorage
import StoreModel

/// The ledgers of all apps. They contain facts, claims, grants, and each customer's answer, which is computed from
/// them.
///
/// Calls return durable data only. A valid answer is read from the cache or the database; an expired one is recomputed.
/// An alias is replaced by the customer that it was merged into.
struct Ledger: Sendable {
    let database: any SQLDatabase
    let clock: any WallClock
    let cache: AnswerCache
    let headers: SignedHeaders
    /// Whether the database files may contain erased data. True at the start, because a killed process may have left
    /// some.
    let needsPurge = Locked(true)
    /// The earliest time of the next compaction; `nil` if it can begin at once.
    let nextCompaction = Locked<ContinuousClock.Instant?>(nil)
    private let metrics: ServerMetrics
    private let changes: ChangeSignal
    let rules: ActiveRules
    /// A replica that can answer reads instead of the database.
    let standby: Standby?

    /// Whether other servers can write to the same database.
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

    /// The result of a committed write, with the changes for the cache.
    private struct CommittedWrite<Result: Sendable>: Sendable {
        let result: Result
        let answers: [(key: CustomerKey, answer: StoredAnswer, ticket: AnswerCache.Ticket)]
        let removed: Set<CustomerKey>
        let appended: [String: Int]
        let concernsRefundRequests: Bool
    }

    /// The changes of a write, for the cache and the metrics.
    struct Outcome: Sendable {
        var answers: [CustomerKey: StoredAnswer] = [:]
        /// Customers that were merged into another one, and the former names of erased customers.
        var removed: Set<CustomerKey> = []
        /// The number of new facts, by kind.
        var appended: [String: Int] = [:]
        /// The customer in the answer, if it differs from the one in the path.
        var subject: CustomerID?
        /// Whether the refund desk may have something to do.
        var concernsRefundRequests = false
    }

    /// Runs a write. `body` adds its changes to the outcome. They are applied to the cache and the metrics after the
    /// commit.
    func write<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection, inout Outcome) throws -> Result
    ) async throws -> Result {
        let start = ContinuousClock.now
        let committed = try await database.write { [cache] connection in
            var outcome = Outcome()
            let result = try body(connection, &outcome)
            // On SQLite no other write runs now, so each newer answer gets a later ticket. On PostgreSQL the cache is
            // empty.
            return CommittedWrite(
                result: result, answers: outcome.answers.map { ($0, $1, cache.ticket(for: $0)) },
                removed: outcome.removed, appended: outcome.appended,
                concernsRefundRequests: outcome.concernsRefundRequests)
        }
        metrics.writeDurations.withLock { $0.add(start.duration(to: .now)) }
        for (key, answer, ticket) in committed.answers { cache.replace(answer, for: key, ticket: ticket) }
        for key in committed.removed { cache.remove(key) }
        for (kind, number) in committed.appended { metrics.facts.add(kind, number) }
        changes.send(concernsRefundRequests: committed.concernsRefundRequests)
        return committed.result
    }

    /// Runs a write once for each request. The answer that `body` returns is stored in the same commit. A repetition of
    /// the request returns the stored answer and changes nothing. If `request` is `nil`, each call writes.
    ///
    /// Throws `Refusal.idempotencyMismatch` if the key was used for another request, and
    /// `Refusal.idempotencyInProgress` if another server still processes the request.
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
            // The write was busy while it waited for the key: another server still processes the request with this key.
            guard error.code == .busy, waitsForKey.withLock(\.self) else { throw error }
            throw Refusal.idempotencyInProgress
        }
    }

    func transaction(_ connection: any SQLConnection, on ledgerID: LedgerID) -> LedgerTransaction {
        LedgerTransaction(connection, ledgerID: ledgerID, rules: rules[ledgerID.app], now: clock.now().wholeMillisecond)
    }

    /// The result of reading a customer without writing.
    enum Reading: Sendable {
        case answer(StoredAnswer)
        /// The stored answer has expired, or a purchase waits for this customer.
        case needsRefresh
    }

    /// Returns a customer's answer from the cache or the database. An unknown customer has an empty answer.
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

    /// Reads a customer's answer from a database. Calls `keep` with a valid stored answer, unless `key` is an alias.
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
            // The answer is not cached for an alias, because a write invalidates only the customer's own key.
            guard let stored = try transaction.stored(customer) else { return .needsRefresh }
            if stored.isValid(at: now, skew: skew) { return .answer(stored) }
            return try transaction.continued(stored, of: customer).map { .answer($0) } ?? .needsRefresh
        }
        if try transaction.hasPurchaseWaiting(for: key.customer) { return .needsRefresh }
        return .answer(StoredAnswer(ofUnknown: key.customer, in: key.ledgerID.environment, at: now))
    }

    /// Recomputes and stores a customer's answer if necessary.
    func refresh(_ key: CustomerKey) async throws -> StoredAnswer {
        try await rules.refresh(from: database)
        return try await write { connection, outcome in
            var transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.register(key.customer, isReading: true)
            transaction.continuing.insert(customer)
            return try finish(transaction, for: customer, &outcome)
        }
    }

    /// Returns a customer's answer, recomputed if necessary.
    func answer(_ key: CustomerKey) async throws -> StoredAnswer {
        switch try read(key) {
        case .answer(let answer): answer
        case .needsRefresh: try await refresh(key)
        }
    }

    /// The acknowledged and rejected transactions of a request.
    struct Recorded: Sendable {
        var acknowledged: [TransactionID] = []
        var rejected: [RejectedTransaction] = []
    }

    /// Appends facts, and adds the claim of `customer` to their purchases. Returns the result of `respond`.
    ///
    /// Facts are appended to the ledger of their own environment. A new customer is registered only if a transaction is
    /// acknowledged, or if a purchase waits for the customer.
    ///
    /// - Parameters:
    ///   - document: The document with the facts. It is stored if one of its transactions is acknowledged.
    ///   - customer: The customer that presents the facts; `nil` for facts without a claim.
    ///   - respond: Creates the response, which is stored in the same transaction for repetitions of `request`. If it
    ///     throws, all changes are rolled back.
    func record(
        _ facts: [PresentedFact], from document: PresentedDocument? = nil, of app: BundleID, by customer: CustomerID?,
        answering environment: StoreEnvironment, as request: IdempotentRequest?,
        respond: @escaping @Sendable (Recorded, StoredAnswer?) throws -> KeptAnswer
    ) async throws -> KeptAnswer {
        let answered = LedgerID(app: app, environment: environment)
        let (precomputed, facts) = try precompute(try headers.numbered(facts), by: customer, in: answered)
        let environments = Set(facts.map(\.environment) + [environment]).sorted { $0.rawValue < $1.rawValue }
        return try await write(once: request) { connection, outcome in
            var recorded = Recorded()
            var answer: StoredAnswer?
            for ledgerID in environments.map({ LedgerID(app: app, environment: $0) }) {
                var transaction = transaction(connection, on: ledgerID)
                if ledgerID == answered { transaction.precomputed = precomputed }
                let own = facts.filter { $0.environment == ledgerID.environment }
                try transaction.lock(forAppending: own, by: customer)
                let registered = try customer.map {
                    (presenter: $0, customer: try transaction.register($0, isPresenting: true))
                }
                for fact in own {
                    try Self.record(fact, by: registered, in: &transaction, &recorded)
                }
                if let document, document.environment == ledgerID.environment, !recorded.acknowledged.isEmpty {
                    try transaction.keep(document, about: Set(facts.map(\.original)))
                }
                var isUnknown = false
                if recorded.acknowledged.isEmpty, let registered {
                    isUnknown = transaction.unregister(registered.customer)
                }
                let answeredCustomer = ledgerID == answered ? registered?.customer : nil
                try computeAnswers(transaction, including: isUnknown ? nil : answeredCustomer, &outcome)
                if let answeredCustomer {
                    answer =
                        isUnknown
                        ? StoredAnswer(ofUnknown: answeredCustomer, in: environment, at: transaction.now)
                        : outcome.answers[CustomerKey(ledgerID: ledgerID, customer: answeredCustomer)]
                }
            }
            return try respond(recorded, answer)
        }
    }

    /// Precomputes the answer of a new customer, and encrypts the sources, on the caller's thread: the transaction then
    /// takes less time. Does nothing without a customer, for a cached customer, or if a fact is of another environment.
    private func precompute(
        _ facts: [PresentedFact], by customer: CustomerID?, in ledgerID: LedgerID
    ) throws -> (FirstPurchases?, [PresentedFact]) {
        guard let customer, cache.answer(for: CustomerKey(ledgerID: ledgerID, customer: customer)) == nil,
            facts.allSatisfy({ $0.environment == ledgerID.environment })
        else { return (nil, facts) }
        let precomputed = FirstPurchases(
            of: customer, facts, in: ledgerID, by: rules[ledgerID.app], at: clock.now().wholeMillisecond)
        let sealed = try facts.map { fact in
            var fact = fact
            fact.sealedSource = try SealedSource(fact.sourceBehindHeader, authenticating: fact.row.digest)
            return fact
        }
        return (precomputed, sealed)
    }

    /// Appends one fact, or adds it to the rejected ones. In `registered`, `presenter` is the name in the request and
    /// `customer` the registered customer.
    private static func record(
        _ fact: PresentedFact, by registered: (presenter: CustomerID, customer: CustomerID)?,
        in transaction: inout LedgerTransaction, _ recorded: inout Recorded
    ) throws {
        switch fact.content {
        case .transaction(let presented):
            let claimant = try registered.map { presenter, customer in
                try transaction.claimant(presenter, for: customer, of: presented.originalID)
            }
            if let claimant, try transaction.refuses(presented, presentedBy: claimant) {
                recorded.rejected.append(.boundToAnotherCustomer(at: fact.index))
                return
            }
            if presented.source == .web, try transaction.isOfAnotherPurchase(presented) {
                recorded.rejected.append(.ofAnotherPurchase(at: fact.index))
                return
            }
            try transaction.append(fact, claimedBy: claimant)
            if !recorded.acknowledged.contains(presented.id) { recorded.acknowledged.append(presented.id) }
        case .renewal(let presented):
            guard try transaction.purchase(presented.originalID) != nil else {
                recorded.rejected.append(.unknownTransaction(at: fact.index))
                return
            }
            try transaction.append(fact)
        }
    }

    /// Adds a grant.
    func add(
        _ grant: Grant, to key: CustomerKey, as request: IdempotentRequest?, noting note: AuditNote? = nil,
        respond: @escaping @Sendable (StoredAnswer) throws -> KeptAnswer
    ) async throws -> KeptAnswer {
        try await write(once: request) { connection, outcome in
            var transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.register(key.customer)
            try transaction.add(grant, to: customer)
            try transaction.write(note, about: customer)
            return try respond(try finish(transaction, for: customer, &outcome))
        }
    }

    /// Withdraws a grant. Returns the customer's new answer, or `nil` if the customer has no such grant or it was
    /// withdrawn before.
    func withdrawGrant(
        _ id: String, of key: CustomerKey, noting note: AuditNote? = nil
    ) async throws -> StoredAnswer? {
        try await write { connection, outcome in
            var transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.lockedCustomer(named: key.customer)
            guard try transaction.withdrawGrant(id, of: customer) else { return nil }
            try transaction.write(note, about: customer)
            return try finish(transaction, for: customer, &outcome)
        }
    }

    /// Computes the answers that a transaction changed, and that of `customer` if given. Adds all changes to the
    /// outcome.
    func computeAnswers(
        _ transaction: LedgerTransaction, including customer: CustomerID?, _ outcome: inout Outcome
    ) throws {
        var transaction = transaction
        for (customer, answer) in try transaction.computeAnswers(including: customer) {
            outcome.answers[CustomerKey(ledgerID: transaction.ledgerID, customer: customer)] = answer
        }
        outcome.appended.merge(transaction.appended, uniquingKeysWith: +)
        for customer in transaction.removed {
            outcome.removed.insert(CustomerKey(ledgerID: transaction.ledgerID, customer: customer))
        }
    }

    /// Computes the changed answers, and returns the answer of `customer`.
    func finish(
        _ transaction: LedgerTransaction, for customer: CustomerID, _ outcome: inout Outcome
    ) throws -> StoredAnswer {
        try computeAnswers(transaction, including: customer, &outcome)
        guard let answer = outcome.answers[CustomerKey(ledgerID: transaction.ledgerID, customer: customer)] else {
            throw EntitlementServerError(.internalInconsistency, "The customer's answer was not computed.")
        }
        return answer
    }
}

extension RejectedTransaction {
    static func boundToAnotherCustomer(at index: Int) -> RejectedTransaction {
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
                This payment was reported before with another originalTransactionID; a payment belongs to one purchase.
                """, retryable: false)
    }

    fileprivate static func unknownTransaction(at index: Int) -> RejectedTransaction {
        RejectedTransaction(
            index: index, code: "unknownTransaction",
            detail: "No transaction of this subscription was presented; present one before or with its renewal info.",
            retryable: true)
    }
}
