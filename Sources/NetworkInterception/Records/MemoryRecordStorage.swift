import Foundation
import HTTPCore
import Primitives

/// The newest records, in memory. When one more would be over a limit, the oldest go.
public final class MemoryRecordStorage: RecordStorage {
    fileprivate struct State {
        /// By sequence number; what was stored first is at `first`.
        var records: [UInt64: Record] = [:]
        var numbers: [Record.ID: UInt64] = [:]
        var first: UInt64 = 0
        var next: UInt64 = 0
        var byteCount = 0
    }

    private let capacity: RecordCapacity
    private let clock: any WallClock
    private let state = Locked(State())
    private let news = Broadcast<Record>()
    /// Whether anybody ever asked for `updates`; most of the time nobody does.
    private let isHeard = OneWayFlag()

    /// `clock` judges the age of records.
    public init(capacity: RecordCapacity = .standard, clock: any WallClock = SystemClock()) {
        self.capacity = capacity
        self.clock = clock
    }

    public var updates: AsyncStream<Record> {
        isHeard.set()
        return news.stream()
    }

    public func store(_ record: Record) async {
        let oldest = oldestAllowed()
        state.withLock { [capacity] state in
            state.put(record)
            state.trim(to: capacity, startedSince: oldest)
        }
        if isHeard.isSet { news.send(record) }
    }

    public func records(_ count: Int, after record: Record?) async -> [Record] {
        await records(count, after: record, matching: .all)
    }

    public func records(_ count: Int, after record: Record?, matching query: RecordQuery) async -> [Record] {
        let oldest = oldestAllowed()
        let older = state.withLock { state in state.records(before: record?.id, query.isEmpty ? count : nil) }
        // Matching takes its time, so it is done outside of the lock.
        return Array(older.lazy.filter { !$0.isOlder(than: oldest) && query.matches($0) }.prefix(max(0, count)))
    }

    public func record(_ id: Record.ID) async -> Record? {
        let record = state.withLock { state in state.numbers[id].flatMap { state.records[$0] } }
        return record.flatMap { $0.isOlder(than: oldestAllowed()) ? nil : $0 }
    }

    private func oldestAllowed() -> Date? {
        capacity.age.map { clock.now().addingTimeInterval(-($0 / .seconds(1))) }
    }

    public func remove(_ id: Record.ID) async {
        state.withLock { state in
            if let number = state.numbers[id] { state.take(number) }
        }
    }

    public func removeAll() async {
        state.withLock { state in
            state = State(first: state.next, next: state.next)
        }
    }
}

extension MemoryRecordStorage.State {
    fileprivate mutating func put(_ record: Record) {
        let number = numbers[record.id] ?? next
        if let old = records.updateValue(record, forKey: number) {
            byteCount -= old.recordedBytes
        } else {
            numbers[record.id] = number
            next += 1
        }
        byteCount += record.recordedBytes
    }

    fileprivate mutating func take(_ number: UInt64) {
        guard let record = records.removeValue(forKey: number) else { return }
        numbers[record.id] = nil
        byteCount -= record.recordedBytes
        while next > first, records[next - 1] == nil { next -= 1 }
    }

    /// Newest first: `count` of those older than `id`, or all.
    fileprivate func records(before id: Record.ID?, _ count: Int?) -> [Record] {
        var number = id.flatMap { numbers[$0] } ?? next
        var found: [Record] = []
        while found.count < count ?? .max, number > first {
            number -= 1
            if let record = records[number] { found.append(record) }
        }
        return found
    }

    /// Of what is too large the newest stays.
    fileprivate mutating func trim(to capacity: RecordCapacity, startedSince oldest: Date?) {
        while first < next {
            let isOver = records.count > 1 && (records.count > capacity.records || byteCount > capacity.bytes)
            // Nobody need look at the record then.
            if !isOver, oldest == nil { return }
            if let record = records[first] {
                guard isOver || record.isOlder(than: oldest) else { return }
                take(first)
            }
            if first < next { first += 1 }
        }
    }
}
