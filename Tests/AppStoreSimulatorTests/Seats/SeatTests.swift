import AppStorePayloads
import Foundation
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Subscriptions that one customer buys for several.
struct SeatTests {
    /// Opens a store that sells seats, with the accounts `anna`, `ben` and `cora`. It notifies a receiver.
    static func withSeats(
        _ invitations: String, _ body: (TestStore, SimulatedAppStore) async throws -> Void
    ) async throws {
        try await TestStore.notifying(Receiver()) { test in
            for name in ["anna", "ben", "cora"] as [AccountName] { try await test.store.createAccount(name) }
            try await test.store.set(.seatInvitations, to: .string(invitations))
            try await body(test, test.store)
        }
    }

    private static func types(_ store: SimulatedAppStore) throws -> [String] {
        try store.notifications().map { [$0.type, $0.subtype].compactMap(\.self).joined(separator: " ") }
    }

    /// Expects that a purchase is refused with this code.
    private static func expect(_ code: StoreFailure.Code, _ body: () async throws -> Void) async {
        let failure = await #expect(throws: StoreFailure.self) { try await body() }
        #expect(failure?.code == code, "\(String(describing: failure))")
    }

    @Test func `seats are sold at the price of one each, and renew`() async throws {
        try await Self.withSeats("developer") { test, store in
            try await test.buy("weekly", quantity: 5)
            try await test.advance(.weeks(1))
            let payloads = try await test.payloads()
            #expect(payloads.map(\.quantity) == [5, 5] && payloads.map(\.price) == [990, 990])
            for payload in payloads {
                let info = try #require(payload.multiSeatInfo)
                #expect(info.invitationManagement == .developer && info.revokedSeatQuantity == nil)
                #expect(info.priceTiers?.map(\.price) == [990] && info.priceTiers?.map(\.quantity) == [5])
                #expect(payload.additionalTransactionReason == nil && payload.inAppOwnershipType == .purchased)
            }
            let signed = try await store.subscriptions(of: "anna")[0].signedRenewalInfo
            let renewal = try test.verifier().renewalInfo(signed).payload
            #expect(renewal.renewalQuantity == 5 && renewal.renewalPrice == 990)
            #expect(renewal.multiSeatInfo?.renewalPriceTiers?.map(\.quantity) == [5])
            try await test.buy("paygo")
            let single = try #require(try await test.payloads().last)
            #expect(single.quantity == 1 && single.multiSeatInfo == nil)
        }
    }

    @Test func `a subscription with seats has no introductory offer and takes no other`() async throws {
        try await Self.withSeats("apple") { test, store in
            try await test.buy("monthly", quantity: 3)
            let payload = try await test.payloads()[0]
            #expect(payload.offerType == nil && payload.price == 4990)
            await Self.expect(.invalidOffer) {
                try await test.buy("monthly", quantity: 4, offer: "half")
            }
            await Self.expect(.invalidOffer) {
                try await test.buy("monthly", offer: "half")
            }
        }
    }

    @Test func `no seats are sold while the setting is off, nor to a customer with a subscription for one`()
        async throws
    {
        try await TestStore.with { test in
            await Self.expect(.invalidQuantity) {
                try await test.buy("weekly", quantity: 2)
            }
            try await test.store.set(.seatInvitations, to: "apple")
            for quantity in [0, -1, 10_001] {
                await Self.expect(.invalidQuantity) {
                    try await test.buy("weekly", quantity: quantity)
                }
            }
            try await test.buy("weekly")
            await Self.expect(.invalidQuantity) {
                try await test.buy("weekly", quantity: 2)
            }
        }
    }

