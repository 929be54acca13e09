import Primitives
import StoreModel

/// The last slow requests of this server, in memory.
final class SlowRequests: Sendable {
    /// The time from which a request is slow.
    static let threshold = Duration.milliseconds(500)
    /// The number of requests that are kept.
    static let limit = 200

    private let records = Locked<[RequestRecord]>([])

    /// Adds the record of a slow request, and drops the oldest one if there are too many.
    func add(_ record: RequestRecord) {
        records.withLock { records in
            if records.count >= Self.limit { records.removeFirst() }
            records.append(record)
        }
    }

    /// Returns the requests with keys of an app, newest first.
    func newest(of app: BundleID, limit: Int) -> [RequestRecord] {
        Array(records.withLock { $0 }.reversed().lazy.filter { $0.app == app }.prefix(limit))
    }
}
