import Foundation
import Primitives
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The members of `/verifyReceipt` from the receipt and from the simulator database.
struct VerifyReceiptTests {
    private static func dates(_ names: String...) -> Set<String> {
        Set(names.flatMap { [$0, $0 + "_ms", $0 + "_pst"] })
    }

    @Test func `a receipt without a purchase describes the app`() async throws {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            try await test.advance(.days(1))
            let old = try await client.receipt()
            try await test.advance(.days(1))
            let answer = try await client.verify(old)
            #expect(answer.names == ["status", "environment", "receipt"])
            #expect(answer["status"] == 0 && answer["environment"] == "Sandbox")
            let receipt = try #require(answer["receipt"])
            #expect(
                receipt.names
                    == Self.dates("receipt_creation_date", "request_date", "original_purchase_date").union([
                        "receipt_type", "adam_id", "app_item_id", "bundle_id", "application_version", "download_id",
                        "version_external_identifier", "original_application_version", "in_app",
                    ]))
            #expect(receipt["receipt_type"] == "ProductionSandbox" && receipt["bundle_id"] == "com.example.souk")
            #expect(receipt["application_version"] == "1.0" && receipt["original_application_version"] == "1.0")
            for name in ["adam_id", "app_item_id", "download_id", "version_external_identifier"] {
                #expect(receipt[name] == 0)
            }
            #expect(receipt["in_app"] == [])
            #expect(
                receipt.dates("original_purchase_date")
                    == ["2026-01-31 10:00:00 Etc/GMT", "1769853600000", "2026-01-31 02:00:00 America/Los_Angeles"])
            #expect(receipt["receipt_creation_date"] == "2026-02-01 10:00:00 Etc/GMT")
            #expect(receipt["request_date"] == "2026-02-02 10:00:00 Etc/GMT")
        }
    }

    @Test func `each product type has Apple's members, as strings`() async throws {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            let token = UUID()
            try await test.buy("coins", quantity: 3)
            try await test.buy("pack", token: token)
            try await test.buy("pass")
            let once = try await client.verify()
            #expect(once.names == ["status", "environment", "receipt"])
            let purchases = try #require(once["receipt"]).all("in_app")
            #expect(purchases.compactMap { $0["product_id"]?.stringValue } == ["coins", "pack", "pass"])
            let members = Self.dates("purchase_date", "original_purchase_date").union([
                "quantity", "product_id", "transaction_id", "original_transaction_id", "is_trial_period",
                "in_app_ownership_type",
            ])
            #expect(purchases.map(\.names) == [members, members.union(["app_account_token"]), members])
            #expect(purchases[0]["quantity"] == "3" && purchases[1]["quantity"] == "1")
            #expect(purchases[1]["app_account_token"]?.stringValue == token.uuidString.lowercased())
            for item in purchases {
                #expect(item["transaction_id"] == item["original_transaction_id"])
                #expect(item["is_trial_period"] == "false" && item["in_app_ownership_type"] == "PURCHASED")
            }

            let bought = try await test.buy("monthly")
            try await test.advance(.days(8))
            let answer = try await client.verify()
            #expect(
                answer.names == [
                    "status", "environment", "receipt", "latest_receipt", "latest_receipt_info",
                    "pending_renewal_info",
                ])
            let reported = answer.all("latest_receipt_info")
            #expect(
                reported.compactMap { $0["product_id"]?.stringValue } == [
                    "monthly", "monthly", "pass", "pack", "coins",
                ])
            #expect(try #require(answer["receipt"]).all("in_app") == reported.reversed())
            let renewal = reported[0]
            #expect(
                renewal.names
                    == members.union(Self.dates("expires_date")).union([
                        "web_order_line_item_id", "is_in_intro_offer_period", "subscription_group_identifier",
                    ]))
            #expect(
                reported.map { $0["is_trial_period"]?.stringValue } == ["false", "true", "false", "false", "false"])
            #expect(renewal["original_transaction_id"]?.stringValue == bought.transactionID.rawValue)
            #expect(renewal["subscription_group_identifier"] == "plus" && renewal["expires_date_ms"] != nil)
            #expect(renewal["web_order_line_item_id"] != reported[1]["web_order_line_item_id"])
            #expect(renewal["purchase_date"] == reported[1]["expires_date"])
            #expect(renewal["original_purchase_date"] == reported[1]["purchase_date"])
            for value in reported.flatMap({ $0.objectValue?.values.map(\.self) ?? [] }) {
                #expect(value.stringValue != nil)
            }
        }
    }

    @Test func `later purchases are in the response, in a new receipt for the same device`()
        async throws
    {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            let old = try await client.receipt()
            try await test.buy("weekly")
            try await test.advance(.weeks(2))
            try await test.buy("pack")
            let answer = try await client.verify(old)
            #expect(answer["receipt"]?["in_app"] == [])
            #expect(answer.all("latest_receipt_info").count == 4)
            let latest = try #require(answer["latest_receipt"]?.stringValue)
            let verified = try client.store.receiptVerifier.verify(
                try #require(Base64.decode(latest)), for: DeviceIdentifier(client.device.rawValue))
            #expect(verified.receipt.inAppPurchases.count == 4 && verified.creationDate == test.store.clock.now())
            let again = try await client.verify(latest)
            #expect(again["receipt"]?.all("in_app") == again.all("latest_receipt_info").reversed())
            #expect(again["latest_receipt_info"] == answer["latest_receipt_info"])
        }
    }

    @Test func `consumables are listed until they are finished, and stay in the receipts that had them`() async throws {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            try await test.buy("weekly")
            let coins = try await test.buy("coins")
            let old = try await client.receipt()
            func products(_ items: [JSONValue]) -> [String] { items.compactMap { $0["product_id"]?.stringValue } }
            #expect(products(try await client.verify(old).all("latest_receipt_info")) == ["coins", "weekly"])
            try await test.store.finish(coins.transactionID, from: client.device)
            let answer = try await client.verify(old)
            #expect(products(answer.all("latest_receipt_info")) == ["weekly"])
            let kept = try #require(answer["receipt"]).all("in_app")
            #expect(products(kept) == ["weekly", "coins"] && kept[1]["in_app_ownership_type"] == "PURCHASED")
            #expect(try await client.verify()["receipt"]?.all("in_app").count == 1)
        }
    }

    @Test func `with old transactions excluded, the latest of each subscription and all other purchases remain`()
        async throws
    {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            try await test.buy("pack")
            try await test.buy("weekly")
            try await test.buy("paygo")
            try await test.advance(.days(40))
            let all = try await client.verify()
            let latest = try await client.verify(["exclude-old-transactions": true])
            #expect(all.all("latest_receipt_info").count == 9)
            #expect(
                latest.all("latest_receipt_info").map { $0["product_id"]?.stringValue } == ["weekly", "paygo", "pack"])
            #expect(latest["receipt"] == all["receipt"])
            #expect(latest["pending_renewal_info"] == all["pending_renewal_info"])
            for item in latest.all("latest_receipt_info") {
                #expect(all.all("latest_receipt_info").first { $0["product_id"] == item["product_id"] } == item)
            }
            let same = try await client.verify(["exclude-old-transactions": false, "password": nil])
            #expect(same["latest_receipt_info"] == all["latest_receipt_info"])
        }
    }

    @Test func `a receipt belongs to its account, also after the device has moved to another account`() async throws {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            try await test.buy("weekly")
            let annas = try await client.receipt()
            try await test.store.createAccount("bert")
            try await test.store.switchAccount(of: client.device, to: "bert")
            let berts = try await client.receipt()
            #expect(try await client.verify(annas).all("latest_receipt_info").count == 1)
            #expect(try await client.verify(berts).names == ["status", "environment", "receipt"])
            try await test.store.signOut(client.device)
            #expect(try await client.verify(annas).all("latest_receipt_info").count == 1)
        }
    }

    @Test func `a shared purchase is marked as shared, and as cancelled after the share ends`() async throws {
        try await TestStore.withScript { test in
            let client = try await ReceiptClient(test, "ben")
            let bought = try await test.buy("plain")
            try await test.store.createFamily("us", organizer: "anna")
            try await test.store.join("us", "ben")
            let shared = try await client.verify()
            let item = try #require(shared.all("latest_receipt_info").first)
            #expect(item["in_app_ownership_type"] == "FAMILY_SHARED" && item["product_id"] == "plain")
            #expect(item["transaction_id"]?.stringValue != bought.transactionID.rawValue)
            #expect(shared.all("pending_renewal_info").first?["auto_renew_status"] == "1")
            try await test.store.leave("us", "ben")
            let lost = try await client.verify()
            #expect(lost.all("latest_receipt_info").first?["cancellation_reason"] == "0")
            #expect(lost.all("latest_receipt_info").first?["is_upgraded"] == nil)
            #expect(lost.all("pending_renewal_info").first?["auto_renew_status"] == "0")
        }
    }

    /// The expected values are from `zdump America/Los_Angeles`.
    @Test(
        arguments: [
            ("2026-03-08T09:59:59Z", "2026-03-08 01:59:59"), ("2026-03-08T10:00:00Z", "2026-03-08 03:00:00"),
            ("2026-11-01T08:59:59Z", "2026-11-01 01:59:59"), ("2026-11-01T09:00:00Z", "2026-11-01 01:00:00"),
            ("2040-07-04T00:00:00Z", "2040-07-03 17:00:00"), ("2041-01-01T07:59:59Z", "2040-12-31 23:59:59"),
        ])
    func `dates are in UTC, in milliseconds and in Pacific time, with daylight saving`(
        date: String, inCalifornia: String
    ) async throws {
        let start = Fixtures.date(date)
        try await TestStore.with(change: { $0.start = start }) { test in
            let receipt = try #require(try await ReceiptClient(test).verify()["receipt"])
            let utc = date.dropLast().replacingOccurrences(of: "T", with: " ")
            #expect(
                receipt.dates("request_date") == [
                    "\(utc) Etc/GMT", "\(Int(start.timeIntervalSince1970))000", "\(inCalifornia) America/Los_Angeles",
                ])
        }
    }

    @Test func `the request date has milliseconds, dates in receipts have whole seconds`() async throws {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            _ = try await test.store.advance(.init(seconds: 0.789))
            try await test.buy("weekly")
            let answer = try await client.verify()
            let receipt = try #require(answer["receipt"])
            #expect(receipt["request_date_ms"]?.stringValue?.hasSuffix("00789") == true)
            #expect(receipt["request_date"] == "2026-01-31 10:00:00 Etc/GMT")
            for item in answer.all("latest_receipt_info") + receipt.all("in_app") {
                #expect(item["purchase_date_ms"] == "1769853600000")
            }
        }
    }
}
