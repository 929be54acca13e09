import Foundation
import Primitives
import SQLStorage
import StoreModel

/// A copy of the database that follows it a moment behind, and can be read while the database itself cannot.
///
/// How far it is behind is seen in the rows by which servers say that they are there: each is dated by the clock of the
/// database that was written.
final class Standby: Sendable {
    /// How often is looked how far the copy is behind, in seconds.
    static let pause: TimeInterval = 0.5
    /// After how many seconds without a look nothing is known any more.
    private static let memory = Duration.seconds(3)

    let database: any SQLDatabase
    private let limit: TimeInterval
    private let clock: MonotonicClock
    private let seen = Locked<(seconds: Double, at: ContinuousClock.Instant)?>(nil)

    /// - Parameter limit: by how many seconds the copy may be behind to be read.
    init(_ database: any SQLDatabase, limit: TimeInterval, clock: MonotonicClock) {
        self.database = database
        self.limit = limit
        self.clock = clock
    }

    /// Looks how far the copy is behind.
    func update() async throws {
        do {
            let row = try await database.lookup(
                """
                SELECT CAST(extract(epoch FROM clock_timestamp() - max(seen_at)) AS DOUBLE PRECISION) AS seconds
                FROM server
                """, [])
            let seconds: Double? = try row?["seconds"]
            seen.withLock { $0 = seconds.map { (max(0, $0), clock.now) } }
        } catch {
            seen.withLock { $0 = nil }
            throw error
        }
    }

    /// By how many seconds the copy is behind at most; `nil` where that is unknown or too much.
    var staleness: Double? {
        guard let seen = seen.withLock(\.self) else { return nil }
        let since = clock.now - seen.at
        guard since < Self.memory else { return nil }
        let seconds = seen.seconds + since / .seconds(1)
        return seconds <= limit ? seconds : nil
    }
}

extension Ledger {
    /// An answer, and by how many seconds it may be behind.
    struct Found: Sendable {
        let answer: StoredAnswer
        /// `nil` for an answer of the database itself.
        var staleness: Double?
    }

    /// The answer of a customer in a database that servers share: one look-up of one row as a rule, which holds no thread.
    ///
    /// - Parameter revision: the copy is asked first, and its answer is taken when it has this revision or a later one. With
    ///   `nil` the copy is asked only when the database cannot be.
    func find(_ key: CustomerKey, atLeast revision: Int64?) async throws -> Found {
        if let revision, let found = try? await findInCopy(key, atLeast: revision) { return found }
        do {
            if let answer = try await storedAnswer(for: key, in: database) { return Found(answer: answer) }
            return Found(answer: try await refresh(key))
        } catch let error as SQLError {
            if let found = try? await findInCopy(key, atLeast: revision ?? 0) { return found }
            throw error
        }
    }

    private func findInCopy(_ key: CustomerKey, atLeast revision: Int64) async throws -> Found? {
        guard let standby, let staleness = standby.staleness,
            let answer = try await storedAnswer(for: key, in: standby.database), answer.revision >= max(1, revision)
        else { return nil }
        return Found(answer: answer, staleness: staleness)
    }

    /// An answer that can be given without writing; `nil` where there is none.
    private func storedAnswer(for key: CustomerKey, in database: any SQLDatabase) async throws -> StoredAnswer? {
        let row = try await database.lookup(
            StoredAnswer.sharedQuery, key.ledgerID.values + [.text(key.customer.rawValue)])
        let now = clock.now().wholeMillisecond
        if let row, let stored = try StoredAnswer(shared: row), stored.isValid(at: now, skew: StoredAnswer.clockSkew) {
            return stored
        }
        let read = try await database.readAsync { [self] connection in
            try reading(of: key, at: now, connection) { _ in }
        }
        guard case .answer(let answer) = read else { return nil }
        return answer
    }
}
