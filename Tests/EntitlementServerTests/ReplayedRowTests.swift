import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// The replay of unchanged and of edited rows.
@Suite struct ReplayedRowTests {
    private static let secret = "0123456789abcdef0123456789abcdef"

    private func replay(_ bench: ServerBench) throws -> LedgerReplay.Report {
        try LedgerReplay(database: bench.database, apps: ReplayTests.apps, clock: bench.clock).run()
    }

    private func sell(_ purchase: WebPurchase, in bench: ServerBench) async throws -> Int {
        let body = try WireJSON.encode(purchase)
        let header = WebhookSignature.header(
            for: body, at: bench.realClock.now(), secrets: [try WebhookSecret(Self.secret)])
        return try await bench.send(
            .post, "/v1/webhooks/shop", as: .none, headers: [WebhookSignature.field: header], body: .bytes(body)
        ).status
    }

    private func redeem(_ code: String, for customer: String, in bench: ServerBench) async throws -> Int {
        try await bench.send(
            .post, "/v1/customers/\(customer)/promotions", as: .secret, body: .json(["code": .string(code)])
        ).status
    }

    /// Creates customers with purchases of each format, a refund, a code, spent credit and a credit grant.
    private func populatedBench() async throws -> ServerBench {
        let bench = try await ServerBench(
            configure: { configuration in
                configuration.apps[0].credits = CreditTests.table
                let secrets = [Self.secret].compactMap { try? WebhookSecret($0) }
                configuration.webPurchases = [
                    .init(name: "shop", app: ServerBench.app, environment: .sandbox, secrets: secrets)
                ]
            })
        let token = CustomerID("anna").appAccountToken
        _ = try await bench.post(
            [
                bench.period("1") {
                    $0.appAccountToken = token
                    $0.webOrderLineItemId = "order-of-1"
                }
            ], renewals: [bench.renewalInfo()])
        _ = try await bench.post(bench.purchase("2"), for: "ben")
        bench.clock.advance(by: 1)
        _ = try await bench.post(
            bench.purchase("2") { $0.revocationDate = $0.signedDate }, for: "ben")
        _ = try await bench.present(
            receipt: bench.receipt([
                bench.receiptPurchase("3") {
                    $0.webOrderLineItemID = "1000000000000003"
                    $0.isTrialPeriod = true
                }
            ]), for: "cleo")
        let now = bench.clock.now()
        let sold = WebPurchase(
            customer: "wanda", transactionID: "order-1", productID: "pro.monthly", kind: .autoRenewableSubscription,
            purchasedAt: now, expiresAt: now.addingTimeInterval(30 * 86400),
            price: Price(amount: 5, currency: "EUR"), autoRenews: true, occurredAt: now)
        #expect(try await sell(sold, in: bench) == 200)
        _ = try await bench.send(
            .post, "/v1/promotions", as: .secret, body: .json(["code": "SUMMER", "feature": "pro", "lasts": "P1M"]))
        for customer in ["anna", "ben"] { #expect(try await redeem("SUMMER", for: customer, in: bench) == 200) }
        _ = try await bench.alias("anonymous-of-ben", to: "ben")
        _ = try await bench.post(bench.coins("4"), for: "dora")
        _ = try await bench.redeem([("cat", "filter")], for: "dora")
        _ = try await bench.give(50, to: "dora")
        return bench
    }

    @Test func `sources of every format agree with their rows`() async throws {
        let bench = try await populatedBench()
        let report = try replay(bench)
        #expect(report.differences == [])
        #expect(report.facts == 8 && report.factsWithoutSource == 0)
        await bench.close()
    }

    @Test(
        .onSQLite,
        arguments: [
            ("UPDATE fact SET signed_at = signed_at + 1000000 WHERE transaction_id = '2' AND sequence = 3", "fact 3"),
            ("UPDATE fact SET signed_at = signed_at + 1 WHERE kind = 'renewal' AND format = 'jws'", "fact 2"),
            ("UPDATE fact SET signed_at = signed_at + 1 WHERE format = 'receipt'", "fact 5"),
            ("UPDATE fact SET signed_at = signed_at + 1 WHERE format = 'web'", "fact 6"),
            ("UPDATE fact SET original_transaction_id = '2' WHERE sequence = 1", "fact 1"),
            ("UPDATE fact SET transaction_id = '9' WHERE sequence = 1", "fact 1"),
            ("UPDATE fact SET app_account_token = NULL WHERE sequence = 1", "fact 1"),
            ("UPDATE fact SET app_account_token = '00000000-0000-0000-0000-000000000000' WHERE sequence = 1", "fact 1"),
            ("UPDATE fact SET app_account_token = '00000000-0000-0000-0000-000000000000' WHERE sequence = 5", "fact 5"),
            ("UPDATE fact SET order_id = 'order-of-9' WHERE sequence = 1", "fact 1"),
            ("UPDATE fact SET order_id = 'order-of-9' WHERE format = 'receipt'", "fact 5"),
            ("UPDATE fact SET kind = 'renewal', transaction_id = NULL, summary = '{}' WHERE sequence = 4", "fact 4"),
            ("UPDATE fact SET kind = 'transaction' WHERE sequence = 2", "fact 2"),
            ("UPDATE fact SET source = 'web' WHERE sequence = 1", "fact 1"),
            ("UPDATE fact SET environment = 'production' WHERE sequence = 1", "fact 1"),
            ("UPDATE fact SET format = 'receipt' WHERE sequence = 1", "fact 1"),
            ("UPDATE fact SET format = 'paper' WHERE sequence = 1", "fact 1"),
            ("UPDATE fact SET digest = x'00' WHERE sequence = 1", "fact 1"),
            ("UPDATE fact SET summary = replace(summary, 'pro.monthly', 'tools') WHERE format = 'receipt'", "fact 5"),
            ("UPDATE fact SET summary = replace(summary, 'pro.monthly', 'tools') WHERE sequence = 6", "fact 6"),
            ("UPDATE fact SET summary = '{}' WHERE sequence = 7", "fact 7"),
            ("UPDATE fact SET summary = 'no JSON' WHERE sequence = 1", "fact 1"),
            ("UPDATE fact SET summary = NULL WHERE sequence = 1", "fact 1"),
            ("UPDATE fact SET summary = 'no JSON', data_key = NULL WHERE sequence = 1", "fact 1"),
            ("UPDATE fact SET data_key = NULL, source_bytes = x'', header = NULL WHERE sequence = 1", "fact 1"),
            ("DELETE FROM data_key WHERE id IN (SELECT data_key FROM fact WHERE sequence = 6)", "fact 6"),
            ("UPDATE document SET source_bytes = x'00'", "document 1"),
            ("UPDATE event SET body = x'7b7d' WHERE sequence = 1", "event 1"),
            ("UPDATE alias SET app_account_token = '00000000-0000-0000-0000-000000000000'", "alias anonymous-of-ben"),
            ("DELETE FROM redemption", "purchase 4"),
            ("UPDATE promotion_redemption SET customer = 'mallory' WHERE customer = 'ben'", "promotion SUMMER"),
            ("UPDATE customer SET erased_at = 1 WHERE id = 'ben'", "customer ben"),
            ("UPDATE customer SET revision = 0 WHERE id = 'anna'", "customer anna"),
            ("UPDATE customer SET revision = -1 WHERE id = 'anna'", "customer anna"),
            ("UPDATE promotion SET redemptions = 1", "promotion SUMMER"),
            ("UPDATE promotion_redemption SET grant_id = 'none' WHERE customer = 'ben'", "promotion SUMMER"),
            ("DELETE FROM customer_grant WHERE id IN (SELECT grant_id FROM promotion_redemption)", "promotion SUMMER"),
            ("DELETE FROM promotion", "promotion SUMMER"),
            (
                """
                INSERT INTO audit_entry (app, environment, action, customer, key_id, role, detail, created_at)
                SELECT bundle_id, 'sandbox', 'grant', 'nobody', 'k', 'full', '{}', 0 FROM app LIMIT 1
                """, "customer nobody"
            ),
            ("UPDATE customer SET app_account_token = upper(app_account_token) WHERE id = 'ben'", "customer ben"),
            (
                """
                UPDATE customer SET app_account_token = (SELECT app_account_token FROM customer WHERE id = 'anna')
                WHERE id = 'ben'
                """, "customer ben"
            ),
            ("UPDATE customer SET valid_until = NULL WHERE id = 'anna'", "customer anna"),
            ("UPDATE customer SET valid_until = valid_until + 86400000 WHERE id = 'anna'", "customer anna"),
            ("UPDATE redemption SET customer = 'mallory'", "redemption 1"),
            ("UPDATE granted_credit SET customer = 'mallory'", "customer mallory"),
            ("UPDATE purchase SET app_account_token = 'x' WHERE original_transaction_id = '2'", "purchase 2"),
        ])
    func `an edited row is reported under its subject`(statement: String, subject: String) async throws {
        let bench = try await populatedBench()
        try await bench.database.write { _ = try $0.execute(statement) }
        let report = try replay(bench)
        #expect(report.differences.contains { $0.subject == subject }, "\(report.differences)")
        await bench.close()
    }

    @Test func `a pseudonym that is not marked as erased is found`() async throws {
        let bench = try await populatedBench()
        #expect(try await bench.send(.delete, "/v1/customers/anna", as: .secret).status == 200)
        #expect(try replay(bench).differences == [])
        let changed = try await bench.database.write {
            try $0.execute("UPDATE customer SET erased_at = NULL WHERE erased_at IS NOT NULL")
        }
        #expect(changed == 1)
        let differences = try replay(bench).differences
        #expect(differences.contains { $0.subject.hasPrefix("customer erased-") }, "\(differences)")
        await bench.close()
    }

    @Test(.onSQLite) func `a summary that is not JSON does not end the check of other rows`() async throws {
        let bench = try await populatedBench()
        try await bench.database.write { connection in
            try connection.execute("UPDATE fact SET summary = 'no JSON' WHERE sequence = 1")
            try connection.execute("UPDATE promotion SET redemptions = 0")
            try connection.execute("UPDATE customer SET content_digest = x'00' WHERE id = 'wanda'")
        }
        let subjects = try replay(bench).differences.map(\.subject)
        for subject in ["fact 1", "customer anna", "promotion SUMMER", "customer wanda"] {
            #expect(subjects.contains(subject), "\(subjects)")
        }
        await bench.close()
    }

    @Test func `rows that refer to a missing purchase are reported with their table`() async throws {
        let bench = try await populatedBench()
        try await bench.database.write { connection in
            try connection.execute("DELETE FROM purchase WHERE original_transaction_id IN ('2', '4')")
            try connection.execute("UPDATE holder SET customer = 'mallory' WHERE original_transaction_id = '2'")
        }
        let differences = try replay(bench).differences
        for (purchase, table) in [
            ("2", "fact"), ("2", "claim"), ("2", "holder"), ("4", "fact"), ("4", "claim"), ("4", "holder"),
            ("4", "spending"),
        ] {
            #expect(
                differences.contains {
                    $0.subject == "purchase \(purchase)" && $0.reason.contains("in the table \(table),")
                }, "\(purchase) in \(table): \(differences)")
        }
        await bench.close()
    }

