import Foundation
import HTTPCore
import Primitives
import SQLStorage

/// The newest records in a SQLite file. The file outlives the process, and another process can read it at the same
/// time.
///
///     let storage = try SQLiteRecordStorage(path: "records.sqlite")
///     configuration.storage = storage
///     …
///     await storage.close()
///
/// Records are written in order and in batches, and stay in memory until then. Requests therefore do not wait for the
/// disk, unless records arrive faster than they can be written. A crash loses only the records that are not written
/// yet, and does not damage the file. Reads return everything that was stored before.
///
/// Records that cannot be written or read are reported to `onFailure` and skipped. The traffic continues.
public final class SQLiteRecordStorage: RecordStorage {
    fileprivate struct State {
        /// The changes to write, in the order in which they were added. Only the last state of a record is written.
        var waiting: [RecordRow.Change] = []
        var places: [Record.ID: Int] = [:]
        var waitingBytes = 0
        /// The numbers of changes that were added and that were written.
        var added = 0
        var written = 0
        /// The task that writes one batch, and starts the next batch if there is one.
        var writer: Task<Void, Never>?
        /// The ids of the records that this process stored. The follower does not report them.
        var own: Set<Record.ID> = []
        var follower: Task<Void, Never>?
        var isClosed = false
    }

    /// The limits for waiting changes. Beyond them, `store` waits.
    private static let waitingLimit = (changes: 512, bytes: 16 << 20)

    private let database: SQLiteDatabase
    private let capacity: RecordCapacity
    private let clock: any WallClock
    private let isFollowing: Bool
    private let onFailure: @Sendable (InterceptionError) -> Void
    private let state = Locked(State())
    private let broadcast = Broadcast<Record>()

    /// Opens the file at `path`, and creates it if it does not exist.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - capacity: The limits beyond which the oldest records are removed when a record is stored.
    ///   - clock: The clock for the age of records.
    ///   - interval: The polling interval for records that another process stores. They become part of `updates`.
    ///     Removals by another process are not reported. `nil` does not poll.
    ///   - onFailure: Receives the errors of writes and reads.
    /// - Throws: `InterceptionError.storageFailed` if the file cannot be opened, is not a database of records or has a
    ///   newer version.
    public init(
        path: String, capacity: RecordCapacity = .standard, clock: any WallClock = SystemClock(),
        following interval: Duration? = nil, onFailure: @escaping @Sendable (InterceptionError) -> Void = { _ in }
    ) throws(InterceptionError) {
        let follower: RecordFollower?
        do {
            database = try SQLiteDatabase(path: path)
            try database.migrate(RecordRow.migrations)
            follower = interval == nil ? nil : try database.read { try RecordFollower($0) }
        } catch {
            throw InterceptionError(.storageFailed, "The records cannot be opened: \(error)", underlying: error)
        }
        self.capacity = capacity
        self.clock = clock
        self.onFailure = onFailure
        isFollowing = follower != nil
        if let follower, let interval { follow(follower, every: interval) }
    }

    /// Writes the waiting changes and closes the file. Afterwards the storage stores and returns nothing, and the
    /// streams of updates end.
    public func close() async {
        let follower = state.withLock { state in
            state.isClosed = true
            return state.follower
        }
        follower?.cancel()
        await follower?.value
        await settled()
        await database.close()
        broadcast.finish()
    }

    /// Returns when everything that was stored so far is in the file.
    public func settled() async {
        let added = state.withLock { $0.added }
        while let writer = state.withLock({ $0.written < added ? $0.writer : nil }) { await writer.value }
    }

    public var updates: AsyncStream<Record> { broadcast.stream() }

    public func store(_ record: Record) async {
        let mustWait = state.withLock { [isFollowing] state in
            guard !state.isClosed else { return false }
            if isFollowing { state.own.insert(record.id) }
            state.add(.store(record), record.id)
            writeSoon(&state)
            return state.waiting.count > Self.waitingLimit.changes || state.waitingBytes > Self.waitingLimit.bytes
        }
        broadcast.send(record)
        if mustWait { await state.withLock { $0.writer }?.value }
    }

