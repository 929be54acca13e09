import Foundation
import HTTPCore
import Primitives

/// The newest records, in memory. When a limit is exceeded, the oldest records are removed.
public final class MemoryRecordStorage: RecordStorage {
    fileprivate struct Entry {
        let record: Record
        let byteCount: Int
    }

    /// An id with a hash of eight bytes. Hashing all sixteen takes longer.
    fileprivate struct Key: Hashable {
        let id: Record.ID

        func hash(into hasher: inout Hasher) {
            withUnsafeBytes(of: id.uuid) { bytes in
                let (first, second) = (
                    bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                )
                hasher.combine(first ^ second)
            }
        }
    }

    fileprivate struct State {
        /// The entries from number `base` on, in the order of their first storage. A removed entry is `nil`.
        var entries: [Entry?] = []
        var base = 0
        /// The number of the oldest entry.
        var first = 0
        var numbers: [Key: Int] = [:]
        var byteCount = 0
    }

    private let capacity: RecordCapacity
    private let clock: any WallClock
    private let state = Locked(State())
    private let broadcast = Broadcast<Record>()
    /// Whether `updates` was ever used. Without a reader, records are not broadcast.
    private let isObserved = OneWayFlag()

    /// Creates an empty storage.
    ///
    /// - Parameters:
    ///   - capacity: The limits beyond which the oldest records are removed.
    ///   - clock: The clock for the age of records.
    public init(capacity: RecordCapacity = .standard, clock: any WallClock = SystemClock()) {
        self.capacity = capacity
        self.clock = clock
    }

    public var updates: AsyncStream<Record> {
        isObserved.set()
        return broadcast.stream()
    }

    public func store(_ record: Record) async { keep(record) }

    /// Does the same as `store`.
    func keep(_ record: Record) {
        let oldest = oldestAllowed()
        let entry = Entry(record: record, byteCount: record.recordedBytes)
        state.withLock { [capacity] state in
            state.put(entry)
            state.trim(to: capacity, startedSince: oldest)
        }
        if isObserved.isSet { broadcast.send(record) }
    }

    public func records(_ count: Int, after record: Record?) async -> [Record] {
        await records(count, after: record, matching: .all)
    }

    public func records(_ count: Int, after record: Record?, matching query: RecordQuery) async -> [Record] {
        let oldest = oldestAllowed()
        let older = state.withLock { state in state.records(before: record?.id, query.isEmpty ? count : nil) }
        return Array(older.lazy.filter { !$0.isOlder(than: oldest) && query.matches($0) }.prefix(max(0, count)))
    }

    public func record(_ id: Record.ID) async -> Record? {
        let record = state.withLock { state in state.numbers[Key(id: id)].flatMap { state[$0]?.record } }
        return record.flatMap { $0.isOlder(than: oldestAllowed()) ? nil : $0 }
    }

    private func oldestAllowed() -> Date? {
        capacity.age.map { clock.now().addingTimeInterval(-($0 / .seconds(1))) }
    }

    public func remove(_ id: Record.ID) async {
        state.withLock { state in
            if let number = state.numbers[Key(id: id)] { state.take(number) }
        }
    }

    public func removeAll() async {
        state.withLock { state in
            state = State(base: state.next, first: state.next)
        }
    }
}

extension MemoryRecordStorage.State {
    /// The number of the next entry.
    fileprivate var next: Int { base + entries.count }

    fileprivate subscript(number: Int) -> MemoryRecordStorage.Entry? { entries[number - base] }

    /// Adds an entry, or replaces the entry with its id.
    fileprivate mutating func put(_ entry: MemoryRecordStorage.Entry) {
        let key = MemoryRecordStorage.Key(id: entry.record.id)
        byteCount += entry.byteCount
        // Nearly every record that is stored again is the newest, which needs no look-up by id.
        let newest = entries.count - 1
        if newest >= 0, entries[newest]?.record.id == entry.record.id {
            byteCount -= entries[newest]?.byteCount ?? 0
            entries[newest] = entry
        } else if let number = numbers.updateValue(next, forKey: key) {
            numbers[key] = number
            byteCount -= self[number]?.byteCount ?? 0
            entries[number - base] = entry
        } else {
            entries.append(entry)
        }
    }

    fileprivate mutating func take(_ number: Int) {
        guard let entry = self[number] else { return }
        entries[number - base] = nil
        numbers[MemoryRecordStorage.Key(id: entry.record.id)] = nil
        byteCount -= entry.byteCount
        while next > first, self[next - 1] == nil { entries.removeLast() }
    }

    /// Returns `count` records older than `id`, or all of them, newest first. Queries are matched outside of the lock,
    /// because matching takes long.
    fileprivate func records(before id: Record.ID?, _ count: Int?) -> [Record] {
        var number = id.flatMap { numbers[MemoryRecordStorage.Key(id: $0)] } ?? next
        var found: [Record] = []
        while found.count < count ?? .max, number > first {
            number -= 1
            if let entry = self[number] { found.append(entry.record) }
        }
        return found
    }

    /// Removes the oldest entries beyond `capacity`. The newest entry stays, even if it is too large. Compacts the
    /// array rarely, so that each removal costs little.
    fileprivate mutating func trim(to capacity: RecordCapacity, startedSince oldest: Date?) {
        while first < next {
            let isOver = numbers.count > 1 && (numbers.count > capacity.records || byteCount > capacity.bytes)
            if !isOver, oldest == nil { break }
            if let entry = self[first] {
                guard isOver || entry.record.isOlder(than: oldest) else { break }
                take(first)
            }
            if first < next { first += 1 }
        }
        guard first - base > 64, first - base > entries.count / 2 else { return }
        entries.removeFirst(first - base)
        base = first
    }
}
