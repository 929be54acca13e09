import Foundation
import Primitives
import SQLStorage
import StoreModel

/// Asks the App Store and Google Play for the status of subscriptions that passed their end without a later fact. Their
/// notification may have been lost, or notifications may be off.
///
/// Each subscription is polled at most once every five minutes, on all servers together: the ledger stores when it was
/// polled last and when it is due. The answers of the stores become facts without a claim. Reads of a customer do not
/// wait for polls.
///
/// The App Store's subscriptions are found by the events of customers. Those of Google Play have a date in their row: the
/// end, the end of a pause, and a day after the last fetch while a payment fails.
actor StatusPoller {
    /// A subscription of one ledger, by its original transaction.
    struct Subscription: Hashable, Sendable {
        let ledgerID: LedgerID
        let original: TransactionID
    }

    /// The least time between two polls of one subscription, in seconds of real time.
    static let pause: TimeInterval = 300
    private static let maximumAttempts: Int64 = 12
    /// The difference of event numbers at which the cursor is stored even if no subscription ended.
    private static let cursorInterval: Int64 = 1000

    private let ledger: Ledger
    private let readers: [BundleID: StoreReader]
    private let clients: [LedgerID: AppStoreServerAPIClient]
    private let playReaders: [LedgerID: PlayReader]
    private let realClock: any WallClock
    private var running: [Subscription: Task<Bool, any Error>] = [:]
    /// The last event that this server has scanned. After a crash some events are scanned again, which changes nothing.
    private var lastScanned: [LedgerID: Int64] = [:]

    /// Returns `nil` if no app has a client for an environment of the server.
    init?(
        _ configuration: EntitlementService.Configuration, _ readers: [BundleID: StoreReader],
        _ playReaders: [BundleID: PlayReader], _ ledger: Ledger
    ) {
        var clients: [LedgerID: AppStoreServerAPIClient] = [:]
        for app in configuration.apps {
            for (environment, client) in app.appStore where configuration.environments.contains(environment) {
                clients[LedgerID(app: app.bundleID, environment: environment)] = client
            }
        }
        guard !clients.isEmpty || !playReaders.isEmpty else { return nil }
        self.ledger = ledger
        self.readers = readers
        self.playReaders = PlayReader.byLedger(playReaders)
        self.clients = clients
        realClock = configuration.realClock
    }

    /// Polls the status of a subscription and appends it to the ledger, unless it was polled within the pause. Returns
    /// whether it was polled. Concurrent calls wait for the same poll.
    ///
    /// Throws the errors of the client, of the verification and of the ledger.
    @discardableResult
    func poll(_ subscription: Subscription) async throws -> Bool {
        if let task = running[subscription] { return try await task.value }
        let now = realClock.now()
        let task = Task { [ledger] in
            guard try await ledger.beginPoll(of: subscription, at: now) else { return false }
            try await ask(about: subscription)
            return true
        }
        running[subscription] = task
        defer { running[subscription] = nil }
        return try await task.value
    }

    /// Asks the store of a subscription, and appends the answer to the ledger. For an operator's poll, also writes the
    /// entry of the audit log.
    private func ask(
        about subscription: Subscription, noting note: AuditNote? = nil, about customer: CustomerID? = nil
    ) async throws {
        let ledgerID = subscription.ledgerID
        if let reader = playReaders[ledgerID],
            let (purchase, token) = try ledger.playPurchase(subscription.original, in: ledgerID)
        {
            guard let token else { return }
            do { try await reader.refresh(token, of: purchase, noting: note, about: customer) } catch is PlayReader
                .Rejection
            {
                // Google forgets a subscription 60 days after its end. What the ledger has remains.
            }
        } else {
            try await ledger.append(
                try await statuses(of: subscription), in: ledgerID, noting: note, about: customer)
        }
    }

    /// Polls those of the purchases that passed their end without a later fact. The App Store's answer contains all
    /// subscriptions of the buyer, so each purchase is checked just before its poll.
    func pollLapsed(among purchases: [TransactionID], in ledgerID: LedgerID) async throws {
        guard canPoll(.appStore, in: ledgerID) else { return }
        for original in purchases.sorted() where try ledger.hasLapsed(original, in: ledgerID) {
            try await poll(Subscription(ledgerID: ledgerID, original: original))
        }
    }

    /// Returns whether there is a client of a store for a ledger.
    nonisolated func canPoll(_ source: PurchaseSource, in ledgerID: LedgerID) -> Bool {
        switch source {
        case .appStore: clients[ledgerID] != nil
        case .googlePlay: playReaders[ledgerID] != nil
        default: false
        }
    }

    /// Polls a subscription for an operator, and writes an entry of the audit log with the facts. Returns `false` if
    /// the subscription is being polled or was polled within the pause.
    func poll(_ subscription: Subscription, noting note: AuditNote, about customer: CustomerID) async throws -> Bool {
        guard running[subscription] == nil else { return false }
        let now = realClock.now()
        guard try await ledger.beginPoll(of: subscription, at: now) else { return false }
        try await ask(about: subscription, noting: note, about: customer)
        return true
    }

    /// Asks the App Store for an order (Look Up Order ID), and returns the original ids of its transactions in their
    /// order. Nothing is stored.
    nonisolated func purchases(ofOrder order: String, in ledgerID: LedgerID) async throws -> [TransactionID] {
        guard let client = clients[ledgerID], let reader = readers[ledgerID.app] else { return [] }
        var purchases: [TransactionID] = []
        for signed in try await client.lookUpOrder(order).signedTransactions ?? [] {
            let fact = try await reader.transaction(signed)
            guard fact.environment == ledgerID.environment, !purchases.contains(fact.row.original) else { continue }
            purchases.append(fact.row.original)
        }
        return purchases
    }

    /// Asks the App Store, and returns the facts of its answer in the subscription's environment.
    private func statuses(of subscription: Subscription) async throws -> [PresentedFact] {
        guard let client = clients[subscription.ledgerID], let reader = readers[subscription.ledgerID.app] else {
            return []
        }
        let answer = try await client.subscriptionStatuses(of: subscription.original)
        var facts: [PresentedFact] = []
        for last in (answer.data ?? []).flatMap({ $0.lastTransactions ?? [] }) {
            if let signed = last.signedTransactionInfo { facts.append(try await reader.transaction(signed)) }
            if let signed = last.signedRenewalInfo { facts.append(try await reader.renewal(signed)) }
        }
        return facts.filter { $0.environment == subscription.ledgerID.environment }
    }

    /// Reads new events, and polls at most one subscription. Returns whether there is more to do. Throws if the poll
    /// fails, which is repeated later, up to 12 attempts in all.
    func step() async throws -> Bool {
        let hasEvents = try await scanEvents()
        for ledgerID in clients.keys {
            let isPolled = try await pollNext(in: ledgerID, .appStore, maximumAttempts: Self.maximumAttempts) {
                original in
                try ledger.hasLapsed(original, in: ledgerID)
            }
            if isPolled { return true }
        }
        return hasEvents
    }

    /// Polls at most one subscription of Google Play whose date has come. Returns whether there is more to do. Throws if
    /// the poll fails, which is repeated until Google answers.
    func stepGooglePlay() async throws -> Bool {
        var hasFound = false
        for ledgerID in playReaders.keys {
            let found = try await ledger.recordPlayChecks(in: ledgerID, at: realClock.now())
            hasFound = hasFound || found
            let isPolled = try await pollNext(in: ledgerID, .googlePlay, maximumAttempts: .max) { original in
                try ledger.awaitsPlayCheck(original, in: ledgerID)
            }
            if isPolled { return true }
        }
        return hasFound
    }

    /// Polls the subscription of a store that is due next, if `needsPoll` returns `true` for it. Returns `false` if none
    /// is due.
    private func pollNext(
        in ledgerID: LedgerID, _ source: PurchaseSource, maximumAttempts: Int64,
        needsPoll: (TransactionID) throws -> Bool
    ) async throws -> Bool {
        let now = realClock.now()
        guard let next = try ledger.duePoll(of: source, in: ledgerID, at: now) else { return false }
        do {
            var dueAt: Date?
            if try needsPoll(next.subscription.original) {
                let isPolled = try await poll(next.subscription)
                // The poll before may have been earlier than the date of the subscription.
                if !isPolled, source == .googlePlay { dueAt = now.addingTimeInterval(Self.pause) }
            }
            try await ledger.endPoll(of: next.subscription, attempts: 0, dueAt: dueAt)
        } catch {
            let attempts = next.attempts + 1
            let retryAt = attempts < maximumAttempts ? now.addingTimeInterval(Self.pause) : nil
            try await ledger.endPoll(of: next.subscription, attempts: attempts, dueAt: retryAt)
            throw error
        }
        return true
    }

    /// Stores subscriptions that ended, from the events since the last scan. Returns whether there were events.
    private func scanEvents() async throws -> Bool {
        var hasEvents = false
        for ledgerID in clients.keys {
            let cursor = try ledger.pollCursor(of: ledgerID)
            let start = cursor.map { max($0, lastScanned[ledgerID] ?? 0) }
            let events = try start.map { try ledger.events(of: ledgerID, after: $0, limit: 100) } ?? []
            guard let last = try cursor == nil ? ledger.span(of: ledgerID).last : events.last?.sequence else {
                continue
            }
            let customers = events.compactMap { try? WireJSON.decode(Customer.self, from: $0.body) }
            let subscriptions: [CustomerSubscription] = customers.flatMap(\.subscriptions)
            let lapsed = subscriptions.filter { $0.source == .appStore && $0.state == .expired }
                .map(\.originalTransactionID)
            let isFar = cursor.map { last - $0 >= Self.cursorInterval } ?? true
            if isFar || !lapsed.isEmpty {
                try await ledger.recordLapsed(of: Set(lapsed), in: ledgerID, after: last, at: realClock.now())
            }
            lastScanned[ledgerID] = last
            hasEvents = hasEvents || !events.isEmpty
        }
        return hasEvents
    }
}

