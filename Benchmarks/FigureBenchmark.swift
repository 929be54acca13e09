import EntitlementServer
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// The figures of a ledger with 10⁶ subscriptions: the time to add a fact to the figures, and the time of six queries.
/// The reference of the queries is the list of figures. `SOUK_BENCH_SHORT` uses 10⁴ subscriptions.
enum FigureBenchmark {
    static func run() async throws -> [BenchmarkResult] {
        let isShort = ProcessInfo.processInfo.environment["SOUK_BENCH_SHORT"] != nil
        let count = isShort ? 10_000 : 1_000_000
        let folder = FileManager.default.temporaryDirectory.path + "/souk-bench-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let database = try SQLiteDatabase(path: folder + "/ledger.sqlite")
        let service = try await EntitlementService(
            configuration: FilledLedger.configuration(database, try SigningChain.generate()))
        guard let keys = try await service.createMissingKeys().first else {
            throw BenchmarkFailure("the server created no API key")
        }
        for start in stride(from: 1, through: count, by: 20_000) {
            try await insert(start...min(start + 19_999, count), in: database)
        }
        let clock = ContinuousClock()
        let adding = try await clock.measure { try await service.addAllFactsToFigures() }
        var results = [
            BenchmarkResult(
                name: "a fact added to the figures, \(count) subscriptions", reference: "itself",
                rounds: [
                    Round(
                        operation: adding.nanoseconds / Double(count), reference: adding.nanoseconds / Double(count))
                ])
        ]
        for query in [
            "active-subscriptions?by=day&from=2024-01-01&to=2025-12-31",
            "mrr?by=day&from=2025-01-01&to=2025-12-31&group=product",
            "revenue?by=month&from=2024-01-01&to=2025-12-31&group=country",
            "churn?by=month&from=2024-01-01&to=2025-12-31",
            "retention?by=month&from=2024-01-01&to=2025-12-31", "lifetime-value?by=month&from=2024-01-01&to=2025-12-31",
        ] {
            func get(_ path: String) async throws {
                let response = await service.respond(
                    to: HTTPRequest(
                        method: .get, url: "/v1/figures\(path)", headers: ["Authorization": "Bearer \(keys.secretKey)"])
                ).response()
                guard response.status == 200 else { throw BenchmarkFailure("\(path) got status \(response.status)") }
            }
            let times = try await paired(
                rounds: 7, iterations: 3, { try await get("/\(query)") }, reference: { try await get("") })
            results.append(
                BenchmarkResult(
                    name: "figure \(query), \(count) subscriptions", reference: "the list of figures",
                    rounds: times, budget: .each(300_000)))
        }
        await database.close()
        return results
    }

    /// Inserts subscriptions of 1 to 12 months in 10 countries. Each begins on a day of 2024 or 2025.
    static func insert(_ numbers: ClosedRange<Int>, in database: SQLiteDatabase) async throws {
        try await database.write { connection in
            try connection.execute(
                """
                INSERT INTO fact (app, environment, source, digest, kind, format, transaction_id,
                    original_transaction_id, signed_at, received_at, summary, source_bytes)
                WITH RECURSIVE copy (n) AS (SELECT ?2 UNION ALL SELECT n + 1 FROM copy WHERE n < ?3),
                    start (n, at) AS (SELECT n, 1704067200000 + (n * 7919 % 731) * 86400000 FROM copy)
                SELECT ?1, 'sandbox', 'appStore', CAST(printf('%d', n) AS BLOB), 'transaction', 'jws',
                    printf('t%07d', n), printf('t%07d', n), at, at,
                    printf('{"transactionId":"t%07d","productId":"product-%d","type":"autoRenewableSubscription",'
                        || '"purchaseDate":%d,"originalPurchaseDate":%d,"expiresDate":%d,"price":"%d.99","currency":"%s",'
                        || '"storefront":"C%02d"}', n, n % 5, at, at, at + (1 + n % 12) * 2635200000, 1 + n % 9,
                        CASE n % 3 WHEN 0 THEN 'EUR' ELSE 'USD' END, n % 10), CAST('' AS BLOB)
                FROM start
                """,
                [
                    .text(FilledLedger.bundleID.rawValue), .integer(Int64(numbers.lowerBound)),
                    .integer(Int64(numbers.upperBound)),
                ])
        }
    }
}
