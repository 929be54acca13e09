import Foundation
import Primitives

/// Keeps what is told and what happens apart in time, account by account: whatever happens is later than everything
/// that was told before, so that one instant says what somebody knows.
///
/// On a clock that stands still an event is a microsecond later than what was told; on a running one it takes nothing.
final class Moments: Sendable {
    /// Something that is being written, and may be run more than once until it is.
    struct Ticket: Sendable, Hashable { fileprivate let number: Int }

    private struct Entry {
        /// `nil`: all of them.
        var accounts: [Int64]?
        var instant: Date
    }

    private struct State {
        /// The latest instant of which an account was told something.
        var told: [Int64: Date] = [:]
        /// When what is being written happens. Several entries of one account may share a commit.
        var entering: [Ticket: Entry] = [:]
        var tickets = 0
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
            let pending = state.entering.values.filter { $0.accounts?.contains(account) ?? true }.map(\.instant).min()
            let instant = pending.map { min(reading, Self.before($0)) } ?? reading
            if state.told.count >= Self.remembered {
                // Every event to come is later than whatever is forgotten.
                state.floor = max(state.floor, Self.next(state.told.values.max() ?? reading))
                state.told = [:]
            }
            state.told[account] = max(state.told[account] ?? instant, instant)
            return instant
        }
    }

    func ticket() -> Ticket {
        state.withLock { state in
            state.tickets += 1
            return Ticket(number: state.tickets)
        }
    }

    /// The instant of an event that is about to be written for `accounts`; `last` is that of their latest one.
    func enter(_ accounts: [Int64], clock: Date, last: Date, as ticket: Ticket) -> Date {
        state.withLock { state in
            let told = accounts.compactMap { state.told[$0] }.max() ?? .distantPast
            let instant = max(clock, Self.next(last), Self.next(told), state.floor)
            state.entering[ticket] = Entry(accounts: accounts, instant: instant)
            return instant
        }
    }

    /// The same for what concerns every account.
    func enterAll(clock: Date, last: Date, as ticket: Ticket) -> Date {
        state.withLock { state in
            let told = state.told.values.max() ?? .distantPast
            let instant = max(clock, Self.next(last), Self.next(told), state.floor)
            state.entering[ticket] = Entry(accounts: nil, instant: instant)
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
    func left(_ ticket: Ticket) { state.withLock { $0.entering[ticket] = nil } }

    static func next(_ instant: Date) -> Date { Date(milliseconds: instant.milliseconds + 1) }
    static func before(_ instant: Date) -> Date { Date(milliseconds: instant.milliseconds - 1) }
}
