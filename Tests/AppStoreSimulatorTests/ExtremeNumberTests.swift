import SimulatorControl
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Extreme numbers in every input: the store refuses or accepts them, does not crash, and works after a restart.
@Suite struct ExtremeNumberTests {
    // MARK: - An imported state

    /// The state of one filled store, which tests change.
    static let populated = Task {
        var state: JSONValue = nil
        try await TestStore.with(change: sending) { state = try await populate($0) }
        return state
    }

    /// Fills a store, so that every table except `answered_message` and `nonce` has a row. Returns its state.
    static func populate(_ test: TestStore) async throws -> JSONValue {
        let store = test.store
        let device = try await test.device("anna")
        for account: AccountName in ["ben", "carl"] { try await store.createAccount(account) }
        try await store.createFamily("home", organizer: "anna")
        try await store.join("home", "ben")
        try await test.buy("monthly", token: UUID())
        try await test.buy("paygo")
        let coins = try await test.buy("coins", quantity: 3)
        try await test.buy("pack")
        try await store.set(.gracePeriod, to: "16d")
        try await test.advance(.months(2))
        try await store.increasePrice(of: "weekly", .init(price: "1.99"))
        try await store.setWithdrawn("upfront", true)
        try await store.refund(coins.transactionID, .init(percentage: 40))
        let pass = try await test.buy("pass")
        try await store.requestRefund(of: pass.transactionID)
        try await store.promote(.init(productID: "weekly"), for: "carl")
        try await store.add(Payment(id: "p", productID: "pack"), from: device)
        let reported = try await store.updates(for: device, after: nil)
        for update in reported.updates.prefix(2) {
            if let id = update.transaction?.id { try await store.finish(id, from: device) }
        }
        try await store.set(.askToBuy, to: true)
        try await store.buy(.init(productID: "weekly"), for: "carl")
        try await store.set(.askToBuy, to: false)
        try await store.set(.latency(.finish), to: 0.5)
        let client = try ServerClient(test)
        let subscription = try #require(try await store.subscriptions(of: "anna").first)
        _ = try await client.send(
            .put, "/inApps/v1/subscriptions/extend/\(subscription.originalTransactionID)",
            #"{"extendByDays":3,"extendReasonCode":1,"requestIdentifier":"one"}"#)
        _ = try await client.send(
            .post, "/inApps/v1/subscriptions/extend/mass",
            #"{"extendByDays":2,"extendReasonCode":1,"requestIdentifier":"two","productId":"monthly"}"#)
        _ = try await client.send(
            .put, "/inApps/v2/transactions/consumption/\(pass.transactionID)",
            #"{"customerConsented":true,"sampleContentProvided":false,"deliveryStatus":"DELIVERED"}"#)
        _ = try await client.send(
            .put, "/inApps/v1/transactions/\(subscription.originalTransactionID)/appAccountToken",
            #"{"appAccountToken":"7e3fb20b-4cdb-47cc-936d-99d65f608138"}"#)
        try await store.createOfferCodes(.init(productID: "coins", offerID: "launch", count: 2, price: "0"))
        try await store.createOfferCodes(.init(productID: "paygo", offerID: "spring", code: "SUMMER", limit: 9))
        _ = try await store.redeem(.init(code: "SUMMER"), for: "ben")
        try await populateSeats(test, client)
        try await store.deliverNotifications()
        try await populateRetentionMessaging(test, client, subscription)
        var state = try await store.exportState()
        for (table, rows) in try await PlayFixtures.rows() { state["tables"]?[table] = rows }
        return state
    }

    /// Adds a subscription with seats: an assigned seat, seats that were added, a claim and a refund of one seat.
    private static func populateSeats(_ test: TestStore, _ client: ServerClient) async throws {
        for (buyer, invitations) in [("dora", "apple"), ("emil", "developer")] as [(AccountName, JSONValue)] {
            try await test.store.createAccount(buyer)
            try await test.store.set(.seatInvitations, to: invitations)
            let seats = try await test.store.buy("weekly", for: buyer, quantity: 2)
            try await test.store.assignSeat(of: "weekly", to: "carl", for: buyer)
            let added = try await test.store.buy("weekly", for: buyer, quantity: 4)
            try await test.store.refund(added.transactionID, .init(seats: 1))
            _ = try await client.send(
                .post, "/groups/v1/transactions/\(seats.transactionID)/seats",
                #"{"requestIdentifier":"0b7a5a1e-5a0c-4a5a-9c58-7a3a1fb4a0f1"}"#)
        }
    }

    /// Adds an image, a default message, a message that the customer saw, and a performance test.
    private static func populateRetentionMessaging(
        _ test: TestStore, _ client: ServerClient, _ subscription: StoreControlWire.Subscription
    ) async throws {
        try await client.upload(Pictures.full, UUID())
        try await client.setDefault(try await client.uploadMessage())
        try await test.store.setRealtimeURL("https://server.example")
        try await test.store.showRetentionMessage(of: subscription.productID, for: "anna")
        let original = try #require(subscription.originalTransactionID.number)
        _ = try await test.store.beginPerformanceTest(of: original)
        await test.store.performanceTest.withLock { $0?.task }?.value
    }

    /// A catalogue in which Anna's subscription and her non-consumable are shared.
    private static let catalogue: Catalogue? = {
        var text = Fixtures.catalogueText
        for product in ["monthly", "pack"] {
            text = text.replacing(
                "\"productID\": \"\(product)\",", with: "\"productID\": \"\(product)\", \"familyShareable\": true,")
        }
        return try? Catalogue(parsing: Array(text.utf8), file: "family.storekit")
    }()

    /// A store with this catalogue, whose notifications are answered with 500.
    static let sending: @Sendable (inout SimulatedAppStore.Configuration) -> Void = {
        if let catalogue { $0.catalogue = catalogue }
        $0.notificationsURL = Receiver.url
        $0.notificationTransport = Receiver { _ in 500 }
    }

    @Test func `every integer column of the database has a range`() async throws {
        try await TestStore.with { test in
            let ranges = ColumnRange.all.flatMap { table in table.value.keys.map { "\(table.key).\($0)" } }
            let columns = try test.columns(of: "INTEGER")
            #expect(columns == Set(ranges))
        }
    }

    @Test func `an exported state is within the ranges and has every table`() async throws {
        try await TestStore.with(change: Self.sending) { test in
            let state = try await Self.populate(test)
            try await test.store.importState(state)
            let rows = try #require(state["tables"]?.objectValue)
            let empty = rows.filter { $0.value.arrayValue?.isEmpty ?? true }.map(\.key)
            #expect(Set(empty).isSubset(of: ["answered_message", "nonce"]), "\(empty.sorted())")
            #expect(Set(rows.keys) == Set(ColumnRange.all.keys))
        }
    }

    /// With `SOUK_EXTREMES`, the test uses every accepted state after a restart, otherwise every eighth.
    @Test(arguments: ColumnRange.all.keys.sorted())
    func `a state with an extreme number is refused, or works after a restart`(table: String) async throws {
        let folder = try ScratchFolder()
        let state = try await Self.populated.value
        var test = try await TestStore.open(in: folder, change: Self.sending)
        var taken = 0
        for (path, number, mutated) in ExtremeNumbers.mutations(of: state["tables"]?[table] ?? []) {
            var changed = state
            changed["tables"]?[table] = mutated
            let what = "\(table) \(path.joined(separator: "/")) = \(number)"
            let client = StoreRoutesTests.Client(test)
            let answer = try await client.ask(.put, "/control/v1/state", changed.text())
            guard answer.status == 200 else {
                #expect((400..<500).contains(answer.status), "\(what): \(answer)")
                continue
            }
            let reported = try await client.ask(.get, "/control/v1/accounts/anna/subscriptions")
            #expect(reported.status < 500, "\(what): \(reported)")
            taken += 1
            guard taken % 8 == 1 || ExtremeNumbers.isWhole else { continue }
            await test.store.close()
            test = try await TestStore.open(in: folder, change: Self.sending)
            try await Self.exercise(StoreRoutesTests.Client(test), what)
        }
        await test.store.close()
    }

    /// Requests every list, buys, and advances the clock. Expects no internal error.
    static func exercise(_ client: StoreRoutesTests.Client, _ what: String) async throws {
        var asked: [(HTTPRequest.Method, String, String)] = [
            (.get, "/control/v1/accounts", ""), (.get, "/control/v1/families", ""), (.get, "/control/v1/orders", ""),
            (.get, "/control/v1/notifications", ""), (.get, "/control/v1/price-increases", ""),
            (.get, "/control/v1/products", ""), (.get, "/control/v1/settings", ""),
            (.post, "/control/v1/accounts", #"{"name":"new"}"#), (.post, "/store/v1/devices", #"{"account":"anna"}"#),
            (.post, "/control/v1/accounts/carl/buy", #"{"productID":"coins"}"#),
            (.post, "/control/v1/accounts/carl/buy", #"{"productID":"pro"}"#),
            (.post, "/control/v1/accounts/anna/renew", #"{"productID":"monthly"}"#),
        ]
        for account in ["anna", "ben", "carl"] {
            for part in ["transactions", "subscriptions", "entitlements", "unfinished", "devices"] {
                asked.append((.get, "/control/v1/accounts/\(account)/\(part)", ""))
            }
        }
        asked.append((.post, "/control/v1/clock/advance", #"{"period":"P1M"}"#))
        asked.append((.get, "/control/v1/accounts/anna/transactions", ""))
        for (method, path, body) in asked {
            let answer = try await client.ask(method, path, body)
            #expect(answer.status < 500, "\(what): \(method) \(path) is answered \(answer.status) \(answer.json)")
            guard path == "/store/v1/devices", let id = answer.json["deviceID"]?.stringValue else { continue }
            for part in ["", "/updates", "/products", "/receipt", "/app-transaction"] {
                let answer = try await client.ask(.get, "\(path)/\(id)\(part)")
                #expect(answer.status < 500, "\(what): \(part) is answered \(answer.status) \(answer.json)")
            }
        }
        #expect(try await client.ask(.get, "/control/v1/state").status == 200, "\(what)")
    }

    @Test func `a state with a counter lower than a number taken from it is refused`() async throws {
        try await TestStore.with(change: Self.sending) { test in
            let good = try await Self.populate(test)
            for (table, column) in [("store", "next_device"), ("store", "next_sale"), ("notification", "attempts")] {
                var bad = good
                bad["tables"]?[table] = .array(
                    (good["tables"]?[table]?.arrayValue ?? []).map { row in
                        var row = row
                        row[column] = .number(column == "next_sale" ? 1 : 0)
                        return row
                    })
                let refused = bad
                let error = await #expect(throws: SimulatorError.self, "\(table).\(column)") {
                    try await test.store.importState(refused)
                }
                #expect(error?.code == .invalidValue && error?.reason.contains(column) == true)
            }
        }
    }

    @Test func `a subscription whose earlier runs count too many periods is refused`() async throws {
        try await TestStore.with(change: Self.sending) { test in
            let good = try await Self.populate(test)
            let rows = try #require(good["tables"]?["run"]?.arrayValue)
            // A run before the last one. The last run has another limit.
            let originals = rows.map { $0["original"] ?? nil }
            let index = try #require(originals.indices.first { originals.lastIndex(of: originals[$0]) != $0 })
            var changed = rows
            changed[index]["count"] = .number(1_000_000)
            var bad = good
            bad["tables"]?["run"] = .array(changed)
            let refused = bad
            let error = await #expect(throws: SimulatorError.self) { try await test.store.importState(refused) }
            #expect(error?.code == .invalidValue && error?.reason.contains("too many periods") == true)
        }
    }

    @Test func `a share whose owner is the share itself is refused`() async throws {
        try await TestStore.with(change: Self.sending) { test in
            let good = try await Self.populate(test)
            let rows = try #require(good["tables"]?["subscription"]?.arrayValue)
            let index = try #require(rows.firstIndex { $0["share_owner"] != nil })
            var row = rows[index]
            row["share_owner"] = row["original"]
            var changed = rows
            changed[index] = row
            var bad = good
            bad["tables"]?["subscription"] = .array(changed)
            let refused = bad
            let error = await #expect(throws: SimulatorError.self) { try await test.store.importState(refused) }
            #expect(error?.code == .invalidValue)
        }
    }

    // MARK: - Requests

    @Test func `a request with an extreme number causes no internal error`() async throws {
        try await TestStore.with(change: Self.sending) { test in
            _ = try await Self.populate(test)
            let client = StoreRoutesTests.Client(test)
            let device = try await test.device("dora").rawValue
            let bought = try await test.buy("coins", "dora").transactionID
            let signature: JSONValue = [
                "keyID": "k", "nonce": "7e3fb20b-4cdb-47cc-936d-99d65f608138", "timestamp": 1, "signature": "AAAA",
            ]
            let questions: [(HTTPRequest.Method, String, JSONValue)] = [
                (.post, "/control/v1/clock/advance", ["seconds": 1]),
                (.post, "/control/v1/accounts/dora/buy", ["productID": "coins", "quantity": 1]),
                (.post, "/control/v1/transactions/\(bought)/refund", ["percentage": 1]),
                (.put, "/control/v1/settings/latency.purchase", ["value": 0]),
                (.put, "/control/v1/settings/errors.serverAPI", ["value": 5_000_001]),
                (.put, "/control/v1/settings/gracePeriod", ["value": 16]),
                (.put, "/control/v1/settings/errors.verifyReceipt", ["value": 21100]),
                (
                    .post, "/store/v1/devices/\(device)/payments",
                    [
                        "id": "x", "productID": "monthly", "quantity": 1,
                        "offer": ["kind": "promotional", "id": "half", "signature": signature],
                    ]
                ),
                (
                    .put, "/control/v1/state",
                    ["format": "souk-store", "schema": 1, "bundleID": 1, "now": 1, "tables": 1]
                ),
            ]
            for (method, path, body) in questions {
                for (place, number, changed) in ExtremeNumbers.mutations(of: body) {
                    let answer = try await client.ask(method, path, changed.text(pretty: false))
                    #expect(answer.status < 500, "\(path) \(place) = \(number): \(answer)")
                }
                _ = try await client.ask(.put, "/control/v1/settings/latency.purchase", #"{"value":0}"#)
            }
            try await Self.exercise(client, "after all requests")
        }
    }

    @Test func `a path or a query with an extreme number causes no internal error`() async throws {
        try await TestStore.with(change: Self.sending) { test in
            _ = try await Self.populate(test)
            let client = StoreRoutesTests.Client(test)
            let server = try ServerClient(test)
            // An injected latency would not end, because the clock is stopped.
            try await test.store.set(.latency(.finish), to: 0)
            let device = try await test.device("dora").rawValue
            for number in ExtremeNumbers.all.map(\.text) {
                for path in [
                    "/control/v1/notifications?limit=\(number)", "/control/v1/notifications?after=\(number)",
                    "/control/v1/transactions/\(number)/consumption",
                    "/store/v1/devices/\(device)/updates?after=\(number)",
                    "/store/v1/devices/\(device)/updates?after=\(number).\(number)",
                ] {
                    let answer = try await client.ask(.get, path)
                    #expect(answer.status < 500, "\(path): \(answer)")
                }
                for path in [
                    "/control/v1/transactions/\(number)/refund", "/control/v1/transactions/\(number)/resolve",
                    "/control/v1/transactions/\(number)/request-refund",
                    "/store/v1/devices/\(device)/transactions/\(number)/finish",
                ] {
                    let answer = try await client.ask(.post, path)
                    #expect(answer.status < 500, "\(path): \(answer)")
                }
                for path in [
                    "/inApps/v1/transactions/\(number)", "/inApps/v1/subscriptions/\(number)",
                    "/inApps/v2/history/\(number)?startDate=\(number)&endDate=\(number)",
                    "/inApps/v1/lookup/M\(number)",
                    "/inApps/v2/history/\(number)?revision=\(number)_\(number)_x",
                ] {
                    #expect(try await server.send(.get, path).status < 500, "\(path)")
                }
                for (method, path, body): (HTTPRequest.Method, String, String) in [
                    (.post, "/inApps/v1/notifications/history", #"{"startDate":\#(number),"endDate":\#(number)}"#),
                    (
                        .post, "/inApps/v1/subscriptions/extend/mass",
                        #"{"extendByDays":\#(number),"extendReasonCode":\#(number),"requestIdentifier":"x","productId":"monthly"}"#
                    ),
                ] {
                    #expect(try await server.send(method, path, body).status < 500, "\(path) \(number)")
                }
            }
        }
    }

    @Test(arguments: [
        ("advance", "{\"to\":\"9999-12-31T23:59:59Z\"}"), ("advance", "{\"to\":\"0000-01-01T00:00:00Z\"}"),
        ("advance", "{\"period\":\"P9999Y\"}"), ("advance", "{\"period\":\"P200Y\"}"),
        ("advance", "{\"seconds\":6307200000}"),
    ])
    func `a huge jump of the clock is refused, or leaves a store that works`(path: String, body: String) async throws {
        let folder = try ScratchFolder()
        try await TestStore.with(in: folder, change: Self.sending) { test in
            try await test.buy("monthly")
            let client = StoreRoutesTests.Client(test)
            for _ in 0..<3 {
                let answer = try await client.ask(.post, "/control/v1/clock/\(path)", body)
                #expect(answer.status == 200 || answer.status == 422 || answer.status == 400, "\(answer)")
            }
            #expect(try await client.ask(.get, "/control/v1/accounts/anna/subscriptions").status == 200)
        }
        try await TestStore.with(in: folder) { test in
            let answer = try await StoreRoutesTests.Client(test).ask(.get, "/control/v1/clock")
            #expect(answer.status == 200)
        }
    }

    // MARK: - Catalogues

    @Test func `a catalogue with an extreme number is refused, or works`() async throws {
        let good = try JSONValue(parsing: Fixtures.catalogueText)
        for (path, number, changed) in ExtremeNumbers.mutations(of: good, sample: .max) {
            let what = "\(path.joined(separator: "/")) = \(number)"
            guard let catalogue = try? Catalogue(parsing: changed.encoded(), file: "extreme.storekit") else { continue }
            try await TestStore.with(change: { $0.catalogue = catalogue }) { test in
                try await test.store.createAccount("anna")
                let client = StoreRoutesTests.Client(test)
                for item in catalogue.items {
                    let answer = try await client.ask(
                        .post, "/control/v1/accounts/anna/buy", #"{"productID":"\#(item.id)"}"#)
                    #expect(answer.status < 500, "\(what): \(item.id): \(answer)")
                }
                let moved = try await client.ask(.post, "/control/v1/clock/advance", #"{"period":"P1Y"}"#)
                #expect(moved.status == 200, "\(what)")
                let sold = try await client.ask(.get, "/control/v1/accounts/anna/transactions")
                #expect(sold.status == 200, "\(what)")
            }
        }
    }
}
