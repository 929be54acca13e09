import Foundation
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The responses of `/verifyReceipt` over the life of a subscription.
struct VerifyReceiptLifeTests {
    /// Returns the latest transaction, and its pending renewal.
    private static func state(
        _ client: ReceiptClient
    ) async throws -> (item: JSONValue, renewal: JSONValue) {
        let answer = try await client.verify()
        return (
            try #require(answer.all("latest_receipt_info").first), try #require(answer.all("pending_renewal_info").last)
        )
    }

    /// The members of a pending renewal of a subscription to which nothing has happened.
    private static let quiet: Set = [
        "product_id", "original_transaction_id", "auto_renew_product_id", "auto_renew_status",
    ]

    @Test func `a subscription renews, is cancelled, is resumed and ends`() async throws {
        try await TestStore.withScript { test in
            let client = try await ReceiptClient(test)
            let bought = try await test.buy("basic")
            let trial = try await Self.state(client)
            #expect(trial.item["is_trial_period"] == "true" && trial.item["is_in_intro_offer_period"] == "false")
            #expect(trial.renewal.names == Self.quiet)
            #expect(trial.renewal["original_transaction_id"]?.stringValue == bought.transactionID.rawValue)
            #expect(trial.renewal["product_id"] == "basic" && trial.renewal["auto_renew_product_id"] == "basic")
            #expect(trial.renewal["auto_renew_status"] == "1")

            try await test.store.cancel("basic", for: "anna")
            let cancelled = try await Self.state(client)
            #expect(cancelled.item == trial.item && cancelled.renewal.names == Self.quiet)
            #expect(cancelled.renewal["auto_renew_status"] == "0")
            try await test.store.resume("basic", renewingTo: "year", for: "anna")
            let resumed = try await Self.state(client)
            #expect(resumed.renewal["auto_renew_status"] == "1" && resumed.renewal["product_id"] == "basic")
            #expect(resumed.renewal["auto_renew_product_id"] == "year")

            try await test.advance(to: "02-08")
            let renewed = try await Self.state(client)
            #expect(renewed.item["product_id"] == "year" && renewed.item["is_trial_period"] == "false")
            #expect(renewed.renewal["product_id"] == "year" && renewed.renewal.names == Self.quiet)
            try await test.store.cancel("year", for: "anna")
            try await test.advance(to: "2027-02-08")
            let ended = try await Self.state(client)
            #expect(ended.item == renewed.item)
            #expect(ended.renewal.names == Self.quiet.union(["expiration_intent", "is_in_billing_retry_period"]))
            #expect(ended.renewal["expiration_intent"] == "1" && ended.renewal["auto_renew_status"] == "0")
            #expect(ended.renewal["is_in_billing_retry_period"] == "0")
        }
    }

