import CPostgreSQL
import Foundation
import Primitives
import SQLStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Runs the lookups of many callers over a few connections. A lookup is a query for one row. One thread sends the waiting
/// lookups together, and reads the responses as they arrive. Callers suspend without blocking a thread.
///
/// Lookups do not write. So when a connection is lost, its lookups are repeated on another one.
final class PostgresLookups: Sendable {
    fileprivate struct Lookup: Sendable {
        let query: PostgresQuery
        let continuation: LockedContinuation<SQLRow?>
        /// The number of connections that were lost before the response.
        var attempts = 0

        /// The same lookup, sent without a prepared statement.
        var unprepared: Lookup {
            var query = query
            query.isPrepared = false
            return Lookup(query: query, continuation: continuation, attempts: attempts)
        }
    }

    private struct State {
        var queue: [Lookup] = []
        var isStarted = false
        /// Whether the thread waits, so that the next caller must wake it.
        var isAsleep = false
        var isClosing = false
        var hasEnded = false
        /// The callers of `close` that wait for the end of the thread.
        var closeContinuations: [CheckedContinuation<Void, Never>] = []
    }

    private let settings: PostgresSettings
    private let wakeUp: WakeUp
    private let state = Locked(State())

    /// Throws `cannotOpen` when the process has reached its limit of open files.
    init(_ settings: PostgresSettings) throws(SQLError) {
        self.settings = settings
        do {
            wakeUp = try WakeUp()
        } catch {
            throw SQLError(.cannotOpen, "Cannot create a pipe for the database \(settings.place).", underlying: error)
        }
    }

    /// Returns the first row of a query; `nil` if there is none.
    func first(_ query: PostgresQuery) async throws -> SQLRow? {
        try await LockedContinuation.wait { continuation in
            let (isRefused, mustStart, mustWake) = state.withLock { state in
                guard !state.isClosing else { return (true, false, false) }
                state.queue.append(Lookup(query: query, continuation: continuation))
                defer {
                    state.isStarted = true
                    state.isAsleep = false
                }
                return (false, !state.isStarted, state.isAsleep)
            }
            if isRefused { continuation.resume(throwing: SQLError.closed(settings.place)) }
            if mustStart { Thread.start(named: "PostgreSQL look-ups") { self.run() } }
            if mustWake { wakeUp.signal() }
        }
    }

    /// Refuses new queries. Returns when all queued queries are answered and the thread has ended.
    func close() async {
        await withCheckedContinuation { continuation in
            let isEnded = state.withLock { state in
                state.isClosing = true
                guard state.isStarted, !state.hasEnded else { return true }
                state.closeContinuations.append(continuation)
                return false
            }
            if isEnded { continuation.resume() } else { wakeUp.signal() }
        }
    }

    /// Refuses new queries without waiting for the thread. The deinitializer of the owner calls this.
    func finish() {
        state.withLock { $0.isClosing = true }
        wakeUp.signal()
    }

    /// Distributes lookups and reads responses, until `close` or `finish` was called and all lookups have a response.
    private func run() {
        var connections: [LookupConnection] = []
        /// Lookups that wait for a free connection.
        var waiting: [Lookup] = []
        while true {
            let isIdle = connections.allSatisfy { $0.isIdle }
            let isFinished = state.withLock { state in
                if waiting.isEmpty { swap(&waiting, &state.queue) } else { waiting += state.queue }
                state.queue.removeAll(keepingCapacity: true)
                return state.isClosing && isIdle && waiting.isEmpty
            }
            if isFinished { return end(connections) }
            if !waiting.isEmpty { waiting = distribute(waiting, over: &connections) }
            wait(for: connections)
            for connection in connections { connection.exchange(timeout: settings.configuration.timeout) }
            for connection in connections {
                requeue(connection.isBroken ? connection.closeBroken() : connection.takeAborted())
            }
            connections.removeAll { $0.isBroken }
        }
    }

    private func end(_ connections: [LookupConnection]) {
        for connection in connections { connection.close() }
        let closeContinuations = state.withLock { state in
            state.hasEnded = true
            defer { state.closeContinuations = [] }
            return state.closeContinuations
        }
        for continuation in closeContinuations { continuation.resume() }
    }

