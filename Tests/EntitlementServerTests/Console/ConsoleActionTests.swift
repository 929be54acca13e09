import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// Grants and withdrawals, each with a review that shows the effect.
@Suite(.onBothEngines) struct ConsoleActionTests {
    private func form(_ action: String, in page: String) throws -> [(String, String)] {
        try ConsoleVisitor.form(action, in: page)
    }

    @Test func `a grant is reviewed, given once, and withdrawn after a review`() async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.purchase("1"))
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let text = String(RFC3339.string(from: bench.clock.now().addingTimeInterval(86400)).prefix(16))
        let until = try #require(RFC3339.date(from: text + ":00Z"))
        let review = try await visitor.submit(
            "/grants/review", [("id", "anna"), ("feature", "pro"), ("reason", "a gift"), ("until", text)])
        #expect(review.status == 200 && review.text.contains("until <time datetime=\"\(text):00Z\""))
        #expect(try bench.count("customer_grant") == 0)
        let fields = try form("/console/grants", in: review.text)
        for _ in 0..<2 {
            let given = try await visitor.post("/grants", fields)
            #expect(given.status == 303)
            #expect(given.location == "/console/customer?environment=sandbox&id=anna&done=granted")
        }
        #expect(try bench.count("customer_grant") == 1)
        let feature = try #require(try await bench.get().customer().features.first { $0.name == "pro" })
        #expect(feature.isActive && feature.because == "granted: a gift" && feature.effectiveUntil == until)
        let changed = fields.map { $0.0 == "reason" ? ($0.0, "another") : $0 }
        #expect(try await visitor.post("/grants", changed).status == 422)

        let page = try await visitor.customer("anna", [("done", "granted")]).text
        #expect(page.contains("The feature was granted.") && page.contains("a gift"))
        let withdrawal = try await visitor.post(
            "/withdrawals/review", try form("/console/withdrawals/review", in: page))
        #expect(withdrawal.text.contains("loses the feature"))
        #expect(try await bench.get().active().contains("pro"))
        let last = try form("/console/withdrawals", in: withdrawal.text)
        for _ in 0..<2 {
            #expect(try await visitor.post("/withdrawals", last).location?.hasSuffix("done=withdrawn") == true)
            #expect(!(try await bench.get().active().contains("pro")))
        }
        let other = last.map { $0.0 == "request" ? ($0.0, "another") : $0 }
        #expect(try await visitor.post("/withdrawals", other).status == 404)
        #expect(try await visitor.post("/withdrawals/review", last).status == 404)
        await bench.close()
    }

    @Test func `the review of a withdrawal says what still gives the feature`() async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.period("1"))
        _ = try await bench.grant("pro")
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let page = try await visitor.customer().text
        let review = try await visitor.post("/withdrawals/review", try form("/console/withdrawals/review", in: page))
        #expect(review.text.contains("keeps the feature") && review.text.contains("active subscription"))
        let again = try await visitor.submit(
            "/grants/review", [("id", "anna"), ("feature", "pro"), ("reason", "more")])
        #expect(again.text.contains("has the feature already") && again.text.contains("without an end"))
        await bench.close()
    }

    @Test func `a read-only session sees grants without actions`() async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.grant("pro")
        let page = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly).customer().text
        #expect(page.contains("support") && page.contains("read only"))
        #expect(!page.contains("Withdraw…") && !page.contains("/console/grants"))
        await bench.close()
    }

    @Test(arguments: [
        [("feature", "")], [("reason", "")], [("reason", String(repeating: "x", count: 1001))],
        [("until", "tomorrow")], [("until", "2000-01-01T00:00")], [("id", "")], [("environment", "moon")],
    ])
    func `an invalid field is refused in the review and in the action`(change: [(String, String)]) async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.purchase("1"))
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let right = [("id", "anna"), ("feature", "pro"), ("reason", "x"), ("until", ""), ("request", "1")]
        let fields = change + right.filter { field in !change.contains { $0.0 == field.0 } }
        for path in ["/grants/review", "/grants"] {
            let reply = try await visitor.submit(path, fields)
            #expect(reply.status == 400, "\(change)")
        }
        #expect(try bench.count("customer_grant") == 0)
        await bench.close()
    }
}
