import Foundation
import Primitives
import StoreModel

@testable import AppStoreSimulator

/// Imported states of a store in two forms, chosen by the first byte of an input: JSON, and changes of a good state, so
/// that mutations reach the code after the parser. A change has 12 bytes: the table, row, column and kind of the
/// change, and a number.
#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
#endif
public func fuzzStates(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Fuzzing.bytes(start, count)
    guard let way = input.first else { return 0 }
    let rest = Array(input.dropFirst())
    guard let state = way % 2 == 0 ? (try? JSONValue(parsing: rest)) : changed(world.good, by: rest) else { return 0 }
    let before = world.export()["tables"]
    switch Fuzzing.wait({ try await world.store.importState(state) }) {
    case .failure(let error):
        Fuzzing.claim(error is SimulatorError, "a refused state throws a SimulatorError: \(error)")
        Fuzzing.claim(world.export()["tables"] == before, "a refused state changes nothing")
    case .success:
        let outcome = Fuzzing.wait { try await world.useStore() }
        Fuzzing.claim(outcome.isWorking, "a store with an accepted state works: \(outcome)")
        let exported = world.export()
        let again = Fuzzing.wait { try await world.store.importState(exported) }
        Fuzzing.claim(again.isWorking, "an exported state can be imported: \(again)")
        Fuzzing.must { try Fuzzing.wait { try await world.store.importState(world.good) }.get() }
    }
    return 0
}

extension Result where Failure == any Error {
    /// Whether the result is a value, or an error that testers see.
    fileprivate var isWorking: Bool {
        if case .failure(let error) = self { return error is SimulatorError }
        return true
    }
}

private let world = World()

/// A store, and the state at the beginning of each input.
private struct World {
    let folder: String
    let store: SimulatedAppStore
    let good: JSONValue

    init() {
        let base = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
        let folder = "\(base)/souk-states-\(getpid())"
        self.folder = folder
        store = Fuzzing.must { try Fuzzing.wait { try await Self.open(in: folder) }.get() }
        let opened = store
        good = Fuzzing.must {
            try Fuzzing.wait {
                try await opened.importState(try await opened.exportState())
                return try await opened.exportState()
            }.get()
        }
        atexit { try? FileManager.default.removeItem(atPath: world.folder) }
    }

    /// Opens a store with a family, a shared subscription, non-consumables and a pending order.
    private static func open(in folder: String) async throws -> SimulatedAppStore {
        let catalogue = """
            {"version": {"major": 4}, "products": [
               {"productID": "coins", "type": "Consumable", "displayPrice": "0.99"},
               {"productID": "pack", "type": "NonConsumable", "displayPrice": "9.99", "familyShareable": true}],
             "subscriptionGroups": [{"id": "plus", "name": "Plus", "subscriptions": [
               {"productID": "monthly", "displayPrice": "4.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 2,
                "familyShareable": true, "introductoryOffer": {"paymentMode": "payAsYouGo", "subscriptionPeriod": "P1M",
                "numberOfPeriods": 3, "displayPrice": "0.99"}},
               {"productID": "weekly", "displayPrice": "1.99", "recurringSubscriptionPeriod": "P1W", "groupNumber": 1}]}]}
            """
        var configuration = SimulatedAppStore.Configuration(
            catalogue: try Catalogue(parsing: Array(catalogue.utf8), file: "fuzz.storekit"), dataDirectory: folder)
        configuration.timeRate = .frozen
        configuration.start = Date(timeIntervalSince1970: 1_700_000_000)
        configuration.seed = 1
        configuration.notificationsURL = "http://nobody.invalid/"
        let store = try await SimulatedAppStore.open(configuration)
        for account: AccountName in ["anna", "ben"] { try await store.createAccount(account) }
        try await store.createFamily("home", organizer: "anna")
        try await store.join("home", "ben")
        _ = try await store.signIn(account: "anna")
        try await store.buy(.init(productID: "monthly"), for: "anna")
        try await store.buy(.init(productID: "pack"), for: "anna")
        let coins = try await store.buy(.init(productID: "coins", quantity: 2), for: "ben")
        try await store.refund(coins.transactionID, .init(percentage: 50))
        try await store.set(.gracePeriod, to: "16d")
        try await store.advance(.init(period: .months(2)))
        try await store.increasePrice(of: "monthly", .init(price: "5.99"))
        try await store.set(.askToBuy, to: true)
        try await store.buy(.init(productID: "weekly"), for: "ben")
        return store
    }