    @Test func `added seats have a transaction of their own for the rest of the period`() async throws {
        try await Self.withSeats("developer") { test, store in
            let first = try await test.buy("weekly", quantity: 2)
            try await test.advance(.days(4))
            let added = try await test.buy("weekly", quantity: 5)
            #expect(added.originalTransactionID == first.transactionID && added.expiresDate == first.expiresDate)
            var payloads = try await test.payloads()
            #expect(payloads.map(\.quantity) == [2, 3])
            // Three of seven days are left.
            #expect(payloads.map(\.price) == [990, 424])
            #expect(payloads.allSatisfy { $0.additionalTransactionReason == .seatAddition && $0.isUpgraded == false })
            #expect(
                payloads[1].transactionReason == .purchase && payloads[1].multiSeatInfo?.priceTiers?[0].quantity == 3)
            #expect(try store.seats(of: "anna")[0].total == 5)
            #expect(try await store.entitlements(of: "anna").map(\.transactionID) == [first.transactionID])
            #expect(try Self.types(store) == ["SUBSCRIBED INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF INCREASE_QUANTITY"])
            await Self.expect(.invalidQuantity) {
                try await test.buy("weekly", quantity: 5)
            }
            try await test.advance(.days(3))
            payloads = try await test.payloads()
            #expect(payloads.map(\.quantity) == [2, 3, 5] && payloads[2].price == 990)
            #expect(payloads[2].additionalTransactionReason == nil)
            #expect(try store.seats(of: "anna")[0].total == 5)
        }
    }

    @Test func `fewer seats apply from the next period, and can be undone before`() async throws {
        try await Self.withSeats("developer") { test, store in
            try await test.buy("weekly", quantity: 5)
            try await store.setRenewalSeats(2, of: "weekly", for: "anna")
            #expect(
                try store.seats(of: "anna").map(\.total) == [5] && store.seats(of: "anna").map(\.renewalCount) == [2])
            try await store.setRenewalSeats(4, of: "weekly", for: "anna")
            await #expect(throws: SimulatorError(.invalidValue, "")) {
                try await store.setRenewalSeats(6, of: "weekly", for: "anna")
            }
            try await test.advance(.weeks(2))
            #expect(try await test.payloads().map(\.quantity) == [5, 4, 4])
            #expect(
                try Self.types(store).prefix(3) == [
                    "SUBSCRIBED INITIAL_BUY", "DID_CHANGE_RENEWAL_PREF DECREASE_QUANTITY",
                    "DID_CHANGE_RENEWAL_PREF INCREASE_QUANTITY",
                ])
        }
    }

    @Test func `a member with a seat has a transaction that ends with the seat`() async throws {
        try await Self.withSeats("apple") { test, store in
            try await test.buy("weekly", quantity: 2)
            try await store.assignSeat(of: "weekly", to: "ben", for: "anna")
            await #expect(throws: SimulatorError(.notNow, "")) {
                try await store.assignSeat(of: "weekly", to: "ben", for: "anna")
            }
            try await test.advance(.weeks(1))
            let payloads = try await test.payloads("ben")
            #expect(
                payloads.map(\.inAppOwnershipType) == [.assigned, .assigned] && payloads.map(\.quantity) == [2, 2])
            #expect(payloads[0].multiSeatInfo?.invitationManagement == .apple)
            #expect(try await store.entitlements(of: "ben").count == 1)
            try await store.removeSeat(of: "weekly", from: "ben", for: "anna")
            #expect(try await store.entitlements(of: "ben").isEmpty)
            let ended = try #require(try await test.payloads("ben").last)
            #expect(ended.revocationDate != nil && ended.revocationType == .familyRevoke)
            #expect(try await store.entitlements(of: "anna").count == 1)
            await #expect(throws: SimulatorError(.notNow, "")) {
                try await store.removeSeat(of: "weekly", from: "ben", for: "anna")
            }
            try await store.assignSeat(of: "weekly", to: "ben", for: "anna")
            try await store.cancel("weekly", for: "anna")
            try await test.advance(.weeks(1))
            #expect(try await store.entitlements(of: "ben").isEmpty)
            #expect(try await store.entitlements(of: "anna").isEmpty)
            try await store.deliverNotifications()
            let types = try Self.types(store)
            #expect(types.contains("REVOKE") && types.filter { $0 == "EXPIRED VOLUNTARY" }.count == 2, "\(types)")
        }
    }

    @Test func `a refund of seats ends the latest claims and keeps the transaction`() async throws {
        try await Self.withSeats("developer") { test, store in
            let bought = try await test.buy("weekly", quantity: 3)
            for member in ["ben", "cora"] as [AccountName] {
                try await test.advance(.days(1))
                try await store.assignSeat(of: "weekly", to: member, for: "anna")
            }
            let claims = try store.seats(of: "anna")[0].taken
            #expect(claims.map(\.account) == ["ben", "cora"])
            try await store.refund(bought.transactionID, .init(seats: 2))
            let payload = try await test.payloads()[0]
            #expect(payload.revocationDate == nil && payload.multiSeatInfo?.revokedSeatQuantity == 2)
            #expect(try store.seats(of: "anna")[0].total == 1 && store.seats(of: "anna")[0].taken == [claims[0]])
            #expect(try Self.types(store).suffix(2) == ["REFUND SEATS", "UNCLAIM_SEATS"])
            try await store.deliverNotifications()
            let last = try #require(try store.notifications().last?.signedPayload)
            let notification = try test.verifier().notification(last).payload
            let unclaimed = try #require(notification.unclaimInfo?.unclaimSeatIds)
            #expect(unclaimed.map(\.lowercased) == [try #require(claims[1].claimID)])
            #expect(notification.data?.signedTransactionInfo != nil)
            await #expect(throws: SimulatorError(.invalidValue, "")) {
                try await store.refund(bought.transactionID, .init(seats: 2))
            }
            // The last seat ends the transaction.
            try await store.refund(bought.transactionID, .init(seats: 1))
            #expect(try await test.payloads()[0].revocationDate != nil)
            #expect(try await store.entitlements(of: "anna").isEmpty && store.seats(of: "anna").isEmpty)
        }
    }

    @Test func `a refund of added seats leaves the subscription with the others`() async throws {
        try await Self.withSeats("apple") { test, store in
            try await test.buy("weekly", quantity: 2)
            let added = try await test.buy("weekly", quantity: 3)
            for member in ["ben", "cora"] as [AccountName] {
                try await store.assignSeat(of: "weekly", to: member, for: "anna")
            }
            try await store.refund(added.transactionID)
            #expect(try store.seats(of: "anna")[0].total == 2 && store.seats(of: "anna")[0].available == 0)
            #expect(try await store.entitlements(of: "anna").count == 1)
            #expect(try await store.entitlements(of: "cora").count == 1)
            let bought = try #require(try await test.payloads().first?.transactionId)
            try await store.refund(TransactionID(unchecked: bought), .init(seats: 1))
            #expect(try await store.entitlements(of: "ben").count == 1)
            #expect(try await store.entitlements(of: "cora").isEmpty)
            #expect(try Self.types(store).suffix(2) == ["REFUND SEATS", "REVOKE"])
        }
    }

    @Test func `the end of a family changes neither seats nor the families of members with seats`() async throws {
        try await Self.withSeats("apple") { test, store in
            try await store.createFamily("us", organizer: "anna")
            try await store.createFamily("them", organizer: "ben")
            try await test.buy("weekly", quantity: 2)
            try await store.assignSeat(of: "weekly", to: "ben", for: "anna")
            try await store.leave("us", "anna")
            #expect(try store.account("ben").family == "them")
            try await store.leave("them", "ben")
            #expect(try await store.entitlements(of: "ben").count == 1)
        }
    }

    @Test func `an imported state has the same seats`() async throws {
        try await Self.withSeats("developer") { test, store in
            try await test.buy("weekly", quantity: 2)
            try await test.buy("weekly", quantity: 4)
            try await store.assignSeat(of: "weekly", to: "ben", for: "anna")
            let seats = try store.seats(of: "anna")
            let state = try await store.exportState()
            try await store.importState(state)
            #expect(try store.seats(of: "anna") == seats)
            #expect(try await test.payloads().map(\.quantity) == [2, 2])
        }
    }
}
