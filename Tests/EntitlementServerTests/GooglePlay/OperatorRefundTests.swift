import BaseTestSupport
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SimulatorControl
import StoreModel
import Testing

@testable import EntitlementServer

extension ServerBench {
    fileprivate func refund(
        _ transaction: String, revoke: Bool? = nil, for customer: String = "anna", as key: Key = .secret,
        headers: HTTPHeaders = [:]
    ) async throws -> Reply {
        var body: JSONValue = ["transactionID": .string(transaction)]
        body["revoke"] = revoke.map { .bool($0) }
        return try await send(
            .post, "/v1/customers/\(customer)/refunds", as: key, headers: headers, body: .json(body))
    }

    fileprivate func refundEntries() throws -> [JSONValue] {
        try service.ledger.auditEntries(of: Self.app, before: nil).entries.filter { $0.action == "refund" }
            .map(\.detail)
    }
}

/// Refunds of orders at Google Play by an operator.
@Suite(.onBothEngines) struct OperatorRefundTests {
    private func bench() async throws -> (ServerBench, FakeGooglePlay) {
        let (bench, play) = try await ServerBench.withPlay()
        let start = bench.clock.now()
        try play.set("token-1", AndroidPublisher.SubscriptionPurchaseV2.plus(from: start))
        try play.set(order())
        #expect(try await bench.postPlay().status == 200)
        return (bench, play)
    }

    private func order(_ change: (inout AndroidPublisher.Order) -> Void = { _ in }) -> AndroidPublisher.Order {
        let start = ManualClock().now()
        return .paid("GPA.1", from: start, to: start.addingTimeInterval(30 * 86400)) {
            $0.purchaseToken = "token-1"
            change(&$0)
        }
    }

    @Test func `only a secret key refunds, and a body that is not valid is refused`() async throws {
        let (bench, play) = try await bench()
        #expect(try await bench.refund("GPA.1", as: .public).code == "secret_key_required")
        #expect(try await bench.refund("").field == "transactionID")
        let odd = try await bench.send(
            .post, "/v1/customers/anna/refunds", as: .secret,
            body: .json(["transactionID": "GPA.1", "revoke": "yes"]))
        #expect(odd.status == 400 && odd.field == "revoke")
        #expect(play.state.withLock { $0.changes.isEmpty })
        await bench.close()
    }

    @Test func `unknown, foreign and other stores' transactions are refused, and nothing is asked`() async throws {
        let (bench, play) = try await bench()
        _ = try await bench.post(bench.purchase("77"))
        #expect(try await bench.refund("GPA.404").code == "unknown_purchase")
        #expect(try await bench.refund("GPA.1", for: "ben").code == "unknown_purchase")
        let apple = try await bench.refund("77")
        #expect(apple.status == 501 && apple.code == "unsupported")
        #expect(apple.json["detail"]?.stringValue?.contains("Only Apple refunds") == true)
        // Google states that the order is of another purchase, or does not know it any more.
        try play.set(order { $0.purchaseToken = "token-2" })
        #expect(try await bench.refund("GPA.1").code == "unknown_order")
        play.state.withLock { $0.orders = [:] }
        #expect(try await bench.refund("GPA.1").code == "unknown_order")
        #expect(play.state.withLock { $0.changes.isEmpty })
        #expect(try bench.refundEntries().isEmpty)
        await bench.close()
    }

    @Test func `an order that was refunded or is not paid is refused`() async throws {
        let (bench, play) = try await bench()
        for (state, code) in [
            (AndroidPublisher.OrderState.refunded, "already_refunded"), (.pending, "order_not_refundable"),
            (.canceled, "order_not_refundable"), (.init(rawValue: "NEW"), "order_not_refundable"),
        ] {
            try play.set(order { $0.state = state })
            let reply = try await bench.refund("GPA.1")
            #expect(reply.status == 409 && reply.code == code)
        }
        #expect(play.state.withLock { $0.changes.isEmpty })
        #expect(try bench.refundEntries().isEmpty)
        await bench.close()
    }

