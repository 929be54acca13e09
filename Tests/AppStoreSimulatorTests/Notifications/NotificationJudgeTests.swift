import Foundation
import HostTestSupport
import Primitives
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Apple's own client library decodes every notification that the store can send.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON is not set"))
struct NotificationJudgeTests {
    @Test func `Apple's decoder accepts every notification and the documents in it`() async throws {
        try await TestStore.withScript { test in
            try await test.startNotifying()
            try await Self.live(in: test)
            _ = try await test.store.writeDueNotifications()
            let sent = try test.sent()
            let kinds = Set(
                sent.map { [$0.type.rawValue, $0.subtype?.rawValue].compactMap(\.self).joined(separator: " ") })
            #expect(kinds == Self.everything, "\(Self.everything.symmetricDifference(kinds).sorted())")

            let read = try test.readNotifications()
            let documents: [String: [String]] = [
                "notification": sent.map(\.signedPayload),
                "transaction": read.compactMap(\.whole.data?.signedTransactionInfo),
                "renewal": read.compactMap(\.whole.data?.signedRenewalInfo),
                "appTransaction": read.compactMap(\.whole.appData?.signedAppTransactionInfo),
            ]
            var request: [String: JSONValue] = documents.mapValues { .array($0.map { .string($0) }) }
            request["root"] = .string(test.store.summary.rootCertificate)
            request["bundleID"] = .string(test.store.summary.bundleID.rawValue)
            request["environment"] = "Sandbox"
            let verdict = try await OutsideJudge.judge(
                "apple_verifier.py", .object(JSONMembers(request.map { ($0, $1) })))
            #expect(verdict.status == 0, "\(verdict.errors)")
            for (name, given) in documents {
                let judged = try #require(verdict.json?[name]?.arrayValue)
                #expect(judged.count == given.count && !given.isEmpty && judged.allSatisfy { $0["ok"] == true })
                for (jws, judgement) in zip(given, judged) { try Self.compare(jws, judgement["payload"]) }
            }
        }
    }

    /// Expects that Apple's library decodes every signed member with the same name and value.
    private static func compare(_ jws: String, _ read: JSONValue?) throws {
        func compare(_ ours: JSONValue, _ theirs: JSONValue?, at path: String) {
            guard let members = ours.objectValue else {
                #expect(theirs == ours, "\(path)")
                return
            }
            for (name, value) in members { compare(value, theirs?[name], at: "\(path)/\(name)") }
        }
        let parts = jws.split(separator: ".")
        let bytes = try #require(parts.count == 3 ? Base64.decodeURL(String(parts[1])) : nil)
        compare(try JSONValue(parsing: bytes), read, at: "")
    }

    /// Causes every notification of the store.
    private static func live(in test: TestStore) async throws {
        let store = test.store
        for account in ["anna", "berta", "carla", "dora", "emil", "frida"] as [AccountName] {
            try await store.createAccount(account)
        }
        try await store.set(.gracePeriod, to: "3d")
        _ = try await store.requestTestNotification()
        try await store.rescindConsent(of: "emil")
        let coins = try await test.buy("coins")
        try await store.requestRefund(of: coins.transactionID)
        try await store.declineRefund(of: coins.transactionID)
        try await store.refund(coins.transactionID)
        try await store.reverseRefund(coins.transactionID)
        try await store.createFamily("home", organizer: "anna")
        try await store.join("home", "berta")
        try await test.buy("pack")
        try await store.leave("home", "berta")

        try await test.buy("plain", "carla")
        try await test.buy("pro", "carla")
        try await test.buy("plain", "carla")
        try await test.buy("pro", "carla")
        try await test.buy("basic", "carla", offer: "half")
        try await store.cancel("pro", for: "carla")
        try await store.resume("pro", for: "carla")
        try await test.buy("basic", "carla", offer: "three")
        try await test.buy("plain", "gina")
        try await test.buy("basic", "gina", offer: "half")
        try await test.buy("basic", "frida")
        try await store.redeem(.init(code: "stay"), for: "frida")
        try await test.buy("plain", "emil")
        let extended = try await test.subscription("emil")
        _ = try await store.extendRenewal(of: extended.originalTransactionID, byDays: 1, request: "one")
        _ = try await store.extendRenewal(of: extended.originalTransactionID, byDays: 1, request: "two")
        _ = try await store.extendRenewals(of: "plain", byDays: 1, request: "all", in: nil)
        for type in ["METADATA_UPDATE", "MIGRATION", "PRICE_CHANGE"] {
            _ = try await store.createNotification(.init(type: type, transactionID: extended.transactionID))
        }
        // Apple's library does not know the other subtypes.
        _ = try await store.createNotification(.init(type: "EXTERNAL_PURCHASE_TOKEN"))

        // Failed payments: dora recovers in the grace period, and berta after it. A later failure of dora lasts until
        // the subscription expires.
        for account in ["dora", "berta"] as [AccountName] { try await test.buy("weekly", account) }
        for account in ["dora", "berta"] as [AccountName] { try await store.failBilling("weekly", for: account) }
        try await test.advance(.days(8))
        try await store.resolveBilling("weekly", for: "dora")
        try await test.advance(.days(6))
        try await store.resolveBilling("weekly", for: "berta")
        try await store.failBilling("weekly", for: "dora")
        try await store.set(.gracePeriod, to: "off")
        try await test.advance(.days(80))
        try await test.buy("weekly", "dora")

        try await test.buy("paygo", "anna")
        try await test.buy("paygo", "berta")
        try await store.increasePrice(of: "plain", .init(price: "7.99"))
        try await store.answerPriceIncrease(of: "plain", agreeing: true, for: "emil")
        try await test.buy("pro", "anna")
        try await test.buy("year", "berta")
        try await store.increasePrice(of: "year", .init(price: "70", needsConsent: true))
        try await store.setWithdrawn("pro", true)
        try await store.cancel("paygo", for: "anna")
        try await test.advance(.years(2))
    }

    private static let everything: Set<String> = [
        "CONSUMPTION_REQUEST", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_PREF DOWNGRADE",
        "DID_CHANGE_RENEWAL_PREF UPGRADE", "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED",
        "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED", "DID_FAIL_TO_RENEW", "DID_FAIL_TO_RENEW GRACE_PERIOD",
        "DID_RENEW",
        "DID_RENEW BILLING_RECOVERY", "EXPIRED BILLING_RETRY", "EXPIRED PRICE_INCREASE", "EXPIRED PRODUCT_NOT_FOR_SALE",
        "EXPIRED VOLUNTARY", "EXTERNAL_PURCHASE_TOKEN UNREPORTED", "GRACE_PERIOD_EXPIRED", "METADATA_UPDATE",
        "MIGRATION", "OFFER_REDEEMED",
        "OFFER_REDEEMED DOWNGRADE",
        "OFFER_REDEEMED UPGRADE", "ONE_TIME_CHARGE", "PRICE_CHANGE", "PRICE_INCREASE ACCEPTED",
        "PRICE_INCREASE PENDING", "REFUND",
        "REFUND_DECLINED", "REFUND_REVERSED", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION FAILURE",
        "RENEWAL_EXTENSION SUMMARY", "RESCIND_CONSENT", "REVOKE", "SUBSCRIBED INITIAL_BUY", "SUBSCRIBED RESUBSCRIBE",
        "TEST",
    ]
}
