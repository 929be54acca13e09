import BaseTestSupport
import Primitives
import Testing

@testable import SQLStorage

@Suite struct SQLValueTests {
    @Test func `every type comes back as it was written`() async throws {
        let database = try SQLiteDatabase.temporary()
        try await database.write { connection in
            try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v ANY) STRICT")
        }
        let values: [SQLValue] = [
            nil, 0, -1, .integer(.min), .integer(.max), 1.5, .real(.greatestFiniteMagnitude), .real(-.infinity),
            "", "plain", "Ünïcödé 👩‍👩‍👧 \u{1}", .text(String(repeating: "x", count: 100_000)),
            .blob([]), .blob([0, 1, 255]), .blob([UInt8](repeating: 7, count: 100_000)), true, false,
        ]
        try await database.write { connection in
            for (index, value) in values.enumerated() {
                try #expect(connection.execute("INSERT INTO t VALUES (?1, ?2)", [SQLValue(index), value]) == 1)
            }
        }
        let read = try database.read { try $0.query("SELECT v FROM t ORDER BY id").map { row in row.values[0] } }
        #expect(read == values)
        await database.close()
    }

    @Test(arguments: UnicodeForms.pairs)
    func `texts in two Unicode forms are two values, in Swift and in the database`(pair: UnicodeForms) async throws {
        let values: [SQLValue] = [.text(pair.composed), .text(pair.other)]
        #expect(values[0] != values[1])
        #expect(Set(values).count == 2)
        let database = try SQLiteDatabase.temporary()
        let (read, sorted) = try await database.write { connection in
            try connection.execute("CREATE TABLE t (v TEXT PRIMARY KEY) STRICT")
            for value in values { try connection.execute("INSERT INTO t VALUES (?1)", [value]) }
            let rows = try connection.query("SELECT v FROM t ORDER BY v").map { row in row.values[0] }
            return (Set(rows), try rows.map { try #require(String(sqlValue: $0)) })
        }
        #expect(read == Set(values))
        #expect(sorted.map { ExactString($0) } == sorted.map { ExactString($0) }.sorted())
        await database.close()
    }

    @Test(arguments: ["ff", "61fe", "c3", "c080", "eda080"])
    func `text that is not UTF-8 is refused when it is read`(bytes: String) async throws {
        let database = try SQLiteDatabase.temporary()
        try await database.write { connection in
            try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT) STRICT")
            try connection.execute("INSERT INTO t VALUES (1, CAST(x'\(bytes)' AS TEXT)), (2, 'whole')")
        }
        #expect(throws: SQLError(.unexpectedValue, "")) { try database.read { try $0.query("SELECT v FROM t") } }
        #expect(throws: SQLError(.unexpectedValue, "")) { try database.read { try $0.first("SELECT v FROM t") } }
        let row = try database.read { try $0.first("SELECT v FROM t WHERE id = 2") }
        #expect(try row?["v"] == "whole", "the connection can still be used")
        await database.close()
    }
}
