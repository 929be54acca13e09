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
        case retryDue(TransactionID, attempt: Int)
        case redeliver(TransactionID, Caller)
        case redeliverAll
        case finished(TransactionID)
        case finishFailed(TransactionID)
        case finishRetryDue(TransactionID)
        case finishRequested(TransactionID)
        case gaveUp(PaymentID)
        case gaveUpRedelivery(Caller)
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
        case answerRedelivery(Caller, Result<Void, any Error>)
        /// Come back with `retryDue` of the same attempt (for a failed finish: `finishRetryDue`) after its back-off.
        case retryDelivery(TransactionID, attempt: Int)
        case retryFinish(TransactionID, attempt: Int)
    }

    private struct Delivery {
        var transaction: StoreTransaction
        /// The payments that this answers, and whether the store gave back an earlier purchase.
        var payments: [PaymentID: Bool] = [:]
        var redeliveries: [Caller] = []
        var isForRestore = false
        var mustFinish: Bool
        /// Handed over and not yet answered.
        var isRunning = true
        var attempt = 0
        /// A newer signature of the same transaction arrived meanwhile and is delivered next.
        var next: (transaction: StoreTransaction, mustFinish: Bool)?
        /// Everything was asked for again while it was handed over: a refusal is one of whoever was there before.
        var isDueAgain = false
    }

    private struct Finish {
        /// What was acknowledged; `nil` when the app itself asked to finish.
        var transaction: StoreTransaction?
        var isRunning = true
        var attempt = 0
        /// Asked for once more, for a newer signature, while the store was being told.
        var isDueAgain = false
    }

    private struct Restore {
        var callers: [Caller] = []
        var transactions: [StoreTransaction] = []
        var open: Set<TransactionID> = []
        var leftOut: Set<TransactionID> = []
        /// The first reason why one of them is not acknowledged yet.
        var pending: PaymentError?
        var rejection: PaymentError?
    }

    private let policy: FinishPolicy
    private var waiting: Set<PaymentID> = []
    private var deliveries: [TransactionID: Delivery] = [:]
    /// What was rejected or held, oldest first: nothing is done about it until it is asked for again. What there is no
    /// room for is unfinished at the store all the same, and comes back at the next launch.
    private var setAside: [(transaction: StoreTransaction, mustFinish: Bool)] = []
    private var finishing: [TransactionID: Finish] = [:]
    private var restore: Restore?
    private var isShutDown = false

    static let maximumSetAside = 1000

    init(policy: FinishPolicy) { self.policy = policy }

    mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .purchase(let payment): return purchase(payment)
        case .submissionFailed(let id, let error): return fail(id, error)
        case .update(let update): return isShutDown ? [] : route(update)
        case .delivered(let verdicts): return verdicts.keys.sorted().flatMap { settle($0, verdicts[$0]) }
        case .retryDue(let id, let attempt): return deliveries[id]?.attempt == attempt ? retry(id) : []
        case .redeliver(let id, let caller): return redeliver(id, for: caller)
        case .redeliverAll: return redeliverAll()
        case .finished(let id): return finished(id)
        case .finishFailed(let id): return finishFailed(id)
        case .finishRetryDue(let id): return finishAgain(id)
        case .finishRequested(let id): return finish(id, nil)
        case .gaveUp(let id):
            return answer(id, .failed(error: PaymentError(.cancelled, "The purchase is no longer waited for.")))
        case .gaveUpRedelivery(let caller): return giveUpRedelivery(caller)
        case .restore(let caller): return begin(restoreFor: caller)
        case .restored(let transactions): return restored(transactions)
        case .restoreFailed(let error): return endRestore(.failure(Self.storeError(error)))
        case .gaveUpRestore(let caller): return giveUpRestore(caller)
        case .shutDown: return shutDown()
        }
    }

    // MARK: - Payments

    private mutating func purchase(_ payment: Payment) -> [Action] {
        guard !isShutDown else {
            return [.answer(payment.id, PaymentAnswer(outcome: .failed(error: Self.afterShutDown)))]
        }
        waiting.insert(payment.id)
        return [.submit(payment)]
    }

    private static let afterShutDown = PaymentError(
        .shutDown, "The payment queue was shut down; make a new one.")

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
            // It was acknowledged, and the store is being told so: there is nothing more to do for it.
            if payment == nil, finishing[transaction.id]?.transaction == transaction { return [] }
            return deliver(transaction, mustFinish: true) { delivery in
                if let payment { delivery.payments[payment] = alreadyOwned }
            }
        case .deferred:
            let sentence = "The purchase waits for approval and is completed when it is given."
            return payment.map { answer($0, .failed(error: PaymentError(.deferred, sentence))) } ?? []
        case .failed(let failure): return payment.map { fail($0, failure) } ?? []
        case .revoked(let transaction):
            let takenBack = StoreFailure(code: .declined, reason: "The store took the purchase back.")
            return deliver(transaction, mustFinish: true) { _ in } + (payment.map { fail($0, takenBack) } ?? [])
        case .renewalChanged(let transaction): return deliver(transaction, mustFinish: false) { _ in }
        }
    }

    /// Hands `transaction` over unless it is on its way; a newer signature then follows the one under way.
    private mutating func deliver(
        _ transaction: StoreTransaction, mustFinish: Bool, note: (inout Delivery) -> Void
    ) -> [Action] {
        guard var delivery = deliveries[transaction.id] else {
            let mustFinish = takeFromAside(transaction.id)?.mustFinish == true || mustFinish
            var delivery = Delivery(transaction: transaction, mustFinish: mustFinish)
            note(&delivery)
            deliveries[transaction.id] = delivery
            return [.deliver([transaction])]
        }
        note(&delivery)
        defer { deliveries[transaction.id] = delivery }
        if delivery.isRunning {
            if delivery.transaction == transaction {
                delivery.mustFinish = delivery.mustFinish || mustFinish
            } else {
                delivery.next = (transaction, mustFinish || delivery.next?.mustFinish ?? false)
            }
            return []
        }
        delivery.mustFinish = delivery.mustFinish || mustFinish
        delivery.transaction = transaction
        delivery.isRunning = true
        return [.deliver([transaction])]
    }

    // MARK: - Delivery

    private mutating func settle(_ id: TransactionID, _ verdict: DeliveryVerdict?) -> [Action] {
        guard var delivery = deliveries[id], delivery.isRunning, let verdict else { return [] }
        switch verdict {
        case .rejected, .held:
            if delivery.isDueAgain, !isShutDown { return [deliverAgain(delivery)] }
        case .acknowledged, .unavailable: break
        }
        delivery.isRunning = false
        delivery.isDueAgain = false
        switch verdict {
        case .acknowledged:
            deliveries[id] = nil
            return acknowledge(id, delivery) + deliverNext(delivery.next)
        case .rejected(let error):
            deliveries[id] = nil
            let refusal = PaymentError(
                .rejected, "The purchase was not accepted as true and stays unfinished.", underlying: error)
            return answerAll(delivery, failure: refusal) + closeRestore(id, isLeftOut: true, rejection: refusal)
                + putAside(delivery)
        case .held(let error):
            deliveries[id] = nil
            let pending = PaymentError(
                .acknowledgementPending, "The purchase is paid and is kept until its customer is there.",
                underlying: error)
            return answerAll(delivery, failure: pending) + closeRestore(id, isLeftOut: true) + putAside(delivery)
        case .unavailable(let error):
            let pending = PaymentError(
                .acknowledgementPending, "The purchase is paid and is acknowledged when the server can be reached.",
                underlying: error)
            let answers = answerAll(delivery, failure: pending) + closeRestore(id, pending: pending)
            delivery.attempt += 1
            delivery.payments = [:]
            delivery.redeliveries = []
            delivery.isForRestore = false
            if let next = delivery.next {
                delivery.transaction = next.transaction
                delivery.mustFinish = delivery.mustFinish || next.mustFinish
                delivery.next = nil
            }
            deliveries[id] = delivery
            return answers + (isShutDown ? [] : [.retryDelivery(id, attempt: delivery.attempt)])
        }
    }

    private mutating func acknowledge(_ id: TransactionID, _ delivery: Delivery) -> [Action] {
        var actions: [Action] = []
        if delivery.mustFinish, policy == .afterAcknowledgement { actions += finish(id, delivery.transaction) }
        let answers = answerAll(delivery, failure: nil)
        // A changed renewal is no transaction of its own: nothing was completed.
        if answers.isEmpty, delivery.mustFinish, !delivery.isForRestore {
            actions.append(.complete(delivery.transaction))
        }
        return actions + answers + closeRestore(id)
    }

    /// Hands over what was refused, for whoever is there now; everybody who waits for it goes on waiting.
    private mutating func deliverAgain(_ refused: Delivery) -> Action {
        var delivery = refused
        if let next = delivery.next {
            delivery.transaction = next.transaction
            delivery.mustFinish = delivery.mustFinish || next.mustFinish
            delivery.next = nil
        }
        delivery.isDueAgain = false
        deliveries[delivery.transaction.id] = delivery
        return .deliver([delivery.transaction])
    }

    /// What a refused signature left unfinished is for the next one to finish; without one it is kept.
    private mutating func putAside(_ delivery: Delivery) -> [Action] {
        if let next = delivery.next {
            return deliverNext((next.transaction, next.mustFinish || delivery.mustFinish))
        }
        if setAside.count == Self.maximumSetAside { setAside.removeFirst() }
        setAside.append((delivery.transaction, delivery.mustFinish))
        return []
    }

    private mutating func takeFromAside(
        _ id: TransactionID
    ) -> (transaction: StoreTransaction, mustFinish: Bool)? {
        setAside.firstIndex { $0.transaction.id == id }.map { setAside.remove(at: $0) }
    }

    private mutating func deliverNext(_ next: (transaction: StoreTransaction, mustFinish: Bool)?) -> [Action] {
        guard let next, !isShutDown else { return [] }
        return deliver(next.transaction, mustFinish: next.mustFinish) { _ in }
    }

    private mutating func answerAll(_ delivery: Delivery, failure: PaymentError?) -> [Action] {
        let outcome: PurchaseOutcome =
            failure.map { .failed(error: $0) } ?? .purchased(productId: delivery.transaction.productID.rawValue)
        let payments = delivery.payments.sorted { $0.key < $1.key }.flatMap { payment, alreadyOwned in
            answer(payment, outcome, delivery.transaction, alreadyOwned: alreadyOwned)
        }
        let result: Result<Void, any Error> = failure.map { .failure($0) } ?? .success(())
        return payments + delivery.redeliveries.map { .answerRedelivery($0, result) }
    }

    private mutating func retry(_ id: TransactionID) -> [Action] {
        guard let delivery = deliveries[id], !delivery.isRunning, !isShutDown else { return [] }
        deliveries[id]?.isRunning = true
        return [.deliver([delivery.transaction])]
    }

    /// Delivers now what waits for its next attempt; joins a delivery that is under way.
    private mutating func redeliver(_ id: TransactionID, for caller: Caller) -> [Action] {
        guard !isShutDown else { return [.answerRedelivery(caller, .failure(Self.afterShutDown))] }
        if let kept = setAside.first(where: { $0.transaction.id == id }) {
            return deliver(kept.transaction, mustFinish: kept.mustFinish) { $0.redeliveries = [caller] }
        }
        guard deliveries[id] != nil else {
            let unknown = PaymentError(.unknownTransaction, "No transaction \(id) waits to be acknowledged.")
            return [.answerRedelivery(caller, .failure(unknown))]
        }
        deliveries[id]?.redeliveries.append(caller)
        return retry(id)
    }

    /// Delivers now what waits for its next attempt and what was set aside; what is under way is delivered once more
    /// should it be refused.
    private mutating func redeliverAll() -> [Action] {
        guard !isShutDown else { return [] }
        for (id, delivery) in deliveries where delivery.isRunning { deliveries[id]?.isDueAgain = true }
        var due = deliveries.values.filter { !$0.isRunning }.map { ($0.transaction, $0.mustFinish) }
        due += setAside.map { ($0.transaction, $0.mustFinish) }
        due.sort { $0.0.id < $1.0.id }
        let actions = due.flatMap { deliver($0.0, mustFinish: $0.1) { _ in } }
        return actions.isEmpty ? [] : [.deliver(due.map(\.0))]
    }

    private mutating func giveUpRedelivery(_ caller: Caller) -> [Action] {
        for (id, delivery) in deliveries where delivery.redeliveries.contains(caller) {
            deliveries[id]?.redeliveries.removeAll { $0 == caller }
            let error = PaymentError(.cancelled, "The acknowledgement is no longer waited for.")
            return [.answerRedelivery(caller, .failure(error))]
        }
        return []
    }

    // MARK: - Finishing

    private mutating func finish(_ id: TransactionID, _ transaction: StoreTransaction?) -> [Action] {
        guard !isShutDown else { return [] }
        guard let known = finishing[id] else {
            finishing[id] = Finish(transaction: transaction)
            return [.finish(id)]
        }
        let isSame = known.transaction == transaction
        finishing[id]?.transaction = transaction ?? known.transaction
        if known.isRunning, !isSame { finishing[id]?.isDueAgain = true }
        return []
    }

    private mutating func finished(_ id: TransactionID) -> [Action] {
        guard let finish = finishing.removeValue(forKey: id), finish.isDueAgain, !isShutDown else { return [] }
        finishing[id] = Finish(transaction: finish.transaction)
        return [.finish(id)]
    }

    private mutating func finishFailed(_ id: TransactionID) -> [Action] {
        guard var finish = finishing[id], !isShutDown else { return [] }
        finish.attempt += 1
        finish.isRunning = false
        finish.isDueAgain = false
        finishing[id] = finish
        return [.retryFinish(id, attempt: finish.attempt)]
    }

    private mutating func finishAgain(_ id: TransactionID) -> [Action] {
        guard let finish = finishing[id], !finish.isRunning, !isShutDown else { return [] }
        finishing[id]?.isRunning = true
        return [.finish(id)]
    }

    // MARK: - Restore

    private mutating func begin(restoreFor caller: Caller) -> [Action] {
        guard !isShutDown else { return [.answerRestore(caller, .failure(Self.afterShutDown))] }
        if restore != nil {
            restore?.callers.append(caller)
            return []
        }
        restore = Restore(callers: [caller])
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

    /// One transaction of the restore has ended. The restore fails while any of them is pending, and when nothing is left
    /// and some were rejected; a rejected one and one that is somebody else's are left out.
    private mutating func closeRestore(
        _ id: TransactionID, isLeftOut: Bool = false, rejection: PaymentError? = nil, pending: PaymentError? = nil
    ) -> [Action] {
        guard var current = restore, current.open.remove(id) != nil else { return [] }
        if isLeftOut { current.leftOut.insert(id) }
        current.rejection = current.rejection ?? rejection
        current.pending = current.pending ?? pending
        restore = current
        guard current.open.isEmpty else { return [] }
        let restored = current.transactions.filter { !current.leftOut.contains($0.id) }
        if let failure = current.pending ?? (restored.isEmpty ? current.rejection : nil) {
            return endRestore(.failure(failure))
        }
        return endRestore(.success(restored))
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
        guard !isShutDown else { return [] }
        isShutDown = true
        let error = PaymentError(
            .shutDown, "The payment queue was shut down; what is unfinished is delivered at launch.")
        let answers = waiting.sorted().map { Action.answer($0, PaymentAnswer(outcome: .failed(error: error))) }
        waiting = []
        let redeliveries = deliveries.values.flatMap(\.redeliveries).sorted()
        for id in deliveries.keys { deliveries[id]?.redeliveries = [] }
        return answers + redeliveries.map { .answerRedelivery($0, .failure(error)) } + endRestore(.failure(error))
    }
}
