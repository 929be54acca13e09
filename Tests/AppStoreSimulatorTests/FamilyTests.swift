import Foundation
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Purchases that members of a family share.
struct FamilyTests {
    private static let text = """
        {"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA", "_locale": "en_US"},
         "products": [
           {"productID": "coins", "type": "Consumable", "displayPrice": "0.99", "familyShareable": true},
           {"productID": "pack", "type": "NonConsumable", "displayPrice": "9.99", "familyShareable": true},
           {"productID": "own", "type": "NonConsumable", "displayPrice": "9.99"}],
         "subscriptionGroups": [
           {"id": "plus", "name": "Plus", "subscriptions": [
             {"productID": "family", "displayPrice": "9.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1,
              "familyShareable": true},
             {"productID": "single", "displayPrice": "4.99", "recurringSubscriptionPeriod": "P1M",
              "groupNumber": 2}]}]}
        """

    /// Opens a store with the family of `anna`, `ben` and `cora`. `dora` is not a member.
    private static func with(_ body: (TestStore, SimulatedAppStore) async throws -> Void) async throws {
        let catalogue = try Catalogue(parsing: Array(text.utf8), file: "family.storekit")
        try await TestStore.with(change: { $0.catalogue = catalogue }) { test in
            for name in ["anna", "ben", "cora", "dora"] as [AccountName] { try await test.store.createAccount(name) }
            try await test.store.createFamily("us", organizer: "anna")
            try await test.store.join("us", "ben")
            try await test.store.join("us", "cora")
            try await body(test, test.store)
        }
    }

