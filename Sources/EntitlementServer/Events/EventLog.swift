import Foundation
import SQLStorage
import StoreModel

/// The events of a database in the order of the feed, for readers that continue after a number.
enum EventLog {
    /// An event, or a notice that events were deleted.
    struct Entry: Sendable {
        let sequence: Int64
        let ledgerID: LedgerID
        /// `nil` if this is a notice: events of the ledger up to `sequence` were deleted, and maybe not read before.
        let event: LedgerEvent?

        /// Returns the entry in one line, as a stream sends it. A damaged event is sent like a notice.
        ///
        /// - Parameter now: The time of a notice.
        func wire(at now: Date) -> [UInt8] {
            if let event, event.isIntact { return event.wire }
            return LedgerEvent.expired(after: sequence, in: ledgerID, at: now)
        }
    }

    private static let eventColumns = "sequence, app, environment, customer, type, body, created_at, digest"

    /// Returns up to `limit` entries after `cursor`, and further ones with the number of the last. If `cursor` is 0,
    /// there are no notices.
    ///
    /// - Parameter ledgerIDs: The ledgers to read; `nil` for all.
    static func entries(
        after cursor: Int64, of ledgerIDs: [LedgerID]? = nil, limit: Int, _ connection: any SQLConnection
    ) throws -> [Entry] {
        var rows: [SQLRow] = []
        var deleted: [SQLRow] = []
        let bounds: [SQLValue] = [.integer(cursor), .integer(Int64(limit))]
        if let ledgerIDs {
            for ledgerID in ledgerIDs {
                rows += try connection.query(
                    """
                    SELECT \(eventColumns) FROM event WHERE app = ?3 AND environment = ?4 AND sequence > ?1
                    ORDER BY sequence LIMIT ?2
                    """, bounds + ledgerID.values)
                deleted += try connection.query(
                    """
                    SELECT app, environment, sequence FROM event_horizon
                    WHERE app = ?2 AND environment = ?3 AND sequence > ?1
                    """, [.integer(cursor)] + ledgerID.values)
            }
        } else {
            rows = try connection.query(
                "SELECT \(eventColumns) FROM event WHERE sequence > ?1 ORDER BY sequence LIMIT ?2", bounds)
            deleted = try connection.query(
                "SELECT app, environment, sequence FROM event_horizon WHERE sequence > ?1", [.integer(cursor)])
        }
        var entries = try rows.map { row in
            let event = try LedgerEvent(row, in: LedgerID(row))
            return Entry(sequence: event.sequence, ledgerID: event.ledgerID, event: event)
        }
        if cursor > 0 {
            entries += try deleted.map { row in
                Entry(sequence: try row["sequence"], ledgerID: try LedgerID(row), event: nil)
            }
        }
        entries.sort { $0.sequence < $1.sequence }
        guard entries.count > limit else { return entries }
        let last = entries[limit - 1].sequence
        return Array(entries.prefix { $0.sequence <= last })
    }
}
