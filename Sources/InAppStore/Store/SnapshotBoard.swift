import Foundation
import Observation
import Primitives
import StoreModel

/// Publishes a store's state to observers (`Observation`) and streams. Only `StoreCoordinator` changes it.
final class SnapshotBoard: Observable, Sendable {
    /// The state, and its last snapshot with the time span in which it is valid.
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

    /// The current snapshot. Observers are notified of the next change.
    var snapshot: StoreSnapshot {
        registrar.access(self, keyPath: \.snapshot)
        return current
    }

    /// The current snapshot, without observation.
    var current: StoreSnapshot {
        let now = clock.now()
        return page.withLock { $0.snapshot(at: now) }
    }

    /// Returns the snapshot at the current time. Notifies observers if it differs from `shown`.
    func look(insteadOf shown: StoreSnapshot?) -> StoreSnapshot {
        let snapshot = current
        if snapshot != shown { registrar.withMutation(of: self, keyPath: \.snapshot) {} }
        return snapshot
    }

    /// Replaces the state. Notifies observers if the snapshot differs from `shown`.
    func show(_ state: StoreState, insteadOf shown: StoreSnapshot?) -> StoreSnapshot {
        let now = clock.now()
        var new = Page(state: state)
        let snapshot = new.snapshot(at: now)
        let page = new
        // The state is set first, because an observer may read it at once on another thread.
        self.page.withLock { $0 = page }
        if snapshot != shown { registrar.withMutation(of: self, keyPath: \.snapshot) {} }
        return snapshot
    }
}
