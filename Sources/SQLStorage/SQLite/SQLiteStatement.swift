import CSQLite
import Primitives

/// A prepared statement and the names of its columns. Only the thread that uses its connection may use it.
final class SQLiteStatement {
    let sql: String
    let pointer: OpaquePointer
    /// Whether the statement cannot change the file.
    let isReadOnly: Bool
    private let placeholders: Int
    /// Whether the cache contains the statement.
    fileprivate var isKept = false
    /// Whether the statement is in use. The cache does not return it meanwhile.
    fileprivate var isLent = false
    /// The time of the last use, by the clock of the cache.
    fileprivate var lastUse: UInt64 = 0
    private var layout: SQLRow.Layout?
    private var preparations: CInt = 0
    /// The bound texts and blobs, one after the other. Without this buffer, SQLite would allocate a copy of each for every
    /// run. After a run, a larger buffer is replaced by one of `bindingCapacity` bytes.
    private var bound = UnsafeMutableRawBufferPointer.allocate(byteCount: bindingCapacity, alignment: 1)
    private static let bindingCapacity = 1024

    /// Throws `invalidStatement` unless the placeholders are `?1` to `?n`, the form for all dialects.
    init(_ pointer: OpaquePointer, sql: String) throws(SQLError) {
        self.pointer = pointer
        self.sql = sql
        isReadOnly = sqlite3_stmt_readonly(pointer) != 0
        placeholders = Int(sqlite3_bind_parameter_count(pointer))
        for index in 0..<placeholders {
            guard let name = sqlite3_bind_parameter_name(pointer, CInt(index + 1)) else {
                throw SQLError(
                    .invalidStatement, "The placeholder ?\(index + 1) is missing; use all of ?1 to ?n.")
            }
            guard String(cString: name) == "?\(index + 1)" else {
                throw SQLError(
                    .invalidStatement,
                    "The placeholder \(String(cString: name)) is invalid; write placeholders as ?1 to ?n.")
            }
        }
    }

    deinit { bound.deallocate() }

    func finalize() { sqlite3_finalize(pointer) }

    func reset() {
        sqlite3_reset(pointer)
        guard placeholders > 0 else { return }
        sqlite3_clear_bindings(pointer)
        if bound.count > Self.bindingCapacity { allocateBinding(0) }
    }

    /// Binds values. The statement must have been reset, because SQLite reads the former values until then.
    func bind(_ values: [SQLValue], on connection: SQLiteConnection) throws(SQLError) {
        guard values.count == placeholders else {
            throw SQLError(
                .invalidStatement,
                "The statement has \(placeholders) placeholders, but \(values.count) values were given.")
        }
        let size = values.reduce(0) { $0 + $1.boundSize }
        if size > bound.count { allocateBinding(size) }
        var free = bound[...]
        for (index, value) in values.enumerated() {
            guard try bind(value, at: CInt(index + 1), in: &free) == SQLITE_OK else { throw connection.failure() }
        }
    }

    private func allocateBinding(_ size: Int) {
        bound.deallocate()
        bound = .allocate(byteCount: max(size, Self.bindingCapacity), alignment: 1)
    }

    private func bind(_ value: SQLValue, at index: CInt, in free: inout Slice<UnsafeMutableRawBufferPointer>)
        throws(SQLError) -> CInt
    {
        switch value {
        case .null:
            return sqlite3_bind_null(pointer, index)
        case .integer(let number):
            return sqlite3_bind_int64(pointer, index, number)
        case .real(let number):
            guard !number.isNaN else {
                throw SQLError(.invalidValue, "The value for ?\(index) is not a number and cannot be stored.")
            }
            return sqlite3_bind_double(pointer, index, number)
        case .text(var text):
            let copy = text.withUTF8 { Self.copy(UnsafeRawBufferPointer($0), to: &free) }
            guard !copy.contains(0) else {
                throw SQLError(.invalidValue, "The text for ?\(index) holds U+0000, which cannot be stored.")
            }
            return copy.withMemoryRebound(to: CChar.self) {
                sqlite3_bind_text64(pointer, index, $0.baseAddress, UInt64($0.count), nil, UInt8(SQLITE_UTF8))
            }
        case .blob(let bytes):
            if bytes.isEmpty { return sqlite3_bind_zeroblob(pointer, index, 0) }
            let copy = bytes.withUnsafeBytes { Self.copy($0, to: &free) }
            return sqlite3_bind_blob64(pointer, index, copy.baseAddress, UInt64(copy.count), nil)
        }
    }