    @Test(.onSQLite) func `an answer with revision 0 is reported, and a row without an answer is not`() async throws {
        let bench = try await populatedBench()
        try await bench.database.write { connection in
            try connection.execute(
                """
                UPDATE customer SET revision = 0, answer = x'', etag = '', content_digest = x'', valid_from = 0,
                    valid_until = 0 WHERE id = 'ben'
                """)
        }
        #expect(try replay(bench).differences == [])
        try await bench.database.write { connection in
            try connection.execute("UPDATE customer SET valid_until = NULL WHERE id = 'ben'")
        }
        #expect(try replay(bench).differences.map(\.subject) == ["customer ben"])
        await bench.close()
    }

    @Test func `a purchase that no longer waits for its customer, and an alias of a customer without a row, are found`()
        async throws
    {
        let bench = try await populatedBench()
        let token = CustomerID("later").appAccountToken
        _ = try await bench.post(bench.purchase("9") { $0.appAccountToken = token }, for: "ben")
        _ = try await bench.alias("anonymous-1", to: "cleo")
        #expect(try replay(bench).differences == [])
        try await bench.database.write { connection in
            try connection.execute("UPDATE purchase SET app_account_token = NULL WHERE original_transaction_id = '9'")
            try connection.execute("UPDATE alias SET customer = 'mallory'")
        }
        let subjects = try replay(bench).differences.map(\.subject)
        #expect(subjects.contains("purchase 9") && subjects.contains("alias anonymous-1"), "\(subjects)")
        await bench.close()
    }

