import Testing

@testable import SQLStorage

@Suite struct InsertionTests {
    private static let table = "CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE) STRICT"

    /// A connection of another kind, which has only the statements of the protocol.
    private struct Other: SQLConnection {
        let inner: any SQLConnection

        func execute(_ sql: String, _ values: [SQLValue]) throws -> Int { try inner.execute(sql, values) }
        func query(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] { try inner.query(sql, values) }
        func first(_ sql: String, _ values: [SQLValue]) throws -> SQLRow? { try inner.first(sql, values) }
        func each(_ sql: String, _ values: [SQLValue], _ body: (SQLRow) throws -> Void) throws {
            try inner.each(sql, values, body)
        }
    }

    @Test(arguments: [false, true])
    func `an insertion returns the key of its row, and nil without a row`(isOther: Bool) async throws {
        let database = try SQLiteDatabase.temporary()
        try await database.write { connection in
            let connection: any SQLConnection = isOther ? Other(inner: connection) : connection
            let sql = "INSERT INTO t (name) VALUES (?1) ON CONFLICT DO NOTHING"
            try connection.execute(Self.table)
            func stored(_ name: String) throws -> SQLValue? {
                try connection.first("SELECT id FROM t WHERE name = ?1", [.text(name)])?.values.first
            }
            for number in 1...3 {
                let key = try #require(try connection.insert(sql, [.text("\(number)")], key: "id"))
                #expect(try stored("\(number)") == .integer(key))
                #expect(try connection.insert(sql, [.text("1")], key: "id") == nil)
            }
            try connection.execute("INSERT INTO t (id) VALUES (100)")
            #expect(try connection.insert(sql, ["1"], key: "id") == nil)
            let key = try #require(try connection.insert(sql, ["4"], key: "id"))
            #expect(try key > 100 && stored("4") == .integer(key))
        }
        await database.close()
    }

    @Test func `a refused insertion throws and changes nothing`() async throws {
        let database = try SQLiteDatabase.temporary()
        try await database.write { try $0.execute(Self.table) }
        await #expect(throws: SQLError.self) {
            try await database.write { try $0.insert("INSERT INTO t (id) VALUES ('x')", [], key: "id") }
        }
        #expect(try database.read { try $0.first("SELECT count(*) AS n FROM t")?.values } == [0])
        await database.close()
    }
}
