import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

extension ServerBench {
    /// Posts a period of a subscription and its renewal info.
    fileprivate func pay(
        _ id: String, of original: String? = nil, product: String = "pro.monthly", days: Double = 30,
        renews: Bool = true, for customer: String = "anna"
    ) async throws -> Reply {
        try await post(
            [period(id, of: original, product: product, days: days)],
            renewals: [renewalInfo(of: original ?? id, renews: renews)], for: customer)
    }

    fileprivate func say(_ original: String, renews: Bool, for customer: String = "anna") async throws {
        clock.advance(by: 1)
        let reply = try await post(
            [purchase("500")], renewals: [renewalInfo(of: original, renews: renews)], for: customer)
        #expect(reply.status == 200)
    }

    /// Returns the events about double payments: the customer and the subscriptions of each, in their order.
    fileprivate func warnings() async throws -> [String] {
        try await numberEvents()
        let events = try service.ledger.events(
            of: LedgerID(app: Self.app, environment: .sandbox), after: 0, limit: 1000)
        return try events.filter { $0.type == "customer.paidTwice" }.map { event in
            let body = try JSONValue(parsing: event.body)
            let pair = body["subscriptions"]?.arrayValue?.compactMap { $0["originalTransactionID"]?.stringValue }
            #expect(body["customer"]?.stringValue == event.customer.rawValue)
            return "\(event.customer): \((pair ?? []).joined(separator: " "))"
        }
    }

    fileprivate func reasons(of customer: String = "anna") async throws -> [String] {
        try await get(customer).customer().features.map(\.because)
    }
}

