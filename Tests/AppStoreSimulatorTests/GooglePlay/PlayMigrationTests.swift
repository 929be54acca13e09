import BaseTestSupport
import Foundation
import Primitives
import SQLStorage
import Testing

@testable import AppStoreSimulator

/// The tables of a simulator that knew neither attempts nor partial refunds.
struct PlayMigrationTests {
    @Test func `attempts, voided purchases and orders of an earlier version are kept`() async throws {
        let folder = try ScratchFolder()
        let database = try SQLiteDatabase(path: folder.path + "/store.sqlite")
        try database.migrate(SimulatorSchema.migrations.filter { $0.name < "0011" })
        try await database.write { sql in
            for statement in [
                "INSERT INTO account (id, name, app_transaction, created_at, last_at) VALUES (1, 'anna', '1', 1, 1)",
                "INSERT INTO play_purchase VALUES ('token', 1, 1, 1, NULL, '{}')",
                "INSERT INTO play_order VALUES ('GPA.1', 'token', 5, '{}')",
                "INSERT INTO play_voided VALUES (7, 'GPA.1', 6, 1, '{\"orderId\":\"GPA.1\"}')",
                "INSERT INTO play_notification VALUES (1, 5, 'token', '{}', NULL, 0, NULL)",
                "INSERT INTO play_notification VALUES (2, 6, 'token', '{}', 9, 3, '500')",
                "INSERT INTO play_notification VALUES (3, 7, 'token', '{}', 9, 1, NULL)",
            ] { try sql.execute(statement) }
        }
        try database.migrate(SimulatorSchema.migrations)
        func rows(_ statement: String) throws -> [[SQLValue]] {
            try database.read { try $0.query(statement).map(\.values) }
        }
        // An attempt that was under way has an unknown result.
        #expect(
            try rows("SELECT * FROM play_attempt ORDER BY notification") == [
                [.integer(2), .integer(3), .integer(6), .text("500")],
                [.integer(3), .integer(1), .integer(7), .text("OTHER")],
            ])
        #expect(
            try rows("SELECT id, due, attempts FROM play_notification ORDER BY id") == [
                [.integer(1), .null, .integer(0)], [.integer(2), .integer(9), .integer(3)],
                [.integer(3), .integer(9), .integer(1)],
            ])
        #expect(
            try rows("SELECT * FROM play_voided") == [
                [
                    .integer(7), .text("GPA.1"), .integer(6), .integer(1), .integer(0),
                    .text("{\"orderId\":\"GPA.1\"}"),
                ]
            ])
        // An order is voided in full once, and in parts as often as it has items.
        let again = "INSERT INTO play_voided (order_id, at, is_subscription, is_partial, body) VALUES ('GPA.1', 8, 0, "
        try await database.write { try $0.execute(again + "1, '{}'), ('GPA.1', 9, 0, 1, '{}')") }
        await #expect(throws: SQLError.self) { try await database.write { try $0.execute(again + "0, '{}')") } }
        await database.close()
    }
}
