import AppStorePayloads
import AppStoreSimulator
import EntitlementServer
import Foundation
import HTTPCore
import HTTPListener
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// Reads customers from the server, and transactions from the simulated App Store, over HTTP. The reference is a
/// constant response of the same size from a listener of the same kind.
enum ReadBenchmark {
    static func run(customers: Int = 1000, connections: Int = 4) async throws -> BenchmarkResult {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("souk-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let database = try SQLiteDatabase(path: folder.appendingPathComponent("ledger.sqlite").path)
        let chain = try SigningChain.generate()
        var configuration = EntitlementService.Configuration(
            database: database, apps: [.init(bundleID: "com.example.souk")], environments: [.sandbox])
        configuration.trustAnchors = [TrustAnchor(chain.root)]
        let service = try await EntitlementService(configuration: configuration)
        guard let key = try await service.createMissingKeys().first?.publicKey else {
            throw BenchmarkFailure("the server created no API key")
        }
        try await fill(service, JWSSigner(chain), key: key, customers: customers)
        let sample = await service.respond(to: read(of: 0, key: key)).response()
        let size = sample.body.buffered?.count ?? 0
        let result = try await measure(
            "customer read over HTTP, \(customers) customers", service,
            (0..<customers).map { Self.bytes("/v1/customers/customer-\($0)", key) }, connections: connections,
            size: size,
            budget: .throughput(0.75))
        await database.close()
        return result
    }

    /// Reads transactions from the simulator's App Store Server API, which signs each at every read.
    static func serverAPI(subscribers: Int = 1000, connections: Int = 4) async throws -> BenchmarkResult {
        let folder = FileManager.default.temporaryDirectory.path + "/souk-bench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try await SimulatedAppStore.open(try StoreBenchmark.configuration(folder))
        try await store.populate(subscribers, subscribingTo: "monthly")
        let api = store.summary.serverAPI
        let key = AppStoreConnectKey(
            try SigningKey(Array(Data(contentsOf: URL(fileURLWithPath: api.privateKey)))), id: api.keyID,
            issuerID: api.issuerID, bundleID: store.summary.bundleID)
        let token = try key.token(at: Date(), lifetime: AppStoreConnectKey.maximumTokenLifetime)
        var requests: [[UInt8]] = []
        for account in try store.accounts() {
            guard let sold = try await store.transactions(of: account).first else { continue }
            requests.append(bytes("/inApps/v1/transactions/\(sold.transactionID)", token))
        }
        let sample = HTTPRequest(
            method: .get,
            url: "/inApps/v1/transactions/\(try await store.transactions(of: "subscriber-1")[0].transactionID)",
            headers: ["Authorization": "Bearer \(token)"])
        let answer = await store.handler.respond(to: sample).response()
        guard answer.status == 200, requests.count == subscribers else {
            throw BenchmarkFailure("a transaction got status \(answer.status)")
        }
        let result = try await measure(
            "App Store Server API, transaction info", store.handler, requests, connections: connections,
            size: answer.body.buffered?.count ?? 0, budget: .none)
        await store.close()
        return result
    }

    private static func fill(
        _ service: EntitlementService, _ signer: JWSSigner, key: String, customers: Int
    ) async throws {
        let now = Date()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<customers {
                let jws = try signer.sign(
                    JWSTransactionDecodedPayload {
                        $0.transactionId = "\(number + 1)"
                        $0.originalTransactionId = "\(number + 1)"
                        $0.bundleId = "com.example.souk"
                        $0.productId = "com.example.souk.pro.monthly"
                        $0.subscriptionGroupIdentifier = "21500000"
                        $0.purchaseDate = now
                        $0.originalPurchaseDate = now
                        $0.expiresDate = now.addingTimeInterval(30 * 86400)
                        $0.quantity = 1
                        $0.type = .autoRenewableSubscription
                        $0.signedDate = now
                        $0.environment = .sandbox
                    })
                group.addTask {
                    let request = HTTPRequest(
                        method: .post, url: "/v1/customers/customer-\(number)/transactions",
                        headers: ["Authorization": "Bearer \(key)"], json: ["signedTransaction": .string(jws)])
                    let answer = await service.respond(to: request).response()
                    guard answer.status == 200 else {
                        throw BenchmarkFailure("a purchase got status \(answer.status)")
                    }
                }
                if number % 100 == 99 { try await group.waitForAll() }
            }
        }
    }

    private static func read(of customer: Int, key: String) -> HTTPRequest {
        HTTPRequest(
            method: .get, url: "/v1/customers/customer-\(customer)", headers: ["Authorization": "Bearer \(key)"])
    }

    private static func measure(
        _ name: String, _ handler: any HTTPHandler, _ requests: [[UInt8]], connections: Int, size: Int, budget: Budget
    ) async throws -> BenchmarkResult {
        let server = HTTPListener(handler: handler)
        let constant = HTTPListener(handler: Constant(size: size))
        let (port, otherPort) = (try server.start().port, try constant.start().port)
        let other = [Self.bytes("/constant", "key")]
        let times = try await alternating(11) {
            try await load(port, requests, connections)
        } reference: {
            try await load(otherPort, other, connections)
        }
        await server.stop()
        await constant.stop()
        let (read, reference) = (times.operation, times.reference)
        return BenchmarkResult(
            name: name, reference: "constant response from a listener of the same kind", rounds: times,
            budget: budget,
            more: [
                ("requestsPerSecond", .number((1e9 / read).rounded())),
                ("referenceRequestsPerSecond", .number((1e9 / reference).rounded())),
                ("throughputRatio", rounded(reference / read)), ("connections", .number(connections)),
                ("answerBytes", .number(size)),
            ])
    }

    private static func bytes(_ path: String, _ key: String) -> [UInt8] {
        Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(key)\r\n\r\n".utf8)
    }

    /// Returns the nanoseconds of one request, with `connections` threads that each wait for their response.
    private static func load(_ port: Int, _ requests: [[UInt8]], _ connections: Int) async throws -> Double {
        let each = 4000
        let elapsed = try await withThrowingTaskGroup(of: Void.self) { group in
            let clock = ContinuousClock()
            let start = clock.now
            for connection in 0..<connections {
                group.addTask {
                    try await onThread {
                        let client = try LoadClient(port: port)
                        for number in 0..<each {
                            try client.exchange(requests[(number * 7 + connection * 251) % requests.count])
                        }
                    }
                }
            }
            try await group.waitForAll()
            return clock.now - start
        }
        return elapsed.nanoseconds / Double(each * connections)
    }

    private static func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}

/// A handler that returns the same bytes for every request.
private struct Constant: HTTPHandler {
    let response: HTTPResponse

    init(size: Int) {
        response = HTTPResponse(
            status: 200, headers: ["Content-Type": "application/json"],
            body: .bytes([UInt8](repeating: 0x20, count: size)))
    }

    func respond(to request: HTTPRequest) -> HTTPReply { .ready(response) }
}
