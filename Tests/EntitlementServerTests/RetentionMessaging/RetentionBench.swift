import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel

@testable import EntitlementServer

/// A server whose app has retention rules, and a store that signs realtime requests.
struct RetentionBench: Sendable {
    static let appleID = 1_234_567_890
    static let keyID = "2X9R4HXF34"
    static let issuerID = "57246542-96fe-1a63-e053-0824d011072a"

    let server: ServerBench
    let key: SigningKey

    static func messages(_ text: String, key: SigningKey) throws -> RetentionMessages {
        RetentionMessages(
            try RetentionRuleTests.rules(text),
            key: AppStoreConnectKey(key, id: keyID, issuerID: issuerID, bundleID: ServerBench.app))
    }

    init(
        _ rules: String, environments: [StoreEnvironment] = [.sandbox],
        configure: (inout EntitlementService.Configuration) -> Void = { _ in }
    ) async throws {
        let key = try SigningKey.generate()
        self.key = key
        let messages = try Self.messages(rules, key: key)
        server = try await ServerBench(environments: environments) {
            $0.apps[0].appAppleID = Self.appleID
            $0.apps[0].retentionMessages = messages
            configure(&$0)
        }
    }

    /// Returns a signed realtime request of the sandbox after `change`.
    func request(
        of original: String = "1", product: String = "pro.monthly", locale: String = "en-US",
        by chain: Result<SigningChain, any Error> = ServerBench.chain,
        _ change: (inout DecodedRealtimeRequestBody) -> Void = { _ in }
    ) throws -> String {
        var payload = DecodedRealtimeRequestBody {
            $0.originalTransactionId = original
            $0.appAppleId = Self.appleID
            $0.productId = product
            $0.userLocale = locale
            $0.requestIdentifier = UUID()
            $0.environment = .sandbox
            $0.signedDate = server.clock.now()
        }
        change(&payload)
        return try server.sign(payload, by: chain)
    }

    func ask(_ signed: String) async throws -> ServerBench.Reply {
        try await server.send(
            .post, "/v1/retention-messages/app-store", as: .none, body: .json(["signedPayload": .string(signed)]))
    }

    /// Returns the names of the tables with their numbers of rows.
    func rows() throws -> [String] {
        try ["fact", "document", "customer", "purchase", "claim", "event", "idempotency_key"].map {
            "\($0) \(try server.count($0))"
        }
    }

    func close() async { await server.close() }
}
