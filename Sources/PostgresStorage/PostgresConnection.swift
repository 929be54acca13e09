import CPostgreSQL
import Foundation
import Primitives
import SQLStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A statement to be sent to the server.
struct PostgresQuery {
    let statement: PostgresStatement
    let values: [SQLValue]
    /// Whether the connection keeps it prepared.
    var isKept = true
}

/// The server's response to one statement.
struct PostgresAnswer {
    var rows: [SQLRow] = []
    /// The command tag, such as `UPDATE 3`.
    var tag = ""

    /// The number of rows that were inserted, updated or deleted.
    var changed: Int {
        let words = tag.split(separator: " ")
        guard let verb = words.first, ["INSERT", "UPDATE", "DELETE", "MERGE"].contains(verb) else { return 0 }
        return words.last.flatMap { Int($0) } ?? 0
    }
}

/// A connection to a server in libpq's pipeline mode: statements are sent together, and their responses read in order.
///
/// Sendable because one thread uses it at a time, and it changes threads under a lock.
final class PostgresConnection: @unchecked Sendable {
    /// The kind of work of the connection.
    enum Use { case transactions, lookups }

    /// The server and the database, for messages; never contains a password.
    let place: String
    private let settings: PostgresSettings
    private let pointer: OpaquePointer
    private let warnings: Warnings
    private var prepared: [Key: String] = [:]
    private var namesGiven = 0
    private var layouts: [Key: SQLRow.Layout] = [:]
    /// Whether responses are unread that were not waited for.
    private var hasUnread = false
    private(set) var isBroken = false

    /// The largest number of prepared statements.
    private static let preparedLimit = 512

    /// Warnings of the server since the last check.
    private final class Warnings { var texts: [String] = [] }

    /// Connects, and checks that the server can store a ledger. Throws `cannotOpen`, `readOnly` or `connectionLost`.
    init(_ settings: PostgresSettings, for use: Use) throws(SQLError) {
        self.settings = settings
        let pointer = Self.connect(settings.parameters(for: use))
        guard let pointer else {
            throw SQLError(.cannotOpen, "There is no memory for a connection to \(settings.place).")
        }
        self.pointer = pointer
        place = settings.place
        warnings = Warnings()
        guard PQstatus(pointer) == CONNECTION_OK else {
            let error = Self.refusal(pointer, settings.place)
            PQfinish(pointer)
            throw error
        }
        PQsetNoticeReceiver(
            pointer,
            { context, result in
                guard let context, let severity = PQresultErrorField(result, CInt(UInt8(ascii: "V"))),
                    String(cString: severity) == "WARNING"
                else { return }
                let warnings = Unmanaged<Warnings>.fromOpaque(context).takeUnretainedValue()
                warnings.texts.append(PostgresConnection.message(of: result))
            }, Unmanaged.passUnretained(warnings).toOpaque())
        PQsetErrorVerbosity(pointer, PQERRORS_DEFAULT)
        guard PQsetnonblocking(pointer, 1) == 0, PQenterPipelineMode(pointer) == 1 else {
            PQfinish(pointer)
            throw SQLError(.cannotOpen, "The connection to the database \(settings.place) has no pipeline mode.")
        }
        do throws(SQLError) {
            try checkServer()
        } catch {
            PQfinish(pointer)
            throw error
        }
    }

    func close() { PQfinish(pointer) }

    /// The connection's socket, for `poll`.
    var socket: CInt { PQsocket(pointer) }

    private static func connect(_ parameters: [(String, String)]) -> OpaquePointer? {
        let keys = parameters.map { strdup($0.0) }
        let values = parameters.map { strdup($0.1) }
        defer { for text in keys + values { free(text) } }
        let keyPointers = keys.map { UnsafePointer<CChar>($0) } + [nil]
        let valuePointers = values.map { UnsafePointer<CChar>($0) } + [nil]
        return PQconnectdbParams(keyPointers, valuePointers, 1)
    }

