import BaseTestSupport
import Foundation
import Primitives
import StoreModel
import StoreTestSupport
import Testing

@testable import StoreKitAdapter

/// The timeouts of a purchase at StoreKit.
@Suite(.timeLimit(.minutes(1)))
struct StoreKitTimeoutTests {
    private let time = ManualTimeouts()
    private let log = CallLog<String>()
    private let pro = Payment(id: "p", productID: "pro.monthly")

    /// A new subscription, without renewal info.
    private static let bought = ScriptedStoreConnection.transaction(
        "7", "pro.monthly", kind: .autoRenewableSubscription)

    private static func renewing(_ info: String = "renewal.info") -> StoreTransaction {
        var transaction = bought
        transaction.signedRenewalInfo = info
        return transaction
    }

    /// Queries that return at once.
    private var queries: StoreKitQueries {
        StoreKitQueries(
            product: { [log] _ in
                {
                    log.record("sell")
                    return .bought(StoreKitTransaction(transaction: Self.bought) { Self.renewing() })
                }
            },
            latest: { _ in nil }, find: { _ in nil }, finish: { _ in true })
    }

    private func payments(
        _ queries: StoreKitQueries, storage: (any SecureStorage)? = nil, time: ManualTimeouts? = nil
    ) -> (StoreKitPayments, AsyncStream<StoreUpdate>) {
        let (updates, reports) = AsyncStream.makeStream(of: StoreUpdate.self)
        let payments = StoreKitPayments(
            queries: queries, storage: storage, reports: reports, timeouts: (time ?? self.time).timeouts)
        return (payments, updates)
    }

    @Test
    func `a purchase waits at most two seconds in all for the list, the owned transactions and the renewal info`()
        async throws
    {
        let (owned, status) = (Gate(), Gate())
        var queries = queries
        queries.product = { [time] _ in
            {
                time.clock.advance(by: 60)
                return .bought(
                    StoreKitTransaction(transaction: Self.bought) {
                        try? await status.pass()
                        return Self.renewing()
                    })
            }
        }
        queries.latest = { _ in
            try? await owned.pass()
            return nil
        }
        let (payments, stream) = payments(queries)
        var updates = stream.makeAsyncIterator()
        await time.waits.wait { $0 == [.seconds(2)] }
        await payments.handle(.add(pro))
        time.clock.advance(by: 1.5)
        await payments.handle(.listed)
        #expect(await updates.next()?.state == .purchasing)
        await time.waits.wait { $0.contains(.milliseconds(500)) }
        time.clock.advance(by: 0.25)
        owned.open()
        await time.waits.wait { $0.contains(.milliseconds(250)) }
        time.clock.advance(by: 0.25)
        #expect(
            await updates.next()
                == StoreUpdate(paymentID: "p", productID: "pro.monthly", state: .purchased(Self.bought)))
        #expect(time.elapsed == .seconds(62))
        status.open()
        #expect(
            await updates.next()
                == StoreUpdate(productID: "pro.monthly", state: .renewalChanged(Self.renewing())),
            "the renewal info is presented when it comes")
        await payments.close()
    }

    @Test func `renewal info that comes in time is part of the purchase`() async throws {
        let (payments, stream) = payments(queries)
        var updates = stream.makeAsyncIterator()
        await payments.handle(.listed)
        await payments.handle(.add(pro))
        #expect(await updates.next()?.state == .purchasing)
        #expect(await updates.next()?.state == .purchased(Self.renewing()))
        await payments.close()
    }

    @Test func `a payment does not wait longer than two seconds for the list`() async throws {
        let (payments, stream) = payments(queries)
        var updates = stream.makeAsyncIterator()
        await time.waits.wait { $0 == [.seconds(2)] }
        await payments.handle(.add(pro))
        time.clock.advance(by: 2)
        #expect(await updates.next()?.state == .purchasing)
        guard case .purchased? = await updates.next()?.state else {
            Issue.record("nothing was bought")
            return
        }
        await payments.close()
    }

    @Test func `a product that StoreKit does not return within 30 seconds is not sold, and can be bought later`()
        async throws
    {
        let gate = Gate()
        var queries = queries
        let sell = queries.product
        queries.product = { payment in
            try await gate.pass()
            return try await sell(payment)
        }
        let storage = MemorySecureStorage()
        let (payments, stream) = payments(queries, storage: storage)
        var updates = stream.makeAsyncIterator()
        await payments.handle(.listed)
        await payments.handle(.add(pro))
        #expect(await updates.next()?.state == .purchasing)
        await time.waits.wait { $0.contains(.seconds(30)) }
        time.clock.advance(by: 30)
        guard case .failed(let failure)? = await updates.next()?.state else {
            Issue.record("the payment did not fail")
            return
        }
        #expect(failure.code == .unreachable && failure.reason.contains("try again") && log.all.isEmpty)
        gate.open()
        await payments.handle(.add(Payment(id: "q", productID: "pro.monthly")))
        #expect(await updates.next()?.state == .purchasing)
        #expect(await updates.next()?.paymentID == "q")
        #expect(log.all == ["sell"], "the first payment sold nothing, however late its product came")
        await payments.close()
    }

    @Test func `a purchase of an earlier run that is found late is reported under its payment`() async throws {
        let storage = MemorySecureStorage()
        let (first, firstStream) = payments(queries, storage: storage)
        var updates = firstStream.makeAsyncIterator()
        await first.handle(.listed)
        await first.handle(.add(pro))
        _ = await updates.next()
        #expect(await updates.next()?.state == .purchased(Self.renewing()))
        await first.close()

        let gate = Gate()
        var queries = queries
        queries.find = { _ in
            try? await gate.pass()
            return StoreKitTransaction(transaction: Self.bought) { Self.renewing() }
        }
        let later = ManualTimeouts()
        let (second, secondStream) = payments(queries, storage: storage, time: later)
        updates = secondStream.makeAsyncIterator()
        await second.handle(.listed)
        await second.handle(.add(pro))
        await later.waits.wait { $0 == [.seconds(2), .seconds(2)] }
        later.clock.advance(by: 2)
        guard case .failed(let failure)? = await updates.next()?.state else {
            Issue.record("the payment waits for a purchase that is not found")
            return
        }
        #expect(failure.code == .unknown)
        gate.open()
        #expect(
            await updates.next()
                == StoreUpdate(paymentID: "p", productID: "pro.monthly", state: .purchased(Self.renewing())))
        await second.close()
    }

    @Test func `a transaction that no payment waits for is reported after two seconds, and its renewal info later`()
        async throws
    {
        let status = Gate()
        let (payments, stream) = payments(queries)
        var updates = stream.makeAsyncIterator()
        await payments.handle(.listed)
        let renewed = StoreKitTransaction(transaction: Self.bought) {
            try? await status.pass()
            return Self.renewing()
        }
        let reporting = Task { await payments.handle(renewed) { .updated($0) } }
        await time.waits.wait { $0 == [.seconds(2), .seconds(2)] }
        time.clock.advance(by: 2)
        await reporting.value
        #expect(await updates.next()?.state == .purchased(Self.bought))
        status.open()
        #expect(await updates.next()?.state == .renewalChanged(Self.renewing()))
        await payments.close()
    }
}