/// The rows of polled subscriptions.
extension Ledger {
    /// Stores that a subscription is polled now. Returns `false` if any server polled it within the pause. First
    /// deletes the ledger's rows of subscriptions that have no next poll and were polled longer ago than the pause.
    fileprivate func beginPoll(of subscription: StatusPoller.Subscription, at now: Date) async throws -> Bool {
        let before = SQLValue.integer(now.addingTimeInterval(-StatusPoller.pause).milliseconds)
        return try await database.write { connection in
            try connection.perform(
                """
                DELETE FROM status_pull
                WHERE app = ?1 AND environment = ?2 AND due_at IS NULL AND asked_at <= ?3
                """, subscription.ledgerID.values + [before])
            return try connection.execute(
                """
                INSERT INTO status_pull (app, environment, original_transaction_id, asked_at, attempts)
                VALUES (?1, ?2, ?3, ?4, 0)
                ON CONFLICT (app, environment, original_transaction_id) DO UPDATE SET asked_at = excluded.asked_at
                WHERE status_pull.asked_at IS NULL OR status_pull.asked_at <= ?5 OR status_pull.asked_at > ?4
                """,
                subscription.values + [.integer(now.milliseconds), before]) > 0
        }
    }

    /// Returns the subscription of a ledger that is due next, and the number of its failed polls.
    fileprivate func duePoll(
        of source: PurchaseSource, in ledgerID: LedgerID, at now: Date
    ) throws -> (subscription: StatusPoller.Subscription, attempts: Int64)? {
        let isPlay = source == .googlePlay ? "" : "NOT"
        return try database.read { connection in
            try connection.first(
                """
                SELECT original_transaction_id, attempts FROM status_pull
                WHERE app = ?1 AND environment = ?2 AND due_at <= ?3
                    AND \(isPlay) EXISTS (SELECT 1 FROM play_purchase AS play WHERE play.app = ?1
                        AND play.environment = ?2
                        AND play.original_transaction_id = status_pull.original_transaction_id)
                ORDER BY due_at, original_transaction_id LIMIT 1
                """, ledgerID.values + [.integer(now.milliseconds)]
            ).map { row in
                let original = TransactionID(unchecked: try row["original_transaction_id"])
                let attempts: Int64 = try row["attempts"]
                return (.init(ledgerID: ledgerID, original: original), max(0, min(attempts, .max - 1)))
            }
        }
    }

