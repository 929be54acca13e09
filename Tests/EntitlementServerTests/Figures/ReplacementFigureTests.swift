import AppStoreSimulator
import BaseTestSupport
import Foundation
import HostTestSupport
import Primitives
import SQLStorage
import SimulatorControl
import StoreModel
import Testing

@testable import EntitlementServer

/// Replacements at the simulated Google Play are one subscription in the figures.
@Suite(.onBothEngines) struct ReplacementFigureTests {
    /// A replacement on day 10, and the movements of the monthly price by day in millionths: at once, and two months later.
    struct Replacement: Sendable {
        let name: String
        var old: (product: ProductID, plan: String) = ("pro.monthly", "monthly")
        var new: (product: ProductID, plan: String) = ("pro.yearly", "yearly")
        var mode: String?
        var isCancelledBefore = false
        let movements: [Int64: Int64]
        let laterMovements: [Int64: Int64]
        /// The payments at once, and two months later.
        let payments: [Int64]
    }

    /// A month costs 4, a prepaid month 5, and a year 40. 21 of the 31 days of the first period are not used.
    static let replacements = [
        Replacement(
            name: "time for the unused value", mode: "WITH_TIME_PRORATION", movements: [10: -602_740],
            laterMovements: [10: -666_667], payments: [1, 2]),
        Replacement(
            name: "without proration", mode: "WITHOUT_PRORATION", movements: [:], laterMovements: [31: -666_667],
            payments: [1, 2]),
        Replacement(
            name: "the full price, and time for the unused value", mode: "CHARGE_FULL_PRICE",
            movements: [10: -660_473], laterMovements: [10: -660_473], payments: [2, 2]),
        Replacement(
            name: "deferred", mode: "DEFERRED", movements: [:], laterMovements: [31: -666_667], payments: [1, 2]),
        Replacement(
            name: "the difference of the prices", new: ("pro.monthly", "prepaid"), mode: "CHARGE_PRORATED_PRICE",
            movements: [10: 985_595], laterMovements: [10: 985_595], payments: [2, 2]),
        Replacement(
            name: "a top-up", old: ("pro.monthly", "prepaid"), new: ("pro.monthly", "prepaid"), movements: [:],
            laterMovements: [:], payments: [2, 2]),
        Replacement(
            name: "a cancelled subscription that is bought again", new: ("pro.monthly", "monthly"),
            isCancelledBefore: true, movements: [:], laterMovements: [:], payments: [2, 3]),
    ]

    @Test(arguments: replacements)
    func `each replacement is one subscription, whose monthly price can change`(_ replacement: Replacement)
        async throws
    {
        try await PlayBench.with { bench, play in
            try await replacement.take(at: bench, play)
            try await bench.bench.expectOneSubscription(
                paying: replacement.payments[0], replacement.movements, replacement.name)
            for _ in 0..<8 {
                try await bench.advance(.init(value: 1, unit: .week))
                try await bench.poll()
            }
            try await bench.bench.expectOneSubscription(
                paying: replacement.payments[1], replacement.laterMovements, "\(replacement.name), later")
        }
    }

    @Test func `a trial that is replaced converts, and a chain of three is one subscription`() async throws {
        try await PlayBench.with { bench, play in
            let trial = try await play.buy("pro.monthly", "monthly") { $0.offerID = "trial" }
            try await bench.post(trial)
            try await bench.acknowledge()
            try await bench.advance(.init(value: 3, unit: .day))
            let paid = try await play.buy("pro.yearly", "yearly") {
                ($0.oldPurchaseToken, $0.replacementMode) = (trial.purchaseToken, "CHARGE_FULL_PRICE")
            }
            try await bench.post(paid)
            try await bench.acknowledge()
            try await bench.bench.addAllFactsToFigures()
            #expect(try bench.bench.total(.conversions) == 1 && bench.bench.total(.trialsStarted) == 1)
            try await bench.advance(.init(value: 1, unit: .month))
            let last = try await play.buy("pro.monthly", "monthly") {
                ($0.oldPurchaseToken, $0.replacementMode) = (paid.purchaseToken, "WITHOUT_PRORATION")
            }
            try await bench.post(last)
            try await bench.bench.expectOneSubscription(paying: 1, nil, "a chain of three")
            #expect(try bench.bench.total(.conversions) == 1 && bench.bench.total(.trialsConverted) == 1)
            #expect(try bench.bench.replayedDifferences(play) == [])
        }
    }

