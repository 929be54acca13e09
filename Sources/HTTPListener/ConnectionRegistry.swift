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
        /// Those that have waited longest for their clients, the last one longest of all. What has moved since is passed
        /// over; the others have still waited longer than anybody else.
        var leaving: [Connection.Wait] = []
        var opened = 0
        var lingering: [(socket: Int32, until: ContinuousClock.Instant)] = []
        var isDraining = false
        var forbidsParking = false
    }

    private static let lingerPeriod = Duration.seconds(2)
    private static let maximumLingering = 256
    /// How many are sought out at once: a flood of clients should not cost a look at every connection for each of them.
    private static let leavingAtOnce = 256

    private let deadlines: Connection.Deadlines
    private let maximum: Int
    private let patience: Duration
    private let clock: MonotonicClock
    private let roomMade: @Sendable () -> Void
    private let state = Locked(State())
    /// Not marked Sendable by Dispatch, whose objects may be used from every thread.
    nonisolated(unsafe) private let timer: any DispatchSourceTimer
    private let queue = DispatchQueue(label: "HTTPListener.sweeper")

    /// `roomMade` is called when a connection has closed after `hasRoom` said no.
    ///
    /// - Parameter patience: how long a connection may wait for its client before it can be closed for another one's.
    /// - Parameter sweepInterval: the time between two sweeps; `nil` derives it from the deadlines.
    init(
        maximum: Int, patience: Duration, deadlines: Connection.Deadlines, clock: MonotonicClock,
        sweepInterval: Duration? = nil, roomMade: @escaping @Sendable () -> Void
    ) {
        self.maximum = maximum
        self.patience = patience
        self.deadlines = deadlines
        self.clock = clock
        self.roomMade = roomMade
        timer = DispatchSource.makeTimerSource(queue: queue)
        let shortest = min(deadlines.firstHeaders, deadlines.nextHeaders, deadlines.body)
        let interval =
            sweepInterval ?? clock.readingInterval ?? max(.milliseconds(10), min(shortest / 8, .milliseconds(250)))
        timer.setEventHandler { [weak self] in self?.sweep() }
        let period = DispatchTimeInterval.nanoseconds(Int(interval / .nanoseconds(1)))
        timer.schedule(deadline: .now() + period, repeating: period)
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

    /// Closes the connection that has waited longest for its client; `false` when none has for long enough. It is gone when
    /// `roomMade` is called, if `hasRoom` was asked before.
    func makeRoom() -> Bool {
        if endLongestWait() { return true }
        let now = clock.now
        let connections = state.withLock { Array($0.connections.values) }
        let waits = connections.compactMap(\.wait).filter { now - $0.since >= patience }.sorted()
        state.withLock { $0.leaving = waits.prefix(Self.leavingAtOnce).reversed() }
        return endLongestWait()
    }

    private func endLongestWait() -> Bool {
        while let wait = state.withLock({ $0.leaving.popLast() }) {
            if wait.connection.end(wait) { return true }
        }
        return false
    }

    /// The socket was accepted; it counts as a connection from now on.
    func admit(_ socket: Int32) { state.withLock { _ = $0.admitted.insert(socket) } }

    /// microhttpd did not take the socket.
    func withdraw(_ socket: Int32) { state.withLock { _ = $0.admitted.remove(socket) } }

    // MARK: - Life

    /// microhttpd has made a connection of an admitted socket.
    func open(_ socket: Int32) -> Connection {
        let (connection, isDraining, forbidsParking) = state.withLock { state in
            state.admitted.remove(socket)
            state.opened += 1
            let connection = Connection(socket: socket, number: state.opened)
            state.connections[ObjectIdentifier(connection)] = connection
            return (connection, state.isDraining, state.forbidsParking)
        }
        if isDraining { connection.stopReading() }
        if forbidsParking { connection.forbidParking() }
        return connection
    }

    func close(_ connection: Connection) {
        let lingering = connection.willClose()
        let lingersUntil = lingering.map { _ in clock.now + Self.lingerPeriod }
        let (refused, isRoomAwaited) = state.withLock { state -> (Int32?, Bool) in
            state.connections[ObjectIdentifier(connection)] = nil
            defer { state.isRoomAwaited = false }
            guard let lingering, let lingersUntil, state.lingering.count < Self.maximumLingering else {
                return (lingering, state.isRoomAwaited)
            }
            state.lingering.append((lingering, lingersUntil))
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

    /// Closes what is past its deadline. The timer calls it; it may be called from any thread.
    func sweep() {
        let now = clock.now
        let (connections, lingering, isDraining) = state.withLock { state in
            defer { state.lingering = [] }
            return (Array(state.connections.values), state.lingering, state.isDraining)
        }
        for connection in connections {
            connection.watch(at: now, deadlines)
            // microhttpd misses the end of an input that ends just when a part of it arrives: it reads the part, and
            // waits for an event that has been. Each call makes a new one.
            if isDraining { connection.stopReading() }
        }
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
