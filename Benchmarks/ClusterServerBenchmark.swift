import CPostgreSQL
import EntitlementServer
import Foundation
import HTTPCore
import HTTPListener
import PostgresStorage
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

/// Entitlement servers over PostgreSQL. Compares reads of 10⁶ customers with a constant response, and first purchases
/// with libpq alone, which commits the same rows. Compares two servers with one server, each 5 ms away from the
/// database. Also measures the time from a purchase at one server to its event at another. `SOUK_BENCH_SHORT` uses 1000
/// customers.
enum ClusterServerBenchmark {
    private static let writers = 8
    private static let rounds = 5
    private static let connections = 64

    static func run(on server: TemporaryServer) async throws -> [BenchmarkResult] {
        let isShort = ProcessInfo.processInfo.environment["SOUK_BENCH_SHORT"] != nil
        return [try await reads(of: isShort ? 1000 : 1_000_000, on: server)] + (try await purchases(on: server))
            + [try await twoServers(on: server), try await events(on: server)]
    }

    /// A ledger in its own database, and a server for it.
    private struct Shared {
        let url: String
        let database: PostgresDatabase
        let service: EntitlementService
        let ledger: FilledLedger

        static func make(_ name: String, on server: TemporaryServer) async throws -> Shared {
            try execute("CREATE DATABASE \(name) TEMPLATE template0", "postgres://souk@/postgres?host=\(server.folder)")
            let url = "postgres://souk@/\(name)?host=\(server.folder)"
            let chain = try SigningChain.generate()
            let (database, service) = try await open(url, chain)
            guard let keys = try await service.createMissingKeys().first else {
                throw BenchmarkFailure("the server created no API key")
            }
            return Shared(
                url: url, database: database, service: service,
                ledger: FilledLedger(
                    folder: server.folder, chain: chain, publicKey: keys.publicKey, secretKey: keys.secretKey))
        }

        static func open(
            _ url: String, _ chain: SigningChain
        ) async throws -> (PostgresDatabase, EntitlementService) {
            var settings = PostgresDatabase.Configuration()
            settings.writers = writers
            let database = try PostgresDatabase(url: url, configuration: settings)
            return (
                database,
                try await EntitlementService(configuration: FilledLedger.configuration(database, chain))
            )
        }

        func purchase(_ number: Int) throws -> (path: String, body: JSONValue) {
            let customer = "buyer-\(number)"
            let signed = try ledger.sign(transaction: "\(1_000_000_000 + number)", of: customer)
            return ("/v1/customers/\(customer)/transactions", ["signedTransaction": .string(signed)])
        }

        func bytes(_ number: Int) throws -> [UInt8] {
            let (path, body) = try purchase(number)
            return ServerBenchmark.post(path, ledger.publicKey, body)
        }
    }

    private static func execute(_ sql: String, _ url: String) throws {
        guard let connection = PQconnectdb(url), PQstatus(connection) == CONNECTION_OK else {
            throw BenchmarkFailure("no connection to \(url)")
        }
        defer { PQfinish(connection) }
        let result = PQexec(connection, sql)
        defer { PQclear(result) }
        guard [PGRES_COMMAND_OK, PGRES_TUPLES_OK].contains(PQresultStatus(result)) else {
            throw BenchmarkFailure(String(cString: PQerrorMessage(connection)))
        }
    }

    // MARK: - Reads