    func export() -> JSONValue {
        Fuzzing.must { try Fuzzing.wait { try await store.exportState() }.get() }
    }

    /// Reads the state, buys, and advances time.
    func useStore() async throws {
        for account in try store.accounts() {
            _ = try await store.subscriptions(of: account)
            _ = try await store.entitlements(of: account)
        }
        _ = try store.settings()
        _ = try store.pendingOrders()
        _ = try store.notifications()
        try await store.advance(.init(period: .months(1)))
        guard let account = try store.accounts().first else { return }
        do { try await store.buy(.init(productID: "coins"), for: account) } catch is StoreFailure {}
    }
}

/// Returns `state` with the changes that `bytes` describe.
private func changed(_ state: JSONValue, by bytes: [UInt8]) -> JSONValue? {
    guard bytes.count >= 12, case .object(var tables)? = state["tables"] else { return nil }
    let names = tables.map(\.key)
    for start in stride(from: 0, through: bytes.count - 12, by: 12) {
        let change = Array(bytes[start..<start + 12])
        let name = names[Int(change[0]) % names.count]
        guard var rows = tables[name]?.arrayValue, !rows.isEmpty else { continue }
        let place = Int(change[1]) % rows.count
        guard case .object(var row) = rows[place] else { continue }
        let column = row.isEmpty ? "id" : row.map(\.key)[Int(change[2]) % row.count]
        let bits = change[4...].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        switch change[3] % 8 {
        case 0: row[column] = .number(Int64(bitPattern: bits))
        case 1: row[column] = .number(Double(bitPattern: bits))
        case 2: row[column] = JSONNumber(text: numbers[Int(bits % UInt64(numbers.count))]).map { .number($0) }
        case 3: row[column] = nil
        case 4: row[column] = .string(texts[Int(bits % UInt64(texts.count))])
        case 5: rows.append(rows[place])
        case 6: row[column] = rows[Int(bits % UInt64(rows.count))][column]
        default: row[column] = .number((row[column]?.intValue ?? 0) &+ Int(Int8(truncatingIfNeeded: bits)))
        }
        rows[place] = .object(row)
        if change[3] % 16 == 15 { rows.remove(at: place) }
        tables[name] = .array(rows)
    }
    var changed = state
    changed["tables"] = .object(tables)
    return changed
}

private let numbers = [
    "9223372036854775807", "-9223372036854775808", "9007199254740992", "-9007199254740992", "1e308", "-1", "0", "1",
    "1000000", "253402300799999999", "221845392000000000", "0.5",
]

private let texts = [
    "", "P1D", "P3Y", "P10000Y", "PT1S", "null", "{}", "[]", "7", #"{"price":9223372036854775807,"currency":"USD"}"#,
    #"{"count":-9223372036854775808,"kind":1,"mode":"PAY_AS_YOU_GO","period":"P1M"}"#, #"[[9223372036854775807,""]]"#,
    "purchased", "weekly", "gracePeriod", "withdrawn weekly", "16d", "anna", "7e3fb20b-4cdb-47cc-936d-99d65f608138",
]

/// The seeds of the search.
func stateSeeds() -> [[UInt8]] {
    let good = world.good
    let rows = (good["tables"]?.objectValue ?? [:]).count
    let changes = (0..<rows).flatMap { table in
        (0..<4).map { column in [1, UInt8(table), 0, UInt8(column), 2, 0, 0, 0, 0, 0, 0, 0, UInt8(column)] as [UInt8] }
    }
    return [[0] + good.encoded(), [1] + [UInt8](repeating: 0, count: 12)] + changes
}

#if FUZZING
    @_cdecl("LLVMFuzzerInitialize")
#endif
public func initializeStates(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
    Fuzzing.plant(stateSeeds())
    return 0
}
