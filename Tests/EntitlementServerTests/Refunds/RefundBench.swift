import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel
import Testing

@testable import EntitlementServer

/// An App Store that receives consumption information. It accepts everything, unless a test scripts its answers.
final class ConsumptionReceiver: HTTPTransport {
    typealias Answer = @Sendable () async throws -> HTTPResponse

    struct Sent: Sendable {
        let path: String
        let body: JSONValue
    }

    private let state = Locked<(sent: [Sent], answers: [Answer])>(([], []))

    /// The requests, in order.
    var sent: [Sent] { state.withLock { $0.sent } }

    func answer(_ answer: @escaping Answer) { state.withLock { $0.answers.append(answer) } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = try JSONValue(parsing: try await request.body.collect(upTo: 1 << 16))
        #expect(request.method == .put)
        let answer = state.withLock { state -> Answer? in
            state.sent.append(Sent(path: String(request.url.dropFirst("http://store.test".count)), body: body))
            return state.answers.isEmpty ? nil : state.answers.removeFirst()
        }
        return try await answer?() ?? HTTPResponse(status: 202)
    }
}

extension ServerBench {
    static let refundPolicy = """
        {
          "units": { "coins": 10 },
          "refundRules": [
            { "name": "legal", "when": { "reasons": ["LEGAL"] }, "answer": "none" },
            { "name": "often", "when": { "refunds": { "atLeast": 1 } }, "answer": { "preference": "DECLINE" } },
            { "name": "used", "when": { "usage": { "atLeast": 90 } }, "answer": { "preference": "DECLINE" } },
            { "name": "part", "answer": { "preference": "GRANT_PRORATED" } },
            { "name": "rest", "answer": { "preference": "GRANT_FULL" } }
          ]
        }
        """

    /// Creates a bench whose server answers consumption requests by a policy.
    static func refunding(
        _ policy: String? = refundPolicy, to receiver: ConsumptionReceiver, beside other: ServerBench? = nil
    ) async throws -> ServerBench {
        var client = AppStoreServerAPIClient.Configuration(
            key: AppStoreConnectKey(try SigningKey.generate(), id: "KEY", issuerID: "issuer", bundleID: app),
            baseURL: "http://store.test")
        client.backoff = .none
        let appStore = AppStoreServerAPIClient(configuration: client, transport: receiver)
        let rules = try policy.map { try RefundPolicy(parsing: $0.utf8) }
        return try await ServerBench(
            folder: other?.folder, keys: other?.keys ?? [:],
            configure: {
                $0.apps[0].appStore = [.sandbox: appStore]
                $0.apps[0].refundPolicy = rules
                $0.random = { 1 }
                guard let other else { return }
                ($0.clock, $0.realClock, $0.monotonicClock) = (other.clock, other.realClock, other.realClock.monotonic)
            })
    }

    /// Runs the background job until it has nothing to do.
    func answerRefunds() async throws {
        let job = try #require(service.jobs.first { $0.name == "refunds" })
        while try await job.step() {}
    }

    /// Buys a consumable for a customer who has consented, and returns the signed transaction.
    @discardableResult
    func buyCoins(_ id: String = "1", for customer: String = "anna", consent: Bool? = true) async throws -> String {
        let signed = try purchase(id, product: "coins", type: .consumable) {
            $0.price = 990
            $0.currency = "USD"
        }
        #expect(try await post(signed, for: customer).status == 200)
        if let consent { #expect(try await state(consent: consent, of: customer).status == 200) }
        return signed
    }

    func state(consent: Bool, of customer: String = "anna", as key: Key = .secret) async throws -> Reply {
        try await send(
            .post, "/v1/customers/\(customer)/refund-consent", as: key, body: .json(["consented": .bool(consent)]))
    }

    func report(_ usage: JSONValue, of customer: String = "anna", as key: Key = .secret) async throws -> Reply {
        try await send(.post, "/v1/customers/\(customer)/usage-reports", as: key, body: .json(usage))
    }

    /// Receives the store's request about a transaction.
    func requestRefund(
        _ id: String = "r-1", of transaction: String, reason: AppStoreServerAPI.ConsumptionRequestReason? = nil
    ) async throws {
        let notification = try self.notification(id, .consumptionRequest, transaction: transaction) {
            $0.data?.consumptionRequestReason = reason
        }
        #expect(try await notify(notification).status == 200)
    }

    func refundRequests(_ query: String = "") async throws -> [JSONValue] {
        let reply = try await send(.get, "/v1/refund-requests\(query)", as: .secret)
        #expect(reply.status == 200)
        let requests = reply.json["refundRequests"]?.arrayValue ?? []
        for request in requests { #expect(WireSchema.refundRequest.violation(request) == nil) }
        return requests
    }

    func answerRefund(_ body: JSONValue, to id: String = "1", as key: Key = .secret) async throws -> Reply {
        try await send(.post, "/v1/refund-requests/\(id)/answer", as: key, body: .json(body))
    }
}
