import BaseTestSupport
import Foundation
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The SQL statements of the sender. Their cost does not grow with the sent notifications, and a sender that waits
/// does not keep writing.
@Suite struct SendingStatementTests {
    @Test func `due notifications are found without reading the sent ones`() async throws {
        let folder = try ScratchFolder()
        let database = RecordingDatabase(try SQLiteDatabase(path: folder.path + "/books.sqlite"))
        let receiver = Receiver { $0.type == "SUBSCRIBED" ? 500 : 200 }
        try await TestStore.notifying(receiver, change: { $0.database = database }) { test in
            try await test.buy("coins")
            try await test.buy("weekly")
            try await test.store.deliverNotifications()
            try await test.advance(.hour)
            try await test.store.deliverNotifications()
            try await test.store.resendNotification(try #require(try test.store.notifications().first).uuid)
            try await test.store.deliverNotifications()
            let about = ["notification", "attempt"].map { "FROM \($0) " } + ["UPDATE notification", "UPDATE attempt"]
            let statements = database.statements.filter { text in about.contains { text.contains($0) } }
            #expect(statements.count > 8)
            for sql in statements {
                // A search by `rowid < ?` reads all earlier rows.
                for step in try await Self.plan(of: sql, in: database)
                where step.hasPrefix("SCAN") || step.contains("(rowid<?)") {
                    // The partial indexes contain only waiting notifications.
                    let isShort = ["unsent", "retry", "open"].contains { step.contains("INDEX notification_\($0)") }
                    #expect(isShort || step.contains("attempt_open") || step.contains("CONSTANT"), "\(step): \(sql)")
                }
            }
        }
    }

    @Test func `a sender does not keep writing while a notification waits for another of its purchase`() async throws {
        let folder = try ScratchFolder()
        let database = RecordingDatabase(try SQLiteDatabase(path: folder.path + "/books.sqlite"))
        let gate = Gate()
        let receiver = Receiver { arrival in
            if arrival.type != "SUBSCRIBED" { await gate.wait() }
            return 500
        }
        let base = ManualClock()
        try await TestStore.notifying(receiver, rate: .real, base: base, change: { $0.database = database }) { test in
            try await test.buy("weekly")
            try await test.store.deliverNotifications()
            try await test.store.cancel("weekly", for: "anna")
            await receiver.arrivals(atLeast: 2)
            // The first notification is due again after an hour, and must wait for the second. A polling sender would
            // exceed the allowed writes.
            database.refuse(after: 20)
            let renewal = base.now().addingTimeInterval(7 * 86400)
            base.advance(by: 3600)
            await base.waiters(atLeast: 1)
            try #require(!database.hasRefused, "The sender writes to the database although it waits.")
            await base.waiters(until: renewal)
            #expect(receiver.arrivals.count == 2)
            gate.open()
            try await test.store.deliverNotifications()
            #expect(receiver.arrivals.count == 3 || receiver.arrivals.count == 4)
        }
    }

    private static func plan(of sql: String, in database: RecordingDatabase) async throws -> [String] {
        let count = (1...20).last { sql.contains("?\($0)") } ?? 0
        return try await database.inner.write { connection in
            try connection.query("EXPLAIN QUERY PLAN \(sql)", Array(repeating: .null, count: count))
                .map { try $0["detail"] }
        }
    }
}

/// A database that records every statement and can refuse writes.
private final class RecordingDatabase: SQLDatabase {
    private struct State {
        var statements: Set<String> = []
        var writesLeft = Int.max
    }

    private struct Refused: Error {}

    let inner: any SQLDatabase
    private let state = Locked(State())

    init(_ inner: any SQLDatabase) { self.inner = inner }

    var statements: Set<String> { state.withLock { $0.statements } }

    /// Refuses all writes after the next `writes`.
    func refuse(after writes: Int) { state.withLock { $0.writesLeft = writes } }

    var hasRefused: Bool { state.withLock { $0.writesLeft < 0 } }

    var dialect: SQLDialect { inner.dialect }
    func migrate(_ migrations: [SQLMigration]) throws { try inner.migrate(migrations) }
    func close() async { await inner.close() }

    func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T {
        try inner.read { try body(Connection(inner: $0, note: note)) }
    }

    func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T {
        let isRefused = state.withLock { state in
            state.writesLeft -= 1
            return state.writesLeft < 0
        }
        if isRefused { throw Refused() }
        return try await inner.write { [self] in try body(Connection(inner: $0, note: note)) }
    }

    private func note(_ sql: String) { state.withLock { _ = $0.statements.insert(sql) } }

    struct Connection: SQLConnection {
        let inner: any SQLConnection
        let note: (String) -> Void

        func execute(_ sql: String, _ values: [SQLValue]) throws -> Int {
            note(sql)
            return try inner.execute(sql, values)
        }

        func query(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
            note(sql)
            return try inner.query(sql, values)
        }

        func first(_ sql: String, _ values: [SQLValue]) throws -> SQLRow? {
            note(sql)
            return try inner.first(sql, values)
        }

        func each(_ sql: String, _ values: [SQLValue], _ body: (SQLRow) throws -> Void) throws {
            note(sql)
            try inner.each(sql, values, body)
        }
    }
}
