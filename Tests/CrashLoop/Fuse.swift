import HTTPCore
import Primitives
import SQLStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A counter of operations that kills this process at the N-th one with SIGKILL.
final class Fuse: Sendable {
    private let remaining: Locked<Int>

    /// Creates a fuse that kills the process at this operation, counted from 1; never if it is `nil`.
    init(_ operation: Int?) { remaining = Locked(operation ?? .max) }

    /// Counts an operation, and kills the process if it is the last one.
    func countOrKill() {
        if countOperation() { kill(getpid(), SIGKILL) }
    }

    /// Counts an operation, and returns whether the process must be killed at it.
    func countOperation() -> Bool {
        remaining.withLock { remaining in
            remaining -= 1
            return remaining == 0
        }
    }
}

/// A transport that counts an operation before each request and after each response.
struct FusedTransport: HTTPTransport {
    let network: any HTTPTransport
    let fuse: Fuse

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        fuse.countOrKill()
        var response = try await network.send(request)
        response.body = .bytes(try await response.body.collect(upTo: 16 << 20))
        fuse.countOrKill()
        return response
    }
}

/// A database that counts an operation before each statement, and before and after each write and migration.
struct FusedDatabase: SQLDatabase {
    let database: any SQLDatabase
    let fuse: Fuse

    var dialect: SQLDialect { database.dialect }

    func migrate(_ migrations: [SQLMigration]) throws {
        fuse.countOrKill()
        try database.migrate(migrations)
        fuse.countOrKill()
    }

    func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T {
        try database.read { try body(FusedConnection(connection: $0, fuse: fuse)) }
    }

    func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T {
        fuse.countOrKill()
        let value = try await database.write { [fuse] in try body(FusedConnection(connection: $0, fuse: fuse)) }
        fuse.countOrKill()
        return value
    }

    func close() async { await database.close() }
}

private struct FusedConnection: SQLConnection {
    let connection: any SQLConnection
    let fuse: Fuse

    func execute(_ sql: String, _ values: [SQLValue]) throws -> Int {
        fuse.countOrKill()
        return try connection.execute(sql, values)
    }

    func query(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
        fuse.countOrKill()
        return try connection.query(sql, values)
    }

    func first(_ sql: String, _ values: [SQLValue]) throws -> SQLRow? {
        fuse.countOrKill()
        return try connection.first(sql, values)
    }

    func each(_ sql: String, _ values: [SQLValue], _ body: (SQLRow) throws -> Void) throws {
        fuse.countOrKill()
        try connection.each(sql, values, body)
    }
}
