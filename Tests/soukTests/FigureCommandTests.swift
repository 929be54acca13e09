import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import Testing

/// `souk figures` beside a server.
@Suite struct FigureCommandTests {
    @Test func `a purchase appears in the figures, and a changed sum is found`() async throws {
        let shop = try SignedShop()
        func souk(_ words: String...) async throws -> SoukExecutable.Outcome {
            try await SoukExecutable.run(words + ["--database", shop.database])
        }
        let server = try await shop.serve()
        let now = Date()
        let signed = try shop.subscription(
            "1", from: now.addingTimeInterval(-3600), until: now.addingTimeInterval(30 * 86400), environment: .sandbox)
        let request = try shop.presentation(of: signed, by: "anna", to: server)
        #expect(try await CurlTransport.platformDefault().send(request).status == 200)
        try await until("the purchase is counted") {
            let outcome = try await souk("figures", "active-subscriptions", "--json")
            #expect(outcome.status == 0)
            return outcome.json?["rows"]?.arrayValue?.last?["value"] == 1
        }
        let verified = try await souk("figures", "verify", "--json")
        #expect(verified.status == 0 && verified.json?["ok"] == true && verified.json?["facts"] == 1)
        let grouped = try await souk("figures", "active-subscriptions", "--group", "product", "--by", "week")
        #expect(grouped.output.hasSuffix("  plus  1\n"))
        let production = try await souk(
            "figures", "active-subscriptions", "--environment", "production", "--by", "month")
        #expect(production.output.hasSuffix("  0\n"))
        let all = try await souk("figures", "--by", "month")
        #expect(all.status == 0 && all.output.split(separator: "\n").count == 22)
        #expect(try await souk("figures", "--json").json?["figures"]?.arrayValue?.count == 22)
        #expect(await server.stop() == 0)

        let database = try SQLiteDatabase(path: String(shop.database.dropFirst("sqlite:".count)))
        try await database.write { try $0.perform("UPDATE figure SET value = 2 WHERE measure = 'new'", []) }
        await database.close()
        let differing = try await souk("figures", "verify")
        #expect(differing.status == 1)
        #expect(differing.output.contains("is 2, and the facts give 1"))
    }

    @Test(arguments: [
        (["revenu"], "revenue"), (["mrr", "--from", "soon"], "2026-11-20"), (["mrr", "--group", "customer"], "source"),
        (["mrr", "--from", "9000-01-01"], "--from"), (["mrr", "--environment", "test"], "sandbox"),
        (["mrr", "--by", "year"], "month"),
    ])
    func `the error for an invalid argument names the option or a valid value`(words: [String], expected: String)
        async throws
    {
        let outcome = try await SoukExecutable.run(["figures"] + words)
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains(expected), "\(outcome.errors)")
    }
}
