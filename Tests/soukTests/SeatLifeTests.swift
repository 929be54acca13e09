import AppStoreSimulator
import BaseTestSupport
import EntitlementServer
import Foundation
import HTTPCore
import Primitives
import SignedData
import SimulatorControl
import StoreModel
import Testing

/// Seats of a subscription, from the simulated App Store to the answers of the entitlement server, in one process.
@Suite(.timeLimit(.minutes(2))) struct SeatLifeTests {
    private static let catalogue = """
        {
          "subscriptionGroups": [
            { "id": "g", "name": "Plus", "subscriptions": [
              { "productID": "monthly", "displayPrice": "5.00", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1 }
            ] }
          ],
          "version": { "major": 4, "minor": 0 }
        }
        """

    private struct World {
        let store: SimulatedAppStore
        let server: EntitlementService
        let secretKey: String
        let folder: TemporaryFolder

        init(invitations: String) async throws {
            folder = try TemporaryFolder()
            let inbox = Locked<EntitlementService?>(nil)
            var configuration = SimulatedAppStore.Configuration(
                catalogue: try Catalogue(parsing: Array(SeatLifeTests.catalogue.utf8), file: "shop"),
                dataDirectory: folder.file("store"))
            configuration.timeRate = .frozen
            configuration.notificationsURL = "http://server/v1/notifications/app-store"
            configuration.notificationTransport = InProcessTransport(
                AnyHTTPHandler { request in
                    inbox.withLock(\.self)?.respond(to: request) ?? .ready(HTTPResponse(status: 503))
                })
            let store = try await SimulatedAppStore.open(configuration)
            let root = try TrustAnchor(fingerprint: store.summary.rootFingerprint)
            let server = try await EntitlementService(
                ledgerAt: URL(fileURLWithPath: folder.file("ledger.sqlite")),
                for: EntitlementService.Configuration.App(bundleID: store.summary.bundleID, appAppleID: 1),
                environments: [.sandbox]
            ) {
                $0.trustAnchors = [root]
                $0.clock = store.clock
            }
            secretKey = try #require(try await server.createMissingKeys().first).secretKey
            (self.store, self.server) = (store, server)
            inbox.withLock { $0 = server }
            try await store.set(.seatInvitations, to: .string(invitations))
            for name in ["anna", "ben"] as [AccountName] { try await store.createAccount(name) }
        }

        func send(_ method: HTTPRequest.Method, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
            let request = HTTPRequest(
                method: method, url: path, headers: ["Authorization": "Bearer \(secretKey)"],
                body: body.map { .json($0) } ?? .empty)
            let response = await server.respond(to: request).response()
            #expect(response.isSuccess, "\(path) \(response.status)")
            return try JSONValue(parsing: try await response.body.collect(upTo: 1 << 20))
        }

        /// Sends the latest transaction of an account to the server, as the app of this customer does.
        func report(_ account: AccountName) async throws {
            let latest = try #require(try await store.transactions(of: account).last)
            _ = try await send(
                .post, "/v1/customers/\(account)/transactions", ["signedTransaction": .string(latest.signedTransaction)]
            )
        }

        func feature(of account: AccountName) async throws -> JSONValue? {
            try await store.deliverNotifications()
            return try await send(.get, "/v1/customers/\(account)")["features"]?.arrayValue?.first
        }

        func facts(of account: AccountName) async throws -> [JSONValue] {
            try await send(.get, "/v1/customers/\(account)/facts")["facts"]?.arrayValue ?? []
        }

        func figure(_ name: String) async throws -> [Double] {
            let day = store.clock.now().formatted(.iso8601.year().month().day())
            let answer = try await send(.get, "/v1/figures/\(name)?environment=sandbox&from=\(day)&to=\(day)")
            return (answer["rows"]?.arrayValue ?? []).compactMap {
                $0["value"]?.doubleValue ?? $0["value"]?.stringValue.flatMap { Double($0) }
            }
        }
    }

    private func withWorld(_ invitations: String, _ body: (World) async throws -> Void) async throws {
        let world = try await World(invitations: invitations)
        do { try await body(world) } catch {
            await world.store.close()
            throw error
        }
        await world.store.close()
    }

    @Test func `a member is entitled by an assigned seat, until it is removed`() async throws {
        try await withWorld("apple") { world in
            try await world.store.buy("monthly", for: "anna", quantity: 2)
            try await world.report("anna")
            try await world.store.assignSeat(of: "monthly", to: "ben", for: "anna")
            try await world.report("ben")
            var feature = try await world.feature(of: "ben")
            #expect(feature?["isActive"] == true)
            #expect(
                feature?["because"] == "active subscription, a seat of another customer's subscription"
                    || feature?["because"] == "active subscription, renews, a seat of another customer's subscription")
            try await world.store.advance(by: .months(1))
            feature = try await world.feature(of: "ben")
            #expect(feature?["isActive"] == true, "the renewal of the buyer renews the seat")
            try await world.store.removeSeat(of: "monthly", from: "ben", for: "anna")
            feature = try await world.feature(of: "ben")
            #expect(feature?["isActive"] == false)
            #expect(try await world.feature(of: "anna")?["isActive"] == true)
        }
    }

    @Test func `a refund of seats ends the seat of a member, and not the subscription`() async throws {
        try await withWorld("apple") { world in
            let bought = try await world.store.buy("monthly", for: "anna", quantity: 2)
            try await world.report("anna")
            try await world.store.assignSeat(of: "monthly", to: "ben", for: "anna")
            try await world.report("ben")
            // One seat is left for the member.
            try await world.store.refund(bought.transactionID, .init(seats: 1))
            #expect(try await world.feature(of: "ben")?["isActive"] == true)
            try await world.store.refund(bought.transactionID, .init(seats: 1))
            #expect(try await world.feature(of: "ben")?["isActive"] == false)
            #expect(try await world.feature(of: "anna")?["isActive"] == false)
        }
    }

    @Test func `added seats are revenue, and neither a second subscription nor another access`() async throws {
        try await withWorld("developer") { world in
            try await world.store.buy("monthly", for: "anna", quantity: 2)
            try await world.report("anna")
            let added = try await world.store.buy("monthly", for: "anna", quantity: 5)
            #expect(try await world.feature(of: "anna")?["isActive"] == true)
            let customer = try await world.send(.get, "/v1/customers/anna")
            #expect(customer["subscriptions"]?.arrayValue?.count == 1 && customer["features"]?.arrayValue?.count == 1)
            try await world.store.refund(added.transactionID)
            #expect(try await world.feature(of: "anna")?["isActive"] == true, "the first seats are not refunded")
        }
    }

    @Test func `the server records that seats were unclaimed`() async throws {
        try await withWorld("developer") { world in
            let bought = try await world.store.buy("monthly", for: "anna", quantity: 2)
            try await world.report("anna")
            try await world.store.assignSeat(of: "monthly", to: "ben", for: "anna")
            let claim = try #require(try world.store.seats(of: "anna").first?.taken.first?.claimID)
            try await world.store.advance(by: .days(1))
            try await world.store.buy("monthly", for: "anna", quantity: 3)
            try await world.store.setRenewalSeats(1, of: "monthly", for: "anna")
            try await world.store.refund(bought.transactionID)
            let waiting = try await world.store.deliverNotifications().waiting
            #expect(waiting == 0, "the server accepts every notification")
            let sent = try world.store.notifications()
            let types = sent.map { [$0.type, $0.subtype].compactMap(\.self).joined(separator: " ") }
            for type in [
                "DID_CHANGE_RENEWAL_PREF INCREASE_QUANTITY", "DID_CHANGE_RENEWAL_PREF DECREASE_QUANTITY", "REFUND",
                "UNCLAIM_SEATS",
            ] { #expect(types.contains(type), "\(type)") }
            #expect(sent.allSatisfy { $0.attempts.map(\.result) == ["SUCCESS"] })
            let unclaimed = try #require(sent.first { $0.type == "UNCLAIM_SEATS" }?.signedPayload)
            let payload = try JSONValue(
                parsing: Base64.decodeURL(String(unclaimed.split(separator: ".")[1])) ?? [])
            #expect(payload["unclaimInfo"] == ["unclaimSeatIds": [.string(claim)]])
            // A customer of these groups has no transaction, so the app's own server gives and ends this access.
            #expect(try await world.store.transactions(of: "ben").isEmpty)
        }
    }
}