    /// Opens connections up to the limit, and distributes the lookups over the free ones. Returns the lookups that must
    /// wait for a free connection.
    ///
    /// If `keepsStatements` is `false`, as behind a pooler, a connection takes no lookups while it waits for responses.
    /// The reason is an error in PgBouncer (https://github.com/pgbouncer/pgbouncer/issues/759): if a statement fails and
    /// more were sent meanwhile, PgBouncer gives the server connection to another client. Later responses then belong to
    /// other clients.
    private func distribute(_ lookups: [Lookup], over connections: inout [LookupConnection]) -> [Lookup] {
        while connections.count < max(1, settings.configuration.lookupConnections) {
            do throws(SQLError) {
                connections.append(LookupConnection(try PostgresConnection(settings, for: .lookups)))
            } catch {
                guard connections.isEmpty else { break }
                for lookup in lookups { lookup.continuation.resume(throwing: error) }
                return []
            }
        }
        let free = settings.configuration.keepsStatements ? connections : connections.filter { $0.isIdle }
        guard !free.isEmpty else { return lookups }
        let share = max(16, (lookups.count + free.count - 1) / free.count)
        var rest = lookups[...]
        for connection in free.sorted(by: { $0.load < $1.load }) where !rest.isEmpty {
            connection.send(rest.prefix(share))
            rest = rest.dropFirst(share)
        }
        return Array(rest)
    }

    /// Waits until a response or a lookup arrives. Waits for one second at most while responses are expected, so that
    /// their timeout is noticed.
    private func wait(for connections: [LookupConnection]) {
        var items = connections.map { pollfd(fd: $0.socket, events: $0.events, revents: 0) }
        items.append(pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0))
        // If the queue is empty, the next caller wakes this thread; otherwise `poll` returns at once.
        let hasQueued = state.withLock { state in
            state.isAsleep = state.queue.isEmpty
            return !state.isAsleep
        }
        poll(&items, nfds_t(items.count), hasQueued ? 0 : connections.allSatisfy { $0.isIdle } ? -1 : 1000)
        state.withLock { $0.isAsleep = false }
        if items[connections.count].revents != 0 { wakeUp.clear() }
    }

    /// Queues lookups again. Fails a lookup if more than `lookupConnections` connections were lost during it.
    private func requeue(_ lookups: [Lookup]) {
        guard !lookups.isEmpty else { return }
        let error = SQLError.lost(settings.place, "all connections for lookups ended before the response")
        let maximum = max(1, settings.configuration.lookupConnections)
        for lookup in lookups where lookup.attempts > maximum { lookup.continuation.resume(throwing: error) }
        state.withLock { $0.queue += lookups.filter { $0.attempts <= maximum } }
    }
}

/// Passes a result from a thread to a waiting task. A lock protects the result, because Thread Sanitizer does not know
/// that resuming a continuation synchronizes.
struct LockedContinuation<Value: Sendable>: Sendable {
    private let result = Locked<Result<Value, any Error>?>(nil)
    private let continuation: CheckedContinuation<Void, Never>

    private init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }

    /// Calls `body` and returns the result when it is available. Throws the error that the continuation was resumed
    /// with.
    static func wait(_ body: (LockedContinuation<Value>) -> Void) async throws -> Value {
        var waiting: LockedContinuation<Value>?
        await withCheckedContinuation { continuation in
            let new = LockedContinuation(continuation)
            waiting = new
            body(new)
        }
        guard let result = waiting?.result.withLock(\.self) else { throw CancellationError() }
        return try result.get()
    }

    func resume(with result: Result<Value, any Error>) {
        self.result.withLock { $0 = result }
        continuation.resume()
    }

    func resume(returning value: Value) { resume(with: .success(value)) }

    func resume(throwing error: any Error) { resume(with: .failure(error)) }
}

/// A connection for lookups, with the lookups that wait for its responses.
private final class LookupConnection {
    private let connection: PostgresConnection
    /// The expected responses in order, with the lookups of statements. Those before `head` have arrived.
    private var expected: [(response: PostgresConnection.ExpectedResponse, lookup: PostgresLookups.Lookup?)] = []
    private var head = 0
    /// Whether a result of the response at `head` was read. A `nil` result then ends the response.
    private var hasResult = false
    private var mustFlush = false
    /// The time of the last response, or of the first lookup after a pause.
    private var lastResponse = ContinuousClock.now
    /// Lookups that were not sent or got no result, because the connection was lost.
    private var failed: [PostgresLookups.Lookup] = []
    /// Lookups that the server skipped because another one failed.
    private var aborted: [PostgresLookups.Lookup] = []

    init(_ connection: PostgresConnection) { self.connection = connection }

    var isBroken: Bool { connection.isBroken }
    var isIdle: Bool { head == expected.count && failed.isEmpty && aborted.isEmpty }
    var load: Int { expected.count - head }
    var socket: CInt { connection.socket }
    var events: Int16 { Int16(POLLIN) | (mustFlush ? Int16(POLLOUT) : 0) }

