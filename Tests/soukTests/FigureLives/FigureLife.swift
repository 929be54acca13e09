import BaseTestSupport
import EntitlementServer
import Foundation
import Primitives
import SimulatorControl
import StoreModel

@testable import AppStoreSimulator

/// Random actions of customers at a simulated store, all from one seed. On most days some customers buy, change their
/// plan, cancel, pay late, share purchases or get refunds. The store reports all of it to the server as notifications.
struct FigureLife {
    static let start = Date(timeIntervalSince1970: 1_798_761_600)  // 2027-01-01

    let store: SimulatedAppStore
    private var numbers: SeededNumbers
    private let names: [AccountName]
    private(set) var accounts: [Int64] = []
    private(set) var truth = FigureTruth()
    /// The accounts with events since the books were last written.
    private var changed: Set<Int64> = []
    private var prices = ["plus.monthly": 9_990, "basic.monthly": 4_990, "basic.weekly": 1_490, "plus.yearly": 59_990]
    private var counts: [String: Int] = [:]

    init(_ count: Int, seed: UInt64, at store: SimulatedAppStore) async throws {
        self.store = store
        numbers = SeededNumbers(state: seed)
        names = (1...count).map { AccountName(unchecked: "customer-\($0)") }
        for (index, name) in names.enumerated() {
            try await store.createAccount(name, storefront: FigureCatalogue.countries[index % 5])
        }
        let known = try store.database.read { try SimulatorDatabase($0).accounts() }
        let ids = Dictionary(uniqueKeysWithValues: known.map { ($0.name, $0.id) })
        accounts = names.compactMap { ids[$0] }
    }

    /// The least number of different actions that the store accepts in two years. The answer to a price increase is
    /// rare.
    static let actions = 27

    /// The number of actions that the store accepted, by name.
    var accepted: [String: Int] { counts }

    /// Simulates `days` days. Calls `note` after each day with the number of days so far.
    mutating func live(_ days: Int, note: (Int) -> Void) async throws {
        for day in 0..<days {
            let begin = Self.start.addingTimeInterval(Double(day) * 86_400)
            // Customers act at three times of the day.
            for hour in [6, 14, 21] {
                try await store.advance(
                    to: begin.addingTimeInterval(Double(hour * 3600 + number(in: 0...7000))))
                if hour == 6 { try await actForAll(day) }
                for index in names.indices where number(in: 0..<60) == 0 { try await act(index) }
                try await store.deliverNotifications()
            }
            try await store.advance(to: begin.addingTimeInterval(86_400 - 0.001))
            try await store.deliverNotifications()
            try truth.observe(day, changed, at: store.clock.now(), in: store)
            changed = []
            note(day + 1)
        }
    }

