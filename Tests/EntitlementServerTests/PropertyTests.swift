import AppStorePayloads
import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// The order of facts does not matter. Ledgers get a customer's facts in different orders, in requests of different
/// sizes, with repetitions. At every instant their answers must equal those that the reducer computes from the facts.
@Suite struct PropertyTests {
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `facts in any order with any repetition give the same answers`(seed: UInt64) async throws {
        var numbers = SeededNumbers(state: seed)
        let life = RandomLife(using: &numbers)
        var answers: [[Customer]] = []
        for round in 0..<4 {
            let bench = try await ServerBench()
            let facts = try life.signed(by: bench)
            var shuffled = facts.enumerated().map { $0 }
            if round > 0 {
                for _ in 0..<Int.random(in: 0...facts.count, using: &numbers) {
                    guard let again = facts.enumerated().randomElement(using: &numbers) else { break }
                    shuffled.append(again)
                }
                shuffled.shuffle(using: &numbers)
            }
            try await Self.present(shuffled.map(\.element), to: bench, using: &numbers)
            #expect(try bench.count("fact") == facts.count)
            #expect(try bench.replay().differences == [])
            answers.append(try await Self.answers(of: bench, expecting: life.state()))
            await bench.close()
        }
        #expect(answers[0].contains { !$0.features.isEmpty })
        for other in answers.dropFirst() { #expect(other == answers[0]) }
    }

    /// Presents the facts, one to five in a request. Presents a renewal info again later if its subscription is
    /// unknown.
    private static func present(
        _ facts: [SignedFact], to bench: ServerBench, using numbers: inout SeededNumbers
    ) async throws {
        var waiting = facts
        var rest: [SignedFact] = []
        while !waiting.isEmpty {
            let batch = Array(waiting.prefix(Int.random(in: 1...5, using: &numbers)))
            waiting.removeFirst(batch.count)
            let transactions = batch.filter { !$0.isRenewal }
            // A request needs at least one transaction, so a batch without one repeats the first of the history.
            let first = transactions.isEmpty ? facts.filter { !$0.isRenewal }.prefix(1) : transactions[...]
            let renewals = batch.filter(\.isRenewal)
            let reply = try await bench.post(first.map(\.text), renewals: renewals.map(\.text))
            #expect(reply.status == 200)
            let rejected = reply.json["rejected"]?.arrayValue ?? []
            for refusal in rejected {
                #expect(refusal["code"] == "unknownTransaction" && refusal["retryable"] == true)
                let place = try #require(refusal["index"]?.intValue) - first.count
                rest.append(renewals[place])
            }
            if waiting.isEmpty { (waiting, rest) = (rest, []) }
        }
    }

    private static func answers(of bench: ServerBench, expecting state: CustomerState) async throws -> [Customer] {
        let reducer = EntitlementReducer(features: ServerBench.map)
        var answers: [Customer] = []
        for _ in 0..<30 {
            var answer = try await bench.get().customer()
            var expected = reducer.customer("anna", in: .sandbox, state, at: bench.clock.now())
            (answer.asOf, expected.asOf) = (bench.clock.now(), bench.clock.now())
            #expect(answer == expected)
            answers.append(answer)
            bench.clock.advance(by: 4.3 * 86400)
        }
        return answers
    }
}

extension ServerBench {
    func replay() throws -> LedgerReplay.Report {
        try LedgerReplay(
            database: database, apps: [.init(bundleID: Self.app, features: Self.map), .init(bundleID: Self.otherApp)],
            clock: clock
        ).run()
    }
}

/// A signed fact.
struct SignedFact: Sendable {
    let text: String
    let isRenewal: Bool
}

/// A customer's random history: purchases, and subscriptions with renewals, upgrades, reversed refunds and failing
/// payments. Days count from the first instant of the bench.
struct RandomLife: Sendable {
    private var transactions: [JWSTransactionDecodedPayload] = []
    private var renewals: [JWSRenewalInfoDecodedPayload] = []
    private static let beginning = ManualClock().now()

    init(using numbers: inout SeededNumbers) {
        for subscription in 1...Int.random(in: 1...3, using: &numbers) { subscribe(subscription * 100, &numbers) }
        for purchase in 0..<Int.random(in: 1...4, using: &numbers) { buy(900 + purchase, &numbers) }
    }

    private static func day(_ number: Double) -> Date { beginning.addingTimeInterval((number * 86400).rounded()) }

