import Foundation
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Notifications about the members of a family.
struct FamilyNotificationTests {
    /// Opens a store with a family of `anna`, the buyer, and `berta`. The store writes every notification.
    private static func with(_ body: (TestStore) async throws -> Void) async throws {
        try await TestStore.withScript { test in
            for account in ["anna", "berta"] as [AccountName] { try await test.store.createAccount(account) }
            try await test.store.createFamily("home", organizer: "anna")
            try await test.store.join("home", "berta")
            try await test.startNotifying()
            try await test.store.set(.notifySkippedTime, to: "all")
            try await body(test)
        }
    }

    @Test func `a member's purchase of a shared product causes no further notification of a charge`() async throws {
        try await Self.with { test in
            try await test.buy("pack")
            let phone = try await Listener(test, "berta")
            try await test.store.add(Payment(id: "again", productID: "pack"), from: phone.device)
            #expect(try await phone.receive().contains { $0.alreadyOwned == true })
            #expect(try await test.notificationLines() == ["pack ONE_TIME_CHARGE", "pack ONE_TIME_CHARGE"])
        }
    }

    @Test func `a member who returns to a shared subscription, or buys an own one, resubscribes`()
        async throws
    {
        try await Self.with { test in
            try await test.buy("plain")
            try await test.store.leave("home", "berta")
            try await test.store.join("home", "berta")
            try await test.store.leave("home", "berta")
            try await test.buy("plain", "berta")
            try await test.store.createAccount("carla")
            try await test.store.join("home", "carla")
            #expect(
                try await test.notificationLines() == [
                    "plain SUBSCRIBED INITIAL_BUY", "plain SUBSCRIBED INITIAL_BUY", "plain REVOKE",
                    "plain SUBSCRIBED RESUBSCRIBE", "plain REVOKE", "plain SUBSCRIBED RESUBSCRIBE",
                    "plain SUBSCRIBED INITIAL_BUY",
                ])
        }
    }

    @Test
    func `a mass extension notifies the whole family, also of due renewals`()
        async throws
    {
        try await Self.with { test in
            try await test.buy("plain")
            try await test.advance(to: "03-05")
            _ = try await test.store.extendRenewals(of: "plain", byDays: 5, request: "r", in: nil)
            #expect(
                try await test.notificationLines().sorted() == [
                    "RENEWAL_EXTENSION SUMMARY", "plain DID_RENEW", "plain DID_RENEW", "plain RENEWAL_EXTENDED",
                    "plain RENEWAL_EXTENDED", "plain SUBSCRIBED INITIAL_BUY", "plain SUBSCRIBED INITIAL_BUY",
                ])
        }
    }

    @Test(arguments: [true, false])
    func `if a plan change ends a share, the share lasts until the end of the extended period`(isForAll: Bool)
        async throws
    {
        try await Self.with { test in
            let bought = try await test.buy("plain")
            try await test.store.resume("plain", renewingTo: "basic", for: "anna")
            if isForAll {
                _ = try await test.store.extendRenewals(of: "plain", byDays: 5, request: "r", in: nil)
            } else {
                _ = try await test.store.extendRenewal(of: bought.originalTransactionID, byDays: 5, request: "r")
            }
            try await test.advance(to: "03-03")
            #expect(try await test.subscription("berta").status == .active)
            try await test.advance(to: "03-06")
            #expect(try await test.subscription("berta").status == .expired)
            #expect(try await test.notificationLines().filter { $0.contains("EXPIRED") } == ["plain EXPIRED VOLUNTARY"])
        }
    }

    @Test func `a member who leaves the family in an extended period loses access, and gets no renewal`()
        async throws
    {
        try await Self.with { test in
            let bought = try await test.buy("plain")
            _ = try await test.store.extendRenewal(of: bought.originalTransactionID, byDays: 10, request: "r")
            try await test.advance(to: "03-05")
            try await test.store.leave("home", "berta")
            let berta = try await test.payloads("berta")
            #expect(berta.map(\.expiresDate) == [SubscriptionScript.date("03-10")])
            #expect(try await test.subscription("berta").status == .revoked)
            #expect(try await test.notificationLines().last == "plain REVOKE")
        }
    }
}
