import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// schemathesis tests the server against its document, over a listener and with an app's secret key. Documented
/// requests are accepted and others are refused. Responses have the documented format, links work, and the server never
/// fails.
@Suite(.serialized, .outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with schemathesis"))
struct DocumentJudgeTests {
    private static let examples = ProcessInfo.processInfo.environment["SOUK_API_EXAMPLES"].flatMap { Int($0) }

    /// The statuses with which an endpoint may answer a request of the documented format: dates must be in the future,
    /// cursors and signed data must be genuine, and some members exclude each other or need each other.
    private static let mayRefuse: JSONValue = [
        "postGrant": ["400"], "postPromotion": ["400"], "getFacts": ["400"], "postTransactions": ["400"],
        "validateReceipt": ["400"], "redeemCredit": ["400"], "postCreditGrant": ["400"], "postToken": ["400"],
        "getWebhookDeliveries": ["400"], "streamEvents": ["400"], "postUsageReport": ["400"],
        "getRefundRequests": ["400"], "postRefundAnswer": ["400"], "postPlayPurchase": ["400"],
        "getCustomer": ["304"],
        "postWebPurchase": ["401"],
    ]

    /// Runs the judge against a server with customers that have purchases, grants and credits.
    private func judge(
        _ extent: JSONValue, _ wrap: (any HTTPHandler) -> any HTTPHandler = { $0 }
    ) async throws -> JSONValue {
        let offers = try OfferBench.offers(OfferBench.rules, key: .generate())
        let googlePlay = try FakeGooglePlay().app(realClock: SystemClock())
        let bench = try await ServerBench { configuration in
            configuration.realClock = SystemClock()
            configuration.apps[0].offers = offers
            configuration.apps[0].googlePlay = googlePlay
            configuration.apps[0].credits = CreditTable(credits: [
                "coins": .init(products: ["pack": 100], prices: ["film": 30])
            ])
        }
        _ = try await bench.post([bench.period("1"), bench.purchase("2")])
        _ = try await bench.post([bench.purchase("3", product: "pack", type: .consumable)], for: "ben")
        _ = try await bench.grant()
        try await bench.requestRefund(of: bench.purchase("3", product: "pack", type: .consumable))
        _ = try await bench.send(
            .post, "/v1/promotions", as: .secret, body: .json(["code": "SPRING", "feature": "pro"]))
        let key = try #require(bench.keys[ServerBench.app]).secretKey
        let token = try await bench.token()
        let verdict = try await withLoopbackServer(wrap(bench.service)) { url in
            var request = extent
            request["url"] = .string(url + "/openapi.json")
            request["headers"] = [
                "Authorization": .string("Bearer \(key)"), "x-api-key": .string(key),
                "Souk-Customer-Token": .string(token),
            ]
            request["mayRefuse"] = Self.mayRefuse
            // The idempotency key is checked before the body, so another body with a used key is refused.
            request["refused"] = ["409", "422"]
            // `deleteCustomer` would erase a customer that other cases need, `streamEvents` does not end, and `postRefund`
            // answers with 501 for purchases of the App Store.
            request["without"] = ["deleteCustomer", "streamEvents", "postRefund"]
            request["known"] = [
                "customer": ["anna", "ben"], "to": ["anna", "ben"], "alias": ["anonymous-1", "anonymous-2"],
                "originalTransactionID": ["1", "3"], "transactionID": ["1", "3"], "type": ["coins"], "code": ["SPRING"],
                "productID": ["pro.monthly"], "offerID": ["half"],
                "until": [nil],
                "redeemableUntil": [nil], "lasts": ["P1D"],
                "signedTransaction": [.string(try bench.purchase("4"))],
            ]
            return try await OutsideJudge.judge("openapi.py", request).json ?? nil
        }
        #expect(bench.failures.withLock { $0 } == [])
        await bench.close()
        return verdict
    }

    @Test func `the server behaves as its document says`() async throws {
        let verdict = try await judge(
            Self.examples.map { ["examples": .number($0), "seed": .number(Int.random(in: 1...1_000_000))] }
                ?? ["examples": 5])
        #expect(
            verdict["problems"] == [],
            "\(verdict["problems"]?.arrayValue?.compactMap(\.stringValue).joined(separator: "\n") ?? "")")
        #expect(verdict["cases"]?.intValue ?? 0 > 300)
        let accepted = Set(verdict["accepted"]?.arrayValue?.compactMap(\.stringValue) ?? [])
        let must: Set = [
            "GET /v1/customers/{customer}", "POST /v1/customers/{customer}/transactions",
            "POST /v1/customers/{customer}/grants", "GET /v1/customers", "POST /v1/promotions",
            "POST /feature-provisioner/get-features", "GET /v1/customers/{customer}/export",
        ]
        #expect(
            must.subtracting(accepted) == [], "Each of these endpoints must accept a request, not only refuse requests."
        )
    }

    @Test func `a wrong response and a missing access check are found`() async throws {
        let path = "/v1/customers/{customer}/grants"
        let wrong = try await judge(["examples": 2, "only": [.string(path)]]) { handler in
            AnyHTTPHandler { request in
                handler.respond(to: request).map { response in
                    guard request.path.hasSuffix("/grants"), response.status == 201 else { return response }
                    return HTTPResponse(status: 201, json: ["customer": "anna"])
                }
            }
        }
        #expect(wrong["problems"]?.arrayValue?.first?.stringValue?.contains("POST \(path)") == true)
        let open = try await judge(["examples": 2, "only": ["/v1/promotions"]]) { handler in
            AnyHTTPHandler { request in
                guard request.path == "/v1/promotions", request.method == .get else {
                    return handler.respond(to: request)
                }
                return .ready(HTTPResponse(json: ["promotions": []]))
            }
        }
        #expect(open["problems"]?.arrayValue?.first?.stringValue?.contains("GET /v1/promotions") == true)
    }
}
