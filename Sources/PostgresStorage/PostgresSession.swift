import SQLStorage

/// The connection of one body: invalid after the body, and after its first failed statement.
///
/// Statements of `perform` wait for the next query, so a body needs as many round trips as it has queries.
final class PostgresSession: SQLConnection {
    private let connection: PostgresConnection
    private let statements: PostgresStatements
    private var waiting: [PostgresQuery]
    /// The number of statements that begin the transaction.
    let beginningCount: Int
    private var cursors = 0
    private var isEnded = false
    private(set) var failure: SQLError?

    /// The largest number of waiting statements, which limits their memory.
    private static let waitingLimit = 256
    /// The rows that a cursor reads at once.
    private static let part = 500

    /// - Parameter beginning: the statements that begin the transaction; sent with the first query.
    init(_ connection: PostgresConnection, _ statements: PostgresStatements, beginning: [PostgresQuery]) {
        self.connection = connection
        self.statements = statements
        waiting = beginning
        beginningCount = beginning.count
    }

    /// Ends the use by the body. Returns the statements that are not sent yet.
    func end() -> [PostgresQuery] {
        isEnded = true
        return waiting
    }

    /// Whether a statement was sent, so that a transaction is open.
    private(set) var hasBegun = false

    var isConcurrent: Bool { true }

    @discardableResult
    func execute(_ sql: String, _ values: [SQLValue]) throws -> Int {
        try ask([made(sql, values)])[0].changed
    }

    func query(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] { try ask([made(sql, values)])[0].rows }

    func first(_ sql: String, _ values: [SQLValue]) throws -> SQLRow? { try query(sql, values).first }

    func perform(_ sql: String, _ values: [SQLValue]) throws {
        waiting.append(try made(sql, values))
        if waiting.count > Self.waitingLimit { _ = try ask([]) }
    }

    func queries(_ queries: [SQLQuery]) throws -> [[SQLRow]] {
        try ask(queries.map { try made($0.sql, $0.values) }).map(\.rows)
    }

    func lockRows(_ sql: String, _ values: [SQLValue]) throws { try perform("\(sql) FOR UPDATE", values) }

    func each(_ sql: String, _ values: [SQLValue], _ body: (SQLRow) throws -> Void) throws {
        let query = try made(sql, values)
        guard query.statement.isQuery else {
            for row in try ask([query])[0].rows { try body(row) }
            return
        }
        cursors += 1
        let name = "c\(cursors)"
        let declaration = try PostgresStatement("DECLARE \(name) NO SCROLL CURSOR FOR \(sql)")
        let fetch = PostgresQuery(
            statement: try PostgresStatement("FETCH \(Self.part) FROM \(name)"), values: [], isKept: false)
        var rows = try ask([PostgresQuery(statement: declaration, values: values, isKept: false), fetch])[1].rows
        defer {
            if failure == nil, let close = try? PostgresStatement("CLOSE \(name)") {
                waiting.append(PostgresQuery(statement: close, values: [], isKept: false))
            }
        }
        while !rows.isEmpty {
            for row in rows { try body(row) }
            rows = rows.count < Self.part ? [] : try ask([fetch])[0].rows
        }
    }

    /// Sends the waiting statements and waits for the responses.
    func askWhatWaits() throws(SQLError) {
        if hasBegun ? !waiting.isEmpty : waiting.count > beginningCount { _ = try ask([]) }
    }

    private func made(_ sql: String, _ values: [SQLValue]) throws(SQLError) -> PostgresQuery {
        guard !isEnded else {
            throw SQLError(
                .misuse, "A connection to the database \(connection.place) was used after its body returned.")
        }
        if let failure { throw failure }
        do throws(SQLError) {
            let statement = try statements.statement(sql)
            guard !statement.isReserved else {
                throw SQLError(
                    .misuse,
                    "A statement for the database \(connection.place) must not control transactions, cursors or settings."
                )
            }
            return PostgresQuery(statement: statement, values: values)
        } catch {
            failure = error
            throw error
        }
    }

    private func ask(_ queries: [PostgresQuery]) throws(SQLError) -> [PostgresAnswer] {
        if let failure { throw failure }
        let all = waiting + queries
        waiting = []
        hasBegun = true
        do throws(SQLError) {
            return Array(try connection.exchange(all).suffix(queries.count))
        } catch {
            failure = error
            throw error
        }
    }
}
