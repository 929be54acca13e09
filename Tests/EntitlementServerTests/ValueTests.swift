import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// The units of a purchase are spent once, whichever customers have had it.
@Suite(.onBothEngines) struct ValueTests {
    private func bench(
        _ mode: TransferMode, after before: ServerBench? = nil, rate: Int = 10
    ) async throws -> ServerBench {
        try await ServerBench(folder: before?.folder, keys: before?.keys ?? [:]) {
            $0.apps[0].transferMode = mode
            $0.apps[0].credits = CreditTable(
                credits: ["coins": .init(products: ["coins.100": rate], prices: ["print": 1, "poster": 4])])
        }
    }

    private func prints(_ count: Int) -> [(String, String)] { (0..<count).map { ("print-\($0)", "print") } }

    @Test(arguments: TransferMode.allCases)
    func `ten customers that present one purchase of ten prints redeem ten prints in all`(mode: TransferMode)
        async throws
    {
        let bench = try await bench(mode)
        let signed = try bench.coins("1")
        var redeemed = 0
        for number in 0..<10 {
            let customer = "customer-\(number)"
            _ = try await bench.post(signed, for: customer)
            if try await bench.redeem(prints(10), for: customer).status == 200 { redeemed += 10 }
            let balance = try await bench.credit(for: customer).json["balance"]?.intValue
            #expect(balance == 0)
        }
        #expect(redeemed == 10)
        let first = try await bench.credit(for: "customer-0").json
        #expect(first["balance"]?.intValue == 0)
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test(arguments: TransferMode.allCases)
    func `an erased customer's purchase does not give spent units again`(mode: TransferMode) async throws {
        let bench = try await bench(mode)
        let signed = try bench.coins("1")
        _ = try await bench.post(signed)
        #expect(try await bench.redeem(prints(7)).status == 200)
        _ = try await bench.send(.delete, "/v1/customers/anna", as: .secret)
        for customer in ["anna", "ben"] {
            _ = try await bench.post(signed, for: customer)
            #expect(try await bench.redeem(prints(4), for: customer).code == "insufficient_credit")
        }
        let holder = mode == .keepWithOriginal ? "anna" : "ben"
        #expect(try await bench.redeem(prints(3), for: holder).status == 200)
        #expect(try await bench.credit(for: holder).json["balance"]?.intValue == 0)
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `spent units move with a transfer`() async throws {
        let bench = try await bench(.keepWithOriginal)
        _ = try await bench.post([bench.coins("1"), bench.coins("2")])
        _ = try await bench.redeem(prints(4))
        _ = try await bench.transfer("1", to: "ben")
        let (anna, ben) = (try await bench.credit().json, try await bench.credit(for: "ben").json)
        #expect(anna["balance"]?.intValue == 10 && anna["earned"]?.intValue == 10 && anna["spent"]?.intValue == 0)
        #expect(ben["balance"]?.intValue == 6 && ben["earned"]?.intValue == 10 && ben["spent"]?.intValue == 4)
        await bench.close()
    }

    @Test func `an item that both customers of a merge redeemed stays paid twice`() async throws {
        let bench = try await bench(.transfer)
        _ = try await bench.post(bench.coins("1"), for: "anna")
        _ = try await bench.post(bench.coins("2"), for: "anonymous-1")
        for customer in ["anna", "anonymous-1"] {
            #expect(try await bench.redeem(prints(6), for: customer).status == 200)
        }
        _ = try await bench.alias("anonymous-1")
        #expect(try await bench.credit().json["balance"]?.intValue == 8)
        #expect(try bench.count("redemption") == 6 && bench.count("spending") == 12)
        #expect(try await bench.redeem(prints(6)).json["balance"]?.intValue == 8)
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test(arguments: [TransferMode.transfer, .share])
    func `a refund reduces the credit of the customer who spent the units, even if another customer has the purchase`(
        mode: TransferMode
    ) async throws {
        let bench = try await bench(mode)
        _ = try await bench.post(bench.coins("1"))
        _ = try await bench.redeem(prints(10))
        _ = try await bench.post([bench.coins("1"), bench.coins("2")], for: "ben")
        bench.clock.advance(by: 1)
        _ = try await bench.post(bench.coins("1", revoked: true), for: "ben")
        #expect(try await bench.credit().json["balance"]?.intValue == -10)
        #expect(try await bench.credit(for: "ben").json["balance"]?.intValue == 10)
        _ = try await bench.post([bench.coins("3"), bench.coins("4")])
        #expect(try await bench.redeem(prints(11).suffix(1)).json["balance"]?.intValue == 9)
        #expect(try await bench.redeem((20..<30).map { ("print-\($0)", "print") }).code == "insufficient_credit")
        #expect(try await bench.redeem(prints(10), for: "ben").json["balance"]?.intValue == 0)
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `a merge moves the debt of a refund`() async throws {
        let bench = try await bench(.transfer)
        _ = try await bench.post(bench.coins("1"), for: "anonymous-1")
        _ = try await bench.redeem(prints(6), for: "anonymous-1")
        _ = try await bench.post([bench.coins("1"), bench.coins("2")], for: "ben")
        bench.clock.advance(by: 1)
        _ = try await bench.post(bench.coins("1", revoked: true), for: "ben")
        _ = try await bench.alias("anonymous-1", to: "anna")
        #expect(try await bench.credit().json["balance"]?.intValue == -6)
        #expect(try await bench.credit(for: "ben").json["balance"]?.intValue == 10)
        await bench.close()
    }

    @Test func `an item that was redeemed keeps its type`() async throws {
        let bench = try await bench(.transfer)
        _ = try await bench.post(bench.coins("1"))
        _ = try await bench.redeem([("a", "print")])
        let again = try await bench.redeem([("a", "poster"), ("b", "print"), ("b", "poster")]).json
        let items = try #require(again["items"]?.arrayValue)
        #expect(items.map { $0["type"]?.stringValue } == ["print", "print", "print"])
        #expect(items.map { $0["cost"]?.intValue } == [0, 1, 0])
        await bench.close()
    }

    @Test func `a credit table that gives fewer units makes no debt`() async throws {
        let rich = try await bench(.transfer)
        _ = try await rich.post(rich.coins("1"))
        _ = try await rich.redeem(prints(10))
        await rich.close()
        let poor = try await bench(.transfer, after: rich, rate: 5)
        #expect(try await poor.credit().json["balance"]?.intValue == 0)
        #expect(try poor.replay().differences == [])
        await poor.close()
    }

    // MARK: - Older ledgers

    /// Writes a redemption that is older than the table `spending`, as it is after the migration.
    private func insertOldRedemption(_ item: String, cost: Int, for customer: String, at: Int, in bench: ServerBench)
        async throws
    {
        try await bench.database.write { connection in
            try connection.execute(
                """
                INSERT INTO redemption (app, environment, customer, credit, item, type, cost, debt, is_assigned, redeemed_at)
                VALUES (?1, 'sandbox', ?2, 'coins', ?3, 'print', ?4, ?4, 0, ?5)
                """,
                [
                    .text(ServerBench.app.rawValue), .text(customer), .text(item), .integer(Int64(cost)),
                    .integer(Int64(at)),
                ])
        }
    }

    @Test func `old redemptions are assigned to purchases, oldest first, and the rest is a debt`() async throws {
        let old = try await bench(.transfer)
        _ = try await old.post(old.coins("1"), for: "anna")
        _ = try await old.post(old.coins("1"), for: "ben")
        old.clock.advance(by: 1)
        _ = try await old.post(old.coins("2"), for: "ben")
        try await old.database.write { connection in
            try connection.execute(
                """
                INSERT INTO claim (sequence, app, environment, original_transaction_id, customer, kind, claimed_at)
                VALUES (0, ?1, 'sandbox', '1', 'anna', 'presented', 0)
                """, [.text(ServerBench.app.rawValue)])
        }
        try await insertOldRedemption("a", cost: 8, for: "anna", at: 1, in: old)
        try await insertOldRedemption("b", cost: 9, for: "ben", at: 2, in: old)
        try await insertOldRedemption("c", cost: 9, for: "ben", at: 3, in: old)
        await old.close()

        for _ in 0..<2 {
            let bench = try await bench(.transfer, after: old)
            // 26 of 20 coins were spent: anna's 8 and 2 of ben's from the first purchase, 10 of ben's from the second.
            #expect(try await bench.credit().json["balance"]?.intValue == 0)
            #expect(try await bench.credit(for: "ben").json["balance"]?.intValue == -6)
            let report = try bench.replay()
            #expect(report.differences == [] && report.debtCount == 1)
            #expect(report.debts.map(\.customer) == ["ben"] && report.debts.map(\.amount) == [6])
            await bench.close()
        }
    }

    @Test(.onSQLite) func `an older ledger keeps its redemptions`() async throws {
        let folder = try ServerBench.Folder()
        let database = try SQLiteDatabase(path: folder.databasePath)
        let index = try #require(Schema.migrations(for: .sqlite).firstIndex { $0.name == Schema.spending.name })
        try database.migrate(Array(Schema.migrations(for: .sqlite).prefix(index)))
        try await database.write { connection in
            try connection.execute(
                "INSERT INTO app (bundle_id, rules_digest, created_at) VALUES (?1, x'', 0)",
                [.text(ServerBench.app.rawValue)])
            for (item, cost) in [("b", 2), ("a", 1), ("free", 0)] {
                try connection.execute(
                    """
                    INSERT INTO redemption (app, environment, customer, credit, item, type, cost, redeemed_at)
                    VALUES (?1, 'sandbox', 'anna', 'coins', ?2, 'print', ?3, ?3)
                    """, [.text(ServerBench.app.rawValue), .text(item), .integer(Int64(cost))])
            }
        }
        await database.close()
        let bench = try await ServerBench(folder: folder) { $0.apps[0].credits = CreditTests.table }
        let rows = try bench.database.read { connection in
            try connection.query("SELECT item, cost, debt, is_assigned FROM redemption ORDER BY sequence").map {
                "\(try $0["item"] as String) \(try $0["cost"] as Int64) \(try $0["debt"] as Int64) \(try $0["is_assigned"] as Int64)"
            }
        }
        #expect(rows == ["free 0 0 1", "a 1 1 1", "b 2 2 1"])
        _ = try await bench.post(bench.coins("1"))
        #expect(try await bench.credit().json["balance"]?.intValue == 97)
        await bench.close()
    }

    @Test(arguments: [
        ("UPDATE spending SET amount = amount + 1", "purchase 1"), ("DELETE FROM spending", "redemption 1"),
        ("UPDATE redemption SET cost = 99", "redemption 1"), ("UPDATE redemption SET debt = -1", "redemption 1"),
        ("UPDATE spending SET original_transaction_id = '7'", "redemption 1"),
        ("UPDATE redemption SET debt = 9223372036854775807", "redemption 1"),
    ])
    func `replay finds edited spending`(statement: String, subject: String) async throws {
        let bench = try await bench(.transfer)
        _ = try await bench.post(bench.coins("1"))
        _ = try await bench.redeem([("a", "poster"), ("b", "poster"), ("c", "print"), ("d", "print")])
        #expect(try bench.replay().differences == [])
        try await bench.database.write { _ = try $0.execute(statement) }
        let report = try bench.replay()
        #expect(report.differences.contains { $0.subject == subject }, "\(report.differences)")
        await bench.close()
    }

    // MARK: - Random histories

    /// `SOUK_VALUES` is the number of histories, `SOUK_VALUE_STEPS` the length of each.
    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    @Test(arguments: 0..<(number("SOUK_VALUES") ?? 8))
    func `in random histories no purchase pays for more than it gave`(seed: Int) async throws {
        var life = try await ValueLife(seed: UInt64(seed), bench: bench(.transfer))
        for _ in 0..<(Self.number("SOUK_VALUE_STEPS") ?? 40) {
            if Int.random(in: 0..<12, using: &life.numbers) == 0 {
                await life.bench.close()
                let mode = TransferMode.allCases.randomElement(using: &life.numbers) ?? .share
                life.moved(to: try await bench(mode, after: life.bench))
            } else {
                try await life.step()
            }
            let fault = try await life.fault()
            #expect(fault == nil, "life \(seed): \(fault ?? "") after \(life.log.joined(separator: ", "))")
            if fault != nil { break }
        }
        let report = try life.bench.replay()
        #expect(report.differences == [] && report.debtCount == 0, "life \(seed)")
        await life.bench.close()
    }
}

/// Random actions of a few customers with a few purchases: present, transfer, merge, erase, refund, give and redeem.
private struct ValueLife {
    private static let names = (0..<5).map { "customer-\($0)" }

    var numbers: SeededNumbers
    private(set) var bench: ServerBench
    private(set) var log: [String] = []
    private var seconds = 0.0
    /// The quantity of each purchase.
    private let quantities: [Int]
    private var refunded: Set<Int> = []
    /// The total cost of acknowledged redemptions.
    private var acknowledged = 0
    /// The total credit that operators gave.
    private var given = 0

    init(seed: UInt64, bench: ServerBench) {
        var numbers = SeededNumbers(state: seed)
        quantities = (0..<4).map { _ in Int.random(in: 1...2, using: &numbers) }
        self.numbers = numbers
        self.bench = bench
    }

    mutating func moved(to bench: ServerBench) {
        self.bench = bench
        bench.clock.advance(by: seconds)
        log.append("restart")
    }

    private mutating func someone() -> String { Self.names.randomElement(using: &numbers) ?? "" }

    private func sign(_ purchase: Int) throws -> String {
        try bench.purchase("\(purchase)", product: "coins.100", type: .consumable) {
            $0.quantity = quantities[purchase]
            $0.purchaseDate = ManualClock().now()
            $0.originalPurchaseDate = ManualClock().now()
            if refunded.contains(purchase) { $0.revocationDate = bench.clock.now() }
        }
    }

    mutating func step() async throws {
        bench.clock.advance(by: 1)
        seconds += 1
        let (customer, other) = (someone(), someone())
        let purchase = Int.random(in: quantities.indices, using: &numbers)
        switch Int.random(in: 0..<16, using: &numbers) {
        case 0...4:
            log.append("\(customer) presents \(purchase)")
            _ = try await bench.post(try sign(purchase), for: customer)
        case 5:
            log.append("\(purchase) moves from \(customer) to \(other)")
            _ = try await bench.transfer("\(purchase)", from: customer, to: other)
        case 6:
            log.append("\(customer) is erased")
            _ = try await bench.send(.delete, "/v1/customers/\(customer)", as: .secret)
        case 7:
            log.append("\(other) becomes \(customer)")
            _ = try await bench.alias(other, to: customer)
        case 8:
            refunded.formSymmetricDifference([purchase])
            log.append("\(purchase) is \(refunded.contains(purchase) ? "refunded" : "no longer refunded")")
            _ = try await bench.post(try sign(purchase), for: customer)
        case 9...10:
            let amount = Int.random(in: 1...5, using: &numbers)
            log.append("\(customer) gets \(amount)")
            let headers: HTTPHeaders = ["Idempotency-Key": "give-\(log.count)"]
            let reply = try await bench.give(amount, to: customer, headers: headers)
            if reply.status == 201 { given += amount }
            #expect(try await bench.give(amount, to: customer, headers: headers).bytes == reply.bytes)
        default: try await redeem(for: customer)
        }
    }

    private mutating func redeem(for customer: String) async throws {
        var items: [(String, String)] = []
        for _ in 0..<Int.random(in: 1...6, using: &numbers) {
            items.append(
                ("item-\(Int.random(in: 0..<20, using: &numbers))", Bool.random(using: &numbers) ? "print" : "poster"))
        }
        let headers: HTTPHeaders = ["Idempotency-Key": "\(log.count)"]
        let reply = try await bench.redeem(items, for: customer, headers: headers)
        let cost = reply.json["items"]?.arrayValue?.reduce(0) { $0 + ($1["cost"]?.intValue ?? 0) } ?? 0
        log.append("\(customer) redeems \(items.count) for \(cost)")
        if reply.status == 200 { acknowledged += cost }
        #expect(try await bench.redeem(items, for: customer, headers: headers).bytes == reply.bytes)
    }

    /// Returns a sentence about a violated rule, if any.
    func fault() async throws -> String? {
        let spent = try bench.database.read { connection in
            try connection.query(
                "SELECT original_transaction_id AS id, CAST(SUM(amount) AS BIGINT) AS spent FROM spending GROUP BY id ORDER BY id"
            ).map { (Int(try $0["id"] as String) ?? -1, try $0["spent"] as Int) }
        }
        for (purchase, spent) in spent where spent > 10 * quantities[purchase] {
            return "purchase \(purchase) gave \(10 * quantities[purchase]) units, but \(spent) were spent"
        }
        let granted = try number("amount", in: "granted_credit")
        guard granted == given else { return "operators gave \(given) units, but the ledger has \(granted)" }
        let paidByGrants = try number("granted", in: "redemption")
        let sum = spent.reduce(paidByGrants) { $0 + $1.1 }
        guard sum == acknowledged else { return "redemptions cost \(acknowledged) units, but \(sum) were paid" }
        let revoked = try await revoked()
        for customer in Self.names {
            let balance = try await bench.credit(for: customer).json["balance"]?.intValue ?? 0
            let answer = try await bench.get(customer).customer()
            let held = Set(answer.purchases.map(\.originalTransactionID.rawValue))
            let gave = answer.purchases.filter { $0.revokedAt == nil }.reduce(0) { $0 + 10 * $1.quantity }
            let used = spent.filter { held.contains("\($0.0)") && !revoked.contains($0.0) }.reduce(0) { $0 + $1.1 }
            let owed = try spending(of: answer.customer).filter { revoked.contains($0.0) }.reduce(0) { $0 + $1.1 }
            let (own, paid) = (
                try number("amount", in: "granted_credit", of: answer.customer),
                try number("granted", in: "redemption", of: answer.customer)
            )
            guard paid <= own else { return "\(customer) got \(own) from operators, and spent \(paid)" }
            guard balance == gave - used - owed + own - paid else {
                return """
                    \(customer) has a balance of \(balance), but got \(gave), used \(used), owes \(owed), and has \
                    \(own - paid) from operators
                    """
            }
        }
        return nil
    }

    /// Returns the sum of a column, of all rows or of one customer.
    private func number(_ column: String, in table: String, of customer: CustomerID? = nil) throws -> Int {
        let condition = customer == nil ? "?1 = ?1" : "customer = ?1"
        return try bench.database.read { connection in
            try connection.first(
                "SELECT CAST(COALESCE(SUM(\(column)), 0) AS BIGINT) AS sum FROM \(table) WHERE \(condition)",
                [.text(customer?.rawValue ?? "")])?["sum"] ?? 0
        }
    }

    /// Returns the units that a customer's redemptions took from each purchase.
    private func spending(of customer: CustomerID) throws -> [(Int, Int)] {
        try bench.database.read { connection in
            try connection.query(
                """
                SELECT original_transaction_id AS id, CAST(SUM(amount) AS BIGINT) AS spent FROM spending
                JOIN redemption ON redemption.sequence = spending.redemption WHERE redemption.customer = ?1 GROUP BY id
                """, [.text(customer.rawValue)]
            ).map { (Int(try $0["id"] as String) ?? -1, try $0["spent"] as Int) }
        }
    }

    /// Returns the purchases that are refunded in the answers about their customers.
    private func revoked() async throws -> Set<Int> {
        let holders = try bench.database.read { connection in
            try connection.query("SELECT DISTINCT customer FROM holder").map { try $0["customer"] as String }
        }
        var found: Set<Int> = []
        for holder in holders {
            for purchase in try await bench.get(holder).customer().purchases where purchase.revokedAt != nil {
                found.insert(Int(purchase.originalTransactionID.rawValue) ?? -1)
            }
        }
        return found
    }
}
