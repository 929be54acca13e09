import Foundation
import Primitives

/// The only thread that writes. Writes that are queued until a commit begins share it, up to a limit.
final class SQLiteWriter: Sendable {
    fileprivate enum Work {
        case write(any QueuedWrite)
        case alone(@Sendable (SQLiteConnection) -> Void)
    }

    private enum Batch {
        case group([any QueuedWrite])
        case alone(@Sendable (SQLiteConnection) -> Void)
    }

    fileprivate struct State {
        var queue: [Work] = []
        var isIdle = false
        var isClosing = false
        var hasEnded = false
        var thread: ObjectIdentifier?
        var closeContinuations: [CheckedContinuation<Void, Never>] = []
    }

    /// A transaction with this many members takes no write that arrived after its beginning. Otherwise it would end only
    /// when no caller has anything left to write. Then all callers would wait for one commit, and the processors too,
    /// instead of preparing the next writes meanwhile.
    private static let limitOfArrivals = 12

    private let path: String
    private let file: OpenFile
    private let groupLimit: Int
    private let state = Locked(State())
    private let wake = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    /// Starts the thread, which owns `connection` until it calls `whenEnded`. After each commit it resumes the callers.
    /// Then, and after each task of `runAlone`, it calls `whenCommitted`.
    init(
        connection: SQLiteConnection, file: OpenFile, groupLimit: Int,
        whenCommitted: @escaping @Sendable (SQLiteConnection) -> Void, whenEnded: @escaping @Sendable () -> Void
    ) {
        path = connection.path
        self.file = file
        self.groupLimit = max(1, groupLimit)
        Thread.start(named: "SQLite writer") { [self] in
            state.withLock { $0.thread = ObjectIdentifier(Thread.current) }
            while let batch = next() {
                switch batch {
                case .group(let members): commit(members, on: connection)
                case .alone(let task): task(connection)
                }
                whenCommitted(connection)
            }
            whenEnded()
            let closeContinuations = state.withLock { state in
                state.hasEnded = true
                defer { state.closeContinuations = [] }
                return state.closeContinuations
            }
            ended.signal()
            for continuation in closeContinuations { continuation.resume() }
        }
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

    func writeAndWait<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) throws -> T {
        let write = QueuedBody(body)
        return try waiting { answer in
            if write.attach(answer) { enqueue(write) }
        }
    }

    /// Runs `task` between two commits, outside a transaction, and waits for its end.
    func runAlone(_ task: @escaping @Sendable (SQLiteConnection) throws -> Void) throws {
        try waiting { answer in
            let isQueued = enqueue(.alone { connection in answer(Result { try task(connection) }) })
            if !isQueued { answer(.failure(SQLError.closed(path))) }
        }
    }

