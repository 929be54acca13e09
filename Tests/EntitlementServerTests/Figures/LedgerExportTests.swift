import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// The exports of answers and of events.
@Suite(.onBothEngines) struct LedgerExportTests {
    private func rows(
        _ content: LedgerExport.Content, of bench: ServerBench, since cursor: Int64 = 0
    ) throws -> (rows: [JSONValue], cursor: Int64) {
        var rows: [JSONValue] = []
        let cursor = try LedgerExport.run(content, of: bench.database, since: cursor, clock: bench.clock) { values in
            #expect(values.count == content.columns.count)
            rows.append(JSONValue.object(JSONMembers(zip(content.columns, values).filter { $0.1 != .null })))
        }
        return (rows, cursor)
    }

    /// Numbers the events. On PostgreSQL a background job does that.
    private func numberEvents(_ bench: ServerBench) async throws {
        for job in bench.service.jobs where job.name == "feed" { while try await job.step() {} }
    }

    @Test func `states have a row for each feature, subscription and purchase, and no name of a customer`() async throws
    {
        let bench = try await ServerBench()
        _ = try await bench.post(
            bench.period("1") { payload in
                (payload.price, payload.currency) = (4990, "EUR")
                payload.appAccountToken = CustomerID("anna").appAccountToken
            }, for: "anna")
        _ = try await bench.post(bench.purchase("2"), for: "ben")
        _ = try await bench.get("carl")
        _ = try await bench.send(
            .post, "/v1/customers/ben/grants", as: .secret,
            body: .json(["feature": "more", "reason": "ticket of ben@example.com"]))
        let (states, _) = try rows(.states, of: bench)
        let customers = Set(states.compactMap { $0["customer"]?.stringValue.map { ExactString($0) } })
        #expect(customers.allSatisfy { $0.rawValue.utf8.count == 32 })
        let subscription = try #require(states.first { $0["kind"] == "subscription" })
        #expect(subscription["originalTransactionId"] == "1" && subscription["productId"] == "pro.monthly")
        #expect(subscription["state"] == "active" && subscription["price"] == "4.99")
        #expect(subscription["currency"] == "EUR" && subscription["isTrial"] == false)
        let feature = try #require(states.first { $0["feature"] == "pro" })
        #expect(feature["isActive"] == true && feature["customer"] == subscription["customer"])
        #expect(feature["app"] == .string(ServerBench.app.rawValue) && feature["environment"] == "sandbox")
        #expect(states.contains { $0["feature"] == "more" && $0["source"] == "grant" })
        #expect(states.contains { $0["kind"] == "purchase" && $0["transactionId"] == "2" })
        let text = states.map { $0.text() }.joined()
        for name in ["anna", "ben", "carl", "ticket", "example.com"] { #expect(!text.contains("\"\(name)"), "\(name)") }
        #expect(!text.contains(CustomerID("anna").appAccountToken.uuidString.lowercased()))
        // The same customer has the same pseudonym in the next export.
        #expect(try rows(.states, of: bench).rows == states)
        await bench.close()
    }

    @Test func `an export of events continues after its cursor, or after the cursor of an export of states`()
        async throws
    {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("1"), for: "anna")
        try await numberEvents(bench)
        let (states, position) = try rows(.states, of: bench)
        let (first, cursor) = try rows(.events, of: bench)
        #expect(cursor == position && cursor > 0)
        let last = try #require(first.last)
        #expect(last["type"] == "customer.updated" && last["activeFeatures"] == ["pro"])
        #expect(last["customer"] == states[0]["customer"] && last["sequence"]?.intValue == Int(cursor))
        #expect(try rows(.events, of: bench, since: cursor).rows == [])
        _ = try await bench.post(bench.purchase("2"), for: "anna")
        _ = try await bench.send(
            .post, "/v1/customers/anna/aliases", as: .secret, body: .json(["alias": "anonymous-7"]))
        try await numberEvents(bench)
        let (later, end) = try rows(.events, of: bench, since: position)
        #expect(!later.isEmpty && end > cursor)
        #expect(later.allSatisfy { $0["customer"] == states[0]["customer"] })
        let merged = later.first { $0["type"] == "customer.merged" }
        #expect(merged == nil || merged?["alias"]?.stringValue?.utf8.count == 32)
        #expect(!later.map { $0.text() }.joined().contains("anonymous-7"))
        #expect(try rows(.events, of: bench).rows == first + later)
        await bench.close()
    }

