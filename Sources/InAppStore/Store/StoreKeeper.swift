import Foundation
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel

/// Keeps the store's state: asks the server one question at a time, writes down what it said, tells everybody.
actor StoreKeeper {
    private static let answerKey = "validation"
    private static let acquiredKey = "acquiredViaSubscription"
    private static let customerKey = "customer"

    nonisolated let snapshots = Broadcast<StoreSnapshot>(replaysLast: true)
    nonisolated let events = Broadcast<StoreEvent>()
    private let validator: any ReceiptValidator
    private let storage: any SecureStorage
    private let clock: any WallClock
    /// Read by everybody without waiting, written only here.
    private nonisolated let shared: Locked<StoreState>
    private nonisolated let lastSent = Locked<StoreSnapshot?>(nil)
    private nonisolated let who: Locked<CustomerID>
    private var conversation: Task<Void, Never>?
    private var timer: Task<Void, Never>?
    private var isClosed = false

    init(
        list: ProductList, customer: CustomerID?, validator: any ReceiptValidator, storage: any SecureStorage,
        clock: any WallClock, grace: TimeInterval
    ) throws {
        self.validator = validator
        self.storage = storage
        self.clock = clock
        let owner = try customer ?? AnonymousCustomer(storage: storage).id
        who = Locked(owner)
        var state = StoreState(list: list, grace: grace)
        if let bytes = try storage.data(for: Self.customerKey), String(decoding: bytes, as: UTF8.self) == owner.rawValue
        {
            state.answer = try storage.data(for: Self.answerKey).flatMap {
                try? WireJSON.decode(StoreState.Answer.self, from: $0)
            }
            state.acquiredViaSubscription = Set(
                try storage.data(for: Self.acquiredKey).flatMap { try? WireJSON.decode([ProductID].self, from: $0) }
                    ?? [])
        }
        shared = Locked(state)
    }

    nonisolated var state: StoreState { shared.withLock { $0 } }
    nonisolated var now: Date { clock.now() }
    nonisolated var customer: CustomerID { who.withLock { $0 } }
    nonisolated func snapshot() -> StoreSnapshot { state.snapshot(at: clock.now()) }

    /// Sends the first snapshot and watches the clock from now on.
    func start() { publish() }

    /// Another customer uses the app: what was known of the one before is forgotten on this device.
    func change(customer: CustomerID) throws {
        guard customer != self.customer else { return }
        try storage.set(nil, for: Self.answerKey)
        try storage.set(nil, for: Self.acquiredKey)
        try storage.set(Array(customer.rawValue.utf8), for: Self.customerKey)
        who.withLock { $0 = customer }
        shared.withLock { state in
            state.answer = nil
            state.acquiredViaSubscription = []
        }
        publish()
    }

    /// The anonymous customer of this device takes over.
    func forgetCustomer() throws { try change(customer: AnonymousCustomer(storage: storage).id) }

    func setLocale(_ locale: String) {
        shared.withLock { $0.locale = locale }
        publish()
    }

    /// Presents transactions to the server and says what became of each.
    func deliver(_ transactions: [StoreTransaction]) async -> [TransactionID: DeliveryVerdict] {
        do {
            let answer = try await inTurn { [validator] customer in
                try await validator.validate(transactions, for: customer)
            } note: { answer in
                answer.customer
            }
            let rejected = Dictionary(
                answer.rejected.compactMap { rejection in
                    transactions.indices.contains(rejection.index)
                        ? (transactions[rejection.index].id, rejection) : nil
                }, uniquingKeysWith: { first, _ in first })
            return transactions.reduce(into: [:]) { verdicts, transaction in
                verdicts[transaction.id] = verdict(
                    on: transaction, isAcknowledged: answer.acknowledged.contains(transaction.id),
                    rejection: rejected[transaction.id])
            }
        } catch {
            let sentence = "The server could not be asked about \(transactions.count) transactions; they are kept."
            events.send(StoreEvent(kind: .nonCriticalError, code: .receiptValidationFailed, sentence: sentence))
            return transactions.reduce(into: [:]) { $0[$1.id] = .unavailable(error) }
        }
    }

    private func verdict(
        on transaction: StoreTransaction, isAcknowledged: Bool, rejection: RejectedTransaction?
    ) -> DeliveryVerdict {
        if isAcknowledged { return .acknowledged }
        guard let rejection else {
            return .unavailable(
                StoreError(.acknowledgementPending, "The server has not acknowledged transaction \(transaction.id)."))
        }
        let error = StoreError(.receiptValidationFailed, "\(rejection.code): \(rejection.detail)")
        events.send(
            StoreEvent(
                kind: .criticalError, code: .receiptValidationFailed, sentence: error.sentence,
                transactionID: transaction.id))
        return rejection.retryable ? .unavailable(error) : .rejected(error)
    }

    /// Asks the server what the customer may use now.
    func refresh() async throws {
        do {
            _ = try await inTurn { [validator] customer in
                try await validator.customer(customer)
            } note: {
                $0
            }
        } catch {
            throw StoreError(
                .receiptValidationFailed, "The server could not be asked; what is known stays.", underlying: error)
        }
    }

    /// Adds products to those acquired through the subscription; durable when it returns.
    func acquire(_ products: Set<ProductID>) throws {
        let all = state.acquiredViaSubscription.union(products)
        do {
            try storage.set(try WireJSON.encode(all.sorted()), for: Self.acquiredKey)
            try storage.set(Array(customer.rawValue.utf8), for: Self.customerKey)
        } catch {
            throw StoreError(.storageFailed, "The acquired products could not be written down.", underlying: error)
        }
        shared.withLock { $0.acquiredViaSubscription = all }
        publish()
    }

    /// Ends: no more snapshots, no more watching of the clock.
    func close() async {
        isClosed = true
        timer?.cancel()
        await conversation?.value
        snapshots.finish()
        events.finish()
    }

    // MARK: - The server's answers

    /// Runs one conversation with the server after the one before has ended, so that answers are kept in the order in
    /// which they were given; an answer about somebody who has logged out meanwhile is not kept.
    private func inTurn<Answer: Sendable>(
        _ ask: @escaping @Sendable (CustomerID) async throws -> Answer,
        note: @escaping @Sendable (Answer) -> Customer
    ) async throws -> Answer {
        let before = conversation
        let turn = Task {
            await before?.value
            let customer = self.customer
            do {
                let answer = try await ask(customer)
                if customer == self.customer { self.keep(note(answer)) }
                return answer
            } catch {
                self.noteFailure()
                throw error
            }
        }
        conversation = Task { _ = await turn.result }
        return try await withTaskCancellationHandler {
            try await turn.value
        } onCancel: {
            turn.cancel()
        }
    }

    private func keep(_ customer: Customer) {
        let answer = StoreState.Answer(customer: customer, receivedAt: clock.now())
        write(answer)
        shared.withLock { $0.answer = answer }
        acquireWhatComesByItself()
        publish()
    }

    private func noteFailure() {
        guard var answer = state.answer, answer.failingSince == nil else { return }
        answer.failingSince = clock.now()
        write(answer)
        shared.withLock { [answer] in $0.answer = answer }
        publish()
    }

    /// An answer that cannot be written is used all the same, and asked for again at the next launch.
    private func write(_ answer: StoreState.Answer) {
        do {
            try storage.set(try WireJSON.encode(answer), for: Self.answerKey)
            try storage.set(Array(customer.rawValue.utf8), for: Self.customerKey)
        } catch {
            let sentence = "The server's answer could not be written down: \(error)"
            events.send(StoreEvent(kind: .nonCriticalError, code: .storageFailed, sentence: sentence))
        }
    }

    private func acquireWhatComesByItself() {
        let state = state
        let enabled = state.enabledProducts(by: state.subscriptionInfo(at: clock.now()))
        let due = Set(state.list.products.filter(\.preAcquiredViaSubscription).map(\.id)).intersection(enabled)
        guard !due.isSubset(of: state.acquiredViaSubscription) else { return }
        try? acquire(due)
    }

    // MARK: - Time

    private func publish() {
        guard !isClosed else { return }
        let now = clock.now()
        let snapshot = state.snapshot(at: now)
        let isNew = lastSent.withLock { last in
            defer { last = snapshot }
            return last != snapshot
        }
        if isNew { snapshots.send(snapshot) }
        timer?.cancel()
        guard let next = state.nextChange(after: now) else { return }
        timer = Task { [clock] in
            guard (try? await clock.sleep(until: next)) != nil, !Task.isCancelled else { return }
            await self.timePassed()
        }
    }

    private func timePassed() async {
        let isStale = state.isStale(at: clock.now())
        publish()
        if isStale { try? await refresh() }
    }
}
