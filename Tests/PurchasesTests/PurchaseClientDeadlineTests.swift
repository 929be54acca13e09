import BaseTestSupport
import Foundation
import Primitives
import Purchases
import Testing

@Suite(.timeLimit(.minutes(1))) struct PurchaseClientDeadlineTests {
    private let clock = ManualClock()
    private let gate = Gate()
    /// Counts the cancelled deadlines as arrivals.
    private let cancelledDeadlines = Gate()

    /// Returns a plugin that does not answer, even when cancelled, until the gate opens.
    private func unresponsive(_ name: String = "unresponsive") -> StubPlugin {
        let gate = gate
        return StubPlugin(name) {
            $0.logIn = { _ in await gate.pass() }
            $0.logOut = { await gate.pass() }
            $0.paidFeatures = {
                await gate.pass()
                return .of("late")
            }
            $0.products = { _ in
                await gate.pass()
                return []
            }
            $0.offer = {
                await gate.pass()
                return .failure(Refusal())
            }
            $0.cancel = { _ in
                await gate.pass()
                return .success(())
            }
        }
    }

    private func client(_ plugins: any PurchasePlugin...) async throws -> PurchaseClient {
        let (clock, cancelledDeadlines) = (clock, cancelledDeadlines)
        cancelledDeadlines.open()
        let client = PurchaseClient(
            configuration: .init(pluginDeadline: .seconds(30)) { duration in
                do {
                    try await clock.sleep(
                        until: clock.now().addingTimeInterval(TimeInterval(duration.components.seconds)))
                } catch {
                    await cancelledDeadlines.pass()
                    throw error
                }
            })
        try await client.setup(with: plugins)
        return client
    }

    /// Returns the result of `body` after the unresponsive plugin was called, the `others` have answered, and its
    /// deadline has passed.
    private func afterDeadline<Value: Sendable>(
        others: Int, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let task = Task { try await body() }
        await gate.arrivals()
        if others > 0 { await cancelledDeadlines.arrivals(others) }
        await clock.waiters(atLeast: 1)
        clock.advance(by: 30)
        return try await task.value
    }

    @Test func `a plugin that never answers is reported, and the others' answers count`() async throws {
        let client = try await client(unresponsive(), StubPlugin("sound") { $0.paidFeatures = { .of("pro") } })
        let collected = try await afterDeadline(others: 1) { try await client.collectPaidFeatures() }
        #expect(collected.value.names == ["pro"])
        #expect(collected.reports.map { $0.error as? PurchaseError } == [PurchaseError(.timedOut), nil])
        let sentence = (collected.reports[0].error as? PurchaseError)?.reason ?? ""
        #expect(sentence.contains("\"unresponsive\"") && sentence.contains("30"))
        gate.open()
    }

    @Test func `a strict read fails at the deadline`() async throws {
        let client = try await client(StubPlugin("sound"), unresponsive())
        await #expect(throws: PurchaseError(.timedOut)) {
            try await afterDeadline(others: 1) { try await client.getProductsAndPricePoints(with: ["pro"]) }
        }
        gate.open()
    }

    @Test func `an answer that comes too late is dropped`() async throws {
        let plugin = unresponsive()
        let client = try await client(plugin, StubPlugin("sound"))
        _ = try await afterDeadline(others: 1) { try await client.getPaidFeatures() }
        gate.open()
        plugin.change { $0.paidFeatures = { throw Refusal() } }
        #expect(try await client.getPaidFeatures() == PaidFeatures())
    }

    @Test func `a plugin that does not answer to its log-in counts as unreachable`() async throws {
        let sound = StubPlugin("sound")
        let client = try await client(unresponsive(), sound)
        let reports = try await afterDeadline(others: 1) { try await client.logIn(appUserId: .string("ada")) }
        #expect(reports.map { $0.error as? PurchaseError } == [PurchaseError(.timedOut), nil])
        #expect(client.userId == .string("ada"))
        #expect(sound.calls == ["logIn ada"])
        gate.open()
    }

    @Test func `a plugin that does not answer a log-out does not prevent it`() async throws {
        let sound = StubPlugin("sound")
        let client = try await client(unresponsive(), sound)
        try await afterDeadline(others: 1) { await client.logOut() }
        #expect(sound.calls == ["logOut"])
        gate.open()
    }

    @Test func `after a plugin that does not answer, the next plugin is called`() async throws {
        let offer = PromoOffer(productDiscount: ProductDiscount(), identifier: "half")
        let client = try await client(unresponsive(), StubPlugin("signer") { $0.offer = { .success(offer) } })
        let answer = try await afterDeadline(others: 0) {
            try await client.getPromotionalOffer(for: ProductDiscount(), product: Product(productIdentifier: "pro"))
        }
        #expect(answer == offer)
        gate.open()
    }

    @Test func `when no other plugin handles an operation, the unresponsive plugin's error is thrown`() async throws {
        let client = try await client(unresponsive(), StubPlugin("other"))
        await #expect(throws: PurchaseError(.timedOut)) {
            try await afterDeadline(others: 0) {
                try await client.cancelSubscription(with: CancellationToken(pluginName: "unresponsive", rawValue: "1"))
            }
        }
        gate.open()
    }

    @Test func `a purchase does not wait forever for the others' features`() async throws {
        let client = try await client(
            unresponsive(),
            StubPlugin("seller") { $0.purchase = { _ in .success(SuccessfulPurchase(paidFeatures: .of("pro"))) } })
        let purchase = try await afterDeadline(others: 0) {
            try await client.purchase(Product(productIdentifier: "pro"))
        }
        #expect(purchase.paidFeatures.names == ["pro"])
        gate.open()
    }

    @Test func `a purchase waits a second for the others, and later answers follow on the stream`() async throws {
        let client = try await client(
            unresponsive(),
            StubPlugin("seller") { $0.purchase = { _ in .success(SuccessfulPurchase(paidFeatures: .of("pro"))) } },
            StubPlugin("quick") { $0.paidFeatures = { .of("export") } })
        var updates = client.paidFeaturesUpdates.makeAsyncIterator()
        let buying = Task { try await client.purchase(Product(productIdentifier: "pro")) }
        await gate.arrivals()
        while let features = await updates.next(), !features.names.contains("export") {}
        await clock.waiters(atLeast: 2)
        clock.advance(by: 1)
        #expect(try await buying.value.paidFeatures.names == ["pro", "export"])
        gate.open()
        while let features = await updates.next(), features.names != ["late", "pro", "export"] {}
    }

    @Test func `the last answers of slow plugins count for a purchase`() async throws {
        let web = StubPlugin("web") { $0.paidFeatures = { .of("export") } }
        let client = try await client(
            StubPlugin("seller") { $0.purchase = { _ in .success(SuccessfulPurchase(paidFeatures: .of("pro"))) } },
            web)
        _ = try await client.getPaidFeatures()
        let gate = gate
        web.change {
            $0.paidFeatures = {
                await gate.pass()
                return .of()
            }
        }
        let buying = Task { try await client.purchase(Product(productIdentifier: "pro")) }
        await gate.arrivals()
        await clock.waiters(atLeast: 2)
        clock.advance(by: 1)
        #expect(try await buying.value.paidFeatures.names == ["pro", "export"])
        gate.open()
        await client.close()
    }

    @Test func `closing a client cancels the requests that a purchase left running`() async throws {
        let heard = AsyncStream.makeStream(of: Void.self)
        let asked = Gate()
        asked.open()
        let client = try await client(
            StubPlugin("seller") { $0.purchase = { _ in .success(SuccessfulPurchase(paidFeatures: .of("pro"))) } },
            StubPlugin("heeding") {
                $0.paidFeatures = {
                    await asked.pass()
                    do {
                        try await untilCancelled()
                    } catch {
                        heard.continuation.yield()
                        throw error
                    }
                }
            })
        let buying = Task { try await client.purchase(Product(productIdentifier: "pro")) }
        await asked.arrivals()
        await clock.waiters(atLeast: 2)
        clock.advance(by: 1)
        _ = try await buying.value
        await client.close()
        #expect(await heard.stream.first { _ in true } != nil)
    }

    @Test func `a cancelled reader is answered at once`() async throws {
        let client = try await client(unresponsive(), StubPlugin("sound") { $0.paidFeatures = { .of("pro") } })
        let reader = Task { try await client.getPaidFeatures() }
        await gate.arrivals()
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        gate.open()
    }

    @Test func `cancellation reaches the plugin`() async throws {
        let asked = Gate()
        asked.open()
        let heard = AsyncStream.makeStream(of: Void.self)
        let client = try await client(
            StubPlugin("heeding") {
                $0.paidFeatures = {
                    await asked.pass()
                    do {
                        try await untilCancelled()
                    } catch {
                        heard.continuation.yield()
                        throw error
                    }
                }
            })
        let reader = Task { try await client.getPaidFeatures() }
        await asked.arrivals()
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        #expect(await heard.stream.first { _ in true } != nil)
    }
}
