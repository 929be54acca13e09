import Foundation
import Primitives

/// Wakes waiters after a change. A change between the check and the wait is not missed:
///
///     let mark = signal.mark()
///     if nothingThere() { await signal.wait(for: account, since: mark) }
package final class ChangeSignal<Key: Hashable & Sendable>: Sendable {
    private struct State {
        var count: UInt64 = 0
        var raised: [Key: UInt64] = [:]
        /// The count at the last change of all keys.
        var raisedForAll: UInt64 = 0
        var waiting: [Key: [UInt64: CheckedContinuation<Void, Never>]] = [:]
        var tickets: UInt64 = 0
        var isClosed = false
    }

    private let state = Locked(State())

    package init() {}

    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Returns the count of changes. Take it before the check, and pass it to `wait`.
    package func mark() -> UInt64 { state.withLock { $0.count } }

    /// Wakes the waiters of `keys`. The signal stores the last changes of `maximumKeys` keys. With more keys, a waiter
    /// with an older mark can wake once without a change of its key.
    package func raise(_ keys: some Sequence<Key>) {
        let keys = Array(keys)
        let woken = state.withLock { state in
            state.count += 1
            var woken: [CheckedContinuation<Void, Never>] = []
            if state.raised.count >= Self.maximumKeys {
                state.raised = [:]
                state.raisedForAll = state.count
            }
            for key in keys {
                state.raised[key] = state.count
                woken += state.waiting.removeValue(forKey: key).map { Array($0.values) } ?? []
            }
            return woken
        }
        for continuation in woken { continuation.resume() }
    }

    private static var maximumKeys: Int { 4096 }

    /// Wakes all waiters.
    package func raiseAll() {
        let woken = state.withLock { state in
            state.count += 1
            state.raised = [:]
            state.raisedForAll = state.count
            defer { state.waiting = [:] }
            return state.waiting.values.flatMap(\.values)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Wakes all waiters. Later waits return at once.
    package func close() {
        let woken = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return state.waiting.values.flatMap(\.values)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Waits until `key` is raised after `mark`, the signal is closed, or the task is cancelled.
    package func wait(for key: Key, since mark: UInt64) async {
        let ticket = state.withLock { state in
            state.tickets += 1
            return state.tickets
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    let raised = max(state.raised[key, default: 0], state.raisedForAll)
                    if state.isClosed || Task.isCancelled || raised > mark { return true }
                    state.waiting[key, default: [:]][ticket] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting[key]?.removeValue(forKey: ticket) }?.resume()
        }
    }

    /// Waits as `wait(for:since:)`, but at most until `clock` reads `deadline`. Without a deadline the wait has no
    /// limit.
    package func wait(for key: Key, since mark: UInt64, until deadline: Date?, on clock: any WallClock) async {
        guard let deadline else { return await wait(for: key, since: mark) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait(for: key, since: mark) }
            group.addTask { try? await clock.sleep(until: deadline) }
            await group.next()
            group.cancelAll()
        }
    }
}
