import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// The page about the operation of the server.
@Suite(.onBothEngines) struct ConsoleOperationsTests {
    private func job(_ name: String, _ bench: ServerBench) throws -> BackgroundJob {
        try #require(bench.service.jobs.first { $0.name == name })
    }

    private func key(_ kind: KeyKind, _ bench: ServerBench) throws -> APIKeys.Entry {
        try #require(try APIKeys(database: bench.database).list(of: ServerBench.app).first { $0.kind == kind })
    }

    @Test func `an alarm is shown until the first notification arrives`() async throws {
        let bench = try await ServerBench.withConsole { $0.environments = [.sandbox, .production] }
        let visitor = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly)
        let empty = try await visitor.get("/operations").text
        #expect(empty.contains("id=\"alarm\"") && empty.contains("/v1/notifications/app-store"))
        for id in ["1", "2"] {
            _ = try await bench.notify(bench.notification(id, transaction: bench.period(id)))
            bench.clock.advance(by: 3600)
        }
        let page = try await visitor.get("/operations").text
        #expect(!page.contains("id=\"alarm\"") && page.contains("<dt>In the last 24 hours</dt><dd>2</dd>"))
        let last = RFC3339.string(from: bench.clock.now().addingTimeInterval(-3600))
        #expect(page.contains("<dt>Last received</dt><dd><time datetime=\"\(last)\""))
        bench.clock.advance(by: 22.5 * 3600)
        #expect(try await visitor.get("/operations").text.contains("<dt>In the last 24 hours</dt><dd>1</dd>"))
        bench.clock.advance(by: 86400)
        let later = try await visitor.get("/operations").text
        #expect(later.contains("<dt>In the last 24 hours</dt><dd>0</dd>") && later.contains(last))
        #expect(try await visitor.get("/operations?environment=production").text.contains("id=\"alarm\""))
        let other = try await ConsoleVisitor.signedIn(at: bench, of: ServerBench.otherApp)
        #expect(try await other.get("/operations").text.contains("id=\"alarm\""))
        await bench.close()
    }

    @Test func `a failed delivery is repeated once for each review, with an entry in the log`() async throws {
        let receiver = WebhookReceiver { _, _ in 500 }
        let bench = try await ServerBench.withWebhook(receiver) {
            $0.console = .loopback
            $0.webhookBackoff = .none
        }
        _ = try await bench.post(bench.purchase("1"))
        _ = try await bench.post(bench.purchase("2"), for: "ben")
        try await bench.deliver()
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let page = try await visitor.get("/operations").text
        #expect(page.contains("<dt>Failed</dt><dd>2</dd>") && page.contains("<dt>Pending</dt><dd>0</dd>"))
        #expect(page.contains("status 500") && page.contains("id=ben\"") && page.contains("value=\"all\""))
        let reader = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly).get("/operations").text
        #expect(reader.contains("status 500") && !reader.contains("/deliveries/replay"))

        let asked = try ConsoleVisitor.form("/console/deliveries/replay/review", in: page)
        let review = try await visitor.post("/deliveries/replay/review", asked)
        for words in [
            "to the webhook <code><bdi>crm<", "<code><bdi>customer.updated<", "about the customer <code><bdi>ben<",
            "Attempts: 1, last error: <bdi>status 500<", "The receiver may have the event already",
        ] { #expect(review.text.contains(words), "\(words)") }
        #expect(try await visitor.get("/operations").text.contains("<dt>Failed</dt><dd>2</dd>"))
        let form = try ConsoleVisitor.form("/console/deliveries/replay", in: review.text)
        for _ in 0..<2 {
            let reply = try await visitor.post("/deliveries/replay", form)
            #expect(reply.status == 303 && reply.location?.hasSuffix("done=1#deliveries") == true)
            let left = try await visitor.get("/operations").text
            #expect(left.contains("<dt>Failed</dt><dd>1</dd>") && !left.contains("value=\"all\""))
        }
        let again = form.map { $0.0 == "request" ? ("request", "another") : $0 }
        #expect(try await visitor.post("/deliveries/replay", again).status == 409)
        try await bench.deliver()
        #expect(receiver.all.count == 3)
        receiver.answers { _, _ in 200 }
        let every = try await visitor.review("/deliveries/replay", [("delivery", "all")])
        #expect(every.text.contains("The oldest 2 failed deliveries are queued again. They go to <code><bdi>crm<"))
        let all = try await visitor.post("/deliveries/replay", every.fields)
        #expect(all.location?.hasSuffix("done=2#deliveries") == true)
        try await bench.deliver()
        #expect(receiver.all.count == 5)
        let done = try await visitor.get("/operations?done=2").text
        #expect(done.contains("<dt>Failed</dt><dd>0</dd>") && done.contains("2 deliveries are queued again"))
        for (delivery, status) in [("99", 404), ("all", 404), ("x", 400), ("-1", 400), ("", 400)] {
            let reply = try await visitor.submit(
                "/deliveries/replay", [("delivery", delivery), ("request", "r" + delivery)])
            #expect(reply.status == status, "\(delivery)")
            let review = try await visitor.submit("/deliveries/replay/review", [("delivery", delivery)])
            #expect(review.status == status, "\(delivery)")
        }
        let log = try await visitor.get("/audit").text
        #expect(log.matches(of: /repeated 1 webhook delivery to <code><bdi>crm</).count == 1)
        #expect(log.matches(of: /repeated 2 webhook deliveries/).count == 1)
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `deliveries that fail after a review are not repeated by it`() async throws {
        let receiver = WebhookReceiver { _, _ in 500 }
        let bench = try await ServerBench.withWebhook(receiver) {
            $0.console = .loopback
            $0.webhookBackoff = .none
        }
        _ = try await bench.post(bench.purchase("1"))
        try await bench.deliver()
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let review = try await visitor.review("/deliveries/replay", [("delivery", "all")])
        #expect(review.text.contains("The oldest 1 failed"))
        _ = try await bench.post(bench.purchase("2"), for: "ben")
        try await bench.deliver()
        let reply = try await visitor.post("/deliveries/replay", review.fields)
        #expect(reply.location?.hasSuffix("done=1#deliveries") == true)
        #expect(try await visitor.get("/operations").text.contains("<dt>Failed</dt><dd>1</dd>"))
        await bench.close()
    }

    @Test func `a pending delivery is not repeated, and one that waits behind it counts as pending`() async throws {
        let bench = try await ServerBench.withWebhook(WebhookReceiver { _, _ in 500 }) { $0.console = .loopback }
        for id in ["1", "2"] { _ = try await bench.post(bench.purchase(id)) }
        try await bench.deliver()
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let page = try await visitor.get("/operations").text
        #expect(page.contains("<dt>Pending</dt><dd>2</dd>") && page.contains("<dt>Failed</dt><dd>0</dd>"))
        let waiting = page.matches(of: /<th scope="row">([0-9]+)<\/th>.*after an earlier one/).map(\.output.1)
        #expect(waiting == ["2"])
        let number = try #require(page.firstMatch(of: /<tr><th scope="row">([0-9]+)<\/th><td><bdi>crm/)).output.1
        let reply = try await visitor.submit(
            "/deliveries/replay", [("delivery", String(number)), ("request", "pending")])
        #expect(reply.status == 409)
        #expect(try await visitor.get("/operations").text.contains("<dt>Pending</dt><dd>2</dd>"))
        // The review of another action does not repeat a delivery.
        _ = try await visitor.submit(
            "/grants", [("id", "anna"), ("feature", "more"), ("reason", "x"), ("request", "g")])
        let foreign = try await visitor.submit("/deliveries/replay", [("delivery", "all"), ("request", "g")])
        #expect(foreign.status == 404 && foreign.location == nil)
        await bench.close()
    }

    @Test func `events that a webhook of the app has not queued are counted`() async throws {
        let secret = try WebhookSecret(ServerBench.webhookSecret)
        let bench = try await ServerBench.withWebhook(WebhookReceiver { _, _ in 200 }) {
            $0.console = .loopback
            $0.webhooks.append(
                Webhook(name: "foreign", app: ServerBench.otherApp, url: "https://b.example", secrets: [secret]))
        }
        _ = try await bench.post(bench.purchase("1"))
        try await bench.deliver()
        let visitor = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly)
        #expect(try await visitor.get("/operations").text.contains("<dt>Not queued for crm</dt><dd>0 events</dd>"))
        for id in ["2", "3"] { _ = try await bench.post(bench.purchase(id)) }
        if ServerBench.engine == .postgreSQL { try await bench.numberEvents() }
        let page = try await visitor.get("/operations").text
        #expect(page.contains("<dt>Not queued for crm</dt><dd>2 events</dd>"))
        #expect(!page.contains("foreign"))
        await bench.close()
    }

    @Test func `the last use of a key is stored once a minute, and not by a request`() async throws {
        let bench = try await ServerBench.withConsole()
        let job = try job("key uses", bench)
        #expect(job.pause == 60)
        let start = bench.realClock.now()
        #expect(try await bench.post(bench.purchase("1")).status == 200)
        #expect(try key(.public, bench).usedAt == nil)
        _ = try await job.step()
        #expect(try key(.public, bench).usedAt == start && key(.secret, bench).usedAt == nil)
        bench.realClock.advance(by: 90)
        for _ in 0..<3 { _ = try await bench.get() }
        #expect(try key(.public, bench).usedAt == start)
        _ = try await job.step()
        #expect(try key(.public, bench).usedAt == start.addingTimeInterval(90))

        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        bench.realClock.advance(by: 600)
        _ = try await visitor.get()
        _ = try await job.step()
        let used = try key(.secret, bench)
        #expect(used.usedAt == start.addingTimeInterval(690))
        #expect(try key(.public, bench).usedAt == start.addingTimeInterval(90))
        let page = try await visitor.get("/operations").text
        #expect(page.contains(used.id) && page.contains(RFC3339.string(from: start.addingTimeInterval(690))))
        #expect(!page.contains(">not known<"))
        try await bench.revokeKeys(.public)
        #expect(try await visitor.get("/operations").text.contains("revoked <time"))
        await bench.close()
    }

    @Test func `the last use of a key is stored by a later run of the job if a run failed`() async throws {
        let bench = try await ServerBench.withConsole()
        let job = try job("key uses", bench)
        _ = try await bench.get()
        try await bench.database.write { try $0.execute("ALTER TABLE api_key RENAME TO hidden_key") }
        await #expect(throws: (any Error).self) { _ = try await job.step() }
        try await bench.database.write { try $0.execute("ALTER TABLE hidden_key RENAME TO api_key") }
        _ = try await job.step()
        #expect(try key(.public, bench).usedAt != nil)
        await bench.close()
    }

    @Test func `the page has the lag of the event feed, the size of the database and the free space`() async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.purchase("1"))
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        bench.clock.advance(by: 5)
        let page = try await visitor.get("/operations").text
        let size = try #require(page.firstMatch(of: /all apps<\/dt><dd>([0-9.]+) MB/)).output.1
        #expect(try #require(Double(size)) > 0)
        let units: [Substring: Double] = ["MB": 1e6, "GB": 1e9, "TB": 1e12]
        let free = page.firstMatch(of: /Free on its disk<\/dt><dd>([0-9.]+) ([A-Z]+)/).flatMap { match in
            Double(match.output.1).flatMap { number in units[match.output.2].map { number * $0 } }
        }
        let metrics = try await bench.send(.get, "/metrics", as: .none).text
        func gauge(_ name: String) -> Double? {
            metrics.split(separator: "\n").first { $0.hasPrefix(name + " ") }?.split(separator: " ").last
                .flatMap { Double($0) }
        }
        #expect(try #require(gauge("souk_database_bytes")) > 0)
        if ServerBench.engine == .sqlite {
            // Other programs use the disk at the same time, so the values differ a little.
            let seen = try FileManager.default.attributesOfFileSystem(forPath: bench.folder.url.path)[.systemFreeSize]
            let expected = try #require(seen as? NSNumber).doubleValue
            #expect(abs(try #require(free) - expected) < 2e9)
            #expect(abs(try #require(gauge("souk_database_free_bytes")) - expected) < 2e9)
        } else {
            #expect(free == nil && page.contains("this server cannot see the disk of the database"))
            #expect(metrics.contains("# TYPE souk_database_free_bytes gauge"))
            #expect(gauge("souk_database_free_bytes") == nil)
        }
        if ServerBench.engine == .postgreSQL {
            #expect(page.contains("5 s: an event since"))
            try await bench.numberEvents()
            #expect(try await visitor.get("/operations").text.contains("all events are in the feed"))
        } else {
            #expect(page.contains("an event is in the feed when its change is committed"))
        }
        await bench.close()
    }

    @Test(.onSQLite) func `slow requests are listed for their app, newest first`() async throws {
        let bench = try await ServerBench.withConsole()
        var configuration = EntitlementService.Configuration(
            database: bench.database, apps: [.init(bundleID: ServerBench.app)], environments: [.sandbox])
        let logged = Locked(0)
        configuration.log = { _ in logged.withLock { $0 += 1 } }
        let observer = RequestObserver(configuration, bench.service.metrics)
        let keyDigest = SHA256.hash("a key".utf8)
        func observe(_ id: String, _ milliseconds: Int, of app: BundleID? = ServerBench.app) {
            observer.observe(
                HTTPResponse(status: 200), to: HTTPRequest(method: .get, url: "/"), as: id,
                of: app.map { Caller(app: $0, kind: .public, keyDigest: keyDigest) },
                since: .init(instant: .now - .milliseconds(milliseconds), span: nil),
                counting: bench.service.metrics.endpoint("slowOnes"))
        }
        observe("slow-1", 700)
        observe("fast", 100)
        observe("slow-2", 900)
        observe("foreign", 900, of: ServerBench.otherApp)
        observe("unknown", 900, of: nil)
        #expect(logged.withLock { $0 } == 0)
        let visitor = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly)
        let page = try await visitor.get("/operations").text
        #expect(
            page.matches(of: /<bdi>((slow|fast|foreign|unknown)[^<]*)</).map { String($0.output.1) } == [
                "slow-2", "slow-1",
            ])
        #expect(page.contains("slowOnes") && page.contains("<code><bdi>\(APIKeys.id(of: keyDigest))<"))
        for number in 0..<500 { observe("many-\(number)", 600) }
        let newest = bench.service.metrics.slowRequests.newest(of: ServerBench.app, limit: 1000)
        #expect(newest.count == SlowRequests.limit && newest.first?.requestID == "many-499")
        await bench.close()
    }
}