    /// Stores when a subscription is polled again; never, if `dueAt` is `nil`.
    fileprivate func endPoll(
        of subscription: StatusPoller.Subscription, attempts: Int64, dueAt: Date?
    ) async throws {
        try await database.write { connection in
            try connection.perform(
                """
                UPDATE status_pull SET attempts = ?4, due_at = ?5
                WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
                """, subscription.values + [.integer(attempts), SQLValue(dueAt?.milliseconds)])
        }
    }

    /// Stores as due the subscriptions of Google Play whose date has come by the store's clock, and removes the date. The
    /// next fetch stores a new one. Returns whether there were any.
    fileprivate func recordPlayChecks(in ledgerID: LedgerID, at now: Date) async throws -> Bool {
        let due = ledgerID.values + [.integer(clock.now().milliseconds)]
        let isDue = try database.read { connection in
            try connection.first(
                "SELECT 1 AS one FROM play_purchase WHERE app = ?1 AND environment = ?2 AND check_at <= ?3 LIMIT 1", due
            )
                != nil
        }
        guard isDue else { return false }
        return try await database.write { connection in
            let found: [String] = try connection.query(
                """
                SELECT original_transaction_id FROM play_purchase
                WHERE app = ?1 AND environment = ?2 AND check_at <= ?3 ORDER BY check_at LIMIT 100
                """, due
            ).map { try $0["original_transaction_id"] }
            for original in found {
                let key = ledgerID.values + [.text(original)]
                try connection.perform(
                    """
                    INSERT INTO status_pull (app, environment, original_transaction_id, due_at, attempts)
                    VALUES (?1, ?2, ?3, ?4, 0)
                    ON CONFLICT (app, environment, original_transaction_id) DO UPDATE
                    SET due_at = coalesce(status_pull.due_at, excluded.due_at)
                    """, key + [.integer(now.milliseconds)])
                try connection.perform(
                    """
                    UPDATE play_purchase SET check_at = NULL
                    WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
                    """, key)
            }
            return !found.isEmpty
        }
    }

