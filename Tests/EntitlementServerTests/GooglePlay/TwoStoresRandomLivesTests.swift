import AppStoreSimulator
import BaseTestSupport
import Foundation
import HostTestSupport
import Primitives
import SimulatorControl
import StoreModel
import Testing

@testable import EntitlementServer

/// Random lives of a customer at both stores. After each step the server, the books of the simulators and a naive model
/// agree on the features. Sometimes the notifications of Google Play are lost for a while: then the server's own requests
/// must suffice.
///
/// `make lives` sets the number of lives (`SOUK_LIVES`), their length (`SOUK_LIFE_STEPS`) and the first seed
/// (`SOUK_LIFE_SEED`). A life that ends in a difference is reduced to the steps that cause it.
@Suite struct TwoStoresRandomLivesTests {
    private enum Step {
        case android(Int)
        case iPhone(Int)
        case replace
        case act(SimulatedAppStore.PlayAction, purchase: Int)
        case refund(purchase: Int, isChargeback: Bool)
        case refundOnIPhone, cancelOnIPhone
        case advance(days: Int)
        case loseNotifications(Bool)
    }

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    private static func seeds(_ count: Int) -> [Int] {
        let first = number("SOUK_LIFE_SEED") ?? 1
        return Array(first..<first + count)
    }

    private static let android: [(product: ProductID, plan: String?)] = [
        ("pro.monthly", "monthly"), ("pro.monthly", "prepaid"), ("pro.yearly", "yearly"),
        ("tools", nil), ("coins", nil),
    ]
    private static let iPhone: [ProductID] = ["apple.pro.monthly", "apple.pro.yearly", "apple.tools"]

    private static func life(_ seed: Int) -> [Step] {
        var random = SeededNumbers(state: UInt64(seed))
        return (0..<(number("SOUK_LIFE_STEPS") ?? 30)).map { _ in
            let purchase = Int.random(in: 0..<4, using: &random)
            switch Int.random(in: 0..<16, using: &random) {
            case 0, 1: return .android(Int.random(in: android.indices, using: &random))
            case 2: return .iPhone(Int.random(in: iPhone.indices, using: &random))
            case 3: return .replace
            case 4: return .act(.hold, purchase: purchase)
            case 5: return .act(.recover, purchase: purchase)
            case 6: return .act(.pause(.init(value: 1, unit: .month)), purchase: purchase)
            case 7: return .act(.resume, purchase: purchase)
            case 8: return .act(.cancel, purchase: purchase)
            case 9: return .refund(purchase: purchase, isChargeback: Bool.random(using: &random))
            case 10: return Bool.random(using: &random) ? .refundOnIPhone : .cancelOnIPhone
            case 11: return .loseNotifications(Bool.random(using: &random))
            default: return .advance(days: Int.random(in: 1...40, using: &random))
            }
        }
    }

    @Test(arguments: seeds(number("SOUK_LIVES") ?? 4))
    func `the server, the books of both stores and a naive model agree in random lives`(seed: Int)
        async throws
    {
        await Self.check(seed)
    }

    /// One life in ten, because PostgreSQL takes longer.
    @Test(
        .enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"),
        arguments: seeds(max(1, (number("SOUK_LIVES") ?? 1) / 10)))
    func `they agree with a ledger in PostgreSQL`(seed: Int) async throws {
        await ServerBench.$engine.withValue(.postgreSQL) { await Self.check(seed) }
    }

    private static func check(_ seed: Int) async {
        let found = await LifeDifference.first(in: life(seed), live: live)
        guard let (shortest, last) = found else { return }
        Issue.record(
            "life \(seed) on \(ServerBench.engine): \(last)\nafter \(shortest.map { "\($0)" }.joined(separator: "\n      "))"
        )
    }

    private static func live(_ steps: [Step]) async throws {
        try await TwoStores.with { stores in
            for (number, step) in steps.enumerated() {
                do {
                    try await take(step, at: stores)
                } catch is SimulatorError {
                    // The store refuses a step that does not fit the state of the purchase.
                } catch is StoreFailure {}
                try await stores.settle()
                let answer = try await stores.answer()
                let active = Set(answer.features.filter(\.isActive).map(\.name)).sorted()
                let (booked, naive) = try await (stores.bookedFeatures(), stores.naiveFeatures())
                let (warned, paid) = try await (stores.warnedFeatures(), stores.featuresPaidTwice())
                guard warned == paid else {
                    throw LifeDifference(
                        step: number,
                        description: "the server warns of \(warned), and \(paid) are paid several times")
                }
                guard active == booked, active == naive else {
                    throw LifeDifference(
                        step: number,
                        description: "the server says \(active), the stores \(booked), the naive model \(naive)"
                    )
                }
            }
            let differences = try stores.replayDifferences()
            guard differences.isEmpty else {
                throw LifeDifference(
                    step: steps.count - 1, description: "the replay differs: \(differences)")
            }
            try await stores.bench.addAllFactsToFigures()
            let figures = try stores.bench.checkedFigures()
            guard figures.isEmpty else {
                throw LifeDifference(step: steps.count - 1, description: "the figures differ: \(figures)")
            }
        }
    }

    private static func take(_ step: Step, at stores: TwoStores) async throws {
        let purchases = try await stores.store.playPurchases(of: TwoStores.account)
        func token(_ number: Int) -> String? {
            purchases.isEmpty
                ? nil : purchases[purchases.count - 1 - number % purchases.count].purchaseToken
        }
        switch step {
        case .android(let number):
            let (product, plan) = android[number]
            _ = try await stores.buyOnAndroid(product, plan)
        case .iPhone(let number): try await stores.buyOnIPhone(iPhone[number])
        case .replace:
            guard let old = purchases.last(where: { $0.kind == "subscription" && $0.state == "active" })
            else { return }
            let (product, plan) = android[old.productID == "pro.yearly" ? 0 : 2]
            _ = try await stores.buyOnAndroid(product, plan) {
                $0.oldPurchaseToken = old.purchaseToken
                $0.replacementMode = "WITHOUT_PRORATION"
            }
        case .act(let action, let number):
            if let token = token(number) { try await stores.perform(action, on: token) }
        case .refund(let number, let isChargeback):
            if let token = token(number) { try await stores.refund(token, isChargeback: isChargeback) }
        case .refundOnIPhone:
            if let last = try await stores.store.entitlements(of: TwoStores.account).last {
                _ = try await stores.store.refund(last.transactionID)
            }
        case .cancelOnIPhone:
            let subscriptions = try await stores.store.subscriptions(of: TwoStores.account)
            if let last = subscriptions.last {
                try await stores.store.cancel(last.productID, for: TwoStores.account)
            }
        case .advance(let days): try await stores.advance(.init(value: days, unit: .day))
        case .loseNotifications(let isLost): stores.setNotificationsLost(isLost)
        }
    }
}
