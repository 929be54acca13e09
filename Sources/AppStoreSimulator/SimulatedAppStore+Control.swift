import SimulatorControl
import Foundation
import Primitives
import SQLStorage
import StoreKitAdapter
import StoreModel

/// Control of the store by testers: transactions and time.
extension SimulatedAppStore {

    /// Returns the names of all accounts.
    ///
    /// - Returns: The names.
    /// - Throws: `SQLError` if the database cannot be read.
    public func accounts() throws -> [AccountName] {
        try database.read { try SimulatorDatabase($0).accounts().map(\.name) }
    }

    /// Turns the auto-renewal of a subscription off. The bills of a commitment continue until its end. Before that, the customer sees a retention message if the app's
    /// server has set up one (``showRetentionMessage(of:for:locale:)``). Whatever the server answers, the customer
    /// cancels.
    ///
    /// - Parameters:
    ///   - product: The current or next product of the subscription.
    ///   - name: The account.
    ///   - locale: The locale of the device, such as `en-US`; `nil` means that of the catalogue.
    /// - Returns: The latest transaction of the subscription, with the message.
    /// - Throws: `SimulatorError` (`unknownAccount`, `unknownSubscription`; `invalidValue` for an invalid locale).
    @discardableResult
    public func cancel(
        _ product: ProductID, for name: AccountName, locale: String? = nil
    ) async throws -> StoreControlWire.Transaction {
        let message = try await retentionMessageBeforeCancelling(product, for: name, locale: locale)
        var transaction = try await change(product, for: name) { StoreRules.setAutoRenew(false, $1, at: $0.now) }
        transaction.retentionMessage = message
        return transaction
    }

    /// The maximum number of transactions in one list or receipt. Signing so many takes one or two seconds. Lists with
    /// pages have no such limit.
    public static let transactionLimit = 10_000

    /// Returns all transactions of an account, oldest first, signed now.
    ///
    /// - Parameter name: The account.
    /// - Returns: The transactions.
    /// - Throws: `SimulatorError` (`unknownAccount`; `tooManyTransactions` for more than ``transactionLimit``).
    public func transactions(of name: AccountName) async throws -> [StoreControlWire.Transaction] {
        let sales = try read({ try $0.existingAccount(name) }) { db, account, now in
            try db.transactions(of: account.id, at: now).map {
                Sale(transaction: $0, state: $1, account: account, now: now)
            }
        }
        return try describe(sales)
    }

    /// Returns the transactions that give an account access now, signed now.
    ///
    /// - Parameter name: The account.
    /// - Returns: The transactions.
    /// - Throws: `SimulatorError` (`unknownAccount`).
    public func entitlements(of name: AccountName) async throws -> [StoreControlWire.Transaction] {
        let sales = try read({ try $0.existingAccount(name) }) { db, account, now in
            try db.entitlements(of: account.id, at: now).map {
                Sale(transaction: $0, state: $1, account: account, now: now)
            }
        }
        return try describe(sales)
    }

    func describe(_ sales: [Sale]) throws -> [StoreControlWire.Transaction] {
        var renewalInfos: [Int64: String] = [:]
        return try sales.map { try describe($0, &renewalInfos) }
    }

    func describe(_ sale: Sale) throws -> StoreControlWire.Transaction {
        var renewalInfos: [Int64: String] = [:]
        return try describe(sale, &renewalInfos)
    }

    private func describe(_ sale: Sale, _ renewalInfos: inout [Int64: String]) throws -> StoreControlWire.Transaction {
        let appTransactionID = sale.account.appTransactionID
        let record = sale.transaction
        if let state = sale.state, renewalInfos[record.originalID] == nil {
            renewalInfos[record.originalID] = try signer.sign(
                state, appTransactionID: appTransactionID, at: sale.now, isFresh: true)
        }
        return StoreControlWire.Transaction(
            transactionID: record.transactionID, originalTransactionID: record.originalTransactionID,
            productID: record.productID, state: record.state(at: sale.now),
            signedTransaction: try signer.sign(
                record, appTransactionID: appTransactionID, at: sale.now, isFresh: true),
            signedRenewalInfo: renewalInfos[record.originalID], purchaseDate: record.purchaseDate.wholeMilliseconds,
            expiresDate: record.expiresDate?.wholeMilliseconds,
            revocationDate: record.revocation?.at.wholeMilliseconds,
            orderID: record.isShared ? nil : OrderID(of: record.id).text)
    }

    /// Returns the state of the clock. With `revision`, waits at most `wait` seconds until the clock has another
    /// revision.
    package func clockState(after revision: Int64? = nil, wait: Double = 0) async -> StoreControlWire.ClockState {
        let base = configuration.baseClock
        let deadline = base.now().addingTimeInterval(min(max(wait, 0), configuration.longestWait))
        while true {
            let mark = signal.mark()
            let anchor = virtualClock.anchor
            let hasChanges = revision.map { $0 != anchor.revision } ?? true
            if hasChanges || base.now() >= deadline || signal.isClosed || Task.isCancelled {
                return StoreControlWire.ClockState(
                    now: virtualClock.now(), rate: anchor.rate, revision: anchor.revision)
            }
            await signal.wait(for: Self.clockMoved, since: mark, until: deadline, on: base)
        }
    }

    static let clockMoved: Int64 = -1
    private static let longestJump = 200.0 * 365 * 86400

