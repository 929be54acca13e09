import Foundation
import Primitives
import StoreModel

/// Asks the App Store about subscriptions that have passed their end without a word of how they go on: a notification may
/// have been lost, or may never have been asked for.
///
/// Each is asked about at most once every few minutes, however many want to know; what the App Store says becomes facts that
/// nobody claims. Reads never wait for it.
actor StatusPulls {
    /// A subscription of one book, by its first transaction.
    struct Subscription: Hashable, Sendable {
        let book: Book
        let original: TransactionID
    }

    /// Seconds of real time between two questions about one subscription.
    static let pause: TimeInterval = 300
    /// So many subscriptions wait at most; more are left to whoever presents or judges their receipt.
    private static let mostWaiting = 10_000
    private static let mostAttempts = 12

    private struct Waiting {
        let subscription: Subscription
        var attempts = 0
        /// Real time.
        var notBefore = Date.distantPast
    }

    private let ledger: Ledger
    private let readers: [BundleID: StoreReader]
    private let clients: [Book: AppStoreServerAPIClient]
    private let realClock: any WallClock
    private var running: [Subscription: Task<Void, any Error>] = [:]
    private var asked: [Subscription: Date] = [:]
    private var waiting: [Waiting] = []
    /// The last event looked at in each book.
    private var cursors: [Book: Int64]?

    /// `nil` when no app has a client: nobody can be asked then.
    init?(_ configuration: EntitlementService.Configuration, _ readers: [BundleID: StoreReader], _ ledger: Ledger) {
        var clients: [Book: AppStoreServerAPIClient] = [:]
        for app in configuration.apps {
            for (environment, client) in app.appStore where configuration.environments.contains(environment) {
                clients[Book(app: app.bundleID, environment: environment)] = client
            }
        }
        guard !clients.isEmpty else { return nil }
        self.ledger = ledger
        self.readers = readers
        self.clients = clients
        realClock = configuration.realClock
    }

    // MARK: - Asking

    /// Brings what the App Store says of a subscription into the ledger, unless that was done a moment ago. Whoever asks
    /// while somebody else's question is under way waits for the same answer.
    ///
    /// Throws what the client throws, what is wrong with what it answered, and what the ledger throws.
    func pull(_ subscription: Subscription) async throws {
        if let task = running[subscription] { return try await task.value }
        let now = realClock.now()
        if let last = asked[subscription], now < last.addingTimeInterval(Self.pause) { return }
        guard let client = clients[subscription.book], let reader = readers[subscription.book.app] else { return }
        asked = asked.filter { now < $0.value.addingTimeInterval(Self.pause) }
        asked[subscription] = now
        let task = Task { [ledger] in
            let answer = try await client.subscriptionStatuses(of: subscription.original)
            var facts: [PresentedFact] = []
            for last in (answer.data ?? []).flatMap({ $0.lastTransactions ?? [] }) {
                if let signed = last.signedTransactionInfo { facts.append(try reader.transaction(signed)) }
                if let signed = last.signedRenewalInfo { facts.append(try reader.renewal(signed)) }
            }
            try await ledger.append(
                facts.filter { $0.environment == subscription.book.environment }, in: subscription.book)
        }
        running[subscription] = task
        defer { running[subscription] = nil }
        try await task.value
    }

    /// Asks about those of some purchases that have passed their end without news. One answer speaks of all subscriptions of
    /// their buyer, so each is looked at anew before it is asked about.
    func pullLapsed(among purchases: [TransactionID], in book: Book) async throws {
        guard clients[book] != nil else { return }
        for original in purchases.sorted() where try ledger.hasLapsed(original, in: book) {
            try await pull(Subscription(book: book, original: original))
        }
    }

    // MARK: - Beside everything

    /// Looks at what changed, or asks about one subscription; returns whether there is more to do. Throws when the App Store
    /// could not be asked; the subscription is asked about again later.
    func step() async throws -> Bool {
        let sawEvents = try await look()
        let now = realClock.now()
        guard let index = waiting.firstIndex(where: { $0.notBefore <= now }) else { return sawEvents }
        var next = waiting.remove(at: index)
        do {
            if try ledger.hasLapsed(next.subscription.original, in: next.subscription.book) {
                try await pull(next.subscription)
            }
        } catch {
            next.attempts += 1
            next.notBefore = now.addingTimeInterval(Self.pause)
            if next.attempts < Self.mostAttempts { waiting.append(next) }
            throw error
        }
        return true
    }

    /// Finds subscriptions that ended among the answers that changed since the last look.
    private func look() async throws -> Bool {
        guard var cursors else {
            self.cursors = try clients.reduce(into: [:]) { $0[$1.key] = try ledger.span(of: $1.key).last }
            return true
        }
        var sawEvents = false
        for book in clients.keys {
            for event in try ledger.events(of: book, after: cursors[book] ?? 0, limit: 100) {
                sawEvents = true
                cursors[book] = event.sequence
                guard let customer = try? WireJSON.decode(Customer.self, from: event.body) else { continue }
                for subscription in customer.subscriptions
                where subscription.source == .appStore && subscription.state == .expired {
                    let lapsed = Subscription(book: book, original: subscription.originalTransactionID)
                    guard waiting.count < Self.mostWaiting, !waiting.contains(where: { $0.subscription == lapsed })
                    else { continue }
                    waiting.append(Waiting(subscription: lapsed))
                }
            }
        }
        self.cursors = cursors
        return sawEvents
    }
}

extension Ledger {
    /// Appends what the store says by itself; nobody claims it.
    func append(_ facts: [PresentedFact], in book: Book) async throws {
        let facts = try headers.numbered(facts)
        try await write { connection, outcome in
            var transaction = transaction(connection, on: book)
            try transaction.lock(forAppending: facts)
            for fact in facts { try transaction.append(fact) }
            try settle(transaction, asking: nil, &outcome)
        }
    }

    /// Whether a subscription of the App Store has passed its end, and the store has said nothing since.
    func hasLapsed(_ original: TransactionID, in book: Book) throws -> Bool {
        try database.read { connection in
            let transaction = transaction(connection, on: book)
            guard let last = try transaction.lastWord(about: original) else { return false }
            let answer = try transaction.answer(about: [original])
            return answer.subscriptions.contains { subscription in
                subscription.source == .appStore && subscription.state == .expired
                    && subscription.expiresAt <= transaction.now && last < subscription.expiresAt
            }
        }
    }
}

extension LedgerTransaction {
    /// When the store last signed anything about a purchase.
    fileprivate func lastWord(about original: TransactionID) throws -> Date? {
        let newest: Int64? = try connection.first(
            """
            SELECT max(signed_at) AS newest FROM fact
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, values(.text(original.rawValue))
        ).flatMap { try $0["newest"] }
        return newest.map { Date(milliseconds: $0) }
    }
}