    @Test func `a refusal of Google is passed on, and an outage can be repeated`() async throws {
        let (bench, play) = try await bench()
        play.state.withLock {
            $0.refusals = [GoogleAPIError(.invalidArgument, reason: "orderTooOld", "The order is too old.")]
        }
        let refused = try await bench.refund("GPA.1")
        #expect(refused.code == "order_not_refundable")
        #expect(refused.json["detail"]?.stringValue?.contains("The order is too old.") == true)
        play.state.withLock { $0.outage = (503, nil) }
        #expect(try await bench.refund("GPA.1").status == 503)
        play.state.withLock { $0.outage = nil }
        #expect(try await bench.refund("GPA.1").status == 200)
        #expect(
            play.state.withLock { $0.changes.map(\.path) } == [
                "GPA.1:refund?revoke=false", "GPA.1:refund?revoke=false",
            ])
        #expect(try bench.refundEntries() == [["transactionID": "GPA.1", "revoke": false]])
        await bench.close()
    }

    @Test func `a refund whose answer was lost is not repeated at Google, and a different one is refused`()
        async throws
    {
        let (bench, play) = try await bench()
        // Google refunds, and its answer is lost.
        play.state.withLock { $0.refusals = [GoogleAPIError(.unavailable, reason: "backendError", "Later.")] }
        #expect(try await bench.refund("GPA.1", revoke: true).status == 503)
        try play.set(order { $0.state = .refunded })
        #expect(try await bench.refund("GPA.1", revoke: true).status == 200)
        #expect(try await bench.refund("GPA.1").code == "already_refunded")
        #expect(play.state.withLock { $0.changes.count } == 1)
        // Google refuses, and the order is not refunded.
        try play.set(order())
        play.state.withLock {
            $0.refusals = [GoogleAPIError(.invalidArgument, reason: "orderNotRefundable", "Refunded already.")]
        }
        #expect(try await bench.refund("GPA.1", revoke: true).code == "order_not_refundable")
        await bench.close()
    }

    @Test func `an erased customer's orders are not refunded`() async throws {
        let (bench, play) = try await bench()
        let erased = try await bench.send(.delete, "/v1/customers/anna", as: .secret).json
        let pseudonym = try #require(erased["pseudonym"]?.stringValue)
        #expect(try await bench.refund("GPA.1").code == "unknown_purchase")
        #expect(try await bench.refund("GPA.1", for: pseudonym).code == "customer_erased")
        #expect(play.state.withLock { $0.changes.isEmpty })
        await bench.close()
    }
}

/// Refunds with the simulated Google Play, whose answers follow.
@Suite struct SimulatedOperatorRefundTests {
    @Test func `a revoked order ends the purchase in the same answer, once for each key`() async throws {
        try await TwoStores.with { stores in
            let token = try await stores.buyOnAndroid("pro.monthly", "monthly")
            let tools = try await stores.buyOnAndroid("tools")
            try await stores.settle()
            let (bench, store) = (stores.bench, stores.store)
            let (monthly, toolbox) = try await (store.playPurchase(token).orderID, store.playPurchase(tools).orderID)
            let first = try await bench.refund(monthly, revoke: true, headers: ["Idempotency-Key": "k"])
            #expect(try first.status == 200 && first.active() == ["tools"])
            let again = try await bench.refund(monthly, revoke: true, headers: ["Idempotency-Key": "k"])
            #expect(again.bytes == first.bytes)
            #expect(try await bench.refund(monthly, headers: ["Idempotency-Key": "k"]).code == "idempotency_mismatch")
            // Money back, and the customer keeps the product.
            #expect(try await bench.refund(toolbox).active() == ["tools"])
            #expect(try await bench.refund(toolbox, revoke: true).code == "already_refunded")
            #expect(stores.server.network.requests.count { $0.url.contains(":refund") } == 2)
            #expect(
                try bench.refundEntries() == [
                    ["transactionID": .string(toolbox), "revoke": false],
                    ["transactionID": .string(monthly), "revoke": true],
                ])
            try await stores.settle()
            #expect(try await stores.answer().features.filter(\.isActive).map(\.name) == ["tools"])
            #expect(try stores.replayDifferences() == [])
        }
    }

    @Test func `a revoked one-time product is revoked`() async throws {
        try await TwoStores.with { stores in
            let tools = try await stores.buyOnAndroid("tools")
            let order = try await stores.store.playPurchase(tools).orderID
            let reply = try await stores.bench.refund(order, revoke: true)
            #expect(try reply.status == 200 && reply.active() == [])
            #expect(try reply.customer().purchases[0].revokedAt == stores.store.clock.now())
            #expect(try stores.replayDifferences() == [])
        }
    }
}
