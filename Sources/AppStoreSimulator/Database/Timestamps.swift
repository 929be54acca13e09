import Foundation
import Primitives

/// Keeps what is told and what happens apart in time, account by account: whatever happens is later than everything
/// that was told before, so that one instant says what somebody knows.
///
/// On a clock that stands still an event is a microsecond later than what was told; on a running one it takes nothing.
final class Timestamps: Sendable {
    /// Something that is being written, and may be run more than once until it is.
    struct Ticket: Sendable, Hashable { fileprivate let number: Int }

    private struct PendingEvent {
        /// `nil`: all of them.
        var accounts: [Int64]?
        var instant: Date
    }

    private struct State {
        /// The latest instant of which an account was told something.
        var reported: [Int64: Date] = [:]
        /// When what is being written happens. Several entries of one account may share a commit.
        var pending: [Ticket: PendingEvent] = [:]
        var tickets = 0
        /// No event is earlier: somebody may have been told about it in an earlier run.
        var floor: Date

        mutating func remember(_ account: Int64, _ instant: Date) {
            if reported.count >= Timestamps.remembered {
                // Every event to come is later than whatever is forgotten.
                floor = max(floor, Timestamps.next(reported.values.max() ?? instant))
                reported = [:]
            }
            reported[account] = max(reported[account] ?? instant, instant)
        }
    }

    private let state: Locked<State>
    private static let remembered = 4096

    init(floor: Date) { state = Locked(State(floor: floor)) }

    /// The instant of which `account` can be told everything that is in the books afterwards; `reading` is the clock, or
    /// the account's last event if that is later.
    func report(_ account: Int64, _ reading: Date) -> Date {
        state.withLock { state in
            let pending = state.pending.values.filter { $0.accounts?.contains(account) ?? true }.map(\.instant).min()
            let latest = state.reported[account].map { Self.raise(reading, to: Self.signed($0)) } ?? reading
            let instant = pending.map { min(latest, Self.before($0)) } ?? latest
            state.remember(account, instant)
            return instant
        }
    }

    /// Somebody else is told what happened to `account` until `instant`, within an entry in the books.
    func reported(_ account: Int64, until instant: Date) {
        state.withLock { $0.remember(account, instant) }
    }

    func ticket() -> Ticket {
        state.withLock { state in
            state.tickets += 1
            return Ticket(number: state.tickets)
        }
    }

    /// The instant of an event that is about to be written for `accounts`; `last` is that of their latest one.
    func beginEvent(_ accounts: [Int64], clock: Date, last: Date, as ticket: Ticket) -> Date {
        state.withLock { state in
            let reported = max(last, accounts.compactMap { state.reported[$0] }.max() ?? last)
            let instant = Self.raise(max(clock, Self.next(reported), state.floor), to: Self.signed(reported) + 1)
            state.pending[ticket] = PendingEvent(accounts: accounts, instant: instant)
            return instant
        }
    }

    /// The same for what concerns every account.
    func beginStoreEvent(clock: Date, last: Date, as ticket: Ticket) -> Date {
        state.withLock { state in
            let reported = max(last, state.reported.values.max() ?? last)
            let instant = Self.raise(max(clock, Self.next(reported), state.floor), to: Self.signed(reported) + 1)
            state.pending[ticket] = PendingEvent(accounts: nil, instant: instant)
            return instant
        }
    }

    /// The books were replaced: what was told before is of no account any more, and no event is earlier than `floor`.
    func forget(floor: Date) {
        state.withLock { state in
            state.reported = [:]
            state.floor = Self.next(floor)
        }
    }

    /// What was entered is in the books, or was given up.
    func endEvent(_ ticket: Ticket) { state.withLock { $0.pending[ticket] = nil } }

    /// The millisecond of which something is signed at an instant. Signatures of one millisecond have their order as well:
    /// each microsecond counts as a millisecond, and what is told just before the next one's event comes before it.
    static func signed(_ instant: Date) -> Int64 {
        let (whole, part) = instant.microseconds.quotientAndRemainder(dividingBy: 1000)
        return whole + (part >= 990 ? part - 999 : part)
    }

    /// That instant, or the first one after it that is signed as of `millisecond`.
    private static func raise(_ instant: Date, to millisecond: Int64) -> Date {
        let missing = millisecond - signed(instant)
        let raised = instant.microseconds + max(0, missing)
        // A millisecond has room for so many; the rest goes where they are signed.
        return raised % 1000 < 900 && missing < 900
            ? Date(microseconds: raised) : Date(microseconds: max(millisecond, signed(instant)) * 1000)
    }

    /// Neither goes beyond what can be written down.
    static func next(_ instant: Date) -> Date { Date(microseconds: min(instant.microseconds, .max - 1) + 1) }
    static func before(_ instant: Date) -> Date { Date(microseconds: max(instant.microseconds, .min + 1) - 1) }
}
