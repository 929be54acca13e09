import Foundation
import Primitives

/// Keeps what is told and what happens apart in time, account by account: whatever happens is later than everything
/// that was told before, so that one instant says what somebody knows.
///
/// On a clock that stands still an event is a microsecond later than what was told; on a running one it takes nothing.
final class Moments: Sendable {
    private struct State {
        /// The latest instant of which an account was told something.
        var told: [Int64: Date] = [:]
        /// When what is being written for an account happens.
        var entering: [Int64: Date] = [:]
        var enteringAll: Date?
        /// No event is earlier: somebody may have been told about it in an earlier run.
        var floor: Date
    }

    private let state: Locked<State>
    private static let remembered = 4096

    init(floor: Date) { state = Locked(State(floor: floor)) }

    /// The instant of which `account` can be told everything that is in the books afterwards; `reading` is the clock, or
    /// the account's last event if that is later.
    func tell(_ account: Int64, _ reading: Date) -> Date {
        state.withLock { state in
            let pending = [state.entering[account], state.enteringAll].compactMap(\.self).min()
            let instant = pending.map { min(reading, Self.before($0)) } ?? reading
            if state.told.count >= Self.remembered {
                // What is before the clock is so for every event to come.
                let past = state.told.filter { $0.value >= reading }
                state.told = past.count < Self.remembered ? past : [:]
                if past.count >= Self.remembered { state.floor = max(state.floor, past.values.max() ?? reading) }
            }
            state.told[account] = max(state.told[account] ?? instant, instant)
            return instant
        }
    }

    /// The instant of an event that is about to be written for `accounts`; `last` is that of their latest one.
    func enter(_ accounts: [Int64], clock: Date, last: Date) -> Date {
        state.withLock { state in
            let told = accounts.compactMap { state.told[$0] }.max() ?? .distantPast
            let instant = max(clock, Self.next(last), Self.next(told), state.floor)
            for account in accounts { state.entering[account] = instant }
            return instant
        }
    }

    /// The same for what concerns every account.
    func enterAll(clock: Date, last: Date) -> Date {
        state.withLock { state in
            let told = state.told.values.max() ?? .distantPast
            let instant = max(clock, Self.next(last), Self.next(told), state.floor)
            state.enteringAll = instant
            return instant
        }
    }

    /// The books were replaced: what was told before is of no account any more, and no event is earlier than `floor`.
    func forget(floor: Date) {
        state.withLock { state in
            state.told = [:]
            state.floor = Self.next(floor)
        }
    }

    /// What was entered is in the books, or was given up.
    func left(_ accounts: [Int64]) {
        state.withLock { for account in accounts { $0.entering[account] = nil } }
    }

    func leftAll() { state.withLock { $0.enteringAll = nil } }

    static func next(_ instant: Date) -> Date { Date(milliseconds: instant.milliseconds + 1) }
    static func before(_ instant: Date) -> Date { Date(milliseconds: instant.milliseconds - 1) }
}
