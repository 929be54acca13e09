import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// The audit log: each action has an entry, which is written in the transaction of its change.
@Suite(.onBothEngines) struct ConsoleAuditTests {
    private static let name = "customer-of-whom-nothing-is-to-stay"

    private func bench() async throws -> ServerBench {
        try await ServerBench.withConsole { $0.apps[0].credits = CreditTests.table }
    }

    private func actions(_ bench: ServerBench) throws -> [String] {
        try bench.database.read { connection in
            try connection.query("SELECT action FROM audit_entry ORDER BY sequence").map { try $0["action"] }
        }
    }

    /// The path and the fields of each action on anna, who has coins and a grant.
    private func forms(_ bench: ServerBench) async throws -> [(path: String, fields: [(String, String)])] {
        _ = try await bench.post([bench.coins("1"), bench.purchase("2")])
        let grant = try #require(try await bench.grant("gift").customer().features.first { $0.name == "gift" }?.grantID)
        return [
            ("/grants", [("feature", "pro"), ("reason", "why-granted")]),
            ("/withdrawals", [("grant", grant)]),
            ("/credits", [("credit", "coins"), ("amount", "9"), ("reason", "why-given")]),
            ("/redemptions", [("credit", "coins"), ("type", "filter"), ("item", "cat"), ("reason", "why-redeemed")]),
            ("/transfers", [("purchase", "2"), ("to", "ben"), ("reason", "why-transferred")]),
            ("/merges", [("alias", "anonymous-1"), ("reason", "why-merged")]),
            ("/exports", [("reason", "why-exported")]),
            ("/erasures", []),
        ]
    }

