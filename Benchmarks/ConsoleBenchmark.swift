import CurlTransport
import EntitlementServer
import Foundation
import HTTPCore
import HTTPListener
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// Reads the console's pages over HTTP, except reviews, from a ledger with 10⁶ customers. All but one have an alias, a
/// purchase, an entry in the audit log and an event. The ledger also has 10⁶ notifications, webhook deliveries, and
/// subscriptions for the figures. The reference is the sign-in page. `SOUK_BENCH_SHORT` uses 10⁴ instead of 10⁶.
enum ConsoleBenchmark {
    private static let webhook = "crm"

    static func run() async throws -> [BenchmarkResult] {
        let isShort = ProcessInfo.processInfo.environment["SOUK_BENCH_SHORT"] != nil
        let count = isShort ? 10_000 : 1_000_000
        let folder = FileManager.default.temporaryDirectory.path + "/souk-bench-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let ledger = try await FilledLedger.make(count, in: folder)
        let database = try SQLiteDatabase(path: ledger.path)
        for start in stride(from: 1, through: count, by: 20_000) {
            let numbers = start...min(start + 19_999, count)
            try await FigureBenchmark.insert(numbers, in: database)
            try await fill(numbers, in: database)
        }
        var configuration = FilledLedger.configuration(database, ledger.chain)
        configuration.apps[0].rateLimit = nil
        configuration.console = .loopback
        configuration.webhooks = [
            Webhook(
                name: webhook, app: FilledLedger.bundleID, url: "http://127.0.0.1:9/hook",
                secrets: [try WebhookSecret("a secret for the benchmark of pages")])
        ]
        configuration.webhookTransport = InProcessTransport(
            AnyHTTPHandler { _ in .ready(HTTPResponse(status: 200)) })
        let service = try await EntitlementService(configuration: configuration)
        try await service.addAllFactsToFigures()
        let listener = HTTPListener(handler: service)
        let port = try listener.start().port
        let cookie = try await signIn(ledger.secretKey, port)
        let client = try LoadClient(port: port)
        var results: [BenchmarkResult] = []
        for page in pages(count) {
            results.append(try measure(page, client, port, cookie, count))
        }
        await listener.stop()
        await database.close()
        return results
    }

    private struct Page {
        let name: String
        /// The budget for the slowest read in milliseconds.
        let budget: Int
        /// The paths below `/console` that are read in turn.
        let paths: [String]
    }

    private static func pages(_ count: Int) -> [Page] {
        let numbers = (0..<20).map { 1 + $0 * (count - 2) / 20 }
        func digits(_ number: Int) -> String { String(FilledLedger.name(number).suffix(7)) }
        func page(_ name: String, _ path: (Int) -> String) -> Page {
            Page(name: name, budget: 100, paths: numbers.map(path))
        }
        var pages = [
            page("search, first page") { _ in "" },
            page("search, a later page") { "?cursor=\(FilledLedger.name($0))" },
            page("search by id") { "?query=\(FilledLedger.name($0))" },
            page("search by the beginning of all ids") { _ in "?query=customer-" },
            page("search by another name") { "?query=device-\(digits($0))" },
            page("search by the beginning of all other names") { _ in "?query=device-" },
            page("search by transaction id") { "?query=\(digits($0))" },
            page("search by an unknown text") { "?query=unknown-\($0)" },
            page("customer") { "/customer?id=\(FilledLedger.name($0))" },
            page("customer, one purchase") { "/customer?id=\(FilledLedger.name($0))&purchase=\(digits($0))" },
            page("customer with 500 purchases") { _ in "/customer?id=\(FilledLedger.name(0))" },
            // The customer n has the fact with the sequence n + 1.
            page("fact") { "/fact?id=\(FilledLedger.name($0))&sequence=\($0 + 1)" },
            page("audit log") { _ in "/audit" },
            page("audit log, a later page") { "/audit?before=\($0 + 60)" },
            page("audit log of a customer") { "/audit?id=\(FilledLedger.name($0))" },
            page("operations") { _ in "/operations" },
        ]
        pages.append(Page(name: "figures, overview", budget: 300, paths: ["/figures"]))
        for by in ["day", "month"] {
            pages.append(
                Page(
                    name: "figures, overview of two years by \(by)", budget: 300,
                    paths: ["/figures?by=\(by)&from=2024-01-01&to=2025-12-31"]))
        }
        for figure in Figure.all {
            let isCohort = ["retention", "lifetime-value"].contains(figure.name)
            pages.append(
                Page(
                    name: "figure \(figure.name), two years by \(isCohort ? "month" : "day")", budget: 300,
                    paths: [
                        "/figures?figure=\(figure.name)&by=\(isCohort ? "month" : "day")&from=2024-01-01&to=2025-12-31"
                    ]))
        }
        for group in ["product", "country", "offer"] {
            pages.append(
                Page(
                    name: "figure revenue by \(group), two years by month", budget: 300,
                    paths: ["/figures?figure=revenue&by=month&group=\(group)&from=2024-01-01&to=2025-12-31"]))
        }
        return pages
    }

