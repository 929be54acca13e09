import Foundation
import Primitives

/// Chooses the timestamps of events and reports, so that each event of an account is later than everything reported to
/// it before. One instant then identifies everything that a device has received.
///
/// While the clock is stopped, an event is at least a microsecond later than the last report. On a running clock it
/// usually has the time of the clock.
final class Timestamps: Sendable {
    /// The identity of an event that is being written. A write can be repeated until it is committed.
    struct Ticket: Sendable, Hashable { fileprivate let number: Int }

    private struct PendingEvent {
        /// The accounts that the event concerns; `nil` means all.
        var accounts: [Int64]?
        var instant: Date
    }

    private struct State {
        /// The latest instant that was reported to each account.
        var reported: [Int64: Date] = [:]
        /// The events that are not yet committed. Several events of an account can share a commit.
        var pending: [Ticket: PendingEvent] = [:]
        var tickets = 0
        /// The earliest instant of a new event: an earlier process can have reported everything before it.
        var floor: Date

        mutating func remember(_ account: Int64, _ instant: Date) {
            if reported.count >= Timestamps.maximumAccounts {
                floor = max(floor, Timestamps.next(reported.values.max() ?? instant))
                reported = [:]
            }
            reported[account] = max(reported[account] ?? instant, instant)
        }
    }

    private let state: Locked<State>
    private static let maximumAccounts = 4096

    init(floor: Date) { state = Locked(State(floor: floor)) }

    /// Returns the instant for a report to `account`. A later read of the database contains every event up to it.
    ///
    /// `reading` is the time of the clock, or of the account's latest event if that is later.
    func report(_ account: Int64, _ reading: Date) -> Date {
        state.withLock { state in
            let pending = state.pending.values.filter { $0.accounts?.contains(account) ?? true }.map(\.instant).min()
            let latest = state.reported[account].map { Self.raise(reading, to: Self.signed($0)) } ?? reading
            let instant = pending.map { min(latest, Self.before($0)) } ?? latest
            state.remember(account, instant)
            return instant
        }
    }

    /// Records, within a write, that everything about `account` up to `instant` was reported to the app's server.
    func reported(_ account: Int64, until instant: Date) {
        state.withLock { $0.remember(account, instant) }
    }

    func ticket() -> Ticket {
        state.withLock { state in
            state.tickets += 1
            return Ticket(number: state.tickets)
        }
    }

    /// Returns the timestamp of an event of `accounts` that is about to be written. `last` is the latest event of any
    /// of them.
    func beginEvent(_ accounts: [Int64], clock: Date, last: Date, as ticket: Ticket) -> Date {
        state.withLock { state in
            let reported = max(last, accounts.compactMap { state.reported[$0] }.max() ?? last)
            let instant = Self.raise(max(clock, Self.next(reported), state.floor), to: Self.signed(reported) + 1)
            state.pending[ticket] = PendingEvent(accounts: accounts, instant: instant)
            return instant
        }
    }

    /// Returns the timestamp of an event that concerns every account.
    func beginStoreEvent(clock: Date, last: Date, as ticket: Ticket) -> Date {
        state.withLock { state in
            let reported = max(last, state.reported.values.max() ?? last)
            let instant = Self.raise(max(clock, Self.next(reported), state.floor), to: Self.signed(reported) + 1)
            state.pending[ticket] = PendingEvent(accounts: nil, instant: instant)
            return instant
        }
    }

    /// Forgets all reports, because the database was replaced. New events are later than `floor`.
    func forget(floor: Date) {
        state.withLock { state in
            state.reported = [:]
            state.floor = Self.next(floor)
        }
    }

    /// Ends an event that was committed or abandoned.
    func endEvent(_ ticket: Ticket) { state.withLock { $0.pending[ticket] = nil } }

    /// Returns the millisecond that is written into a document signed at an instant.
    ///
    /// Documents of one millisecond keep their order: each microsecond adds a millisecond. The last ten microseconds
    /// subtract up to nine milliseconds instead, so that a report just before an event is signed with an earlier
    /// millisecond than the event.
    static func signed(_ instant: Date) -> Int64 {
        let (whole, part) = instant.microseconds.quotientAndRemainder(dividingBy: 1000)
        return whole + (part >= 990 ? part - 999 : part)
    }

    /// Returns `instant`, or the first instant after it that is signed with `millisecond`.
    private static func raise(_ instant: Date, to millisecond: Int64) -> Date {
        let missing = millisecond - signed(instant)
        let raised = instant.microseconds + max(0, missing)
        // Events use only the first 900 microseconds; a later event moves to the start of its signed millisecond.
        return raised % 1000 < 900 && missing < 900
            ? Date(microseconds: raised) : Date(microseconds: max(millisecond, signed(instant)) * 1000)
    }

    /// The next microsecond, limited to the range of `Int64`.
    static func next(_ instant: Date) -> Date { Date(microseconds: min(instant.microseconds, .max - 1) + 1) }
    /// The previous microsecond, limited to the range of `Int64`.
    static func before(_ instant: Date) -> Date { Date(microseconds: max(instant.microseconds, .min + 1) - 1) }
}
