import Primitives
import SQLStorage

/// The connections for reading. One thread uses each at a time. If none is idle, a read opens a new one. At most
/// `idleReaders` idle connections are kept open.
///
/// A read never waits for a connection. Otherwise a read inside another read could wait forever, because the outer read
/// has the connection.
final class PostgresReaders: Sendable {
    private struct State {
        var idle: [PostgresConnection] = []
        var inUse = 0
        var isClosed = false
    }

    private let settings: PostgresSettings
    private let statements: PostgresStatements
    private let state: Locked<State>
    private let begin: [PostgresQuery]
    private let commit: PostgresStatement

    init(_ settings: PostgresSettings, _ statements: PostgresStatements, first: PostgresConnection?) throws(SQLError) {
        self.settings = settings
        self.statements = statements
        state = Locked(State(idle: first.map { [$0] } ?? []))
        begin = try settings.beginStatements("REPEATABLE READ READ ONLY")
        commit = try PostgresStatement("COMMIT")
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// The number of connections that a body uses.
    var inUse: Int { state.withLock { $0.inUse } }

    func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T {
        let deadline = ContinuousClock.now + settings.configuration.retryTimeout
        while true {
            let (connection, isFresh) = try take()
            do {
                return try run(body, on: connection)
            } catch let error as SQLError where error.code == .connectionLost && !isFresh && .now < deadline {
                // An idle connection may have ended: a restart of the server ends all of them.
                continue
            }
        }
    }

    private func run<T>(_ body: (any SQLConnection) throws -> T, on connection: PostgresConnection) throws -> T {
        let session = PostgresSession(connection, statements, begin: begin)
        defer {
            _ = session.end()
            if session.hasBegun {
                connection.sendWithoutWaiting(PostgresQuery(statement: commit, values: [], isPrepared: false))
            }
            giveBack(connection)
        }
        let result = try body(session)
        try session.sendWaiting()
        if let failure = session.failure { throw failure }
        return result
    }

    private func take() throws(SQLError) -> (PostgresConnection, isFresh: Bool) {
        let (idle, isClosed) = state.withLock { state in
            if !state.isClosed { state.inUse += 1 }
            return (state.idle.popLast(), state.isClosed)
        }
        if isClosed { throw .closed(settings.place) }
        if let idle { return (idle, false) }
        do throws(SQLError) {
            return (try PostgresConnection(settings, for: .transactions), true)
        } catch {
            state.withLock { $0.inUse -= 1 }
            throw error
        }
    }

    private func giveBack(_ connection: PostgresConnection) {
        let isKept = state.withLock { state in
            state.inUse -= 1
            let isWanted = !state.isClosed && !connection.isBroken
            guard isWanted, state.idle.count < settings.configuration.idleReaders else { return false }
            state.idle.append(connection)
            return true
        }
        if !isKept { connection.close() }
    }

    /// Refuses new reads and closes idle connections; a running read closes its connection at its end.
    func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for connection in idle { connection.close() }
    }
}
