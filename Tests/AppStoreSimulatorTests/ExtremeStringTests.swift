import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import Testing

@testable import AppStoreSimulator

/// Unusual strings in every place of an imported state: the store refuses or accepts them, and works after a restart.
@Suite struct ExtremeStringTests {
    /// An empty string, control characters, another normal form, another writing direction, markup, paths, values of
    /// other types, and a very long string.
    static let all = [
        "", " ", "\u{0}", "a\u{0}b", "\u{1B}[2J", "e\u{301}", "\u{202E}evil", "\u{FEFF}", "\u{1F4A5}", "..", "a/b",
        "%00",
        "<script>", "'; DROP TABLE store; --", "null", "{}", "[", "-1", "1e999", "P0D", "P99999999Y",
        "2026-02-30T25:61:61Z", "00000000-0000-0000-0000-000000000000", String(repeating: "x", count: 70_000),
    ]

    @Test func `every text column of the database has a form`() async throws {
        try await TestStore.with { test in
            let forms = ColumnForm.all.flatMap { table in table.value.keys.map { "\(table.key).\($0)" } }
            let columns = try test.columns(of: "TEXT")
            #expect(columns == Set(forms))
        }
    }

    @Test func `U+0000 in a path or a query causes no internal error`() async throws {
        try await TestStore.with(change: ExtremeNumberTests.sending) { test in
            _ = try await ExtremeNumberTests.populate(test)
            let bought = try await test.buy("coins")
            let names = [
                "account": "anna", "member": "ben", "family": "home", "product": "monthly",
                "device": try await test.device("anna").rawValue, "transaction": bought.transactionID.rawValue,
                "notification": UUID().uuidString, "setting": "gracePeriod", "message": "m",
                "batch": "1", "group": "plus",
            ]
            func path(_ pattern: String, spoiling spoiled: String?) throws -> String {
                try pattern.split(separator: "/").map { part in
                    guard part.hasPrefix("{") else { return "/\(part)" }
                    let name = String(part.dropFirst().dropLast())
                    return "/" + (name == spoiled ? "a%00b" : try #require(names[name], "\(name)"))
                }.joined()
            }
            let client = StoreRoutesTests.Client(test)
            for endpoint in StoreEndpoints.all {
                let body = endpoint.body == nil ? "" : "{}"
                for name in endpoint.pathParameters {
                    let answer = try await client.ask(
                        endpoint.method, path(endpoint.path, spoiling: name), body)
                    #expect((400..<500).contains(answer.status), "\(endpoint.id) {\(name)}: \(answer)")
                }
                for item in endpoint.query {
                    let target = "\(try path(endpoint.path, spoiling: nil))?\(item.name)=a%00b"
                    let answer = try await client.ask(endpoint.method, target, body)
                    // Any string is valid here, because the store only compares it.
                    let isCompared = endpoint.id == "updates" && item.name == "storefront"
                    #expect((isCompared ? 200..<500 : 400..<500).contains(answer.status), "\(target): \(answer)")
                }
            }
            let server = try ServerClient(test)
            for path in [
                "transactions/%00", "transactions/consumption/%00", "subscriptions/%00", "lookup/%00", "history/%00",
                "history/\(bought.transactionID)?productId=%00", "history/\(bought.transactionID)?revision=%00",
                "history/\(bought.transactionID)?subscriptionGroupIdentifier=%00", "refund/lookup/%00",
                "notifications/test/%00", "subscriptions/extend/mass/%00/%00", "subscriptions/extend/mass/monthly/%00",
            ] {
                for version in ["v1", "v2"] {
                    let answer = try await server.send(.get, "/inApps/\(version)/\(path)")
                    #expect(answer.status < 500, "\(version)/\(path): \(answer.status)")
                }
            }
        }
    }

    /// SQLite would accept most of these values, because it converts between numbers and strings of digits.
    @Test func `a value whose JSON type differs from the type of its column is refused`() async throws {
        let folder = try ScratchFolder()
        var state = try await ExtremeNumberTests.populated.value
        state["tables"]?["nonce"] = [["id": "n"]]
        state["tables"]?["answered_message"] = [["account": 1, "id": "m", "at": 0]]
        let whole = state
        try await TestStore.with(in: folder, change: ExtremeNumberTests.sending) { test in
            try await test.store.importState(whole)
            let types: [(String, [JSONValue])] = [
                ("TEXT", [0, 1.5, true, nil, [], [:]]), ("INTEGER", ["5", true, nil, []]),
                ("REAL", ["0.5", true, nil]),
            ]
            for (type, values) in types {
                for column in try test.columns(of: type).sorted() {
                    let parts = column.split(separator: ".").map(String.init)
                    let rows = try #require(whole["tables"]?[parts[0]]?.arrayValue)
                    for value in values {
                        var changed = whole
                        var row = try #require(rows.first)
                        row[parts[1]] = value
                        changed["tables"]?[parts[0]] = .array([row] + rows.dropFirst())
                        let refused = changed
                        let error = await #expect(throws: SimulatorError.self, "\(column) = \(value.text())") {
                            try await test.store.importState(refused)
                        }
                        #expect(error?.reason.contains("\(parts[1]) of the table \(parts[0])") == true, "\(column)")
                    }
                }
            }
            var changed = whole
            changed["tables"]?["store"] = [["bundle": 0]]
            #expect(
                try await StoreRoutesTests.Client(test).ask(.put, "/control/v1/state", changed.text()).status == 422)
        }
        try await TestStore.with(in: folder) { _ in }
    }

    @Test func `a notification with an invalid product id is refused`() async throws {
        try await TestStore.with(change: ExtremeNumberTests.sending) { test in
            var state = try await ExtremeNumberTests.populate(test)
            let rows = try #require(state["tables"]?["notification"])
            let places = JSONPlaces.paths(in: rows) { $0.stringValue != nil }.filter { $0.last == "productId" }
            for name in ["", "e\u{301}", String(repeating: "x", count: 256)] {
                let changed = JSONPlaces.replace(try #require(places.first), in: rows, with: .string(name))
                state["tables"]?["notification"] = changed
                let answer = try await StoreRoutesTests.Client(test).ask(.put, "/control/v1/state", state.text())
                #expect(answer.status == 422, "\(name.prefix(9)): \(answer)")
            }
        }
    }

    /// With `SOUK_EXTREMES`, every string is tried in every place, and every accepted state is used after a restart.
    /// Otherwise each place gets every twelfth string, and every eighth state is used.
    @Test(arguments: ColumnRange.all.keys.sorted())
    func `a state with an extreme string is refused, or works after a restart`(table: String) async throws {
        let folder = try ScratchFolder()
        let state = try await ExtremeNumberTests.populated.value
        var test = try await TestStore.open(in: folder, change: ExtremeNumberTests.sending)
        var taken = 0
        let rows = state["tables"]?[table] ?? []
        for (place, path) in JSONPlaces.paths(in: rows, where: { $0.stringValue != nil }).enumerated() {
            for (index, text) in Self.all.enumerated() where ExtremeNumbers.isWhole || (index + place) % 12 == 0 {
                var changed = state
                changed["tables"]?[table] = JSONPlaces.replace(path, in: rows, with: .string(text))
                let what = "\(table) \(path.joined(separator: "/")) = \(text.debugDescription.prefix(40))"
                let answer = try await StoreRoutesTests.Client(test).ask(.put, "/control/v1/state", changed.text())
                guard answer.status == 200 else {
                    #expect((400..<500).contains(answer.status), "\(what): \(answer)")
                    continue
                }
                taken += 1
                guard taken % 8 == 1 || ExtremeNumbers.isWhole else { continue }
                await test.store.close()
                test = try await TestStore.open(in: folder, change: ExtremeNumberTests.sending)
                try await ExtremeNumberTests.exercise(StoreRoutesTests.Client(test), what)
            }
        }
        await test.store.close()
    }
}
