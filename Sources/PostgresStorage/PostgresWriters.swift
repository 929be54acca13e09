import Foundation
import Primitives
import SQLStorage

/// The threads that run the bodies of `write`, concurrently. They take queued bodies in order. Each thread opens its own
/// connection for its first body.
final class PostgresWriters: Sendable {
    private struct State {
        var queue: [(write: any QueuedWrite, since: ContinuousClock.Instant)] = []
        /// The number of threads that wait for a body.
        var idle = 0
        var threads = 0
        /// The number of threads that run a body.
        var running = 0
        var waits = DurationHistogram()
        var isClosing = false
        var closeContinuations: [CheckedContinuation<Void, Never>] = []
    }

    private let settings: PostgresSettings
    private let statements: PostgresStatements
    private let state = Locked(State())
    private let wake = DispatchSemaphore(value: 0)
    private let contention = WriteContention()
    private let begin: [PostgresQuery]
    private let commit: PostgresStatement
    private let rollback: PostgresStatement
    private let beginCheck: [PostgresQuery]
    /// The number of commits until old commit marks are deleted.
    private let commitsUntilDeletion = Locked(1_000)

    /// The number of attempts in which a body runs beside others of this program. In later attempts, after conflicts or
    /// lost connections, it runs alone.
    private static let concurrentAttempts = 3

    init(_ settings: PostgresSettings, _ statements: PostgresStatements) throws(SQLError) {
        self.settings = settings
        self.statements = statements
        let level = settings.configuration.isolation == .serializable ? "SERIALIZABLE" : "READ COMMITTED"
        begin = try settings.beginStatements("\(level) READ WRITE")
        commit = try PostgresStatement("COMMIT")
        rollback = try PostgresStatement("ROLLBACK")
        beginCheck = try settings.beginStatements("READ COMMITTED READ WRITE")
    }

