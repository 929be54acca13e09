import AppStoreSimulator
import BaseTestSupport
import Foundation
import Primitives
import SimulatorControl
import StoreModel
import Testing

@testable import EntitlementServer

/// A customer who moves from Android to iPhone, for two years. After each step the whole answer is compared.
@Suite struct TwoStoresTests {
    /// An answer of the server in short: the active features, and each subscription and purchase.
    private struct Answer: Equatable, CustomStringConvertible {
        var active: [String]
        var entries: [String]

        init(_ active: [String], _ entries: [String]) {
            (self.active, self.entries) = (active, entries)
        }

        init(_ customer: Customer) {
            active = Set(customer.features.filter(\.isActive).map(\.name)).sorted()
            entries =
                customer.subscriptions.map { "\($0.source.rawValue) \($0.productID) \($0.state.rawValue)" }
                + customer.purchases.map {
                    "\($0.source.rawValue) \($0.productID)\($0.revokedAt == nil ? "" : " revoked")"
                }
        }

        var description: String { "\(active) \(entries)" }
    }

    private func expect(
        _ active: [String], _ entries: String..., of stores: TwoStores,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await stores.settle()
        let answer = try await stores.answer()
        #expect(Answer(answer) == Answer(active, entries), sourceLocation: sourceLocation)
        #expect(try await stores.bookedFeatures() == active, sourceLocation: sourceLocation)
        #expect(try await stores.naiveFeatures() == active, sourceLocation: sourceLocation)
    }

