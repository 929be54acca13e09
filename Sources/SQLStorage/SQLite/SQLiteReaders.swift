import Foundation
import Primitives

/// The connections for reading. One thread uses each at a time. If none is idle, a read opens a new one. At most
/// `idleLimit` idle connections are kept open.
///
/// A read never waits for a connection. Otherwise a read inside another read could wait forever, because the outer read
/// has the connection. There are never more connections than reads that have run at the same time.
final class SQLiteReaders: Sendable {
    private struct State {
        var idle: [SQLiteConnection] = []
        var inUse = 0
        var isClosed = false
    }

    private let path: String
    private let idleLimit: Int
    private let open: @Sendable () throws -> SQLiteConnection
    private let state = Locked(State())
    private let lastReturned = DispatchSemaphore(value: 0)

    /// - Parameter open: opens a connection when none is idle.
    init(path: String, idleLimit: Int, open: @escaping @Sendable () throws -> SQLiteConnection) {
        self.path = path
        self.idleLimit = idleLimit
        self.open = open
    }

    func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T {
        let connection = try take()
        defer { giveBack(connection) }
        try connection.run(.begin)
        defer { connection.endQuietly() }
        return try connection.session(body)
    }

    private func take() throws -> SQLiteConnection {
        let idle: SQLiteConnection? = try state.withLock { state in
            guard !state.isClosed else { throw SQLError.closed(path) }
            state.inUse += 1
            return state.idle.popLast()
        }
        if let idle { return idle }
        do {
            return try open()
        } catch {
            countReturned()
            throw error
        }
    }

    private func giveBack(_ connection: SQLiteConnection) {
        let isKept = state.withLock { state in
            guard !state.isClosed, state.idle.count < idleLimit else { return false }
            state.idle.append(connection)
            return true
        }
        if !isKept { connection.close() }
        countReturned()
    }

    private func countReturned() {
        let isLast = state.withLock { state in
            state.inUse -= 1
            return state.isClosed && state.inUse == 0
        }
        if isLast { lastReturned.signal() }
    }

    /// Refuses new reads; running reads continue.
    func refuse() {
        state.withLock { $0.isClosed = true }
    }

    /// Refuses new reads, waits for running ones, and closes all connections. Called once.
    func close() {
        let mustWait = state.withLock { state in
            state.isClosed = true
            return state.inUse > 0
        }
        if mustWait { lastReturned.wait() }
        let idle = state.withLock { state in
            defer { state.idle = [] }
            return state.idle
        }
        for connection in idle { connection.close() }
    }
}
