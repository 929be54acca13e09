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

/// Runs single queries of many callers over a few connections. One thread sends the waiting queries together, and reads
/// the responses as they arrive. Callers suspend without blocking a thread.
///
/// The queries only read, so they are repeated on another connection when a connection is lost.
final class PostgresLookups: Sendable {
    fileprivate struct Lookup: Sendable {
        let query: PostgresQuery
        let continuation: LockedContinuation<SQLRow?>
        var attempts = 0

        var unprepared: Lookup {
            var query = query
            query.isKept = false
            return Lookup(query: query, continuation: continuation, attempts: attempts)
        }
    }

    private struct State {
        var queue: [Lookup] = []
        var isStarted = false
        var isAsleep = false
        var isClosing = false
        var hasEnded = false
        var closers: [CheckedContinuation<Void, Never>] = []
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
            throw SQLError(.cannotOpen, "No pipe could be made for \(settings.place).", underlying: error)
        }
    }

    // MARK: - Requests

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
            if mustStart { Thread.start(named: "PostgreSQL look-ups") { self.work() } }
            if mustWake { wakeUp.signal() }
        }
    }

    /// Refuses new queries. Returns when all queued queries are answered and the thread has ended.
    func close() async {
        await withCheckedContinuation { continuation in
            let isEnded = state.withLock { state in
                state.isClosing = true
                guard state.isStarted, !state.hasEnded else { return true }
                state.closers.append(continuation)
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

    // MARK: - Threads

    private func work() {
        var lines: [LookupConnection] = []
        /// Lookups for which no connection was free.
        var waiting: [Lookup] = []
        while true {
            let isIdle = lines.allSatisfy { $0.isIdle }
            let mustEnd = state.withLock { state in
                if waiting.isEmpty { swap(&waiting, &state.queue) } else { waiting += state.queue }
                state.queue.removeAll(keepingCapacity: true)
                return state.isClosing && isIdle && waiting.isEmpty
            }
            if mustEnd { return end(lines) }
            if !waiting.isEmpty { waiting = distribute(waiting, over: &lines) }
            wait(for: lines)
            for line in lines { line.step(timeout: settings.configuration.timeout) }
            for line in lines { askAgain(line.isBroken ? line.end() : line.takeAborted()) }
            lines.removeAll { $0.isBroken }
        }
    }

    private func end(_ lines: [LookupConnection]) {
        for line in lines { line.close() }
        let closers = state.withLock { state in
            state.hasEnded = true
            defer { state.closers = [] }
            return state.closers
        }
        for closer in closers { closer.resume() }
    }

    /// Opens connections up to the limit, and distributes the lookups over the free ones. Returns the lookups that must
    /// wait for a free connection.
    ///
    /// With `keepsStatements` off, as behind a pooler, a connection takes no lookups while responses are outstanding.
    /// If a statement fails and more were sent meanwhile, PgBouncer gives the server connection to another client
    /// (https://github.com/pgbouncer/pgbouncer/issues/759). Later responses then belong to other clients.
    private func distribute(_ lookups: [Lookup], over lines: inout [LookupConnection]) -> [Lookup] {
        while lines.count < max(1, settings.configuration.lookupConnections) {
            do throws(SQLError) {
                lines.append(LookupConnection(try PostgresConnection(settings, for: .lookups)))
            } catch {
                guard lines.isEmpty else { break }
                for lookup in lookups { lookup.continuation.resume(throwing: error) }
                return []
            }
        }
        let free = settings.configuration.keepsStatements ? lines : lines.filter { $0.isIdle }
        guard !free.isEmpty else { return lookups }
        let share = max(16, (lookups.count + free.count - 1) / free.count)
        var rest = lookups[...]
        for line in free.sorted(by: { $0.load < $1.load }) where !rest.isEmpty {
            line.send(rest.prefix(share))
            rest = rest.dropFirst(share)
        }
        return Array(rest)
    }

    /// Waits until a response or a lookup arrives. While responses are outstanding, waits for one second at most.
    private func wait(for lines: [LookupConnection]) {
        var items = lines.map { pollfd(fd: $0.socket, events: $0.events, revents: 0) }
        items.append(pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0))
        // If the queue is empty, the next caller wakes this thread; otherwise `poll` returns at once.
        let hasMore = state.withLock { state in
            state.isAsleep = state.queue.isEmpty
            return !state.isAsleep
        }
        poll(&items, nfds_t(items.count), hasMore ? 0 : lines.allSatisfy { $0.isIdle } ? -1 : 1000)
        state.withLock { $0.isAsleep = false }
        if items[lines.count].revents != 0 { wakeUp.clear() }
    }

    private func askAgain(_ lookups: [Lookup]) {
        guard !lookups.isEmpty else { return }
        let error = SQLError.lost(settings.place, "each connection for look-ups ended during one")
        let most = max(1, settings.configuration.lookupConnections)
        for lookup in lookups where lookup.attempts > most { lookup.continuation.resume(throwing: error) }
        state.withLock { $0.queue += lookups.filter { $0.attempts <= most } }
    }
}

/// Passes a result from a thread to a waiting task. A lock protects the result, because Thread Sanitizer does not know
/// the synchronization of a continuation.
struct LockedContinuation<Value: Sendable>: Sendable {
    private let result = Locked<Result<Value, any Error>?>(nil)
    private let continuation: CheckedContinuation<Void, Never>

    private init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }

    /// Calls `body` and returns the result when it is available. Throws the error that the continuation was resumed
    /// with.
    static func wait(_ body: (LockedContinuation<Value>) -> Void) async throws -> Value {
        var made: LockedContinuation<Value>?
        await withCheckedContinuation { continuation in
            let new = LockedContinuation(continuation)
            made = new
            body(new)
        }
        guard let result = made?.result.withLock(\.self) else { throw CancellationError() }
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
    /// The expected responses in order, from `head` on.
    private var steps: [(step: PostgresConnection.Step, lookup: PostgresLookups.Lookup?)] = []
    private var head = 0
    /// Whether a result of the step at the head was read.
    private var hasResult = false
    private var mustFlush = false
    private var lastAnswer = ContinuousClock.now
    private var failed: [PostgresLookups.Lookup] = []
    private var aborted: [PostgresLookups.Lookup] = []

    init(_ connection: PostgresConnection) { self.connection = connection }

    var isBroken: Bool { connection.isBroken }
    var isIdle: Bool { head == steps.count && failed.isEmpty && aborted.isEmpty }
    var load: Int { steps.count - head }
    var socket: CInt { connection.socket }
    var events: Int16 { Int16(POLLIN) | (mustFlush ? Int16(POLLOUT) : 0) }

    func send(_ lookups: ArraySlice<PostgresLookups.Lookup>) {
        if isIdle { lastAnswer = .now }
        var rest = lookups
        var new: [PostgresConnection.Step] = []
        do throws(SQLError) {
            while let lookup = rest.first {
                if let message = message(for: lookup) { try connection.send(message, &new) }
                rest.removeFirst()
                for step in new {
                    if case .statement = step { steps.append((step, lookup)) } else { steps.append((step, nil)) }
                }
                new.removeAll(keepingCapacity: true)
            }
            try connection.sync(&new)
            steps.append((.sync, nil))
        } catch {
            failed += rest
            connection.breakOff()
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

    /// Sends and reads as much as possible, and closes a connection that has not responded for `timeout`.
    func step(timeout: Duration) {
        guard !isBroken else { return }
        do throws(SQLError) {
            if mustFlush { mustFlush = try !connection.flushWithoutWaiting() }
            try connection.receiveWithoutWaiting(take)
        } catch {
            connection.breakOff()
        }
        if !isIdle, lastAnswer.duration(to: .now) > timeout { connection.breakOff() }
    }

    /// Processes one result. Returns whether there may be more.
    private func take(_ result: OpaquePointer?) throws(SQLError) -> Bool {
        guard head < steps.count else { return false }
        guard let result else {
            guard hasResult else { return false }
            advance()
            return true
        }
        lastAnswer = .now
        let (step, lookup) = steps[head]
        switch step {
        case .sync:
            guard PQresultStatus(result) == PGRES_PIPELINE_SYNC else {
                throw .lost(connection.place, "it answered out of order")
            }
            advance()
        case .preparation(let key):
            hasResult = true
            // If the preparation failed, the server skips the next statement. The lookup of that statement gets the
            // error here.
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
            steps[head].lookup = nil
            if PQresultStatus(result) == PGRES_PIPELINE_ABORTED {
                aborted.append(lookup)
            } else if connection.isForgotten(result), lookup.query.isKept {
                // The statement was sent before its preparation failed. The lookup is sent again unprepared, to get the
                // error.
                connection.forget(key)
                aborted.append(lookup.unprepared)
            } else {
                try answer(lookup, with: result, key)
            }
        }
        return true
    }

    private func answer(following place: Int, with result: OpaquePointer, _ key: PostgresConnection.Key)
        throws(SQLError)
    {
        guard place + 1 < steps.count, let lookup = steps[place + 1].lookup else { return }
        steps[place + 1].lookup = nil
        try answer(lookup, with: result, key)
    }

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

    private func advance() {
        head += 1
        hasResult = false
        if head == steps.count {
            steps.removeAll(keepingCapacity: true)
            head = 0
        }
    }

    /// Returns the lookups that the server skipped because another one failed.
    func takeAborted() -> [PostgresLookups.Lookup] {
        defer { aborted = [] }
        return aborted
    }

    /// Closes a broken connection and returns its unanswered lookups.
    func end() -> [PostgresLookups.Lookup] {
        let left = failed + aborted + steps[head...].compactMap(\.lookup)
        steps = []
        failed = []
        aborted = []
        head = 0
        connection.close()
        return left.map { lookup in
            var lookup = lookup
            lookup.attempts += 1
            return lookup
        }
    }

    func close() { connection.close() }
}