    @Test
    func `a customer is entitled for two years, from the first day on Android to the last on iPhone`()
        async throws
    {
        try await TwoStores.with { stores in
            let start = stores.store.clock.now()
            try await expect([], of: stores)

            // A free week on Android, then paid months.
            let monthly = try await stores.buyOnAndroid("pro.monthly", "monthly") { $0.offerID = "trial" }
            try await expect(["pro"], "googlePlay pro.monthly active", of: stores)
            #expect(try await stores.answer().subscriptions[0].isTrial)
            try await stores.advance(.init(value: 8, unit: .day))
            try await expect(["pro"], "googlePlay pro.monthly active", of: stores)
            #expect(try await !stores.answer().subscriptions[0].isTrial)
            let tools = try await stores.buyOnAndroid("tools")
            try await expect(
                ["pro", "tools"], "googlePlay pro.monthly active", "googlePlay tools", of: stores)

            // A failed payment: grace period, account hold, and the payment.
            try await stores.advance(.init(value: 2, unit: .month))
            try await stores.perform(.hold, on: monthly)
            try await stores.advance(.init(value: 1, unit: .month))
            try await expect(
                ["pro", "tools"], "googlePlay pro.monthly inGracePeriod", "googlePlay tools", of: stores)
            try await stores.advance(.init(value: 8, unit: .day))
            try await expect(
                ["tools"], "googlePlay pro.monthly inBillingRetry", "googlePlay tools", of: stores)
            try await stores.perform(.recover, on: monthly)
            try await expect(
                ["pro", "tools"], "googlePlay pro.monthly active", "googlePlay tools", of: stores)

            // A pause of two months, ended early.
            try await stores.perform(.pause(.init(value: 2, unit: .month)), on: monthly)
            try await expect(
                ["pro", "tools"], "googlePlay pro.monthly active", "googlePlay tools", of: stores)
            try await stores.advance(.init(value: 32, unit: .day))
            try await expect(["tools"], "googlePlay pro.monthly paused", "googlePlay tools", of: stores)
            try await stores.perform(.resume, on: monthly)
            try await expect(
                ["pro", "tools"], "googlePlay pro.monthly active", "googlePlay tools", of: stores)

            // An upgrade to the year: the old subscription ends when the new one begins.
            try await stores.advance(.init(value: 5, unit: .day))
            let yearly = try await stores.buyOnAndroid("pro.yearly", "yearly") {
                $0.oldPurchaseToken = monthly
                $0.replacementMode = "CHARGE_FULL_PRICE"
            }
            try await expect(
                ["pro", "tools"], "googlePlay pro.monthly expired", "googlePlay pro.yearly active",
                "googlePlay tools",
                of: stores)
            let (old, new) = try await (
                stores.answer().subscriptions[0], stores.answer().subscriptions[1]
            )
            #expect(old.effectiveUntil == new.startedAt)

            // The bank takes the money for the tools back.
            try await stores.refund(tools, isChargeback: true)
            try await expect(
                ["pro"], "googlePlay pro.monthly expired", "googlePlay pro.yearly active",
                "googlePlay tools revoked",
                of: stores)

            // The customer gets an iPhone, pays at both stores for a while, and cancels on Android.
            try await stores.advance(.init(value: 3, unit: .month))
            let iPhone = try await stores.buyOnIPhone("apple.pro.monthly")
            try await stores.buyOnIPhone("apple.tools")
            try await expect(
                ["pro", "tools"], "googlePlay pro.monthly expired", "googlePlay pro.yearly active",
                "appStore apple.pro.monthly active", "googlePlay tools revoked", "appStore apple.tools",
                of: stores)
            let pages = try await stores.answer().subscriptions.map(\.managementURL)
            #expect(pages[1]?.hasPrefix("https://play.google.com/") == true)
            #expect(pages[2]?.hasPrefix("https://apps.apple.com/") == true)
            #expect(try await stores.warnedFeatures() == ["pro", "pro"])
            #expect(try await stores.warnings() == 1)
            try await stores.perform(.cancel, on: yearly)
            try await expect(
                ["pro", "tools"], "googlePlay pro.monthly expired", "googlePlay pro.yearly active",
                "appStore apple.pro.monthly active", "googlePlay tools revoked", "appStore apple.tools",
                of: stores)
            #expect(try await stores.answer().subscriptions[1].autoRenews == false)
            #expect(try await stores.warnedFeatures() == [])
            try await stores.advance(.init(value: 10, unit: .month))
            try await expect(
                ["pro", "tools"], "googlePlay pro.monthly expired", "googlePlay pro.yearly expired",
                "appStore apple.pro.monthly active", "googlePlay tools revoked", "appStore apple.tools",
                of: stores)

            // Apple refunds the last month, which ends the subscription.
            let latest = try #require(
                try await stores.store.transactions(of: TwoStores.account).last {
                    $0.originalTransactionID == iPhone.transactionID
                })
            _ = try await stores.store.refund(latest.transactionID)
            try await expect(
                ["tools"], "googlePlay pro.monthly expired", "googlePlay pro.yearly expired",
                "appStore apple.pro.monthly revoked", "googlePlay tools revoked", "appStore apple.tools",
                of: stores)
            try await stores.advance(.init(value: max(1, 24 - stores.months(since: start)), unit: .month))
            try await expect(
                ["tools"], "googlePlay pro.monthly expired", "googlePlay pro.yearly expired",
                "appStore apple.pro.monthly revoked", "googlePlay tools revoked", "appStore apple.tools",
                of: stores)
            #expect(try await stores.warnings() == 1)
            #expect(stores.store.clock.now() >= start.addingTimeInterval(2 * 365 * 86400))
            #expect(try stores.replayDifferences() == [])
        }
    }
}

extension TwoStores {
    fileprivate func months(since start: Date) -> Int {
        Int(store.clock.now().timeIntervalSince(start) / (30.5 * 86400))
    }
}

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

    private static var seeds: [Int] {
        let first = number("SOUK_LIFE_SEED") ?? 1
        return Array(first..<first + (number("SOUK_LIVES") ?? 4))
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

    @Test(arguments: seeds)
    func `the server, the books of both stores and a naive model agree in random lives`(seed: Int)
        async throws
    {
        let found = await LifeDifference.first(in: Self.life(seed), live: Self.live)
        guard let (shortest, last) = found else { return }
        Issue.record(
            "life \(seed): \(last)\nafter \(shortest.map { "\($0)" }.joined(separator: "\n      "))")
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
