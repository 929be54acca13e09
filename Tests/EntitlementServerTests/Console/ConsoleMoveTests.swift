import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// Transfers, merges, redemptions, exports, erasures and refreshes, each with its review.
@Suite(.onBothEngines) struct ConsoleMoveTests {
    @Test func `the review of a transfer names the lost features, and the transfer moves the purchase once`()
        async throws
    {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post([bench.period("1"), bench.purchase("2")])
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let fields = [("id", "anna"), ("purchase", "1"), ("to", "ben"), ("reason", "a mistake")]
        let review = try await visitor.review("/transfers", fields)
        #expect(review.text.contains("loses at once: <code><bdi>pro<"))
        #expect(review.text.contains("does not know the receiver yet") && review.text.contains("a mistake"))
        #expect(try await bench.get("ben").active() == [])
        for _ in 0..<2 {
            let reply = try await visitor.post("/transfers", review.fields)
            #expect(reply.location == "/console/customer?environment=sandbox&id=anna&done=transferred")
        }
        #expect(try await bench.get().active() == ["tools"])
        #expect(try await bench.get("ben").active() == ["pro"])
        let events = try bench.count("event")
        _ = try await visitor.post("/transfers", review.fields)
        #expect(try bench.count("event") == events)
        let other = review.fields.map { $0.0 == "to" ? ("to", "carl") : $0 }
        #expect(try await visitor.post("/transfers", other).status == 422)
        for (to, purchase, status) in [("ben", "1", 404), ("anna", "2", 400), ("", "2", 400), ("ben", "x\u{1}", 400)] {
            let reply = try await visitor.submit(
                "/transfers/review", [("id", "anna"), ("purchase", purchase), ("to", to)])
            #expect(reply.status == status, "\(to) \(purchase)")
        }
        _ = try await bench.alias("anonymous-1", to: "ben")
        let named = try await visitor.review("/transfers", [("id", "anna"), ("purchase", "2"), ("to", "anonymous-1")])
        #expect(named.text.contains("to <code><bdi>ben<") && named.text.contains("another name of the receiver"))
        await bench.close()
    }

    @Test func `the review of a transfer says that no access ends if another purchase gives the feature`() async throws
    {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post([bench.period("1"), bench.period("2", product: "pro.yearly")])
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let review = try await visitor.review("/transfers", [("id", "anna"), ("purchase", "1"), ("to", "ben")])
        #expect(review.text.contains("No access of <code><bdi>anna</bdi></code> ends"))
        await bench.close()
    }

