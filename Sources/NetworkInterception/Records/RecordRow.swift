import Foundation
import HTTPCore
import Primitives
import SQLStorage

/// Records as rows of a SQLite database.
enum RecordRow {
    /// A change of a row.
    enum Change: Sendable {
        case store(Record)
        case remove(Record.ID)
        case removeAll

        var byteCount: Int { if case .store(let record) = self { record.recordedBytes } else { 0 } }
    }

    /// The schema. New migrations are added at the end, and existing migrations do not change.
    ///
    /// `number` is the order in which records were first stored, and `tally` has the totals of all rows. Bodies are the
    /// last columns, so that a scan of the rows does not read them. A designated body that equals the original is NULL.
    static let migrations = [
        SQLMigration(
            "0001 records",
            [
                .sqlite: """
                CREATE TABLE record (
                    number INTEGER PRIMARY KEY,
                    id TEXT NOT NULL UNIQUE,
                    bytes INTEGER NOT NULL,
                    started REAL,
                    head BLOB NOT NULL,
                    original BLOB NOT NULL,
                    designated BLOB,
                    response BLOB
                ) STRICT;
                CREATE TABLE tally (only INTEGER PRIMARY KEY CHECK (only = 1), records INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
                INSERT INTO tally VALUES (1, 0, 0);
                """
            ])
    ]

    private static let columns = "number, id, head, original, designated, response"
    static let number = "SELECT number FROM record WHERE id = ?1"
    static let page = "SELECT \(columns) FROM record WHERE number < ?1 ORDER BY number DESC LIMIT ?2"
    static let single = "SELECT \(columns) FROM record WHERE id = ?1"

    static func record(in row: SQLRow) throws -> Record {
        let text: String = try row["id"]
        guard let id = UUID(text: text) else {
            throw InterceptionError(.invalidFile, "A record in the file has no id.")
        }
        let response: [UInt8]? = try row["response"]
        return try RecordHead(parsing: try row["head"]).record(
            id, original: try row["original"], designated: try row["designated"], response: response ?? [])
    }

    static func apply(_ changes: [Change], to connection: any SQLConnection) throws {
        var tally = try Tally(connection)
        for change in changes {
            switch change {
            case .store(let record): try store(record, &tally, connection)
            case .remove(let id):
                guard
                    let row = try connection.first(
                        "SELECT number, bytes FROM record WHERE id = ?1", [.text(id.uuidString)])
                else { continue }
                try connection.execute("DELETE FROM record WHERE number = ?1", [.integer(try row["number"])])
                tally.records -= 1
                tally.bytes -= try row["bytes"]
            case .removeAll:
                try connection.execute("DELETE FROM record")
                tally = Tally(records: 0, bytes: 0)
            }
        }
        try tally.write(connection)
    }

    private static func store(_ record: Record, _ tally: inout Tally, _ connection: any SQLConnection) throws {
        let bytes = Int64(record.recordedBytes)
        let original = record.originalRequest.body.buffered ?? []
        let designated = record.designatedRequest.body.buffered ?? []
        let values: [SQLValue] = [
            .text(record.id.uuidString), .integer(bytes),
            SQLValue(record.timing.started?.timeIntervalSinceReferenceDate),
            .blob(RecordHead(record).json.encoded()), .blob(original),
            designated == original ? .null : .blob(designated),
            SQLValue(record.response?.body.buffered),
        ]
        let known = try connection.first("SELECT bytes FROM record WHERE id = ?1", [values[0]])
        if let known {
            try connection.execute(
                """
                UPDATE record SET bytes = ?2, started = ?3, head = ?4, original = ?5, designated = ?6, response = ?7
                WHERE id = ?1
                """, values)
            tally.bytes += bytes - (try known["bytes"])
        } else {
            try connection.execute(
                """
                INSERT INTO record (id, bytes, started, head, original, designated, response)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                """, values)
            tally.records += 1
            tally.bytes += bytes
        }
    }

    /// Removes the oldest rows beyond `capacity`. The newest row stays, even if it is too large.
    static func trim(_ connection: any SQLConnection, to capacity: RecordCapacity, startedSince oldest: Date?) throws {
        var tally = try Tally(connection)
        guard oldest != nil || tally.records > capacity.records || tally.bytes > capacity.bytes else { return }
        var last: Int64?
        walk: while true {
            let rows = try connection.query(
                "SELECT number, bytes, started FROM record WHERE number > ?1 ORDER BY number LIMIT 100",
                [.integer(last ?? .min)])
            for row in rows {
                let started: Double? = try row["started"]
                let isOld =
                    oldest.map { limit in started.map { $0 < limit.timeIntervalSinceReferenceDate } ?? false } ?? false
                let isOver = tally.records > capacity.records || tally.bytes > capacity.bytes
                guard isOld || (isOver && tally.records > 1) else { break walk }
                tally.records -= 1
                tally.bytes -= try row["bytes"]
                last = try row["number"]
            }
            if rows.count < 100 { break }
        }
        guard let last else { return }
        try connection.execute("DELETE FROM record WHERE number <= ?1", [.integer(last)])
        try tally.write(connection)
    }

    /// The totals of all rows.
    private struct Tally {
        var records: Int64
        var bytes: Int64

        init(records: Int64, bytes: Int64) {
            self.records = records
            self.bytes = bytes
        }

        init(_ connection: any SQLConnection) throws {
            guard let row = try connection.first("SELECT records, bytes FROM tally") else {
                throw InterceptionError(.invalidFile, "The file has no totals of its records.")
            }
            self.init(records: try row["records"], bytes: try row["bytes"])
        }

        func write(_ connection: any SQLConnection) throws {
            try connection.execute("UPDATE tally SET records = ?1, bytes = ?2", [.integer(records), .integer(bytes)])
        }
    }
}

extension Record {
    func isOlder(than limit: Date?) -> Bool {
        guard let limit, let started = timing.started else { return false }
        return started < limit
    }
}