    private static func copy(
        _ bytes: UnsafeRawBufferPointer, to free: inout Slice<UnsafeMutableRawBufferPointer>
    ) -> UnsafeRawBufferPointer {
        let copy = UnsafeMutableRawBufferPointer(rebasing: free[..<(free.startIndex + bytes.count)])
        copy.copyMemory(from: bytes)
        free = free[(free.startIndex + bytes.count)...]
        return UnsafeRawBufferPointer(copy)
    }

    /// Returns the next row; `nil` at the end.
    func step(on connection: SQLiteConnection) throws(SQLError) -> SQLRow? {
        guard try advance(on: connection) else { return nil }
        let layout = currentLayout()
        var values: [SQLValue] = []
        values.reserveCapacity(layout.names.count)
        for index in layout.names.indices { values.append(try column(index, of: layout)) }
        return SQLRow(layout: layout, values: values)
    }

    /// Moves to the next row without reading it; returns false at the end.
    func advance(on connection: SQLiteConnection) throws(SQLError) -> Bool {
        switch sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw connection.failure()
        }
    }

    /// Returns the names of the columns. Reads them again after SQLite has recompiled the statement for a changed schema.
    private func currentLayout() -> SQLRow.Layout {
        let preparations = sqlite3_stmt_status(pointer, SQLITE_STMTSTATUS_REPREPARE, 0)
        if let layout, preparations == self.preparations { return layout }
        let names = (0..<sqlite3_column_count(pointer)).map { index in
            sqlite3_column_name(pointer, index).map { String(cString: $0) } ?? ""
        }
        let layout = SQLRow.Layout(names)
        self.layout = layout
        self.preparations = preparations
        return layout
    }

    /// Returns the value of a column. Throws `unexpectedValue` for text that is not UTF-8, because replacing the invalid
    /// bytes could make two different values equal.
    private func column(_ place: Int, of layout: SQLRow.Layout) throws(SQLError) -> SQLValue {
        let index = CInt(place)
        switch sqlite3_column_type(pointer, index) {
        case SQLITE_INTEGER:
            return .integer(sqlite3_column_int64(pointer, index))
        case SQLITE_FLOAT:
            return .real(sqlite3_column_double(pointer, index))
        case SQLITE_TEXT:
            let bytes = UnsafeBufferPointer(
                start: sqlite3_column_text(pointer, index), count: Int(sqlite3_column_bytes(pointer, index)))
            guard let text = String(utf8: bytes) else {
                throw SQLError(
                    .unexpectedValue,
                    "The column \(layout.names[place]) holds text that is not UTF-8; another program wrote it, or the file is damaged."
                )
            }
            return .text(text)
        case SQLITE_BLOB:
            let bytes = sqlite3_column_blob(pointer, index)
            let count = Int(sqlite3_column_bytes(pointer, index))
            return .blob(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
        default:
            return .null
        }
    }
}

extension SQLValue {
    /// The bytes that a bound value needs, in addition to SQLite's own.
    fileprivate var boundSize: Int {
        switch self {
        case .null, .integer, .real: 0
        case .text(let text): text.utf8.count
        case .blob(let bytes): bytes.count
        }
    }
}

/// The prepared statements of a connection, at most `limit`. The least recently used one is removed first.
struct StatementCache {
    private let limit: Int
    private var statements: [String: SQLiteStatement] = [:]
    private var clock: UInt64 = 0

    init(limit: Int) {
        self.limit = limit
    }

    /// The texts of the statements that are not lent.
    var texts: Set<String> { Set(statements.values.filter { !$0.isLent }.map(\.sql)) }

    /// Returns a statement, which is in use until `put`. Returns `nil` if there is none or it is in use: a body that runs
    /// the same text inside `each` gets another statement.
    func take(_ sql: String) -> SQLiteStatement? {
        guard let statement = statements[sql], !statement.isLent else { return nil }
        statement.isLent = true
        return statement
    }

    mutating func put(_ statement: SQLiteStatement) {
        clock += 1
        statement.lastUse = clock
        statement.isLent = false
        guard !statement.isKept else { return }
        guard limit > 0, statements[statement.sql] == nil else { return statement.finalize() }
        if statements.count >= limit {
            guard let oldest = statements.values.filter({ !$0.isLent }).min(by: { $0.lastUse < $1.lastUse }) else {
                return statement.finalize()
            }
            statements[oldest.sql] = nil
            oldest.finalize()
        }
        statement.isKept = true
        statements[statement.sql] = statement
    }

    /// Finalizes all statements that are not lent. The users of lent ones finalize them.
    mutating func removeAll() {
        for statement in statements.values where !statement.isLent { statement.finalize() }
        statements = [:]
    }
}