    /// Returns whether the date of a subscription of Google Play has come and it was not fetched since.
    fileprivate func awaitsPlayCheck(_ original: TransactionID, in ledgerID: LedgerID) throws -> Bool {
        try playPurchase(original, in: ledgerID).map { $0.purchase.checkAt == nil } ?? false
    }

    /// Returns the stored cursor of a ledger's scan; `nil` before the first scan.
    fileprivate func pollCursor(of ledgerID: LedgerID) throws -> Int64? {
        try database.read { connection in
            try connection.first(
                "SELECT sequence FROM status_pull_cursor WHERE app = ?1 AND environment = ?2", ledgerID.values
            ).map { try $0["sequence"] }
        }
    }

    /// Stores the subscriptions to poll, and the last scanned event as the cursor.
    fileprivate func recordLapsed(
        of purchases: Set<TransactionID>, in ledgerID: LedgerID, after sequence: Int64, at now: Date
    ) async throws {
        try await database.write { connection in
            for original in purchases.sorted() {
                try connection.perform(
                    """
                    INSERT INTO status_pull (app, environment, original_transaction_id, due_at, attempts)
                    VALUES (?1, ?2, ?3, ?4, 0)
                    ON CONFLICT (app, environment, original_transaction_id) DO UPDATE
                    SET attempts = CASE WHEN status_pull.due_at IS NULL THEN 0 ELSE status_pull.attempts END,
                        due_at = coalesce(status_pull.due_at, excluded.due_at)
                    """, ledgerID.values + [.text(original.rawValue), .integer(now.milliseconds)])
            }
            try connection.perform(
                """
                INSERT INTO status_pull_cursor (app, environment, sequence) VALUES (?1, ?2, ?3)
                ON CONFLICT (app, environment) DO UPDATE SET sequence = excluded.sequence
                WHERE excluded.sequence > status_pull_cursor.sequence
                """, ledgerID.values + [.integer(sequence)])
        }
    }
}

extension StatusPoller.Subscription {
    fileprivate var values: [SQLValue] { ledgerID.values + [.text(original.rawValue)] }
}

extension Schema {
    /// The times of the last and next poll of each subscription, and the cursor of the scan.
    static let statusPolls = SQLMigration(
        "0016 status pulls",
        [
            .sqlite: """
            CREATE TABLE status_pull (
                app TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                asked_at INTEGER,
                due_at INTEGER,
                attempts INTEGER NOT NULL,
                PRIMARY KEY (app, environment, original_transaction_id)
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX status_pull_due ON status_pull (app, environment, due_at, original_transaction_id);
            CREATE TABLE status_pull_cursor (
                app TEXT NOT NULL,
                environment TEXT NOT NULL,
                sequence INTEGER NOT NULL,
                PRIMARY KEY (app, environment)
            ) STRICT, WITHOUT ROWID;
            """
        ])
}

extension Ledger {
    /// Appends facts of the store without a claim. For an operator's poll, also writes the entry of the audit log.
    func append(
        _ facts: [PresentedFact], in ledgerID: LedgerID, noting note: AuditNote? = nil,
        about customer: CustomerID? = nil
    ) async throws {
        let facts = try headers.numbered(facts)
        try await write { connection, outcome in
            var transaction = transaction(connection, on: ledgerID)
            try transaction.lock(forAppending: facts)
            for fact in facts { try transaction.append(fact) }
            if let customer { try transaction.write(note, about: customer) }
            try computeAnswers(transaction, including: nil, &outcome)
        }
    }

    /// Returns whether a subscription of the App Store passed its end without a later fact.
    func hasLapsed(_ original: TransactionID, in ledgerID: LedgerID) throws -> Bool {
        try database.read { connection in
            let transaction = transaction(connection, on: ledgerID)
            guard let last = try transaction.lastSignedAt(about: original) else { return false }
            let answer = try transaction.answer(about: [original])
            return answer.subscriptions.contains { subscription in
                subscription.source == .appStore && subscription.state == .expired
                    && subscription.expiresAt <= transaction.now && last < subscription.expiresAt
            }
        }
    }
}

extension LedgerTransaction {
    /// Returns the date of the store's last signature about a purchase.
    fileprivate func lastSignedAt(about original: TransactionID) throws -> Date? {
        let newest: Int64? = try connection.first(
            """
            SELECT max(signed_at) AS newest FROM fact
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, values(.text(original.rawValue))
        ).flatMap { try $0["newest"] }
        return newest.map { Date(milliseconds: $0) }
    }
}
