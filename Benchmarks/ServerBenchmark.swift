import AppStorePayloads
import EntitlementServer
import Foundation
import HTTPCore
import HTTPListener
import Primitives
import SQLStorage
import SignedData
import StoreModel

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The entitlement server over HTTP with 32 connections. Compares reads of 10³ and 10⁶ customers, and signed reads of
/// 10³, with a constant response from a listener of the same kind. Compares a durable purchase, and a notification,
/// with one file sync. Also measures the start of the server. `SOUK_BENCH_SHORT` skips the 10⁶ customers.
enum ServerBenchmark {
    private static let connections = 32
    private static let rounds = 11

    static func run() async throws -> [BenchmarkResult] {
        let isShort = ProcessInfo.processInfo.environment["SOUK_BENCH_SHORT"] != nil
        var results: [BenchmarkResult] = []
        for count in isShort ? [1000] : [1000, 1_000_000] {
            let folder = FileManager.default.temporaryDirectory.path + "/souk-bench-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let ledger = try await FilledLedger.make(count, in: folder)
            results.append(try await start(of: ledger, count))
            results += try await reads(of: ledger, count)
            if count == 1000 { results += try await writes(to: ledger) }
        }
        return results
    }

    // MARK: - Reads

    private static func reads(of ledger: FilledLedger, _ count: Int) async throws -> [BenchmarkResult] {
        let database = try SQLiteDatabase(path: ledger.path)
        var configuration = FilledLedger.configuration(database, ledger.chain)
        configuration.signingKeys = [AnswerSigningKey(try Ed25519.PrivateKey(raw: [UInt8](1...32)))]
        // The memory that `souk serve` uses on a machine with 16 GiB; it holds all customers.
        configuration.answerMemory = 2 << 30
        let service = try await EntitlementService(configuration: configuration)
        let sample = await service.respond(
            to: HTTPRequest(
                method: .get, url: "/v1/customers/\(FilledLedger.name(1))",
                headers: ["Authorization": "Bearer \(ledger.publicKey)"])
        ).response()
        guard sample.status == 200 else { throw BenchmarkFailure("a customer got status \(sample.status)") }
        var results = [
            try await compare(
                "customer read, \(count) customers", service, sample, among: count,
                budget: .throughput(count == 1000 ? 0.75 : 0.7)
            ) {
                get("/v1/customers/\(FilledLedger.name($0))", ledger.publicKey)
            }
        ]
        if count == 1000 {
            results.append(
                try await compare(
                    "signed customer read, \(count) customers", service, sample, among: count, budget: .throughput(0.3)
                ) {
                    get("/v1/customers/\(FilledLedger.name($0))?nonce=nonce-\($0)", ledger.publicKey)
                })
        }
        await database.close()
        return results
    }

    /// Returns a pseudo-random customer for the n-th request. All customers are equally likely.
    static func customerNumber(_ number: Int, among count: Int) -> Int {
        var mixed = UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15
        mixed ^= mixed >> 29
        return Int((mixed &* 0xBF58_476D_1CE4_E5B9) >> 20) % count
    }

    static func get(_ path: String, _ key: String) -> [UInt8] {
        Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(key)\r\n\r\n".utf8)
    }