    @Test func `a purchase that Google no longer knows is not linked`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        let start = bench.clock.now()
        try play.set("token-1", .plus(from: start))
        #expect(try await bench.postPlay().status == 200)
        play.state.withLock { $0.purchases["token-1"] = nil }
        bench.clock.advance(by: 40 * 86400)
        try play.set(
            "token-2", .plus(from: bench.clock.now(), order: "GPA.2") { $0.linkedPurchaseToken = "token-1" })
        #expect(try await bench.postPlay("token-2").status == 200)
        try await bench.addAllFactsToFigures()
        #expect(try bench.total(.new) == 2 && bench.total(.lost) == 2)
        #expect(try bench.checkedFigures() == [])
        await bench.close()
    }

    @Test func `later fetches of the replaced purchase keep the link`() async throws {
        let (bench, play) = try await ServerBench.withPlay()
        let start = bench.clock.now()
        try play.set("token-1", .plus(from: start))
        #expect(try await bench.postPlay().status == 200)
        try await bench.addAllFactsToFigures()
        bench.clock.advance(by: 10 * 86400)
        try play.set(
            "token-2", .plus(from: bench.clock.now(), order: "GPA.2") { $0.linkedPurchaseToken = "token-1" })
        #expect(try await bench.postPlay("token-2").status == 200)
        bench.clock.advance(by: 60)
        try play.set("token-1", .plus(from: start) { $0.subscriptionState = .canceled })
        #expect(try await bench.postPlay("token-1").status == 200)
        let (first, second) = (
            PlayFetch.original("token-1", of: FakeGooglePlay.packageName),
            PlayFetch.original("token-2", of: FakeGooglePlay.packageName)
        )
        let states = try await bench.send(.get, "/v1/customers/anna/facts", as: .secret).json["facts"]?.arrayValue
        #expect(states?.count == 8)
        try await bench.addAllFactsToFigures()
        #expect(try bench.total(.new) == 1 && bench.total(.reactivated) == 0)
        #expect(try bench.checkedFigures() == [] && bench.playDifferences() == [])
        let ledgerID = LedgerID(app: ServerBench.app, environment: .sandbox)
        #expect(try bench.service.ledger.playPurchase(first, in: ledgerID)?.purchase.replacedBy == second)
        await bench.close()
    }

    @Test func `a replay accepts summaries without links and without the end of the paid time`() async throws {
        try await PlayBench.with { bench, play in
            try await Self.replacements[0].take(at: bench, play)
            let database = bench.bench.database
            #expect(try bench.bench.replayedDifferences(play) == [])
            let rows = try database.read {
                try $0.query("SELECT sequence, summary FROM fact WHERE kind = 'transaction'")
            }
            var changed = 0
            for row in rows {
                let (sequence, text): (Int64, String) = (try row["sequence"], try row["summary"])
                let summary = try JSONValue(parsing: text)
                var former = summary
                for name in ["replaces", "replacedBy", "paidUntilDate"] { former[name] = nil }
                if former != summary { changed += 1 }
                let values: [SQLValue] = [.text(former.text()), .integer(sequence)]
                try await database.write { try $0.perform("UPDATE fact SET summary = ?1 WHERE sequence = ?2", values) }
            }
            #expect(changed == 2)
            #expect(try bench.bench.replayedDifferences(play) == [])
        }
    }
}