    private static func refusal(_ pointer: OpaquePointer, _ place: String) -> SQLError {
        let said = oneLine(String(cString: PQerrorMessage(pointer)))
        let code: SQLError.Code = said.contains("read-only") ? .readOnly : .cannotOpen
        let advice =
            said.contains("unsupported startup parameter")
            ? " Behind a transaction pooler, such as PgBouncer, open it without prepared statements." : ""
        return SQLError(code, "The database \(place) cannot be opened: \(said).\(advice)")
    }

    private func checkServer() throws(SQLError) {
        guard PQserverVersion(pointer) >= 140_000 else {
            throw SQLError(
                .cannotOpen, "The server of \(place) is older than PostgreSQL 14; use a newer one.")
        }
        let encoding = PQparameterStatus(pointer, "server_encoding").map { String(cString: $0) } ?? "unknown"
        guard encoding == "UTF8" else {
            throw SQLError(
                .cannotOpen,
                "The database \(place) has the encoding \(encoding); create one with ENCODING 'UTF8'.")
        }
    }

    // MARK: - Requests

    /// Sends the statements together and waits for all responses. After a failed statement the rest is skipped, and its
    /// error is thrown.
    ///
    /// Throws `outcomeUnknown` instead of `connectionLost` when the last statement is a `COMMIT` without a response.
    func exchange(_ queries: [PostgresQuery], endsWithCommit: Bool = false) throws(SQLError) -> [PostgresAnswer] {
        let deadline = ContinuousClock.now + settings.configuration.timeout
        guard !isBroken else { throw .lost(place, "it was lost before") }
        warnings.texts = []
        try readUnread(deadline)
        if endsWithCommit { try checkAlive() }
        var isAnswered = false
        do throws(SQLError) {
            let steps = try send(queries)
            settings.trips.withLock { $0 += 1 }
            let (answers, failure) = try receive(steps, deadline)
            isAnswered = failure != nil && answers.count < queries.count - 1
            if let failure { throw failure }
            if endsWithCommit { try checkCommit(answers) }
            return answers
        } catch {
            if error.code == .connectionLost { isBroken = true }
            guard error.code == .connectionLost, endsWithCommit, !isAnswered else { throw error }
            throw SQLError(
                .outcomeUnknown,
                "The connection to the database \(place) was lost during a commit: it may have happened or not.",
                underlying: error)
        }
    }

    /// Throws `connectionLost` when the server has ended the connection already, so that nothing more is sent.
    private func checkAlive() throws(SQLError) {
        while true {
            var item = pollfd(fd: PQsocket(pointer), events: Int16(POLLIN), revents: 0)
            guard poll(&item, 1, 0) > 0 else { return }
            guard PQconsumeInput(pointer) == 1 else {
                isBroken = true
                throw SQLError(.connectionLost, "The database \(place) ended the connection.")
            }
        }
    }

    /// Throws for a commit that did not wait for the standby: its data may be lost with the primary.
    private func checkCommit(_ answers: [PostgresAnswer]) throws(SQLError) {
        if let warning = warnings.texts.first {
            isBroken = true
            throw SQLError(
                .outcomeUnknown, "The database \(place) committed with a warning, which may be undone: \(warning).")
        }
        guard answers.last?.tag == "COMMIT" else {
            throw SQLError(.failed, "The database \(place) rolled a transaction back instead of committing it.")
        }
    }

    /// Sends a statement and leaves its response to the next exchange.
    func sendWithoutWaiting(_ query: PostgresQuery) {
        guard !isBroken, !hasUnread else { return isBroken = true }
        do throws(SQLError) {
            _ = try send([query])
            guard PQflush(pointer) >= 0 else { return isBroken = true }
            hasUnread = true
        } catch {
            isBroken = true
        }
    }

    /// Runs the engine's statements without values, separated by semicolons. Leaves the pipeline mode, which takes one
    /// statement at a time.
    func runScript(_ text: String) throws(SQLError) {
        let deadline = ContinuousClock.now + settings.configuration.timeout * 10
        guard !isBroken, PQexitPipelineMode(pointer) == 1, PQsendQuery(pointer, text) == 1 else { throw lost() }
        try flush(deadline)
        var failure: SQLError?
        while let result = try next(deadline) {
            if PQresultStatus(result) == PGRES_FATAL_ERROR { failure = failure ?? error(in: result) }
            PQclear(result)
        }
        guard PQenterPipelineMode(pointer) == 1 else { throw lost() }
        if let failure { throw failure }
    }

