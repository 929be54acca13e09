import Foundation
import Primitives
import SQLStorage

/// The threads that write, each with its own connection, which it opens at its first body. They take queued bodies in
/// order, and run them concurrently.
final class PostgresWriters: Sendable {
    private struct State {
        var queue: [any QueuedWrite] = []
        var idle = 0
        var threads = 0
        var isClosing = false
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let settings: PostgresSettings
    private let statements: PostgresStatements
    private let state = Locked(State())
    private let wake = DispatchSemaphore(value: 0)
    private let contention = WriteContention()
    private let beginning: [PostgresQuery]
    private let commit: PostgresStatement
    private let rollback: PostgresStatement
    private let beginningToSettle: [PostgresQuery]
    /// The number of commits until old marks are deleted.
    private let untilForgetting = Locked(1_000)

    /// The number of conflicts after which a body runs alone among the writers of this program.
    private static let attemptsBesideOthers = 3

    init(_ settings: PostgresSettings, _ statements: PostgresStatements) throws(SQLError) {
        self.settings = settings
        self.statements = statements
        let level = settings.configuration.isolation == .serializable ? "SERIALIZABLE" : "READ COMMITTED"
        beginning = try settings.beginning("\(level) READ WRITE")
        commit = try PostgresStatement("COMMIT")
        rollback = try PostgresStatement("ROLLBACK")
        beginningToSettle = try settings.beginning("READ COMMITTED READ WRITE")
    }

    // MARK: - Requests

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

    private func enqueue(_ write: any QueuedWrite) {
        enum Next { case wake, start, wait, refuse }
        let next: Next = state.withLock { state in
            guard !state.isClosing else { return .refuse }
            state.queue.append(write)
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
        case .start: Thread.start(named: "PostgreSQL writer") { self.work() }
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
                state.closers.append(continuation)
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

    // MARK: - Threads

    private func work() {
        var connection: PostgresConnection?
        while let write = next() {
            guard write.start() else { continue }
            perform(write, on: &connection)
        }
        connection?.close()
        let closers = state.withLock { state in
            state.threads -= 1
            guard state.threads == 0 else { return [] as [CheckedContinuation<Void, Never>] }
            defer { state.closers = [] }
            return state.closers
        }
        for closer in closers { closer.resume() }
    }

    /// Returns the next body, and waits for it; `nil` when the threads are closing and the queue is empty.
    private func next() -> (any QueuedWrite)? {
        while true {
            let (write, mustEnd): ((any QueuedWrite)?, Bool) = state.withLock { state in
                if !state.queue.isEmpty { return (state.queue.removeFirst(), false) }
                guard !state.isClosing else { return (nil, true) }
                state.idle += 1
                return (nil, false)
            }
            if let write { return write }
            if mustEnd { return nil }
            wake.wait()
        }
    }

    /// Runs a body until it is committed or fails, and answers its caller.
    private func perform(_ write: any QueuedWrite, on connection: inout PostgresConnection?) {
        let deadline = ContinuousClock.now + settings.configuration.retryTimeout
        var attempt = 0
        while true {
            attempt += 1
            let isAlone = attempt > Self.attemptsBesideOthers
            contention.begin(alone: isAlone)
            let mark = CommitMark()
            let outcome = Result { try run(write, leaving: mark, on: &connection) }
            contention.end(alone: isAlone)
            switch outcome {
            case .success:
                write.answer(commitFailedWith: nil)
                return forgetMarks(on: &connection)
            case .failure(let error):
                if let error = error as? SQLError {
                    if error.code == .outcomeUnknown {
                        guard let isCommitted = settle(mark, until: deadline) else {
                            return write.answer(commitFailedWith: error)
                        }
                        if isCommitted { return write.answer(commitFailedWith: nil) }
                        if .now < deadline { continue }
                        return write.answer(commitFailedWith: SQLError.lost(settings.place, "\(error.message)"))
                    }
                    // A concurrent insert of the same row can give this error instead of a conflict.
                    let mayBeConflict = error.code == .uniqueViolation && attempt <= Self.attemptsBesideOthers
                    if error.mayRunAgain || mayBeConflict, .now < deadline {
                        pause(after: attempt, error)
                        continue
                    }
                }
                return write.answer(commitFailedWith: error)
            }
        }
    }

    /// Finds out whether a transaction without a response to its commit was committed. Afterwards the result is final.
    /// Returns `nil` when it cannot be found out in time.
    private func settle(_ mark: CommitMark, until deadline: ContinuousClock.Instant) -> Bool? {
        var attempt = 0
        repeat {
            attempt += 1
            do {
                let connection = try PostgresConnection(settings, for: .transactions)
                defer { connection.close() }
                let answers = try connection.exchange(
                    beginningToSettle + [
                        try mark.settling(), PostgresQuery(statement: commit, values: [], isKept: false),
                    ], endsWithCommit: true)
                if let isLeft: Int64 = try answers[beginningToSettle.count].rows.first?["is_left"] {
                    return isLeft == 1
                }
                return nil
            } catch {
                guard let error = error as? SQLError, error.code != .closed else { return nil }
                pause(after: attempt, error)
            }
        } while ContinuousClock.now < deadline
        return nil
    }

    /// Deletes old marks, now and then.
    private func forgetMarks(on connection: inout PostgresConnection?) {
        let isDue = untilForgetting.withLock { count in
            count -= 1
            guard count == 0 else { return false }
            count = 10_000
            return true
        }
        guard isDue, let current = connection, let query = try? CommitMark.forgetting() else { return }
        _ = try? current.exchange([query])
        if current.isBroken || current.isInTransaction {
            current.close()
            connection = nil
        }
    }

    /// Separates bodies that had a conflict, and gives a restarting server time.
    private func pause(after attempt: Int, _ error: SQLError) {
        let most = min(error.code == .conflict ? 0.001 : 0.05, 0.5) * Double(1 << min(attempt, 5))
        Thread.sleep(forTimeInterval: .random(in: 0...most))
    }

    /// Opens a new connection. Retries any failure, because the database could be opened before.
    private func connect() throws(SQLError) -> PostgresConnection {
        do throws(SQLError) {
            return try PostgresConnection(settings, for: .transactions)
        } catch {
            throw SQLError(.connectionLost, error.message, underlying: error)
        }
    }

    /// Runs a body once, in a transaction. Throws its error, or that of the commit.
    private func run(
        _ write: any QueuedWrite, leaving mark: CommitMark, on kept: inout PostgresConnection?
    ) throws {
        let connection = try kept ?? connect()
        kept = connection
        defer {
            if connection.isBroken {
                connection.close()
                kept = nil
            }
        }
        let session = PostgresSession(connection, statements, beginning: beginning)
        do {
            var waiting: [PostgresQuery] = []
            try write.run { body in
                defer { waiting = session.end() }
                try body(session)
                if let failure = session.failure { throw failure }
            }
            guard session.hasBegun || waiting.count > session.beginningCount else { return }
            _ = try connection.exchange(
                waiting + [try mark.leaving(), PostgresQuery(statement: commit, values: [], isKept: false)],
                endsWithCommit: true)
        } catch {
            if !connection.isBroken, connection.isInTransaction {
                _ = try? connection.exchange([PostgresQuery(statement: rollback, values: [], isKept: false)])
            }
            // The first error of the server is the reason, even if the body threw another.
            throw session.failure ?? error
        }
    }
}

/// Lets a body with too many conflicts run alone among the bodies of this program, so that it succeeds under any load.
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
