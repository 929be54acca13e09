import Foundation
import Primitives
import StoreModel

/// A queue of payments to one store. It buys and restores products, and repeats the delivery of each transaction until
/// it is acknowledged or refused.
///
/// The queue passes a transaction to `deliver`. By default, it finishes the transaction at the store only after it was
/// acknowledged. A transaction that cannot be acknowledged now is delivered again, with growing pauses and at every
/// launch. `start()` begins to listen to the store, which first reports the unfinished transactions of earlier
/// launches. Each purchase gets exactly one answer, even if its caller is cancelled or the queue is shut down.
///
///     let queue = PaymentQueue(configuration: .init(connection: store)) { transactions in … }
///     await queue.start()
///     let answer = await queue.purchase("com.example.pro")
public actor PaymentQueue {
    /// Delivers transactions, and returns a verdict for each. A transaction without a verdict counts as unavailable.
    public typealias Deliver = @Sendable ([StoreTransaction]) async -> [TransactionID: DeliveryVerdict]

    /// Purchases and failures that no caller waits for: renewals, refunds, decisions on deferred purchases, and
    /// unfinished transactions of earlier launches. The stream has one reader. It buffers the newest 1000 elements.
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

    /// Creates a queue. It does not listen to the store until `start()` is called.
    ///
    /// - Parameters:
    ///   - configuration: The store, and the settings of the queue.
    ///   - deliver: Delivers transactions, for example to a server.
    public init(configuration: Configuration, deliver: @escaping Deliver) {
        self.configuration = configuration
        self.deliver = deliver
        machine = PaymentQueueStateMachine(
            policy: configuration.finishing, checksProductFirst: configuration.products != nil)
        (completions, completed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1000))
    }

    /// Ends the listener and the retry pauses of a queue that is released without `shutDown()`.
    deinit {
        listener?.cancel()
        for task in work.values { task.cancel() }
        completed.finish()
    }

    /// Begins to listen to the store. Further calls do nothing.
    public func start() {
        guard listener == nil, !isShutDown else { return }
        listener = Task { [weak self, updates = configuration.connection.updates] in
            for await update in updates { await self?.handle(.update(update)) }
        }
    }

    /// Buys a product. Returns when the purchase is delivered and acknowledged, or has failed.
    ///
    /// There is no deadline. The call also ends when the caller is cancelled, the queue is shut down, or the customer
    /// changes before the store has answered. A call that is cancelled before the request is sent to the store
    /// buys nothing.
    ///
    /// - Parameters:
    ///   - product: The product to buy.
    ///   - quantity: 1 to 10.
    ///   - appAccountToken: The token of the customer who is logged in; `nil` for an anonymous customer.
    ///   - offer: The offer whose price the customer pays.
    ///   - introductoryOfferEligibility: See `Payment`.
    ///   - simulatesAskToBuy: Whether the sandbox requires the approval of a parent.
    /// - Returns: The outcome, and the store's transaction if there is one.
    public func purchase(
        _ product: ProductID, quantity: Int = 1, appAccountToken: UUID? = nil, offer: PaymentOffer? = nil,
        introductoryOfferEligibility: String? = nil, simulatesAskToBuy: Bool = false
    ) async -> PaymentAnswer {
        guard !Task.isCancelled else {
            let cancelled = PaymentError(.cancelled, "The purchase was cancelled before the request to the store.")
            return PaymentAnswer(outcome: .failed(error: cancelled))
        }
        let payment = Payment(
            id: configuration.makePaymentID(), productID: product, quantity: quantity, appAccountToken: appAccountToken,
            offer: offer, introductoryOfferEligibility: introductoryOfferEligibility,
            simulatesAskToBuy: simulatesAskToBuy)
        guard payments[payment.id] == nil else {
            let taken = PaymentError(
                .storeFailed,
                "A payment with the id \(payment.id) is in progress. makePaymentID must return a new id each time."
            )
            return PaymentAnswer(outcome: .failed(error: taken))
        }
        let promise = Promise<PaymentAnswer>()
        payments[payment.id] = promise
        do {
            return try await withTaskCancellationHandler {
                handle(.purchase(payment))
                return try await promise.value()
            } onCancel: {
                Task { await self.handle(.purchaseCancelled(payment.id)) }
            }
        } catch {
            return PaymentAnswer(outcome: .failed(error: error))
        }
    }

    /// Restores the customer's purchases, and delivers the restored transactions. A call during a running restore joins
    /// it.
    ///
    /// - Returns: The restored transactions; none if there is nothing to restore.
    /// - Throws: ``PaymentError``.
    public func restore() async throws -> [StoreTransaction] {
        nextCaller += 1
        let caller = nextCaller
        let promise = Promise<[StoreTransaction]>()
        restores[caller] = promise
        return try await withTaskCancellationHandler {
            handle(.restore(caller))
            return try await promise.value()
        } onCancel: {
            Task { await self.handle(.restoreCancelled(caller)) }
        }
    }

    /// Delivers transactions that the customer owns, such as the result of ``ownedTransactions()``. As in a restore,
    /// nothing is finished, and a transaction that cannot be acknowledged now is delivered again later.
    ///
    /// - Parameter transactions: The transactions that the customer owns.
    /// - Returns: The transactions that were acknowledged.
    /// - Throws: ``PaymentError``: `acknowledgementPending` if one of them could not be acknowledged now, `rejected` if
    ///   none of them was acknowledged and one was rejected, `customerChanged`, `cancelled`, `shutDown`.
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
            Task { await self.handle(.restoreCancelled(caller)) }
        }
    }

    /// Adapts to a change of the customer. Call this as soon as `deliver` presents purchases for the new customer.
    ///
    /// Callers that wait for the store or for a restore get `customerChanged`. If the store still completes such a
    /// purchase, it is delivered and appears in `completions`. Transactions that wait for an acknowledgement are
    /// presented again now. Transactions that came only from a restore and name no customer are discarded.
    public func customerChanged() { handle(.customerChanged) }

    /// Presents again all transactions that wait for an acknowledgement, including rejected and held ones. Call this
    /// when another customer may present them. Returns without waiting: acknowledged transactions arrive in
    /// `completions`, except those that came only from a restore.
    public func redeliverAll() { handle(.redeliverAll) }

    /// Presents again a transaction that waits for an acknowledgement, or was rejected or held. Returns when the
    /// transaction is acknowledged.
    ///
    /// - Parameter transaction: The id of the transaction.
    /// - Throws: ``PaymentError``: `unknownTransaction` if no such transaction waits, `acknowledgementPending` or
    ///   `rejected` if the delivery had this result, `cancelled`, `shutDown`.
    public func redeliver(_ transaction: TransactionID) async throws {
        nextCaller += 1
        let caller = nextCaller
        let promise = Promise<Void>()
        redeliveries[caller] = promise
        try await withTaskCancellationHandler {
            handle(.redeliver(transaction, caller))
            try await promise.value()
        } onCancel: {
            Task { await self.handle(.redeliveryCancelled(caller)) }
        }
    }

    /// Finishes a transaction. Call this only with the finish policy `.byCaller`.
    public func finish(_ transaction: TransactionID) { handle(.finishRequested(transaction)) }

    /// Stops listening, and ends all waiting calls with the error `shutDown`. Unfinished transactions stay at the store
    /// for the next launch. Returns when all work has ended, or after `Configuration.shutDownLimit`. A delivery that
    /// ignores its cancellation continues after that, and its verdict is discarded.
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
        case .checkProduct(let payment):
            run { queue in
                do {
                    try await queue.checkProduct(payment.productID)
                    await queue.handle(.productChecked(payment))
                } catch {
                    await queue.handle(.productCheckFailed(payment.id, error))
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
        let unanswered = PaymentError(.acknowledgementPending, "The delivery returned no verdict for this transaction.")
        let verdicts = await deliver(transactions)
        return transactions.reduce(into: [:]) { all, transaction in
            all[transaction.id] = verdicts[transaction.id] ?? .unavailable(unanswered)
        }
    }

    /// Handles `event` after the pause of this attempt, unless the queue was released or shut down.
    private func after(_ attempt: Int, _ event: PaymentQueueStateMachine.Event) {
        let (sleep, pause) = (configuration.sleep, configuration.pause(attempt))
        track { number in
            Task { [weak self] in
                if (try? await sleep(pause)) != nil { await self?.handle(event) }
                await self?.ended(number)
            }
        }
    }

    /// Runs `body` concurrently; `shutDown()` cancels and awaits it.
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
