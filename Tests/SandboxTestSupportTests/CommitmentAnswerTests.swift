import AppStoreSimulator
import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import SandboxTestSupport

/// A subscription that is billed monthly with a commitment of a year, from the store to the server's answer.
@Suite(.timeLimit(.minutes(2))) struct CommitmentAnswerTests {
    private static let catalogue = #"""
        {"version": {"major": 5, "minor": 0}, "settings": {"_storefront": "DEU", "_locale": "de_DE"},
         "subscriptionGroups": [{"id": "club", "name": "Club", "subscriptions": [
           {"productID": "club", "displayPrice": "60.00", "recurringSubscriptionPeriod": "P1Y", "groupNumber": 1,
            "billingPlans": [{"billingPlanType": "MONTHLY", "displayPrice": "6.00"}]}]}]}
        """#

    /// 2026-01-01.
    private static let start = Date(timeIntervalSince1970: 1_767_225_600)

    private static func date(_ text: String) throws -> Date { try #require(RFC3339.date(from: "\(text)T00:00:00Z")) }

    private struct Bench {
        let sandbox: Sandbox

        init() async throws {
            sandbox = try await Sandbox.open(
                Catalogue(parsing: Array(catalogue.utf8), file: "club.storekit"), start: start)
            try await sandbox.appStore.createAccount("ada")
            let bought = try await sandbox.appStore.buy("club", for: "ada", isBilledMonthly: true)
            let body: JSONValue = ["signedTransaction": .string(bought.signedTransaction)]
            _ = try await send(.post, "/v1/customers/anna/transactions", .json(body))
        }

        private func send(
            _ method: HTTPRequest.Method, _ path: String, _ body: HTTPBody = .bytes([])
        ) async throws -> [UInt8] {
            let response = try await sandbox.serverTransport.send(
                HTTPRequest(
                    method: method, url: "http://server\(path)",
                    headers: [
                        "Authorization": "Bearer \(sandbox.keys.secretKey)", "Content-Type": "application/json",
                    ], body: body))
            let bytes = try await response.body.collect(upTo: 1 << 20)
            #expect(response.status == 200, "\(path): \(String(decoding: bytes, as: UTF8.self))")
            return bytes
        }

        func answer() async throws -> Customer {
            try WireJSON.decode(Customer.self, from: try await send(.get, "/v1/customers/anna"))
        }

        /// Sends the store's notifications, and waits for an answer.
        func answer(_ what: String, where isExpected: @Sendable (CustomerSubscription) -> Bool) async throws -> Customer
        {
            try await sandbox.appStore.deliverNotifications()
            try await until("the server knows \(what)") {
                try await answer().subscriptions.first.map(isExpected) ?? false
            }
            return try await answer()
        }

        func move(to text: String) async throws { try await sandbox.appStore.advance(to: try date(text)) }
    }

    @Test func `access lasts while each bill is paid, and until the end of a cancelled commitment`() async throws {
        let bench = try await Bench()
        let store = bench.sandbox.appStore
        let february = try Self.date("2026-02-01")
        var answer = try await bench.answer("the purchase") { $0.state == .active }
        #expect(answer.subscriptions.first?.effectiveUntil == february && answer.validUntil == february)
        #expect(answer.subscriptions.first?.price == Price(amount: 6, currency: "EUR"))
        #expect(answer.features.first { $0.name == "club" }?.effectiveUntil == february)

        // Cancelled in the third month: the bills continue.
        try await bench.move(to: "2026-03-15")
        let april = try Self.date("2026-04-01")
        answer = try await bench.answer("the third bill") { $0.expiresAt == april }
        #expect(answer.subscriptions.first?.autoRenews == true && answer.subscriptions.first?.cancelledAt == nil)
        try await store.cancel("club", for: "ada")
        answer = try await bench.answer("the cancellation") { $0.cancelledAt != nil }
        #expect(answer.subscriptions.first?.autoRenews == true && answer.validUntil == april)

        // The fourth bill fails: no access and no grace period.
        try await store.failBilling("club", for: "ada")
        try await bench.move(to: "2026-04-02")
        answer = try await bench.answer("the failed bill") { $0.state == .inBillingRetry }
        #expect(!answer.features.contains { $0.isActive })
        try await bench.move(to: "2026-04-10")
        try await store.resolveBilling("club", for: "ada")
        let may = try Self.date("2026-05-10")
        answer = try await bench.answer("the recovered bill") { $0.expiresAt == may }
        #expect(answer.subscriptions.first?.state == .active && answer.validUntil == may)
        #expect(answer.subscriptions.first?.cancelledAt != nil)

        // The twelfth bill is the last.
        try await bench.move(to: "2027-01-09")
        let end = try Self.date("2027-01-10")
        answer = try await bench.answer("the last bill") { $0.expiresAt == end }
        #expect(answer.features.contains { $0.isActive } && answer.validUntil == end)
        #expect(answer.subscriptions.first?.autoRenews == false)
        try await bench.move(to: "2027-01-10")
        answer = try await bench.answer("the end") { $0.state == .expired }
        #expect(!answer.features.contains { $0.isActive })
        #expect(try await store.transactions(of: "ada").count == 12)
        await bench.sandbox.close()
    }

    @Test func `a refund of the current bill ends access, and a refund of an earlier one does not`() async throws {
        let bench = try await Bench()
        let store = bench.sandbox.appStore
        try await bench.move(to: "2026-02-10")
        let march = try Self.date("2026-03-01")
        _ = try await bench.answer("the second bill") { $0.expiresAt == march }
        let bills = try await store.transactions(of: "ada")
        try await store.refund(bills[0].transactionID)
        try await bench.move(to: "2026-03-10")
        let april = try Self.date("2026-04-01")
        let answer = try await bench.answer("the third bill") { $0.expiresAt == april }
        #expect(answer.features.contains { $0.isActive })
        let latest = try #require(try await store.transactions(of: "ada").last)
        try await store.refund(latest.transactionID)
        let ended = try await bench.answer("the refund") { $0.state == .revoked }
        #expect(!ended.features.contains { $0.isActive })
        await bench.sandbox.close()
    }
}
