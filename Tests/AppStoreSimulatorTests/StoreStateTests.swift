import Foundation
import Primitives
import SQLStorage
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Settings, injected faults, the speed of time, and the export and import of the state.
struct StoreStateTests {
    private func value(_ setting: StoreSetting, in store: SimulatedAppStore) throws -> JSONValue? {
        try store.settings().first { $0.name == setting.name }?.value
    }

    // MARK: - Settings

    @Test func `every setting accepts its current value`() async throws {
        try await TestStore.with { test in
            let settings = try test.store.settings()
            #expect(settings.map(\.name) == StoreSetting.all.map(\.name))
            for (setting, value) in zip(StoreSetting.all, settings) {
                #expect(try setting.value(of: value.value) == value.value, "\(setting.name)")
            }
        }
    }

    @Test func `settings are kept, also when the store is opened again`() async throws {
        let folder = try ScratchFolder()
        let wanted: [(StoreSetting, JSONValue)] = [
            (.gracePeriod, "16d"), (.askToBuy, true), (.interruptedPurchases, true), (.renewalsFail, true),
            (.storefront, "DEU"), (.errors(.purchase), "networkError"), (.latency(.finish), 0.5),
        ]
        try await TestStore.with(in: folder) { test in
            for (setting, value) in wanted {
                let kept = try await test.store.set(setting, to: value)
                #expect(kept.value == value && kept.name == setting.name)
            }
        }
        try await TestStore.with(in: folder) { test in
            for (setting, value) in wanted { #expect(try self.value(setting, in: test.store) == value) }
            #expect(test.store.faults.withLock { $0.answer(to: .purchase).failure?.code } == .unreachable)
            try await test.store.set(.gracePeriod, to: "off")
            #expect(try value(.gracePeriod, in: test.store) == "off")
        }
    }

    @Test(
        arguments: [
            ("gracePeriod", "17d", nil), ("gracePeriod", true, nil), ("gracePeriod", "28d", "28d"),
            ("askToBuy", "on", true), ("askToBuy", "false", false), ("askToBuy", 1, nil), ("askToBuy", "maybe", nil),
            ("storefront", "DEU", "DEU"), ("storefront", "XXX", nil), ("timeRate", "30s", "30s"),
            ("timeRate", "x", nil),
            ("latency.purchase", "0.25", 0.25), ("latency.purchase", 61, nil), ("latency.purchase", -1, nil),
            ("latency.purchase", "0x10", nil), ("errors.purchase", "invalidQuantity", "invalidQuantity"),
            ("errors.loadProducts", "invalidQuantity", nil), ("errors.loadProducts", "systemError", "systemError"),
            ("errors.purchase", "off", "off"), ("errors.purchase", "networkerror", nil),
        ] as [(String, JSONValue, JSONValue?)])
    func `a setting accepts only valid values`(name: String, given: JSONValue, kept: JSONValue?) throws {
        let setting = try #require(StoreSetting.named(name))
        guard let kept else {
            let error = #expect(throws: SimulatorError.self) { try setting.value(of: given) }
            #expect(error?.code == .invalidValue && error?.reason.contains(name) == true)
            return
        }
        #expect(try setting.value(of: given) == kept)
    }

    @Test func `a new store begins with the settings of its catalogue`() async throws {
        let catalogue = try Fixtures.catalogue().changingSettings {
            $0.asksToBuy = true
            $0.allowsGracePeriod = true
            $0.failsRenewals = true
            $0.failsTransactions = true
        }
        let folder = try ScratchFolder()
        try await TestStore.with(in: folder, change: { $0.catalogue = catalogue }) { test in
            #expect(try value(.askToBuy, in: test.store) == true)
            #expect(try value(.gracePeriod, in: test.store) == "16d")
            #expect(try value(.renewalsFail, in: test.store) == true)
            #expect(try value(.errors(.purchase), in: test.store) == "unknown")
            try await test.store.set(.askToBuy, to: false)
        }
        try await TestStore.with(in: folder, change: { $0.catalogue = catalogue }) { test in
            let kept = try value(.askToBuy, in: test.store)
            #expect(kept == false)
        }
    }

    @Test func `the setting renewalsFail makes the payments of later renewals fail`() async throws {
        try await TestStore.with { test in
            try await test.buy("weekly")
            try await test.advance(.days(8))
            try await test.store.set(.renewalsFail, to: true)
            try await test.advance(.weeks(2))
            let all = try await test.store.transactions(of: "anna")
            #expect(all.map(\.state) == ["expired", "expired"])
            try await test.store.set(.renewalsFail, to: false)
            try await test.advance(.days(1))
            #expect(try await test.store.transactions(of: "anna").count == 3)
        }
    }

    // MARK: - Injected faults

    @Test func `each injected error has a code, and a reason that names its setting`() {
        for api in InjectedFaults.API.allCases {
            for kind in api.errors {
                let faults = InjectedFaults([StoreSetting.errors(api).name: .string(kind.rawValue)])
                let failure = faults.answer(to: api).failure
                #expect(failure?.reason.contains("errors.\(api.rawValue)") == true)
                #expect((failure?.code == .unknown) == (kind == .unknown), "\(kind)")
                for other in InjectedFaults.API.allCases where other != api {
                    #expect(faults.answer(to: other) == InjectedFaults.Answer())
                }
            }
        }
        let odd = InjectedFaults(["errors.purchase": "off", "latency.finish": 7200, "latency.purchase": -3, "more": 1])
        #expect(odd.answer(to: .purchase) == InjectedFaults.Answer())
        #expect(odd.answer(to: .finish).delay == StoreSetting.longestLatency)
    }

    @Test func `injected faults reach a device, in process and over HTTP, but not the tester`() async throws {
        try await TestStore.with { test in
            let client = StoreRoutesTests.Client(test)
            let path = try await client.signIn()
            let connection = try await test.store.connection(account: "anna")
            for api: InjectedFaults.API in [.loadProducts, .purchase, .appStoreSync, .finish, .device, .updates] {
                try await test.store.set(.errors(api), to: "networkError")
            }
            let payment = Payment(id: "p", productID: "pack")
            for ask: () async throws -> Void in [
                { _ = try await connection.products(["pack"]) }, { try await connection.add(payment) },
                { _ = try await connection.restore() }, { try await connection.finish("1") },
                { _ = try await connection.storefront() }, { _ = try await connection.canMakePayments() },
            ] {
                let failure = await #expect(throws: StoreFailure.self) { try await ask() }
                #expect(failure?.code == .unreachable)
            }
            for (method, part, body) in [
                ("GET", "/products", ""), ("POST", "/payments", #"{"id":"q","productID":"pack"}"#),
                ("POST", "/restore", ""), ("POST", "/transactions/1/finish", ""), ("GET", "", ""),
                ("GET", "/updates", ""),
            ] {
                let answer = try await client.ask(.init(method), path + part, body)
                #expect(answer.status == 422 && answer.json["code"] == "unreachable", "\(part)")
            }
            try await test.buy("pack")
            #expect(try await test.store.transactions(of: "anna").count == 1)
            for api in InjectedFaults.API.allCases { try await test.store.set(.errors(api), to: "off") }
            #expect(try await connection.products(["pack"]).products.count == 1)
            await connection.close()
        }
    }

    @Test func `a delayed answer comes after its latency`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            try await test.store.set(.latency(.loadProducts), to: 5)
            async let answer = test.store.products(["pack"], for: device)
            await test.base.waiters(until: test.base.now().addingTimeInterval(5))
            test.base.advance(by: 5)
            #expect(try await answer.products.count == 1)

            async let cut = test.store.products(["pack"], for: device)
            await test.base.waiters(atLeast: 1)
            test.store.endWaiting()
            #expect(try await cut.products.count == 1)
        }
    }

