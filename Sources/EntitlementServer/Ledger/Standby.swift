import Foundation
import Primitives
import SQLStorage
import StoreModel

/// A replica of the database. It is read if the database fails, or first if a request names the least revision of its
/// answer.
///
/// Its lag is the age of the newest heartbeat of a server. Heartbeats have the time of the primary's clock.
final class Standby: Sendable {
    /// The pause between measurements of the lag, in seconds.
    static let pause: TimeInterval = 0.5
    /// The time for which a measurement is used.
    private static let lifetime = Duration.seconds(3)

    let database: any SQLDatabase
    private let limit: TimeInterval
    private let clock: MonotonicClock
    private let measurement = Locked<(seconds: Double, at: ContinuousClock.Instant)?>(nil)

    /// - Parameter limit: The greatest lag in seconds at which the standby is read.
    init(_ database: any SQLDatabase, limit: TimeInterval, clock: MonotonicClock) {
        self.database = database
        self.limit = limit
        self.clock = clock
    }

    /// Measures the lag.
    func update() async throws {
        do {
            let row = try await database.lookup(
                """
                SELECT CAST(extract(epoch FROM clock_timestamp() - max(seen_at)) AS DOUBLE PRECISION) AS seconds
                FROM server
                """, [])
            let seconds: Double? = try row?["seconds"]
            measurement.withLock { $0 = seconds.map { (max(0, $0), clock.now) } }
        } catch {
            measurement.withLock { $0 = nil }
            throw error
        }
    }

    /// The greatest possible lag in seconds: the measured lag and the time since. `nil` if it is unknown or above the
    /// limit.
    var staleness: Double? {
        guard let measurement = measurement.withLock(\.self) else { return nil }
        let since = clock.now - measurement.at
        guard since < Self.lifetime else { return nil }
        let seconds = measurement.seconds + since / .seconds(1)
        return seconds <= limit ? seconds : nil
    }
}

extension Ledger {
    /// An answer with its possible staleness.
    struct Found: Sendable {
        let answer: StoredAnswer
        /// The staleness in seconds; `nil` for an answer of the database itself.
        var staleness: Double?
    }

    /// Returns a customer's answer in a shared database. Usually it queries one row, without blocking a thread.
    ///
    /// - Parameter revision: If given, the standby is read first, and its answer is used if it has at least this
    ///   revision. With `nil` the standby is read only if the database fails.
    func find(_ key: CustomerKey, atLeast revision: Int64?) async throws -> Found {
        if let revision, let found = try? await findInStandby(key, atLeast: revision) { return found }
        do {
            if let answer = try await storedAnswer(for: key, in: database) { return Found(answer: answer) }
            return Found(answer: try await refresh(key))
        } catch let error as SQLError {
            if let found = try? await findInStandby(key, atLeast: revision ?? 0) { return found }
            throw error
        }
    }

    private func findInStandby(_ key: CustomerKey, atLeast revision: Int64) async throws -> Found? {
        guard let standby, let staleness = standby.staleness,
            let answer = try await storedAnswer(for: key, in: standby.database), answer.revision >= max(1, revision)
        else { return nil }
        return Found(answer: answer, staleness: staleness)
    }

    /// Returns an answer that needs no write; `nil` if the answer must be recomputed.
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
