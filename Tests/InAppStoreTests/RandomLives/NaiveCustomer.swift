import Foundation
import StoreModel

/// What a customer has, written down as simply as can be: what is so at the store, and what their device was last told.
struct NaiveCustomer {
    /// What the store would say.
    struct Goods: Equatable {
        /// Bought and not refunded, but for consumables.
        var owned: Set<ProductID> = []
        /// When the subscription ends, or renews.
        var subscribedUntil: Date?

        func isSubscribed(at now: Date) -> Bool { subscribedUntil.map { now < $0 } ?? false }
    }

    private(set) var now: Date
    private(set) var goods = Goods()
    private var renews = false
    private(set) var told = Goods()
    private(set) var acquired: Set<ProductID> = []
    /// When the device was told, and so knows that it is not earlier.
    private var toldAt: Date
    private var isClockBehind = false
    /// How far the device's clock was ahead since the server last said what time it is.
    private var lead: TimeInterval = 0
    /// The app ended without writing down what time it was, and now its clock is behind.
    private var hasLostTime = false

    init(at now: Date) { (self.now, toldAt) = (now, now) }

    var isSubscribed: Bool { goods.isSubscribed(at: now) }

    /// Whether the device must know a subscription; either will do while it cannot know what time it is.
    var subscription: Set<Bool> {
        Set([now, hasLostTime ? toldAt : now, now + lead].map(told.isSubscribed))
    }

    /// What the device must allow a subscriber, and who is none.
    func allowed(subscribed: Bool) -> Set<String> {
        let enabled = acquired.filter { $0.rawValue.hasPrefix("film.") }
        return Set((subscribed ? told.owned.union(enabled) : told.owned).map(\.rawValue))
    }

    // MARK: - At the store

    mutating func buy(_ product: ProductID) {
        if product == "pro.weekly" {
            goods.subscribedUntil = now + RealWorld.week
            renews = true
        } else if product != "coins" {
            goods.owned.insert(product)
        }
    }

    mutating func refund(_ product: ProductID) {
        goods.owned.remove(product)
        guard product == "pro.weekly" else { return }
        goods.subscribedUntil = nil
        renews = false
    }

    mutating func setRenewal(_ isOn: Bool) { renews = isOn }

    mutating func wait(_ seconds: TimeInterval) {
        now += seconds
        while renews, let end = goods.subscribedUntil, end <= now { goods.subscribedUntil = end + RealWorld.week }
    }

    // MARK: - On the device

    mutating func hear() {
        told = goods
        toldAt = now
        hasLostTime = false
        lead = 0
    }

    mutating func setClock(ahead: TimeInterval) {
        isClockBehind = ahead < 0
        if ahead >= 0 { hasLostTime = false }
        lead = max(lead, ahead)
    }

    mutating func crash() { if isClockBehind { hasLostTime = true } }

    /// Somebody else was there in between.
    mutating func forget() { (told, acquired) = (Goods(), []) }

    mutating func acquire(_ products: Set<ProductID>) { acquired.formUnion(products) }
}