    /// Advances the clock. Renewals that are due by the new time are visible when this function returns. Notifications
    /// about them are sent later.
    ///
    /// Throws `malformed` unless the request has exactly one of period, seconds and instant. Throws `invalidValue` for
    /// a length of zero or of more than 200 years, for an instant that is not later than now, and for a new time in the
    /// year 9000 or later.
    @discardableResult
    package func advance(_ request: StoreControlWire.Advance) async throws -> StoreControlWire.ClockState {
        let jump = try Self.jump(request)
        let state = try await moveClock { anchor, db, now in
            anchor.reading = try jump(max(now, try db.lastEvent())).wholeMilliseconds
            guard anchor.reading < ClockAnchor.endOfTime else { throw Self.tooFar }
        }
        try await decideOverdueRefunds()
        return state
    }

    /// Advances the clock by a period, for example `.months(1)`.
    ///
    /// - Parameter period: The period.
    /// - Returns: The new time.
    /// - Throws: `SimulatorError` (`invalidValue`) for a period of zero or of more than 200 years, and for a new time in
    ///   the year 9000 or later.
    @discardableResult
    public func advance(by period: SubscriptionPeriod) async throws -> Date {
        try await advance(StoreControlWire.Advance(period: period)).now
    }

    /// Advances the clock to an instant.
    ///
    /// - Parameter instant: The instant.
    /// - Returns: The new time.
    /// - Throws: `SimulatorError` (`invalidValue`) for an instant that is not later than now, more than 200 years later,
    ///   or in the year 9000 or later.
    @discardableResult
    public func advance(to instant: Date) async throws -> Date {
        try await advance(StoreControlWire.Advance(to: instant)).now
    }

    /// Changes the clock, and wakes all waiting requests. `change` gets the current time.
    func moveClock(
        _ change: @escaping @Sendable (inout ClockAnchor, SimulatorDatabase, _ now: Date) throws -> Void
    ) async throws -> StoreControlWire.ClockState {
        let base = configuration.baseClock
        let anchor = try await database.write { [virtualClock] sql in
            let db = SimulatorDatabase(sql)
            var anchor = try db.clock()
            anchor.reading = try db.now(virtualClock)
            anchor.base = base.now().wholeMilliseconds
            let now = anchor.reading
            try change(&anchor, db, now)
            anchor.revision += 1
            try db.save(anchor)
            return anchor
        }
        virtualClock.moveIfNewer(to: anchor)
        signal.raiseAll()
        return await clockState()
    }

    private static func jump(_ request: StoreControlWire.Advance) throws -> @Sendable (Date) throws -> Date {
        switch (request.period, request.seconds, request.to) {
        case (let period?, nil, nil):
            let zero = Date(microseconds: 0)
            let length = period.end(from: zero)
            guard length > zero, length <= SubscriptionPeriod.years(200).end(from: zero) else { throw tooFar }
            return { period.end(from: $0) }
        case (nil, let seconds?, nil):
            guard seconds > 0, seconds <= longestJump else { throw tooFar }
            return { $0.addingTimeInterval(seconds) }
        case (nil, nil, let end?):
            return { now in
                guard end.wholeMilliseconds > now else {
                    throw SimulatorError(
                        .invalidValue,
                        "The time is \(RFC3339.string(from: now)) already and cannot go back to "
                            + "\(RFC3339.string(from: end)).")
                }
                guard end.timeIntervalSince(now) <= longestJump else { throw tooFar }
                return end
            }
        default:
            throw SimulatorError(
                .malformed, "An advance should have exactly one of the members period, seconds and to."
            )
        }
    }

    private static let tooFar = SimulatorError(
        .invalidValue, "An advance should be longer than zero and at most 200 years, and end before the year 9000.")
}

/// A transaction with the values that are needed to sign it.
struct Sale: Sendable {
    var transaction: TransactionRecord
    /// The state of its subscription.
    var state: SubscriptionState?
    var account: SimulatorDatabase.Account
    var now: Date
}

extension SimulatorEvent {
    func sale(of id: Int64?) throws -> Sale {
        guard let id, let (record, state) = try db.transaction(id, at: now) else { throw SimulatorDatabase.empty }
        return Sale(transaction: record, state: state, account: account, now: now)
    }

    func sale(of state: SubscriptionState) -> Sale {
        Sale(transaction: state.latest, state: state, account: account, now: now)
    }

    /// Returns the running subscription of a product that the account pays for. Throws `unknownSubscription`.
    func runningSubscription(of product: ProductID) throws -> SubscriptionState {
        try db.runningSubscription(of: product, account) { state(of: $0) }
    }
}

extension SimulatorDatabase {
    /// Returns the running subscription of a product that the account pays for. Throws `unknownSubscription`.
    func runningSubscription(
        of product: ProductID, _ account: Account, _ state: (SubscriptionRecord) -> SubscriptionState
    ) throws -> SubscriptionState {
        for record in try subscriptions(of: account.id) where record.share == nil {
            let state = state(record)
            guard state.isRunning else { continue }
            if state.current.plan.productID == product || record.renewal.plan.productID == product { return state }
        }
        throw SimulatorError(
            .unknownSubscription,
            "The account \(account.name) has no running subscription of \(product) that it pays for itself.")
    }
}

extension TransactionRecord {
    /// Returns `purchased`, `expired` or `revoked`.
    func state(at now: Date) -> String {
        if revocation != nil { return "revoked" }
        return upgradedAt != nil || expiresDate.map { $0 <= now } ?? false ? "expired" : "purchased"
    }
}
