import EntitlementServer
import Foundation
import Primitives
import SQLStorage

/// `souk migrate`: what a ledger's schema is, should be, and how it gets there.
enum MigrateCommands {
    private static let json = Command.Option(name: "json", help: "print one JSON value")

    static let plan = Command(
        words: ["migrate", "plan"], summary: "what an upgrade would do to a ledger's schema",
        options: [LedgerFile.option, json],
        details: "Changes nothing; a server may be running."
    ) { arguments in
        let ledger = try LedgerFile(arguments)
        let status = try LedgerFile.refusing {
            try ledger.exists
                ? ledger.file().schema(EntitlementService.migrations(for: .sqlite))
                : SQLSchemaStatus(applied: [], pending: EntitlementService.migrations(for: .sqlite).map(\.name))
        }
        try tell(status, of: ledger, asJSON: arguments.has("json"))
        return .success
    }

    static let apply = Command(
        words: ["migrate", "apply"], summary: "bring a ledger's schema up to date before a server does",
        options: [LedgerFile.option, json],
        details:
            "Each step is a transaction of its own. Refused while a server has the ledger; a server does it as well."
    ) { arguments in
        let ledger = try LedgerFile(arguments)
        let database = try ledger.open(exclusively: true)
        do {
            try await Progress.shown("migrating") {
                try LedgerFile.refusing { try database.migrate(EntitlementService.migrations(for: .sqlite)) }
            }
        } catch {
            await database.close()
            throw error
        }
        await database.close()
        try tell(
            ledger.file().schema(EntitlementService.migrations(for: .sqlite)), of: ledger, asJSON: arguments.has("json")
        )
        return .success
    }

    static let verify = Command(
        words: ["migrate", "verify"], summary: "whether a ledger is whole and its schema this program's",
        options: [LedgerFile.option, json],
        details: """
            Reads the whole file: damaged pages, rows without what they refer to, migrations that are missing or were
            changed, tables and indexes changed by hand. Changes nothing; a server may be running.
            """
    ) { arguments in
        let ledger = try LedgerFile(arguments)
        let file = try ledger.file()
        let faults = try await Progress.shown("reading the ledger") {
            // Every other fault of the file is what was asked about.
            let pending = try LedgerFile.refusing([.cannotOpen, .otherSchema]) {
                try file.schema(EntitlementService.migrations(for: .sqlite)).pending
            }
            guard pending.isEmpty else {
                return try file.damage()
                    + pending.map { "The migration \($0) is not applied: souk migrate apply does it." }
            }
            return try await file.damage() + file.deviations(from: EntitlementService.migrations(for: .sqlite))
        }
        if arguments.has("json") {
            try Terminal.print(json: [
                "ok": .bool(faults.isEmpty), "database": .string("sqlite:\(ledger.path)"),
                "faults": .array(faults.map { .string($0) }),
            ])
        } else {
            for fault in faults { try Terminal.print("\(fault)") }
            if faults.isEmpty { try Terminal.print("\(ledger.path) is whole, and its schema is up to date") }
        }
        return faults.isEmpty ? .success : .doesNotHold
    }

    private static func tell(_ status: SQLSchemaStatus, of ledger: LedgerFile, asJSON: Bool) throws {
        if asJSON {
            try Terminal.print(json: [
                "database": .string("sqlite:\(ledger.path)"), "applied": .array(status.applied.map { .string($0) }),
                "pending": .array(status.pending.map { .string($0) }),
            ])
        } else {
            for name in status.applied { try Terminal.print("applied  \(name)") }
            for name in status.pending { try Terminal.print("pending  \(name)") }
        }
    }
}
