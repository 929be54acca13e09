import BaseTestSupport
import Primitives
import StoreModel
import StoreTestSupport
import Testing

@testable import StoreKitAdapter

@Suite(.timeLimit(.minutes(2)))
struct PaymentQueueTests {
    private let store = ScriptedStoreConnection()
    private let server = Server()

    /// Returns the verdicts on delivered transactions. All are acknowledged unless a test sets another verdict.
    private final class Server: Sendable {
        typealias Answer = @Sendable (StoreTransaction) async -> DeliveryVerdict
        let presented = CallLog<TransactionID>()
        private let verdict = Locked<Answer> { _ in .acknowledged }

        func answer(_ answer: @escaping Answer) { verdict.withLock { $0 = answer } }

        func deliver(_ transactions: [StoreTransaction]) async -> [TransactionID: DeliveryVerdict] {
            var verdicts: [TransactionID: DeliveryVerdict] = [:]
            for transaction in transactions {
                presented.record(transaction.id)
                verdicts[transaction.id] = await verdict.withLock { $0 }(transaction)
            }
            return verdicts
        }
    }

    /// A queue that retries without a pause.
    private func queue(
        on store: ScriptedStoreConnection? = nil, finishing: FinishPolicy = .afterAcknowledgement,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in await letOthersRun() }
    ) -> PaymentQueue {
        let number = Locked(0)
        return PaymentQueue(
            configuration: .init(
                connection: store ?? self.store, finishing: finishing,
                makePaymentID: {
                    PaymentID(
                        unchecked: "payment-\(number.withLock { number in number += 1; return number })")
                }, sleep: sleep)
        ) { [server] in await server.deliver($0) }
    }

    private func waitForFinishes(_ count: Int) async {
        await store.calls.wait { $0.filter { if case .finish = $0 { true } else { false } }.count >= count }
    }

    @Test func `a purchase is delivered, acknowledged, finished once and answered`() async throws {
        let queue = queue()
        await queue.start()
        let answer = await queue.purchase("pack", quantity: 2)
        #expect(answer.outcome.words == "purchased pack")
        #expect(answer.transaction?.quantity == 2)
        await waitForFinishes(1)
        await queue.shutDown()
        #expect(store.finished == [try #require(answer.transaction?.id)])
        #expect(server.presented.all == store.finished)
    }

    @Test func `a shutdown does not wait for a delivery that ignores cancellation`() async throws {
        let (begun, stuck) = (Promise<Void>(), Promise<Void>())
        let queue = PaymentQueue(configuration: .init(connection: store, sleep: { _ in })) { _ in
            begun.resolve(.success(()))
            try? await stuck.value()
            return [:]
        }
        await queue.start()
        async let answer = queue.purchase("pack")
        try await begun.value()
        await queue.shutDown()
        #expect(await answer.outcome == .failed(error: PaymentError(.shutDown, "")))
        stuck.resolve(.success(()))
    }

    @Test func `outcomes are equal when their values are`() {
        let refusal = PaymentError(.storeFailed, "No.")
        let equal: [(PurchaseOutcome, PurchaseOutcome)] = [
            (.purchased(productId: "a"), .purchased(productId: "a")),
            (.restored(productId: "a"), .restored(productId: "a")),
            (.nothingToRestore, .nothingToRestore), (.failed(error: refusal), .failed(error: refusal)),
            (.failed(error: CancellationError()), .failed(error: CancellationError())),
        ]
        let others: [(PurchaseOutcome, PurchaseOutcome)] = [
            (.purchased(productId: "a"), .purchased(productId: "b")),
            (.purchased(productId: "a"), .restored(productId: "a")),
            (.purchased(productId: "\u{E9}"), .purchased(productId: "e\u{301}")),
            (.nothingToRestore, .failed(error: refusal)),
            (.failed(error: refusal), .failed(error: PaymentError(.cancelled, "No."))),
            (.failed(error: refusal), .failed(error: CancellationError())),
        ]
        for (left, right) in equal { #expect(left == right && right == left) }
        for (left, right) in others { #expect(left != right && right != left, "\(left) and \(right)") }
    }

    @Test func `many purchases at once are each answered by their own transaction`() async throws {
        let queue = queue()
        await queue.start()
        let answers = await withTaskGroup(of: (Int, Int?).self) { group in
            for number in 0..<50 {
                let quantity = number % 10 + 1
                group.addTask { (quantity, await queue.purchase("coins", quantity: quantity).transaction?.quantity) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == 50)
        #expect(answers.allSatisfy { $0.0 == $0.1 })
        await waitForFinishes(50)
        await queue.shutDown()
        #expect(Set(store.finished).count == 50)
        #expect(store.finished.count == 50)
    }

    @Test func `a cancelled caller is answered at once, and its purchase is still completed`() async throws {
        let accepted = Gate()
        store.whenPaying { payment, store in
            try await accepted.pass()
            store.sell(payment)
        }
        let queue = queue()
        await queue.start()
        let purchase = Task { await queue.purchase("pack") }
        await store.calls.wait { !$0.isEmpty }
        purchase.cancel()
        #expect(await purchase.value.outcome.words == "failed cancelled")
        accepted.open()
        var completed = queue.completions.makeAsyncIterator()
        let transaction = try #require(await completed.next()?.completedTransaction)
        await waitForFinishes(1)
        #expect(store.finished == [transaction.id])
        await queue.shutDown()
    }

    @Test func `a caller that is cancelled before its purchase begins buys nothing`() async {
        let queue = queue()
        await queue.start()
        let gate = Gate()
        let purchase = Task {
            try? await gate.pass()
            return await queue.purchase("pack")
        }
        purchase.cancel()
        #expect(await purchase.value.outcome.words == "failed cancelled")
        #expect(store.payments.isEmpty)
        await queue.shutDown()
    }

    @Test func `a purchase that the server cannot acknowledge is kept and acknowledged later`() async throws {
        let isUp = Locked(false)
        server.answer { _ in isUp.withLock { $0 } ? .acknowledged : .unavailable(Silence()) }
        let pause = Gate()
        let queue = queue { _ in try await pause.pass() }
        await queue.start()
        let answer = await queue.purchase("pack")
        #expect(answer.outcome.words == "failed acknowledgementPending")
        let id = try #require(answer.transaction?.id)
        #expect(store.finished.isEmpty)

        await #expect(throws: PaymentError(.acknowledgementPending, "")) { try await queue.redeliver(id) }
        isUp.withLock { $0 = true }
        try await queue.redeliver(id)
        await waitForFinishes(1)
        #expect(store.finished == [id])
        await #expect(throws: PaymentError(.unknownTransaction, "")) { try await queue.redeliver(id) }
        await queue.shutDown()
        #expect(server.presented.all == [id, id, id])
    }

    @Test func `a delivery is repeated until the server answers`() async throws {
        let attempts = Locked(0)
        server.answer { _ in
            let attempt = attempts.withLock { attempts in
                attempts += 1
                return attempts
            }
            return attempt < 4 ? .unavailable(Silence()) : .acknowledged
        }
        let queue = queue()
        await queue.start()
        _ = await queue.purchase("pack")
        await waitForFinishes(1)
        await queue.shutDown()
        #expect(server.presented.all.count == 4)
        #expect(store.finished.count == 1)
    }

    @Test func `a transaction without a verdict counts as not acknowledged`() async {
        let queue = PaymentQueue(
            configuration: .init(connection: store, sleep: { _ in try await Gate().pass() })
        ) { _ in [:] }
        await queue.start()
        #expect(await queue.purchase("pack").outcome.words == "failed acknowledgementPending")
        await queue.shutDown()
        #expect(store.finished.isEmpty)
    }

    @Test func `a transaction that a crash left unfinished is delivered at the next launch and finished once`()
        async throws
    {
        server.answer { _ in .unavailable(Silence()) }
        let first = queue { _ in try await Gate().pass() }
        await first.start()
        let bought = try #require(await first.purchase("pack").transaction)
        await first.shutDown()
        #expect(store.finished.isEmpty)

        server.answer { _ in .acknowledged }
        let second = queue(on: store.reconnected())
        await second.start()
        var completed = second.completions.makeAsyncIterator()
        #expect(await completed.next()?.state == .purchased(bought))
        await waitForFinishes(1)
        await second.shutDown()
        #expect(store.finished == [bought.id])

        let third = queue(on: store.reconnected())
        await third.start()
        _ = await third.purchase("coins")
        await third.shutDown()
        #expect(server.presented.all.filter { $0 == bought.id }.count == 2, "nothing is left for a third launch")
    }

    @Test func `a failed finish is repeated until it succeeds`() async {
        let failures = Locked(2)
        store.before { call in
            guard case .finish = call else { return }
            let fails = failures.withLock { left in
                left -= 1
                return left >= 0
            }
            if fails { throw StoreFailure(code: .unreachable, reason: "gone") }
        }
        let queue = queue()
        await queue.start()
        #expect(await queue.purchase("pack").outcome.words == "purchased pack")
        await waitForFinishes(3)
        await queue.shutDown()
        #expect(store.unfinished.isEmpty)
    }

    @Test func `a shutdown answers all waiting callers, and ends the completions`() async {
        store.whenPaying { _, _ in }
        let queue = queue()
        await queue.start()
        async let answer = queue.purchase("pack")
        await store.calls.wait { !$0.isEmpty }
        store.before { call in if call == .restore { try await Gate().pass() } }
        let restore = Task { try await queue.restore() }
        await store.calls.wait { $0.contains(.restore) }
        await queue.shutDown()
        await queue.shutDown()
        #expect(await answer.outcome.words == "failed shutDown")
        await #expect(throws: PaymentError(.shutDown, "")) { try await restore.value }
        #expect(await queue.purchase("pack").outcome.words == "failed shutDown")
        for await _ in queue.completions {}
    }

    /// Shuts down on the queue's own actor. A call that does not wait returns before the queue does anything else.
    private func shutDown(_ queue: isolated PaymentQueue, whenCalled isCalled: Gate, whenEnded end: () -> Void) async {
        isCalled.open()
        await queue.shutDown()
        end()
    }

    @Test func `every call of shutDown waits until the last delivery has ended`() async throws {
        let mayAnswer = Gate()
        let ended = CallLog<String>()
        server.answer { _ in
            _ = await Task { try await mayAnswer.pass() }.result
            ended.record("delivery")
            return .acknowledged
        }
        let queue = queue(sleep: { _ in try await untilCancelled() })
        await queue.start()
        async let answer = queue.purchase("pack")
        await server.presented.wait { !$0.isEmpty }
        var calls: [Task<Void, Never>] = []
        for name in ["first", "second"] {
            let isCalled = Gate()
            calls.append(Task { await shutDown(queue, whenCalled: isCalled) { ended.record(name) } })
            try await isCalled.pass()
        }
        #expect(await answer.outcome.words == "failed shutDown")
        // Each call has left the queue's actor by now, because it ended or waits.
        #expect(await queue.isShutDown)
        #expect(ended.all.isEmpty)
        mayAnswer.open()
        for call in calls { await call.value }
        #expect(ended.all.first == "delivery")
        #expect(ended.all.count == 3)
    }

    @Test func `a second payment with the same id is refused, and the first one is answered`() async throws {
        let paid = CallLog<Payment>()
        store.whenPaying { payment, _ in paid.record(payment) }
        let queue = PaymentQueue(configuration: .init(connection: store, makePaymentID: { "p" })) { [server] in
            await server.deliver($0)
        }
        await queue.start()
        async let first = queue.purchase("pack")
        await paid.wait { !$0.isEmpty }
        #expect(await queue.purchase("coins").outcome.words == "failed storeFailed")
        store.sell(paid.all[0])
        #expect(await first.outcome.words == "purchased pack")
        #expect(paid.all.count == 1)
        await queue.shutDown()
    }

    @Test func `a restore returns the store's transactions, and callers share one request`() async throws {
        let transactions = ["1", "2"].map { StoreTransaction.of($0) }
        store.set(restorable: transactions)
        let asked = Gate()
        store.before { call in if call == .restore { try await asked.pass() } }
        let queue = queue()
        await queue.start()
        async let one = queue.restore()
        await store.calls.wait { $0.contains(.restore) }
        let cancelled = Task { try await queue.restore() }
        cancelled.cancel()
        await #expect(throws: PaymentError(.cancelled, "")) { try await cancelled.value }
        asked.open()
        #expect(try await one == transactions)
        #expect(store.calls.all.filter { $0 == .restore }.count == 1)
        #expect(store.finished.isEmpty, "restored transactions were finished long ago")
        store.set(restorable: [])
        #expect(try await queue.restore() == [])
        await queue.shutDown()
    }

    @Test func `a queue without references is released`() async throws {
        weak var released: PaymentQueue?
        do {
            let queue = queue()
            await queue.start()
            _ = await queue.purchase("pack")
            await waitForFinishes(1)
            released = queue
        }
        try await until("the queue is released") { released == nil }
    }
}
