import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

@Suite struct RefusalTests {
    @Test func `an invalid transaction is refused with its reason and changes nothing`() async throws {
        let bench = try await ServerBench()
        let good = try bench.period()
        let parts = good.split(separator: ".").map(String.init)
        var richer = try JSONValue(parsing: try #require(Base64.decodeURL(parts[1])))
        richer["productId"] = "pro.yearly"
        let refused: [(String, String)] = [
            (String(good.dropLast(6)) + "AAAAAA", "signatureInvalid"),
            ([parts[0], Base64.encodeURL(richer.encoded()), parts[2]].joined(separator: "."), "signatureInvalid"),
            (try bench.sign(bench.purchasePayload("1"), by: ServerBench.foreignChain), "untrustedRoot"),
            (try bench.purchase("1") { $0.bundleId = ServerBench.otherApp.rawValue }, "wrongBundle"),
            (try bench.purchase("1") { $0.environment = .production }, "environmentNotAccepted"),
            (try bench.purchase("1") { $0.productId = nil }, "payloadMalformed"),
            ("not a JWS", "malformed"),
        ]
        for (signed, code) in refused {
            let reply = try await bench.post(signed)
            #expect(reply.status == 422)
            #expect(reply.code == code)
            #expect(reply.field == "signedTransaction")
            #expect(reply.headers["Content-Type"] == "application/problem+json")
            #expect(reply.json["retryable"]?.boolValue == false)
            #expect(reply.json["type"]?.stringValue == "https://souk.invalid/problems/\(code)")
            #expect(try await bench.post([signed]).code == code)
        }
        #expect(try bench.count("fact") == 0 && bench.count("customer") == 0)
        await bench.close()
    }

    @Test(arguments: [
        ("", 400, "malformed", nil), ("{", 400, "malformed", nil), ("[]", 400, "malformed", nil),
        (#"{"a":1,"a":2}"#, 400, "malformed", nil), ("{}", 400, "invalid_field", "signedTransaction"),
        (#"{"signedTransaction":7}"#, 400, "invalid_field", "signedTransaction"),
        (#"{"signedTransaction":"a","receipt":"b"}"#, 400, "invalid_field", "receipt"),
        (#"{"signedTransactions":[]}"#, 400, "invalid_field", "signedTransactions"),
        (#"{"signedTransactions":"a"}"#, 400, "invalid_field", "signedTransactions"),
        (#"{"signedTransactions":["a",null]}"#, 400, "invalid_field", "signedTransactions/1"),
        (#"{"signedTransaction":"a","signedRenewalInfos":{}}"#, 400, "invalid_field", "signedRenewalInfos"),
        (#"{"receipt":7}"#, 400, "invalid_field", "receipt"), (#"{"receipt":"AAAA"}"#, 422, "malformed", "receipt"),
    ])
    func `a malformed body is refused with the name of its field`(
        body: String, status: Int, code: String, field: String?
    ) async throws {
        let bench = try await ServerBench()
        let reply = try await bench.send(.post, "/v1/customers/anna/transactions", body: .text(body))
        #expect(reply.status == status)
        #expect(reply.code == code)
        #expect(reply.field == field)
        #expect(reply.json["detail"]?.stringValue?.hasSuffix(".") == true)
        await bench.close()
    }

    /// The endpoint decodes the body with `WireJSON`.
    @Test(arguments: [
        (#"{"feature":"pro","reason":"a","reason":"b"}"#, "malformed", nil, "twice in one object"),
        (#"{"feature":"pro","reason":"a","other":{"é":1,"e\u0301":2}}"#, "malformed", nil, "twice in one object"),
        (
            #"{"feature":"pro","reason":"a","other":"# + String(repeating: "[", count: 32)
                + String(repeating: "]", count: 32) + "}", "malformed", nil, "nest too deep"
        ),
        (#"{"feature":"pro","reason":"a","until":1763650800}"#, "invalid_field", "until", "should be a string"),
        (#"{"feature":"pro","reason":"a","until":"tomorrow"}"#, "invalid_field", "until", "a date is RFC 3339 text"),
        (#"{"feature":"pro","reason":null}"#, "invalid_field", "reason", "is null"),
        (#"{"feature":"pro","reason":["a"]}"#, "invalid_field", "reason", "should be a string"),
        (#"{"reason":"a"}"#, "invalid_field", "feature", "is missing"),
    ])
    func `a body that is not strict JSON, or has a wrong member, gets a readable message`(
        body: String, code: String, field: String?, words: String
    ) async throws {
        let bench = try await ServerBench()
        let before = try bench.contents()
        let reply = try await bench.send(.post, "/v1/customers/anna/grants", as: .secret, body: .text(body))
        #expect(reply.status == 400 && reply.code == code && reply.field == field)
        #expect(reply.json["detail"]?.stringValue?.contains(words) == true, "\(reply.json)")
        #expect(try bench.contents() == before)
        await bench.close()
    }

    @Test func `more than a hundred transactions at once are refused`() async throws {
        let bench = try await ServerBench()
        let reply = try await bench.post(Array(repeating: "x", count: 101))
        #expect(reply.status == 400 && reply.field == "signedTransactions")
        #expect(try await bench.post(Array(repeating: "x", count: 100)).status == 200)
        await bench.close()
    }

    @Test func `a body over the limit is refused`() async throws {
        let bench = try await ServerBench { $0.maximumBody = 1000 }
        let reply = try await bench.post(String(repeating: "x", count: 1000))
        #expect(reply.status == 413 && reply.code == "body_too_large")
        await bench.close()
    }

    @Test func `an invalid customer id is refused`() async throws {
        let bench = try await ServerBench()
        for name in [String(repeating: "x", count: 256), "%0A", "%C2%85"] {
            #expect(try await bench.get(name).field == "customer")
            #expect(try await bench.post("x", for: name).status == 400)
        }
        #expect(try await bench.get("%zz").status == 400)
        #expect(try await bench.get(String(repeating: "x", count: 255)).status == 200)
        await bench.close()
    }

    @Test func `an environment that this server does not serve is refused`() async throws {
        let bench = try await ServerBench()
        let reply = try await bench.get(headers: ["Souk-Environment": "production"])
        #expect(reply.status == 400 && reply.field == "Souk-Environment")
        #expect(reply.headers["Souk-Environment"] == nil)
        await bench.close()
    }

    @Test func `a refusal has the header of its environment`() async throws {
        let bench = try await ServerBench(environments: [.sandbox, .production])
        let refused = [
            try await bench.send(.get, "/v1/customers/anna", as: .none),
            try await bench.send(.get, "/v1/customers/anna", as: .other("Bearer x")),
            try await bench.send(.get, "/v1/customers/anna", as: .other("Basic")),
            try await bench.send(.get, "/v1/customers/anna/facts"), try await bench.get("%0A"),
            try await bench.send(.get, "/v1/customers/anna?nonce=1"), try await bench.post("x"),
        ]
        #expect(refused.map(\.status) == [401, 401, 400, 403, 400, 501, 422])
        for reply in refused { #expect(reply.headers.values("Souk-Environment") == ["sandbox"]) }
        let other = try await bench.send(
            .get, "/v1/customers/anna", as: .none, headers: ["Souk-Environment": "production"])
        #expect(other.status == 401 && other.headers.values("Souk-Environment") == ["production"])
        await bench.close()
    }

    @Test func `a type of problem has one title`() async throws {
        let bench = try await ServerBench { $0.maximumBody = 5000 }
        let transactions = "/v1/customers/anna/transactions"
        var refused = [
            try await bench.post("x"), try await bench.send(.post, transactions, body: .text("{")),
            try await bench.get("anna?x=%zz"), try await bench.send(.get, "/v1/customers/anna", as: .other("Basic")),
            try await bench.post(bench.purchase("1") { $0.environment = .production }),
            try await bench.send(.post, transactions, body: .text(String(repeating: "x", count: 6000))),
            try await bench.get("%0A"), try await bench.get("anna?nonce=1"), try await bench.grant(""),
            try await bench.send(.get, "/nowhere"),
        ]
        await bench.close()
        refused.append(try await bench.get())
        refused.append(try await bench.send(.get, "/readyz"))
        let titles = Dictionary(grouping: refused) { $0.json["type"]?.stringValue ?? "" }
            .mapValues { Set($0.map { $0.json["title"]?.stringValue ?? "" }) }
        let codes: Set = [
            "malformed", "environmentNotAccepted", "body_too_large", "invalid_field", "not_found",
            "unavailable", "no_signing_key",
        ]
        #expect(Set(refused.compactMap(\.code)) == codes && titles.count == codes.count)
        for (type, titles) in titles { #expect(titles.count == 1, "\(type): \(titles)") }
        #expect(refused.filter { $0.code == "malformed" }.map(\.status).sorted() == [400, 400, 400, 422])
    }

    @Test(arguments: [
        (#"{"customerId":"anna"}"#, "customerId", "customerId should be an object."),
        (#"{"customerId":["anna"]}"#, "customerId", "customerId should be an object."),
        (
            #"{"customerId":{"type":"merchant-str","value":7}}"#, "customerId/value",
            "customerId/value should be a string."
        ),
        (
            #"{"customerId":{"type":"merchant-str","value":"a"},"onlyIds":["x"]}"#, "onlyIds/0",
            "onlyIds/0 does not have the expected form."
        ),
        (
            #"{"customerId":{"type":"merchant-str","value":"a"},"onlyIds":"x"}"#, "onlyIds",
            "onlyIds should be an array."
        ),
        (
            #"{"customerId":{"type":"merchant-uuid","value":"a"}}"#, "customerId/value",
            "customerId/value is wrong: a \"merchant-uuid\" has a UUID as its value."
        ),
    ])
    func `a malformed member is refused with its name and a sentence`(
        body: String, field: String, detail: String
    ) async throws {
        let bench = try await ServerBench()
        let reply = try await bench.send(.post, "/subscriptions-tracker/get-subscriptions", body: .text(body))
        #expect(reply.status == 400 && reply.code == "invalid_field" && reply.field == field)
        #expect(reply.json["detail"]?.stringValue == detail)
        await bench.close()
    }

    @Test func `unknown paths and methods are refused, each with a request id`() async throws {
        let bench = try await ServerBench()
        let unknown = try await bench.send(.get, "/v2/customers")
        #expect(unknown.status == 404 && unknown.headers["Souk-Request-Id"] != nil)
        let wrong = try await bench.send(.put, "/v1/customers/anna/transactions")
        #expect(wrong.status == 405 && wrong.headers["Allow"] == "POST")
        #expect(wrong.headers["Souk-Request-Id"] != unknown.headers["Souk-Request-Id"])
        await bench.close()
    }

    @Test func `health and readiness need no key`() async throws {
        let bench = try await ServerBench()
        #expect(try await bench.send(.get, "/healthz", as: .none).status == 200)
        #expect(try await bench.send(.get, "/readyz", as: .none).status == 200)
        await bench.close()
        bench.realClock.advance(by: 1)
        #expect(try await bench.send(.get, "/readyz", as: .none).status == 503)
        #expect(try await bench.send(.get, "/healthz", as: .none).status == 200)
    }

    @Test func `a request to an unavailable ledger is reported, and gets status 503`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.period()
        #expect(try await bench.get().status == 200)
        await bench.close()
        let reply = try await bench.post(signed)
        #expect(reply.status == 503 && reply.headers["Retry-After"] == "1")
        #expect(reply.json["retryable"]?.boolValue == true)
        #expect(bench.failures.withLock { $0.count } == 1)
    }

    @Test func `a server with no or a repeated app or environment does not start`() async throws {
        let refused: [(inout EntitlementService.Configuration) -> Void] = [
            { $0.apps = [] }, { $0.environments = [] }, { $0.apps += $0.apps },
            { $0.environments = [.sandbox, .sandbox] },
        ]
        for change in refused {
            await #expect(throws: EntitlementServerError(.invalidConfiguration, "")) {
                try await ServerBench(configure: change)
            }
        }
    }
}
