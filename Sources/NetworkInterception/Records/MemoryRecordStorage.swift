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

    /// `clock` judges the age of records.
    public init(capacity: RecordCapacity = .standard, clock: any WallClock = SystemClock()) {
        self.capacity = capacity
        self.clock = clock
    }

    public var updates: AsyncStream<Record> { news.stream() }

    public func store(_ record: Record) async {
        let oldest = capacity.age.map { clock.now().addingTimeInterval(-($0 / .seconds(1))) }
        state.withLock { [capacity] state in
            state.put(record)
            state.trim(to: capacity, startedSince: oldest)
        }
        news.send(record)
    }

    public func records(_ count: Int, after record: Record?) async -> [Record] {
        state.withLock { state in
            var number = record.flatMap { state.numbers[$0.id] } ?? state.next
            var found: [Record] = []
            while found.count < count, number > state.first {
                number -= 1
                if let record = state.records[number] { found.append(record) }
            }
            return found
        }
    }

    public func record(_ id: Record.ID) async -> Record? {
        state.withLock { state in state.numbers[id].flatMap { state.records[$0] } }
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
    }

    /// The newest stays, however large it is.
    fileprivate mutating func trim(to capacity: RecordCapacity, startedSince oldest: Date?) {
        while first + 1 < next {
            if let record = records[first] {
                let isOld = oldest.map { oldest in record.timing.started.map { $0 < oldest } ?? false } ?? false
                guard records.count > capacity.records || byteCount > capacity.bytes || isOld else { return }
                take(first)
            }
            first += 1
        }
    }
}