    /// Whether a transaction is open according to the responses that were read.
    var isInTransaction: Bool { PQtransactionStatus(pointer) != PQTRANS_IDLE }

    // MARK: - Sending

    /// The key of a prepared statement: its text and the types of its values.
    struct Key: Hashable {
        let statement: Int
        let types: [Oid]
    }

    /// A response that is expected from the server.
    enum Step {
        /// The preparation of the statement with this key.
        case preparation(Key)
        case statement(Key)
        /// The end of the statements that were sent together.
        case sync

        fileprivate static let unnamed = Step.statement(Key(statement: 0, types: []))
    }

    /// A statement with encoded values, for which no more local errors can occur.
    struct Message {
        fileprivate let sql: String
        fileprivate let isKept: Bool
        fileprivate let types: [Oid]
        fileprivate let bytes: [[UInt8]?]
        fileprivate let key: Key

        init(_ query: PostgresQuery) throws(SQLError) {
            guard query.values.count == query.statement.placeholders else {
                throw SQLError(
                    .invalidStatement,
                    "The statement has \(query.statement.placeholders) placeholders, but \(query.values.count) values "
                        + "were given.")
            }
            var bytes: [[UInt8]?] = []
            for (index, value) in query.values.enumerated() { bytes.append(try value.postgresBytes(at: index + 1)) }
            self.bytes = bytes
            types = query.values.map(\.postgresType)
            sql = query.statement.sql
            isKept = query.isKept
            key = Key(statement: query.statement.number, types: types)
        }
    }

    private func send(_ queries: [PostgresQuery]) throws(SQLError) -> [Step] {
        var messages: [Message] = []
        for query in queries { messages.append(try Message(query)) }
        var steps: [Step] = []
        for message in messages { try send(message, &steps) }
        try sync(&steps)
        return steps
    }

    /// Ends the statements that are sent together: when one fails, the server skips the rest.
    func sync(_ steps: inout [Step]) throws(SQLError) {
        guard PQpipelineSync(pointer) == 1 else { throw lost() }
        steps.append(.sync)
    }

    /// Passes a statement to libpq, and adds the responses to expect.
    func send(_ message: Message, _ steps: inout [Step]) throws(SQLError) {
        let count = CInt(message.types.count)
        let isSent: CInt
        if settings.configuration.keepsStatements, message.isKept {
            let name = try prepare(message, &steps)
            isSent = withParameters(message.bytes) { values, lengths, formats in
                PQsendQueryPrepared(pointer, name, count, values, lengths, formats, 1)
            }
        } else {
            isSent = withParameters(message.bytes) { values, lengths, formats in
                PQsendQueryParams(pointer, message.sql, count, message.types, values, lengths, formats, 1)
            }
        }
        guard isSent == 1 else { throw lost() }
        steps.append(.statement(message.key))
    }

    /// Returns the name of the prepared statement, which is valid after the sent statements have run.
    private func prepare(_ message: Message, _ steps: inout [Step]) throws(SQLError) -> String {
        if let known = prepared[message.key] { return known }
        if prepared.count >= Self.preparedLimit { try forgetPrepared(&steps) }
        namesGiven += 1
        let name = "s\(namesGiven)"
        guard PQsendPrepare(pointer, name, message.sql, CInt(message.types.count), message.types) == 1 else {
            throw lost()
        }
        prepared[message.key] = name
        steps.append(.preparation(message.key))
        return name
    }

    private func forgetPrepared(_ steps: inout [Step]) throws(SQLError) {
        prepared = [:]
        layouts = [:]
        guard PQsendQueryParams(pointer, "DEALLOCATE ALL", 0, nil, nil, nil, nil, 1) == 1 else { throw lost() }
        steps.append(.unnamed)
    }