    /// - Parameter clientHasProcessor: Whether the client has a processor for itself. With a database server on the same
    ///   machine, it has none.
    static func compare(
        _ name: String, _ service: EntitlementService, _ sample: HTTPResponse, among customers: Int,
        budget: Budget, clientHasProcessor: Bool = true, request: @escaping @Sendable (Int) -> [UInt8]
    ) async throws -> BenchmarkResult {
        // One core for the server and one for the client: more threads would compete for them.
        var one = HTTPListener.Configuration()
        one.threads = 1
        let (server, constant) = (
            HTTPListener(handler: service, configuration: one),
            HTTPListener(handler: AnyHTTPHandler { _ in .ready(sample) }, configuration: one)
        )
        let (port, otherPort) = (try server.start().port, try constant.start().port)
        let each = 20_000
        func load(_ port: Int, _ count: Int, of customer: @escaping @Sendable (Int) -> Int) async throws
            -> PollingLoad.Outcome
        {
            try await PollingLoad.run(
                port: port, connections: connections, count: count, isSpinning: clientHasProcessor
            ) {
                request(customer($0))
            }
        }
        // These reads come from the database, because the cache is empty.
        let first = try await load(port, customers) { $0 }
        var outcomes: [(read: PollingLoad.Outcome, constant: PollingLoad.Outcome)] = []
        for round in 0...rounds {
            let randomCustomer: @Sendable (Int) -> Int = { customerNumber(round * each + $0, among: customers) }
            let before = round.isMultiple(of: 2) ? try await load(otherPort, each, of: randomCustomer) : nil
            let one = try await load(port, each, of: randomCustomer)
            let two = if let before { before } else { try await load(otherPort, each, of: randomCustomer) }
            if round > 0 { outcomes.append((one, two)) }
        }
        let resident = residentMegabytes()
        await server.stop()
        await constant.stop()
        let (read, reference) = (median(outcomes.map(\.read.each)), median(outcomes.map(\.constant.each)))
        return BenchmarkResult(
            name: name, reference: "the same response from a listener of the same kind, without a look-up",
            rounds: [Round](outcomes.map(\.read.each), references: outcomes.map(\.constant.each)), budget: budget,
            more: [
                ("requestsPerSecond", .number((1e9 / read).rounded())),
                ("referenceRequestsPerSecond", .number((1e9 / reference).rounded())),
                ("throughputRatio", rounded(reference / read)),
                ("firstReadMicroseconds", rounded(first.each / 1000)),
                ("p50Microseconds", rounded(median(outcomes.map(\.read.p50)) / 1000)),
                ("p99Microseconds", rounded(median(outcomes.map(\.read.p99)) / 1000)),
                ("referenceP50Microseconds", rounded(median(outcomes.map(\.constant.p50)) / 1000)),
                ("referenceP99Microseconds", rounded(median(outcomes.map(\.constant.p99)) / 1000)),
                ("processorMicroseconds", rounded(median(outcomes.map(\.read.processor)) / 1000)),
                ("referenceProcessorMicroseconds", rounded(median(outcomes.map(\.constant.processor)) / 1000)),
                ("connections", .number(connections)), ("answerBytes", .number(sample.body.buffered?.count ?? 0)),
                ("residentMegabytes", .number(resident)),
            ])
    }

    // MARK: - Writes

    private static func writes(to ledger: FilledLedger) async throws -> [BenchmarkResult] {
        let database = try SQLiteDatabase(path: ledger.path)
        let service = try await EntitlementService(
            configuration: FilledLedger.configuration(database, ledger.chain))
        let listener = HTTPListener(handler: service)
        let port = try listener.start().port
        let count = 2000
        var purchases: [[UInt8]] = []
        var notifications: [[UInt8]] = []
        let signer = JWSSigner(ledger.chain)
        for number in 0..<count * (rounds + 1) {
            let signed = try ledger.sign(transaction: "1\(number)", of: "buyer-\(number)")
            purchases.append(
                post(
                    "/v1/customers/buyer-\(number)/transactions", ledger.publicKey,
                    ["signedTransaction": .string(signed)]))
            let notification = try signer.sign(
                ResponseBodyV2DecodedPayload {
                    $0.notificationType = .subscribed
                    $0.notificationUUID = UUID().uuidString.lowercased()
                    $0.data = try .init {
                        $0.bundleId = FilledLedger.bundleID.rawValue
                        $0.environment = .sandbox
                        $0.signedTransactionInfo = try ledger.sign(transaction: "2\(number)", of: "buyer-\(number)")
                    }
                    $0.version = "2.0"
                    $0.signedDate = Date()
                })
            notifications.append(
                post("/v1/notifications/app-store", nil, ["signedPayload": .string(notification)]))
        }
        let results = [
            try await compare("verified purchase, durable", purchases, count, port, ledger.folder, .throughput(1.2)),
            try await compare("notification, durable", notifications, count, port, ledger.folder, .none),
        ]
        await listener.stop()
        await database.close()
        return results
    }

