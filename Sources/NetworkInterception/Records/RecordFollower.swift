import Foundation
import Primitives
import SQLStorage

/// Finds the records that another process stores in a file, by polling the newest rows.
struct RecordFollower: Sendable {
    /// The values that change when a record is stored again, because each state adds data to the previous state.
    private struct Mark: Sendable, Equatable {
        let id: String
        let bytes: Int64
        let headBytes: Int64
    }

    /// The number of newest rows that are polled.
    private static let window: Int64 = 500
    private static let last = "SELECT ifnull(max(number), 0) AS number FROM record"
    private static let rows =
        "SELECT number, id, bytes, length(head) AS headBytes FROM record WHERE number > ?1 ORDER BY number"

    private var newest: Int64
    private var marks: [Int64: Mark] = [:]

    /// Begins after the rows that the file has now.
    init(_ connection: any SQLConnection) throws {
        newest = try connection.first(Self.last)?["number"] ?? 0
        _ = try changes(in: connection)
    }

    /// Returns the ids of the records that were stored since the last call, in the order of their first storage. Does
    /// not find a new state of a record that is older than the polled rows.
    mutating func changes(in connection: any SQLConnection) throws -> [Record.ID] {
        let last: Int64 = try connection.first(Self.last)?["number"] ?? 0
        // After a removal of all records, the numbers start at 1 again.
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
