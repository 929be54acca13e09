import HTTPCore
import Primitives

/// The revisions of customers in the server's last answers, for `Souk-Min-Revision`.
///
/// A server answers a read from its standby only if the request has a revision and the standby has reached it. So a
/// read never returns less than an earlier answer. A write can change several customers, for example when it merges
/// two, but its answer has the revision of only one. So a write discards the revisions of all other customers.
struct KnownRevisions {
    private let capacity: Int
    private var revisions: [CustomerID: Int64] = [:]
    /// The number of writes that ended. If a write ends during a read, the revision of the read is not stored, because
    /// its state can be from before the write.
    private var writes = 0

    init(capacity: Int) { self.capacity = capacity }

    /// Returns the header of a read, and the number that `endRead` needs.
    func beginRead(of customer: CustomerID) -> (header: String?, writes: Int) {
        (revisions[customer].map { String($0) }, writes)
    }

    mutating func endRead(of customer: CustomerID, _ headers: HTTPHeaders, writes: Int) {
        guard writes == self.writes else { return }
        store(Self.revision(in: headers), of: customer)
    }

    /// Ends a write with the headers of its answer, or with `nil` if it failed.
    mutating func endWrite(of customer: CustomerID, _ headers: HTTPHeaders?) {
        writes += 1
        let revision = headers.flatMap(Self.revision)
        revisions = revision == nil ? [:] : revisions.filter { $0.key == customer }
        store(revision, of: customer)
    }

    /// Stores the greatest revision, because answers can arrive in another order than the server sent them.
    private mutating func store(_ revision: Int64?, of customer: CustomerID) {
        guard let revision else { return }
        if revisions[customer] == nil, revisions.count >= capacity { revisions = [:] }
        revisions[customer] = max(revision, revisions[customer] ?? 0)
    }

    private static func revision(in headers: HTTPHeaders) -> Int64? {
        headers["Souk-Revision"].flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil }
    }
}