    private static func measure(
        _ page: Page, _ client: LoadClient, _ port: Int, _ cookie: String, _ count: Int
    ) throws -> BenchmarkResult {
        func request(_ path: String) -> [UInt8] {
            Array("GET /console\(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nCookie: \(cookie)\r\n\r\n".utf8)
        }
        let clock = ContinuousClock()
        var (times, references): ([Double], [Double]) = ([], [])
        for round in 0..<20 {
            let path = page.paths[round % page.paths.count]
            do {
                times.append(try clock.measure { try client.exchange(request(path)) }.nanoseconds)
            } catch let failure as BenchmarkFailure {
                throw BenchmarkFailure("\(path): \(failure.description)")
            }
            references.append(try clock.measure { try client.exchange(request("/sign-in")) }.nanoseconds)
        }
        return BenchmarkResult(
            name: "console: \(page.name), \(count) customers", reference: "the sign-in page",
            rounds: [Round](times, references: references), budget: .each(Double(page.budget) * 1000),
            more: [
                ("slowestMicroseconds", rounded((times.max() ?? 0) / 1000)),
                ("isWithinBudget", .bool((times.max() ?? 0) < Double(page.budget) * 1e6)),
            ])
    }

    private static func signIn(_ key: String, _ port: Int) async throws -> String {
        let transport = CurlTransport()
        let response = try await transport.send(
            HTTPRequest(
                method: .post, url: "http://127.0.0.1:\(port)/console/sign-in",
                headers: [
                    "Origin": "http://127.0.0.1:\(port)", "Content-Type": "application/x-www-form-urlencoded",
                ], body: .text(HTTPQuery([("key", key), ("role", "full")]).encoded)))
        await transport.shutdown()
        guard response.status == 303, let cookie = response.headers["Set-Cookie"]?.split(separator: ";").first else {
            throw BenchmarkFailure("the sign-in got status \(response.status)")
        }
        return String(cookie)
    }

    /// Inserts all rows that the pages show, except customers and facts. Customer 0 gets the purchases 1 to 500.
    private static func fill(_ numbers: ClosedRange<Int>, in database: SQLiteDatabase) async throws {
        let values: [SQLValue] = [
            .text(FilledLedger.bundleID.rawValue), .integer(Int64(numbers.lowerBound)),
            .integer(Int64(numbers.upperBound)),
        ]
        let rows = "WITH RECURSIVE copy (n) AS (SELECT ?2 UNION ALL SELECT n + 1 FROM copy WHERE n < ?3)"
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let statements = [
            """
            INSERT INTO alias (app, environment, alias, customer, app_account_token, created_at)
            \(rows) SELECT ?1, 'sandbox', printf('device-%07d', n), printf('customer-%07d', n), printf('other-%07d', n),
                \(now) FROM copy
            """,
            """
            INSERT INTO audit_entry (app, environment, action, customer, key_id, role, request, detail, reason,
                created_at)
            \(rows) SELECT ?1, 'sandbox', 'grant', printf('customer-%07d', n), 'key', 'full', printf('review-%d', n),
                '{"feature":"pro","grant":"g"}', 'a reason', \(now) FROM copy
            """,
            """
            INSERT INTO document (app, environment, kind, identity, about, signed_at, received_at, source_bytes)
            \(rows) SELECT ?1, 'sandbox', 'notification', printf('notification-%d', n), 'DID_RENEW',
                \(now) - n * 100, \(now) - n * 100, CAST('' AS BLOB) FROM copy
            """,
            """
            INSERT INTO event (app, environment, customer, type, body, created_at)
            \(rows) SELECT ?1, 'sandbox', printf('customer-%07d', n), 'purchase', CAST('{}' AS BLOB), \(now) FROM copy
            """,
            """
            INSERT INTO webhook_delivery (app, environment, webhook, customer, event, state, attempts, due_at,
                created_at, last_status)
            \(rows) SELECT ?1, 'sandbox', '\(webhook)', printf('customer-%07d', n), n + 1000000000,
                CASE n % 4 WHEN 0 THEN 'waiting' WHEN 1 THEN 'due' WHEN 2 THEN 'dead' ELSE 'delivered' END, 1,
                \(now) + 9000000000, \(now), 500 FROM copy
            """,
            """
            INSERT INTO holder (app, environment, customer, original_transaction_id)
            \(rows) SELECT ?1, 'sandbox', 'customer-0000000', printf('%07d', n) FROM copy WHERE n <= 500
            """,
        ]
        try await database.write { connection in
            for statement in statements { try connection.execute(statement, values) }
        }
    }
}
