import Foundation
import HTTPCore

/// Where records are kept. The interceptor gives each record when its request begins, when its answer's head is there and
/// when its body has been read: same id, same record. What it gives has been redacted, and all its bodies are bytes.
public protocol RecordStorage: Sendable {
    /// Adds the record as the newest, or puts it in the place of the one that has its id.
    func store(_ record: Record) async

    /// At most `count` records, newest first: those older than `record`, or the newest of all when it is `nil` or not
    /// kept any more.
    func records(_ count: Int, after record: Record?) async -> [Record]

    /// The same of those records that `query` describes.
    func records(_ count: Int, after record: Record?, matching query: RecordQuery) async -> [Record]

    /// Every record that is stored from now on; of what a reader has not taken yet, the newest 1 000. Each call begins a stream of its own.
    var updates: AsyncStream<Record> { get }

    /// The record of this id; `nil` when it is not kept any more.
    func record(_ id: Record.ID) async -> Record?

    /// Takes the record of this id out, if it is there.
    func remove(_ id: Record.ID) async

    /// Takes all records out. Who shows them hears of it when it is done by `Interceptor.removeRecords()`.
    func removeAll() async
}

extension RecordStorage {
    /// Looks through all older records, a page at a time.
    public func records(_ count: Int, after record: Record?, matching query: RecordQuery) async -> [Record] {
        guard !query.isEmpty else { return await records(count, after: record) }
        var found: [Record] = []
        var last = record
        while found.count < count {
            let page = await records(100, after: last)
            found += page.filter(query.matches).prefix(count - found.count)
            // A record that was taken out meanwhile would lead back to the newest.
            guard page.count == 100, let end = page.last, await self.record(end.id) != nil else { break }
            last = end
        }
        return found
    }

    /// Looks through all records; a storage that has them by id does better.
    public func record(_ id: Record.ID) async -> Record? {
        var last: Record?
        while true {
            let page = await records(100, after: last)
            if let found = page.first(where: { $0.id == id }) { return found }
            guard page.count == 100 else { return nil }
            last = page.last
        }
    }

    /// Keeps them: a storage that cannot forget single records need not.
    public func remove(_ id: Record.ID) async {}

    /// Keeps them: a storage that cannot forget records need not.
    public func removeAll() async {}
}
