import AppStorePayloads
import EntitlementServer
import Foundation
import HTTPCore
import HTTPListener
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// The App Store asks for a retention message over HTTP with 32 connections. Each request has a signature of its own,
/// which the server verifies. The first rule needs one read of the ledger, and the answer is a message or a promotional
/// offer that the server signs. The reference is a constant response from a listener of the same kind.
enum RetentionBenchmark {
    private static let connections = 32
    private static let rounds = 5
    private static let count = 2000
    private static let appleID = 1_234_567_890

    static func run() async throws -> [BenchmarkResult] {
        let folder = FileManager.default.temporaryDirectory.path + "/souk-bench-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let ledger = try await FilledLedger.make(1000, in: folder)
        let message: JSONValue = .string(UUID().uuidString)
        let requests = try (0..<count * (rounds + 1)).map { try request($0, of: ledger) }
        return [
            try await compare(
                "retention message", ["message": ["messageIdentifier": message]], requests, ledger),
            try await compare(
                "retention message with a signed offer",
                ["promotionalOffer": ["messageIdentifier": message, "offerIdentifier": "half"]], requests, ledger),
        ]
    }

    private static func request(_ number: Int, of ledger: FilledLedger) throws -> [UInt8] {
        let digits = String(ServerBenchmark.customerNumber(number, among: 1000))
        // Only the id of the first customer's transaction is not padded.
        let transaction = digits == "0" ? digits : String(repeating: "0", count: 7 - digits.count) + digits
        let signed = try JWSSigner(ledger.chain).sign(
            DecodedRealtimeRequestBody {
                $0.originalTransactionId = transaction
                $0.appAppleId = appleID
                $0.productId = "com.example.souk.pro.monthly"
                $0.userLocale = "en-US"
                $0.requestIdentifier = UUID()
                $0.environment = .sandbox
                $0.signedDate = Date()
            })
        return ServerBenchmark.post("/v1/retention-messages/app-store", nil, ["signedPayload": .string(signed)])
    }

    private static func compare(
        _ name: String, _ answer: JSONValue, _ requests: [[UInt8]], _ ledger: FilledLedger
    ) async throws -> BenchmarkResult {
        let database = try SQLiteDatabase(path: ledger.path)
        var configuration = FilledLedger.configuration(database, ledger.chain)
        configuration.apps[0].appAppleID = appleID
        configuration.apps[0].retentionMessages = RetentionMessages(
            try RetentionRules(
                json: ["rules": [["name": "all", "when": ["daysSubscribed": ["min": 0]], "answer": answer]]]),
            key: AppStoreConnectKey(
                try SigningKey.generate(), id: "2X9R4HXF34", issuerID: "bench", bundleID: FilledLedger.bundleID))
        let service = try await EntitlementService(configuration: configuration)
        let sample = await service.respond(
            to: HTTPRequest(
                method: .post, url: "/v1/retention-messages/app-store", body: .bytes(body(of: requests[0])))
        ).response()
        guard sample.status == 200, sample.body.buffered?.count ?? 0 > 2 else {
            throw BenchmarkFailure("a request for a retention message got status \(sample.status)")
        }
        // One core for the server and one for the client: more threads would compete for them.
        var one = HTTPListener.Configuration()
        one.threads = 1
        let (server, constant) = (
            HTTPListener(handler: service, configuration: one),
            HTTPListener(handler: AnyHTTPHandler { _ in .ready(sample) }, configuration: one)
        )
        let (port, otherPort) = (try server.start().port, try constant.start().port)
        var outcomes: [(asked: PollingLoad.Outcome, constant: PollingLoad.Outcome)] = []
        for round in 0...rounds {
            let part = Array(requests[round * count..<(round + 1) * count])
            let asked = try await PollingLoad.run(port: port, connections: connections, count: count) { part[$0] }
            let reference = try await PollingLoad.run(
                port: otherPort, connections: connections, count: count
            ) { part[$0] }
            if round > 0 { outcomes.append((asked, reference)) }
        }
        await server.stop()
        await constant.stop()
        await database.close()
        let (asked, reference) = (median(outcomes.map(\.asked.each)), median(outcomes.map(\.constant.each)))
        return BenchmarkResult(
            name: name, reference: "the same response from a listener of the same kind, without verification",
            rounds: [Round](outcomes.map(\.asked.each), references: outcomes.map(\.constant.each)),
            budget: .other("p99 < 50 ms"),
            more: [
                ("requestsPerSecond", .number((1e9 / asked).rounded())),
                ("referenceRequestsPerSecond", .number((1e9 / reference).rounded())),
                ("p50Microseconds", rounded(median(outcomes.map(\.asked.p50)) / 1000)),
                ("p99Microseconds", rounded(median(outcomes.map(\.asked.p99)) / 1000)),
                ("referenceP50Microseconds", rounded(median(outcomes.map(\.constant.p50)) / 1000)),
                ("referenceP99Microseconds", rounded(median(outcomes.map(\.constant.p99)) / 1000)),
                ("processorMicroseconds", rounded(median(outcomes.map(\.asked.processor)) / 1000)),
                ("connections", .number(connections)), ("answerBytes", .number(sample.body.buffered?.count ?? 0)),
            ])
    }

    /// Returns the body of a request in HTTP's form.
    private static func body(of request: [UInt8]) -> [UInt8] {
        let end = Array("\r\n\r\n".utf8)
        let start = request.indices.first { request[$0...].starts(with: end) } ?? request.startIndex
        return Array(request[start...].dropFirst(end.count))
    }
}