    public func remove(_ id: Record.ID) async {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.add(.remove(id), id)
            writeSoon(&state)
        }
    }

    public func removeAll() async {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.waiting = [.removeAll]
            state.places = [:]
            state.waitingBytes = 0
            state.added += 1
            writeSoon(&state)
        }
        await settled()
    }

    public func records(_ count: Int, after record: Record?) async -> [Record] {
        await records(count, after: record, matching: .all)
    }

    public func records(_ count: Int, after record: Record?, matching query: RecordQuery) async -> [Record] {
        guard count > 0 else { return [] }
        await settled()
        let oldest = oldestAllowed()
        return reading { [record] connection in
            var end = Int64.max
            if let id = record?.id.uuidString, let row = try connection.first(RecordRow.number, [.text(id)]) {
                end = try row["number"]
            }
            var found: [Record] = []
            while found.count < count {
                let limit = Int64(query.isEmpty ? min(count - found.count, 500) : 100)
                let rows = try connection.query(RecordRow.page, [.integer(end), .integer(limit)])
                for row in rows where found.count < count {
                    end = try row["number"]
                    guard let record = self.decoded(row), !record.isOlder(than: oldest), query.matches(record) else {
                        continue
                    }
                    found.append(record)
                }
                if rows.count < limit { break }
            }
            return found
        } ?? []
    }

    public func record(_ id: Record.ID) async -> Record? {
        await settled()
        let oldest = oldestAllowed()
        let row = reading { try $0.first(RecordRow.single, [.text(id.uuidString)]) } ?? nil
        return row.flatMap(decoded).flatMap { $0.isOlder(than: oldest) ? nil : $0 }
    }

    private func oldestAllowed() -> Date? {
        capacity.age.map { clock.now().addingTimeInterval(-($0 / .seconds(1))) }
    }

    private func decoded(_ row: SQLRow) -> Record? {
        do { return try RecordRow.record(in: row) } catch {
            onFailure(InterceptionError(.storageFailed, "A record cannot be read: \(error)", underlying: error))
            return nil
        }
    }

    private func reading<T: Sendable>(_ body: (any SQLConnection) throws -> T) -> T? {
        do { return try database.read(body) } catch {
            onFailure(InterceptionError(.storageFailed, "The records cannot be read: \(error)", underlying: error))
            return nil
        }
    }
}

extension SQLiteRecordStorage {
    /// The greatest number of ids in `own`. Beyond it, `own` is emptied, and a later change of such a record is
    /// reported again.
    private static let ownLimit = 10_000

    private func follow(_ follower: RecordFollower, every interval: Duration) {
        let task = Task { [weak self] in
            var follower = follower
            while (try? await Task.sleep(for: interval)) != nil, let self { self.reportChanges(of: &follower) }
        }
        state.withLock { $0.follower = task }
    }

    private func reportChanges(of follower: inout RecordFollower) {
        guard let changed = reading({ try follower.changes(in: $0) }) else { return }
        let others = state.withLock { state in
            defer { if state.own.count > Self.ownLimit { state.own = [] } }
            return changed.filter { !state.own.contains($0) }
        }
        for id in others {
            let row = reading { try $0.first(RecordRow.single, [.text(id.uuidString)]) } ?? nil
            if let record = row.flatMap(decoded) { broadcast.send(record) }
        }
    }
}

extension SQLiteRecordStorage.State {
    /// Adds a change, and replaces a waiting state of the same record.
    fileprivate mutating func add(_ change: RecordRow.Change, _ id: Record.ID) {
        waitingBytes += change.byteCount
        added += 1
        if let place = places[id], case .store = waiting[place], case .store = change {
            waitingBytes -= waiting[place].byteCount
            waiting[place] = change
        } else {
            places[id] = waiting.count
            waiting.append(change)
        }
    }
}

extension SQLiteRecordStorage {
    private func writeSoon(_ state: inout State) {
        if state.writer == nil { state.writer = Task { await writeBatch() } }
    }

    private func writeBatch() async {
        let (batch, added) = state.withLock { state in
            defer {
                state.waiting = []
                state.places = [:]
                state.waitingBytes = 0
            }
            return (state.waiting, state.added)
        }
        let oldest = oldestAllowed()
        do {
            try await database.write { [capacity] connection in
                try RecordRow.apply(batch, to: connection)
                try RecordRow.trim(connection, to: capacity, startedSince: oldest)
            }
        } catch {
            onFailure(
                InterceptionError(
                    .storageFailed, "\(batch.count) records could not be written: \(error)", underlying: error))
        }
        state.withLock { state in
            state.written = added
            state.writer = nil
            if !state.waiting.isEmpty { writeSoon(&state) }
        }
    }
}
