import SQLStorage
import Testing

@testable import PostgresStorage

@Suite struct PostgresStatementTests {
    @Test(arguments: [
        ("SELECT ?1", "SELECT $1", 1), ("SELECT ?2, ?1, ?2", "SELECT $2, $1, $2", 2),
        ("SELECT '?1', \"?1\", ?1", "SELECT '?1', \"?1\", $1", 1),
        ("SELECT 'it''s ?1' -- ?2\n, ?1", "SELECT 'it''s ?1' -- ?2\n, $1", 1),
        ("SELECT E'\\'?1', ?1", "SELECT E'\\'?1', $1", 1), ("SELECT e'\\\\', ?1", "SELECT e'\\\\', $1", 1),
        ("SELECT /* ?1 /* ?2 */ ?3 */ ?1", "SELECT /* ?1 /* ?2 */ ?3 */ $1", 1),
        ("SELECT $$ ?1 $$, $a$ $$ ?1 $a$, ?1", "SELECT $$ ?1 $$, $a$ $$ ?1 $a$, $1", 1),
        ("SELECT a1, 1e5, x$1 FROM t WHERE b = ?1", "SELECT a1, 1e5, x$1 FROM t WHERE b = $1", 1),
        ("SELECT ?1::text", "SELECT $1::text", 1), ("SELECT 'ö', \"ü\", ?1", "SELECT 'ö', \"ü\", $1", 1),
        ("SELECT ?10, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9", "SELECT $10, $1, $2, $3, $4, $5, $6, $7, $8, $9", 10),
    ])
    func `placeholders are translated, and quoted text stays`(text: String, sql: String, placeholders: Int) throws {
        let statement = try PostgresStatement(text)
        #expect(statement.sql == sql)
        #expect(statement.placeholders == placeholders)
    }

    @Test(arguments: [
        "SELECT ?", "SELECT ?0", "SELECT ?01", "SELECT ?2", "SELECT ?1, ?3", "SELECT $1", "SELECT ?99999",
        "SELECT ?99999999999999999999", "", " ", "-- nothing", "/* nothing */", ";",
    ])
    func `placeholders in another form or with gaps, and empty statements, are refused`(text: String) {
        #expect(throws: SQLError(.invalidStatement, "")) { _ = try PostgresStatement(text) }
    }

    @Test(arguments: [
        "COMMIT", " commit", "-- a comment\n RollBack", "/* a */ (BEGIN)", "; START TRANSACTION", "SET x = 1",
        "declare c cursor for select 1",
    ])
    func `statements that a body may not execute are recognized by their first word`(text: String) throws {
        #expect(try PostgresStatement(text).isReserved)
        #expect(try !PostgresStatement("SELECT 'COMMIT'").isReserved)
    }

    /// Unterminated strings, names and comments.
    @Test(arguments: ["'", "\"", "E'\\", "/*", "/* /*", "$$", "$a$", "$a", "?", "--", "e'", "a'"])
    func `an unterminated text does not trap`(end: String) {
        _ = try? PostgresStatement("SELECT 1 \(end)")
        _ = try? PostgresStatement(end)
    }
}
