import AppStorePayloads
import Foundation
import SignedData
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The notifications that a store writes. These tests do not send them.
struct StoreNotificationTests {
    private static func with(keepsRepeats: Bool = false, _ body: (TestStore) async throws -> Void) async throws {
        try await TestStore.withScript { test in
            try await test.startNotifying()
            if keepsRepeats { try await test.store.set(.notifySkippedTime, to: "all") }
            try await body(test)
        }
    }

    @Test func `no notifications are written while no URL is set`() async throws {
        try await TestStore.withScript { test in
            try await test.buy("plain")
            try await test.advance(.months(3))
            #expect(try await test.notificationLines() == [])
            try await test.startNotifying()
            #expect(try await test.notificationLines() == [])
            try await test.advance(.months(2))
            #expect(try await test.notificationLines() == ["plain DID_RENEW"])
            try await test.store.set(.notificationsURL, to: "off")
            try await test.advance(.months(1))
            try await test.buy("coins")
            try await test.startNotifying()
            #expect(try await test.notificationLines() == ["plain DID_RENEW"])
        }
    }

    @Test func `a one-time purchase, its refund and the reversal are notified`() async throws {
        try await Self.with { test in
            let coins = try await test.buy("coins", quantity: 3)
            let pack = try await test.buy("pack")
            try await test.store.refund(coins.transactionID)
            try await test.store.reverseRefund(coins.transactionID)
            try await test.store.revoke(pack.transactionID)
            #expect(
                try await test.notificationLines() == [
                    "coins ONE_TIME_CHARGE", "pack ONE_TIME_CHARGE", "coins REFUND", "coins REFUND_REVERSED",
                    "pack REVOKE",
                ])
        }
    }

    @Test func `a notification of a type that no event sends is created about a subscription, or about a token`()
        async throws
    {
        try await Self.with { test in
            let plain = try await test.buy("plain")
            let coins = try await test.buy("coins")
            let created = try await test.store.createNotification(
                .init(type: "MIGRATION", transactionID: plain.transactionID))
            #expect(created.type == "MIGRATION" && created.transactionID == plain.transactionID)
            let token = try await test.store.createNotification(.init(type: "EXTERNAL_PURCHASE_TOKEN"))
            #expect(token.subtype == "UNREPORTED" && token.transactionID == nil)
            let whole = try #require(
                try test.readNotifications().first { $0.whole.notificationUUID == token.uuid }?.whole)
            #expect(whole.externalPurchaseToken?.externalPurchaseId == "SANDBOX_\(token.uuid)")
            #expect(whole.externalPurchaseToken?.bundleId == test.store.summary.bundleID.rawValue)
            #expect(whole.externalPurchaseToken?.tokenCreationDate == whole.signedDate && whole.data == nil)
            let refused: [StoreControlWire.NewNotification] = [
                .init(type: "DID_RENEW", transactionID: plain.transactionID), .init(type: "MIGRATION"),
                .init(type: "MIGRATION", subtype: "UPGRADE", transactionID: plain.transactionID),
                .init(type: "PRICE_CHANGE", transactionID: coins.transactionID),
                .init(type: "EXTERNAL_PURCHASE_TOKEN", transactionID: plain.transactionID),
                .init(type: "EXTERNAL_PURCHASE_TOKEN", subtype: "UPGRADE"), .init(type: ""),
            ]
            for new in refused {
                await #expect(throws: SimulatorError(.invalidValue, "")) {
                    try await test.store.createNotification(new)
                }
            }
            await #expect(throws: SimulatorError(.unknownTransaction, "")) {
                try await test.store.createNotification(.init(type: "MIGRATION", transactionID: "77"))
            }
            #expect(try test.sent().count == 4)
            for subtype in ["CREATED", "ACTIVE_TOKEN_REMINDER"] {
                let new = StoreControlWire.NewNotification(type: "EXTERNAL_PURCHASE_TOKEN", subtype: subtype)
                #expect(try await test.store.createNotification(new).subtype == subtype)
            }
            try await test.store.set(.notificationsURL, to: "off")
            for new in [
                StoreControlWire.NewNotification(type: "MIGRATION", transactionID: plain.transactionID),
                .init(type: "EXTERNAL_PURCHASE_TOKEN"),
            ] {
                await #expect(throws: SimulatorError(.notNow, "")) { try await test.store.createNotification(new) }
            }
        }
    }

    @Test func `a repeated payment is notified once`() async throws {
        try await Self.with { test in
            let (phone, tablet) = (try await test.device(), try await test.device())
            let payment = Payment(id: "p1", productID: "coins")
            try await test.store.add(payment, from: phone)
            try await test.store.add(payment, from: tablet)
            #expect(try await test.notificationLines() == ["coins ONE_TIME_CHARGE"])
        }
    }

    @Test func `a refused, held or declined payment is not notified, an approved one is`() async throws {
        try await Self.with { test in
            await #expect(throws: StoreFailure.self) { try await test.buy("nothing") }
            let held = try await test.store.buy(.init(productID: "plain", simulatesAskToBuy: true), for: "anna")
            let declined = try await test.store.buy(.init(productID: "coins", simulatesAskToBuy: true), for: "anna")
            #expect(try await test.notificationLines() == [])
            try await test.store.answerAskToBuy(declined.transactionID, .decline)
            try await test.store.answerAskToBuy(held.transactionID, .approve)
            #expect(try await test.notificationLines() == ["plain SUBSCRIBED INITIAL_BUY"])
        }
    }

    @Test func `due renewals are notified before the next event`() async throws {
        try await Self.with(keepsRepeats: true) { test in
            try await test.buy("plain")
            try await test.advance(.months(2))
            try await test.store.cancel("plain", for: "anna")
            #expect(
                try await test.notificationLines() == [
                    "plain SUBSCRIBED INITIAL_BUY", "plain DID_RENEW", "plain DID_RENEW",
                    "plain DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED",
                ])
            let dates = try test.sent().map(\.at)
            #expect(dates == dates.sorted() && dates[1] == SubscriptionScript.date("02-28"))
        }
    }

    @Test func `an advance by a year notifies the last renewal only`() async throws {
        try await Self.with { test in
            try await test.buy("plain")
            try await test.advance(.years(1))
            #expect(try await test.notificationLines() == ["plain SUBSCRIBED INITIAL_BUY", "plain DID_RENEW"])
            #expect(try test.sent().last?.at == SubscriptionScript.date("2027-01-31"))
        }
    }

    @Test func `a change for all subscribers is notified without an advance`() async throws {
        try await Self.with { test in
            for account in ["anna", "berta"] as [AccountName] { try await test.buy("plain", account) }
            try await test.buy("pro", "carla")
            try await test.store.increasePrice(of: "plain", .init(price: "7.99"))
            #expect(
                try await test.notificationLines().suffix(2) == [
                    "plain PRICE_INCREASE PENDING", "plain PRICE_INCREASE PENDING",
                ])
            try await test.store.answerPriceIncrease(of: "plain", agreeing: true, for: "anna")
            #expect(try await test.notificationLines().last == "plain PRICE_INCREASE ACCEPTED")
        }
    }

    @Test func `failing payments of the whole store, and their recovery, are notified for every subscriber`()
        async throws
    {
        try await Self.with { test in
            try await test.buy("plain", "anna")
            try await test.buy("plain", "berta")
            try await test.store.set(.renewalsFail, to: true)
            try await test.advance(.months(1))
            #expect(
                try await test.notificationLines().suffix(2) == ["plain DID_FAIL_TO_RENEW", "plain DID_FAIL_TO_RENEW"])
            try await test.store.set(.renewalsFail, to: false)
            #expect(
                try await test.notificationLines().suffix(2) == [
                    "plain DID_RENEW BILLING_RECOVERY", "plain DID_RENEW BILLING_RECOVERY",
                ])
        }
    }

    @Test func `shares of a family are notified with the members' own transaction numbers`() async throws {
        try await Self.with { test in
            for account in ["anna", "berta"] as [AccountName] { try await test.store.createAccount(account) }
            try await test.store.createFamily("home", organizer: "anna")
            try await test.store.join("home", "berta")
            try await test.buy("plain")
            let pack = try await test.buy("pack")
            #expect(
                try await test.notificationLines() == [
                    "plain SUBSCRIBED INITIAL_BUY", "plain SUBSCRIBED INITIAL_BUY", "pack ONE_TIME_CHARGE",
                    "pack ONE_TIME_CHARGE",
                ])
            let payloads = try test.readNotifications()
            #expect(
                payloads.map(\.transaction?.inAppOwnershipType) == [
                    .purchased, .familyShared, .purchased, .familyShared,
                ])
            #expect(Set(payloads.map(\.transaction?.originalTransactionId)).count == 4)
            try await test.store.refund(pack.transactionID)
            try await test.store.leave("home", "berta")
            #expect(
                try await test.notificationLines().suffix(3) == ["pack REFUND", "pack REVOKE", "plain REVOKE"])
        }
    }

    @Test func `a refund request is declined, repeated and granted`() async throws {
        try await Self.with { test in
            let coins = try await test.buy("coins")
            try await test.store.requestRefund(of: coins.transactionID, .init(reason: .unintendedPurchase))
            try await test.store.declineRefund(of: coins.transactionID)
            await test.fails(.notNow) { try await test.store.declineRefund(of: coins.transactionID) }
            try await test.store.requestRefund(of: coins.transactionID)
            try await test.store.refund(coins.transactionID)
            await test.fails(.alreadyRevoked) { try await test.store.requestRefund(of: coins.transactionID) }
            await test.fails(.alreadyRevoked) { try await test.store.declineRefund(of: coins.transactionID) }
            await test.fails(.unknownTransaction) { try await test.store.requestRefund(of: "17") }
            #expect(
                try await test.notificationLines() == [
                    "coins ONE_TIME_CHARGE", "coins CONSUMPTION_REQUEST", "coins REFUND_DECLINED",
                    "coins CONSUMPTION_REQUEST", "coins REFUND",
                ])
            #expect(
                try test.readNotifications().map(\.whole.data?.consumptionRequestReason) == [
                    nil, .unintendedPurchase, nil, .other, nil,
                ])
        }
    }

    @Test func `a test notification needs a URL, and its token finds it`() async throws {
        try await TestStore.withScript { test in
            await test.fails(.notNow) { try await test.store.requestTestNotification() }
            try await test.startNotifying()
            let token = try await test.store.requestTestNotification()
            let sent = try #require(try test.store.testNotification(token))
            #expect(sent.type == .test && token.hasPrefix(sent.uuid))
            for wrong in [sent.uuid, "\(sent.uuid)_1", "x_1", "", "_"] {
                #expect(try test.store.testNotification(wrong) == nil)
            }
            let whole = try #require(try test.readNotifications().last?.whole)
            #expect(whole.data?.bundleId == "com.example.souk" && whole.data?.signedTransactionInfo == nil)
        }
    }

    @Test func `the notification of a rescinded consent has the app transaction`() async throws {
        try await Self.with { test in
            try await test.store.createAccount("anna")
            try await test.store.rescindConsent(of: "anna")
            await test.fails(.unknownAccount) { try await test.store.rescindConsent(of: "nobody") }
            let whole = try #require(try test.readNotifications().last?.whole)
            let signed = try #require(whole.appData?.signedAppTransactionInfo)
            #expect(whole.data == nil && whole.notificationType == .rescindConsent)
            #expect(try test.verifier().appTransaction(signed).payload.bundleId == "com.example.souk")
        }
    }

    @Test func `a notification has the state of its instant, even if it is signed later`() async throws {
        try await Self.with { test in
            let token = UUID()
            try await test.buy("plain", token: token)
            try await test.advance(.days(3))
            try await test.store.cancel("plain", for: "anna")
            let (first, last) = (
                try #require(try test.readNotifications().first), try #require(try test.readNotifications().last)
            )
            #expect(first.whole.signedDate == Fixtures.start && first.transaction?.signedDate == Fixtures.start)
            #expect(first.transaction?.appAccountToken == token && first.whole.data?.status == .active)
            #expect(first.renewalInfo?.autoRenewStatus == .on && last.renewalInfo?.autoRenewStatus == .off)
            #expect(first.whole.notificationUUID != last.whole.notificationUUID && first.whole.version == "2.0")
        }
    }

    @Test func `the history filters by time, type, customer and success, and continues from its cursor`() async throws {
        try await Self.with(keepsRepeats: true) { test in
            let anna = try await test.buy("plain", "anna")
            try await test.buy("plain", "berta")
            try await test.advance(.months(2))
            _ = try await test.notificationLines()
            func history(_ change: (inout NotificationQuery) -> Void) throws -> [String] {
                var query = NotificationQuery()
                query.includesUnsent = true
                change(&query)
                return try test.store.notificationHistory(query).map(\.type.rawValue)
            }
            #expect(try history { _ in }.count == 6)
            #expect(try history { $0.includesUnsent = false } == [])
            #expect(try history { $0.type = .didRenew }.count == 4)
            #expect(
                try history {
                    $0.type = .subscribed; $0.subtype = .resubscribe
                } == [])
            #expect(try history { $0.transaction = anna.transactionID } == ["SUBSCRIBED", "DID_RENEW", "DID_RENEW"])
            let app = try #require(try await test.payloads("berta").first?.appTransactionId)
            #expect(try history { $0.transaction = TransactionID(unchecked: app) }.count == 3)
            #expect(throws: SimulatorError(.unknownTransaction, "")) {
                try history { $0.transaction = "17" }
            }
            let second = SubscriptionScript.date("02-28")
            #expect(
                try history {
                    $0.start = second; $0.end = second.addingTimeInterval(0.001)
                }.count == 2)
            #expect(try history { $0.end = second }.count == 2)
            var pages: [Int64] = []
            var query = NotificationQuery()
            query.includesUnsent = true
            query.limit = 4
            while let last = try test.store.notificationHistory(query).last {
                pages += try test.store.notificationHistory(query).map(\.number)
                query.after = (last.at, last.number)
            }
            #expect(pages == [1, 2, 3, 5, 4, 6], "The pages must have the order of the instants.")
        }
    }

    @Test func `the notifications of a state that is imported twice have different UUIDs`() async throws {
        try await Self.with { test in
            let state = try await test.store.exportState()
            var known: Set<String> = []
            for round in 1...3 {
                try await test.store.importState(state)
                try await test.buy("coins")
                try await test.advance(.days(1))
                try await test.buy("coins")
                known.formUnion(try test.sent().map(\.uuid))
                #expect(known.count == 2 * round)
            }
        }
    }

    @Test func `renewal dates are extended twice a year at most, with a notification`() async throws {
        try await Self.with { test in
            let bought = try await test.buy("plain")
            let id = bought.originalTransactionID
            let first = try await test.store.extendRenewal(of: id, byDays: 10, request: "outage")
            #expect(first.effectiveDate == SubscriptionScript.date("03-10"))
            #expect(try await test.store.extendRenewal(of: id, byDays: 10, request: "outage") == first)
            _ = try await test.store.extendRenewal(of: id, byDays: 1, request: "again")
            await #expect(throws: ExtensionRefusal.tooOften) {
                try await test.store.extendRenewal(of: id, byDays: 1, request: "thrice")
            }
            await #expect(throws: ExtensionRefusal.unknown) {
                try await test.store.extendRenewal(of: "17", byDays: 1, request: "x")
            }
            let coins = try await test.buy("coins")
            await #expect(throws: ExtensionRefusal.unknown) {
                try await test.store.extendRenewal(of: coins.transactionID, byDays: 1, request: "x")
            }
            #expect(
                try await test.notificationLines() == [
                    "plain SUBSCRIBED INITIAL_BUY", "plain RENEWAL_EXTENDED", "plain RENEWAL_EXTENDED",
                    "coins ONE_TIME_CHARGE",
                ])
            try await test.advance(to: "2027-03-12")
            _ = try await test.store.extendRenewal(of: id, byDays: 1, request: "next year")
            #expect(try await test.subscription().expiresAt == SubscriptionScript.date("2027-04-12"))
        }
    }

    @Test func `a mass extension applies once for each request, in the named countries`() async throws {
        try await Self.with { test in
            try await test.store.createAccount("berta", with: .init(storefront: "DEU"))
            for account in ["anna", "berta", "carla"] as [AccountName] { try await test.buy("plain", account) }
            try await test.buy("pro", "dora")
            let ended = try await test.buy("plain", "emil")
            try await test.store.refund(ended.transactionID)
            for request in ["x", "y"] {
                _ = try await test.store.extendRenewal(
                    of: test.store.transactions(of: "carla")[0].originalTransactionID, byDays: 1, request: request)
            }
            let before = try await test.notificationLines().count
            let outcome = try await test.store.extendRenewals(of: "plain", byDays: 5, request: "r", in: ["USA"])
            #expect((outcome.succeeded, outcome.failed) == (1, 1))
            #expect(try await test.store.extendRenewals(of: "plain", byDays: 5, request: "r", in: nil) == outcome)
            #expect(try test.store.renewalExtension(of: "plain", request: "r") == outcome)
            #expect(try test.store.renewalExtension(of: "plain", request: "s") == nil)
            #expect(try await test.subscription("anna").expiresAt == SubscriptionScript.date("03-05"))
            #expect(try await test.subscription("berta").expiresAt == SubscriptionScript.date("02-28"))
            #expect(
                try await test.notificationLines().dropFirst(before) == [
                    "plain RENEWAL_EXTENDED", "plain RENEWAL_EXTENSION FAILURE", "RENEWAL_EXTENSION SUMMARY",
                ])
            let summary = try #require(try test.readNotifications().last?.whole.summary)
            #expect(
                (summary.succeededCount, summary.failedCount, summary.requestIdentifier, summary.storefrontCountryCodes)
                    == (1, 1, "r", ["USA"]))
        }
    }

    @Test func `a mass extension writes the due notifications of an ineligible subscription once`() async throws {
        try await Self.with(keepsRepeats: true) { test in
            let id = try await test.buy("plain").originalTransactionID
            try await test.advance(to: "03-05")
            for request in ["x", "y"] { _ = try await test.store.extendRenewal(of: id, byDays: 1, request: request) }
            try await test.advance(to: "04-05")
            _ = try await test.store.extendRenewals(of: "plain", byDays: 5, request: "r", in: nil)
            #expect(
                try await test.notificationLines() == [
                    "plain SUBSCRIBED INITIAL_BUY", "plain DID_RENEW", "plain RENEWAL_EXTENDED",
                    "plain RENEWAL_EXTENDED", "plain DID_RENEW", "plain RENEWAL_EXTENSION FAILURE",
                    "RENEWAL_EXTENSION SUMMARY",
                ])
        }
    }

    @Test func `a refund request that was granted and reversed cannot be declined`() async throws {
        try await Self.with { test in
            let coins = try await test.buy("coins").transactionID
            try await test.store.requestRefund(of: coins)
            try await test.store.refund(coins)
            try await test.store.reverseRefund(coins)
            await test.fails(.notNow) { try await test.store.declineRefund(of: coins) }
        }
    }

    @Test func `a change of the grace period makes a subscription due for a check, a change of a latency does not`()
        async throws
    {
        try await Self.with { test in
            try await test.buy("plain")
            let next = try await test.store.writeDueNotifications()
            try await test.store.set(.latency(.loadProducts), to: 0.001)
            #expect(try test.nextWatch() == next)
            try await test.store.set(.gracePeriod, to: "16d")
            #expect(try test.nextWatch() == Date(microseconds: 0))
            #expect(try await test.store.writeDueNotifications() == next)
        }
    }
}

