import BaseTestSupport
import Primitives
import SQLStorage
import Testing

/// The contract of every `SQLDatabase`. Run each case on an empty database:
///
///     @Test(arguments: SQLDatabaseContract.cases)
///     func `SQLite keeps the contract`(_ contract: SQLDatabaseContract) async throws {
///         let database = try SQLiteDatabase.temporary()
///         try await contract.check(database)
///         await database.close()
///     }
package struct SQLDatabaseContract: Sendable, CustomTestStringConvertible {
    package let testDescription: String
    private let body: @Sendable (any SQLDatabase) async throws -> Void

    private init(_ sentence: String, _ body: @escaping @Sendable (any SQLDatabase) async throws -> Void) {
        testDescription = sentence
        self.body = body
    }

    /// Checks the case on `database`, which is empty, and records an issue for each violation.
    package func check(_ database: any SQLDatabase) async throws {
        try database.migrate([Self.schema])
        try await body(database)
    }

    /// The schema: two accounts whose balances sum to zero, a table of entries, and a table of notes that refers to the
    /// accounts.
    private static let schema = SQLMigration(
        "0001 contract",
        [
            .sqlite: """
            CREATE TABLE account (name TEXT PRIMARY KEY, balance INTEGER NOT NULL CHECK (balance < 1000000)) STRICT;
            CREATE TABLE entry (caller INTEGER NOT NULL, step INTEGER NOT NULL, place INTEGER NOT NULL,
                PRIMARY KEY (caller, step)) STRICT;
            CREATE TABLE note (account TEXT NOT NULL REFERENCES account (name), text TEXT) STRICT;
            INSERT INTO account VALUES ('a', 0), ('b', 0); -- a comment; with a semicolon
            """,
            .postgreSQL: """
            CREATE TABLE account (name TEXT PRIMARY KEY, balance BIGINT NOT NULL CHECK (balance < 1000000));
            CREATE TABLE entry (caller BIGINT NOT NULL, step BIGINT NOT NULL, place BIGINT NOT NULL,
                PRIMARY KEY (caller, step));
            CREATE TABLE note (account TEXT NOT NULL REFERENCES account (name), text TEXT);
            INSERT INTO account VALUES ('a', 0), ('b', 0); -- a comment; with a semicolon
            """,
        ])

    package static let cases: [SQLDatabaseContract] = [
        SQLDatabaseContract("a read sees the writes that were awaited") { database in
            for balance in 1...20 {
                let changed = try await database.write { connection in
                    try connection.execute("UPDATE account SET balance = ?1", [SQLValue(balance)])
                }
                #expect(changed == 2)
                let read: Int? = try database.read { connection in
                    try connection.first("SELECT balance FROM account WHERE name = ?1", ["a"])?["balance"]
                }
                #expect(read == balance)
            }
        },
        SQLDatabaseContract("a failing body writes nothing and its error is thrown") { database in
            struct Refusal: Error {}
            await #expect(throws: Refusal.self) {
                try await database.write { connection in
                    try connection.execute("UPDATE account SET balance = 5")
                    throw Refusal()
                }
            }
            try #expect(balances(database) == [0, 0])
        },
        SQLDatabaseContract("a failed statement fails its body, even if the body catches the error") { database in
            let error = await #expect(throws: SQLError.self) {
                try await database.write { connection in
                    try connection.execute("UPDATE account SET balance = 5")
                    do {
                        try connection.execute("INSERT INTO account VALUES ('a', 1)")
                        Issue.record("The same key was inserted twice.")
                    } catch {
                        #expect(throws: SQLError(.uniqueViolation, "")) {
                            try connection.query("SELECT name FROM account")
                        }
                    }
                }
            }
            #expect(error?.code == .uniqueViolation)
            try #expect(balances(database) == [0, 0])
        },
        SQLDatabaseContract("each violated constraint has its error code") { database in
            let broken: [(String, SQLError.Code)] = [
                ("INSERT INTO account VALUES ('a', 1)", .uniqueViolation),
                ("INSERT INTO account VALUES ('c', 1000000)", .checkViolation),
                ("INSERT INTO account (name) VALUES ('c')", .notNullViolation),
                ("INSERT INTO note VALUES ('missing', NULL)", .foreignKeyViolation),
            ]
            for (sql, code) in broken {
                let error = await #expect(throws: SQLError.self) {
                    try await database.write { try $0.execute(sql) }
                }
                #expect(error?.code == code)
                #expect(error?.isConstraintViolation == true)
            }
        },
        SQLDatabaseContract(
            "64 concurrent callers: each writes in its own order, and only failing writes are rolled back"
        ) {
            database in
            struct Refusal: Error {}
            try await withThrowingTaskGroup(of: Void.self) { group in
                for caller in 0..<64 {
                    group.addTask {
                        for step in 0..<10 {
                            let mustFail = (caller + step) % 7 == 0
                            do {
                                try await database.write { connection in
                                    try connection.execute(
                                        """
                                        INSERT INTO entry (caller, step, place)
                                        SELECT ?1, ?2, 1 + COALESCE(MAX(place), 0) FROM entry
                                        """,
                                        [SQLValue(caller), SQLValue(step)])
                                    if mustFail { throw Refusal() }
                                }
                                #expect(!mustFail)
                            } catch is Refusal {
                                #expect(mustFail)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let rows: [[Int]] = try database.read { connection in
                try connection.query("SELECT caller, step, place FROM entry ORDER BY place").map { row in
                    [try row["caller"], try row["step"], try row["place"]]
                }
            }
            let expected = Set((0..<640).filter { ($0 / 10 + $0 % 10) % 7 != 0 })
            #expect(Set(rows.map { $0[0] * 10 + $0[1] }) == expected)
            #expect(rows.count == expected.count)
            #expect(rows.map { $0[2] } == Array(1...expected.count))
            for caller in 0..<64 {
                let steps = rows.filter { $0[0] == caller }.map { $0[1] }
                #expect(steps == steps.sorted())
            }
        },
        SQLDatabaseContract("readers never see half a write") { database in
            let isWritten = Locked(false)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    defer { isWritten.withLock { $0 = true } }
                    for amount in 1...200 {
                        try await database.write { connection in
                            try connection.execute(
                                "UPDATE account SET balance = balance + ?1 WHERE name = 'a'", [SQLValue(amount)])
                            try connection.execute(
                                "UPDATE account SET balance = balance - ?1 WHERE name = 'b'", [SQLValue(amount)])
                        }
                    }
                }
                for _ in 0..<2 {
                    group.addTask {
                        while !isWritten.withLock({ $0 }) {
                            let seen = try database.read { connection in
                                // Two statements, which agree only on one snapshot.
                                try ["a", "b"].map { name -> Int in
                                    let row = try connection.first(
                                        "SELECT balance FROM account WHERE name = ?1", [.text(name)])
                                    return try #require(row)["balance"]
                                }
                            }
                            #expect(seen[0] + seen[1] == 0)
                            await letOthersRun()
                        }
                    }
                }
                try await group.waitForAll()
            }
            try #expect(balances(database) == [20100, -20100])
        },
        SQLDatabaseContract("a read changes nothing") { database in
            for sql in ["UPDATE account SET balance = 1", "DROP TABLE note", "CREATE TABLE more (id INTEGER)"] {
                #expect(throws: SQLError(.readOnly, "")) { try database.read { try $0.execute(sql) } }
            }
            try #expect(balances(database) == [0, 0])
        },
        SQLDatabaseContract("a body may not control transactions") { database in
            for sql in ["COMMIT", "ROLLBACK", "BEGIN", "SAVEPOINT mine"] {
                await #expect(throws: SQLError(.misuse, "")) {
                    try await database.write { connection in
                        try connection.execute("UPDATE account SET balance = 5")
                        try connection.execute(sql)
                    }
                }
                #expect(throws: SQLError(.misuse, "")) { try database.read { try $0.execute(sql) } }
            }
            try #expect(balances(database) == [0, 0])
        },
        SQLDatabaseContract("a text without exactly one valid statement, or with wrong placeholders, is refused") {
            database in
            let wrong: [(String, [SQLValue])] = [
                ("SELECT ?1", []), ("SELECT ?1", [1, 2]), ("SELECT 1", [1]), ("SELECT ?2", [1, 2]),
                ("SELECT ?", [1]), ("SELECT :name", [1]), ("SELECT 1; SELECT 2", []), ("", []), ("-- nothing", []),
                ("SELEKT", []), ("SELECT nothing FROM nowhere", []),
            ]
            for (sql, values) in wrong {
                #expect(throws: SQLError(.invalidStatement, ""), "\(sql)") {
                    try database.read { try $0.query(sql, values) }
                }
            }
            let value: Int? = try database.read { connection in
                try connection.first("SELECT 40 + ?1 + ?2 + ?1 AS sum; -- the end", [1, 2])?["sum"]
            }
            #expect(value == 44)
        },
        SQLDatabaseContract("a value that not every dialect can store is refused") { database in
            for value: SQLValue in ["a\0b", .real(.nan)] {
                #expect(throws: SQLError(.invalidValue, "")) {
                    try database.read { try $0.query("SELECT ?1", [value]) }
                }
            }
        },
        SQLDatabaseContract("`each` stops when its body throws, and the connection stays usable") { database in
            struct Enough: Error {}
            let seen: [String] = try database.read { connection in
                var seen: [String] = []
                #expect(throws: Enough.self) {
                    try connection.each("SELECT name FROM account ORDER BY name") { row in
                        seen.append(try row["name"])
                        throw Enough()
                    }
                }
                try connection.each("SELECT name FROM account ORDER BY name") { outer in
                    let outerName: String = try outer["name"]
                    try connection.each("SELECT name FROM account ORDER BY name") { inner in
                        let innerName: String = try inner["name"]
                        seen.append(outerName + innerName)
                    }
                }
                return seen
            }
            #expect(seen == ["a", "aa", "ab", "ba", "bb"])
        },
        SQLDatabaseContract("a statement with RETURNING writes all rows, even if only some are read") { database in
            let first: Int? = try await database.write { connection in
                try connection.first("UPDATE account SET balance = balance + 7 RETURNING balance")?["balance"]
            }
            #expect(first == 7)
            try #expect(balances(database) == [7, 7])
            let orphan = "INSERT INTO note VALUES ('missing', NULL), ('neither', NULL) RETURNING account"
            await #expect(throws: SQLError(.foreignKeyViolation, "")) {
                try await database.write { _ = try $0.first(orphan) }
            }
            struct Enough: Error {}
            await #expect(throws: SQLError(.foreignKeyViolation, "")) {
                try await database.write { try $0.each(orphan) { _ in throw Enough() } }
            }
        },
        SQLDatabaseContract(
            "the next statement sees what `perform` wrote, and it or the commit throws the error of `perform`"
        ) {
            database in
            let seen = try await database.write { connection in
                try connection.lockRows("SELECT 1 FROM account WHERE name = ?1", ["a"])
                try connection.perform("UPDATE account SET balance = ?1 WHERE name = 'a'", [3])
                try connection.perform("UPDATE account SET balance = balance + ?1 WHERE name = 'a'", [4])
                let answers = try connection.queries([
                    SQLQuery("SELECT balance FROM account WHERE name = ?1", ["a"]),
                    SQLQuery("SELECT name FROM account ORDER BY name"),
                    SQLQuery("SELECT name FROM account WHERE name = ?1", ["c"]),
                ])
                return answers.map { $0.map { row in row.values.map { describe($0) }.joined() } }
            }
            #expect(seen == [["7"], ["a", "b"], []])
            for isAsked in [true, false] {
                await #expect(throws: SQLError(.uniqueViolation, "")) {
                    try await database.write { connection in
                        try connection.perform("UPDATE account SET balance = 9", [])
                        try connection.perform("INSERT INTO account VALUES ('a', 1)", [])
                        if isAsked { _ = try connection.queries([SQLQuery("SELECT 1"), SQLQuery("SELECT 2")]) }
                    }
                }
            }
            try #expect(balances(database) == [7, 0])
        },
        SQLDatabaseContract("each of many concurrent look-ups gets its own row or its own error") { database in
            try await database.write { connection in
                for number in 0..<500 {
                    try connection.perform(
                        "INSERT INTO account VALUES (?1, ?2)", [.text("n\(number)"), SQLValue(number)])
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<1000 {
                    group.addTask {
                        let asked = "SELECT balance FROM account WHERE name = ?1"
                        switch number % 10 {
                        case 7:
                            await #expect(throws: SQLError(.invalidStatement, "")) {
                                try await database.lookup("SELECT nothing FROM nowhere WHERE name = ?1", ["n"])
                            }
                        case 8:
                            await #expect(throws: SQLError(.invalidValue, "")) {
                                try await database.lookup(asked, ["a\0b"])
                            }
                        default:
                            let balance: Int? = try await database.lookup(asked, [.text("n\(number)")])?["balance"]
                            #expect(balance == (number < 500 ? number : nil))
                        }
                    }
                }
                try await group.waitForAll()
            }
            await database.close()
            await #expect(throws: SQLError(.closed, "")) { try await database.lookup("SELECT 1", []) }
        },
        SQLDatabaseContract("a caller that is cancelled before its write gets an error, and nothing is written") {
            database in
            let cancelled = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await database.write { try $0.execute("UPDATE account SET balance = 5") }
            }
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            try #expect(balances(database) == [0, 0])
        },
        SQLDatabaseContract("a caller that is cancelled during its write gets the result") { database in
            let caller = Locked<Task<String, any Error>?>(nil)
            let isTaskKnown = Gate()
            let task = Task {
                try await isTaskKnown.pass()
                return try await database.write { connection in
                    try connection.execute("UPDATE account SET balance = 5")
                    caller.withLock { $0 }?.cancel()
                    return "written"
                }
            }
            caller.withLock { $0 = task }
            isTaskKnown.open()
            let answer = try await task.value
            #expect(answer == "written")
            try #expect(balances(database) == [5, 5])
        },
        SQLDatabaseContract("a closed database throws the error `closed`") { database in
            await database.close()
            await database.close()
            await #expect(throws: SQLError(.closed, "")) {
                try await database.write { try $0.execute("UPDATE account SET balance = 5") }
            }
            #expect(throws: SQLError(.closed, "")) { try database.read { try $0.query("SELECT 1") } }
            #expect(throws: SQLError(.closed, "")) { try database.migrate([schema]) }
        },
        SQLDatabaseContract("migrations are applied once, and new ones after them") { database in
            let second = SQLMigration(
                "0002", [database.dialect: "ALTER TABLE account ADD COLUMN added TEXT; UPDATE account SET added = 'x'"])
            try database.migrate([schema])
            try database.migrate([schema, second])
            try database.migrate([schema, second])
            let added: [String] = try database.read { connection in
                try connection.query("SELECT added FROM account").map { try $0["added"] }
            }
            #expect(added == ["x", "x"])
        },
        SQLDatabaseContract(
            "a list with a changed, moved, missing or invalid migration is refused, and changes nothing"
        ) {
            database in
            let dialect = database.dialect
            let second = SQLMigration("0002", [dialect: "CREATE TABLE second (id INTEGER)"])
            let third = SQLMigration("0003", [dialect: "CREATE TABLE third (id INTEGER)"])
            try database.migrate([schema, second])
            let refused: [([SQLMigration], SQLError.Code)] = [
                (
                    [schema, SQLMigration("0002", [dialect: "CREATE TABLE other (id INTEGER)"]), third],
                    .migrationChanged
                ),
                ([second, schema, third], .migrationChanged),
                ([schema, third, second], .migrationChanged),
                ([schema, third], .newerSchema),
                ([schema], .newerSchema),
                ([], .newerSchema),
                ([third], .otherSchema),
                ([schema, second, third, third], .invalidMigration),
                ([schema, second, third, SQLMigration("0004", [:])], .invalidMigration),
            ]
            for (migrations, code) in refused {
                #expect(throws: SQLError(code, "")) { try database.migrate(migrations) }
            }
            #expect(throws: SQLError(.invalidStatement, "")) {
                try database.read { try $0.query("SELECT id FROM third") }
            }
            try database.migrate([schema, second, third])
        },
        SQLDatabaseContract("a database with tables of another program is refused and unchanged") { database in
            try await database.write { try $0.execute("DROP TABLE schema_migrations") }
            let error = #expect(throws: SQLError(.otherSchema, "")) { try database.migrate([schema]) }
            #expect(error?.message.contains("of another program") == true)
            #expect(throws: SQLError(.invalidStatement, "")) {
                try database.read { try $0.query("SELECT name FROM schema_migrations") }
            }
            try await database.write { try $0.execute("CREATE TABLE schema_migrations (version TEXT)") }
            #expect(throws: SQLError(.otherSchema, "")) { try database.migrate([schema]) }
        },
        SQLDatabaseContract("a failing migration changes nothing, and those before it stay applied") { database in
            let dialect = database.dialect
            let good = SQLMigration("0002", [dialect: "CREATE TABLE second (id INTEGER)"])
            let bad = SQLMigration(
                "0003", [dialect: "CREATE TABLE third (id INTEGER); INSERT INTO account VALUES ('a', 0)"])
            let error = #expect(throws: SQLError.self) { try database.migrate([schema, good, bad]) }
            #expect(error?.code == .uniqueViolation)
            #expect(error?.message.contains("0003") == true)
            let better = SQLMigration("0003", [dialect: "CREATE TABLE third (id INTEGER)"])
            try database.migrate([schema, good, better])
        },
    ]

    private static func describe(_ value: SQLValue) -> String {
        switch value {
        case .integer(let number): "\(number)"
        case .text(let text): text
        default: "\(value)"
        }
    }

    private static func balances(_ database: any SQLDatabase) throws -> [Int] {
        try database.read { connection in
            try connection.query("SELECT balance FROM account ORDER BY name").map { try $0["balance"] }
        }
    }
}