    // MARK: - Time

    @Test func `time continues at the new speed from the present time`() async throws {
        try await TestStore.with { test in
            let before = await test.store.clockState()
            let running = try await test.store.set(.timeRate, to: "30s")
            #expect(running.value == "30s")
            #expect(try value(.timeRate, in: test.store) == "30s")
            let state = await test.store.clockState()
            #expect(state.now == before.now && state.revision == before.revision + 1 && state.rate == 86400)
            test.base.advance(by: 1)
            #expect(await test.store.clockState().now == before.now.addingTimeInterval(86400))
            try await test.store.setTimeRate(.frozen)
            let frozen = await test.store.clockState()
            test.base.advance(by: 100)
            #expect(await test.store.clockState() == frozen)
            try await test.store.setTimeRate(.frozen)
            #expect(await test.store.clockState().revision == frozen.revision)
        }
    }

    @Test func `an advance beyond the year 8999 is refused, and the clock keeps its time`() async throws {
        try await TestStore.with(change: { $0.start = Fixtures.date("8900-01-01T00:00:00Z") }) { test in
            try await test.advance(.years(99))
            let error = await #expect(throws: SimulatorError.self) { try await test.advance(.years(9)) }
            #expect(error?.code == .invalidValue)
            #expect(await test.store.clockState().now == Fixtures.date("8999-01-01T00:00:00Z"))
        }
    }