    func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T {
        let write = QueuedBody(body)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if write.attach({ continuation.resume(with: $0) }) { enqueue(write) }
            }
        } onCancel: {
            write.cancel()
        }
    }

    /// The number of connections that a body uses, the number of bodies that wait, and how long bodies waited.
    var usage: (inUse: Int, queued: Int, waits: DurationHistogram) {
        state.withLock { ($0.running, $0.queue.count, $0.waits) }
    }

    private func enqueue(_ write: any QueuedWrite) {
        enum Next { case wake, start, wait, refuse }
        let now = ContinuousClock.now
        let next: Next = state.withLock { state in
            guard !state.isClosing else { return .refuse }
            state.queue.append((write, now))
            if state.idle > 0 {
                state.idle -= 1
                return .wake
            }
            guard state.threads < max(1, settings.configuration.writers) else { return .wait }
            state.threads += 1
            return .start
        }
        switch next {
        case .wake: wake.signal()
        case .start: Thread.start(named: "PostgreSQL writer") { self.run() }
        case .wait: break
        case .refuse:
            write.fail(SQLError.closed(settings.place))
            write.answer(commitFailedWith: nil)
        }
    }

    /// Lets the threads finish the queue, and returns when they have ended.
    func close() async {
        await withCheckedContinuation { continuation in
            let isEnded = state.withLock { state in
                state.isClosing = true
                guard state.threads > 0 else { return true }
                state.closeContinuations.append(continuation)
                return false
            }
            if isEnded { continuation.resume() } else { wakeAll() }
        }
    }

    /// Closes the writers when their owner is deallocated and cannot wait.
    func finish() {
        state.withLock { $0.isClosing = true }
        wakeAll()
    }

    private func wakeAll() {
        let sleeping = state.withLock { state in
            defer { state.idle = 0 }
            return state.idle
        }
        for _ in 0..<sleeping { wake.signal() }
    }

    private func run() {
        var connection: PostgresConnection?
        while let write = next() {
            if write.start() { perform(write, on: &connection) }
            state.withLock { $0.running -= 1 }
        }
        connection?.close()
        let closeContinuations = state.withLock { state in
            state.threads -= 1
            guard state.threads == 0 else { return [] as [CheckedContinuation<Void, Never>] }
            defer { state.closeContinuations = [] }
            return state.closeContinuations
        }
        for continuation in closeContinuations { continuation.resume() }
    }

    /// Waits for the next body and returns it. Returns `nil` when the threads are closing and the queue is empty.
    private func next() -> (any QueuedWrite)? {
        while true {
            let (write, mustEnd): ((any QueuedWrite)?, Bool) = state.withLock { state in
                if !state.queue.isEmpty {
                    let (write, since) = state.queue.removeFirst()
                    state.waits.add(since.duration(to: .now))
                    state.running += 1
                    return (write, false)
                }
                guard !state.isClosing else { return (nil, true) }
                state.idle += 1
                return (nil, false)
            }
            if let write { return write }
            if mustEnd { return nil }
            wake.wait()
        }
    }

    /// Runs a body until it is committed or fails, and resumes its caller.
    private func perform(_ write: any QueuedWrite, on connection: inout PostgresConnection?) {
        let deadline = ContinuousClock.now + settings.configuration.retryTimeout
        var attempt = 0
        while true {
            attempt += 1
            let isAlone = attempt > Self.concurrentAttempts
            contention.begin(alone: isAlone)
            let mark = CommitMark()
            let outcome = Result { try run(write, inserting: mark, on: &connection) }
            contention.end(alone: isAlone)
            switch outcome {
            case .success:
                write.answer(commitFailedWith: nil)
                return deleteOldMarks(on: &connection)
            case .failure(let error):
                if let error = error as? SQLError {
                    if error.code == .outcomeUnknown {
                        guard let isCommitted = checkCommit(mark, until: deadline) else {
                            return write.answer(commitFailedWith: error)
                        }
                        if isCommitted { return write.answer(commitFailedWith: nil) }
                        if .now < deadline { continue }
                        return write.answer(commitFailedWith: SQLError.lost(settings.place, "\(error.message)"))
                    }
                    // A concurrent insert of the same row can cause this error instead of a conflict.
                    let mayBeConflict = error.code == .uniqueViolation && attempt <= Self.concurrentAttempts
                    if error.mayRunAgain || mayBeConflict, .now < deadline {
                        pause(after: attempt, error)
                        continue
                    }
                }
                return write.answer(commitFailedWith: error)
            }
        }
    }

    /// Checks whether a transaction was committed although the response to its commit is missing. The result is final.
    /// Returns `nil` if the check does not succeed in time.
    private func checkCommit(_ mark: CommitMark, until deadline: ContinuousClock.Instant) -> Bool? {
        var attempt = 0
        repeat {
            attempt += 1
            do {
                let connection = try PostgresConnection(settings, for: .transactions)
                defer { connection.close() }
                let answers = try connection.exchange(
                    beginCheck + [
                        try mark.check(), PostgresQuery(statement: commit, values: [], isPrepared: false),
                    ], endsWithCommit: true)
                if let isCommitted: Int64 = try answers[beginCheck.count].rows.first?["is_committed"] {
                    return isCommitted == 1
                }
                return nil
            } catch {
                guard let error = error as? SQLError, error.code != .closed else { return nil }
                pause(after: attempt, error)
            }
        } while ContinuousClock.now < deadline
        return nil
    }

    /// Deletes old commit marks, if enough commits have passed since the last deletion.
    private func deleteOldMarks(on connection: inout PostgresConnection?) {
        let isDue = commitsUntilDeletion.withLock { count in
            count -= 1
            guard count == 0 else { return false }
            count = 10_000
            return true
        }
        guard isDue, let current = connection, let query = try? CommitMark.deletionOfOld() else { return }
        _ = try? current.exchange([query])
        if current.isBroken || current.isInTransaction {
            current.close()
            connection = nil
        }
    }

    /// Waits for a random time, so that two bodies in conflict do not run at the same time again. The wait is longer
    /// after other errors, because a server may need time to restart.
    private func pause(after attempt: Int, _ error: SQLError) {
        let maximum = min(error.code == .conflict ? 0.001 : 0.05, 0.5) * Double(1 << min(attempt, 5))
        Thread.sleep(forTimeInterval: .random(in: 0...maximum))
    }

    /// Opens a new connection. Throws every failure as `connectionLost`, which is retried, because the database could be
    /// opened before.
    private func connect() throws(SQLError) -> PostgresConnection {
        do throws(SQLError) {
            return try PostgresConnection(settings, for: .transactions)
        } catch {
            throw SQLError(.connectionLost, error.message, underlying: error)
        }
    }

    /// Runs a body once, in a transaction. Throws its error, or that of the commit.
    private func run(
        _ write: any QueuedWrite, inserting mark: CommitMark, on kept: inout PostgresConnection?
    ) throws {
        let connection = try kept ?? connect()
        kept = connection
        defer {
            if connection.isBroken {
                connection.close()
                kept = nil
            }
        }
        let session = PostgresSession(connection, statements, begin: begin)
        do {
            var waiting: [PostgresQuery] = []
            try write.run { body in
                defer { waiting = session.end() }
                try body(session)
                if let failure = session.failure { throw failure }
            }
            guard session.hasBegun || waiting.count > session.beginCount else { return }
            _ = try connection.exchange(
                waiting + [try mark.insertion(), PostgresQuery(statement: commit, values: [], isPrepared: false)],
                endsWithCommit: true)
        } catch {
            if !connection.isBroken, connection.isInTransaction {
                _ = try? connection.exchange([PostgresQuery(statement: rollback, values: [], isPrepared: false)])
            }
            // The first error of the server is thrown, even if the body threw another one afterwards.
            throw session.failure ?? error
        }
    }
}

/// A lock with which a body that failed too often runs alone among the bodies of this program, so that it has no more
/// conflicts with them.
private final class WriteContention: Sendable {
    private struct State {
        var running = 0
        var waitingAlone = 0
        var isAlone = false

        mutating func mayBegin(alone: Bool) -> Bool {
            guard !isAlone, alone ? running == 0 : waitingAlone == 0 else { return false }
            if alone {
                waitingAlone -= 1
                isAlone = true
            } else {
                running += 1
            }
            return true
        }
    }

    private let condition = NSCondition()
    private let state = Locked(State())

    func begin(alone: Bool) {
        condition.lock()
        defer { condition.unlock() }
        if alone { state.withLock { $0.waitingAlone += 1 } }
        while !state.withLock({ $0.mayBegin(alone: alone) }) { condition.wait() }
    }

    func end(alone: Bool) {
        condition.lock()
        state.withLock { state in
            if alone { state.isAlone = false } else { state.running -= 1 }
        }
        condition.broadcast()
        condition.unlock()
    }
}
