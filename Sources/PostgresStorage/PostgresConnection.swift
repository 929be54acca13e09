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

/// A statement with its values, to be sent to the server.
struct PostgresQuery {
    let statement: PostgresStatement
    let values: [SQLValue]
    /// Whether the connection prepares the statement and keeps it for later executions.
    var isPrepared = true
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
/// It is `Sendable`, because only one thread uses it at a time and a lock protects its transfer to another thread.
final class PostgresConnection: @unchecked Sendable {
    /// The kind of work of the connection.
    enum Use { case transactions, lookups }

    /// The server and the database, for messages; never contains a password.
    let place: String
    private let settings: PostgresSettings
    private let pointer: OpaquePointer
    private let warnings: Warnings
    /// The names of the prepared statements.
    private var prepared: [Key: String] = [:]
    /// The number of names given to prepared statements.
    private var nameCount = 0
    private var layouts: [Key: SQLRow.Layout] = [:]
    /// Whether the response to `sendWithoutWaiting` was not read yet.
    private var hasUnreadResponse = false
    private(set) var isBroken = false

    /// The largest number of prepared statements.
    private static let preparedLimit = 512

    /// Warnings of the server since the last `exchange` began.
    private final class Warnings { var texts: [String] = [] }

    /// Connects, and checks the server's version and encoding. Throws `cannotOpen`, `readOnly` or `connectionLost`.
    init(_ settings: PostgresSettings, for use: Use) throws(SQLError) {
        self.settings = settings
        let pointer = Self.connect(settings.parameters(for: use))
        guard let pointer else {
            throw SQLError(.cannotOpen, "Cannot connect to the database \(settings.place): not enough memory.")
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
        settings.openConnections.withLock { $0 += 1 }
    }

    func close() {
        PQfinish(pointer)
        settings.openConnections.withLock { $0 -= 1 }
    }

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
        let reason = oneLine(String(cString: PQerrorMessage(pointer)))
        let code: SQLError.Code = reason.contains("read-only") ? .readOnly : .cannotOpen
        let advice =
            reason.contains("unsupported startup parameter")
            ? " Behind a transaction pooler, such as PgBouncer, open it without prepared statements." : ""
        return SQLError(code, "The database \(place) cannot be opened: \(reason).\(advice)")
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

    /// Sends the statements together and waits for all responses. The server skips the statements after a failed one,
    /// whose error is thrown.
    ///
    /// Throws `outcomeUnknown` if the last statement is a `COMMIT` whose response is missing or has a warning.
    func exchange(_ queries: [PostgresQuery], endsWithCommit: Bool = false) throws(SQLError) -> [PostgresAnswer] {
        let deadline = ContinuousClock.now + settings.configuration.timeout
        guard !isBroken else { throw .lost(place, "it ended earlier") }
        warnings.texts = []
        try readUnreadResponse(deadline)
        if endsWithCommit { try checkAlive() }
        /// Whether a statement before the commit failed, so that there was no commit.
        var isRejected = false
        do throws(SQLError) {
            let expected = try send(queries)
            settings.roundTrips.withLock { $0 += 1 }
            let (answers, failure) = try receive(expected, deadline)
            isRejected = failure != nil && answers.count < queries.count - 1
            if let failure { throw failure }
            if endsWithCommit { try checkCommit(answers) }
            return answers
        } catch {
            if error.code == .connectionLost { isBroken = true }
            guard error.code == .connectionLost, endsWithCommit, !isRejected else { throw error }
            throw SQLError(
                .outcomeUnknown,
                "The connection to the database \(place) was lost during a commit, which may or may not have succeeded.",
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

    /// Throws if a commit was rolled back or has a warning. The warning means that the commit did not wait for the
    /// standby, so its data may be lost if the primary fails.
    private func checkCommit(_ answers: [PostgresAnswer]) throws(SQLError) {
        if let warning = warnings.texts.first {
            isBroken = true
            throw SQLError(
                .outcomeUnknown,
                "The database \(place) committed with a warning, and the commit may be lost: \(warning).")
        }
        guard answers.last?.tag == "COMMIT" else {
            throw SQLError(.failed, "The database \(place) rolled a transaction back instead of committing it.")
        }
    }

    /// Sends a statement. The next `exchange` reads its response.
    func sendWithoutWaiting(_ query: PostgresQuery) {
        guard !isBroken, !hasUnreadResponse else { return isBroken = true }
        do throws(SQLError) {
            _ = try send([query])
            guard PQflush(pointer) >= 0 else { return isBroken = true }
            hasUnreadResponse = true
        } catch {
            isBroken = true
        }
    }

    /// Runs statements without values, separated by semicolons. Leaves the pipeline mode meanwhile, because a call can
    /// contain only one statement in that mode.
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

    /// The key of a prepared statement: the number of its text, and the types of its values.
    struct Key: Hashable {
        let statement: Int
        let types: [Oid]
    }

    /// A response that is expected from the server.
    enum ExpectedResponse {
        /// The preparation of the statement with this key.
        case preparation(Key)
        case statement(Key)
        /// The end of the statements that were sent together.
        case sync

        fileprivate static let unnamed = ExpectedResponse.statement(Key(statement: 0, types: []))
    }

    /// A statement with encoded values. Sending it fails only if the connection is lost.
    struct Message {
        fileprivate let sql: String
        fileprivate let isPrepared: Bool
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
            isPrepared = query.isPrepared
            key = Key(statement: query.statement.number, types: types)
        }
    }

    private func send(_ queries: [PostgresQuery]) throws(SQLError) -> [ExpectedResponse] {
        var messages: [Message] = []
        for query in queries { messages.append(try Message(query)) }
        var expected: [ExpectedResponse] = []
        for message in messages { try send(message, &expected) }
        try sync(&expected)
        return expected
    }

    /// Ends the statements that are sent together: when one fails, the server skips the rest.
    func sync(_ expected: inout [ExpectedResponse]) throws(SQLError) {
        guard PQpipelineSync(pointer) == 1 else { throw lost() }
        expected.append(.sync)
    }

    /// Passes a statement to libpq, and adds its responses to `expected`.
    func send(_ message: Message, _ expected: inout [ExpectedResponse]) throws(SQLError) {
        let count = CInt(message.types.count)
        let isSent: CInt
        if settings.configuration.keepsStatements, message.isPrepared {
            let name = try prepare(message, &expected)
            isSent = withParameters(message.bytes) { values, lengths, formats in
                PQsendQueryPrepared(pointer, name, count, values, lengths, formats, 1)
            }
        } else {
            isSent = withParameters(message.bytes) { values, lengths, formats in
                PQsendQueryParams(pointer, message.sql, count, message.types, values, lengths, formats, 1)
            }
        }
        guard isSent == 1 else { throw lost() }
        expected.append(.statement(message.key))
    }

    /// Returns the name of a prepared statement. A new one exists on the server after the sent statements have run.
    private func prepare(_ message: Message, _ expected: inout [ExpectedResponse]) throws(SQLError) -> String {
        if let name = prepared[message.key] { return name }
        if prepared.count >= Self.preparedLimit { try forgetPrepared(&expected) }
        nameCount += 1
        let name = "s\(nameCount)"
        guard PQsendPrepare(pointer, name, message.sql, CInt(message.types.count), message.types) == 1 else {
            throw lost()
        }
        prepared[message.key] = name
        expected.append(.preparation(message.key))
        return name
    }

    /// Deletes all prepared statements, because there are too many.
    private func forgetPrepared(_ expected: inout [ExpectedResponse]) throws(SQLError) {
        prepared = [:]
        layouts = [:]
        guard PQsendQueryParams(pointer, "DEALLOCATE ALL", 0, nil, nil, nil, nil, 1) == 1 else { throw lost() }
        expected.append(.unnamed)
    }

    private func withParameters<T>(
        _ bytes: [[UInt8]?],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<CInt>?, UnsafePointer<CInt>?) -> T
    ) -> T {
        // One buffer for all values. The zero after each value gives empty values an address.
        var buffer: [UInt8] = []
        var offsets: [Int?] = []
        for value in bytes {
            offsets.append(value.map { _ in buffer.count })
            if let value { buffer += value + [0] }
        }
        let lengths = bytes.map { CInt($0?.count ?? 0) }
        let formats = [CInt](repeating: 1, count: bytes.count)
        return buffer.withUnsafeBytes { memory in
            let base = memory.bindMemory(to: CChar.self).baseAddress
            let values = offsets.map { offset in offset.flatMap { offset in base.map { $0 + offset } } }
            return values.withUnsafeBufferPointer { values in body(values.baseAddress, lengths, formats) }
        }
    }

    // MARK: - Receiving

    private func readUnreadResponse(_ deadline: ContinuousClock.Instant) throws(SQLError) {
        guard hasUnreadResponse else { return }
        let (_, failure) = try receive([.unnamed, .sync], deadline)
        hasUnreadResponse = false
        if let failure {
            isBroken = true
            throw .lost(place, failure.message)
        }
    }

    /// Reads the expected responses. Returns the error of a statement, and throws only if the connection is unusable.
    private func receive(
        _ expected: [ExpectedResponse], _ deadline: ContinuousClock.Instant
    ) throws(SQLError) -> ([PostgresAnswer], SQLError?) {
        var answers: [PostgresAnswer] = []
        var failure: SQLError?
        try flush(deadline)
        for response in expected {
            var answer = PostgresAnswer()
            while let result = try next(deadline) {
                defer { PQclear(result) }
                switch PQresultStatus(result) {
                case PGRES_PIPELINE_SYNC:
                    guard case .sync = response else { throw unexpected() }
                case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
                    if case .statement(let key) = response {
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
                    failure = failure ?? .lost(place, "a response is missing")
                case PGRES_FATAL_ERROR:
                    failure = failure ?? error(in: result)
                default: throw unexpected()
                }
                if case .sync = response { break }
            }
            if failure != nil, case .preparation(let key) = response { prepared[key] = nil }
            if failure == nil, case .statement = response { answers.append(answer) }
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
            let remaining = ContinuousClock.now.duration(to: deadline)
            let milliseconds = remaining <= .zero ? 0 : min((remaining / .milliseconds(1)).rounded(.up), 3_600_000)
            var item = pollfd(fd: PQsocket(pointer), events: events, revents: 0)
            switch poll(&item, 1, CInt(milliseconds)) {
            case 1...: return
            case 0 where remaining <= .zero: throw .lost(place, "the server did not respond in time")
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

    /// Returns whether a result is the error of an unknown prepared statement (SQLSTATE 26000).
    func isUnknownStatement(_ result: OpaquePointer) -> Bool {
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

    func markBroken() { isBroken = true }

    private func rows(of result: OpaquePointer, key: Key) throws(SQLError) -> [SQLRow] {
        let (count, columns) = (PQntuples(result), PQnfields(result))
        guard columns > 0, count > 0 else { return [] }
        let layout: SQLRow.Layout
        if let cached = layouts[key], cached.names.count == Int(columns) {
            layout = cached
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
        let message = Self.message(of: result)
        // libpq's own errors for an ended connection have no SQLSTATE.
        return state.isEmpty ? .lost(place, message) : SQLError(state: state, message: message, place: place)
    }

    private static func message(of result: OpaquePointer?) -> String {
        let primary = PQresultErrorField(result, CInt(UInt8(ascii: "M"))) ?? PQresultErrorMessage(result)
        return oneLine(primary.map { String(cString: $0) } ?? "")
    }

    private func unexpected() -> SQLError {
        isBroken = true
        return .lost(place, "its responses are out of order")
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