    private static func reads(of count: Int, on server: TemporaryServer) async throws -> BenchmarkResult {
        let shared = try await Shared.make("reads", on: server)
        let (key, name) = (shared.ledger.publicKey, FilledLedger.name(0))
        let signed = try shared.ledger.sign(transaction: "0", of: name)
        let first = await shared.service.respond(
            to: HTTPRequest(
                method: .post, url: "/v1/customers/\(name)/transactions", headers: ["Authorization": "Bearer \(key)"],
                json: ["signedTransaction": .string(signed)])
        ).response()
        guard first.status == 200 else { throw BenchmarkFailure("a purchase got status \(first.status)") }
        try execute(
            """
            INSERT INTO customer (app, environment, id, app_account_token, first_seen_at, revision, answer, etag,
                content_digest, valid_from, valid_until, rules_epoch)
            SELECT app, environment, name, 'token-' || name, first_seen_at, revision, bytes,
                '"' || rtrim(translate(encode(substring(sha256(digest || convert_to(CAST(valid_from AS TEXT), 'UTF8'))
                    FROM 1 FOR 16), 'base64'), '+/', '-_'), '=') || '"', digest, valid_from, valid_until, rules_epoch
            FROM (SELECT *, sha256(substring(bytes FROM start)) AS digest FROM (
                SELECT *, convert_to(replace(text, id, name), 'UTF8') AS bytes FROM (
                    SELECT *, convert_from(answer, 'UTF8') AS text,
                        10 + position('"' IN substring(convert_from(answer, 'UTF8') FROM 10)) AS start,
                        'customer-' || lpad(CAST(number AS TEXT), 7, '0') AS name
                    FROM customer CROSS JOIN generate_series(1, \(count - 1)) AS number WHERE id = '\(name)') AS a) AS b) AS c
            """, shared.url)
        try execute("VACUUM ANALYZE customer", shared.url)
        let sample = await shared.service.respond(
            to: HTTPRequest(
                method: .get, url: "/v1/customers/\(FilledLedger.name(1))", headers: ["Authorization": "Bearer \(key)"])
        ).response()
        guard sample.status == 200 else { throw BenchmarkFailure("a customer got status \(sample.status)") }
        let measured = try await ServerBenchmark.compare(
            "customer read from PostgreSQL, \(count) customers", shared.service, sample, among: count,
            budget: .throughput(0.35), clientHasProcessor: false
        ) { ServerBenchmark.get("/v1/customers/\(FilledLedger.name($0))", key) }
        await shared.database.close()
        return measured
    }

    // MARK: - Purchases

