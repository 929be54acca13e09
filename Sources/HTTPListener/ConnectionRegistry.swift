import CMicrohttpd
import Dispatch
import Foundation
import Primitives

/// All open connections, and the sweeper that holds them to their deadlines.
final class ConnectionRegistry: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: Connection] = [:]
        /// Accepted sockets of which microhttpd has not yet made connections. One that it could not serve stays here
        /// until its number comes back, which is soon: the lowest free one is always next.
        var admitted: Set<Int32> = []
        var isRoomAwaited = false
        var lingering: [(socket: Int32, until: ContinuousClock.Instant)] = []
        var isDraining = false
        var forbidsParking = false
    }

    private static let lingerPeriod = Duration.seconds(2)
    private static let maximumLingering = 256

    private let deadlines: Connection.Deadlines
    private let maximum: Int
    private let roomMade: @Sendable () -> Void
    private let state = Locked(State())
    /// Not marked Sendable by Dispatch, whose objects may be used from every thread.
    nonisolated(unsafe) private let timer: any DispatchSourceTimer
    private let queue = DispatchQueue(label: "HTTPListener.sweeper")

    /// `roomMade` is called when a connection has closed after `hasRoom` said no.
    init(maximum: Int, deadlines: Connection.Deadlines, roomMade: @escaping @Sendable () -> Void) {
        self.maximum = maximum
        self.deadlines = deadlines
        self.roomMade = roomMade
        timer = DispatchSource.makeTimerSource(queue: queue)
        let shortest = min(deadlines.firstHeaders, deadlines.nextHeaders, deadlines.body)
        let interval = max(.milliseconds(10), min(shortest / 8, .milliseconds(250)))
        timer.setEventHandler { [weak self] in self?.sweep() }
        timer.schedule(deadline: .now(), repeating: .nanoseconds(Int(interval / .nanoseconds(1))))
        timer.activate()
    }

    /// Answers given from now on should end their connection.
    var isDraining: Bool { state.withLock { $0.isDraining } }

    // MARK: - Room

    /// Whether one more connection may be accepted.
    func hasRoom() -> Bool {
        state.withLock { state in
            state.isRoomAwaited = state.connections.count + state.admitted.count >= maximum
            return !state.isRoomAwaited
        }
    }

    /// The socket was accepted; it counts as a connection from now on.
    func admit(_ socket: Int32) { state.withLock { _ = $0.admitted.insert(socket) } }

    /// microhttpd did not take the socket.
    func withdraw(_ socket: Int32) { state.withLock { _ = $0.admitted.remove(socket) } }

    // MARK: - Life

    func open(_ connection: Connection) {
        let (isDraining, forbidsParking) = state.withLock { state in
            state.admitted.remove(connection.socket)
            state.connections[ObjectIdentifier(connection)] = connection
            return (state.isDraining, state.forbidsParking)
        }
        if isDraining { connection.stopReading() }
        if forbidsParking { connection.forbidParking() }
    }

    func close(_ connection: Connection) {
        let lingering = connection.willClose()
        let (refused, isRoomAwaited) = state.withLock { state -> (Int32?, Bool) in
            state.connections[ObjectIdentifier(connection)] = nil
            defer { state.isRoomAwaited = false }
            guard let lingering, state.lingering.count < Self.maximumLingering else {
                return (lingering, state.isRoomAwaited)
            }
            state.lingering.append((lingering, .now + Self.lingerPeriod))
            return (nil, state.isRoomAwaited)
        }
        if let refused { Foundation.close(refused) }
        if isRoomAwaited { roomMade() }
    }

    /// Connections on which no whole request has arrived end, the others after their answer.
    func drain() {
        let connections = state.withLock { state in
            state.isDraining = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.stopReading() }
    }

    /// Ends every wait for a reply.
    func forbidParking() {
        let connections = state.withLock { state in
            state.forbidsParking = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.forbidParking() }
    }

    /// Called when every connection is closed.
    func stop() {
        queue.sync { timer.cancel() }
        let rest = state.withLock { state in
            defer { state.lingering = [] }
            return state.lingering
        }
        for (socket, _) in rest { Foundation.close(socket) }
    }

    private func sweep() {
        let now = ContinuousClock.now
        let (connections, lingering) = state.withLock { state in
            defer { state.lingering = [] }
            return (Array(state.connections.values), state.lingering)
        }
        for connection in connections { connection.watch(at: now, deadlines) }
        guard !lingering.isEmpty else { return }
        let kept = lingering.filter { socket, until in
            if until > now, Self.readOn(socket) { return true }
            Foundation.close(socket)
            return false
        }
        state.withLock { $0.lingering += kept }
    }

    /// Throws away what has arrived; `false` at the end of the input.
    private static func readOn(_ socket: Int32) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { buffer in
            for _ in 0..<64 {
                let count = recv(socket, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                if count < 0 { return errno == EAGAIN || errno == EINTR }
                if count == 0 { return false }
            }
            return true
        }
    }
}