    /// Runs `task` as `runAlone` does, without blocking the thread.
    func runBetweenCommits<T: Sendable>(_ task: @escaping @Sendable (SQLiteConnection) throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            let isQueued = enqueue(.alone { connection in continuation.resume(with: Result { try task(connection) }) })
            if !isQueued { continuation.resume(throwing: SQLError.closed(path)) }
        }
    }

    /// Refuses new writes. Returns when the thread has finished the queue and has ended.
    func close() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                state.isClosing = true
                if !state.hasEnded { state.closeContinuations.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() } else { wake.signal() }
        }
    }

    /// Closes the writer when its owner is deallocated. Waits for the end of the thread, unless it is called on that
    /// thread, which may release the last reference to the database after a body.
    func finish() {
        let isOnThread = state.withLock { state in
            state.isClosing = true
            return state.thread == ObjectIdentifier(Thread.current)
        }
        wake.signal()
        if !isOnThread { ended.wait() }
    }

    private func waiting<T: Sendable>(
        for start: (@escaping @Sendable (Result<T, any Error>) -> Void) -> Void
    ) throws -> T {
        guard state.withLock({ $0.thread != ObjectIdentifier(Thread.current) }) else {
            throw SQLError(
                .misuse,
                "A body of the database \(path) must not wait for another write; use the connection of the body.")
        }
        let result = Locked<Result<T, any Error>?>(nil)
        let hasResult = DispatchSemaphore(value: 0)
        start { answer in
            result.withLock { $0 = answer }
            hasResult.signal()
        }
        hasResult.wait()
        guard let answer = result.withLock({ $0 }) else { throw SQLError.closed(path) }
        return try answer.get()
    }

    private func enqueue(_ write: any QueuedWrite) {
        if !enqueue(.write(write)) {
            write.fail(SQLError.closed(path))
            write.answer(commitFailedWith: nil)
        }
    }

    private func enqueue(_ work: Work) -> Bool {
        let (isQueued, mustWake) = state.withLock { state in
            guard !state.isClosing else { return (false, false) }
            state.queue.append(work)
            defer { state.isIdle = false }
            return (true, state.isIdle)
        }
        if mustWake { wake.signal() }
        return isQueued
    }

    /// The number of queued writes and tasks.
    var queuedCount: Int { state.withLock { $0.queue.count } }

    var isClosing: Bool { state.withLock { $0.isClosing } }

    /// Waits for the next batch and returns it. Returns `nil` when the writer is closing and the queue is empty.
    private func next() -> Batch? {
        while true {
            let (batch, mustEnd): (Batch?, Bool) = state.withLock { state in
                if case .alone(let task)? = state.queue.first {
                    state.queue.removeFirst()
                    return (.alone(task), false)
                }
                let members = state.takeWrites(groupLimit)
                if !members.isEmpty { return (.group(members), false) }
                state.isIdle = true
                return (nil, state.isClosing)
            }
            if let batch { return batch }
            if mustEnd { return nil }
            wake.wait()
        }
    }

    /// Runs the members in one transaction, and resumes their callers after its commit. Errors are also passed on after
    /// the commit, because they may depend on another member's changes.
    ///
    /// Writes that arrive while the members run become members too, up to `limitOfArrivals`: with fewer commits, each write
    /// takes less processor time and waits less for the disk. Later writes wait for the next commit.
    ///
    /// The members run without savepoints, because SQLite would copy every page that a member changes. If a member fails
    /// after a change or ends the transaction, the transaction is rolled back. Then the members that had run, and all
    /// others, run in savepoints of their own.
    ///
    /// Checks before and after the commit that the files are at their paths, and after it that they were not truncated;
    /// otherwise fails all members. If the file was moved during the commit, the moved file contains the failed writes.
    private func commit(_ members: [any QueuedWrite], on connection: SQLiteConnection) {
        var waiting = members
        var inTransaction: [any QueuedWrite] = []
        var lost: [any QueuedWrite] = []
        var hasSavepoints = false
        let limit = min(groupLimit, Self.limitOfArrivals)
        do {
            try file.checkPaths()
            try connection.run(.beginImmediate)
            while true {
                if waiting.isEmpty { waiting = state.withLock { $0.takeWrites(limit - inTransaction.count) } }
                guard !waiting.isEmpty else { break }
                let member = waiting.removeFirst()
                guard member.start() else { continue }
                if !hasSavepoints {
                    inTransaction.append(member)
                    guard !runInGroup(member, on: connection) else { continue }
                    connection.endQuietly()
                    hasSavepoints = true
                    waiting = inTransaction + waiting
                    inTransaction = []
                    try connection.run(.beginImmediate)
                    continue
                }
                do {
                    try runInSavepoint(member, on: connection)
                } catch {
                    waiting.insert(member, at: 0)
                    throw error
                }
                if connection.isInTransaction {
                    inTransaction.append(member)
                } else {
                    // The failure rolled back the transaction, so the other members run again.
                    lost.append(member)
                    waiting = inTransaction + waiting
                    inTransaction = []
                    try connection.run(.beginImmediate)
                }
            }
            try connection.run(.commit)
            try file.check()
            for member in lost + inTransaction { member.answer(commitFailedWith: nil) }
        } catch var error {
            connection.endQuietly()
            // A truncated file is the cause of other errors.
            do { try file.check() } catch let cause { error = cause }
            for member in lost { member.answer(commitFailedWith: nil) }
            for member in inTransaction + waiting { member.answer(commitFailedWith: error) }
        }
    }

    /// Runs one member. Returns `false` if it failed after a change or ended the transaction.
    private func runInGroup(_ member: any QueuedWrite, on connection: SQLiteConnection) -> Bool {
        let before = connection.writes
        do {
            try run(member, on: connection)
        } catch {
            member.fail(error)
            return connection.isInTransaction && connection.writes == before
        }
        return true
    }

    private func run(_ member: any QueuedWrite, on connection: SQLiteConnection) throws {
        try member.run { try connection.session($0) }
        if connection.hasUnresolvedForeignKeys {
            throw SQLError(.foreignKeyViolation, "A row of the database \(path) must refer to an existing one.")
        }
    }

    /// Runs one member in its own savepoint. If it fails, rolls back its changes alone, and throws if that fails too.
    private func runInSavepoint(_ member: any QueuedWrite, on connection: SQLiteConnection) throws {
        try connection.run(.savepoint)
        do {
            try run(member, on: connection)
        } catch {
            member.fail(error)
            guard connection.isInTransaction else { return }
            try connection.run(.rollbackToSavepoint)
        }
        try connection.run(.release)
    }
}

extension SQLiteWriter.State {
    /// Takes the writes at the head of the queue, `limit` at most.
    fileprivate mutating func takeWrites(_ limit: Int) -> [any QueuedWrite] {
        var members: [any QueuedWrite] = []
        for work in queue.prefix(max(0, limit)) {
            guard case .write(let member) = work else { break }
            members.append(member)
        }
        queue.removeFirst(members.count)
        return members
    }
}