    @Test func `a merge of two customers that redeemed a code leaves no difference`() async throws {
        let bench = try await populatedBench()
        _ = try await bench.alias("ben")
        #expect(try bench.count("promotion_redemption") == 1)
        #expect(try replay(bench).differences == [])
        await bench.close()
    }

    @Test func `the replay accepts a product id of early versions that is not in form NFC`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post([bench.period("1", product: "caf\u{E9}")])
        let header = Base64.encodeURL(Array("{}".utf8))
        let signedAt = Date(milliseconds: 1_000)
        let payload = Array(
            """
            {"transactionId":"7","originalTransactionId":"7","productId":"cafe\u{301}","type":"Non-Consumable",\
            "purchaseDate":1000,"originalPurchaseDate":1000,"signedDate":1000,"environment":"Sandbox"}
            """.utf8)
        let digest = SHA256.hash(payload)
        let fact = TransactionFact(
            id: "7", productID: ProductID(unchecked: "cafe\u{301}"), kind: .nonConsumable, purchaseDate: signedAt,
            signedDate: signedAt, digest: digest)
        let source = Array("\(header).\(Base64.encodeURL(payload)).AA".utf8)
        try await bench.database.write { connection in
            let ledgerID = LedgerID(app: ServerBench.app, environment: .sandbox)
            var transaction = LedgerTransaction(
                connection, ledgerID: ledgerID, rules: ActiveRules.Entry(), now: signedAt)
            try transaction.append(
                PresentedFact(content: .transaction(fact), environment: .sandbox, source: source, index: 0))
        }
        let report = try replay(bench)
        #expect(report.facts == 2 && report.differences == [])
        await bench.close()
    }
}