extension ReplacementFigureTests.Replacement {
    /// Buys the old plan, and on day 10 the new one.
    func take(
        at bench: PlayBench, _ play: PlayStore, account: AccountName = "anna"
    ) async throws {
        let sold = try await play.buy(old.product, old.plan, account: account)
        try await bench.post(sold, for: account.rawValue)
        try await bench.acknowledge()
        try await bench.bench.addAllFactsToFigures()
        try await bench.advance(.init(value: 10, unit: .day))
        if isCancelledBefore { _ = try await play.store.perform(.cancel, onPlayPurchase: sold.purchaseToken) }
        let next = try await play.buy(new.product, new.plan, account: account) {
            if let mode { ($0.oldPurchaseToken, $0.replacementMode) = (sold.purchaseToken, mode) }
        }
        try await bench.post(next, for: account.rawValue)
        try await bench.acknowledge()
    }
}

extension ServerBench {
    /// Expects one subscription that was new once and ends once, and that its monthly price is the sum of its movements.
    ///
    /// - Parameter movements: The expected expansions and contractions by the day since 2026-01-01, in millionths;
    ///   `nil` for any.
    fileprivate func expectOneSubscription(
        paying payments: Int64, _ movements: [Int64: Int64]?, _ name: String,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        try await addAllFactsToFigures()
        let first = FigureDay.containing(PlayStore.start)
        #expect(try checkedFigures() == [], "\(name)", sourceLocation: location)
        let totals = try [FigureMeasure.new, .reactivated, .lost, .payments].map { try total($0) }
        #expect(totals == [1, 0, 1, payments], "\(name)", sourceLocation: location)
        let (price, sums) = (try days(.mrr), try [.mrrNew, .mrrChurn, .mrrReactivation].map { try days($0) })
        var changes = try days(.mrrExpansion).merging(days(.mrrContraction), uniquingKeysWith: +)
        let found = Dictionary(uniqueKeysWithValues: changes.map { ($0.key - first, $0.value) })
        if let movements { #expect(found == movements, "\(name)", sourceLocation: location) }
        for sum in sums { changes.merge(sum, uniquingKeysWith: +) }
        #expect(price == changes.filter { $0.value != 0 }, "\(name)", sourceLocation: location)
        // The subscription is active on each day between its begin and its end.
        #expect(try days(.active).filter { $0.value != 0 }.count == 2, "\(name)", sourceLocation: location)
    }

    /// Returns the sum of a measure for each day.
    private func days(_ measure: FigureMeasure) throws -> [Int64: Int64] {
        let rows = try database.read {
            try $0.query(
                "SELECT day, value FROM figure WHERE measure = ?1 AND value <> 0", [.text(measure.rawValue)])
        }
        return try rows.reduce(into: [Int64: Int64]()) { try $0[$1["day"], default: 0] += $1["value"] }
            .filter { $0.value != 0 }
    }

    fileprivate func total(_ measure: FigureMeasure) throws -> Int64 { try days(measure).values.reduce(0, +) }

    fileprivate func replayedDifferences(_ play: PlayStore) throws -> [LedgerReplay.Difference] {
        try LedgerReplay(
            database: database, apps: [.init(bundleID: Self.app, features: Self.map), .init(bundleID: Self.otherApp)],
            clock: play.store.clock
        ).run().differences
    }
}

/// Random facts about purchases that replaced one another, some of which are linked with others or with none.
private struct RandomReplacements {
    let withCircles: Bool
    private var random: SeededNumbers
    private let count: Int
    private(set) var facts: [TransactionFact] = []

    init(seed: UInt64, withCircles: Bool) {
        self.withCircles = withCircles
        random = SeededNumbers(state: seed)
        count = Int.random(in: 2...7, using: &random)
        for purchase in 0..<count { addPurchase(purchase) }
        facts.shuffle(using: &random)
    }

