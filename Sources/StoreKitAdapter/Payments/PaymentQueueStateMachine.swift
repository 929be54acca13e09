import Foundation
import StoreModel

/// The decisions of the payment queue, without side effects: events in, actions out.
///
/// Each update has one recipient: the payment that it names, otherwise a running restore, otherwise the completions. A
/// transaction is passed to one delivery at a time. By default, it is finished only after it was acknowledged. Every
/// caller gets exactly one answer. A result that no caller waits for is a completion.
///
/// `OpenPayments`, `Deliveries`, `Restores` and `Finishes` each store one part of the state. This type connects them.
struct PaymentQueueStateMachine {
    typealias Caller = UInt64

    private let policy: FinishPolicy
    private let checksProductFirst: Bool
    private var payments = OpenPayments()
    private var deliveries = Deliveries()
    private var restores = Restores()
    /// The transactions that callers presented as owned, with one `Restores` per call.
    private var presentations: [Caller: Restores] = [:]
    private var finishes = Finishes()
    private var isShutDown = false

    /// - Parameter checksProductFirst: Whether to check the product at the store before each purchase.
    init(policy: FinishPolicy, checksProductFirst: Bool = false) {
        self.policy = policy
        self.checksProductFirst = checksProductFirst
    }

    mutating func handle(_ event: Event) -> [Action] {
        guard !isShutDown else { return refuse(event) }
        switch event {
        case .purchase(let payment): return purchase(payment)
        case .productChecked(let payment): return payments.contains(payment.id) ? [.submit(payment)] : []
        case .productCheckFailed(let id, let error): return answer(id, .failed(error: error))
        case .submissionFailed(let id, let error): return submissionFailed(id, error)
        case .purchaseCancelled(let id):
            return answer(id, .failed(error: PaymentError(.cancelled, "The caller cancelled the purchase.")))
        case .update(let update): return route(update)
        case .delivered(let verdicts):
            return verdicts.sorted { $0.key < $1.key }.flatMap { endAttempt($0.key, $0.value) }
        case .retryDue(let id, let attempt): return deliver(deliveries.retry(id, attempt: attempt))
        case .redeliver(let id, let caller): return redeliver(id, for: caller)
        case .redeliverAll: return deliver(deliveries.redeliverAll())
        case .redeliveryCancelled(let caller):
            let error = PaymentError(.cancelled, "The caller cancelled the redelivery.")
            return deliveries.remove(caller) ? [.answerRedelivery(caller, .failure(error))] : []
        case .finishRequested(let id): return finishes.begin(id, nil) ? [.finish(id)] : []
        case .finished(let id): return finishes.end(id) ? [.finish(id)] : []
        case .finishFailed(let id): return finishes.fail(id).map { [.retryFinish(id, attempt: $0)] } ?? []
        case .finishRetryDue(let id): return finishes.retry(id) ? [.finish(id)] : []
        case .restore(let caller): return restores.join(caller).map { [.requestRestore($0)] } ?? []
        case .restored(let number, let transactions): return restored(transactions, number: number)
        case .restoreFailed(let number, let error):
            return answer(restores.fail(PaymentError(storeAnswered: error), number: number))
        case .restoreCancelled(let caller):
            let error = PaymentError(.cancelled, "The caller cancelled the restore.")
            let wasWaiting = presentations.removeValue(forKey: caller) != nil || restores.remove(caller)
            return wasWaiting ? [.answerRestore(caller, .failure(error))] : []
        case .present(let transactions, let caller): return present(transactions, for: caller)
        case .customerChanged: return customerChanged()
        case .shutDown: return shutDown()
        }
    }

    // MARK: - Payments

    private mutating func purchase(_ payment: Payment) -> [Action] {
        payments.begin(payment.id)
        guard (1...10).contains(payment.quantity) else {
            let failure = StoreFailure(
                code: .invalidQuantity, reason: "The quantity of a purchase is 1 to 10, not \(payment.quantity).")
            return fail(payment.id, failure)
        }
        return [checksProductFirst ? .checkProduct(payment) : .submit(payment)]
    }

    private mutating func fail(_ id: PaymentID, _ error: any Error) -> [Action] {
        guard payments.refuse(id) == .caller else { return [] }
        return [.answer(id, PaymentAnswer(outcome: .failed(error: PaymentError(storeAnswered: error))))]
    }

    /// Handles a request that failed. Ignores it if an update about the payment arrived meanwhile: then only the
    /// response was lost.
    private mutating func submissionFailed(_ id: PaymentID, _ error: any Error) -> [Action] {
        guard payments.contains(id), !deliveries.awaitedPayments.contains(id) else { return [] }
        return fail(id, error)
    }

