import Foundation
import StoreModel

/// A simple reference model of a customer: the real state at the store, and the state that the device knows.
struct ReferenceCustomer {
    /// The purchases and the subscription of a customer.
    struct Ownership: Equatable {
        /// The products that were bought and not refunded, without consumables.
        var owned: Set<ProductID> = []
        /// The end or renewal of the subscription.
        var subscribedUntil: Date?

        func isSubscribed(at now: Date) -> Bool { subscribedUntil.map { now < $0 } ?? false }
    }

    private(set) var now: Date
    private(set) var ownership = Ownership()
    private var renews = false
    private(set) var reported = Ownership()
    private(set) var acquired: Set<ProductID> = []
    /// The instant of the device's last reported state. The device's time cannot be earlier.
    private var reportedAt: Date
    private var isClockBehind = false
    /// By how much the device's clock was ahead when the server last sent the time.
    private var lead: TimeInterval = 0
    /// Whether the app ended without storing the time, and its clock is now behind.
    private var hasLostTime = false

    init(at now: Date) { (self.now, reportedAt) = (now, now) }

    var isSubscribed: Bool { ownership.isSubscribed(at: now) }

    /// The allowed answers to whether there is a subscription. Both are allowed if the device cannot know the time.
    var subscription: Set<Bool> {
        Set([now, hasLostTime ? reportedAt : now, now + lead].map(reported.isSubscribed))
    }

    /// The products that the device must allow, with and without a subscription.
    func allowed(subscribed: Bool) -> Set<String> {
        let enabled = acquired.filter { $0.rawValue.hasPrefix("film.") }
        return Set((subscribed ? reported.owned.union(enabled) : reported.owned).map(\.rawValue))
    }

    // MARK: - At the store

    mutating func buy(_ product: ProductID) {
        if product == "pro.weekly" {
            ownership.subscribedUntil = now + RealWorld.week
            renews = true
        } else if product != "coins" {
            ownership.owned.insert(product)
        }
    }

    mutating func refund(_ product: ProductID) {
        ownership.owned.remove(product)
        guard product == "pro.weekly" else { return }
        ownership.subscribedUntil = nil
        renews = false
    }

    mutating func setRenewal(_ isOn: Bool) { renews = isOn }

    mutating func wait(_ seconds: TimeInterval) {
        now += seconds
        while renews, let end = ownership.subscribedUntil, end <= now {
            ownership.subscribedUntil = end + RealWorld.week
        }
    }

    // MARK: - On the device

    mutating func refresh() {
        reported = ownership
        reportedAt = now
        hasLostTime = false
        lead = 0
    }

    mutating func setClock(ahead: TimeInterval) {
        isClockBehind = ahead < 0
        if ahead >= 0 { hasLostTime = false }
        lead = max(lead, ahead)
    }

    mutating func crash() { if isClockBehind { hasLostTime = true } }

    /// Forgets the reported state, because another customer was logged in meanwhile.
    mutating func forget() { (reported, acquired) = (Ownership(), []) }

    mutating func acquire(_ products: Set<ProductID>) { acquired.formUnion(products) }
}