    @Test func `an advance passes at most 200 years of the calendar`() async throws {
        try await TestStore.with { test in
            try await test.buy("weekly")
            try await test.advance(.years(200))
            #expect(await test.store.clockState().now == Fixtures.date("2226-01-31T10:00:00Z"))
            let states = try test.store.read({ try $0.existingAccount("anna" as AccountName) }) { db, account, now in
                try db.states(of: account.id, at: now)
            }
            #expect(states.map(\.count) == [10_436])
            for tooLong in [SubscriptionPeriod.years(201), .months(2401)] {
                let error = await #expect(throws: SimulatorError.self) { try await test.advance(tooLong) }
                #expect(error?.code == .invalidValue)
            }
        }
    }

    @Test func `a running clock stops at the start of the year 9000`() async throws {
        try await TestStore.with(rate: try #require(TimeRate("2s"))) { test in
            let device = try await test.device()
            test.base.advance(by: 4 * 86400)
            #expect(await test.store.clockState().now == Fixtures.date("9000-01-01T00:00:00Z"))
            let bought = try await test.buy("pack")
            #expect(try await test.store.updates(for: device, after: nil).updates.count == 1)
            #expect(bought.purchaseDate.map { $0 >= Fixtures.date("9000-01-01T00:00:00Z") } == true)
        }
    }