    private mutating func addPurchase(_ purchase: Int) {
        let began = Double(purchase * 40 + Int.random(in: -15...15, using: &random))
        var day = began
        for order in 0..<Int.random(in: 1...3, using: &random) {
            let days: Double = [31, 31, 31, 7, 365, 12.5].randomElement(using: &random) ?? 31
            let isRepeated = order == 0 && purchase > 0 && isChosen(in: 4)
            let id = isRepeated ? "o\(purchase - 1).0" : "o\(purchase).\(order)"
            var fact = TransactionFact(
                id: TransactionID(unchecked: id), originalID: TransactionID(unchecked: "p\(purchase)"),
                productID: isChosen(in: 2) ? "plus" : "gold", kind: .autoRenewableSubscription,
                purchaseDate: date(day), originalPurchaseDate: date(began), source: .googlePlay, signedDate: date(day))
            let price: Decimal = [0, 5, 5, 12, 40].randomElement(using: &random) ?? 0
            fact.price = isChosen(in: 9) ? nil : Price(amount: price, currency: "EUR")
            fact.isTrial = price == 0 && isChosen(in: 2)
            for statement in 0..<Int.random(in: 1...3, using: &random) {
                addStatement(Double(statement), about: fact, from: day, days, purchase)
            }
            day += days
        }
    }

    private mutating func addStatement(
        _ number: Double, about transaction: TransactionFact, from day: Double, _ days: Double, _ purchase: Int
    ) {
        var fact = transaction
        let ends = isChosen(in: 3)
        fact.expiresDate = date(day + (ends ? Double.random(in: 1...days, using: &random).rounded() : days))
        fact.isUpgraded = ends
        fact.paidUntil = ends ? date(day + days) : nil
        fact.signedDate = date(day + number * 9 + (isChosen(in: 2) ? 0.5 : 0))
        fact.replaces = linked(to: purchase - 1, of: 0..<purchase)
        fact.replacedBy = linked(to: purchase + 1, of: purchase + 1..<count)
        fact.revocationDate = isChosen(in: 9) ? date(day + 4) : nil
        fact.digest = (0..<8).map { _ in UInt8.random(in: 0...255, using: &random) }
        facts.append(fact)
    }

    /// Returns a purchase that a fact names: mostly `near`, if there is one.
    private mutating func linked(to near: Int, of others: Range<Int>) -> TransactionID? {
        let range = withCircles ? 0..<count : others
        let number: Int? =
            switch Int.random(in: 0..<8, using: &random) {
            case 0: nil
            case 1: range.randomElement(using: &random)
            default: others.contains(near) ? near : nil
            }
        return number.map { TransactionID(unchecked: "p\($0)") }
    }

    private mutating func isChosen(in number: Int) -> Bool { Int.random(in: 0..<number, using: &random) == 0 }