    /// Queues the statements of lookups in libpq. `exchange` sends them.
    func send(_ lookups: ArraySlice<PostgresLookups.Lookup>) {
        if isIdle { lastResponse = .now }
        var rest = lookups
        var new: [PostgresConnection.ExpectedResponse] = []
        do throws(SQLError) {
            while let lookup = rest.first {
                if let message = message(for: lookup) { try connection.send(message, &new) }
                rest.removeFirst()
                for response in new {
                    if case .statement = response {
                        expected.append((response, lookup))
                    } else {
                        expected.append((response, nil))
                    }
                }
                new.removeAll(keepingCapacity: true)
            }
            try connection.sync(&new)
            expected.append((.sync, nil))
        } catch {
            failed += rest
            connection.markBroken()
        }
        mustFlush = true
    }

    /// Returns the message of a lookup. If its values cannot be encoded, resumes the caller with the error and returns
    /// `nil`.
    private func message(for lookup: PostgresLookups.Lookup) -> PostgresConnection.Message? {
        do throws(SQLError) {
            return try PostgresConnection.Message(lookup.query)
        } catch {
            lookup.continuation.resume(throwing: error)
            return nil
        }
    }

    /// Sends and reads as much as possible without waiting. Marks the connection as broken if the server has not responded
    /// for `timeout`.
    func exchange(timeout: Duration) {
        guard !isBroken else { return }
        do throws(SQLError) {
            if mustFlush { mustFlush = try !connection.flushWithoutWaiting() }
            try connection.receiveWithoutWaiting(process)
        } catch {
            connection.markBroken()
        }
        if !isIdle, lastResponse.duration(to: .now) > timeout { connection.markBroken() }
    }

    /// Processes one result; `nil` ends a response. Returns whether there may be more.
    private func process(_ result: OpaquePointer?) throws(SQLError) -> Bool {
        guard head < expected.count else { return false }
        guard let result else {
            guard hasResult else { return false }
            advance()
            return true
        }
        lastResponse = .now
        let (response, lookup) = expected[head]
        switch response {
        case .sync:
            guard PQresultStatus(result) == PGRES_PIPELINE_SYNC else {
                throw .lost(connection.place, "its responses are out of order")
            }
            advance()
        case .preparation(let key):
            hasResult = true
            // If the preparation failed, the server skips the next statement. Its lookup gets the error here.
            switch PQresultStatus(result) {
            case PGRES_FATAL_ERROR:
                connection.forget(key)
                try answer(following: head, with: result, key)
            case PGRES_PIPELINE_ABORTED: connection.forget(key)
            default: break
            }
        case .statement(let key):
            hasResult = true
            guard let lookup else { break }
            expected[head].lookup = nil
            if PQresultStatus(result) == PGRES_PIPELINE_ABORTED {
                aborted.append(lookup)
            } else if connection.isUnknownStatement(result), lookup.query.isPrepared {
                // The statement was sent before its preparation failed. The repetition without preparation gets the error.
                connection.forget(key)
                aborted.append(lookup.unprepared)
            } else {
                try answer(lookup, with: result, key)
            }
        }
        return true
    }

    /// Resumes the lookup of the response after `index` with the result of its preparation.
    private func answer(following index: Int, with result: OpaquePointer, _ key: PostgresConnection.Key)
        throws(SQLError)
    {
        guard index + 1 < expected.count, let lookup = expected[index + 1].lookup else { return }
        expected[index + 1].lookup = nil
        try answer(lookup, with: result, key)
    }

    /// Resumes a lookup with the row or the error in `result`. If the error is `connectionLost`, throws it instead, so
    /// that the lookup is repeated.
    private func answer(
        _ lookup: PostgresLookups.Lookup, with result: OpaquePointer, _ key: PostgresConnection.Key
    ) throws(SQLError) {
        do throws(SQLError) {
            lookup.continuation.resume(returning: try connection.firstRow(of: result, key: key))
        } catch {
            if error.code == .connectionLost {
                failed.append(lookup)
                throw error
            }
            lookup.continuation.resume(throwing: error)
        }
    }

    /// Continues with the next expected response.
    private func advance() {
        head += 1
        hasResult = false
        if head == expected.count {
            expected.removeAll(keepingCapacity: true)
            head = 0
        }
    }

    /// Returns and forgets the lookups that the server skipped, which are to be repeated.
    func takeAborted() -> [PostgresLookups.Lookup] {
        defer { aborted = [] }
        return aborted
    }

    /// Closes a broken connection and returns its unanswered lookups.
    func closeBroken() -> [PostgresLookups.Lookup] {
        let unanswered = failed + aborted + expected[head...].compactMap(\.lookup)
        expected = []
        failed = []
        aborted = []
        head = 0
        connection.close()
        return unanswered.map { lookup in
            var lookup = lookup
            lookup.attempts += 1
            return lookup
        }
    }

    func close() { connection.close() }
}