    @Test func `each action except refreshes and replays writes one entry, also when its form is sent twice`()
        async throws
    {
        let bench = try await bench()
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        #expect(try actions(bench) == ["signIn"])
        var expected = ["signIn"]
        let names = ["grant", "withdraw", "giveCredit", "redeem", "transfer", "merge", "export", "erase"]
        for ((path, fields), name) in zip(try await forms(bench), names) {
            let more = path == "/erasures" ? [("confirm", "anna")] : []
            let replies = try await visitor.act(path, [("id", "anna")] + fields, adding: more)
            let status = path == "/exports" ? 200 : 303
            #expect(replies.map(\.status) == [status, status], "\(path)")
            #expect(replies[0].location == replies[1].location)
            expected.append(name)
            #expect(try actions(bench) == expected)
            if path == "/exports" {
                let page = try await visitor.get("/audit").text
                for words in [
                    "granted <code><bdi>pro<", "why-granted", "withdrew the grant", "took 5 of the credit", "cat",
                    "gave 9 of the credit", "why-given",
                    "transferred the purchase <code><bdi>2<", "to <code><bdi>ben<", "merged the name", "why-exported",
                    "full access",
                ] { #expect(page.contains(words), "\(words)") }
                let own = try await visitor.customer().text
                #expect(own.contains("why-merged") && own.contains("why-redeemed"))
                #expect(try await visitor.customer("ben").text.contains("why-transferred"))
                #expect(try await visitor.get("/audit?id=ben").text.contains("why-transferred"))
                #expect(!(try await visitor.get("/audit?id=ben").text.contains("why-granted")))
                let export = try await bench.send(.get, "/v1/customers/anna/export", as: .secret)
                let exported = export.json["actions"]?.arrayValue ?? []
                #expect(exported.compactMap { $0["action"]?.stringValue }.sorted() == names.dropLast().sorted())
                #expect(exported.contains { $0["reason"] == "why-granted" && $0["createdAt"] != nil })
            }
        }
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `an action whose entry cannot be written changes nothing`() async throws {
        let bench = try await bench()
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let forms = try await forms(bench)
        var reviewed: [(String, [(String, String)])] = []
        for (path, fields) in forms {
            let review = try await visitor.review(path, [("id", "anna")] + fields)
            reviewed.append((path, review.fields + (path == "/erasures" ? [("confirm", "anna")] : [])))
        }
        let tables = [
            "customer_grant", "granted_credit", "redemption", "claim", "alias", "event", "idempotency_key",
            "erased_name",
        ]
        let before = try tables.map { try bench.count($0) }
        try await bench.database.write { connection in
            try connection.execute("ALTER TABLE audit_entry RENAME TO hidden_entry")
        }
        for (path, fields) in reviewed {
            let reply = try await visitor.post(path, fields)
            #expect(reply.status >= 500, "\(path)")
            #expect(!reply.text.contains("\"facts\""))
        }
        #expect(try tables.map { try bench.count($0) } == before)
        #expect(try await bench.get().active() == ["gift", "tools"])
        let secret = try #require(bench.keys[ServerBench.app]).secretKey
        #expect(try await visitor.signIn(secret).headers["Set-Cookie"] == nil)
        try await bench.database.write { connection in
            try connection.execute("ALTER TABLE hidden_entry RENAME TO audit_entry")
        }
        for (path, fields) in reviewed { #expect(try await visitor.post(path, fields).status < 400, "\(path)") }
        await bench.close()
    }

    @Test func `a refused action has no entry`() async throws {
        let bench = try await bench()
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        _ = try await bench.post(bench.purchase("2"))
        _ = try await bench.post(bench.purchase("3"), for: "ben")
        _ = try await bench.alias("anonymous-1", to: "ben")
        let wrong: [(String, [(String, String)])] = [
            ("/grants", [("feature", "")]), ("/withdrawals", [("grant", "unknown")]),
            ("/redemptions", [("credit", "coins"), ("type", "filter"), ("item", "cat")]),
            ("/transfers", [("purchase", "3"), ("to", "carl")]), ("/merges", [("alias", "anonymous-1")]),
            ("/erasures", [("confirm", "Anna")]), ("/refreshes", [("purchase", "2")]),
        ]
        for (path, fields) in wrong {
            let reply = try await visitor.submit(path, [("id", "anna"), ("request", path)] + fields)
            #expect((400..<500).contains(reply.status), "\(path)")
        }
        _ = try await ConsoleVisitor(bench: bench).signIn("souk_secret_x")
        #expect(try actions(bench) == ["signIn"])
        // A name that is an alias already: nothing changes.
        #expect(
            try await visitor.submit("/merges", [("id", "ben"), ("alias", "anonymous-1"), ("request", "1")]).status
                == 303)
        #expect(try actions(bench) == ["signIn"])
        await bench.close()
    }

    @Test func `a review cannot be used for another action`() async throws {
        let bench = try await bench()
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        _ = try await bench.post(bench.purchase("2"))
        let grant = try #require(try await bench.grant("gift").customer().features.first { $0.name == "gift" }?.grantID)
        let fields = [("id", "anna"), ("request", "r"), ("feature", "pro"), ("reason", "x"), ("grant", grant)]
        #expect(try await visitor.submit("/grants", fields).status == 303)
        for path in ["/withdrawals", "/credits", "/exports", "/merges", "/transfers", "/erasures"] {
            let more = [
                ("credit", "coins"), ("amount", "9"), ("alias", "anonymous-1"), ("purchase", "2"), ("to", "ben"),
                ("confirm", "anna"),
            ]
            #expect(try await visitor.submit(path, fields + more).status == 422, "\(path)")
        }
        #expect(try actions(bench) == ["signIn", "grant"])
        #expect(try await bench.get().active() == ["gift", "pro", "tools"])
        await bench.close()
    }

    @Test func `after an erasure the audit log has only the pseudonym`() async throws {
        let bench = try await bench()
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        _ = try await bench.post([bench.coins("1"), bench.purchase("2")], for: Self.name)
        _ = try await bench.post(bench.purchase("5"), for: "giver")
        for (path, fields) in [
            ("/grants", [("feature", "pro"), ("reason", "for \(Self.name)")]),
            ("/credits", [("credit", "coins"), ("amount", "9"), ("reason", "\(Self.name) waited")]),
            ("/redemptions", [("credit", "coins"), ("type", "filter"), ("item", "portrait-of-\(Self.name)")]),
            ("/merges", [("alias", "alias-of-\(Self.name)"), ("reason", "\(Self.name) asked")]),
            ("/transfers", [("purchase", "2"), ("to", "heir"), ("reason", "of \(Self.name)")]),
        ] { _ = try await visitor.act(path, [("id", Self.name)] + fields) }
        let received = [("id", "giver"), ("purchase", "5"), ("to", Self.name), ("reason", "to \(Self.name)")]
        _ = try await visitor.act("/transfers", received)
        let replies = try await visitor.act("/erasures", [("id", Self.name)], adding: [("confirm", Self.name)])
        #expect(replies.map(\.status) == [303, 303] && replies[0].location == replies[1].location)
        let target = try #require(replies[0].location)
        let pseudonym = try #require(target.firstMatch(of: /id=(erased-[^&]+)/)).output.1
        let own = try await visitor.get(String(target.dropFirst(8)))
        #expect(own.status == 200 && own.text.contains("was erased. This is the pseudonym"))
        for page in ["/audit", "/audit?id=\(pseudonym)", "/audit?id=heir", "/audit?id=giver"] {
            let text = try await visitor.get(page).text
            #expect(text.contains(pseudonym) && !text.contains(Self.name), "\(page)")
        }
        #expect(own.text.contains("erased the customer, with 2 purchases"))
        #expect(try await visitor.get("/audit?id=\(Self.name)").status == 404)
        let rows = try bench.database.read { connection in
            try connection.query("SELECT * FROM audit_entry").map { "\($0)" }.joined()
        }
        #expect(!rows.contains(Self.name))
        if ServerBench.engine == .sqlite {
            for file in try FileManager.default.contentsOfDirectory(atPath: bench.folder.url.path) {
                let data = try Data(contentsOf: bench.folder.url.appendingPathComponent(file))
                #expect(data.range(of: Data(Self.name.utf8)) == nil, "\(file)")
            }
        }
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `a merge over HTTP moves the entries of the alias`() async throws {
        let bench = try await bench()
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        _ = try await bench.post(bench.purchase("1"))
        _ = try await bench.post(bench.purchase("2"), for: "anonymous-1")
        _ = try await visitor.act("/grants", [("id", "anonymous-1"), ("feature", "pro"), ("reason", "moved")])
        _ = try await bench.alias("anonymous-1")
        #expect(try await visitor.customer().text.contains("moved"))
        #expect(try await visitor.get("/audit?id=anonymous-1").text.contains("moved"))
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `the audit log has pages, and shows the label of the key`() async throws {
        let bench = try await bench()
        let (entry, key) = try await APIKeys(database: bench.database).create(
            .secret, for: ServerBench.app, label: "anna <b>")
        let visitor = try await ConsoleVisitor.signedIn(at: bench, key: key)
        _ = try await bench.post(bench.purchase("1"))
        let grants = (1...60).map { [("id", "anna"), ("feature", "f\($0)"), ("reason", "x"), ("request", "r\($0)")] }
        for fields in grants { #expect(try await visitor.submit("/grants", fields).status == 303) }
        func features(_ page: String) -> [String] {
            page.matches(of: /granted <code><bdi>(f\d+)</).map { String($0.output.1) }
        }
        for path in ["/audit?", "/audit?id=anna&"] {
            let first = try await visitor.get(path).text
            #expect(first.contains("anna &lt;b&gt;") && first.contains(entry.id))
            let next = try #require(first.firstMatch(of: /before=(\d+)[^"]*">Older entries/)).output.1
            let second = try await visitor.get("\(path)before=\(next)").text
            #expect(features(first) + features(second) == (1...60).reversed().map { "f\($0)" })
            #expect(!second.contains("Older entries"))
        }
        #expect(features(try await visitor.customer().text).count == 10)
        let other = try await ConsoleVisitor.signedIn(at: bench, of: ServerBench.otherApp)
        let foreign = try await other.get("/audit").text
        #expect(features(foreign).isEmpty && foreign.contains("signed in") && !foreign.contains(entry.id))
        #expect(try await visitor.get("/audit?before=x").status == 400)
        await bench.close()
    }
}