    @Test func `the review of a merge says what moves, and the merge moves it once`() async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.purchase("1"))
        _ = try await bench.post(bench.period("2"), for: "anonymous-1")
        _ = try await bench.alias("anonymous-2", to: "ben")
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let review = try await visitor.review("/merges", [("id", "anna"), ("alias", "anonymous-1")])
        #expect(review.text.contains("It has <code><bdi>pro<") && review.text.contains("cannot be undone"))
        for _ in 0..<2 { #expect(try await visitor.post("/merges", review.fields).status == 303) }
        #expect(try await bench.get().active() == ["pro", "tools"])
        #expect(try bench.count("alias") == 2)
        for (alias, status) in [("anna", 409), ("anonymous-1", 409), ("anonymous-2", 409), ("", 400)] {
            let reply = try await visitor.submit("/merges/review", [("id", "anna"), ("alias", alias)])
            #expect(reply.status == status, "\(alias)")
        }
        let taken = [("id", "anna"), ("alias", "anonymous-2"), ("request", "r")]
        #expect(try await visitor.submit("/merges", taken).status == 409)
        let new = try await visitor.review("/merges", [("id", "anna"), ("alias", "typo")])
        #expect(new.text.contains("does not know the name yet"))
        await bench.close()
    }

    @Test func `credit is taken once, and only if there is enough`() async throws {
        let bench = try await ServerBench.withConsole { $0.apps[0].credits = CreditTests.table }
        _ = try await bench.post(bench.coins("1"))
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let fields = [("id", "anna"), ("credit", "coins"), ("type", "frame"), ("item", "oak")]
        let review = try await visitor.review("/redemptions", fields)
        #expect(review.text.contains("100 is there now") && review.text.contains("40 is left"))
        for _ in 0..<2 { #expect(try await visitor.post("/redemptions", review.fields).status == 303) }
        #expect(try await bench.credit().json["balance"]?.intValue == 40)
        let second = fields.dropLast() + [("item", "elm"), ("request", "r")]
        for path in ["/redemptions/review", "/redemptions"] {
            let reply = try await visitor.submit(path, Array(second))
            #expect(reply.status == 409 && reply.text.contains("40 is left"))
        }
        for change in [("credit", "gems"), ("type", "none"), ("item", "")] {
            let wrong = fields.map { $0.0 == change.0 ? change : $0 } + [("request", "s")]
            #expect([400, 404].contains(try await visitor.submit("/redemptions", wrong).status))
        }
        // Redeeming the item again changes nothing and writes no entry.
        let entries = try bench.count("audit_entry")
        let again = fields.map { $0.0 == "type" ? ("type", "filter") : $0 } + [("request", "t")]
        #expect(try await visitor.submit("/redemptions", again).status == 303)
        #expect(try await bench.credit().json["balance"]?.intValue == 40)
        #expect(try bench.count("audit_entry") == entries)
        await bench.close()
    }

    @Test func `an export is a file with the facts and actions of the HTTP API's export`() async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.period("1"))
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let replies = try await visitor.act("/exports", [("id", "anna")])
        let wire = try await bench.send(.get, "/v1/customers/anna/export", as: .secret)
        for reply in replies {
            #expect(reply.headers["Content-Disposition"] == "attachment; filename=\"customer.json\"")
            #expect(reply.headers["Cache-Control"] == "no-store")
            #expect(reply.json["facts"] == wire.json["facts"] && reply.json["facts"]?.arrayValue?.count == 1)
            #expect(reply.json["actions"] == wire.json["actions"])
        }
        #expect(try await visitor.submit("/exports", [("id", "nobody"), ("request", "r")]).status == 404)
        await bench.close()
    }

    @Test func `an erasure needs the exact id, and its repetition shows the pseudonym`() async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.period("1"))
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let review = try await visitor.review("/erasures", [("id", "anna")])
        #expect(review.text.contains("loses at once: <code><bdi>pro<") && review.text.contains("name=\"confirm\""))
        for typed in ["", "Anna", "anna ", "ann"] {
            let reply = try await visitor.post("/erasures", review.fields + [("confirm", typed)])
            #expect(reply.status == 400 && reply.text.contains("Nothing was erased"))
        }
        #expect(try await visitor.post("/erasures", review.fields).status == 400)
        #expect(try await bench.get().active() == ["pro"])
        let form = review.fields + [("confirm", "anna")]
        let first = try await visitor.post("/erasures", form)
        let target = try #require(first.location)
        #expect(first.status == 303 && target.contains("id=erased-"))
        #expect(try await visitor.post("/erasures", form).location == target)
        #expect(try bench.count("erased_name") > 0)
        #expect(try await visitor.customer("anna").status == 404)
        let pseudonym = try #require(target.firstMatch(of: /id=([^&]+)/)).output.1
        let again = try await visitor.submit("/erasures/review", [("id", String(pseudonym))])
        #expect(again.status == 409)
        await bench.close()
    }

    @Test func `a refresh stores the App Store's answer, and asks once in five minutes`() async throws {
        let appStore = ScriptedStatusTransport()
        let bench = try await appStore.bench()
        _ = try await bench.post([bench.period("1"), bench.purchase("2")])
        bench.clock.advance(by: 31 * 86400)
        #expect(try await bench.get().active() == ["tools"])
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        #expect(try await visitor.customer().text.contains("Refresh a subscription"))
        let form = try await visitor.review("/refreshes", [("id", "anna"), ("purchase", "1")]).fields
        #expect(appStore.asked == [])
        appStore.answer { try bench.renewed() }
        for _ in 0..<2 {
            #expect(try await visitor.post("/refreshes", form).location?.hasSuffix("done=refreshed") == true)
        }
        #expect(appStore.asked == ["1"])
        #expect(try await bench.get().active() == ["pro", "tools"])
        #expect(try await visitor.customer().text.contains("asked the store about the purchase"))
        let second = try await visitor.review("/refreshes", [("id", "anna"), ("purchase", "1")]).fields
        #expect(try await visitor.post("/refreshes", second).status == 409)
        #expect(appStore.asked == ["1"])
        bench.realClock.advance(by: 301)
        appStore.answer { throw HTTPError(.connectionFailed, "The network is down.") }
        let failed = try await visitor.post("/refreshes", second)
        #expect(failed.status == 502 && failed.text.contains("does not answer"))
        #expect(try bench.count("audit_entry") == 2)
        for (purchase, status) in [("2", 404), ("9", 404), ("", 400)] {
            let reply = try await visitor.submit("/refreshes/review", [("id", "anna"), ("purchase", purchase)])
            #expect(reply.status == status, "\(purchase)")
        }
        await bench.close()
    }

    @Test
    func `a read-only session has no forms of actions, and without a client of the App Store no session can refresh`()
        async throws
    {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.period("1"))
        let reader = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly).customer().text
        #expect(!reader.contains("/review") && reader.contains("read only"))
        let full = try await ConsoleVisitor.signedIn(at: bench).customer().text
        #expect(full.contains("/transfers/review") && !full.contains("/refreshes/review"))
        #expect(!full.contains("/redemptions/review"))
        await bench.close()
    }
}
