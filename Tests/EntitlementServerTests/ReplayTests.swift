import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

@Suite(.onBothEngines) struct ReplayTests {
    static let apps: [EntitlementService.Configuration.App] = [
        .init(bundleID: ServerBench.app, features: ServerBench.map), .init(bundleID: ServerBench.otherApp),
    ]

    private func replay(_ bench: ServerBench) throws -> LedgerReplay.Report {
        try LedgerReplay(database: bench.database, apps: Self.apps, clock: bench.clock).run()
    }

    /// Creates a ledger with purchases, a renewal info, a grant, an alias, a transfer and an erased customer.
    private func populatedBench() async throws -> ServerBench {
        let bench = try await ServerBench()
        let token = CustomerID("anna").appAccountToken
        _ = try await bench.post([bench.period("1") { $0.appAccountToken = token }], renewals: [bench.renewalInfo()])
        _ = try await bench.post(bench.purchase("2"), for: "anonymous-1")
        _ = try await bench.post(bench.purchase("3", product: "more"), for: "ben")
        _ = try await bench.post(bench.purchase("3", product: "more"), for: "cleo")
        _ = try await bench.grant("gift", until: bench.clock.now().addingTimeInterval(3600), to: "ben")
        _ = try await bench.alias("anonymous-1")
        bench.clock.advance(by: 40 * 86400)
        _ = try await bench.post(bench.period("4", of: "1"))
        _ = try await bench.transfer("2", to: "ben")
        _ = try await bench.send(.delete, "/v1/customers/cleo", as: .secret)
        return bench
    }

    @Test func `a ledger replays without differences, now and later`() async throws {
        let bench = try await populatedBench()
        var seen: [Int] = []
        let replay = LedgerReplay(database: bench.database, apps: Self.apps, clock: bench.clock)
        let report = try replay.run { seen.append($0) }
        #expect(report.differences == [])
        #expect(report.facts == 5 && report.purchases == 3 && report.customers == 3)
        #expect(report.factsWithoutSource == 1)
        #expect(try seen == Array(1...replay.size()))
        bench.clock.advance(by: 365 * 86400)
        #expect(try self.replay(bench).differenceCount == 0)
        await bench.close()
    }

    @Test(
        .onSQLite,
        arguments: [
            (
                "UPDATE fact SET summary = replace(summary, 'pro.monthly', 'pro.forever') WHERE transaction_id = '1'",
                "fact"
            ),
            ("UPDATE fact SET summary = '{}' WHERE kind = 'renewal'", "fact"),
            ("DELETE FROM fact WHERE transaction_id = '4'", "customer anna"),
            ("DELETE FROM holder WHERE original_transaction_id = '2'", "purchase 2"),
            ("UPDATE holder SET customer = 'mallory' WHERE original_transaction_id = '1'", "purchase 1"),
            ("DELETE FROM claim WHERE original_transaction_id = '2' AND kind = 'transferred'", "purchase 2"),
            ("UPDATE customer_grant SET valid_until = NULL", "customer ben"),
            ("DELETE FROM customer WHERE id = 'ben'", "customer ben"),
            ("UPDATE holder SET customer = 'unknown'", "customer unknown"),
            ("UPDATE customer SET content_digest = x'00' WHERE id = 'ben'", "customer ben"),
        ])
    func `an edited row is found`(statement: String, subject: String) async throws {
        let bench = try await populatedBench()
        #expect(try replay(bench).differenceCount == 0)
        try await bench.database.write { _ = try $0.execute(statement) }
        let report = try replay(bench)
        #expect(report.differences.contains { $0.subject.hasPrefix(subject) }, "\(report.differences)")
        await bench.close()
    }

    /// The headers of signed data are in another table than the facts, each with its digest.
    @Test func `a changed header is found, and repaired by the next fact with the same header`() async throws {
        let bench = try await populatedBench()
        try await bench.database.write { connection in
            for row in try connection.query("SELECT number, bytes FROM signed_header") {
                var bytes: [UInt8] = try row["bytes"]
                bytes[bytes.count / 2] ^= 1
                try connection.execute(
                    "UPDATE signed_header SET bytes = ?2 WHERE number = ?1",
                    [.integer(try row["number"]), .blob(bytes)])
            }
        }
        #expect(try replay(bench).differences.contains { $0.subject.hasPrefix("fact") })
        #expect(try await bench.send(.get, "/v1/customers/anna/export", as: .secret).status == 500)
        await bench.close()

        let next = try await ServerBench(folder: bench.folder, keys: bench.keys)
        next.clock.advance(by: 41 * 86400)
        _ = try await next.post(next.purchase("9", product: "more"), for: "ben")
        #expect(try replay(next).differences == [])
        #expect(try await next.send(.get, "/v1/customers/anna/export", as: .secret).status == 200)
        await next.close()
    }

    @Test func `a replay with another feature map than the server's, or without an app, is refused`() async throws {
        let bench = try await populatedBench()
        var other = Self.apps
        other[0].features = FeatureMap(features: ["pro": ["tools"]])
        for apps in [other, [Self.apps[0]]] {
            let error = #expect(throws: EntitlementServerError.self) {
                try LedgerReplay(database: bench.database, apps: apps, clock: bench.clock).run()
            }
            #expect(error?.code == .invalidConfiguration)
        }
        await bench.close()
    }

    @Test func `answers that are not yet recomputed for new rules are counted, not reported as differences`()
        async throws
    {
        let bench = try await populatedBench()
        await bench.close()
        let next = try await ServerBench(folder: bench.folder) {
            $0.apps[0].features = FeatureMap(features: ["pro": ["tools"]])
        }
        var apps = Self.apps
        apps[0].features = FeatureMap(features: ["pro": ["tools"]])
        let report = try LedgerReplay(database: next.database, apps: apps, clock: next.clock).run()
        #expect(report.staleAnswers == 3 && report.differences == [])
        await next.close()
    }
}
