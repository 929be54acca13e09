import AppStoreSimulator
import BaseTestSupport
import EntitlementServer
import Foundation
import HTTPCore
import Primitives
import SignedData
import SimulatorControl
import StoreKitAdapter
import StoreModel
import Testing

/// A simulated store that follows the answers, and a server that answers by a policy, in one process.
@Suite(.timeLimit(.minutes(2))) struct RefundScenarioTests {
    private static let prints: ProductID = "com.example.darkroom.prints.10"
    private static let yearly: ProductID = "com.example.darkroom.plus.yearly"
    private static let policy = """
        {
          "consent": "assumed",
          "refundRules": [
            { "name": "used", "when": { "usage": { "atLeast": 90 } }, "answer": { "preference": "DECLINE" } },
            { "name": "part", "answer": { "preference": "GRANT_PRORATED" } },
            { "name": "rest", "answer": { "preference": "GRANT_FULL" } }
          ]
        }
        """

    private struct World {
        let store: SimulatedAppStore
        let server: EntitlementService
        let secretKey: String
        let folder: TemporaryFolder
        private let serving: Task<Void, any Error>

        init() async throws {
            folder = try TemporaryFolder()
            let inbox = Locked<(any HTTPTransport)?>(nil)
            var configuration = SimulatedAppStore.Configuration(
                catalogue: try Catalogue(
                    parsing: Array(Data(contentsOf: URL(fileURLWithPath: TestFiles.darkroom))), file: "darkroom"),
                dataDirectory: folder.path + "/store")
            configuration.timeRate = .frozen
            configuration.notificationsURL = "http://server/v1/notifications/app-store"
            configuration.notificationTransport = InProcessTransport(
                AnyHTTPHandler { request in
                    .suspended {
                        guard let server = inbox.withLock({ $0 }) else { return HTTPResponse(status: 503) }
                        return (try? await server.send(request)) ?? HTTPResponse(status: 503)
                    }
                })
            let store = try await SimulatedAppStore.open(configuration)
            let api = store.summary.serverAPI
            let key = try SigningKey(Array(Data(contentsOf: URL(fileURLWithPath: api.privateKey))))
            var app = EntitlementService.Configuration.App(bundleID: store.summary.bundleID)
            app.appStore[.sandbox] = AppStoreServerAPIClient(
                configuration: .init(
                    key: AppStoreConnectKey(
                        key, id: api.keyID, issuerID: api.issuerID, bundleID: store.summary.bundleID),
                    baseURL: "http://localhost"), transport: InProcessTransport(store.handler))
            app.refundPolicy = try RefundPolicy(parsing: RefundScenarioTests.policy.utf8)
            let root = try TrustAnchor(fingerprint: store.summary.rootFingerprint)
            let server = try await EntitlementService(
                ledgerAt: URL(fileURLWithPath: folder.path + "/ledger.sqlite"), for: app, environments: [.sandbox]
            ) {
                $0.trustAnchors = [root]
                $0.clock = store.clock
            }
            secretKey = try #require(try await server.createMissingKeys().first).secretKey
            (self.store, self.server) = (store, server)
            serving = Task { try await server.run() }
            let transport = InProcessTransport(server)
            inbox.withLock { $0 = transport }
            try await store.set(.refundDecisions, to: "preference")
            try await store.createAccount("ada")
        }

        func close() async {
            serving.cancel()
            _ = await serving.result
            await store.close()
        }

        func send(_ method: HTTPRequest.Method, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
            let request = HTTPRequest(
                method: method, url: path, headers: ["Authorization": "Bearer \(secretKey)"],
                body: body.map { .json($0) } ?? .empty)
            let response = await server.respond(to: request).response()
            #expect(response.isSuccess, "\(path) \(response.status)")
            return try JSONValue(parsing: try await response.body.collect(upTo: 1 << 20))
        }

        /// Buys for the customer anna of the app, and returns the transaction.
        func buy(_ product: ProductID) async throws -> StoreControlWire.Transaction {
            let bought = try await store.buy(product, for: "ada", appAccountToken: CustomerID("anna").appAccountToken)
            _ = try await send(
                .post, "/v1/customers/anna/transactions", ["signedTransaction": .string(bought.signedTransaction)])
            return bought
        }

        /// Requests a refund, and returns the notifications about the transaction that follow from the server's answer.
        func decide(_ transaction: TransactionID) async throws -> [String] {
            try await store.requestRefund(of: transaction)
            try await store.deliverNotifications()
            func types() throws -> [String] {
                try store.notifications().filter { $0.transactionID == transaction && $0.type.hasPrefix("REFUND") }
                    .map(\.type)
            }
            try await until("the store has decided") { try !types().isEmpty }
            try await store.deliverNotifications()
            return try types()
        }

        func request(about transaction: TransactionID) async throws -> JSONValue? {
            try await send(.get, "/v1/refund-requests")["refundRequests"]?.arrayValue?.first {
                $0["transactionID"]?.stringValue == transaction.rawValue
            }
        }

        func activeFeatures() async throws -> [String] {
            let features = try await send(.get, "/v1/customers/anna")["features"]?.arrayValue ?? []
            return features.filter { $0["isActive"] == true }.compactMap { $0["name"]?.stringValue }
        }
    }

    private func withWorld(_ body: (World) async throws -> Void) async throws {
        let world = try await World()
        do { try await body(world) } catch {
            await world.close()
            throw error
        }
        await world.close()
    }

    @Test func `a used purchase is declined, and a part of another is refunded`() async throws {
        try await withWorld { world in
            let (used, half) = (try await world.buy(Self.prints), try await world.buy(Self.prints))
            for (bought, percentage) in [(used, 95), (half, 40)] {
                _ = try await world.send(
                    .post, "/v1/customers/anna/usage-reports",
                    ["transactionID": .string(bought.transactionID.rawValue), "percentage": .number(percentage)])
            }
            #expect(try await world.decide(used.transactionID) == ["REFUND_DECLINED"])
            #expect(try await world.decide(half.transactionID) == ["REFUND"])
            let (declined, refunded) = (
                try await world.request(about: used.transactionID), try await world.request(about: half.transactionID)
            )
            #expect(declined?["rule"] == "used" && declined?["outcome"] == "declined")
            #expect(refunded?["rule"] == "part" && refunded?["outcome"] == "refunded")
            let facts = try await world.send(.get, "/v1/customers/anna/facts")["facts"]?.arrayValue ?? []
            let payload = facts.first { $0["payload"]?["revocationType"] != nil }?["payload"]
            #expect(payload?["revocationType"] == "REFUND_PRORATED" && payload?["revocationPercentage"] == 60_000)
        }
    }

    @Test func `a refunded subscription ends, and a reversal restores it`() async throws {
        try await withWorld { world in
            let plus = try await world.buy(Self.yearly)
            try await world.store.advance(by: .months(6))
            #expect(try await world.activeFeatures() == [Self.yearly.rawValue])
            #expect(try await world.decide(plus.transactionID) == ["REFUND"])
            #expect(try await world.activeFeatures().isEmpty)
            #expect(try await world.request(about: plus.transactionID)?["request"]?["consumptionPercentage"] == nil)
            try await world.store.reverseRefund(plus.transactionID)
            try await world.store.deliverNotifications()
            #expect(try await world.activeFeatures() == [Self.yearly.rawValue])
            #expect(try await world.request(about: plus.transactionID)?["outcome"] == "reversed")
        }
    }
}
