import Foundation
import Observation
import Primitives
import StoreModel

/// Where a store's state stands for everybody to read, and who hears that it changed: observers (`Observation`) and
/// streams. Only the keeper writes here.
final class SnapshotBoard: Observable, Sendable {
    /// The state, and the snapshot last made of it with the span in which it is true.
    private struct Page {
        var state: StoreState
        var made: (snapshot: StoreSnapshot, from: Date, until: Date?)?

        mutating func snapshot(at now: Date) -> StoreSnapshot {
            if let made, now >= made.from, made.until.map({ now < $0 }) ?? true { return made.snapshot }
            let snapshot = state.snapshot(at: now)
            made = (snapshot, now, state.nextChange(after: now))
            return snapshot
        }
    }

    let snapshots = Broadcast<StoreSnapshot>(replaysLast: true)
    private let clock: any WallClock
    private let page: Locked<Page>
    private let registrar = ObservationRegistrar()

    init(_ state: StoreState, clock: any WallClock) {
        page = Locked(Page(state: state))
        self.clock = clock
    }

    var state: StoreState { page.withLock { $0.state } }

    /// As it is now; who observes hears of the next one.
    var snapshot: StoreSnapshot {
        registrar.access(self, keyPath: \.snapshot)
        return current
    }

    /// As it is now, unobserved.
    var current: StoreSnapshot {
        let now = clock.now()
        return page.withLock { $0.snapshot(at: now) }
    }

    /// As time has made it. Observers are told when the snapshot is not `shown` any more.
    func look(insteadOf shown: StoreSnapshot?) -> StoreSnapshot {
        let snapshot = current
        if snapshot != shown { registrar.withMutation(of: self, keyPath: \.snapshot) {} }
        return snapshot
    }

    /// Puts a state in the place of the one before. Observers are told when the snapshot is not `shown` any more.
    func show(_ state: StoreState, insteadOf shown: StoreSnapshot?) -> StoreSnapshot {
        let now = clock.now()
        var new = Page(state: state)
        let snapshot = new.snapshot(at: now)
        let page = new
        // An observer may read at once, on another thread, so the new state is there before any of them hears of it.
        self.page.withLock { $0 = page }
        if snapshot != shown { registrar.withMutation(of: self, keyPath: \.snapshot) {} }
        return snapshot
    }
}