/// The events about customers who pay two subscriptions for one feature.
@Suite(.onBothEngines) struct DoublePaymentEventTests {
    @Test func `a second subscription is an event with both subscriptions, and the answer says so`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.pay("1")
        #expect(try await bench.warnings() == [])
        _ = try await bench.pay("2", product: "pro.yearly")
        #expect(try await bench.warnings() == ["anna: 1 2"])
        let events = try bench.service.ledger.events(
            of: LedgerID(app: ServerBench.app, environment: .sandbox), after: 0, limit: 100)
        #expect(events.map(\.type) == ["customer.updated", "customer.updated", "customer.paidTwice"])
        let page = JSONValue.string("https://apps.apple.com/account/subscriptions")
        #expect(
            try JSONValue(parsing: events[2].body) == [
                "customer": "anna", "features": ["pro"],
                "subscriptions": [
                    [
                        "productID": "pro.monthly", "originalTransactionID": "1", "source": "appStore",
                        "managementURL": page,
                    ],
                    [
                        "productID": "pro.yearly", "originalTransactionID": "2", "source": "appStore",
                        "managementURL": page,
                    ],
                ],
            ])
        #expect(
            try await bench.reasons().allSatisfy {
                $0.hasSuffix(", but two subscriptions pay for this: cancel one in the App Store")
            })
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `a customer whose first request presents both subscriptions has the event`() async throws {
        let bench = try await ServerBench()
        let periods = try [bench.period("1"), bench.period("2")]
        let renewals = try [bench.renewalInfo(of: "1"), bench.renewalInfo(of: "2")]
        _ = try await bench.post(periods, renewals: renewals)
        _ = try await bench.post(periods, renewals: renewals)
        #expect(try await bench.warnings() == ["anna: 1 2"])
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `late renewals and failed payments do not repeat the event, and a new beginning does`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.pay("1", days: 400)
        _ = try await bench.pay("2")
        // The renewal arrives an hour after the end of the period, twice.
        for number in 3...4 {
            bench.clock.advance(by: 30 * 86400 + 3600)
            #expect(try await bench.get().customer().subscriptions.map(\.state.rawValue) == ["active", "expired"])
            _ = try await bench.pay("\(number)", of: "2")
            #expect(try await bench.get().customer().subscriptions.map(\.state.rawValue) == ["active", "active"])
        }
        #expect(try await bench.warnings() == ["anna: 1 2"])
        // The payment fails for some days.
        bench.clock.advance(by: 30 * 86400)
        _ = try await bench.post(
            [bench.purchase("500")],
            renewals: [
                bench.renewalInfo(of: "2") {
                    $0.isInBillingRetryPeriod = true
                    $0.expirationIntent = .billingError
                }
            ])
        #expect(try await bench.get().customer().subscriptions[1].state == .inBillingRetry)
        bench.clock.advance(by: 5 * 86400)
        _ = try await bench.pay("5", of: "2")
        #expect(try await bench.warnings() == ["anna: 1 2"])
        // The customer cancels one and turns it on again.
        try await bench.say("1", renews: false)
        #expect(try await bench.reasons().allSatisfy { !$0.contains("two subscriptions") })
        #expect(try await bench.warnings() == ["anna: 1 2"])
        try await bench.say("1", renews: true)
        #expect(try await bench.warnings() == ["anna: 1 2", "anna: 1 2"])
        // A third subscription is two further pairs.
        _ = try await bench.pay("9")
        #expect(try await bench.warnings().suffix(2) == ["anna: 1 9", "anna: 2 9"])
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `a refund ends the double payment`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.pay("1")
        _ = try await bench.pay("2")
        bench.clock.advance(by: 60)
        let now = bench.clock.now()
        _ = try await bench.post(bench.period("2") { $0.revocationDate = now })
        #expect(try await bench.reasons().allSatisfy { !$0.contains("two subscriptions") })
        bench.clock.advance(by: 60)
        _ = try await bench.post(bench.period("2"))
        #expect(try await bench.warnings() == ["anna: 1 2", "anna: 1 2"])
        await bench.close()
    }

    @Test func `a merge repeats no event, and brings the event of two customers who paid once each`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.pay("1", for: "anonymous-1")
        _ = try await bench.pay("2", for: "anonymous-1")
        _ = try await bench.pay("3")
        _ = try await bench.alias("anonymous-1")
        #expect(try await bench.warnings() == ["anonymous-1: 1 2", "anna: 1 3", "anna: 2 3"])
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `a transfer ends the double payment of one customer and begins that of another`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.pay("1")
        _ = try await bench.pay("2")
        _ = try await bench.pay("3", for: "ben")
        _ = try await bench.transfer("2", from: "anna", to: "ben")
        #expect(try await bench.warnings() == ["anna: 1 2", "ben: 2 3"])
        #expect(try await bench.reasons() == ["active subscription, renews"])
        _ = try await bench.transfer("2", from: "ben", to: "anna")
        #expect(try await bench.warnings() == ["anna: 1 2", "ben: 2 3", "anna: 1 2"])
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `an export lists the event, and an erasure removes it and repeats nothing`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.pay("1")
        _ = try await bench.pay("2")
        let exported = try await bench.send(.get, "/v1/customers/anna/export", as: .secret).json
        #expect(
            exported["events"]?.arrayValue?.compactMap { $0["type"]?.stringValue }.sorted()
                == ["customer.paidTwice", "customer.updated", "customer.updated"])
        #expect(try await bench.send(.delete, "/v1/customers/anna", as: .secret).status == 200)
        #expect(try await bench.warnings() == [])
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test(.onSQLite)
    func `answers of an earlier version are computed again, with an event only for customers who pay twice`()
        async throws
    {
        let folder = try ServerBench.Folder()
        let first = try await ServerBench(folder: folder)
        _ = try await first.pay("1")
        _ = try await first.pay("2")
        _ = try await first.pay("3", for: "ben")
        try await first.numberEvents()
        // What a server without the warnings left.
        try await first.database.write { connection in
            try connection.perform("DELETE FROM event WHERE type = 'customer.paidTwice'", [])
            try connection.perform("UPDATE customer SET double_payments = NULL", [])
            try connection.perform("UPDATE customer SET valid_until = 0", [])
            try connection.perform(
                "UPDATE app SET rules_digest = ?1 WHERE bundle_id = ?2",
                [.blob(EntitlementService.rulesDigest(ServerBench.map, reducer: 4)), .text(ServerBench.app.rawValue)])
        }
        let count = try first.count("event")
        await first.close()
        let second = try await ServerBench(folder: folder, keys: first.keys)
        _ = try await second.get()
        _ = try await second.get("ben")
        #expect(try await second.warnings() == ["anna: 1 2"])
        #expect(try second.count("event") == count + 1)
        #expect(try second.replay().differences == [])
        await second.close()
    }

    @Test func `a replay finds a customer who pays twice without an event`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.pay("1")
        _ = try await bench.pay("2")
        for damaged in ["NULL", "'['", "'[[\"1\"]]'", "'[[\"1\",\"3\"]]'"] {
            try await bench.database.write {
                try $0.perform("UPDATE customer SET double_payments = \(damaged)", [])
            }
            #expect(try bench.replay().differences.map(\.reason) == ["pays twice, and has no event about it"])
        }
        await bench.close()
    }
}
