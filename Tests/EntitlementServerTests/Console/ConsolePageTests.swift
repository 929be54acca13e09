import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// The pages that read customers.
@Suite(.onBothEngines) struct ConsolePageTests {
    /// Returns the address of a link whose text contains `text`.
    private func link(_ text: String, in page: String) throws -> String {
        let links = page.matches(of: /<a [^>]*href="([^"]+)"[^>]*>(.*?)<\/a>/)
        let found = try #require(links.first { $0.output.2.contains(text) }, "\(text)")
        return found.output.1.replacingOccurrences(of: "&amp;", with: "&")
            .replacingOccurrences(of: "#facts", with: "")
    }

    private func follow(_ text: String, in page: String, _ visitor: ConsoleVisitor) async throws -> String {
        let target = try link(text, in: page)
        let reply = try await visitor.get(String(target.dropFirst(ConsoleRoute.root.count)))
        try #require(reply.status == 200)
        return reply.text
    }

    /// Returns the text of the `pre` element with this id.
    private func content(_ id: String, in page: String) throws -> String {
        let start = try #require(page.range(of: "id=\"\(id)\""))
        let open = try #require(page.range(of: ">", range: start.upperBound..<page.endIndex))
        let end = try #require(page.range(of: "</pre>", range: open.upperBound..<page.endIndex))
        return page[open.upperBound..<end.lowerBound].replacingOccurrences(of: "&quot;", with: "\"")
    }

    @Test func `a customer is found by id, alias, web order line item id and transaction id`() async throws {
        let bench = try await ServerBench.withConsole()
        let signed = try bench.period("7") { $0.webOrderLineItemId = "70" }
        _ = try await bench.post(signed)
        _ = try await bench.post(bench.period("8", of: "7"))
        _ = try await bench.post(bench.purchase("9"), for: "ben")
        let alias = try await bench.send(
            .post, "/v1/customers/anna/aliases", as: .secret, body: .json(["alias": "anonymous-1"]))
        #expect(alias.status == 200)
        let visitor = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly)
        for query in ["an", "anna", "anonymous-", "7", "70", "8"] {
            let page = try await visitor.get("?query=\(query)").text
            #expect(page.contains("/console/customer?environment=sandbox&amp;id=anna\""), "\(query)")
            #expect(!page.contains("id=ben\""), "\(query)")
        }
        #expect(try await visitor.get("").text.contains("id=ben\""))
        #expect(try await visitor.get("?query=missing").text.contains("No customers match"))
        #expect(try await visitor.get("?query=" + String(repeating: "a", count: 256)).status == 400)
        let byAlias = try await visitor.customer("anonymous-1")
        #expect(byAlias.status == 200 && byAlias.text.contains("<h1 id=\"title\"><code><bdi>anna"))
        #expect(try await visitor.customer("nobody").status == 404)
        await bench.close()
    }

    @Test func `an order id is looked up at the App Store and leads to the search for its purchase`() async throws {
        let appStore = ScriptedStatusTransport()
        let bench = try await appStore.bench()
        _ = try await bench.post(bench.period("8", of: "7"))
        let visitor = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly)
        let (renewed, unknown) = (try bench.period("8", of: "7"), try bench.purchase("5"))
        let foreign = try bench.sign(bench.purchasePayload("6"), by: ServerBench.foreignChain)
        func look(_ signed: [String], _ status: JSONValue = 0) async throws -> ServerBench.Reply {
            appStore.answer { ["status": status, "signedTransactions": .array(signed.map { .string($0) })] }
            return try await visitor.get("?query=MK5TTTVWJH")
        }
        let found = try await look([unknown, renewed])
        #expect(found.status == 303)
        let target = try #require(found.headers["Location"])
        #expect(target == "/console?environment=sandbox&query=7")
        #expect(try await visitor.get(String(target.dropFirst("/console".count))).text.contains("id=anna\""))
        let alone = try await look([unknown])
        #expect(alone.status == 404 && alone.text.contains("the purchase 5, which no customer"))
        let invalid = try await look([], 1)
        #expect(invalid.status == 404 && invalid.text.contains("knows no order MK5TTTVWJH"))
        #expect(try await look([foreign]).status == 502)
        #expect(appStore.asked == Array(repeating: "MK5TTTVWJH", count: 4))
        // Nothing of it is stored, and other texts are not sent to the App Store.
        #expect(try bench.count("fact") == 1)
        for query in ["mk5tttvwjh", "MK5", "MK5TTTVWJH%20", "M/../../x0", "7"] {
            #expect(try await visitor.get("?query=\(query)").status == 200)
        }
        #expect(appStore.asked.count == 4)
        await bench.close()
    }

    @Test func `a feature leads to the facts of its purchase, and a fact to its signed bytes`() async throws {
        let bench = try await ServerBench.withConsole()
        let (first, other) = (try bench.period("1"), try bench.purchase("5"))
        _ = try await bench.post([first, other])
        bench.clock.advance(by: 86400)
        _ = try await bench.post([bench.period("2", of: "1", days: 60)], renewals: [bench.renewalInfo()])
        let visitor = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly)
        let page = try await visitor.customer().text
        #expect(page.contains("active subscription, renews"))
        #expect(try content("answer", in: page).contains("\"customer\": \"anna\""))
        let purchase = try await follow("facts of the purchase <code><bdi>1<", in: page, visitor)
        #expect(purchase.contains("Only facts of the purchase"))
        #expect(!purchase.contains("transaction <code><bdi>5<"))
        let fact = try await follow("transaction <code><bdi>1<", in: purchase, visitor)
        #expect(try content("signed", in: fact) == first)
        let payload = try JSONValue(parsing: try content("payload", in: fact))
        #expect(payload["transactionId"] == "1" && payload["productId"] == "pro.monthly")
        #expect(try JSONValue(parsing: try content("header", in: fact))["alg"] == "ES256")
        #expect(fact.contains("<code><bdi>anna</bdi></code> claimed the purchase (presented)"))
        let renewal = try await follow("renewal <code><bdi>", in: page, visitor)
        #expect(renewal.contains("renews") && renewal.contains("without a new claim"))
        await bench.close()
    }

    @Test func `a fact names the notification that it came in`() async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.period("1"))
        bench.clock.advance(by: 86400)
        _ = try await bench.notify(bench.notification(transaction: bench.period("2", of: "1", days: 31)))
        let visitor = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly)
        let fact = try await follow("transaction <code><bdi>2<", in: try await visitor.customer().text, visitor)
        #expect(fact.contains("The notification <bdi>DID_RENEW</bdi>"))
        await bench.close()
    }

    @Test func `long lists of facts and customers have pages`() async throws {
        let bench = try await ServerBench.withConsole()
        for number in 1...120 { _ = try await bench.post(bench.purchase("\(1000 + number)")) }
        for number in 1...60 { _ = try await bench.grant(to: "customer-\(100 + number)") }
        let visitor = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly)
        var page = try await visitor.customer().text
        var seen: [String] = []
        while true {
            seen += page.matches(of: />transaction <code><bdi>(\d+)</).map { String($0.output.1) }
            guard page.contains("Older facts") else { break }
            page = try await follow("Older facts", in: page, visitor)
        }
        #expect(seen == (1...120).reversed().map { String(1000 + $0) })
        let first = try await visitor.get("?query=customer-").text
        let second = try await follow("Next page", in: first, visitor)
        let ids = (first + second).matches(of: /customer\?environment=sandbox&amp;id=(customer-\d+)"/)
        #expect(ids.map { String($0.output.1) } == (1...60).map { "customer-\(100 + $0)" })
        #expect(!second.contains("Next page"))
        for path in ["/customer?id=anna&before=x", "/customer?id=anna&before=0", "/fact?id=anna&sequence=-1"] {
            #expect(try await visitor.get(path).status == 400, "\(path)")
        }
        #expect(try await visitor.get("/fact?id=anna&sequence=9223372036854775807").status == 404)
        await bench.close()
    }

    @Test func `the signed bytes of an erased customer are gone, and the pseudonym gets no grant`() async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.period("1"))
        let erased = try await bench.send(.delete, "/v1/customers/anna", as: .secret)
        let pseudonym = try #require(erased.json["pseudonym"]?.stringValue)
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        #expect(try await visitor.customer("anna").status == 404)
        let page = try await visitor.customer(pseudonym).text
        #expect(page.contains("<dt>Erased</dt>") && !page.contains("Grant a feature"))
        let fact = try await follow("transaction <code><bdi>1<", in: page, visitor)
        #expect(fact.contains("signed bytes were erased") && fact.contains("pro.monthly"))
        let refused = try await visitor.submit(
            "/grants/review", [("id", pseudonym), ("feature", "pro"), ("reason", "x")])
        #expect(refused.status == 409)
        await bench.close()
    }

    @Test func `a fact of another customer, or an unknown fact, has no page`() async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.purchase("1"))
        _ = try await bench.post(bench.purchase("2"), for: "ben")
        _ = try await bench.post(bench.purchase("3"))
        let visitor = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly)
        let numbers = try await visitor.customer().text.matches(of: /sequence=(\d+)"/).compactMap { Int($0.output.1) }
        let others = try await visitor.customer("ben").text.matches(of: /sequence=(\d+)"/).compactMap {
            Int($0.output.1)
        }
        #expect(numbers.count == 2 && others.count == 1)
        for number in numbers {
            #expect(try await visitor.get("/fact?id=anna&sequence=\(number)").text.contains("Fact \(number):"))
        }
        let last = (numbers + others).max() ?? 0
        for number in others + [last + 1, last + 100] {
            let reply = try await visitor.get("/fact?id=anna&sequence=\(number)")
            #expect(reply.status == 404 && reply.text.contains("no such fact"), "\(number)")
        }
        await bench.close()
    }

    @Test func `a customer of another environment or app is not shown`() async throws {
        let bench = try await ServerBench.withConsole { $0.environments = [.sandbox, .production] }
        _ = try await bench.post(bench.purchase("1"))
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        #expect(try await visitor.customer("anna", [("environment", "sandbox")]).status == 200)
        #expect(try await visitor.customer("anna", [("environment", "production")]).status == 404)
        #expect(try await visitor.customer("anna", [("environment", "moon")]).status == 400)
        let other = try await ConsoleVisitor.signedIn(at: bench, of: ServerBench.otherApp)
        #expect(try await other.customer().status == 404)
        #expect(!(try await other.get().text.contains("id=anna")))
        await bench.close()
    }
}
