import Foundation
import Primitives
import SQLStorage

/// Finds what another process stores in a file of records, by looking at the newest rows again and again.
struct RecordFollower: Sendable {
    /// What differs after a record was stored again: each of its states says more than the one before.
    private struct Mark: Sendable, Equatable {
        let id: String
        let bytes: Int64
        let headBytes: Int64
    }

    /// A row that so many others follow is not looked at any more.
    private static let window: Int64 = 500
    private static let last = "SELECT ifnull(max(number), 0) AS number FROM record"
    private static let rows =
        "SELECT number, id, bytes, length(head) AS headBytes FROM record WHERE number > ?1 ORDER BY number"

    private var newest: Int64
    private var marks: [Int64: Mark] = [:]

    /// Knows what is stored already.
    init(_ connection: any SQLConnection) throws {
        newest = try connection.first(Self.last)?["number"] ?? 0
        _ = try changes(in: connection)
    }

    /// The records that were stored since it was asked last, in the order in which they were stored first.
    mutating func changes(in connection: any SQLConnection) throws -> [Record.ID] {
        let last: Int64 = try connection.first(Self.last)?["number"] ?? 0
        // Numbers begin anew when all records were taken out.
        let rows = try connection.query(Self.rows, [.integer(min(newest, last) - Self.window)])
        var marks: [Int64: Mark] = [:]
        var changed: [Record.ID] = []
        for row in rows {
            let mark = Mark(id: try row["id"], bytes: try row["bytes"], headBytes: try row["headBytes"])
            let number: Int64 = try row["number"]
            marks[number] = mark
            if self.marks[number] != mark, let id = UUID(text: mark.id) { changed.append(id) }
        }
        (newest, self.marks) = (last, marks)
        return changed
    }
}
