import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// schemathesis checks the store against its OpenAPI document: valid requests succeed, invalid ones fail, every answer
/// has the documented form, and no request makes the store fail. `SOUK_API_EXAMPLES` is the number of random requests
/// for each operation.
@Suite(.serialized, .outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with schemathesis"))
struct OpenAPIJudgeTests {
    private static let examples = ProcessInfo.processInfo.environment["SOUK_API_EXAMPLES"].flatMap { Int($0) }

    /// Runs the judge against a store with data for every endpoint, in real time so that long polls end.
    private func judge(
        _ extent: JSONValue, _ wrap: (any HTTPHandler) -> any HTTPHandler = { $0 }
    ) async throws -> JSONValue {
        var verdict: JSONValue = nil
        let catalogue = try PlayFixtures.catalogue()
        let change: (inout SimulatedAppStore.Configuration) -> Void = {
            $0.playCatalogue = catalogue
            $0.longestWait = 0.02
            $0.baseClock = SystemClock()
            $0.notificationsURL = Receiver.url
            $0.notificationTransport = Receiver { _ in 500 }
        }
        let folder = try ScratchFolder()
        try PlayFixtures.writeKeys(to: folder)
        try await TestStore.with(in: folder, change: change) { test in
            let device = try await test.device("anna")
            let other = try await test.device("bert")
            let bought = try await test.buy("monthly")
            let pack = try await test.buy("pack", "bert")
            let played = try await test.playBuy("plus", "monthly")
            try await test.store.createFamily("home", organizer: "anna")
            let notifications = try test.store.notifications().map(\.uuid)
            verdict = try await withLoopbackServer(wrap(test.store.handler)) { url in
                var request = extent
                request["url"] = .string(url + "/openapi.json")
                // These would remove data that other requests need.
                request["untouched"] = ["signOut", "leaveFamily", "importState"]
                request["known"] = [
                    "account": ["anna", "bert"], "member": ["anna", "bert"], "organizer": ["anna", "bert"],
                    "device": [.string(device.rawValue), .string(other.rawValue)], "family": ["home"],
                    "transaction": [.string(bought.transactionID.rawValue), .string(pack.transactionID.rawValue)],
                    "purchase": [.string(played.purchaseToken)],
                    "notification": .array(notifications.map { .string($0) }), "product": ["monthly", "weekly"],
                    "productID": ["monthly", "weekly", "coins", "pack", "paygo"],
                    "renewsTo": ["yearly"], "setting": ["gracePeriod", "askToBuy", "renewalsFail"],
                    "value": ["off", "on"],
                    "offerID": ["half"], "offerKind": [nil], "quantity": [1, nil], "canMakePayments": [true],
                    "askToBuy": [false],
                    "interruptedPurchases": [false], "simulatesAskToBuy": [false],
                ]
                return try await OutsideJudge.judge("openapi.py", request).json ?? nil
            }
        }
        return verdict
    }

    @Test func `the answer to any request fits the document`() async throws {
        let verdict = try await judge(
            Self.examples.map { ["examples": .number($0), "seed": .number(Int.random(in: 1...1_000_000))] }
                ?? ["examples": 5])
        #expect(
            verdict["problems"] == [],
            "\(verdict["problems"]?.arrayValue?.compactMap(\.stringValue).joined(separator: "\n") ?? "")")
        // The document itself is not requested again.
        #expect(verdict["operations"]?.intValue == StoreEndpoints.all.count - 1)
        #expect(verdict["cases"]?.intValue ?? 0 > 300)
        let accepted = Set(verdict["accepted"]?.arrayValue?.compactMap(\.stringValue) ?? [])
        let must: Set = [
            "POST /control/v1/accounts", "POST /control/v1/accounts/{account}/buy", "POST /control/v1/clock/advance",
            "PUT /control/v1/settings/{setting}", "POST /store/v1/devices/{device}/payments",
            "GET /store/v1/devices/{device}/updates", "POST /control/v1/notifications/{notification}/resend",
        ]
        #expect(
            must.subtracting(accepted) == [], "Each of these endpoints must accept a request, not only refuse requests."
        )
    }

    @Test func `the judge finds an undocumented answer and a failure`() async throws {
        let wrong = try await judge(["examples": 1, "only": ["/control/v1/clock"]]) { handler in
            AnyHTTPHandler { request in
                guard request.path == "/control/v1/clock" else { return handler.respond(to: request) }
                return .ready(HTTPResponse(json: ["now": 7, "rate": 1, "revision": 1]))
            }
        }
        #expect(wrong["problems"]?.arrayValue?.first?.stringValue?.contains("GET /control/v1/clock") == true)
        let failing = try await judge(["examples": 1, "only": ["/control/v1/accounts"]]) { handler in
            AnyHTTPHandler { request in
                guard request.path == "/control/v1/accounts", request.method == .get else {
                    return handler.respond(to: request)
                }
                return .ready(HTTPResponse(status: 500))
            }
        }
        #expect(failing["problems"]?.arrayValue?.first?.stringValue?.contains("GET /control/v1/accounts") == true)
    }
}
