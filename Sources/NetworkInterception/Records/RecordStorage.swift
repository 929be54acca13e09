import Foundation
import HTTPCore

/// A storage of records.
///
/// The interceptor stores each state of a record with the same id: before its request is sent, when the head of its
/// response or its failure has arrived, and when a streamed body has been read. A request whose result a floret set is
/// not sent, so only the later states are stored. The records are redacted, and all their bodies are bytes.
public protocol RecordStorage: Sendable {
    /// Adds `record` as the newest, or replaces the stored record with its id.
    func store(_ record: Record) async

    /// Returns stored records, newest first.
    ///
    /// - Parameters:
    ///   - count: The greatest number of records.
    ///   - record: The record after which the list continues with older records. The list begins with the newest record
    ///     if it is `nil` or is no longer stored.
    func records(_ count: Int, after record: Record?) async -> [Record]

    /// Returns stored records that match `query`, newest first.
    ///
    /// - Parameters:
    ///   - count: The greatest number of records.
    ///   - record: The record after which the list continues with older records. The list begins with the newest record
    ///     if it is `nil` or is no longer stored.
    ///   - query: The conditions.
    func records(_ count: Int, after record: Record?, matching query: RecordQuery) async -> [Record]

    /// A new stream of the records that are stored from now on. It buffers the newest 1 000 records for a slow reader.
    var updates: AsyncStream<Record> { get }

    /// Returns the record with this `id`, or `nil` if it is not stored.
    func record(_ id: Record.ID) async -> Record?

    /// Removes the record with this `id`, if it is stored.
    func remove(_ id: Record.ID) async

    /// Removes all records. ``Interceptor/removeRecords()`` also notifies the views that show them.
    func removeAll() async
}

extension RecordStorage {
    /// Searches all older records, a page at a time.
    ///
    /// - Parameters:
    ///   - count: The greatest number of records.
    ///   - record: The record after which the list continues with older records, or `nil` for the newest.
    ///   - query: The conditions.
    public func records(_ count: Int, after record: Record?, matching query: RecordQuery) async -> [Record] {
        guard !query.isEmpty else { return await records(count, after: record) }
        var found: [Record] = []
        var last = record
        while found.count < count {
            let page = await records(100, after: last)
            found += page.filter(query.matches).prefix(count - found.count)
            // A last record that was removed meanwhile would restart the list with the newest one.
            guard page.count == 100, let end = page.last, await self.record(end.id) != nil else { break }
            last = end
        }
        return found
    }

    /// Searches all records. A storage with an index of ids should replace this.
    public func record(_ id: Record.ID) async -> Record? {
        var last: Record?
        while true {
            let page = await records(100, after: last)
            if let found = page.first(where: { $0.id == id }) { return found }
            guard page.count == 100 else { return nil }
            last = page.last
        }
    }

    /// Does nothing, for a storage that cannot remove single records.
    public func remove(_ id: Record.ID) async {}

    /// Does nothing, for a storage that cannot remove records.
    public func removeAll() async {}
}
