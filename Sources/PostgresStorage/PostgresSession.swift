import SQLStorage

/// The connection that one body gets. It is invalid after the body, and after the first failed statement.
///
/// Statements of `perform` are sent with the next query, so a body usually needs one round trip for each query.
final class PostgresSession: SQLConnection {
    private let connection: PostgresConnection
    private let statements: PostgresStatements
    /// The statements that are not sent yet.
    private var waiting: [PostgresQuery]
    /// The number of statements that begin the transaction.
    let beginCount: Int
    private var cursors = 0
    private var isEnded = false
    private(set) var failure: SQLError?

    /// The largest number of waiting statements. It limits their memory.
    private static let waitingLimit = 256
    /// The number of rows that a cursor reads at once.
    private static let fetchSize = 500

    /// - Parameter begin: The statements that begin the transaction. They are sent with the first query.
    init(_ connection: PostgresConnection, _ statements: PostgresStatements, begin: [PostgresQuery]) {
        self.connection = connection
        self.statements = statements
        waiting = begin
        beginCount = begin.count
    }

    /// Invalidates the connection for the body. Returns the statements that are not sent yet.
    func end() -> [PostgresQuery] {
        isEnded = true
        return waiting
    }

    /// Whether a statement was sent, so that a transaction is open.
    private(set) var hasBegun = false

    var isConcurrent: Bool { true }

    @discardableResult
    func execute(_ sql: String, _ values: [SQLValue]) throws -> Int {
        try exchange([makeQuery(sql, values)])[0].changed
    }

    func query(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
        try exchange([makeQuery(sql, values)])[0].rows
    }

    func first(_ sql: String, _ values: [SQLValue]) throws -> SQLRow? { try query(sql, values).first }

    func perform(_ sql: String, _ values: [SQLValue]) throws {
        waiting.append(try makeQuery(sql, values))
        if waiting.count > Self.waitingLimit { _ = try exchange([]) }
    }

    func queries(_ queries: [SQLQuery]) throws -> [[SQLRow]] {
        try exchange(queries.map { try makeQuery($0.sql, $0.values) }).map(\.rows)
    }

    func lockRows(_ sql: String, _ values: [SQLValue]) throws { try perform("\(sql) FOR UPDATE", values) }

    func each(_ sql: String, _ values: [SQLValue], _ body: (SQLRow) throws -> Void) throws {
        let query = try makeQuery(sql, values)
        guard query.statement.isQuery else {
            for row in try exchange([query])[0].rows { try body(row) }
            return
        }
        cursors += 1
        let name = "c\(cursors)"
        let declaration = try PostgresStatement("DECLARE \(name) NO SCROLL CURSOR FOR \(sql)")
        let fetch = PostgresQuery(
            statement: try PostgresStatement("FETCH \(Self.fetchSize) FROM \(name)"), values: [], isPrepared: false)
        var rows = try exchange([PostgresQuery(statement: declaration, values: values, isPrepared: false), fetch])[1]
            .rows
        defer {
            if failure == nil, let close = try? PostgresStatement("CLOSE \(name)") {
                waiting.append(PostgresQuery(statement: close, values: [], isPrepared: false))
            }
        }
        while !rows.isEmpty {
            for row in rows { try body(row) }
            rows = rows.count < Self.fetchSize ? [] : try exchange([fetch])[0].rows
        }
    }

    /// Sends the waiting statements and waits for the responses.
    func sendWaiting() throws(SQLError) {
        if hasBegun ? !waiting.isEmpty : waiting.count > beginCount { _ = try exchange([]) }
    }

    private func makeQuery(_ sql: String, _ values: [SQLValue]) throws(SQLError) -> PostgresQuery {
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

    private func exchange(_ queries: [PostgresQuery]) throws(SQLError) -> [PostgresAnswer] {
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