    @Test func `a failed payment leads through the grace period and billing retry to the end`() async throws {
        try await TestStore.withScript { test in
            let client = try await ReceiptClient(test)
            try await test.store.set(.gracePeriod, to: "16d")
            try await test.buy("plain")
            let paid = try await Self.state(client)
            try await test.store.failBilling("plain", for: "anna")
            try await test.advance(to: "03-01")
            let grace = try await Self.state(client)
            #expect(grace.item == paid.item)
            #expect(grace.renewal["is_in_billing_retry_period"] == "1" && grace.renewal["expiration_intent"] == "2")
            #expect(grace.renewal["auto_renew_status"] == "1")
            #expect(
                grace.renewal.dates("grace_period_expires_date")
                    == ["2026-03-16 10:00:00 Etc/GMT", "1773655200000", "2026-03-16 03:00:00 America/Los_Angeles"])

            try await test.advance(to: "04-01")
            let retry = try await Self.state(client)
            #expect(retry.renewal["is_in_billing_retry_period"] == "1" && retry.renewal["expiration_intent"] == "2")
            #expect(retry.renewal.dates("grace_period_expires_date") == [nil, nil, nil])

            try await test.advance(to: "05-01")
            let ended = try await Self.state(client)
            #expect(ended.renewal["is_in_billing_retry_period"] == "0" && ended.renewal["expiration_intent"] == "2")
            #expect(ended.item == paid.item && ended.renewal["auto_renew_status"] == "0")
        }
    }

    @Test func `after a late payment no member of the failure is left`() async throws {
        try await TestStore.withScript { test in
            let client = try await ReceiptClient(test)
            try await test.buy("plain")
            try await test.store.failBilling("plain", for: "anna")
            try await test.advance(to: "03-10")
            try await test.store.resolveBilling("plain", for: "anna")
            let answer = try await client.verify()
            #expect(answer.all("latest_receipt_info").count == 2)
            #expect(answer.all("pending_renewal_info").first?.names == Self.quiet)
        }
    }

    @Test func `a price increase has the customer's answer, or none if no consent is needed`() async throws {
        try await TestStore.withScript { test in
            let client = try await ReceiptClient(test)
            try await test.buy("plain")
            try await test.store.increasePrice(of: "plain", .init(price: "7.99", needsConsent: true))
            let asked = try await Self.state(client).renewal
            #expect(asked["price_consent_status"] == "0" && asked["price_increase_status"] == "0")
            try await test.store.answerPriceIncrease(of: "plain", agreeing: true, for: "anna")
            let agreed = try await Self.state(client).renewal
            #expect(agreed["price_consent_status"] == "1" && agreed["price_increase_status"] == "1")
            try await test.advance(to: "03-01")
            #expect(try await Self.state(client).renewal.names == Self.quiet)
            try await test.store.increasePrice(of: "plain", .init(price: "8.99", needsConsent: false))
            let reported = try await Self.state(client).renewal
            #expect(reported["price_consent_status"] == nil && reported["price_increase_status"] == "1")
            try await test.store.increasePrice(of: "plain", .init(price: "9.99", needsConsent: true))
            try await test.advance(to: "04-01")
            let refused = try await Self.state(client).renewal
            #expect(refused["expiration_intent"] == "3" && refused["price_consent_status"] == nil)
        }
    }

    @Test func `a refund has a date and a reason, until it is reversed`() async throws {
        try await TestStore.withScript { test in
            let client = try await ReceiptClient(test)
            let bought = try await test.buy("plain")
            let before = try await client.receipt()
            try await test.advance(to: "02-10")
            try await test.store.refund(bought.transactionID, .init(reason: .appIssue))
            let refunded = try await Self.state(client)
            #expect(refunded.item["cancellation_date"] == "2026-02-10 10:00:00 Etc/GMT")
            #expect(refunded.item["cancellation_reason"] == "1" && refunded.item["is_upgraded"] == nil)
            #expect(refunded.renewal["auto_renew_status"] == "0" && refunded.renewal["expiration_intent"] == nil)
            let old = try await client.verify(before)
            #expect(old["receipt"]?.all("in_app").first?["cancellation_date"] == nil)
            #expect(old.all("latest_receipt_info") == [refunded.item])
            try await test.store.reverseRefund(bought.transactionID)
            let back = try await Self.state(client)
            #expect(back.item["cancellation_date"] == nil && back.item["cancellation_reason"] == nil)
            #expect(back.renewal["auto_renew_status"] == "1")

            let pack = try await test.buy("pack")
            try await test.store.refund(pack.transactionID)
            #expect(try await Self.state(client).item["cancellation_reason"] == "0")
        }
    }

    @Test func `the transaction that an upgrade replaced is marked as upgraded`() async throws {
        try await TestStore.withScript { test in
            let client = try await ReceiptClient(test)
            try await test.buy("plain")
            try await test.advance(to: "02-10")
            try await test.buy("pro")
            let answer = try await client.verify()
            let reported = answer.all("latest_receipt_info")
            #expect(reported.map { $0["product_id"]?.stringValue } == ["pro", "plain"])
            #expect(reported[0]["is_upgraded"] == nil && reported[0]["cancellation_date"] == nil)
            #expect(reported[1]["is_upgraded"] == "true" && reported[1]["cancellation_reason"] == "0")
            #expect(reported[1]["cancellation_date"] == reported[0]["purchase_date"])
            #expect(answer["receipt"]?.all("in_app") == reported.reversed())
            let renewal = answer.all("pending_renewal_info")
            #expect(renewal.map { $0["product_id"]?.stringValue } == ["pro"] && renewal[0].names == Self.quiet)
        }
    }

    @Test func `an introductory offer, a code and a promotional offer have different members`() async throws {
        try await TestStore.withScript { test in
            let client = try await ReceiptClient(test)
            try await test.buy("paygo")
            let intro = try await Self.state(client)
            #expect(intro.item["is_trial_period"] == "false" && intro.item["is_in_intro_offer_period"] == "true")
            #expect(intro.item["promotional_offer_id"] == nil && intro.renewal.names == Self.quiet)

            let code = try await ReceiptClient(test, "bert")
            try await test.store.redeem(.init(code: "hello"), for: "bert")
            let redeemed = try await Self.state(code)
            #expect(redeemed.item["offer_code_ref_name"] == "hello" && redeemed.item["is_trial_period"] == "false")
            #expect(redeemed.renewal["offer_code_ref_name"] == "hello")
            #expect(redeemed.renewal["promotional_offer_id"] == nil)
            try await test.advance(to: "02-20")
            try await test.buy("basic", "bert", offer: "half")
            // The offer begins at the next renewal, after that of the code.
            try await test.advance(to: "04-10")
            let promotional = try await Self.state(code)
            #expect(promotional.item["promotional_offer_id"] == "half")
            #expect(promotional.item["offer_code_ref_name"] == nil)
            #expect(promotional.renewal["promotional_offer_id"] == "half")
        }
    }

    @Test func `two subscriptions are two pending renewals`() async throws {
        try await TestStore.withScript { test in
            let client = try await ReceiptClient(test)
            let first = try await test.buy("plain")
            let second = try await test.buy("weekly")
            try await test.store.cancel("weekly", for: "anna")
            try await test.advance(to: "02-20")
            let renewals = try await client.verify().all("pending_renewal_info")
            #expect(
                renewals.map { $0["original_transaction_id"]?.stringValue }
                    == [first, second].map(\.transactionID.rawValue))
            #expect(renewals.map { $0["auto_renew_status"] } == ["1", "0"])
            #expect(renewals.map { $0["expiration_intent"] } == [nil, "1"])
        }
    }
}