extension TestStore {
    /// Sets a URL without a server, so that the store writes notifications.
    func startNotifying() async throws { try await store.set(.notificationsURL, to: "http://127.0.0.1:1/notify") }

    func nextWatch() throws -> Date? { try store.database.read { try SimulatorDatabase($0).nextWatch() } }

    func sent() throws -> [SentNotification] {
        var query = NotificationQuery()
        query.includesUnsent = true
        query.limit = .max
        return try store.notificationHistory(query)
    }

    /// Returns all notifications up to now as lines such as `plain DID_RENEW`.
    func notificationLines() async throws -> [String] {
        _ = try await store.writeDueNotifications()
        return try readNotifications().map { notification in
            [
                notification.transaction?.productId, notification.whole.notificationType?.rawValue,
                notification.whole.subtype?.rawValue,
            ].compactMap(\.self).joined(separator: " ")
        }
    }

    struct ReadNotification {
        var whole: ResponseBodyV2DecodedPayload
        var transaction: JWSTransactionDecodedPayload?
        var renewalInfo: JWSRenewalInfoDecodedPayload?
    }

    /// Returns every notification, and verifies each of its signatures.
    func readNotifications() throws -> [ReadNotification] {
        let verifier = try verifier()
        return try sent().map { sent in
            let whole = try verifier.notification(sent.signedPayload).payload
            return ReadNotification(
                whole: whole,
                transaction: try whole.data?.signedTransactionInfo.map { try verifier.transaction($0).payload },
                renewalInfo: try whole.data?.signedRenewalInfo.map { try verifier.renewalInfo($0).payload })
        }
    }
}
