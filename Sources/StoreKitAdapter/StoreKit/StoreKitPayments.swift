import Foundation
import StoreModel

/// What StoreKit is asked for a payment.
struct StoreKitQuestions: Sendable {
    /// Ends when the customer has answered.
    var buy: @Sendable (Payment) async -> StoreKitStateMachine.Answer
    /// One of the customer's transactions, finished or not, as far as the store remembers it.
    var find: @Sendable (TransactionID) async -> StoreTransaction?
    /// Finishes a transaction that is unfinished; `false` when there is none of that id.
    var finish: @Sendable (TransactionID) async -> Bool
}

/// Does what `StoreKitStateMachine` decides, one thing after the other.
actor StoreKitPayments {
    private let questions: StoreKitQuestions
    private let storage: (any SecureStorage)?
    private let reports: AsyncStream<StoreUpdate>.Continuation
    private var machine: StoreKitStateMachine
    private var work: [PaymentID: Task<Void, Never>] = [:]
    /// The store forgets consumables that are finished.
    private var finished: Set<TransactionID> = []
    private var isClosed = false

    /// - Parameter listLimit: how long a payment waits for the list of what is unfinished.
    init(
        questions: StoreKitQuestions, storage: (any SecureStorage)?, reports: AsyncStream<StoreUpdate>.Continuation,
        listLimit: Duration = .seconds(2),
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.questions = questions
        self.storage = storage
        self.reports = reports
        // What cannot be read says nothing, and must not keep anybody from buying.
        let written = try? storage?.data(for: Self.journalKey)
        let journal = written.flatMap { try? WireJSON.decode(PaymentJournal.self, from: $0) }
        machine = StoreKitStateMachine(journal: journal ?? PaymentJournal())
        // What the list has after that is reported as it comes.
        Task { [weak self] in
            guard (try? await sleep(listLimit)) != nil else { return }
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
        for action in machine.handle(event) { perform(action) }
    }

    /// Reports nothing more. What the store is being asked goes on there, and is found in the next run.
    func close() {
        isClosed = true
        for task in work.values { task.cancel() }
        work = [:]
        reports.finish()
    }

    /// Throws `StoreFailure` with the code `unknownTransaction` for what was never sold.
    func finish(_ id: TransactionID) async throws {
        if await questions.finish(id) {
            finished.insert(id)
            return
        }
        if finished.contains(id) { return }
        guard await questions.find(id) == nil else { return }
        throw StoreFailure(
            code: StoreFailure.Code(rawValue: "unknownTransaction"),
            reason: "The App Store knows no transaction \(id) of this customer.")
    }

    private func perform(_ action: StoreKitStateMachine.Action) {
        switch action {
        case .report(let update): reports.yield(update)
        case .writeJournal:
            // Unwritten, a payment counts as begun, and is not bought again either.
            try? writeJournal()
        case .buy(let payment):
            do {
                try writeJournal()
            } catch {
                let failure = StoreFailure(
                    code: .systemError, reason: "The payment could not be noted, so nothing was bought: \(error)")
                return handle(.answered(payment.id, .failed(failure)))
            }
            run(for: payment.id) { [questions] in .answered(payment.id, await questions.buy(payment)) }
        case .find(let payment, let transaction):
            run(for: payment) { [questions] in .found(payment, await questions.find(transaction)) }
        }
    }

    private func writeJournal() throws {
        try storage?.set(try WireJSON.encode(machine.journal), for: Self.journalKey)
    }

    private func run(for payment: PaymentID, _ question: @escaping @Sendable () async -> StoreKitStateMachine.Event) {
        work[payment] = Task { [weak self] in
            let answer = await question()
            await self?.ended(payment, answer)
        }
    }

    private func ended(_ payment: PaymentID, _ answer: StoreKitStateMachine.Event) {
        work[payment] = nil
        handle(answer)
    }
}