    private mutating func answer(
        _ id: PaymentID, _ outcome: PurchaseOutcome, _ transaction: StoreTransaction? = nil, alreadyOwned: Bool = false
    ) -> [Action] {
        guard payments.end(id) else { return [] }
        let answer = PaymentAnswer(outcome: outcome, transaction: transaction, isAlreadyOwned: alreadyOwned)
        return [.answer(id, answer)]
    }

    // MARK: - Updates

    private mutating func route(_ update: StoreUpdate) -> [Action] {
        switch update.state {
        case .purchasing: return []
        case .purchased(let transaction, let alreadyOwned):
            return deliver(transaction, .purchased, for: update, alreadyOwned: alreadyOwned)
        case .deferred:
            let sentence = "The purchase waits for an approval and is completed after it."
            return update.paymentID.map { answer($0, .failed(error: PaymentError(.deferred, sentence))) } ?? []
        case .failed(let failure):
            let completion = StoreUpdate(
                paymentID: update.paymentID, productID: update.productID, state: .failed(failure))
            guard let id = update.paymentID else { return [.complete(completion)] }
            switch payments.refuse(id) {
            case .caller:
                return [.answer(id, PaymentAnswer(outcome: .failed(error: PaymentError(storeAnswered: failure))))]
            case .noCaller: return [.complete(completion)]
            case .alreadyReported: return []
            }
        case .revoked(let transaction):
            let revocation = StoreFailure(code: .declined, reason: "The store revoked the purchase.")
            return deliver(transaction, .revoked, for: update)
                + (update.paymentID.map { answer($0, .failed(error: PaymentError(storeAnswered: revocation))) } ?? [])
        case .renewalChanged(let transaction): return deliver(transaction, .renewalChanged, for: update)
        }
    }

    private mutating func deliver(
        _ transaction: StoreTransaction, _ reason: Deliveries.Reason, for update: StoreUpdate,
        alreadyOwned: Bool = false
    ) -> [Action] {
        let payment = reason == .purchased ? update.paymentID.flatMap { payments.contains($0) ? $0 : nil } : nil
        if payment == nil, reason.mustFinish, finishes.contains(transaction) { return [] }
        let item = Deliveries.Item(transaction: transaction, reason: reason, payment: update.paymentID)
        let isDue = deliveries.add(item) { recipients in
            if let payment { recipients.payments[payment] = alreadyOwned }
        }
        let isFinished = policy == .immediately && reason.mustFinish && finishes.begin(transaction.id, transaction)
        return (isFinished ? [.finish(transaction.id)] : []) + (isDue ? [.deliver([transaction])] : [])
    }

    // MARK: - Delivery

    private mutating func endAttempt(_ id: TransactionID, _ verdict: DeliveryVerdict) -> [Action] {
        switch deliveries.endAttempt(id, verdict) {
        case nil: return []
        case .handOver(let transaction): return [.deliver([transaction])]
        case .ended(let attempt):
            return finish(attempt) + answerCallers(attempt)
                + (attempt.recipients.isRestore ? answer(restores.close(id, attempt.ending)) : [])
                + attempt.recipients.presentations.sorted().flatMap { close(id, attempt.ending, of: $0) }
                + deliver(attempt.next)
                + (attempt.retry.map { [.retryDelivery(id, attempt: $0)] } ?? [])
        }
    }

    private mutating func finish(_ attempt: Deliveries.AttemptResult) -> [Action] {
        let item = attempt.item
        guard case .acknowledged = attempt.ending, item.reason.mustFinish, policy == .afterAcknowledgement,
            finishes.begin(item.transaction.id, item.transaction)
        else { return [] }
        return [.finish(item.transaction.id)]
    }

    /// Answers the waiting callers. An acknowledged transaction without a caller becomes a completion.
    private mutating func answerCallers(_ attempt: Deliveries.AttemptResult) -> [Action] {
        let (item, recipients) = (attempt.item, attempt.recipients)
        let failure = attempt.ending.failure
        let outcome: PurchaseOutcome =
            failure.map { .failed(error: $0) } ?? .purchased(productId: item.transaction.productID.rawValue)
        let answers = recipients.payments.sorted { $0.key < $1.key }.flatMap { payment, alreadyOwned in
            answer(payment, outcome, item.transaction, alreadyOwned: alreadyOwned)
        }
        let result: Result<Void, any Error> = failure.map { .failure($0) } ?? .success(())
        let all = answers + recipients.redeliveries.map { .answerRedelivery($0, result) }
        guard failure == nil, all.isEmpty, !recipients.isRestore, let state = item.state else { return all }
        let completion = StoreUpdate(
            paymentID: item.payment, productID: item.transaction.productID, state: state)
        return [.complete(completion)]
    }

