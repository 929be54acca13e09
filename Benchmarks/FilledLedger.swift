import AppStorePayloads
import EntitlementServer
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// A ledger with a given number of customers. Customer 0 has bought a subscription. The others have copies of its rows,
/// with other names and without the signed bytes.
struct FilledLedger {
    static let bundleID: BundleID = "com.example.souk"
    private static let batch = 20_000

    let folder: String
    let chain: SigningChain
    let publicKey: String
    let secretKey: String

    var path: String { folder + "/ledger.sqlite" }

    /// Returns the id of a customer. It has seven digits, so that rows are inserted in the order of the ids.
    static func name(_ number: Int) -> String {
        let digits = String(number)
        return "customer-" + String(repeating: "0", count: max(0, 7 - digits.count)) + digits
    }

    static func make(_ count: Int, in folder: String) async throws -> FilledLedger {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let chain = try SigningChain.generate()
        let database = try SQLiteDatabase(path: folder + "/ledger.sqlite")
        let service = try await EntitlementService(configuration: configuration(database, chain))
        guard let keys = try await service.createMissingKeys().first else {
            throw BenchmarkFailure("the server created no API key")
        }
        let ledger = FilledLedger(
            folder: folder, chain: chain, publicKey: keys.publicKey, secretKey: keys.secretKey)
        let signed = try ledger.sign(transaction: "0", of: name(0))
        let answer = await service.respond(
            to: HTTPRequest(
                method: .post, url: "/v1/customers/\(name(0))/transactions",
                headers: ["Authorization": "Bearer \(keys.publicKey)"], json: ["signedTransaction": .string(signed)])
        ).response()
        guard answer.status == 200 else { throw BenchmarkFailure("a purchase got status \(answer.status)") }
        for start in stride(from: 1, to: count, by: batch) {
            try await copy(start..<min(start + batch, count), in: database)
            if count > batch { note("\rcustomers inserted: \(min(start + batch, count)) of \(count) ") }
        }
        if count > batch { note("\n") }
        await database.close()
        return ledger
    }

    static func configuration(
        _ database: any SQLDatabase, _ chain: SigningChain
    ) -> EntitlementService.Configuration {
        var configuration = EntitlementService.Configuration(
            database: database, apps: [.init(bundleID: bundleID)], environments: [.sandbox])
        configuration.trustAnchors = [TrustAnchor(chain.root)]
        return configuration
    }

    func sign(transaction id: String, of customer: String) throws -> String {
        try JWSSigner(chain).sign(payload(id, of: customer))
    }

    func payload(_ id: String, of customer: String) -> JWSTransactionDecodedPayload {
        let now = Date()
        return JWSTransactionDecodedPayload {
            $0.transactionId = id
            $0.originalTransactionId = id
            $0.bundleId = Self.bundleID.rawValue
            $0.productId = "com.example.souk.pro.monthly"
            $0.subscriptionGroupIdentifier = "21500000"
            $0.purchaseDate = now
            $0.originalPurchaseDate = now
            $0.expiresDate = now.addingTimeInterval(30 * 86400)
            $0.quantity = 1
            $0.type = .autoRenewableSubscription
            $0.appAccountToken = CustomerID(unchecked: customer).appAccountToken
            $0.signedDate = now
            $0.environment = .sandbox
        }
    }

    private static func copy(_ numbers: Range<Int>, in database: SQLiteDatabase) async throws {
        let values: [SQLValue] = [
            .integer(Int64(numbers.lowerBound)), .integer(Int64(numbers.upperBound - 1)), .text(name(0)),
        ]
        try await database.write { connection in
            for (sql, count) in copies {
                try connection.execute(
                    """
                    \(sql.insert)
                    WITH RECURSIVE copy (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM copy WHERE n < ?2)
                    \(sql.select)
                    """, Array(values.prefix(count)))
            }
        }
    }

    /// The insertion for each table, and the number of its values. With `CROSS JOIN`, SQLite finds the row to copy
    /// once, not for each copy.
    private static let copies: [((insert: String, select: String), Int)] = [
        (
            (
                """
                INSERT INTO customer (app, environment, id, app_account_token, first_seen_at, revision, answer, etag,
                    content_digest, valid_from, valid_until)
                """,
                """
                SELECT app, environment, printf('customer-%07d', n), printf('token-%07d', n), first_seen_at, revision,
                    CAST(replace(CAST(answer AS TEXT), id, printf('customer-%07d', n)) AS BLOB),
                    printf('"%022d"', n), content_digest, valid_from, valid_until FROM customer CROSS JOIN copy WHERE id = ?3
                """
            ), 3
        ),
        (
            (
                "INSERT INTO purchase (app, environment, original_transaction_id)",
                """
                SELECT app, environment, printf('%07d', n) FROM purchase CROSS JOIN copy
                WHERE original_transaction_id = '0'
                """
            ), 2
        ),
        (
            (
                "INSERT INTO holder (app, environment, customer, original_transaction_id)",
                """
                SELECT app, environment, printf('customer-%07d', n), printf('%07d', n) FROM holder CROSS JOIN copy
                WHERE customer = ?3
                """
            ), 3
        ),
        (
            (
                """
                INSERT INTO fact (app, environment, source, digest, kind, format, transaction_id,
                    original_transaction_id, signed_at, received_at, summary, source_bytes)
                """,
                """
                SELECT app, environment, source, CAST(printf('%032d', n) AS BLOB), kind, format, printf('%07d', n),
                    printf('%07d', n), signed_at, received_at,
                    replace(summary, '"0"', printf('"%07d"', n)), zeroblob(0) FROM fact CROSS JOIN copy
                WHERE original_transaction_id = '0'
                """
            ), 2
        ),
    ]

    private static func note(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