    @Test func `deleted and damaged events are exported as events.expired`() async throws {
        let bench = try await ServerBench()
        for number in 1...4 { _ = try await bench.post(bench.purchase("\(number)"), for: "customer-\(number)") }
        try await numberEvents(bench)
        let (all, end) = try rows(.events, of: bench)
        #expect(all.count >= 4)
        try await bench.database.write { connection in
            try connection.perform("UPDATE event SET body = ?1 WHERE sequence = ?2", [.blob([0x7B]), .integer(end)])
            try connection.perform(
                "INSERT INTO event_horizon (app, environment, sequence) VALUES (?1, 'sandbox', 2)",
                [.text(ServerBench.app.rawValue)])
            try connection.perform("DELETE FROM event WHERE sequence <= 2", [])
        }
        let (later, _) = try rows(.events, of: bench, since: 1)
        #expect(later.first?["type"] == "events.expired" && later.first?["sequence"] == 2)
        #expect(later.last?["type"] == "events.expired" && later.last?["customer"] == nil)
        // An export from the beginning has only the remaining events, and no row about deleted ones.
        #expect(try rows(.events, of: bench).rows.first?["type"] == "customer.updated")
        await bench.close()
    }

    @Test func `the feed is exported as it is streamed`() async throws {
        let bench = try await ServerBench()
        for number in 1...3 { _ = try await bench.post(bench.purchase("\(number)"), for: "customer-\(number)") }
        try await numberEvents(bench)
        let (feed, cursor) = try rows(.feed, of: bench)
        let streamed = try await EventListener(bench, after: "0").events(feed.count)
        #expect(feed == streamed.map(\.data) && feed.last?["id"]?.stringValue == String(cursor))
        try await bench.database.write { connection in
            try connection.perform("UPDATE event SET body = ?1", [.blob([0x7B])])
        }
        bench.clock.advance(by: 86400)
        let damaged = try rows(.feed, of: bench).rows
        #expect(damaged == (try await EventListener(bench, after: "0").events(feed.count)).map(\.data))
        let now = JSONValue.string(RFC3339.string(from: bench.clock.now()))
        #expect(damaged.allSatisfy { $0["type"] == "events.expired" && $0["createdAt"] == now })
        await bench.close()
    }

    @Test func `an export that continues while others write has each event once, in order`() async throws {
        let bench = try await ServerBench()
        let (writers, events) = (4, 50)
        var exported: [Int64] = []
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    for number in 0..<events { try await bench.writeEvent(about: "c\(writer)-\(number)") }
                }
            }
            var cursor: Int64 = 0
            try await until("all events are exported") {
                try await numberEvents(bench)
                let page = try LedgerExport.page(
                    .feed, of: bench.database, after: cursor, clock: bench.clock)
                exported += page.map(\.position)
                cursor = page.last?.position ?? cursor
                return exported.count >= writers * events
            }
            try await group.waitForAll()
        }
        #expect(exported == Array(1...Int64(writers * events)))
        await bench.close()
    }

    @Test func `every customer appears once, over many pages`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.purchase("1"), for: "anna")
        try await bench.database.write { connection in
            try connection.perform(
                """
                WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2999)
                INSERT INTO customer (app, environment, id, app_account_token, first_seen_at, revision, answer, etag,
                    content_digest, valid_from, valid_until)
                SELECT app, environment, 'copy-' || n, app_account_token, first_seen_at, revision, answer, etag,
                    content_digest, valid_from, valid_until
                FROM customer, numbers WHERE id = 'anna'
                """, [])
        }
        let (states, _) = try rows(.states, of: bench)
        let customers = states.compactMap { $0["customer"]?.stringValue.map { ExactString($0) } }
        #expect(Set(customers).count == 3000)
        #expect(states.filter { $0["kind"] == "purchase" }.count == 3000)
        await bench.close()
    }

    @Test func `an erased customer has another pseudonym`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("1"), for: "anna")
        let before = try rows(.states, of: bench).rows
        _ = try await bench.send(.delete, "/v1/customers/anna", as: .secret)
        let after = try rows(.states, of: bench).rows
        #expect(!after.contains { $0["customer"] == before[0]["customer"] })
        await bench.close()
    }
}
