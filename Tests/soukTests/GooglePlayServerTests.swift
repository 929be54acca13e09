import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import StoreModel
import Testing

/// `souk serve --play-package` beside `souk simulate --play-catalog`, as processes: the life of a subscription at Google
/// Play.
@Suite struct GooglePlayServerTests {
    private static let catalogue = TestFiles.repository + "/Examples/darkroom.play.json"

    /// A simulator and a server that gets its notifications.
    private struct World {
        let folder: TemporaryFolder
        let store: SoukService
        let server: SoukService
        private let port: ReservedPort

        init() async throws {
            folder = try TemporaryFolder()
            port = try ReservedPort()
            let audience = "http://127.0.0.1:\(port.number)/v1/notifications/google-play"
            store = try await SoukService([
                "simulate", "--catalog", TestFiles.darkroom, "--play-catalog", GooglePlayServerTests.catalogue,
                "--data",
                folder.file("store"), "--time-rate", "frozen", "--play-rtdn-url", audience,
            ])
            let play = store.greeting["googlePlay"]
            func text(_ name: String) throws -> String { try #require(play?[name]?.stringValue) }
            server = try await SoukService([
                "serve", "--database", "sqlite:" + folder.file("souk.sqlite"), "--bundle-id", "com.example.darkroom",
                "--root", try #require(store.greeting["rootCertificate"]?.stringValue), "--environment", "sandbox",
                "--clock", store.url, "--port", String(port.number), "--play-package", try text("packageName"),
                "--play-service-account", try text("serviceAccount"), "--play-url", try text("url"),
                "--play-public-key", try text("publicKey"), "--play-rtdn-audience", audience,
            ])
            _ = try await store("account create ada")
        }

        func store(_ words: String) async throws -> JSONValue {
            let words = words.split(separator: " ").map(String.init)
            let outcome = try await SoukExecutable.run(["store", "--url", store.url, "--json"] + words)
            #expect(outcome.status == 0, "\(words): \(outcome.errors)")
            return outcome.json ?? .null
        }

        /// Posts a purchase as the app does.
        func post(_ bought: JSONValue, for customer: String = "ada") async throws -> JSONValue {
            var body: JSONValue = [:]
            for name in ["packageName", "productId", "purchaseToken", "signedData", "signature"] {
                body[name] = bought[name]
            }
            return try await send(.post, "/v1/customers/\(customer)/play-purchases", body)
        }

        func send(_ method: HTTPRequest.Method, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
            let key = try #require(server.greeting["publicKey"]?.stringValue)
            var request = HTTPRequest(
                method: method, url: server.url + path, headers: ["Authorization": "Bearer \(key)"])
            if let body {
                request.headers["Content-Type"] = "application/json"
                request.body = .json(body)
            }
            let response = try await CurlTransport().send(request)
            return try JSONValue(parsing: try await response.body.collect(upTo: 1 << 20))
        }

        func subscriptions(of customer: String = "ada") async throws -> [CustomerSubscription] {
            try await WireJSON.decode(Customer.self, from: send(.get, "/v1/customers/\(customer)")).subscriptions
        }

        func stop() async {
            #expect(await server.stop() == 0)
            #expect(await store.stop() == 0)
        }
    }

    @Test func `a subscription lives through each state, and the server follows`() async throws {
        let world = try await World()
        let bought = try await world.store("play buy ada plus --base-plan monthly --offer first-week")
        let token = try #require(bought["purchaseToken"]?.stringValue)
        let posted = try await world.post(bought)
        #expect(posted["acknowledgedPurchaseTokens"] == [.string(token)], "\(posted)")
        _ = try await world.store("play acknowledge \(token)")
        func state(after words: String? = nil) async throws -> CustomerSubscription {
            if let words { _ = try await world.store(words) }
            _ = try await world.post(bought)
            return try #require(try await world.subscriptions().first)
        }
        let trial = try await state()
        #expect(trial.isTrial && trial.state == .active && trial.price == Price(amount: 0, currency: "USD"))
        let paid = try await state(after: "advance P1W")
        #expect(
            !paid.isTrial && paid.state == .active && paid.price == Price(amount: Decimal(499) / 100, currency: "USD"))
        #expect(paid.startedAt == trial.startedAt && paid.originalTransactionID == trial.originalTransactionID)
        _ = try await world.store("play hold \(token)")
        let grace = try await state(after: "advance P1M")
        #expect(grace.state == .inGracePeriod && grace.expiresAt == paid.expiresAt, "\(grace)")
        #expect(grace.gracePeriodUntil == paid.expiresAt.addingTimeInterval(7 * 86400))
        #expect(try await state(after: "advance P8D").state == .inBillingRetry)
        #expect(try await state(after: "play recover \(token)").state == .active)
        let cancelled = try await state(after: "play cancel \(token)")
        #expect(cancelled.state == .active && cancelled.autoRenews == false && cancelled.cancelledAt != nil)
        #expect(try await state(after: "play restart \(token)").autoRenews == true)
        _ = try await world.store("play pause \(token) P1M")
        #expect(try await state(after: "advance P1M").state == .paused)
        let resumed = try await state(after: "play resume \(token)")
        #expect(resumed.state == .active)
        let replaced = try await world.store(
            "play buy ada plus --base-plan prepaid-month --replaces \(token) --replacement-mode CHARGE_FULL_PRICE")
        _ = try await world.post(replaced)
        let both = try await world.subscriptions()
        #expect(both.map(\.state) == [.expired, .active])
        #expect(both[0].effectiveUntil == both[1].startedAt && both[1].autoRenews == false)
        let order = try #require(replaced["orderId"]?.stringValue)
        #expect(!order.isEmpty)
        _ = try await world.store("play refund \(try #require(replaced["purchaseToken"]?.stringValue))")
        _ = try await world.post(replaced)
        #expect(try await world.subscriptions().map(\.state) == [.expired, .revoked])
        let verified = try await SoukExecutable.run([
            "ledger", "replay", "--database", "sqlite:" + world.folder.file("souk.sqlite"),
        ])
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        await world.stop()
    }