    @Test func `a family is created, joined and listed, and has six members at most`() async throws {
        try await Self.with { _, store in
            #expect(
                try store.families() == [.init(name: "us", organizer: "anna", members: ["anna", "ben", "cora"])])
            #expect(try store.account("ben").family == "us" && store.account("dora").family == nil)
            await #expect(throws: SimulatorError(.familyExists, "")) {
                try await store.createFamily("us", organizer: "dora")
            }
            await #expect(throws: SimulatorError(.inAnotherFamily, "")) {
                try await store.createFamily("them", organizer: "ben")
            }
            await #expect(throws: SimulatorError(.inAnotherFamily, "")) { try await store.join("us", "ben") }
            await #expect(throws: SimulatorError(.unknownFamily, "")) { try await store.join("them", "dora") }
            await #expect(throws: SimulatorError(.unknownAccount, "")) { try await store.join("us", "nobody") }
            await #expect(throws: SimulatorError(.unknownAccount, "")) {
                try await store.createFamily("them", organizer: "nobody")
            }
            await #expect(throws: SimulatorError(.notInFamily, "")) { try await store.leave("us", "dora") }
            await #expect(throws: SimulatorError(.unknownFamily, "")) { try await store.leave("them", "ben") }
            await #expect(throws: SimulatorError(.unknownAccount, "")) { try await store.leave("us", "nobody") }
            try await store.join("us", "dora")
            for name in ["eric", "fay"] as [AccountName] {
                try await store.createAccount(name)
                try await store.join("us", name)
            }
            try await store.createAccount("gus")
            await #expect(throws: SimulatorError(.familyFull, "")) { try await store.join("us", "gus") }
            #expect(try store.account("gus").family == nil)
        }
    }

    @Test func `of many concurrent joins five succeed, with one share each`() async throws {
        let catalogue = try Catalogue(parsing: Array(Self.text.utf8), file: "family.storekit")
        try await TestStore.with(change: { $0.catalogue = catalogue }) { test in
            let store = test.store
            try await test.buy("family", "anna")
            try await store.createFamily("us", organizer: "anna")
            let names = (0..<12).map { AccountName(unchecked: "member\($0)") }
            for name in names { try await store.createAccount(name) }
            let joined = await withTaskGroup(of: Bool.self) { group in
                for name in names {
                    group.addTask { (try? await store.join("us", name)) != nil }
                    group.addTask { (try? await store.join("us", name)) != nil }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(joined == 5)
            let members = try #require(try store.families().first).members
            #expect(members.count == 6 && Set(members).count == 6)
            for name in names {
                let shares = try await store.transactions(of: name).count
                #expect(shares == (members.contains(name.rawValue) ? 1 : 0))
            }
        }
    }

    @Test func `a new member gets the shareable purchases of the others, with their prices and dates`() async throws {
        try await Self.with { test, store in
            let token = UUID()
            try await test.buy("pack", "anna", token: token)
            try await test.buy("own", "anna")
            try await test.buy("coins", "anna")
            try await test.buy("family", "anna", token: token)
            try await test.advance(.months(2))
            let device = try await test.device("dora")
            let cursor = try await store.updates(for: device, after: nil).cursor
            try await store.join("us", "dora")

            let payloads = try await test.payloads("dora")
            let owners = try await test.payloads("anna")
            #expect(payloads.map(\.productId) == ["pack", "family"])
            for payload in payloads {
                #expect(payload.inAppOwnershipType == .familyShared && payload.appAccountToken == nil)
                let owner = try #require(owners.last { $0.productId == payload.productId })
                #expect(payload.price == owner.price && payload.purchaseDate == owner.purchaseDate)
                #expect(payload.expiresDate == owner.expiresDate && owner.inAppOwnershipType == .purchased)
                #expect(!owners.contains { $0.transactionId == payload.transactionId })
                #expect(payload.originalTransactionId == payload.transactionId)
            }
            let response = try await store.updates(for: device, after: cursor)
            #expect(
                response.updates.filter { $0.state == "purchased" }.map(\.productID).sorted() == ["family", "pack"])
            #expect(response.updates.allSatisfy { $0.transaction?.ownership == .familyShared })
            #expect(try await store.restore(for: device).map(\.productID).sorted() == ["family", "pack"])

            try await test.advance(.months(1))
            let renewed = try await test.payloads("dora").filter { $0.productId == "family" }
            #expect(renewed.count == 2 && renewed[1].originalTransactionId == renewed[0].transactionId)
            #expect(renewed[1].expiresDate == (try await test.payloads("anna").last?.expiresDate))
        }
    }

    @Test func `a purchase is shared at once, and a member who buys the product gets the share`() async throws {
        try await Self.with { test, store in
            let device = try await test.device("ben")
            let cursor = try await store.updates(for: device, after: nil).cursor
            async let answer = store.updates(for: device, after: cursor, wait: 30)
            try await test.buy("pack", "cora")
            let reported = try await answer.updates
            #expect(reported.map(\.productID) == ["pack"] && reported.first?.paymentID == nil)
            let share = try #require(reported.first?.transaction)
            try await store.add(Payment(id: "p", productID: "pack"), from: device)
            let second = try await store.updates(for: device, after: cursor).updates
            let bought = try #require(second.first { $0.paymentID == "p" })
            #expect(bought.alreadyOwned == true && bought.transaction?.id == share.id)
            #expect(try await store.transactions(of: "ben").count == 1)
            #expect(try await store.transactions(of: "cora").count == 1)
        }
    }

    @Test func `a member keeps an own subscription beside a shared one`() async throws {
        try await Self.with { test, store in
            let own = try await test.buy("single", "ben")
            try await test.buy("family", "anna")
            let device = try await test.device("ben")
            #expect(try await store.restore(for: device).map(\.ownership) == [.purchased, .familyShared])
            // The member's own subscription can be cancelled. Buying the shared product returns the share.
            let again = try await store.cancel("single", for: "ben")
            #expect(again.originalTransactionID == own.originalTransactionID)
            try await test.advance(.months(1))
            #expect(try await store.restore(for: device).map(\.ownership) == [.familyShared])
            let shared = try await test.buy("family", "ben")
            let payload = try test.verifier().transaction(shared.signedTransaction).payload
            #expect(payload.inAppOwnershipType == .familyShared)
            let single = try await test.buy("single", "cora")
            #expect(
                try test.verifier().transaction(single.signedTransaction).payload.inAppOwnershipType == .purchased)
            await #expect(throws: SimulatorError(.unknownSubscription, "")) {
                try await store.cancel("family", for: "ben")
            }
        }
    }

    @Test func `a member who leaves and the family lose each other's shares and keep their own purchases`() async throws
    {
        try await Self.with { test, store in
            try await test.buy("family", "anna")
            try await test.buy("pack", "ben")
            let ben = try await test.device("ben")
            let anna = try await test.device("anna")
            for device in [ben, anna] {
                for update in try await store.updates(for: device, after: nil).updates {
                    try await store.finish(try #require(update.transaction).id, from: device)
                }
            }
            let (benCursor, annaCursor) = (
                try await store.updates(for: ben, after: nil).cursor,
                try await store.updates(for: anna, after: nil).cursor
            )
            #expect(
                try await store.leave("us", "ben")
                    == .init(name: "us", organizer: "anna", members: ["anna", "cora"]))
            let reported = try await store.updates(for: ben, after: benCursor).updates
            #expect(reported.filter { $0.state == "revoked" }.map(\.productID) == ["family"])
            #expect(
                try await store.updates(for: anna, after: annaCursor).updates.filter { $0.state == "revoked" }
                    .map(\.productID) == ["pack"])
            #expect(try await store.restore(for: ben).map(\.productID) == ["pack"])
            #expect(try await store.restore(for: anna).map(\.productID) == ["family"])
            let lost = try #require(try await test.payloads("ben").first { $0.productId == "family" })
            #expect(lost.revocationDate != nil && lost.revocationType == .familyRevoke)
            // Later renewals of the owner are not shared. A returning member gets a new share.
            try await test.advance(.months(2))
            #expect(try await test.payloads("ben").filter { $0.productId == "family" }.count == 1)
            try await store.join("us", "ben")
            let shares = try await test.payloads("ben").filter { $0.productId == "family" }
            #expect(Set(shares.map(\.originalTransactionId)).count == 2 && shares.count == 2)
            #expect(try await store.restore(for: ben).map(\.productID) == ["pack", "family"])
        }
    }

    @Test func `a member who leaves at the instant of a renewal has the renewal, revoked`() async throws {
        try await Self.with { test, store in
            try await test.buy("family")
            try await test.advance(.months(1))
            let before = try await test.payloads("ben").map(\.transactionId)
            #expect(before.count == 2)
            try await store.leave("us", "ben")
            let payloads = try await test.payloads("ben")
            #expect(
                payloads.map(\.transactionId) == before && payloads.map { $0.revocationDate != nil } == [false, true])
            #expect(try await store.entitlements(of: "ben").isEmpty)
            try await test.advance(.months(1))
            #expect(try await test.payloads("ben").map(\.transactionId) == before)
        }
    }

    @Test func `the family ends when its organizer leaves`() async throws {
        try await Self.with { test, store in
            try await test.buy("pack", "ben")
            #expect(try await test.payloads("cora").count == 1)
            #expect(try await store.leave("us", "anna") == .init(name: "us", organizer: "anna", members: []))
            #expect(try store.families().isEmpty && store.account("cora").family == nil)
            #expect(try await store.restore(for: test.device("cora")).isEmpty)
            #expect(try await store.restore(for: test.device("ben")).map(\.productID) == ["pack"])
            try await store.createFamily("us", organizer: "ben")
        }
    }

    @Test func `a refund of the owner's purchase ends every share, and a revocation of a share only that share`()
        async throws
    {
        try await Self.with { test, store in
            let pack = try await test.buy("pack", "anna")
            try await test.buy("family", "anna")
            try await test.advance(.months(3))
            let latest = try #require(try await store.transactions(of: "anna").last)
            let device = try await test.device("ben")
            for update in try await store.updates(for: device, after: nil).updates {
                try await store.finish(try #require(update.transaction).id, from: device)
            }
            let cursor = try await store.updates(for: device, after: nil).cursor
            try await store.refund(latest.transactionID)
            try await store.refund(pack.transactionID)
            let revoked = try await store.updates(for: device, after: cursor).updates.filter { $0.state == "revoked" }
            #expect(revoked.map(\.productID) == ["family", "pack"])
            for update in revoked {
                let signed = try #require(update.transaction).signedTransaction
                #expect(try test.verifier().transaction(signed).payload.revocationType == .familyRevoke)
            }
            #expect(try await store.restore(for: device).isEmpty)
            #expect(try await store.restore(for: test.device("cora")).isEmpty)

            try await test.buy("pack", "cora")
            let share = try #require(try await store.transactions(of: "ben").last { $0.productID == "pack" })
            try await store.revoke(share.transactionID)
            #expect(try await store.restore(for: device).isEmpty)
            #expect(try await store.restore(for: test.device("cora")).map(\.productID) == ["pack"])
        }
    }

    @Test func `a plan that cannot be shared ends the shares when it begins`() async throws {
        try await Self.with { test, store in
            try await test.buy("family", "anna")
            try await test.buy("single", "anna")
            let device = try await test.device("ben")
            #expect(try await store.restore(for: device).map(\.productID) == ["family"])
            try await test.advance(.months(1))
            #expect(try await store.restore(for: test.device("anna")).map(\.productID) == ["single"])
            #expect(try await store.restore(for: device).isEmpty)
            #expect(try await test.payloads("ben").count == 1)
            try await test.buy("family", "anna")
            #expect(try await store.restore(for: device).map(\.productID) == ["family"])
        }
    }

    @Test func `families survive a restart`() async throws {
        let folder = try ScratchFolder()
        let catalogue = try Catalogue(parsing: Array(Self.text.utf8), file: "family.storekit")
        try await TestStore.with(in: folder, change: { $0.catalogue = catalogue }) { test in
            try await test.buy("family", "anna")
            try await test.store.createFamily("us", organizer: "anna")
            try await test.store.createAccount("ben")
            try await test.store.join("us", "ben")
        }
        try await TestStore.with(in: folder, change: { $0.catalogue = catalogue }) { test in
            #expect(try test.store.families().first?.members == ["anna", "ben"])
            try await test.advance(.months(1))
            #expect(try await test.payloads("ben").map(\.productId) == ["family", "family"])
        }
    }
}
