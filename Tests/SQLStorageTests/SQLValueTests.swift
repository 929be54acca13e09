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
}