    @Test func `a notification of the simulated Google Play reaches the customer of the account`() async throws {
        let world = try await World()
        _ = try await world.store("play buy ada plus --base-plan monthly --obfuscated-account-id ben")
        try await until("the server has the purchase") {
            try await world.subscriptions(of: "ben").map(\.state) == [.active]
        }
        let purchase = try await world.store("play purchases ada")["purchases"]?[0]
        let refused = try await world.send(
            .post, "/v1/customers/mallory/play-purchases",
            [
                "packageName": "com.example.darkroom", "productId": "plus",
                "purchaseToken": purchase?["purchaseToken"] ?? .null,
            ])
        #expect(refused["code"] == "boundToAnotherCustomer", "\(refused)")
        await world.stop()
    }

    @Test func `settings of Google Play are checked`() async throws {
        let folder = try TemporaryFolder()
        let noKey = try folder.write("account.json", "{}")
        for (options, sentence) in [
            (["--play-service-account", noKey], "--play-service-account needs --play-package"),
            (["--play-rtdn-audience", "a"], "--play-rtdn-audience needs --play-package"),
            (["--play-package", "com.example"], "--play-service-account"),
            (["--play-package", "a b", "--play-service-account", noKey], "--play-package"),
            (["--play-package", "com.example", "--play-service-account", noKey], noKey),
            (["--play-package", "com.example", "--play-service-account", folder.file("none")], "no such file"),
        ] {
            let outcome = try await SoukExecutable.run(
                [
                    "serve", "--check", "--bundle-id", "com.example.darkroom", "--database",
                    "sqlite:" + folder.file("ledger.sqlite"),
                ] + options)
            #expect(outcome.status == 2 && outcome.errors.contains(sentence), "\(options): \(outcome.errors)")
        }
    }

    @Test func `the settings of Google Play can differ for each app, and the sender of notifications is named`()
        async throws
    {
        let folder = try TemporaryFolder()
        let store = try await SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--play-catalog", Self.catalogue, "--data",
            folder.file("store"), "--time-rate", "frozen",
        ])
        let account = try #require(store.greeting["googlePlay"]?["serviceAccount"])
        func check(_ first: JSONValue, _ second: JSONValue = [:]) async throws -> SoukExecutable.Outcome {
            func app(_ id: String, _ more: JSONValue) -> JSONValue {
                var app = more
                app["bundleId"] = .string(id)
                if app["playPackage"] != nil { app["playServiceAccount"] = account }
                return app
            }
            let file = try folder.write(
                "souk.json",
                (["apps": [app("com.example.one", first), app("com.example.two", second)]] as JSONValue).encoded())
            return try await SoukExecutable.run([
                "serve", "--check", "--config", file, "--database", "sqlite:" + folder.file("ledger.sqlite"),
            ])
        }
        let apart = try await check(["playPackage": "com.example.one"], ["playPackage": "com.example.two"])
        #expect(apart.status == 0, "\(apart.errors)")
        let same = try await check(["playPackage": "com.example.one"], ["playPackage": "com.example.one"])
        #expect(same.status == 2 && same.errors.contains("is that of two apps"), "\(same)")
        let unnamed = try await check(["playPackage": "com.example.one", "playRtdnAudience": "a"])
        #expect(unnamed.status == 2 && unnamed.errors.contains("--play-rtdn-account"), "\(unnamed)")
        let named = try await check([
            "playPackage": "com.example.one", "playRtdnAudience": "a", "playRtdnAccount": "push@example.com",
        ])
        #expect(named.status == 0, "\(named.errors)")
        let noKey = try await check(["playPackage": "com.example.one", "playPublicKey": "AAAA"])
        #expect(noKey.status == 2 && noKey.errors.contains("--play-public-key"), "\(noKey)")
        #expect(await store.stop() == 0)
    }
}
