import Foundation
import StoreModel

/// Performs the actions of `StoreKitStateMachine`. Purchases can run concurrently.
actor StoreKitPayments {
    private let queries: StoreKitQueries
    private let storage: (any SecureStorage)?
    private let reports: AsyncStream<StoreUpdate>.Continuation
    private let timeouts: StoreKitTimeouts
    /// The instants at which payments were added, while they wait for the list of unfinished transactions.
    private var added: [PaymentID: ContinuousClock.Instant] = [:]
    private var machine: StoreKitStateMachine
    private var work: [PaymentID: Task<Void, Never>] = [:]
    /// The finished transactions. They are needed because StoreKit forgets finished consumables.
    private var finished: Set<TransactionID> = []
    private var isClosed = false

    init(
        queries: StoreKitQueries, storage: (any SecureStorage)?, reports: AsyncStream<StoreUpdate>.Continuation,
        timeouts: StoreKitTimeouts = StoreKitTimeouts()
    ) {
        self.queries = queries
        self.storage = storage
        self.reports = reports
        self.timeouts = timeouts
        let written = try? storage?.data(for: Self.journalKey)
        let journal = written.flatMap { try? WireJSON.decode(PaymentJournal.self, from: $0) }
        machine = StoreKitStateMachine(journal: journal ?? PaymentJournal())
        // After this time, other events no longer wait for the list of unfinished transactions.
        Task { [weak self] in
            guard (try? await timeouts.sleep(timeouts.details)) != nil else { return }
            await self?.handle(.listed)
        }
    }

    deinit {
        for task in work.values { task.cancel() }
        reports.finish()
    }

    private static let journalKey = "storekit.payments"

    func handle(_ event: StoreKitStateMachine.Event) {
        guard !isClosed else { return }
        if case .add(let payment) = event, added[payment.id] == nil { added[payment.id] = timeouts.clock.now }
        for action in machine.handle(event) { perform(action) }
        if machine.isListed { added = [:] }
    }

    /// Reports a transaction. Renewal info that arrives late is reported when it comes.
    func handle(
        _ transaction: StoreKitTransaction, as event: @Sendable (StoreTransaction) -> StoreKitStateMachine.Event
    ) async {
        let complete = await transaction.withRenewalInfo(within: timeouts.budget()) { [weak self] in
            await self?.handle(.renewalChanged($0))
        }
        handle(event(complete))
    }

    /// Stops reporting. Running requests continue at the store, and the next run finds their results.
    func close() {
        isClosed = true
        for task in work.values { task.cancel() }
        work = [:]
        reports.finish()
    }

    /// Finishes a transaction. Throws `StoreFailure` with the code `unknownTransaction` if it does not exist.
    func finish(_ id: TransactionID) async throws {
        if await queries.finish(id) {
            finished.insert(id)
            return
        }
        if finished.contains(id) { return }
        guard await queries.find(id) == nil else { return }
        throw StoreFailure(
            code: StoreFailure.Code(rawValue: "unknownTransaction"),
            reason: "The App Store has no transaction \(id) of this customer.")
    }

    private func perform(_ action: StoreKitStateMachine.Action) {
        switch action {
        case .report(let update): reports.yield(update)
        case .writeJournal:
            // If the write fails, the journal keeps the earlier state of the payment. A payment in the journal is not
            // bought again, whatever its state.
            try? writeJournal()
        case .buy(let payment):
            do {
                try writeJournal()
            } catch {
                let failure = StoreFailure(
                    code: .systemError,
                    reason: "Cannot write the payment to the journal, so nothing was bought: \(error)")
                return handle(.answered(payment.id, .failed(failure)))
            }
            let budget = budget(for: payment.id)
            let onLateResult = lateRenewalInfo(of: payment.id)
            run(for: payment.id) { [queries, timeouts] in
                .answered(
                    payment.id, await queries.answer(to: payment, within: budget, timeouts, onLateResult: onLateResult))
            }
        case .find(let payment, let transaction):
            let budget = budget(for: payment)
            run(for: payment) { [weak self] in
                .found(payment, await self?.find(transaction, for: payment, within: budget))
            }
        }
    }

    /// Returns the time that a payment may wait for details, without the time that it has waited for the list.
    private func budget(for payment: PaymentID) -> TimeoutBudget {
        let now = timeouts.clock.now
        return timeouts.budget(spent: now - (added[payment] ?? now))
    }

    /// Returns the transaction that a payment bought in an earlier run. If StoreKit takes longer than `budget` allows,
    /// returns `nil` and reports the transaction later.
    private func find(
        _ id: TransactionID, for payment: PaymentID, within budget: TimeoutBudget
    ) async -> StoreTransaction? {
        let onLateResult = lateRenewalInfo(of: payment)
        let found = await budget.answer(
            onLateResult: { [weak self, timeouts] found in
                let transaction = await found.withRenewalInfo(within: timeouts.budget(), onLateResult: onLateResult)
                await self?.report(late: .found(payment, transaction), after: payment)
            }, { [queries] in await queries.find(id) })
        return await found?.withRenewalInfo(within: budget, onLateResult: onLateResult)
    }

    private func lateRenewalInfo(of payment: PaymentID) -> StoreKitTransaction.LateHandler {
        { [weak self] in await self?.report(late: .renewalChanged($0), after: payment) }
    }

    /// Reports an event that came too late for the answer of a payment, after that answer.
    private func report(late event: StoreKitStateMachine.Event, after payment: PaymentID) async {
        await work[payment]?.value
        handle(event)
    }

    private func writeJournal() throws {
        try storage?.set(try WireJSON.encode(machine.journal), for: Self.journalKey)
    }

    private func run(for payment: PaymentID, _ operation: @escaping @Sendable () async -> StoreKitStateMachine.Event) {
        work[payment] = Task { [weak self] in
            let answer = await operation()
            await self?.ended(payment, answer)
        }
    }

    private func ended(_ payment: PaymentID, _ answer: StoreKitStateMachine.Event) {
        work[payment] = nil
        handle(answer)
    }
}