    private mutating func number(in range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &numbers) }
    private mutating func number(in range: Range<Int>) -> Int { Int.random(in: range, using: &numbers) }
    private mutating func one<Value>(of values: [Value]) -> Value { values[number(in: 0..<values.count)] }

    // MARK: - Actions on the whole store

    private mutating func actForAll(_ day: Int) async throws {
        if day % 97 == 5 {
            try await store.set(.gracePeriod, to: .string(one(of: ["16d", "off", "28d", "3d", "16d"])))
        }
        if day % 113 == 60 {
            let product = one(of: prices.keys.sorted())
            let price = (prices[product] ?? 0) + 1_000
            prices[product] = price
            try await store.increasePrice(
                of: ProductID(unchecked: product), to: "\(price / 1000).\((price % 1000) / 10)",
                needsConsent: day / 113 % 2 == 0)
            count("price increase")
        }
        if day % 211 == 150 {
            try await store.set(.renewalsFail, to: true)
            count("outage of payments")
        }
        if day % 211 == 152 { try await store.set(.renewalsFail, to: false) }
        if day == 500 || day == 540 { try await store.setWithdrawn("news.two", day == 500) }
        if day % 211 == 152 || day % 211 == 150 || day % 113 == 60 || day == 500 || day == 540 {
            changed.formUnion(accounts)
        }
    }

    private mutating func count(_ action: String) { counts[action, default: 0] += 1 }

    /// Runs an action, and counts it unless the store refuses it; returns `nil` for a refusal.
    private mutating func attempt<Value>(_ action: String, _ body: () async throws -> Value) async throws -> Value? {
        do {
            let value = try await body()
            count(action)
            return value
        } catch is StoreFailure {
            return nil
        } catch is SimulatorError {
            return nil
        }
    }

    // MARK: - Actions of a customer

    private mutating func act(_ index: Int) async throws {
        let (store, name) = (store, names[index])
        changed.insert(accounts[index])
        let product = ProductID(unchecked: one(of: FigureCatalogue.subscriptions))
        switch number(in: 0...99) {
        case 0...19: _ = try await attempt("buy a subscription") { try await store.buy(product, for: name) }
        case 20...24:
            _ = try await attempt("commit to twelve bills") {
                try await store.buy(.init(productID: "plus.yearly", billingPlan: .monthly), for: name)
            }
        case 25...29:
            let (product, offer) = one(of: FigureCatalogue.promotional)
            _ = try await attempt("buy with a promotional offer") {
                try await store.buy(ProductID(unchecked: product), for: name, offerID: offer)
            }
        case 30...35:
            let (product, offer) = one(of: FigureCatalogue.winBack)
            _ = try await attempt("buy with a win-back offer") {
                try await store.buy(
                    ProductID(unchecked: product), for: name, offerID: offer, offerKind: .winBack)
            }
        case 36...39:
            let (product, code) = one(of: FigureCatalogue.codes)
            _ = try await attempt("redeem a code") {
                try await store.redeem(code, of: ProductID(unchecked: product), for: name)
            }
        case 40...44:
            let quantity = number(in: 1...5)
            _ = try await attempt("buy a consumable") { try await store.buy("coins", for: name, quantity: quantity) }
        case 45...46: _ = try await attempt("buy a non-consumable") { try await store.buy("pack", for: name) }
        case 47...48: _ = try await attempt("buy a season") { try await store.buy("season", for: name) }
        case 49...55:
            _ = try await attempt("cancel") { try await store.cancel(try await Self.plan(of: name, store), for: name) }
        case 56...59:
            _ = try await attempt("resume") { try await store.resume(try await Self.plan(of: name, store), for: name) }
        case 60...66:
            _ = try await attempt("fail to pay") {
                try await store.failBilling(try await Self.plan(of: name, store), for: name)
            }
        case 67...75:
            _ = try await attempt("pay again") {
                try await store.resolveBilling(try await Self.plan(of: name, store), for: name)
            }
        case 76:
            _ = try await attempt("renew early") {
                try await store.renew(try await Self.plan(of: name, store), for: name)
            }
        case 77...79:
            let agrees = number(in: 0...2) > 0
            _ = try await attempt("answer a price increase") {
                try await store.answerPriceIncrease(
                    of: try await Self.plan(of: name, store), agreeing: agrees, for: name)
            }
        case 80...86: try await refund(index)
        case 87...90: try await reverse(index)
        case 91...92:
            let country = one(of: FigureCatalogue.countries)
            _ = try await attempt("move to another country") { try await store.change(name, storefront: country) }
        case 93...96: try await share(index)
        case 97...98: try await askToBuy(index, product)
        default:
            guard let id = try sales(of: index).randomElement(using: &numbers)?.id else { return }
            _ = try await attempt("decline a refund") {
                try await store.requestRefund(of: TransactionID(unchecked: "\(id)"))
                return try await store.declineRefund(of: TransactionID(unchecked: "\(id)"))
            }
        }
    }

    /// Returns the product of a running subscription of an account.
    private static func plan(of name: AccountName, _ store: SimulatedAppStore) async throws -> ProductID {
        let states = try store.read({ try $0.existingAccount(name) }) { db, account, now in
            try db.states(of: account.id, at: now)
        }
        let running = states.filter { $0.isRunning && $0.record.share == nil }
        guard let state = running.max(by: { $0.changedAt < $1.changedAt }) else {
            throw SimulatorError(.unknownSubscription, "Nothing is running.")
        }
        return state.current.plan.productID
    }

    private func sales(of index: Int) throws -> [TransactionRecord] {
        try store.database.read {
            try SimulatorDatabase($0).transactions(of: accounts[index], at: store.clock.now()).map(\.0)
        }
    }

    private mutating func refund(_ index: Int) async throws {
        let own = try sales(of: index).filter { !$0.isShared && $0.revocation == nil }
        guard let sale = own.suffix(5).randomElement(using: &numbers) else { return }
        let store = store
        let percentage = number(in: 0...1) == 0 ? nil : Double(number(in: 1...100_000)) / 1000
        _ = try await attempt(percentage == nil ? "refund" : "refund a part") {
            try await store.refund(TransactionID(unchecked: "\(sale.id)"), percentage: percentage)
        }
    }

    private mutating func reverse(_ index: Int) async throws {
        let refunded = try sales(of: index).filter { !$0.isShared && $0.revocation != nil }
        guard let sale = refunded.randomElement(using: &numbers) else { return }
        let store = store
        _ = try await attempt("reverse a refund") {
            try await store.reverseRefund(TransactionID(unchecked: "\(sale.id)"))
        }
    }

    /// Creates, joins or leaves a family, or revokes a purchase that another member shares with this customer.
    private mutating func share(_ index: Int) async throws {
        let (store, name) = (store, names[index])
        let organizer = index - index % 4
        let family = FamilyName(unchecked: "family-\(organizer)")
        changed.formUnion(accounts[organizer..<min(organizer + 4, accounts.count)])
        let shared = try sales(of: index).filter { $0.isShared && $0.revocation == nil }
        if let sale = shared.randomElement(using: &numbers), number(in: 0...2) == 0 {
            _ = try await attempt("revoke a share") { try await store.revoke(TransactionID(unchecked: "\(sale.id)")) }
        } else if number(in: 0...4) == 0 {
            _ = try await attempt("leave a family") { try await store.leave(family, name) }
        } else {
            let first = names[organizer]
            _ = try await attempt("create a family") { try await store.createFamily(family, organizer: first) }
            _ = try await attempt("join a family") { try await store.join(family, name) }
        }
    }

    /// Buys with Ask to Buy, or approves or declines the purchase that waits.
    private mutating func askToBuy(_ index: Int, _ product: ProductID) async throws {
        let (store, name) = (store, names[index])
        if let order = try store.pendingOrders(of: name).first {
            let approves = number(in: 0...2) > 0
            _ = try await attempt(approves ? "approve" : "decline") {
                try await store.answerAskToBuy(order.transactionID, approving: approves)
            }
        } else {
            _ = try await attempt("ask to buy") { try await store.buy(product, for: name, simulatesAskToBuy: true) }
        }
    }
}