    private func deliver(_ transaction: StoreTransaction?) -> [Action] { transaction.map { [.deliver([$0])] } ?? [] }

    private func deliver(_ transactions: [StoreTransaction]) -> [Action] {
        transactions.isEmpty ? [] : [.deliver(transactions)]
    }

    private mutating func redeliver(_ id: TransactionID, for caller: Caller) -> [Action] {
        guard let due = deliveries.redeliver(id, for: caller) else {
            let unknown = PaymentError(.unknownTransaction, "No transaction \(id) waits to be acknowledged.")
            return [.answerRedelivery(caller, .failure(unknown))]
        }
        return deliver(due)
    }

    // MARK: - Restore

    private mutating func restored(_ transactions: [StoreTransaction], number: UInt64) -> [Action] {
        let due = restores.receive(transactions, number: number).filter { transaction in
            deliveries.add(.init(transaction: transaction, reason: .restored)) { $0.isRestore = true }
        }
        return deliver(due) + answer(restores.endIfEmpty(number: number))
    }

    private func answer(_ ending: Restores.Ending?) -> [Action] {
        ending.map { ending in ending.callers.map { .answerRestore($0, ending.result) } } ?? []
    }

    private mutating func present(_ transactions: [StoreTransaction], for caller: Caller) -> [Action] {
        var presentation = Restores()
        guard let number = presentation.join(caller) else { return [] }
        let due = presentation.receive(transactions, number: number).filter { transaction in
            deliveries.add(.init(transaction: transaction, reason: .restored)) { $0.presentations.insert(caller) }
        }
        if let ending = presentation.endIfEmpty(number: number) { return answer(ending) }
        presentations[caller] = presentation
        return deliver(due)
    }

    private mutating func close(
        _ id: TransactionID, _ ending: Deliveries.Ending, of caller: Caller
    ) -> [Action] {
        guard let end = presentations[caller]?.close(id, ending) else { return [] }
        presentations[caller] = nil
        return answer(end)
    }

    private mutating func abandonPresentations(_ error: PaymentError) -> [Action] {
        defer { presentations = [:] }
        return presentations.keys.sorted().map { .answerRestore($0, .failure(error)) }
    }

    // MARK: - Customer changes and shutdown

    /// Answers the callers that wait for the store or for a restore. Callers whose purchase is being delivered still
    /// get that result.
    private mutating func customerChanged() -> [Action] {
        let error = PaymentError(
            .customerChanged,
            "The customer changed. If the purchase is made anyway, it belongs to the customer who paid.")
        let awaited = deliveries.awaitedPayments
        let answers = payments.all.filter { !awaited.contains($0) }.flatMap { answer($0, .failed(error: error)) }
        let restore = answer(restores.abandon(error)) + abandonPresentations(error)
        deliveries.customerChanged()
        return answers + restore + deliver(deliveries.redeliverAll())
    }

    private mutating func shutDown() -> [Action] {
        isShutDown = true
        let error = PaymentError(
            .shutDown, "The payment queue was shut down. Unfinished transactions are delivered at the next launch.")
        return payments.all.flatMap { answer($0, .failed(error: error)) }
            + deliveries.removeAllCallers().map { .answerRedelivery($0, .failure(error)) }
            + answer(restores.abandon(error))
            + abandonPresentations(error)
    }

    /// Refuses new requests after the shutdown; the store keeps unfinished transactions.
    private func refuse(_ event: Event) -> [Action] {
        let error = PaymentError.isShutDown
        return switch event {
        case .purchase(let payment): [.answer(payment.id, PaymentAnswer(outcome: .failed(error: error)))]
        case .restore(let caller), .present(_, let caller): [.answerRestore(caller, .failure(error))]
        case .redeliver(_, let caller): [.answerRedelivery(caller, .failure(error))]
        default: []
        }
    }
}

extension Deliveries.Item {
    /// The state for the completions. `nil` if the transaction came only from a restore, whose result contains it.
    fileprivate var state: StoreUpdate.State? {
        switch reason {
        case .purchased: .purchased(transaction)
        case .revoked: .revoked(transaction)
        case .renewalChanged: .renewalChanged(transaction)
        case .restored: nil
        }
    }
}
