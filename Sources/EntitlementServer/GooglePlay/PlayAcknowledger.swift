import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SQLStorage
import StoreModel

/// Acknowledges the purchases of Google Play that are in the ledger, and consumes consumables.
/// Google refunds a purchase without an acknowledgement after three days.
///
/// Only purchases whose facts are committed are acknowledged. A consumable is consumed once a customer holds it, because
/// the app no longer finds a consumed purchase; before, it is acknowledged.
///
/// An attempt is stored before it is sent, and its result
/// after it, each in one database transaction. So a crash loses no acknowledgement, but can repeat one, which changes
/// nothing at Google.
struct PlayAcknowledger: Sendable {
    /// A purchase that was claimed for an attempt.
    fileprivate struct Claimed: Sendable {
        let ledgerID: LedgerID
        let purchase: PlayPurchase
        let token: PurchaseToken
        let attempt: Int64
        /// Whether a customer holds the purchase.
        let isHeld: Bool

        var call: Call {
            switch purchase.kind {
            case .autoRenewableSubscription: .acknowledgeSubscription
            case .consumable where isHeld: .consume
            default: .acknowledgeProduct
            }
        }
    }

    fileprivate enum Call: Sendable { case acknowledgeSubscription, acknowledgeProduct, consume }

    /// A purchase that was not acknowledged. The reason names no token.
    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    /// The results of attempts, in metrics.
    private enum Outcome: String { case acknowledged, consumed, retried, ended }

    /// The time in seconds of real time after which another server may repeat an attempt without a result. It is longer
    /// than the retries of one call.
    static let lease: TimeInterval = 600
    private static let concurrentAttempts = 8
    /// The time before Google's refund, in seconds, in which the metrics count a purchase as urgent.
    static let urgency: TimeInterval = 86_400

    private let ledger: Ledger
    private let readers: [LedgerID: PlayReader]
    /// The pauses between attempts, each of which has retries of its own. They are short beside Google's three days, also
    /// in virtual time.
    private let backoff = Backoff(attempts: .max, initial: .seconds(10), maximum: .seconds(300))
    private let realClock: any WallClock
    private let random: @Sendable () -> Double
    private let results: Counter

    /// - Parameter results: Counts the attempts by their result.
    init(
        _ configuration: EntitlementService.Configuration, _ readers: [BundleID: PlayReader], _ ledger: Ledger,
        counting results: Counter
    ) {
        self.ledger = ledger
        self.readers = PlayReader.byLedger(readers)
        self.results = results
        realClock = configuration.realClock
        random = configuration.random
    }

    // MARK: - The background job

    /// Acknowledges the purchases that are due, and returns whether there may be more.
    ///
    /// Throws `Failed` if Google did not accept one, which is repeated later, and the errors of the database.
    func step() async throws -> Bool {
        var claimed: [Claimed] = []
        for ledgerID in readers.keys where claimed.count < Self.concurrentAttempts {
            claimed += try await ledger.claimAcknowledgements(
                in: ledgerID, at: realClock.now(), limit: Self.concurrentAttempts - claimed.count)
        }
        let failures = try await withThrowingTaskGroup(of: Failed?.self) { group in
            for claim in claimed { group.addTask { try await acknowledge(claim) } }
            return try await group.reduce(into: [Failed]()) { failures, failed in
                if let failed { failures.append(failed) }
            }
        }
        if let failure = failures.first { throw failure }
        return !claimed.isEmpty
    }

    /// Makes an attempt and stores its result. If the task is cancelled, the result is unknown, and the attempt is
    /// repeated after the lease.
    private func acknowledge(_ claimed: Claimed) async throws -> Failed? {
        guard let reader = readers[claimed.ledgerID] else { return nil }
        let (purchase, client) = (claimed.purchase, reader.source.client)
        var failure: GooglePlayFailure
        do {
            switch claimed.call {
            case .acknowledgeSubscription:
                try await client.acknowledgeSubscription(claimed.token, of: purchase.productID)
            case .acknowledgeProduct: try await client.acknowledgeProduct(claimed.token, of: purchase.productID)
            case .consume: try await client.consume(claimed.token, of: purchase.productID)
            }
            try await finish(claimed, claimed.call == .consume ? .consumed : .acknowledged)
            return nil
        } catch let error as GooglePlayFailure {
            try Task.checkCancellation()
            failure = error
        }
        if failure.kind != .unavailable {
            // The purchase may have ended, or have been acknowledged by the app: its present state decides.
            do {
                try await reader.refresh(claimed.token, of: purchase)
                guard try ledger.awaitsAcknowledgement(claimed) else {
                    results.add(Outcome.ended.rawValue)
                    return nil
                }
            } catch let error as GooglePlayFailure {
                failure = error
            } catch let rejection as PlayReader.Rejection {
                // Google no longer knows the purchase. Until its refund is certain, the answer may be wrong.
                if rejection.code == PlayReader.Rejection.expired || isPastDeadline(purchase) {
                    try await finish(claimed, .ended)
                    return nil
                }
            }
        }
        let now = realClock.now()
        let pause =
            (backoff.pause(after: Int(clamping: claimed.attempt), asked: nil, spread: random()) ?? backoff.maximum)
        try await finish(
            claimed, .retried,
            dueAt: now.addingTimeInterval(max(pause / .seconds(1), failure.retryAfter ?? 0)))
        let deadline = purchase.acknowledgeBy.map { RFC3339.string(from: $0) } ?? "an unknown time"
        return Failed(
            description: """
                The purchase \(purchase.original) is not acknowledged after \(claimed.attempt) attempts; Google refunds \
                it at \(deadline). \(failure.reason)
                """)
    }

