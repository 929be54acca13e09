import Foundation
import Observation
import Primitives
import StoreModel

/// Publishes a store's state to observers (`Observation`) and streams. Only `StoreCoordinator` changes it.
final class SnapshotPublisher: Observable, Sendable {
    /// The state, and its last snapshot with the time span in which it is valid.
    private struct CachedState {
        var state: StoreState
        var last: (snapshot: StoreSnapshot, from: Date, until: Date?)?

        mutating func snapshot(at now: Date) -> StoreSnapshot {
            if let last, now >= last.from, last.until.map({ now < $0 }) ?? true { return last.snapshot }
            let snapshot = state.snapshot(at: now)
            last = (snapshot, now, state.nextChange(after: now))
            return snapshot
        }
    }

    let snapshots = Broadcast<StoreSnapshot>(replaysLast: true)
    private let clock: any WallClock
    private let cached: Locked<CachedState>
    private let registrar = ObservationRegistrar()

    init(_ state: StoreState, clock: any WallClock) {
        cached = Locked(CachedState(state: state))
        self.clock = clock
    }

    var state: StoreState { cached.withLock { $0.state } }

    /// The current snapshot. Observers are notified of the next change.
    var snapshot: StoreSnapshot {
        registrar.access(self, keyPath: \.snapshot)
        return current
    }

    /// The current snapshot, without observation.
    var current: StoreSnapshot {
        let now = clock.now()
        return cached.withLock { $0.snapshot(at: now) }
    }

    /// Returns the snapshot at the current time. Notifies observers if it differs from `published`.
    func refresh(insteadOf published: StoreSnapshot?) -> StoreSnapshot {
        let snapshot = current
        if snapshot != published { registrar.withMutation(of: self, keyPath: \.snapshot) {} }
        return snapshot
    }

    /// Replaces the state. Notifies observers if the snapshot differs from `published`.
    func publish(_ state: StoreState, insteadOf published: StoreSnapshot?) -> StoreSnapshot {
        let now = clock.now()
        var new = CachedState(state: state)
        let snapshot = new.snapshot(at: now)
        let cached = new
        // The state is set first, because an observer may read it at once on another thread.
        self.cached.withLock { $0 = cached }
        if snapshot != published { registrar.withMutation(of: self, keyPath: \.snapshot) {} }
        return snapshot
    }
}
