import CMicrohttpd
import Dispatch
import Foundation
import Primitives

/// All open connections, and the timer that enforces their deadlines.
final class ConnectionRegistry: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: Connection] = [:]
        /// Accepted sockets for which microhttpd has not created a connection. If microhttpd cannot serve a socket, the
        /// number of the socket stays here until the system reuses it. That is soon, because the system always assigns
        /// the lowest free number.
        var admitted: Set<Int32> = []
        var isRoomAwaited = false
        /// The connections to close next, the longest wait last. Those that have become active since are skipped. Each
        /// of the others has waited longer than all connections that are not in this list.
        var closingCandidates: [Connection.Wait] = []
        var opened = 0
        var lingering: [(socket: Int32, until: ContinuousClock.Instant)] = []
        var isDraining = false
        var forbidsParking = false
    }

    private static let lingerPeriod = Duration.seconds(2)
    private static let maximumLingering = 256
    /// The number of connections that one search collects, so that not every new client causes a search.
    private static let maximumCandidates = 256

    private let deadlines: Connection.Deadlines
    private let maximum: Int
    private let minimumWait: Duration
    private let clock: MonotonicClock
    private let roomMade: @Sendable () -> Void
    private let state = Locked(State())
    /// Dispatch does not mark its objects as Sendable, but they may be used on every thread.
    nonisolated(unsafe) private let timer: any DispatchSourceTimer
    private let queue = DispatchQueue(label: "HTTPListener.sweeper")

    /// Creates a registry.
    ///
    /// - Parameters:
    ///   - maximum: The number of connections from which `hasRoom` returns `false`.
    ///   - minimumWait: The time that a connection must have waited for its client before `makeRoom` may close it.
    ///   - deadlines: The time limits of the phases.
    ///   - clock: The clock that measures deadlines and waits.
    ///   - sweepInterval: The time between two sweeps; `nil` derives it from the clock or the deadlines.
    ///   - roomMade: A function that is called when a connection has closed after `hasRoom` returned `false`.
    init(
        maximum: Int, minimumWait: Duration, deadlines: Connection.Deadlines, clock: MonotonicClock,
        sweepInterval: Duration? = nil, roomMade: @escaping @Sendable () -> Void
    ) {
        self.maximum = maximum
        self.minimumWait = minimumWait
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

    /// Whether each response ends its connection from now on.
    var isDraining: Bool { state.withLock { $0.isDraining } }

    /// The number of open connections.
    var count: Int { state.withLock { $0.connections.count } }

    /// Returns whether another connection may be accepted.
    func hasRoom() -> Bool {
        state.withLock { state in
            state.isRoomAwaited = state.connections.count + state.admitted.count >= maximum
            return !state.isRoomAwaited
        }
    }

    /// Closes the connection that has waited longest for its client. Returns `false` when none has waited long enough.
    /// If the last call of `hasRoom` returned `false`, `roomMade` is called after the connection has closed.
    func makeRoom() -> Bool {
        if endLongestWait() { return true }
        let now = clock.now
        let connections = state.withLock { Array($0.connections.values) }
        let waits = connections.compactMap(\.wait).filter { now - $0.since >= minimumWait }.sorted()
        state.withLock { $0.closingCandidates = waits.prefix(Self.maximumCandidates).reversed() }
        return endLongestWait()
    }

    private func endLongestWait() -> Bool {
        while let wait = state.withLock({ $0.closingCandidates.popLast() }) {
            if wait.connection.end(wait) { return true }
        }
        return false
    }

    /// Counts an accepted socket as a connection.
    func admit(_ socket: Int32) { state.withLock { _ = $0.admitted.insert(socket) } }

    /// Removes a socket that microhttpd did not accept. microhttpd has closed it.
    func withdraw(_ socket: Int32) { state.withLock { _ = $0.admitted.remove(socket) } }

    /// Creates the connection of an admitted socket, when microhttpd has opened it.
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

    /// Whether a connection waits for a request, or microhttpd has not opened it yet.
    var hasWaitingConnection: Bool {
        let (connections, hasAdmitted) = state.withLock { (Array($0.connections.values), !$0.admitted.isEmpty) }
        return hasAdmitted || connections.contains(where: \.awaitsRequest)
    }

    /// Closes connections without a complete request at once, and the others after their response.
    func drain() {
        let connections = state.withLock { state in
            state.isDraining = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.stopReading() }
    }

    /// Forbids parking (see `Connection`) from now on. Abandons all exchanges and resumes parked connections.
    func forbidParking() {
        let connections = state.withLock { state in
            state.forbidsParking = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.forbidParking() }
    }

    /// Stops the timer and closes the lingering sockets. Called when every connection is closed.
    func stop() {
        queue.sync { timer.cancel() }
        let lingering = state.withLock { state in
            defer { state.lingering = [] }
            return state.lingering
        }
        for (socket, _) in lingering { Foundation.close(socket) }
    }

    /// Closes connections and sockets whose deadline has passed. The timer calls this method, but any thread may call
    /// it.
    ///
    /// While the registry drains, it calls `stopReading` again. microhttpd misses the end of an input that arrives
    /// together with data: it reads the data and then waits for an event that has passed. Each call creates a new
    /// event.
    func sweep() {
        let now = clock.now
        let (connections, lingering, isDraining) = state.withLock { state in
            defer { state.lingering = [] }
            return (Array(state.connections.values), state.lingering, state.isDraining)
        }
        for connection in connections {
            connection.watch(at: now, deadlines)
            if isDraining { connection.stopReading() }
        }
        guard !lingering.isEmpty else { return }
        let kept = lingering.filter { socket, until in
            if until > now, Self.discardInput(socket) { return true }
            Foundation.close(socket)
            return false
        }
        state.withLock { $0.lingering += kept }
    }

    /// Discards the input that has arrived. Returns `false` at the end of the input.
    private static func discardInput(_ socket: Int32) -> Bool {
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