    private func date(_ day: Double) -> Date { PlayStore.start.addingTimeInterval(day * 86400) }
}

@Suite(.onBothEngines) struct LinkedFigureTests {
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `any links, in any order and steps of any size, give the sums of a recomputation`(seed: UInt64) async throws {
        var random = SeededNumbers(state: seed)
        let facts = RandomReplacements(seed: seed, withCircles: seed.isMultiple(of: 2)).facts
        var results: [[String]] = []
        for _ in 0..<2 {
            let bench = try await ServerBench()
            for fact in facts.shuffled(using: &random) {
                try await bench.insert(fact)
                guard Int.random(in: 0..<3, using: &random) == 0 else { continue }
                let job = FigureAggregator(
                    database: bench.database, batchSize: Int64.random(in: 1...7, using: &random))
                for _ in 0..<Int.random(in: 1...3, using: &random) { _ = try await job.step() }
                if Int.random(in: 0..<4, using: &random) == 0 { #expect(try bench.checkedFigures() == []) }
            }
            try await bench.addAllFactsToFigures()
            #expect(try bench.checkedFigures() == [])
            results.append(try bench.figureRows())
            await bench.close()
        }
        #expect(results[0] == results[1])
    }

    @Test func `only facts that name another purchase cause further reads`() async throws {
        let box = RecorderBox()
        let bench = try await ServerBench(wrapping: box.wrap)
        let recorder = try #require(box.database)
        let job = FigureAggregator(database: recorder)
        func reads() async throws -> Int {
            recorder.reset()
            try await bench.addAllFactsToFigures(by: job)
            return recorder.statements.count { $0.sql.hasPrefix("SELECT sequence, source, kind") }
        }
        func insert(_ number: Int, replaces: TransactionID?, replacedBy: TransactionID?) async throws {
            try await bench.insert(
                TransactionFact(
                    id: TransactionID(unchecked: "o\(number)"), originalID: TransactionID(unchecked: "p\(number)"),
                    productID: "plus", kind: .autoRenewableSubscription, purchaseDate: PlayStore.start,
                    expiresDate: PlayStore.start.addingTimeInterval(86400), source: .googlePlay, replaces: replaces,
                    replacedBy: replacedBy, signedDate: PlayStore.start, digest: [UInt8(number)]))
        }
        for number in 1...3 { try await insert(number, replaces: nil, replacedBy: nil) }
        #expect(try await reads() == 3)
        try await insert(11, replaces: nil, replacedBy: "p12")
        #expect(try await reads() == 2)
        try await insert(12, replaces: "p11", replacedBy: "p13")
        #expect(try await reads() == 3)
        try await insert(13, replaces: "p12", replacedBy: nil)
        #expect(try await reads() == 3)
        #expect(try bench.checkedFigures() == [])
        await bench.close()
    }
}

/// DuckDB recomputes the sums of linked purchases.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with duckdb"))
struct ReplacementJudgeTests {
    @Test func `DuckDB computes the same sums after each replacement at Google Play`() async throws {
        try await PlayBench.with { bench, play in
            for (number, replacement) in ReplacementFigureTests.replacements.enumerated() {
                let account = AccountName(unchecked: "customer-\(number)")
                try await replacement.take(at: bench, play, account: account)
                try await bench.advance(.init(value: 17, unit: .day))
                try await bench.poll()
            }
            try await bench.bench.judge()
        }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `DuckDB computes the same sums from random links`(seed: UInt64) async throws {
        let bench = try await ServerBench()
        for fact in RandomReplacements(seed: seed, withCircles: false).facts { try await bench.insert(fact) }
        try await bench.judge()
        await bench.close()
    }
}

extension ServerBench {
    /// Inserts a fact that no store stated.
    fileprivate func insert(_ fact: TransactionFact) async throws {
        try await database.write { connection in
            try connection.execute(
                """
                INSERT INTO fact (app, environment, source, digest, kind, format, original_transaction_id, signed_at,
                    received_at, summary, source_bytes)
                VALUES (?1, 'sandbox', ?2, ?3, 'transaction', 'googlePlay', ?4, ?5, 0, ?6, ?7)
                """,
                [
                    .text(Self.app.rawValue), .text(fact.source.rawValue), .blob(fact.digest),
                    .text(fact.originalID.rawValue), .integer(fact.signedDate.milliseconds),
                    .text(FactSummary.text(of: fact)), .blob([]),
                ])
        }
    }

    /// Lets DuckDB compare the sums with an export of the facts.
    fileprivate func judge() async throws {
        try await addAllFactsToFigures()
        #expect(try checkedFigures() == [])
        var request: JSONValue = [:]
        for content in [LedgerExport.Content.facts, .figures] {
            var lines = [content.columns.joined(separator: ",")]
            _ = try LedgerExport.run(content, of: database, clock: clock) { values in
                lines.append(values.map { $0 == .null ? "" : $0.stringValue ?? $0.text() }.joined(separator: ","))
            }
            let file = folder.url.appendingPathComponent("\(content.rawValue).csv")
            try Data(lines.joined(separator: "\n").utf8).write(to: file)
            request[content.rawValue] = .string(file.path)
        }
        let judged = try await OutsideJudge.judge("figures.py", request)
        #expect(judged.status == 0, "\(judged.output)\(judged.errors)")
        #expect(judged.json?["sums"]?.intValue ?? 0 > 5)
    }
}
