import Foundation
import Primitives
import SQLStorage
import StoreModel

/// The books of all apps: what was said, who claimed it, and what follows from it for each customer.
///
/// Whatever a call returns is durable. Answers come from the cache or the stored row while they are true, and are
/// computed anew when time has passed them.
struct Ledger: Sendable {
    let database: any SQLDatabase
    let clock: any WallClock
    let cache: AnswerCache
    private let reducers: [BundleID: EntitlementReducer]

    init(database: any SQLDatabase, clock: any WallClock, cache: AnswerCache, features: [BundleID: FeatureMap]) {
        self.database = database
        self.clock = clock
        self.cache = cache
        reducers = features.mapValues { EntitlementReducer(features: $0) }
    }

    /// What a write of this ledger returns: the caller's result, and the answers to put into the cache.
    private struct Settled<Result: Sendable>: Sendable {
        let result: Result
        let answers: [(key: CustomerKey, answer: StoredAnswer, ticket: AnswerCache.Ticket)]
    }

    private func write<Result: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection, inout [CustomerKey: StoredAnswer]) throws -> Result
    ) async throws -> Result {
        let settled = try await database.write { [cache] connection in
            var answers: [CustomerKey: StoredAnswer] = [:]
            let result = try body(connection, &answers)
            // Nobody else writes at this moment, so whatever is newer than these answers comes after the tickets.
            return Settled(result: result, answers: answers.map { ($0, $1, cache.ticket(for: $0)) })
        }
        // Others who wrote after us may have come this far before us; the cache sees to that.
        for (key, answer, ticket) in settled.answers { cache.replace(answer, for: key, ticket: ticket) }
        return settled.result
    }

    private func transaction(_ connection: any SQLConnection, on book: Book) -> LedgerTransaction {
        LedgerTransaction(
            connection, book: book, reducer: reducers[book.app] ?? EntitlementReducer(),
            now: clock.now().wholeMillisecond)
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
            return answer.isValid(at: now) ? .answer(answer) : .needsRefresh
        }
        let ticket = cache.ticket(for: key)
        return try database.read { connection in
            let transaction = transaction(connection, on: key.book)
            if let stored = try transaction.stored(key.customer) {
                guard stored.isValid(at: now) else { return .needsRefresh }
                cache.keep(stored, for: key, ticket: ticket)
                return .answer(stored)
            }
            if try transaction.hasPurchaseWaiting(for: key.customer) { return .needsRefresh }
            return .answer(try StoredAnswer(ofUnknown: key.customer, in: key.book.environment, at: now))
        }
    }

    /// Computes the answer of a customer anew where it has to be, and keeps it.
    func refresh(_ key: CustomerKey) async throws -> StoredAnswer {
        try await write { connection, answers in
            var transaction = transaction(connection, on: key.book)
            try transaction.register(key.customer)
            return try finish([transaction], asking: key, &answers)
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
    /// result and the customer's answer. Facts go to the book of their own environment.
    ///
    /// - Parameters:
    ///   - customer: who presents them; `nil` for what the store reports by itself.
    ///   - respond: makes the response, which is kept for repetitions of `request` in the same transaction. Throws to undo
    ///     everything.
    func record(
        _ facts: [PresentedFact], of app: BundleID, by customer: CustomerID?, answering environment: StoreEnvironment,
        as request: IdempotentRequest?,
        respond: @escaping @Sendable (Recorded, StoredAnswer?) throws -> KeptAnswer
    ) async throws -> KeptAnswer {
        let asked = customer.map { CustomerKey(book: Book(app: app, environment: environment), customer: $0) }
        let environments = Set(facts.map(\.environment) + [environment]).sorted { $0.rawValue < $1.rawValue }
        return try await write { connection, answers in
            if let kept = try request?.kept(connection) { return kept }
            var recorded = Recorded()
            var transactions: [LedgerTransaction] = []
            for environment in environments {
                var transaction = transaction(connection, on: Book(app: app, environment: environment))
                if let customer { try transaction.register(customer) }
                for fact in facts where fact.environment == environment {
                    try Self.record(fact, by: customer, in: &transaction, &recorded)
                }
                transactions.append(transaction)
            }
            let answer = try settle(transactions, asking: asked, &answers)
            let response = try respond(recorded, answer)
            try request?.keep(response, connection)
            return response
        }
    }

    private static func record(
        _ fact: PresentedFact, by customer: CustomerID?, in transaction: inout LedgerTransaction,
        _ recorded: inout Recorded
    ) throws {
        switch fact.content {
        case .transaction(let said):
            if let customer, try transaction.isBound(said, againstClaimOf: customer) {
                recorded.rejected.append(.boundToAnotherCustomer(at: fact.index))
                return
            }
            try transaction.append(fact)
            if let customer { try transaction.claim(said.originalID, by: customer) }
            if !recorded.acknowledged.contains(said.id) { recorded.acknowledged.append(said.id) }
        case .renewal(let said):
            guard try transaction.knows(said.originalID) else {
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
        try await write { connection, answers in
            if let kept = try request?.kept(connection) { return kept }
            var transaction = transaction(connection, on: key.book)
            try transaction.register(key.customer)
            try transaction.add(grant, to: key.customer)
            let response = try respond(try finish([transaction], asking: key, &answers))
            try request?.keep(response, connection)
            return response
        }
    }

    /// Takes a grant back; `nil` when the customer has no such grant.
    func withdrawGrant(_ id: String, of key: CustomerKey) async throws -> StoredAnswer? {
        try await write { connection, answers in
            var transaction = transaction(connection, on: key.book)
            guard try transaction.withdrawGrant(id, of: key.customer) else { return nil }
            return try finish([transaction], asking: key, &answers)
        }
    }

    private func settle(
        _ transactions: [LedgerTransaction], asking asked: CustomerKey?,
        _ answers: inout [CustomerKey: StoredAnswer]
    ) throws -> StoredAnswer? {
        for transaction in transactions {
            let customer = asked.flatMap { $0.book == transaction.book ? $0.customer : nil }
            for (customer, answer) in try transaction.settle(asking: customer) {
                answers[CustomerKey(book: transaction.book, customer: customer)] = answer
            }
        }
        return asked.flatMap { answers[$0] }
    }

    private func finish(
        _ transactions: [LedgerTransaction], asking asked: CustomerKey,
        _ answers: inout [CustomerKey: StoredAnswer]
    ) throws -> StoredAnswer {
        guard let answer = try settle(transactions, asking: asked, &answers) else {
            throw EntitlementServerError(.internalInconsistency, "The customer's answer was not computed.")
        }
        return answer
    }
}

extension RejectedTransaction {
    fileprivate static func boundToAnotherCustomer(at index: Int) -> RejectedTransaction {
        RejectedTransaction(
            index: index, code: "boundToAnotherCustomer",
            detail: "The purchase was made for another customer, as its appAccountToken says.", retryable: false)
    }

    fileprivate static func unknownTransaction(at index: Int) -> RejectedTransaction {
        RejectedTransaction(
            index: index, code: "unknownTransaction",
            detail: "No transaction of this subscription was presented; present one before or with its renewal info.",
            retryable: true)
    }
}
