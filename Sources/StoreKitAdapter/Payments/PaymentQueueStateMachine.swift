import Foundation
import StoreModel

/// What the payment queue decides, without doing any of it: events in, actions out.
///
/// Every update goes one way: to the payment it names, else, while somebody restores, to the restore, else to the
/// completions. A transaction is handed over for delivery once at a time and finished only when it was acknowledged.
/// Every caller is answered exactly once; what a caller no longer waits for is completed all the same.
struct PaymentQueueStateMachine {
    typealias Caller = UInt64

    enum Event {
        case purchase(Payment)
        case submissionFailed(PaymentID, any Error)
        case update(StoreUpdate)
        case delivered([TransactionID: DeliveryVerdict])
        case retryDue(TransactionID)
        case finished(TransactionID)
        case finishFailed(TransactionID)
        case finishRequested(TransactionID)
        case gaveUp(PaymentID)
        case restore(Caller)
        case restored([StoreTransaction])
        case restoreFailed(any Error)
        case gaveUpRestore(Caller)
        case shutDown
    }

    enum Action {
        case submit(Payment)
        case deliver([StoreTransaction])
        case finish(TransactionID)
        case answer(PaymentID, PaymentAnswer)
        case requestRestore
        case answerRestore(Caller, Result<[StoreTransaction], any Error>)
        /// A transaction that no caller waits for was delivered and acknowledged.
        case complete(StoreTransaction)
        /// Come back with `retryDue` (or for a failed finish: `finishRequested`) after the back-off of this attempt.
        case retryDelivery(TransactionID, attempt: Int)
        case retryFinish(TransactionID, attempt: Int)
    }

    private struct Delivery {
        var transaction: StoreTransaction
        var payments: [PaymentID: Bool] = [:]
        var isForRestore = false
        var mustFinish: Bool
        /// Handed over and not yet answered.
        var isRunning = true
        var attempt = 0
        /// A newer signature of the same transaction arrived meanwhile and is delivered next.
        var next: StoreTransaction?
    }

    private struct Restore {
        var callers: [Caller] = []
        var transactions: [StoreTransaction] = []
        var open: Set<TransactionID> = []
        var failure: (any Error)?
        var isRequested = false
    }

    private let policy: FinishPolicy
    private var waiting: Set<PaymentID> = []
    private var deliveries: [TransactionID: Delivery] = [:]
    private var finishing: [TransactionID: Int] = [:]
    private var restore: Restore?
    private var isShutDown = false

    init(policy: FinishPolicy) { self.policy = policy }

    /// Whether a transaction waits to be delivered, and has not been acknowledged.
    func isUnfinished(_ id: TransactionID) -> Bool { deliveries[id] != nil }

    mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .purchase(let payment): return purchase(payment)
        case .submissionFailed(let id, let error): return fail(id, error)
        case .update(let update): return isShutDown ? [] : route(update)
        case .delivered(let verdicts): return verdicts.keys.sorted().flatMap { settle($0, verdicts[$0]) }
        case .retryDue(let id): return retry(id)
        case .finished(let id):
            finishing[id] = nil
            return []
        case .finishFailed(let id):
            guard let attempt = finishing[id], !isShutDown else { return [] }
            finishing[id] = attempt + 1
            return [.retryFinish(id, attempt: attempt + 1)]
        case .finishRequested(let id): return isShutDown ? [] : finish(id)
        case .gaveUp(let id):
            return answer(id, .failed(error: PaymentError(.cancelled, "The purchase is no longer waited for.")))
        case .restore(let caller): return begin(restoreFor: caller)
        case .restored(let transactions): return restored(transactions)
        case .restoreFailed(let error): return endRestore(.failure(Self.storeError(error)))
        case .gaveUpRestore(let caller): return giveUpRestore(caller)
        case .shutDown: return shutDown()
        }
    }

    // MARK: - Payments

    private mutating func purchase(_ payment: Payment) -> [Action] {
        let shutDown = PaymentError(.shutDown, "The payment queue was shut down; make a new one.")
        guard !isShutDown else { return [.answer(payment.id, PaymentAnswer(outcome: .failed(error: shutDown)))] }
        waiting.insert(payment.id)
        return [.submit(payment)]
    }

    private mutating func fail(_ id: PaymentID, _ error: any Error) -> [Action] {
        answer(id, .failed(error: Self.storeError(error)))
    }

    private static func storeError(_ error: any Error) -> any Error {
        if error is CancellationError { return PaymentError(.cancelled, "The request was cancelled.") }
        guard let failure = error as? StoreFailure else {
            return PaymentError(.storeFailed, "The store could not be asked; try again.", underlying: error)
        }
        let code: PaymentError.Code = failure.code == .cancelled ? .cancelled : .storeFailed
        return PaymentError(code, failure.reason, underlying: failure)
    }

    private mutating func answer(
        _ id: PaymentID, _ outcome: PurchaseOutcome, _ transaction: StoreTransaction? = nil, alreadyOwned: Bool = false
    ) -> [Action] {
        guard waiting.remove(id) != nil else { return [] }
        let answer = PaymentAnswer(outcome: outcome, transaction: transaction, isAlreadyOwned: alreadyOwned)
        return [.answer(id, answer)]
    }

    // MARK: - Updates

    private mutating func route(_ update: StoreUpdate) -> [Action] {
        let payment = update.paymentID.flatMap { waiting.contains($0) ? $0 : nil }
        switch update.state {
        case .purchasing: return []
        case .purchased(let transaction, let alreadyOwned):
            return deliver(transaction, mustFinish: true) { delivery in
                if let payment { delivery.payments[payment] = alreadyOwned }
            }
        case .deferred:
            let sentence = "The purchase waits for approval and is completed when it is given."
            return payment.map { answer($0, .failed(error: PaymentError(.deferred, sentence))) } ?? []
        case .failed(let failure): return payment.map { fail($0, failure) } ?? []
        case .revoked(let transaction): return deliver(transaction, mustFinish: true) { _ in }
        case .renewalChanged(let transaction): return deliver(transaction, mustFinish: false) { _ in }
        }
    }

    /// Hands `transaction` over unless it is on its way; a newer signature then follows the one under way.
    private mutating func deliver(
        _ transaction: StoreTransaction, mustFinish: Bool, note: (inout Delivery) -> Void
    ) -> [Action] {
        guard var delivery = deliveries[transaction.id] else {
            var delivery = Delivery(transaction: transaction, mustFinish: mustFinish)
            note(&delivery)
            deliveries[transaction.id] = delivery
            return [.deliver([transaction])]
        }
        note(&delivery)
        delivery.mustFinish = delivery.mustFinish || mustFinish
        let isNewer = delivery.transaction != transaction
        defer { deliveries[transaction.id] = delivery }
        if delivery.isRunning {
            if isNewer { delivery.next = transaction }
            return []
        }
        delivery.transaction = transaction
        delivery.isRunning = true
        return [.deliver([transaction])]
    }

    // MARK: - Delivery

    private mutating func settle(_ id: TransactionID, _ verdict: DeliveryVerdict?) -> [Action] {
        guard var delivery = deliveries[id], delivery.isRunning, let verdict else { return [] }
        delivery.isRunning = false
        let actions: [Action]
        switch verdict {
        case .acknowledged: actions = acknowledge(id, delivery)
        case .rejected(let error):
            deliveries[id] = nil
            let refusal = PaymentError(
                .rejected, "The purchase was not accepted as true and stays unfinished.", underlying: error)
            actions = answerAll(delivery, .failed(error: refusal)) + closeRestore(id, failure: refusal)
        case .unavailable(let error):
            let pending = PaymentError(
                .acknowledgementPending, "The purchase is paid and is acknowledged when the server can be reached.",
                underlying: error)
            delivery.attempt += 1
            let answers = answerAll(delivery, .failed(error: pending)) + closeRestore(id, failure: pending)
            delivery.payments = [:]
            delivery.isForRestore = false
            deliveries[id] = delivery
            actions = answers + (isShutDown ? [] : [.retryDelivery(id, attempt: delivery.attempt)])
        }
        guard let next = delivery.next, !isShutDown else { return actions }
        if case .unavailable = verdict {
            deliveries[id]?.transaction = next
            deliveries[id]?.next = nil
            return actions
        }
        return actions + deliver(next, mustFinish: false) { _ in }
    }

    private mutating func acknowledge(_ id: TransactionID, _ delivery: Delivery) -> [Action] {
        deliveries[id] = nil
        var actions: [Action] = []
        if delivery.mustFinish, policy == .afterAcknowledgement { actions += finish(id) }
        let answers = answerAll(delivery, .purchased(productId: delivery.transaction.productID.rawValue))
        if answers.isEmpty, !delivery.isForRestore { actions.append(.complete(delivery.transaction)) }
        return actions + answers + closeRestore(id, failure: nil)
    }

    private mutating func answerAll(_ delivery: Delivery, _ outcome: PurchaseOutcome) -> [Action] {
        delivery.payments.sorted { $0.key < $1.key }.flatMap { payment, alreadyOwned in
            answer(payment, outcome, delivery.transaction, alreadyOwned: alreadyOwned)
        }
    }

    private mutating func retry(_ id: TransactionID) -> [Action] {
        guard let delivery = deliveries[id], !delivery.isRunning, !isShutDown else { return [] }
        deliveries[id]?.isRunning = true
        return [.deliver([delivery.transaction])]
    }

    private mutating func finish(_ id: TransactionID) -> [Action] {
        if finishing[id] == nil { finishing[id] = 0 }
        return [.finish(id)]
    }

    // MARK: - Restore

    private mutating func begin(restoreFor caller: Caller) -> [Action] {
        let shutDown = PaymentError(.shutDown, "The payment queue was shut down; make a new one.")
        guard !isShutDown else { return [.answerRestore(caller, .failure(shutDown))] }
        if restore != nil {
            restore?.callers.append(caller)
            return []
        }
        restore = Restore(callers: [caller], isRequested: true)
        return [.requestRestore]
    }

    private mutating func restored(_ transactions: [StoreTransaction]) -> [Action] {
        guard restore != nil, !isShutDown else { return [] }
        restore?.transactions = transactions
        restore?.open = Set(transactions.map(\.id))
        guard !transactions.isEmpty else { return endRestore(.success([])) }
        var fresh: [StoreTransaction] = []
        for transaction in transactions {
            let actions = deliver(transaction, mustFinish: false) { $0.isForRestore = true }
            if !actions.isEmpty { fresh.append(transaction) }
        }
        return fresh.isEmpty ? [] : [.deliver(fresh)]
    }

    private mutating func closeRestore(_ id: TransactionID, failure: PaymentError?) -> [Action] {
        guard restore?.open.remove(id) != nil else { return [] }
        if let failure, restore?.failure == nil { restore?.failure = failure }
        guard let restore, restore.open.isEmpty else { return [] }
        return endRestore(restore.failure.map { .failure($0) } ?? .success(restore.transactions))
    }

    private mutating func endRestore(_ result: Result<[StoreTransaction], any Error>) -> [Action] {
        defer { restore = nil }
        return restore?.callers.map { .answerRestore($0, result) } ?? []
    }

    private mutating func giveUpRestore(_ caller: Caller) -> [Action] {
        guard restore?.callers.contains(caller) == true else { return [] }
        restore?.callers.removeAll { $0 == caller }
        return [.answerRestore(caller, .failure(PaymentError(.cancelled, "The restore is no longer waited for.")))]
    }

    private mutating func shutDown() -> [Action] {
        isShutDown = true
        let error = PaymentError(
            .shutDown, "The payment queue was shut down; what is unfinished is delivered at launch.")
        let answers = waiting.sorted().map { Action.answer($0, PaymentAnswer(outcome: .failed(error: error))) }
        waiting = []
        return answers + endRestore(.failure(error))
    }
}