    private func withParameters<T>(
        _ bytes: [[UInt8]?],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<CInt>?, UnsafePointer<CInt>?) -> T
    ) -> T {
        // All values in one buffer; the final zero gives empty values an address.
        var all: [UInt8] = []
        var places: [Int?] = []
        for value in bytes {
            places.append(value.map { _ in all.count })
            if let value { all += value + [0] }
        }
        let lengths = bytes.map { CInt($0?.count ?? 0) }
        let formats = [CInt](repeating: 1, count: bytes.count)
        return all.withUnsafeBytes { memory in
            let base = memory.bindMemory(to: CChar.self).baseAddress
            let values = places.map { place in place.flatMap { place in base.map { $0 + place } } }
            return values.withUnsafeBufferPointer { values in body(values.baseAddress, lengths, formats) }
        }
    }

    // MARK: - Receiving

    private func readUnread(_ deadline: ContinuousClock.Instant) throws(SQLError) {
        guard hasUnread else { return }
        let (_, failure) = try receive([.unnamed, .sync], deadline)
        hasUnread = false
        if let failure {
            isBroken = true
            throw .lost(place, failure.message)
        }
    }

    /// Reads the responses of `steps`. Throws only if the connection is unusable.
    private func receive(
        _ steps: [Step], _ deadline: ContinuousClock.Instant
    ) throws(SQLError) -> ([PostgresAnswer], SQLError?) {
        var answers: [PostgresAnswer] = []
        var failure: SQLError?
        try flush(deadline)
        for step in steps {
            var answer = PostgresAnswer()
            while let result = try next(deadline) {
                defer { PQclear(result) }
                switch PQresultStatus(result) {
                case PGRES_PIPELINE_SYNC:
                    guard case .sync = step else { throw unexpected() }
                case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
                    if case .statement(let key) = step {
                        answer.tag = String(cString: PQcmdStatus(result))
                        do throws(SQLError) {
                            answer.rows = try rows(of: result, key: key)
                        } catch {
                            failure = failure ?? error
                        }
                    }
                case PGRES_EMPTY_QUERY:
                    failure = failure ?? SQLError(.invalidStatement, "An empty statement was given to \(place).")
                case PGRES_PIPELINE_ABORTED:
                    failure = failure ?? .lost(place, "an answer is missing")
                case PGRES_FATAL_ERROR:
                    failure = failure ?? error(in: result)
                default: throw unexpected()
                }
                if case .sync = step { break }
            }
            if failure != nil, case .preparation(let key) = step { prepared[key] = nil }
            if failure == nil, case .statement = step { answers.append(answer) }
        }
        if let failure, failure.code == .connectionLost { isBroken = true }
        return (answers, failure)
    }

    /// Returns the next result; `nil` between two statements.
    private func next(_ deadline: ContinuousClock.Instant) throws(SQLError) -> OpaquePointer? {
        while PQisBusy(pointer) == 1 {
            try wait(for: Int16(POLLIN), deadline)
            guard PQconsumeInput(pointer) == 1 else {
                guard PQisBusy(pointer) == 0 else { throw lost() }
                break
            }
        }
        let result = PQgetResult(pointer)
        if result == nil, PQstatus(pointer) != CONNECTION_OK { throw lost() }
        return result
    }

    private func flush(_ deadline: ContinuousClock.Instant) throws(SQLError) {
        while true {
            switch PQflush(pointer) {
            case 0: return
            case 1:
                try wait(for: Int16(POLLIN | POLLOUT), deadline)
                guard PQconsumeInput(pointer) == 1 else { throw lost() }
            default: throw lost()
            }
        }
    }

    private func wait(for events: Int16, _ deadline: ContinuousClock.Instant) throws(SQLError) {
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            let milliseconds = left <= .zero ? 0 : min((left / .milliseconds(1)).rounded(.up), 3_600_000)
            var item = pollfd(fd: PQsocket(pointer), events: events, revents: 0)
            switch poll(&item, 1, CInt(milliseconds)) {
            case 1...: return
            case 0 where left <= .zero: throw .lost(place, "it did not answer in time")
            case 0: continue
            default:
                guard errno == EINTR else { throw .lost(place, String(cString: strerror(errno))) }
            }
        }
    }

    /// Sends queued data as far as the socket accepts it. Returns whether all was sent.
    func flushWithoutWaiting() throws(SQLError) -> Bool {
        switch PQflush(pointer) {
        case 0: return true
        case 1: return false
        default: throw lost()
        }
    }

    /// Reads the data that has arrived, and calls `body` with each result. A `nil` result ends each statement.
    func receiveWithoutWaiting(_ body: (OpaquePointer?) throws(SQLError) -> Bool) throws(SQLError) {
        guard PQconsumeInput(pointer) == 1 else { throw lost() }
        while PQisBusy(pointer) == 0 {
            let result = PQgetResult(pointer)
            defer { PQclear(result) }
            guard try body(result) else { break }
        }
    }

    /// Forgets the name of a statement whose preparation failed.
    func forget(_ key: Key) { prepared[key] = nil }

    /// Whether the error says that the server does not know a prepared statement.
    func isForgotten(_ result: OpaquePointer) -> Bool {
        PQresultErrorField(result, CInt(UInt8(ascii: "C"))).map { String(cString: $0) } == "26000"
    }

    /// Returns the first row of a result. Throws its error.
    func firstRow(of result: OpaquePointer, key: Key) throws(SQLError) -> SQLRow? {
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK: try rows(of: result, key: key).first
        case PGRES_COMMAND_OK: nil
        case PGRES_EMPTY_QUERY: throw SQLError(.invalidStatement, "An empty statement was given to \(place).")
        case PGRES_FATAL_ERROR: throw error(in: result)
        default: throw unexpected()
        }
    }

    func breakOff() { isBroken = true }

    private func rows(of result: OpaquePointer, key: Key) throws(SQLError) -> [SQLRow] {
        let (count, columns) = (PQntuples(result), PQnfields(result))
        guard columns > 0, count > 0 else { return [] }
        let layout: SQLRow.Layout
        if let known = layouts[key], known.names.count == Int(columns) {
            layout = known
        } else {
            layout = SQLRow.Layout((0..<columns).map { String(cString: PQfname(result, $0)) })
            layouts[key] = layout
        }
        let types = (0..<columns).map { PQftype(result, $0) }
        var rows: [SQLRow] = []
        rows.reserveCapacity(Int(count))
        for row in 0..<count {
            var values: [SQLValue] = []
            values.reserveCapacity(Int(columns))
            for column in 0..<columns {
                guard PQgetisnull(result, row, column) == 0 else {
                    values.append(.null)
                    continue
                }
                let bytes = UnsafeRawBufferPointer(
                    start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
                values.append(
                    try SQLValue(postgres: bytes, type: types[Int(column)], of: layout.names[Int(column)]))
            }
            rows.append(SQLRow(layout: layout, values: values))
        }
        return rows
    }

    private func error(in result: OpaquePointer) -> SQLError {
        let state = PQresultErrorField(result, CInt(UInt8(ascii: "C"))).map { String(cString: $0) } ?? ""
        let said = Self.message(of: result)
        // libpq's own errors for an ended connection have no SQLSTATE.
        return state.isEmpty ? .lost(place, said) : SQLError(state: state, said: said, place: place)
    }

    private static func message(of result: OpaquePointer?) -> String {
        let primary = PQresultErrorField(result, CInt(UInt8(ascii: "M"))) ?? PQresultErrorMessage(result)
        return oneLine(primary.map { String(cString: $0) } ?? "")
    }

    private func unexpected() -> SQLError {
        isBroken = true
        return .lost(place, "it answered out of order")
    }

    private func lost() -> SQLError {
        isBroken = true
        return .lost(place, Self.oneLine(String(cString: PQerrorMessage(pointer))))
    }

    private static func oneLine(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
            .joined(separator: " ")
        return line.hasSuffix(".") ? String(line.dropLast()) : line
    }
}