    private func isPastDeadline(_ purchase: PlayPurchase) -> Bool {
        purchase.acknowledgeBy.map { $0 <= ledger.clock.now() } ?? true
    }

    private func finish(_ claimed: Claimed, _ outcome: Outcome, dueAt: Date? = nil) async throws {
        // A consumable that was only acknowledged is consumed when a customer presents it.
        let isDone = outcome != .retried && (outcome != .acknowledged || claimed.purchase.kind != .consumable)
        try await ledger.endAcknowledgement(claimed, isDone: isDone, dueAt: dueAt)
        results.add(outcome.rawValue)
    }

    // MARK: - Metrics

    /// The purchases in the ledger that are not acknowledged.
    struct Waiting: Sendable {
        var pending = 0
        /// Those that Google refunds in less than a day.
        var urgent = 0
        /// The seconds since the oldest one came into the ledger, by the store's clock.
        var lag: TimeInterval = 0
    }

    /// Returns the purchases that are not acknowledged.
    func waiting() throws -> Waiting {
        let now = ledger.clock.now()
        return try ledger.database.read { connection in
            try readers.keys.reduce(into: Waiting()) { waiting, ledgerID in
                let row = try connection.first(
                    """
                    SELECT count(*) AS pending, coalesce(sum(CASE WHEN acknowledge_by <= ?3 THEN 1 ELSE 0 END), 0) AS urgent,
                        min((SELECT min(signed_at) FROM fact WHERE fact.app = play_purchase.app
                            AND fact.environment = play_purchase.environment
                            AND fact.original_transaction_id = play_purchase.original_transaction_id)) AS oldest
                    FROM play_purchase WHERE app = ?1 AND environment = ?2 AND acknowledgement_due_at IS NOT NULL
                    """, ledgerID.values + [.integer(now.addingTimeInterval(Self.urgency).milliseconds)])
                guard let row else { return }
                waiting.pending += try row["pending"]
                waiting.urgent += try row["urgent"]
                let oldest: Int64? = try row["oldest"]
                let lag = oldest.map { now.timeIntervalSince(Date(milliseconds: $0)) } ?? 0
                waiting.lag = max(waiting.lag, lag)
            }
        }
    }
}

/// The acknowledgements in the rows of purchases.
extension Ledger {
    /// Claims purchases whose acknowledgement is due, each for one attempt, until another server may repeat it. An erased
    /// purchase has no token, so its acknowledgement ends.
    fileprivate func claimAcknowledgements(
        in ledgerID: LedgerID, at now: Date, limit: Int
    ) async throws -> [PlayAcknowledger.Claimed] {
        let isDue = try database.read { connection in
            try !transaction(connection, on: ledgerID).duePlayAcknowledgements(at: now, limit: 1).isEmpty
        }
        guard isDue else { return [] }
        let lease = now.addingTimeInterval(PlayAcknowledger.lease)
        return try await database.write { connection in
            let transaction = transaction(connection, on: ledgerID)
            return try transaction.duePlayAcknowledgements(at: now, limit: limit).compactMap { purchase in
                let attempt = min(max(purchase.acknowledgementAttempts, 0), .max - 1) + 1
                let token = try transaction.token(of: purchase)
                let isClaimed =
                    try connection.execute(
                        """
                        UPDATE play_purchase SET acknowledgement_attempts = ?4, acknowledgement_due_at = ?5
                        WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
                            AND acknowledgement_attempts = ?6 AND acknowledgement_due_at <= ?7
                        """,
                        ledgerID.values + [
                            .text(purchase.original.rawValue), .integer(attempt),
                            SQLValue(token == nil ? nil : lease.milliseconds),
                            .integer(purchase.acknowledgementAttempts), .integer(now.milliseconds),
                        ]) > 0
                guard isClaimed, let token else { return nil }
                let isHeld = try !transaction.holders(of: purchase.original).isEmpty
                return PlayAcknowledger.Claimed(
                    ledgerID: ledgerID, purchase: purchase, token: token, attempt: attempt, isHeld: isHeld)
            }
        }
    }

    /// Stores the result of an attempt, unless another server has claimed the purchase since.
    fileprivate func endAcknowledgement(
        _ claimed: PlayAcknowledger.Claimed, isDone: Bool, dueAt: Date?
    ) async throws {
        try await database.write { connection in
            try connection.perform(
                """
                UPDATE play_purchase SET acknowledgement = ?4, acknowledgement_due_at = ?5
                WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
                    AND acknowledgement = 'pending' AND acknowledgement_attempts = ?6
                """,
                claimed.ledgerID.values + [
                    .text(claimed.purchase.original.rawValue),
                    .text((isDone ? PlayPurchase.Acknowledgement.done : .pending).rawValue),
                    SQLValue(dueAt?.milliseconds), .integer(claimed.attempt),
                ])
        }
    }

    fileprivate func awaitsAcknowledgement(_ claimed: PlayAcknowledger.Claimed) throws -> Bool {
        try playPurchase(claimed.purchase.original, in: claimed.ledgerID)?.purchase.acknowledgement == .pending
    }
}
