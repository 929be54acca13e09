import Foundation
import Primitives
import StoreModel

/// Buys, restores and completes at one store, losing nothing.
///
/// A transaction is handed to `deliver` and finished at the store only once it was acknowledged; one that cannot be
/// acknowledged now is delivered again, with growing pauses and at every launch. `start()` begins listening: unfinished
/// transactions of earlier runs are delivered first. Each purchase is answered exactly once, also when its caller is
/// cancelled and when the queue is shut down.
///
///     let queue = PaymentQueue(configuration: .init(connection: store)) { transactions in … }
///     await queue.start()
///     let answer = await queue.purchase("com.example.pro")
public actor PaymentQueue {
    /// Takes transactions over and says of each what became of it; one it does not name counts as unavailable.
    public typealias Deliver = @Sendable ([StoreTransaction]) async -> [TransactionID: DeliveryVerdict]

    /// What ended without anybody waiting for it: renewals, refunds, approvals and refusals of what was deferred, what
    /// earlier runs left unfinished. For one listener; of what it has not taken, the newest 1000 are kept.
    public nonisolated let completions: AsyncStream<StoreUpdate>

    nonisolated let configuration: Configuration
    private let deliver: Deliver
    private let completed: AsyncStream<StoreUpdate>.Continuation
    private var machine: PaymentQueueStateMachine
    private var payments: [PaymentID: Promise<PaymentAnswer>] = [:]
    private var restores: [UInt64: Promise<[StoreTransaction]>] = [:]
    private var redeliveries: [UInt64: Promise<Void>] = [:]
    private var nextCaller: UInt64 = 0
    private var listener: Task<Void, Never>?
    private var work: [UInt64: Task<Void, Never>] = [:]
    private var nextWork: UInt64 = 0
    private(set) var isShutDown = false

    public init(configuration: Configuration, deliver: @escaping Deliver) {
        self.configuration = configuration
        self.deliver = deliver
        machine = PaymentQueueStateMachine(
            policy: configuration.finishing, inquiresFirst: configuration.products != nil)
        (completions, completed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1000))
    }

    /// Without `shutDown` nobody is told: what listens and what waits to be repeated ends all the same.
    deinit {
        listener?.cancel()
        for task in work.values { task.cancel() }
        completed.finish()
    }

    /// Begins listening to the store; further calls do nothing.
    public func start() {
        guard listener == nil, !isShutDown else { return }
        listener = Task { [weak self, updates = configuration.connection.updates] in
            for await update in updates { await self?.handle(.update(update)) }
        }
    }

    /// Asks the store to sell, and answers when the purchase is delivered and acknowledged, or has failed.
    ///
    /// There is no deadline: a purchase ends by the store's answer, by the caller's cancellation or when the customer
    /// changes. Who is cancelled before the store was asked buys nothing.
    ///
    /// - Parameters:
    ///   - product: the product to buy.
    ///   - quantity: 1 to 10.
    ///   - appAccountToken: who buys; give it for every known customer.
    ///   - offer: an offer of the product at whose price it is bought.
    ///   - introductoryOfferEligibility: see `Payment`.
    ///   - simulatesAskToBuy: whether the sandbox asks a parent first.
    public func purchase(
        _ product: ProductID, quantity: Int = 1, appAccountToken: UUID? = nil, offer: PaymentOffer? = nil,
        introductoryOfferEligibility: String? = nil, simulatesAskToBuy: Bool = false
    ) async -> PaymentAnswer {
        guard !Task.isCancelled else {
            let cancelled = PaymentError(.cancelled, "The purchase was cancelled before the store was asked.")
            return PaymentAnswer(outcome: .failed(error: cancelled))
        }
        let payment = Payment(
            id: configuration.makePaymentID(), productID: product, quantity: quantity, appAccountToken: appAccountToken,
            offer: offer, introductoryOfferEligibility: introductoryOfferEligibility,
            simulatesAskToBuy: simulatesAskToBuy)
        guard payments[payment.id] == nil else {
            let taken = PaymentError(
                .storeFailed, "A payment named \(payment.id) is under way; let makePaymentID give each its own name.")
            return PaymentAnswer(outcome: .failed(error: taken))
        }
        let promise = Promise<PaymentAnswer>()
        payments[payment.id] = promise
        do {
            return try await withTaskCancellationHandler {
                handle(.purchase(payment))
                return try await promise.value()
            } onCancel: {
                Task { await self.handle(.gaveUp(payment.id)) }
            }
        } catch {
            return PaymentAnswer(outcome: .failed(error: error))
        }
    }

    /// What the store can restore, delivered and acknowledged; empty when there is nothing. A call while one runs joins
    /// it. Throws `PaymentError`.
    public func restore() async throws -> [StoreTransaction] {
        nextCaller += 1
        let caller = nextCaller
        let promise = Promise<[StoreTransaction]>()
        restores[caller] = promise
        return try await withTaskCancellationHandler {
            handle(.restore(caller))
            return try await promise.value()
        } onCancel: {
            Task { await self.handle(.gaveUpRestore(caller)) }
        }
    }

    /// Delivers transactions that the customer owns, such as ``ownedTransactions()`` returns, as a restore delivers them:
    /// nothing is finished, and what cannot be acknowledged now is delivered again later.
    ///
    /// - Parameter transactions: what the customer owns.
    /// - Returns: those that were acknowledged.
    /// - Throws: `PaymentError`: `acknowledgementPending` when one of them could not be acknowledged now, `rejected` when
    ///   all were rejected, `customerChanged`, `cancelled`, `shutDown`.
    @discardableResult
    public func present(_ transactions: [StoreTransaction]) async throws -> [StoreTransaction] {
        nextCaller += 1
        let caller = nextCaller
        let promise = Promise<[StoreTransaction]>()
        restores[caller] = promise
        return try await withTaskCancellationHandler {
            handle(.present(transactions, caller))
            return try await promise.value()
        } onCancel: {
            Task { await self.handle(.gaveUpRestore(caller)) }
        }
    }

    /// Another customer is there, or none any more: call it once their purchases would be presented as the new one's.
    ///
    /// Whoever waits for the store or restores is answered with `customerChanged`; what is paid for all the same is
    /// delivered without them. What waits to be acknowledged is presented again now; what only a restore brought is
    /// forgotten.
    public func customerChanged() { handle(.customerChanged) }

    /// Presents everything that waits to be acknowledged again now, with what was rejected or held: call it when somebody
    /// else is there to present it. Nobody waits for it; what is then acknowledged is completed.
    public func redeliverAll() { handle(.redeliverAll) }

    /// Presents a transaction that waits to be acknowledged, or was rejected or held, again now; returns when it is
    /// acknowledged.
    ///
    /// Throws `PaymentError`: `unknownTransaction` when no such transaction waits, `acknowledgementPending` and
    /// `rejected` when this attempt ended so, `cancelled`, `shutDown`.
    public func redeliver(_ transaction: TransactionID) async throws {
        nextCaller += 1
        let caller = nextCaller
        let promise = Promise<Void>()
        redeliveries[caller] = promise
        try await withTaskCancellationHandler {
            handle(.redeliver(transaction, caller))
            try await promise.value()
        } onCancel: {
            Task { await self.handle(.gaveUpRedelivery(caller)) }
        }
    }

    /// Finishes a transaction, for the policy `.byCaller`.
    public func finish(_ transaction: TransactionID) { handle(.finishRequested(transaction)) }

    /// Stops listening and answers everybody who waits; unfinished transactions stay at the store for the next launch.
    /// However often it is called, it returns when nothing runs any more, or after `Configuration.shutDownLimit`: a delivery
    /// that does not heed its cancellation goes on then, and its verdict is dropped.
    public func shutDown() async {
        if !isShutDown {
            isShutDown = true
            listener?.cancel()
            handle(.shutDown)
            for task in work.values { task.cancel() }
        }
        let ended = Promise<Void>()
        Task { [work] in
            for task in work.values { await task.value }
            ended.resolve(.success(()))
        }
        let limit = Task { [configuration] in
            if (try? await configuration.sleep(configuration.shutDownLimit)) != nil { ended.resolve(.success(())) }
        }
        try? await ended.value()
        limit.cancel()
        completed.finish()
    }

    private func handle(_ event: PaymentQueueStateMachine.Event) {
        for action in machine.handle(event) { perform(action) }
    }

    private func perform(_ action: PaymentQueueStateMachine.Action) {
        let connection = configuration.connection
        switch action {
        case .inquire(let payment):
            run { queue in
                do {
                    try await queue.inquire(about: payment.productID)
                    await queue.handle(.inquired(payment))
                } catch {
                    await queue.handle(.inquiryFailed(payment.id, error))
                }
            }
        case .submit(let payment):
            run { queue in
                do {
                    try await connection.add(payment)
                } catch {
                    await queue.handle(.submissionFailed(payment.id, error))
                }
            }
        case .deliver(let transactions):
            run { queue in await queue.handle(.delivered(await queue.verdicts(on: transactions))) }
        case .finish(let id):
            run { queue in
                do {
                    try await connection.finish(id)
                    await queue.handle(.finished(id))
                } catch {
                    await queue.handle(.finishFailed(id))
                }
            }
        case .answer(let id, let answer): payments.removeValue(forKey: id)?.resolve(.success(answer))
        case .requestRestore(let number):
            run { queue in
                do {
                    await queue.handle(.restored(number, try await connection.restore()))
                } catch {
                    await queue.handle(.restoreFailed(number, error))
                }
            }
        case .answerRestore(let caller, let result): restores.removeValue(forKey: caller)?.resolve(result)
        case .answerRedelivery(let caller, let result): redeliveries.removeValue(forKey: caller)?.resolve(result)
        case .complete(let completion): completed.yield(completion)
        case .retryDelivery(let id, let attempt): after(attempt, .retryDue(id, attempt: attempt))
        case .retryFinish(let id, let attempt): after(attempt, .finishRetryDue(id))
        }
    }

    private func verdicts(on transactions: [StoreTransaction]) async -> [TransactionID: DeliveryVerdict] {
        let unanswered = PaymentError(.acknowledgementPending, "Nobody answered for this transaction.")
        let verdicts = await deliver(transactions)
        return transactions.reduce(into: [:]) { all, transaction in
            all[transaction.id] = verdicts[transaction.id] ?? .unavailable(unanswered)
        }
    }

    /// Comes back with `event` after the pause of this attempt, unless the queue is gone by then.
    private func after(_ attempt: Int, _ event: PaymentQueueStateMachine.Event) {
        let (sleep, pause) = (configuration.sleep, configuration.pause(attempt))
        track { number in
            Task { [weak self] in
                if (try? await sleep(pause)) != nil { await self?.handle(event) }
                await self?.ended(number)
            }
        }
    }

    /// Runs `body` beside the queue; `shutDown` cancels and awaits it.
    private func run(_ body: @escaping @Sendable (PaymentQueue) async -> Void) {
        track { number in
            Task {
                await body(self)
                self.ended(number)
            }
        }
    }

    private func track(_ start: (UInt64) -> Task<Void, Never>) {
        guard !isShutDown else { return }
        nextWork += 1
        work[nextWork] = start(nextWork)
    }

    private func ended(_ number: UInt64) { work[number] = nil }
}
