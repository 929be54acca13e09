import BaseTestSupport
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SignedData
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The access to Google's API: assertions, access tokens and error bodies.
struct PlayAccessTests {
    private func request(_ store: SimulatedAppStore, _ form: [(String, String)]) async throws -> (Int, JSONValue) {
        let request = HTTPRequest(
            method: .post, url: "/token",
            headers: ["Host": "127.0.0.1", "Content-Type": "application/x-www-form-urlencoded"],
            body: .text(HTTPQuery(form).encoded))
        let response = await store.handler.respond(to: request).response()
        return (response.status, try JSONValue(parsing: try await response.body.collect(upTo: 1 << 16)))
    }

    private func key(_ test: TestStore) throws -> ServiceAccountKey {
        let path = test.folder.path + "/play-service-account.json"
        return try ServiceAccountKey(parsing: Array(Data(contentsOf: URL(fileURLWithPath: path))))
    }

    @Test func `the key file is private, and an assertion of it gives an access token`() async throws {
        try await TestStore.withPlay { test, client in
            let path = test.folder.path + "/play-service-account.json"
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let assertion = try key(test).assertion(scope: AndroidPublisher.scope, at: test.base.now())
            let (status, json) = try await request(
                test.store, [("grant_type", ServiceAccountKey.grantType), ("assertion", assertion)])
            #expect(status == 200)
            var other = client
            other.token = try #require(json["access_token"]?.stringValue)
            let answer = try await other.send(.get, "/purchases/voidedpurchases")
            #expect(answer.status == 200)
            #expect(json["token_type"] == "Bearer")
        }
    }