    private mutating func subscribe(_ original: Int, _ numbers: inout SeededNumbers) {
        var start = Double.random(in: 0...20, using: &numbers)
        for number in 0..<Int.random(in: 1...4, using: &numbers) {
            let end = start + 30
            var period = JWSTransactionDecodedPayload {
                $0.transactionId = String(original + number)
                $0.originalTransactionId = String(original)
                $0.bundleId = ServerBench.app.rawValue
                $0.productId = number % 2 == 0 ? "pro.monthly" : "pro.yearly"
                $0.subscriptionGroupIdentifier = "group"
                $0.purchaseDate = Self.day(start)
                $0.originalPurchaseDate = Self.day(0)
                $0.expiresDate = Self.day(end)
                $0.quantity = 1
                $0.type = .autoRenewableSubscription
                $0.signedDate = Self.day(start)
                $0.price = number % 2 == 0 ? 4990 : 39_990
                $0.currency = "USD"
                $0.environment = .sandbox
            }
            transactions.append(period)
            let signed = start + Double.random(in: 1...29, using: &numbers)
            switch Int.random(in: 0..<5, using: &numbers) {
            case 0: refund(&period, at: signed, &numbers)
            case 1:
                period.isUpgraded = true
                period.signedDate = Self.day(signed)
                transactions.append(period)
            default: break
            }
            for _ in 0..<Int.random(in: 0...2, using: &numbers) {
                appendRenewalInfo(original, from: start, to: end, &numbers)
            }
            start = end + [0, 0, 10].randomElement(using: &numbers)!
        }
    }

    private mutating func refund(
        _ transaction: inout JWSTransactionDecodedPayload, at signed: Double, _ numbers: inout SeededNumbers
    ) {
        transaction.revocationDate = Self.day(signed)
        if Bool.random(using: &numbers) { transaction.signedDate = Self.day(signed) }
        transactions.append(transaction)
        guard Bool.random(using: &numbers) else { return }
        transaction.revocationDate = nil
        transaction.signedDate = Self.day(signed + 3)
        transactions.append(transaction)
    }

    private mutating func appendRenewalInfo(
        _ original: Int, from start: Double, to end: Double, _ numbers: inout SeededNumbers
    ) {
        let isRetrying = Bool.random(using: &numbers)
        let signed = isRetrying ? end : Double.random(in: start...end, using: &numbers)
        let info = JWSRenewalInfoDecodedPayload {
            $0.originalTransactionId = String(original)
            $0.autoRenewProductId = "pro.monthly"
            $0.autoRenewStatus = Bool.random(using: &numbers) ? .on : .off
            $0.isInBillingRetryPeriod = isRetrying
            $0.gracePeriodExpiresDate = isRetrying && Bool.random(using: &numbers) ? Self.day(end + 6) : nil
            $0.signedDate = Self.day(signed)
            $0.environment = .sandbox
        }
        if !renewals.contains(info) { renewals.append(info) }
    }

    private mutating func buy(_ number: Int, _ numbers: inout SeededNumbers) {
        let at = Double.random(in: 0...50, using: &numbers)
        var purchase = JWSTransactionDecodedPayload {
            $0.transactionId = String(number)
            $0.originalTransactionId = String(number)
            $0.bundleId = ServerBench.app.rawValue
            $0.productId = "tools"
            $0.purchaseDate = Self.day(at)
            $0.originalPurchaseDate = Self.day(at)
            $0.quantity = 1
            $0.type = Bool.random(using: &numbers) ? .nonConsumable : .consumable
            $0.signedDate = Self.day(at)
            $0.environment = .sandbox
        }
        transactions.append(purchase)
        if Bool.random(using: &numbers) { refund(&purchase, at: at + 1, &numbers) }
    }

    /// - Parameter offset: A number that is added to all ids, so that several lives fit into one ledger.
    func signed(by bench: ServerBench, offset: Int = 0) throws -> [SignedFact] {
        func moved(_ id: String?) -> String? { id.flatMap { Int($0) }.map { String($0 + offset) } }
        return try transactions.map { transaction in
            var transaction = transaction
            transaction.transactionId = moved(transaction.transactionId)
            transaction.originalTransactionId = moved(transaction.originalTransactionId)
            return SignedFact(text: try bench.sign(transaction), isRenewal: false)
        }
            + renewals.map { renewal in
                var renewal = renewal
                renewal.originalTransactionId = moved(renewal.originalTransactionId)
                return SignedFact(text: try bench.sign(renewal), isRenewal: true)
            }
    }

    /// Returns the state of the facts, computed without a server, in their original order.
    func state() throws -> CustomerState {
        var state = CustomerState()
        for payload in transactions {
            state.apply(try TransactionFact(payload, digest: SHA256.hash(payload.json.encoded())))
        }
        for payload in renewals { state.apply(try RenewalFact(payload, digest: SHA256.hash(payload.json.encoded()))) }
        return state
    }
}