    static func post(_ path: String, _ key: String?, _ body: JSONValue) -> [UInt8] {
        let bytes = body.encoded()
        let authorization = key.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        let header =
            "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(authorization)Content-Type: application/json\r\n"
            + "Content-Length: \(bytes.count)\r\n\r\n"
        return Array(header.utf8) + bytes
    }

    private static func compare(
        _ name: String, _ requests: [[UInt8]], _ count: Int, _ port: Int, _ folder: String, _ budget: Budget
    ) async throws -> BenchmarkResult {
        var outcomes: [(write: PollingLoad.Outcome, sync: Double)] = []
        for round in 0...rounds {
            let written = try await PollingLoad.run(port: port, connections: connections, count: count) {
                requests[round * count + $0]
            }
            let synced = try syncs(200, in: folder)
            if round > 0 { outcomes.append((written, synced)) }
        }
        let (write, sync) = (median(outcomes.map(\.write.each)), median(outcomes.map(\.sync)))
        return BenchmarkResult(
            name: name, reference: "4 KiB appended to a file and synced",
            rounds: [Round](outcomes.map(\.write.each), references: outcomes.map(\.sync)), budget: budget,
            more: [
                ("perSecond", .number((1e9 / write).rounded())),
                ("referencePerSecond", .number((1e9 / sync).rounded())),
                ("throughputRatio", rounded(sync / write)),
                ("p50Microseconds", rounded(median(outcomes.map(\.write.p50)) / 1000)),
                ("p99Microseconds", rounded(median(outcomes.map(\.write.p99)) / 1000)),
                ("processorMicroseconds", rounded(median(outcomes.map(\.write.processor)) / 1000)),
                ("connections", .number(connections)),
            ])
    }

    /// Returns the nanoseconds of one append to a file, including its sync.
    private static func syncs(_ count: Int, in folder: String) throws -> Double {
        let descriptor = open(folder + "/synced", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        guard descriptor >= 0 else { throw BenchmarkFailure("no file to sync: errno \(errno)") }
        defer { close(descriptor) }
        let page = [UInt8](repeating: 0x20, count: 4096)
        let elapsed = try ContinuousClock().measure {
            for _ in 0..<count {
                #if canImport(Darwin)
                    let result = write(descriptor, page, page.count) < 0 ? -1 : fcntl(descriptor, F_FULLFSYNC)
                #else
                    let result = write(descriptor, page, page.count) < 0 ? -1 : fdatasync(descriptor)
                #endif
                guard result == 0 else { throw BenchmarkFailure("a sync failed: errno \(errno)") }
            }
        }
        return elapsed.nanoseconds / Double(count)
    }

    // MARK: - Starting

    private static func start(of ledger: FilledLedger, _ count: Int) async throws -> BenchmarkResult {
        var times: [(server: Double, file: Double)] = []
        for round in 0...rounds {
            let clock = ContinuousClock()
            let begun = clock.now
            let database = try SQLiteDatabase(path: ledger.path)
            let opened = clock.now
            let service = try await EntitlementService(
                configuration: FilledLedger.configuration(database, ledger.chain))
            let listener = HTTPListener(handler: service)
            _ = try listener.start()
            let ready = clock.now
            await listener.stop()
            await database.close()
            if round > 0 { times.append(((ready - begun).nanoseconds, (opened - begun).nanoseconds)) }
        }
        let size = try FileManager.default.attributesOfItem(atPath: ledger.path)[.size] as? Int ?? 0
        return BenchmarkResult(
            name: "start of a server, \(count) customers", reference: "opening its database",
            rounds: [Round](times.map(\.server), references: times.map(\.file)),
            more: [("databaseMegabytes", .number(size >> 20))])
    }
}