    /// Compares the first purchases of customers with increasing ids, in process and over HTTP, with the insertion of
    /// the rows of such a purchase.
    private static func purchases(on server: TemporaryServer) async throws -> [BenchmarkResult] {
        let shared = try await Shared.make("purchases", on: server)
        let each = 2000
        let key = shared.ledger.publicKey
        func present(_ number: Int) async throws {
            let (path, body) = try shared.purchase(number)
            let answer = await shared.service.respond(
                to: HTTPRequest(method: .post, url: path, headers: ["Authorization": "Bearer \(key)"], json: body)
            ).response()
            guard answer.status == 200 else { throw BenchmarkFailure("a purchase got status \(answer.status)") }
        }
        try await present(0)
        let bare = try BareRows(shared.url, connections: writers)
        let listener = HTTPListener(handler: shared.service)
        let port = try listener.start().port
        var numbers = 1
        var (inProcess, overHTTP, theirs): ([Double], [PollingLoad.Outcome], [Double]) = ([], [], [])
        let before = try transactions(shared.url)
        for round in 0...rounds {
            let requests = try (0..<each).map { try shared.bytes(numbers + $0) }
            numbers += each
            let loaded = try await PollingLoad.run(port: port, connections: connections, count: each) { requests[$0] }
            let bodies = try (0..<each).map { try shared.purchase(numbers + $0) }
            numbers += each
            let begun = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for caller in 0..<connections {
                    group.addTask {
                        for number in stride(from: caller, to: each, by: connections) {
                            let (path, body) = bodies[number]
                            let answer = await shared.service.respond(
                                to: HTTPRequest(
                                    method: .post, url: path, headers: ["Authorization": "Bearer \(key)"], json: body)
                            ).response()
                            guard answer.status == 200 else {
                                throw BenchmarkFailure("a purchase got status \(answer.status)")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let direct = (ContinuousClock.now - begun).nanoseconds / Double(each)
            let reference = try bare.run(each)
            if round > 0 {
                inProcess.append(direct)
                overHTTP.append(loaded)
                theirs.append(reference)
            }
        }
        let after = try transactions(shared.url)
        bare.close()
        await listener.stop()
        await shared.database.close()
        let reference = "the rows of one purchase in one pipeline of libpq alone, \(writers) connections"
        let committed = after.committed - before.committed
        let retried: (String, JSONValue) = (
            "rolledBackShare", rounded((after.rolledBack - before.rolledBack) / max(1, committed))
        )
        let (http, direct, rows) = (median(overHTTP.map(\.each)), median(inProcess), median(theirs))
        return [
            BenchmarkResult(
                name: "first purchase of a customer in PostgreSQL, in process", reference: reference,
                rounds: [Round](inProcess, references: theirs), budget: .throughput(0.7),
                more: [("throughputRatio", rounded(rows / direct)), retried]),
            BenchmarkResult(
                name: "first purchase of a customer in PostgreSQL, over HTTP", reference: reference,
                rounds: [Round](overHTTP.map(\.each), references: theirs), budget: .throughput(0.5),
                more: [
                    ("throughputRatio", rounded(rows / http)),
                    ("p50Microseconds", rounded(median(overHTTP.map(\.p50)) / 1000)),
                    ("p99Microseconds", rounded(median(overHTTP.map(\.p99)) / 1000)),
                    ("processorMicroseconds", rounded(median(overHTTP.map(\.processor)) / 1000)),
                ]),
        ]
    }

    private static func transactions(_ url: String) throws -> (committed: Double, rolledBack: Double) {
        guard let connection = PQconnectdb(url), PQstatus(connection) == CONNECTION_OK else {
            throw BenchmarkFailure("no connection to \(url)")
        }
        defer { PQfinish(connection) }
        // PostgreSQL's backends report their statistics at most once a second.
        Thread.sleep(forTimeInterval: 1.5)
        let result = PQexec(
            connection,
            "SELECT xact_commit, xact_rollback FROM pg_stat_database WHERE datname = current_database()")
        defer { PQclear(result) }
        func number(_ column: CInt) -> Double { Double(String(cString: PQgetvalue(result, 0, column))) ?? 0 }
        return (number(0), number(1))
    }

    // MARK: - Two servers

    private static func twoServers(on server: TemporaryServer) async throws -> BenchmarkResult {
        let shared = try await Shared.make("two", on: server)
        let place = FileManager.default.temporaryDirectory.path + "/souk-bench-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: place) }
        let proxies = try (1...2).map { number in
            try DelayingProxy(to: "\(server.folder)/.s.PGSQL.5432", in: "\(place)/\(number)", milliseconds: 5)
        }
        var servers: [(database: PostgresDatabase, listener: HTTPListener, port: Int)] = []
        for proxy in proxies {
            let (database, service) = try await Shared.open(
                "postgres://souk@/two?host=\(proxy.folder)", shared.ledger.chain)
            let listener = HTTPListener(handler: service)
            servers.append((database, listener, try listener.start().port))
        }
        let each = 1000
        var numbers = 0
        var (ones, twos): ([Double], [Double]) = ([], [])
        for round in 0...rounds {
            let requests = try (0..<3 * each).map { try shared.bytes(numbers + $0) }
            numbers += 3 * each
            let one = try await PollingLoad.run(port: servers[0].port, connections: connections, count: each) {
                requests[$0]
            }
            let begun = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (place, server) in servers.enumerated() {
                    group.addTask {
                        _ = try await PollingLoad.run(port: server.port, connections: connections, count: each) {
                            requests[(place + 1) * each + $0]
                        }
                    }
                }
                try await group.waitForAll()
            }
            let two = (ContinuousClock.now - begun).nanoseconds / Double(2 * each)
            if round > 0 {
                ones.append(one.each)
                twos.append(two)
            }
        }
        for server in servers {
            await server.listener.stop()
            await server.database.close()
        }
        await shared.database.close()
        return BenchmarkResult(
            name: "purchase at two servers, PostgreSQL 5 ms away", reference: "the same at one server",
            rounds: [Round](twos, references: ones), budget: .throughput(1.6),
            more: [("throughputRatio", rounded(median(ones) / median(twos)))])
    }

    // MARK: - Events

    /// The time from the response to a purchase at one server to its event in a stream of another.
    private static func events(on server: TemporaryServer) async throws -> BenchmarkResult {
        let shared = try await Shared.make("events", on: server)
        let (database, other) = try await Shared.open(shared.url, shared.ledger.chain)
        let jobs = [shared.service, other].map { service in Task { try await service.run() } }
        let stream = await other.respond(
            to: HTTPRequest(
                method: .get, url: "/v1/events",
                headers: ["Authorization": "Bearer \(shared.ledger.secretKey)", "Souk-Environment": "sandbox"])
        ).response()
        guard stream.status == 200, case .stream(let body) = stream.body else {
            throw BenchmarkFailure("the events got status \(stream.status)")
        }
        let arrived = Locked<[Int: ContinuousClock.Instant]>([:])
        let reading = Task {
            var text = ""
            while let chunk = try await body.next() {
                text += String(decoding: chunk, as: UTF8.self)
                while let end = text.firstRange(of: "\n\n") {
                    let event = text[..<end.lowerBound]
                    if let name = event.firstRange(of: "buyer-"),
                        let number = Int(event[name.upperBound...].prefix(while: \.isNumber))
                    {
                        arrived.withLock { if $0[number] == nil { $0[number] = .now } }
                    }
                    text = String(text[end.upperBound...])
                }
            }
        }
        let count = 400
        var answered: [ContinuousClock.Instant] = []
        for number in 0..<count {
            let (path, content) = try shared.purchase(number)
            let answer = await shared.service.respond(
                to: HTTPRequest(
                    method: .post, url: path, headers: ["Authorization": "Bearer \(shared.ledger.publicKey)"],
                    json: content)
            ).response()
            guard answer.status == 200 else { throw BenchmarkFailure("a purchase got status \(answer.status)") }
            answered.append(.now)
            // A random pause, so that purchases are not synchronized with the polling for events.
            try await Task.sleep(for: .milliseconds(.random(in: 0...30)))
        }
        let deadline = ContinuousClock.now + .seconds(10)
        while arrived.withLock({ $0.count }) < count {
            guard .now < deadline else { throw BenchmarkFailure("events are missing") }
            try await Task.sleep(for: .milliseconds(10))
        }
        for job in jobs { job.cancel() }
        reading.cancel()
        body.cancel()
        for job in jobs { _ = await job.result }
        await database.close()
        await shared.database.close()
        let delays = arrived.withLock { arrived in
            answered.enumerated().map { number, instant in
                arrived[number].map { max(0, (instant.duration(to: $0)).nanoseconds) } ?? .infinity
            }
        }.sorted()
        return BenchmarkResult(
            name: "purchase at one server to its event at another, p99", reference: "the limit, 250 ms",
            rounds: [Round(operation: delays[count * 99 / 100], reference: 250e6)], budget: .ratio(1),
            more: [("p50Microseconds", rounded(delays[count / 2] / 1000))])
    }
}

/// First purchases with libpq alone. Each connection has a thread, which commits the rows of a purchase in one
/// pipeline.
private final class BareRows: @unchecked Sendable {
    private let connections: [OpaquePointer]
    private let statements: Int
    private let numbers = Locked(0)

    /// The tables into which a customer's first purchase inserts one row each.
    private static let tables = ["token", "purchase", "fact", "claim", "holder", "customer", "event", "commit_mark"]

    /// Prepares insertions like the rows of the first purchase in the ledger.
    init(_ url: String, connections count: Int) throws {
        var texts = ["BEGIN ISOLATION LEVEL SERIALIZABLE"]
        guard let connection = PQconnectdb(url), PQstatus(connection) == CONNECTION_OK else {
            throw BenchmarkFailure("no connection to \(url)")
        }
        for table in Self.tables { texts.append(try Self.insertion(into: table, connection)) }
        PQfinish(connection)
        texts.append("COMMIT")
        statements = texts.count
        connections = try (0..<count).map { _ in
            try connect(url) { connection in
                for (place, text) in texts.enumerated() { PQclear(PQprepare(connection, "s\(place)", text, 0, nil)) }
            }
        }
    }

    /// Returns an SQL insertion of the values in a table's first row, with `$1` for the values that differ between
    /// rows.
    private static func insertion(into table: String, _ connection: OpaquePointer) throws -> String {
        let result = PQexec(
            connection,
            """
            SELECT quote_ident(key) AS name, CASE
                WHEN key = 'digest' AND '\(table)' = 'fact' THEN 'sha256(convert_to($1, ''UTF8''))'
                WHEN key = 'id' AND '\(table)' = 'commit_mark' THEN 'sha256(convert_to($1, ''UTF8''))'
                WHEN key IN ('customer', 'original_transaction_id', 'transaction_id', 'token', 'app_account_token', 'id')
                    THEN '$1'
                ELSE quote_literal(value) END AS value
            FROM (SELECT * FROM \(table) LIMIT 1) AS first, json_each_text(to_json(first))
            WHERE value IS NOT NULL AND key <> 'sequence'
            """)
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_TUPLES_OK, PQntuples(result) > 0 else {
            throw BenchmarkFailure("\(table): \(String(cString: PQerrorMessage(connection)))")
        }
        func column(_ number: CInt) -> String {
            (0..<PQntuples(result)).map { String(cString: PQgetvalue(result, $0, number)) }.joined(separator: ", ")
        }
        return "INSERT INTO \(table) (\(column(0))) VALUES (\(column(1)))"
    }

    func close() { for connection in connections { PQfinish(connection) } }

    /// Runs `count` transactions. Returns the nanoseconds for one.
    func run(_ count: Int) throws -> Double {
        let first = numbers.withLock { numbers in
            defer { numbers += count }
            return numbers
        }
        let failed = Locked(false)
        let begun = ContinuousClock.now
        DispatchQueue.concurrentPerform(iterations: connections.count) { place in
            for number in stride(from: first + place, to: first + count, by: connections.count) {
                guard commit(connections[place], "bare-\(5_000_000_000 + number)") else {
                    return failed.withLock { $0 = true }
                }
            }
        }
        if failed.withLock(\.self) { throw BenchmarkFailure("the reference failed") }
        return (ContinuousClock.now - begun).nanoseconds / Double(count)
    }

    private func commit(_ connection: OpaquePointer, _ name: String) -> Bool {
        name.withCString { name in
            var value: UnsafePointer<CChar>? = name
            for statement in 0..<statements {
                let hasValue = statement > 0 && statement < statements - 1
                _ = PQsendQueryPrepared(connection, "s\(statement)", hasValue ? 1 : 0, &value, nil, nil, 1)
            }
        }
        PQpipelineSync(connection)
        while PQflush(connection) == 1 {}
        while true {
            guard let result = PQgetResult(connection) else { continue }
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK: continue
            case PGRES_PIPELINE_SYNC: return true
            default:
                FileHandle.standardError.write(Data(String(cString: PQresultErrorMessage(result)).utf8))
                return false
            }
        }
    }
}

/// A proxy for a socket that delays all data, so that the round trip takes the given milliseconds longer. It has its
/// own threads, which end with the process.
private final class DelayingProxy: Sendable {
    let folder: String

    init(to socket: String, in folder: String, milliseconds: Double) throws {
        self.folder = folder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let descriptor = Self.socketDescriptor()
        guard Self.withAddress(folder + "/.s.PGSQL.5432", { bind(descriptor, $0, $1) }) == 0,
            listen(descriptor, 64) == 0
        else {
            throw BenchmarkFailure("no socket in \(folder): errno \(errno)")
        }
        let half = useconds_t(milliseconds * 500)
        Thread.detachNewThread {
            while true {
                let client = accept(descriptor, nil, nil)
                let server = Self.socketDescriptor()
                guard client >= 0, Self.withAddress(socket, { Glibc.connect(server, $0, $1) }) == 0 else { return }
                for (from, to) in [(client, server), (server, client)] {
                    Thread.detachNewThread { Self.pass(from, to, after: half) }
                }
            }
        }
    }

    private static func socketDescriptor() -> Int32 { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }

    private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8.prefix($0.count - 1))) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    private static func pass(_ from: Int32, _ to: Int32, after microseconds: useconds_t) {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            usleep(microseconds)
            var sent = 0
            while sent < count {
                let step = buffer.withUnsafeBytes {
                    send(to, $0.baseAddress! + sent, count - sent, Int32(MSG_NOSIGNAL))
                }
                guard step > 0 else { break }
                sent += step
            }
        }
        shutdown(from, Int32(SHUT_RDWR))
        shutdown(to, Int32(SHUT_RDWR))
    }
}