    @Test func `an assertion that is not the account's, or not valid now, is refused`() async throws {
        try await TestStore.withPlay { test, _ in
            let key = try key(test)
            let now = test.base.now()
            func refused(_ assertion: String, _ error: String = "invalid_grant") async throws {
                let (status, json) = try await request(
                    test.store, [("grant_type", ServiceAccountKey.grantType), ("assertion", assertion)])
                #expect(status == 400)
                #expect(json["error"]?.stringValue == error)
            }
            func claims(_ change: (inout JSONMembers) -> Void) -> JSONMembers {
                let seconds = now.timeIntervalSince1970.rounded(.down)
                var members: JSONMembers = [
                    "iss": .string(key.clientEmail), "aud": .string(key.tokenURI),
                    "scope": .string(AndroidPublisher.scope), "iat": .number(seconds), "exp": .number(seconds + 3600),
                ]
                change(&members)
                return members
            }
            let other = try RSASigningKey.generate()
            try await refused(try RS256Token.sign(claims { _ in }, key: other, keyID: key.keyID))
            try await refused(try RS256Token.sign(claims { _ in }, key: key.signingKey, keyID: "other"))
            try await refused(try key.assertion(scope: AndroidPublisher.scope, at: now.addingTimeInterval(-3700)))
            try await refused(try key.assertion(scope: AndroidPublisher.scope, at: now.addingTimeInterval(120)))
            try await refused(try key.assertion(scope: "email", at: now), "invalid_scope")
            for (name, value) in [
                ("aud", "https://oauth2.example.com/token"), ("iss", "other@souk.invalid"), ("exp", "soon"),
            ] as [(String, JSONValue)] {
                try await refused(
                    try RS256Token.sign(claims { $0[name] = value }, key: key.signingKey, keyID: key.keyID))
            }
            let long = claims { $0["exp"] = .number(now.timeIntervalSince1970 + 7200) }
            try await refused(try RS256Token.sign(long, key: key.signingKey, keyID: key.keyID))
            let parts = try key.assertion(scope: AndroidPublisher.scope, at: now).split(separator: ".")
            let none = Base64.encodeURL(Array(#"{"alg":"none","kid":"\#(key.keyID)"}"#.utf8))
            for text in ["\(none).\(parts[1]).", "\(none).\(parts[1]).\(parts[2])", "", "a.b.c", "."] {
                try await refused(text)
            }
            let (status, json) = try await request(test.store, [("grant_type", "password")])
            #expect(status == 400)
            #expect(json["error"] == "unsupported_grant_type")
        }
    }

    @Test func `a request needs an access token that has not expired`() async throws {
        try await TestStore.withPlay { test, client in
            var other = client
            for token in ["", "ya29.c.unknown", String(repeating: "a", count: 10_000)] {
                other.token = token
                try await other.refuses(
                    401, token.isEmpty ? "required" : "authError", .get, "/purchases/voidedpurchases")
            }
            test.base.advance(by: 3601)
            try await client.refuses(401, "authError", .get, "/purchases/voidedpurchases")
        }
    }

    @Test func `a store without a Google Play has no such paths`() async throws {
        try await TestStore.with { test in
            let request = HTTPRequest(
                method: .get, url: PlayFixtures.base + "/purchases/voidedpurchases", headers: ["Host": "127.0.0.1"])
            #expect(await test.store.handler.respond(to: request).response().status == 404)
            try await test.store.createAccount("anna")
            await #expect(throws: SimulatorError(.notNow, "")) {
                try await test.store.playBuy(.init(productID: "coins"), for: "anna")
            }
            #expect(try test.store.announceGooglePlay(listeningAt: "http://127.0.0.1:1") == nil)
        }
    }

    @Test func `the keys are made once`() async throws {
        let folder = try ScratchFolder()
        var lines: [JSONValue] = []
        for _ in 0..<2 {
            let catalogue = try PlayFixtures.catalogue()
            try await TestStore.with(in: folder, change: { $0.playCatalogue = catalogue }) { test in
                lines.append(try #require(try test.store.announceGooglePlay(listeningAt: "http://127.0.0.1:9")))
            }
        }
        #expect(lines[0] == lines[1])
        #expect(lines[0]["packageName"] == "com.example.souk_play")
    }
}

/// The methods of Google's API with good and bad requests.
struct PlayAPITests {
    @Test func `a one-time product is read, acknowledged and consumed once`() async throws {
        try await TestStore.withPlay { test, client in
            let bought = try await test.playBuy("coins") {
                $0.quantity = 3
                $0.obfuscatedAccountID = "account"
            }
            let path = "/purchases/products/coins/tokens/\(bought.purchaseToken)"
            var json = try await client.send(.get, path).json
            #expect(json["acknowledgementState"] == 0)
            #expect(json["quantity"] == 3)
            #expect(json["obfuscatedExternalAccountId"] == "account")
            #expect(try await client.send(.post, path + ":acknowledge", ["developerPayload": "p"]).status == 204)
            #expect(try await client.send(.post, path + ":acknowledge", [:]).status == 204)
            #expect(try await client.send(.post, path + ":consume").status == 204)
            try await client.refuses(400, "productNotOwnedByUser", .post, path + ":consume")
            json = try await client.send(.get, path).json
            #expect(json["consumptionState"] == 1)
            #expect(json["developerPayload"] == "p")
            let v2 = try await client.send(.get, "/purchases/productsv2/tokens/\(bought.purchaseToken)").json
            #expect(
                v2["productLineItem"]?[0]?["productOfferDetails"]?["consumptionState"] == "CONSUMPTION_STATE_CONSUMED")
            let order = try await client.order(bought.orderId)
            #expect(order.total?.amount == Decimal(string: "2.97"))
            #expect(order.purchaseToken == bought.purchaseToken)
        }
    }

    @Test func `two acknowledgements at once both succeed, and of two consumptions one`() async throws {
        try await TestStore.withPlay { test, client in
            let token = try await test.playBuy("coins").purchaseToken
            let path = "/purchases/products/coins/tokens/\(token)"
            async let first = client.send(.post, path + ":acknowledge")
            async let second = client.send(.post, path + ":acknowledge")
            #expect(try await [first.status, second.status] == [204, 204])
            async let third = client.send(.post, path + ":consume")
            async let fourth = client.send(.post, path + ":consume")
            #expect(try await Set([third.status, fourth.status]) == [204, 400])
        }
    }

    @Test func `a token that is guessed, cut or of another product is refused`() async throws {
        try await TestStore.withPlay { test, client in
            let token = try await test.playBuy("coins").purchaseToken
            let plus = try await test.playSubscribe("plus", "monthly")
            let products = "/purchases/products/coins/tokens/"
            let guessed = PlayTokens(seed: 99, revision: 1, number: 1).token
            try await client.refuses(404, "purchaseTokenNotFound", .get, products + guessed)
            try await client.refuses(404, "purchaseTokenNotFound", .get, "/purchases/subscriptionsv2/tokens/\(guessed)")
            for bad in [String(token.dropLast()), "x", token + "A", token.uppercased(), "%00", "%2e%2e", "é"] {
                try await client.refuses(400, "invalid", .get, products + bad)
            }
            let mismatch = "purchaseTokenDoesNotMatchProductId"
            try await client.refuses(400, mismatch, .get, "/purchases/products/other/tokens/\(token)")
            try await client.refuses(400, mismatch, .post, products + plus + ":consume")
            try await client.refuses(400, mismatch, .get, "/purchases/productsv2/tokens/\(plus)")
            try await client.refuses(
                400, "purchaseTokenDoesNotMatchSubscriptionId", .get, "/purchases/subscriptionsv2/tokens/\(token)")
            try await client.refuses(
                404, "applicationNotFound", .get, products + token,
                base: "/androidpublisher/v3/applications/com.example.other")
        }
    }

    @Test func `a pending purchase is neither acknowledged nor consumed`() async throws {
        try await TestStore.withPlay { test, client in
            let token = try await test.playBuy("coins") { $0.isPending = true }.purchaseToken
            let path = "/purchases/products/coins/tokens/\(token)"
            #expect(try await client.send(.get, path).json["purchaseState"] == 2)
            try await client.refuses(400, "productNotOwnedByUser", .post, path + ":acknowledge")
            try await client.refuses(400, "productNotOwnedByUser", .post, path + ":consume")
            _ = try await test.store.perform(.complete, onPlayPurchase: token)
            #expect(try await client.send(.post, path + ":acknowledge").status == 204)
            let plus = try await test.playBuy("plus", "monthly") { $0.isPending = true }.purchaseToken
            #expect(try await client.subscription(plus).subscriptionState == .pending)
            try await client.refuses(
                400, "subscriptionNotOwnedByUser", .post, "/purchases/subscriptions/plus/tokens/\(plus):acknowledge")
            _ = try await test.store.perform(.decline, onPlayPurchase: plus)
            #expect(try await client.subscription(plus).subscriptionState == .pendingPurchaseCanceled)
        }
    }

    @Test func `a subscription is cancelled, deferred and revoked`() async throws {
        try await TestStore.withPlay { test, client in
            let token = try await test.playSubscribe("plus", "monthly")
            let path = "/purchases/subscriptionsv2/tokens/\(token)"
            let etag = try #require(try await client.subscription(token).etag)
            func deferral(_ etag: String, _ duration: JSONValue) -> JSONValue {
                ["deferralContext": ["etag": .string(etag), "deferDuration": duration]]
            }
            try await client.refuses(409, "etagMismatch", .post, path + ":defer", deferral("other", "86400s"))
            for bad in ["1s", "86400", "-86400s", "86400.5s", "99999999999999999999s", 86400] as [JSONValue] {
                try await client.refuses(400, "invalid", .post, path + ":defer", deferral(etag, bad))
            }
            let answer = try await client.send(.post, path + ":defer", deferral(etag, "86400s"))
            #expect(answer.json["itemExpiryTimeDetails"]?[0]?["expiryTime"] == "2026-03-01T10:00:00Z")
            try await client.refuses(409, "etagMismatch", .post, path + ":defer", deferral(etag, "86400s"))

            let v1 = "/purchases/subscriptions/plus/tokens/\(token)"
            let expiry = Fixtures.date("2026-03-01T10:00:00Z").playMilliseconds.value
            func info(_ expected: Int64, _ desired: String) -> JSONValue {
                [
                    "deferralInfo": [
                        "expectedExpiryTimeMillis": .string("\(expected)"), "desiredExpiryTimeMillis": .string(desired),
                    ]
                ]
            }
            try await client.refuses(
                400, "expectedExpiryTimeMismatch", .post, v1 + ":defer", info(expiry + 1, "\(expiry + 9)"))
            try await client.refuses(400, "invalidExpiryTime", .post, v1 + ":defer", info(expiry, "\(expiry)"))
            for desired in ["-1", "9223372036854775807", "99999999999999999999", "x"] {
                try await client.refuses(400, "invalid", .post, v1 + ":defer", info(expiry, desired))
            }
            #expect(try await client.send(.post, v1 + ":defer", info(expiry, "\(expiry + 86_400_000)")).status == 200)

            for bad in [[:], ["cancellationContext": [:]]] as [JSONValue] {
                try await client.refuses(400, "invalid", .post, path + ":cancel", bad)
            }
            let cancel: JSONValue = ["cancellationContext": ["cancellationType": "USER_REQUESTED_STOP_RENEWALS"]]
            #expect(try await client.send(.post, path + ":cancel", cancel).json == [:])
            try await client.refuses(400, "invalidSubscriptionState", .post, v1 + ":cancel")
            #expect(try await client.subscription(token).subscriptionState == .canceled)

            let both: JSONValue = ["revocationContext": ["fullRefund": [:], "proratedRefund": [:]]]
            for bad in [[:], both, ["revocationContext": ["itemBasedRefund": ["productId": "plus"]]]] as [JSONValue] {
                try await client.refuses(400, "invalid", .post, path + ":revoke", bad)
            }
            let revoke: JSONValue = ["revocationContext": ["proratedRefund": [:]]]
            #expect(try await client.send(.post, path + ":revoke", revoke).status == 200)
            try await client.refuses(400, "invalidSubscriptionState", .post, path + ":revoke", revoke)
            #expect(try await client.subscription(token).subscriptionState == .expired)
            let order = try #require(try await client.subscription(token).lineItems?[0].latestSuccessfulOrderId)
            #expect(try await client.order(order).state == .refunded)
        }
    }

    @Test func `an order is refunded once, and voided only if it is revoked`() async throws {
        try await TestStore.withPlay { test, client in
            let bought = try await test.playBuy("plus", "monthly")
            let (token, first) = (bought.purchaseToken, bought.orderId)
            _ = try await test.store.perform(.acknowledge, onPlayPurchase: token)
            try await test.advance(.months(2))
            let orders = (try await client.subscription(token)).lineItems?[0].latestSuccessfulOrderId ?? ""
            #expect(orders == first + "..1")
            #expect(try await client.send(.post, "/orders/\(first):refund").status == 204)
            try await client.refuses(400, "orderNotRefundable", .post, "/orders/\(first):refund?revoke=true")
            #expect(try await client.send(.get, "/purchases/voidedpurchases?type=1").json == [:])
            #expect(try await client.subscription(token).subscriptionState == .active)
            try await client.refuses(400, "invalid", .post, "/orders/\(orders):refund?revoke=yes")
            async let one = client.send(.post, "/orders/\(orders):refund?revoke=true")
            async let two = client.send(.post, "/orders/\(orders):refund?revoke=true")
            #expect(try await Set([one.status, two.status]) == [204, 400])
            #expect(try await client.subscription(token).subscriptionState == .expired)
            let voided = try await client.send(.get, "/purchases/voidedpurchases?type=1").json["voidedPurchases"]
            #expect(voided?.arrayValue?.count == 1)
            #expect(voided?[0]?["orderId"]?.stringValue == orders)
            #expect(voided?[0]?["voidedSource"] == 1)
            try await client.refuses(404, "orderNotFound", .post, "/orders/GPA.1:refund")
        }
    }

    @Test func `orders are read one by one and in batches`() async throws {
        try await TestStore.withPlay { test, client in
            let first = try await test.playBuy("coins").orderId
            let second = try await test.playBuy("plus", "yearly").orderId
            let both = try await client.send(.get, "/orders:batchGet?orderIds=\(second)&orderIds=\(first)").json
            #expect(both["orders"]?.arrayValue?.map { $0["orderId"]?.stringValue } == [second, first])
            try await client.refuses(404, "orderNotFound", .get, "/orders:batchGet?orderIds=\(first)&orderIds=GPA.2")
            try await client.refuses(400, "invalid", .get, "/orders:batchGet?orderIds=\(first)&orderIds=\(first)")
            try await client.refuses(400, "invalid", .get, "/orders:batchGet")
            let many = (0...1000).map { "orderIds=GPA.\($0)" }.joined(separator: "&")
            try await client.refuses(400, "invalid", .get, "/orders:batchGet?\(many)")
            try await client.refuses(404, "orderNotFound", .get, "/orders/GPA.0000")
        }
    }

    @Test func `voided purchases have pages, and times within 30 days`() async throws {
        try await TestStore.withPlay { test, client in
            for account in ["a", "b", "c"] as [AccountName] { try await test.playBuy("coins", account: account) }
            let plus = try await test.playBuy("plus", "monthly", account: "a").purchaseToken
            try await test.advance(.days(4))
            #expect(try await client.subscription(plus).subscriptionState == .expired)
            func list(_ query: String) async throws -> JSONValue {
                try await client.send(.get, "/purchases/voidedpurchases?\(query)").json
            }
            #expect(try await list("")["voidedPurchases"]?.arrayValue?.count == 3)
            #expect(try await list("type=1")["voidedPurchases"]?.arrayValue?.count == 4)
            #expect(try await list("")["voidedPurchases"]?[0]?["voidedReason"] == 8)
            let page = try await list("type=1&maxResults=3")
            #expect(page["voidedPurchases"]?.arrayValue?.count == 3)
            let next = try #require(page["tokenPagination"]?["nextPageToken"]?.stringValue)
            let last = try await list("type=1&maxResults=3&token=\(next)")
            #expect(last["voidedPurchases"]?.arrayValue?.count == 1)
            #expect(last["tokenPagination"] == nil)
            for bad in [
                "maxResults=0", "maxResults=1001", "maxResults=99999999999999999999", "maxResults=x", "type=2",
                "startTime=0", "startTime=9223372036854775807", "startTime=-1", "endTime=9223372036854775807",
                "startIndex=1", "token=x", "token=\(Base64.encodeURL("1.2".utf8))",
                "token=\(Base64.encodeURL("0.9223372036854775807.1".utf8))", "maxResults=1&maxResults=2",
            ] { try await client.refuses(400, "invalid", .get, "/purchases/voidedpurchases?\(bad)") }
            try await test.advance(.days(40))
            #expect(try await list("type=1")["voidedPurchases"] == nil)
        }
    }

    @Test func `a token is gone 60 days after the subscription ended`() async throws {
        try await TestStore.withPlay { test, client in
            let token = try await test.playSubscribe("plus", "prepaid")
            try await test.advance(.days(87))
            #expect(try await client.subscription(token).subscriptionState == .expired)
            try await test.advance(.days(2))
            try await client.refuses(
                410, "purchaseTokenNoLongerValid", .get, "/purchases/subscriptionsv2/tokens/\(token)")
        }
    }

    @Test func `a method that is not simulated answers UNIMPLEMENTED`() async throws {
        try await TestStore.withPlay { test, client in
            let token = try await test.playSubscribe("plus", "monthly")
            for path in [
                "/orders/GPA.1:unknown", "/purchases/subscriptionsv2/tokens/\(token):unknown",
                "/purchases/subscriptionsv2/tokens/\(token)", "/inappproducts",
            ] { try await client.refuses(501, "notImplemented", .post, path, [:]) }
        }
    }

    @Test func `a body that is not an object of the right types is refused`() async throws {
        try await TestStore.withPlay { test, client in
            let token = try await test.playSubscribe("plus", "monthly")
            let path = "/purchases/subscriptionsv2/tokens/\(token):cancel"
            try await client.refuses(400, "parseError", .post, path, [])
            try await client.refuses(400, "invalid", .post, path, ["cancellationContext": 4])
            try await client.refuses(
                413, "requestTooLarge", .post, path, ["x": .string(String(repeating: "a", count: 70_000))])
        }
    }

    @Test(arguments: [
        (403, "PERMISSION_DENIED", "permissionDenied"), (429, "RESOURCE_EXHAUSTED", "rateLimitExceeded"),
        (500, "INTERNAL", "backendError"), (503, "UNAVAILABLE", "backendError"),
    ])
    func `an injected error answers every authenticated request, and changes nothing`(
        _ status: Int, _ word: String, _ reason: String
    ) async throws {
        try await TestStore.withPlay { test, client in
            let token = try await test.playBuy("coins").purchaseToken
            let path = "/purchases/products/coins/tokens/\(token)"
            try await test.store.set(.playAPIError, to: .string("\(status)"))
            for (method, path) in [
                (.get, path), (.post, path + ":consume"), (.get, "/orders/GPA.1"), (.get, "/unknown"),
            ] as [(HTTPRequest.Method, String)] {
                let answer = try await client.send(method, path)
                #expect(answer.status == status && answer.json["error"]?["status"]?.stringValue == word)
                #expect(GoogleAPIError(answer.json)?.reason == reason)
            }
            var stranger = client
            stranger.token = "unknown"
            try await stranger.refuses(401, "authError", .get, path)
            try await test.store.set(.playAPIError, to: "off")
            #expect(try await client.send(.get, path).json["consumptionState"] == 0)
        }
    }

    @Test func `a quota counts the authenticated requests of a day of virtual time`() async throws {
        try await TestStore.withPlay { test, client in
            let token = try await test.playBuy("coins").purchaseToken
            let path = "/purchases/products/coins/tokens/\(token)"
            try await test.store.set(.playQuota, to: 2)
            var stranger = client
            stranger.token = "unknown"
            try await stranger.refuses(401, "authError", .get, path)
            #expect(try await client.send(.get, path).status == 200)
            try await client.refuses(404, "orderNotFound", .get, "/orders/GPA.1")
            try await client.refuses(429, "rateLimitExceeded", .post, path + ":consume")
            try await client.refuses(429, "rateLimitExceeded", .get, "/unknown")
            #expect(try await test.store.playPurchase(token).isConsumed == false)
            // 10:00 of the same day, and the next day.
            _ = try await test.store.advance(.init(seconds: 13 * 3600))
            try await client.refuses(429, "rateLimitExceeded", .get, path)
            _ = try await test.store.advance(.init(seconds: 3600))
            _ = try await client.send(.post, path + ":consume")
            #expect(try await test.store.playPurchase(token).isConsumed == true)
            #expect(try await client.send(.get, path).status == 200)
            try await client.refuses(429, "rateLimitExceeded", .get, path)
            try await test.store.set(.playQuota, to: 3)
            #expect(try await client.send(.get, path).status == 200)
            try await client.refuses(429, "rateLimitExceeded", .get, path)
            try await test.store.set(.playQuota, to: "off")
            #expect(try await client.send(.get, path).status == 200)
        }
    }

    @Test func `a quota is a number of requests, or off`() throws {
        for bad in [0, -1, 1_000_001, 1.5, true, "1.5", "many", "", .null] as [JSONValue] {
            #expect(throws: SimulatorError(.invalidValue, "")) { try StoreSetting.playQuota.value(of: bad) }
        }
        #expect(try StoreSetting.playQuota.value(of: "20") == 20 && StoreSetting.playQuota.value(of: "off") == "off")
        #expect(StoreSetting.playQuota.defaultValue == "off" && PlayRules(["playQuota": "off"]).dailyQuota == nil)
    }

    @Test func `an injected error or latency has a value that is known`() async throws {
        for bad in ["404", "429.0", "0429", "on", ""] {
            #expect(throws: SimulatorError(.invalidValue, "")) { try StoreSetting.playAPIError.value(of: .string(bad)) }
        }
        #expect(try StoreSetting.playAPIError.value(of: 429) == "429")
        for (value, delay) in [(0.5, 0.5), (99, 60), (-1, 0)] as [(Double, Double)] {
            #expect(PlayRules(["latency.playAPI": .number(value)]).delay == delay)
        }
        #expect(PlayRules(["errors.playAPI": "404"]).failure == nil)
    }
}
