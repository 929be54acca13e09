import CMicrohttpd
import Foundation
import Primitives

/// A daemon of microhttpd: one thread that serves its connections.
///
/// Sendable: microhttpd accepts new connections on any thread, and only the listener's `stop` ends the daemon.
struct MHDDaemon: @unchecked Sendable {
    let pointer: OpaquePointer
}

/// A connection of microhttpd.
///
/// Sendable: another thread only resumes it, which microhttpd allows. It is stored only while the connection is
/// suspended, and microhttpd keeps a suspended connection alive.
struct MHDConnection: @unchecked Sendable {
    let pointer: OpaquePointer
}

/// A client connection, with its phase, the start of that phase, and whether it is parked.
///
/// Parking works like a permit: if `unpark` comes before `park`, the next `park` returns at once. So no wake-up is lost
/// between the check for a response and the parking. Spurious wake-ups are possible, so the caller of `park` checks
/// again.
final class Connection: Sendable {
    enum Phase {
        case awaitingFirstRequest, awaitingRequest, readingBody, serving
    }

    enum Parking {
        /// microhttpd does not use the connection until `unpark`.
        case parked
        /// There was a permit, so the caller checks again.
        case again
        /// The listener stops, so no connection may wait.
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

    /// A connection that waits for its client to send a request, or the rest of one. The longest wait is the smallest
    /// value.
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
        /// The socket is shut down, and microhttpd will close it.
        var isEnding = false
        /// The input is shut down, so its end does not show whether the client has disconnected.
        var hasStoppedReading = false
        /// The generation in which `stopReading` found no input, and the time when it found none first.
        var quiet: (generation: Int, since: ContinuousClock.Instant)?
        var phase = Phase.awaitingFirstRequest
        /// The number of phase changes. `watch` compares it, so that no request has to read a clock.
        var generation = 0
        /// The generation that `watch` saw last, and when it saw it first.
        var observed: (generation: Int, since: ContinuousClock.Instant)?
        var exchange: Exchange?
        var parked: MHDConnection?
        var hasPermit = false
        var mayPark = true
        var mustLinger = false
    }

    let socket: Int32
    /// The number of the connection within its listener.
    private let number: Int
    private let state = Locked(State())

    init(socket: Int32, number: Int) {
        self.socket = socket
        self.number = number
    }

    func enter(_ phase: Phase, _ exchange: Exchange?) {
        state.withLock { state in
            state.phase = phase
            state.generation += 1
            state.exchange = exchange
        }
    }

    /// Keeps the socket readable after the connection closes, so that a client that is still sending can read the
    /// response first.
    func lingerAfterClose() { state.withLock { $0.mustLinger = true } }

    /// Called before microhttpd closes the socket. Returns a duplicate of the socket if its input must still be read.
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

    /// Suspends the connection until `unpark`. Only microhttpd's thread for this connection calls it.
    ///
    /// Resuming and suspending happen under the lock, because microhttpd requires that they alternate. Neither call
    /// runs a callback, so the lock cannot be taken twice.
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

    /// Shuts the socket down after a deadline has passed, and abandons the exchange if its client has disconnected.
    func watch(at now: ContinuousClock.Instant, _ deadlines: Deadlines) {
        let abandoned = state.withLock { state -> Exchange? in
            guard state.isOpen else { return nil }
            if state.parked != nil {
                return !state.hasStoppedReading && Self.hasDisconnected(socket) ? state.exchange : nil
            }
            guard let observed = state.observed, observed.generation == state.generation else {
                state.observed = (state.generation, now)
                return nil
            }
            // microhttpd closes the descriptor only after `willClose`, so it still belongs to this connection.
            if let limit = deadlines.limit(of: state.phase), now - observed.since >= limit { end(&state) }
            return nil
        }
        abandoned?.abandon()
    }

    /// The current wait, or `nil` while the connection serves a request. Also `nil` until `watch` has seen the current
    /// phase.
    var wait: Wait? {
        state.withLock { state in
            guard state.isOpen, !state.isEnding, state.phase != .serving, let observed = state.observed,
                observed.generation == state.generation
            else { return nil }
            return Wait(connection: self, since: observed.since, generation: observed.generation)
        }
    }

    /// Whether the connection is open and has no request.
    var awaitsRequest: Bool {
        state.withLock { state in
            state.isOpen && (state.phase == .awaitingFirstRequest || state.phase == .awaitingRequest)
        }
    }

    /// Closes the connection if it is still in this wait. Returns whether it was.
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

    /// Closes the input of a connection that has sent nothing since an earlier call, so that it ends if its next request
    /// is incomplete. The caller repeats the call.
    ///
    /// microhttpd drops a request when it sees the end of the input before it sends the response. So a request that has
    /// arrived must reach the phase `serving` first. Between microhttpd's read and that phase, the input is empty too.
    func stopReading() {
        state.withLock { state in
            guard state.isOpen, state.phase != .serving, !Self.hasInput(socket) else {
                state.quiet = nil
                return
            }
            let now = ContinuousClock.now
            guard let quiet = state.quiet, quiet.generation == state.generation else {
                state.quiet = (state.generation, now)
                return
            }
            guard now - quiet.since >= Self.quietPeriod else { return }
            state.hasStoppedReading = true
            shut(socket, SHUT_RD)
        }
    }

    /// The time that microhttpd's thread may need between its read of a request and the phase `serving`, on a busy
    /// machine.
    private static let quietPeriod = Duration.milliseconds(100)

    private static func hasInput(_ socket: Int32) -> Bool {
        var byte: UInt8 = 0
        return recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0
    }

    /// Forbids parking from now on. Abandons the exchange, and resumes the connection if it is parked.
    func forbidParking() {
        let exchange = state.withLock { state in
            state.mayPark = false
            return state.exchange
        }
        exchange?.abandon()
        unpark()
    }

    private static func hasDisconnected(_ socket: Int32) -> Bool {
        var byte: UInt8 = 0
        let count = recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)
    }
}

private func shut(_ socket: Int32, _ how: Int) { _ = shutdown(socket, Int32(how)) }
