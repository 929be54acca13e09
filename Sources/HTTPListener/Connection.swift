import CMicrohttpd
import Foundation
import Primitives

/// microhttpd's handle of a daemon: one thread that serves its connections.
///
/// Sendable: microhttpd allows connections to be added on any thread, and only the listener's `stop` ends it.
struct MHDDaemon: @unchecked Sendable {
    let pointer: OpaquePointer
}

/// microhttpd's handle of a connection.
///
/// Sendable: it leaves microhttpd's thread only to be resumed, which microhttpd allows on any thread, and is kept only
/// while the connection is suspended, when microhttpd keeps it alive.
struct MHDConnection: @unchecked Sendable {
    let pointer: OpaquePointer
}

/// One client connection: which phase it is in, since when, and whether it is parked.
///
/// Parking works like a permit: `unpark` before `park` makes the next `park` return at once, so that no wake-up is lost
/// between looking for an answer and parking. A spurious wake-up is possible; whoever parks looks again.
final class Connection: Sendable {
    enum Phase {
        case awaitingFirstRequest, awaitingRequest, readingBody, serving
    }

    enum Parking {
        /// microhttpd leaves the connection alone until `unpark`.
        case parked
        /// There was a permit: look again.
        case again
        /// The listener stops; nothing may wait any more.
        case refused
    }

    struct Deadlines {
        let firstHeaders: Duration
        let nextHeaders: Duration
        let body: Duration

        func limit(of phase: Phase) -> Duration? {
            switch phase {
            case .awaitingFirstRequest: firstHeaders
            case .awaitingRequest: nextHeaders
            case .readingBody: body
            case .serving: nil
            }
        }
    }

    /// A connection that waits for its client: for a request, or for the rest of one. Sorted by who has waited longest.
    struct Wait: Comparable {
        let connection: Connection
        let since: ContinuousClock.Instant
        fileprivate let generation: Int

        static func < (left: Wait, right: Wait) -> Bool {
            (left.since, left.connection.number) < (right.since, right.connection.number)
        }

        static func == (left: Wait, right: Wait) -> Bool {
            left.connection === right.connection && left.generation == right.generation
        }
    }

    private struct State {
        var isOpen = true
        /// Its socket is shut, and microhttpd will close it.
        var isEnding = false
        var phase = Phase.awaitingFirstRequest
        /// Counts changes of phase, so that nothing on the way of a request has to look at a clock.
        var generation = 0
        var seen: (generation: Int, since: ContinuousClock.Instant)?
        var exchange: Exchange?
        var parked: MHDConnection?
        var hasPermit = false
        var mayPark = true
        var mustLinger = false
    }

    let socket: Int32
    /// Counts the connections of a listener.
    private let number: Int
    private let state = Locked(State())

    init(socket: Int32, number: Int) {
        self.socket = socket
        self.number = number
    }

    // MARK: - Phases

    func enter(_ phase: Phase, _ exchange: Exchange?) {
        state.withLock { state in
            state.phase = phase
            state.generation += 1
            state.exchange = exchange
        }
    }

    /// Its sender may still be sending when the connection closes: let it read the answer first.
    func lingerAfterClose() { state.withLock { $0.mustLinger = true } }

    /// The connection is about to be closed. Returns a duplicate of the socket if its input should be read on.
    func willClose() -> Int32? {
        let mustLinger = state.withLock { state in
            state.isOpen = false
            state.exchange = nil
            return state.mustLinger
        }
        var byte: UInt8 = 0
        guard mustLinger || recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0 else {
            return nil
        }
        let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        return copy >= 0 ? copy : nil
    }

    // MARK: - Parking

    /// Called by microhttpd's thread for this connection only. Resuming and suspending happen under the lock, as
    /// microhttpd demands that they alternate; it calls nothing of ours from inside.
    func park(_ connection: MHDConnection) -> Parking {
        state.withLock { state in
            guard state.mayPark else { return .refused }
            if state.hasPermit {
                state.hasPermit = false
                return .again
            }
            MHD_suspend_connection(connection.pointer)
            state.parked = connection
            return .parked
        }
    }

    func unpark() {
        state.withLock { state in
            if let parked = state.parked {
                state.parked = nil
                MHD_resume_connection(parked.pointer)
            } else {
                state.hasPermit = true
            }
        }
    }

    // MARK: - Watching

    /// Shuts the socket when a deadline has passed, and tells the exchange when its client has gone.
    func watch(at now: ContinuousClock.Instant, _ deadlines: Deadlines) {
        let abandoned = state.withLock { state -> Exchange? in
            guard state.isOpen else { return nil }
            if state.parked != nil { return Self.hasHungUp(socket) ? state.exchange : nil }
            guard let seen = state.seen, seen.generation == state.generation else {
                state.seen = (state.generation, now)
                return nil
            }
            // microhttpd closes the descriptor only after `willClose`, so it is still this connection's.
            if let limit = deadlines.limit(of: state.phase), now - seen.since >= limit { end(&state) }
            return nil
        }
        abandoned?.abandon()
    }

    /// `nil` while a request is being answered, and before `watch` has seen that it is not.
    var wait: Wait? {
        state.withLock { state in
            guard state.isOpen, !state.isEnding, state.phase != .serving, let seen = state.seen,
                seen.generation == state.generation
            else { return nil }
            return Wait(connection: self, since: seen.since, generation: seen.generation)
        }
    }

    /// Closes it, unless it no longer waits as it did; says whether.
    func end(_ wait: Wait) -> Bool {
        state.withLock { state in
            guard state.isOpen, !state.isEnding, state.generation == wait.generation else { return false }
            end(&state)
            return true
        }
    }

    private func end(_ state: inout State) {
        state.isEnding = true
        shut(socket, SHUT_RDWR)
    }

    /// Lets a connection end whose next request has not arrived whole: what is there already is still answered.
    func stopReading() {
        state.withLock { state in
            guard state.isOpen, state.phase != .serving else { return }
            shut(socket, SHUT_RD)
        }
    }

    /// From now on nothing may wait: what is parked comes back, with its exchange abandoned.
    func forbidParking() {
        let exchange = state.withLock { state in
            state.mayPark = false
            return state.exchange
        }
        exchange?.abandon()
        unpark()
    }

    private static func hasHungUp(_ socket: Int32) -> Bool {
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)
    }
}

private func shut(_ socket: Int32, _ how: Int) { _ = shutdown(socket, Int32(how)) }