    @Test func `concurrent changes of settings all take effect`() async throws {
        try await TestStore.with { test in
            for value in ["systemError", "off", "unknown"] as [JSONValue] {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for api in InjectedFaults.API.allCases {
                        group.addTask { _ = try await test.store.set(.errors(api), to: value) }
                    }
                    try await group.waitForAll()
                }
                for api in InjectedFaults.API.allCases {
                    let failure = test.store.faults.withLock { $0.answer(to: api).failure }
                    #expect((failure == nil) == (value == "off"), "\(api)")
                }
            }
        }
    }

    // MARK: - Export and import

    @Test func `a state is unchanged after an import into another store, and after a further export and import`()
        async throws
    {
        var state: JSONValue = nil
        var described: [String] = []
        var device: DeviceID = "none"
        try await TestStore.with { test in
            device = try await test.device()
            try await test.buy("monthly")
            try await test.buy("coins", quantity: 3)
            try await test.advance(.months(3))
            try await test.store.add(Payment(id: "p", productID: "nothing"), from: device)
            try await test.store.set(.gracePeriod, to: "3d")
            try await test.store.set(.errors(.finish), to: "systemError")
            state = try await test.store.exportState()
            described = try await Self.describe(test.store)
        }
        try await TestStore.with(seed: 9) { test in
            try await test.buy("pack", "someone else")
            try await test.advance(.years(5))
            let revision = await test.store.clockState().revision
            try await test.store.importState(state)
            #expect(try await Self.describe(test.store) == described)
            #expect(await test.store.clockState().revision > revision)
            #expect(test.store.faults.withLock { $0.answer(to: .finish).failure?.code } == .systemError)
            #expect(try test.store.device(device).account == "anna")
            #expect(try await test.payloads().count == 5)
            try await test.advance(.months(1))
            try await test.buy("pack")
            #expect(try await test.store.transactions(of: "anna").count == 7)
            var again = try await test.store.exportState()
            try await test.store.importState(again)
            let twice = try await test.store.exportState()
            for key in ["now", "schema", "bundleID"] { #expect(twice[key] == again[key]) }
            again["tables"]?["store"] = nil
            #expect(again["tables"]?["account"] == twice["tables"]?["account"])
            #expect(again["tables"]?["run"] == twice["tables"]?["run"])
        }
    }

    private static func describe(_ store: SimulatedAppStore) async throws -> [String] {
        let transactions = try await store.transactions(of: "anna")
        return try transactions.map { "\($0.transactionID) \($0.productID) \($0.state)" }
            + store.settings().map { "\($0.name) \($0.value)" } + ["\(await store.clockState().now)"]
    }

    @Test func `an invalid state, or one of another app, is refused and changes nothing`() async throws {
        try await TestStore.with { test in
            try await test.buy("pack")
            let good = try await test.store.exportState()
            func changed(_ change: (inout JSONValue) -> Void) -> JSONValue {
                var copy = good
                change(&copy)
                return copy
            }
            let account = good["tables"]?["account"]?[0] ?? nil
            var strange = account
            strange["colour"] = "red"
            var torn = account
            torn["id"] = 77
            var wrong = account
            wrong["last_at"] = "yesterday"
            var deep = account
            deep["name"] = ["a": 1]
            var unknownCondition: JSONValue = good
            unknownCondition["tables"]?["condition"] = [["at": 1, "name": "weather", "value": "1"]]
            let cases: [(JSONValue, SimulatorError.Code)] = [
                ([], .invalidValue), ([:], .invalidValue), (changed { $0["format"] = "other" }, .invalidValue),
                (changed { $0["schema"] = "0000" }, .invalidValue), (changed { $0["now"] = "noon" }, .invalidValue),
                (changed { $0["bundleID"] = "com.example.other" }, .otherBundle),
                (changed { $0["tables"] = [:] }, .invalidValue),
                (changed { $0["tables"]?["sqlite_master"] = [] }, .invalidValue),
                (changed { $0["tables"]?["account"] = 7 }, .invalidValue),
                (changed { $0["tables"]?["account"] = [7] }, .invalidValue),
                (changed { $0["tables"]?["account"] = [strange] }, .invalidValue),
                (changed { $0["tables"]?["account"] = [torn] }, .invalidValue),
                (changed { $0["tables"]?["account"] = [wrong] }, .invalidValue),
                (changed { $0["tables"]?["account"] = [deep] }, .invalidValue),
                (changed { $0["tables"]?["store"] = [[:]] }, .invalidValue), (unknownCondition, .invalidValue),
            ]
            for (state, code) in cases {
                let error = await #expect(throws: SimulatorError.self, "\(state)") {
                    try await test.store.importState(state)
                }
                #expect(error?.code == code, "\(String(describing: error))")
            }
            #expect(try await test.store.exportState()["tables"] == good["tables"])
            #expect(try await test.store.transactions(of: "anna").count == 1)
        }
    }
    @Test(
        arguments: [
            ("run", "", 0), ("run", "count", 2_000_000), ("run", "count", 0), ("run", "offset", -1),
            ("run", "anchor", .max), ("account", "last_at", .max), ("account", "created_at", .min),
            ("store", "next_sale", .max), ("store", "next_sale", -1), ("store", "clock_reading", .max),
            ("condition", "at", .max),
        ] as [(String, String, Int64)])
    func `a state with invalid numbers is refused and changes nothing`(
        table: String, column: String, number: Int64
    ) async throws {
        try await TestStore.with { test in
            try await test.buy("monthly")
            try await test.store.set(.renewalsFail, to: true)
            let good = try await test.store.exportState()
            var bad = good
            if column.isEmpty {
                bad["tables"]?[table] = []
            } else {
                var row = good["tables"]?[table]?[0] ?? nil
                row[column] = .number(number)
                bad["tables"]?[table] = [row]
            }
            let refused = bad
            let error = await #expect(throws: SimulatorError.self) { try await test.store.importState(refused) }
            #expect(error?.code == .invalidValue)
            #expect(try await test.store.exportState() == good)
            try await test.advance(.months(1))
            #expect(try await test.store.subscriptions(of: "anna").count == 1)
        }
    }

    @Test
    func
        `after an import of an earlier state, a device whose cursor is later than this state receives every new update`()
        async throws
    {
        try await TestStore.with { test in
            let device = try await test.device()
            let early = try await test.store.exportState()
            try await test.advance(.years(1))
            let cursor = try await test.store.updates(for: device, after: nil).cursor
            try await test.store.importState(early)
            let bought = try await test.buy("pack")
            let heard = try await test.store.updates(for: device, after: cursor)
            #expect(heard.updates.map(\.transaction?.id) == [bought.transactionID])
        }
    }
}
