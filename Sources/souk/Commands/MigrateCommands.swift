import SimulatorControl
import EntitlementServer
import Foundation
import Primitives
import SQLStorage
import StoreKitAdapter
import StoreModel

/// `souk migrate`: shows and applies a ledger's schema migrations, and copies a ledger to PostgreSQL.
enum MigrateCommands {
    private static let json = Command.Option(name: "json", help: "print one JSON value")

    static let plan = Command(
        words: ["migrate", "plan"], summary: "Show the pending migrations of a ledger's schema",
        options: [LedgerLocation.option, json],
        details: "Changes nothing; a server may be running."
    ) { arguments in
        let ledger = try LedgerLocation(arguments)
        if case .file(let file) = ledger { try file.requireNoLogAlone() }
        let status =
            if case .file(let file) = ledger, !file.exists {
                SQLSchemaStatus(applied: [], pending: EntitlementService.migrations(for: .sqlite).map(\.name))
            } else {
                try ledger.schema()
            }
        try report(status, of: ledger.name, asJSON: arguments.has("json"))
        return .success
    }

    static let apply = Command(
        words: ["migrate", "apply"], summary: "Apply the pending migrations of a ledger's schema",
        options: [LedgerLocation.option, json],
        details: """
            Each migration is one transaction. Fails while a server has the SQLite file open. A server also applies the
            migrations when it starts.
            """
    ) { arguments in
        let ledger = try LedgerLocation(arguments)
        let database = try ledger.open(exclusively: true)
        try await database.closing {
            try await Progress.shown("migrating") {
                try LedgerFile.refusing {
                    try database.migrate(EntitlementService.migrations(for: database.dialect))
                }
            }
        }
        try report(ledger.schema(), of: ledger.name, asJSON: arguments.has("json"))
        return .success
    }

    static let verify = Command(
        words: ["migrate", "verify"], summary: "Check a ledger's integrity and schema version",
        options: [LedgerLocation.option, json],
        details: """
            Finds migrations that are missing or were changed, and tables and indexes that were changed by hand. In a
            SQLite file, also finds damaged pages and violated foreign keys. PostgreSQL checks its rows itself; its role
            must be allowed to create schemas. Changes nothing; a server may be running.
            """
    ) { arguments in
        let ledger = try LedgerLocation(arguments)
        let faults = try await Progress.shown("reading the ledger") { try await Self.faults(of: ledger) }
        if arguments.has("json") {
            try Terminal.print(json: [
                "ok": .bool(faults.isEmpty), "database": .string(ledger.name),
                "faults": .array(faults.map { .string($0) }),
            ])
        } else {
            for fault in faults { try Terminal.print("\(fault)") }
            if faults.isEmpty { try Terminal.print("\(ledger.name) is intact, and its schema is up to date") }
        }
        return faults.isEmpty ? .success : .failure
    }

    static let copy = Command(
        words: ["migrate", "copy"], summary: "Move a ledger from SQLite to PostgreSQL",
        options: [
            .init(name: "from", value: "sqlite:PATH", help: "the ledger (sqlite:souk.sqlite)"),
            .init(name: "to", value: "postgres://URL", help: "an empty database, or one with an unfinished copy"),
            .init(name: "features", value: "FILE", help: "the server's feature map"),
            .init(name: "clock", value: "URL", help: "the simulator whose virtual time the server follows"),
            json,
        ],
        details: """
            Compares row by row and writes the rows that differ, so it can be interrupted and run again. If a server has
            the ledger open, the command copies it and exits with 2: stop the server and run the command again, which
            copies only the changes since. Then it replays both ledgers, which must be equal, and marks the SQLite file
            as moved: souk serve refuses it from then on. Event ids, webhook cursors and idempotency keys are kept. The
            password comes from the file that PGPASSFILE names, or from PGPASSWORD.
            """
    ) { arguments in
        let from = try LedgerFile(naming: arguments.text("from") ?? "sqlite:souk.sqlite", called: "--from")
        guard case .postgres(let to) = try LedgerLocation(naming: arguments.required("to")) else {
            throw UsageError("--to is postgres://user@host:port/name")
        }
        let features = try arguments.text("features").map { try CatalogueCommands.featureMap(in: $0) } ?? FeatureMap()
        let clock = try await SimulatorClock.started(by: arguments)
        guard from.exists else { throw UsageError("There is no ledger \(from.path)") }
        let (source, isServed) = try open(from)
        let counts = try await source.closing {
            let target = try to.open()
            return try await target.closing {
                let copy = LedgerCopy(
                    from: source, named: "sqlite:\(from.path)", to: target, named: to.address)
                return try await refusing {
                    try await copy.begin()
                    let counts = try await copied(copy)
                    guard !isServed else { return counts }
                    let ends = [source as any SQLDatabase, target]
                    try await verify(ends, features, clock ?? SystemClock())
                    try await copy.finish()
                    return counts
                }
            }
        }
        await clock?.stop()
        guard !isServed else {
            throw UsageError(
                "The ledger was copied, but a server has \(from.path) open: stop it and run this again to copy the changes since"
            )
        }
        if arguments.has("json") {
            try Terminal.print(json: [
                "customers": .number(counts.customers), "facts": .number(counts.facts),
                "events": .number(counts.events),
                "verified": true,
            ])
        } else {
            let parts = [
                LintReport.count(counts.customers, "customer"), LintReport.count(counts.facts, "fact"),
                LintReport.count(counts.events, "event"),
            ]
            try Terminal.print(
                "\(parts.joined(separator: ", ")) are in \(to.address); \(from.path) is marked as moved, and souk serve refuses it"
            )
        }
        return .success
    }

    /// Opens the ledger, exclusively if no server has it open.
    private static func open(_ file: LedgerFile) throws -> (SQLiteDatabase, isServed: Bool) {
        do {
            var configuration = SQLiteDatabase.Configuration()
            configuration.isExclusive = true
            return (try SQLiteDatabase(path: file.resolvedPath, configuration: configuration), false)
        } catch let error as SQLError where error.code == .alreadyOpen {
            return (try file.open(exclusively: false), true)
        } catch let error as SQLError where LedgerFile.usageErrorCodes.contains(error.code) {
            throw UsageError(error.description)
        }
    }

    private static func copied(_ copy: LedgerCopy) async throws -> LedgerCopy.Counts {
        defer { if Terminal.showsProgress { Terminal.write(error: "\r\u{1B}[K") } }
        return try await copy.run { share in
            guard Terminal.showsProgress else { return }
            Terminal.write(error: "\rcopying \(Int(share * 100)) % ")
        }
    }

    /// Replays both ledgers. Throws `UsageError` when a replay finds differences, or when the two reports have
    /// different counts.
    private static func verify(
        _ databases: [any SQLDatabase], _ features: FeatureMap, _ clock: any WallClock
    ) async throws {
        let reports = try await Progress.shown("replaying both ledgers") {
            try databases.map { database in
                let apps = try LedgerReplay.apps(in: database).map {
                    EntitlementService.Configuration.App(bundleID: $0, features: features)
                }
                return try LedgerReplay(database: database, apps: apps, clock: clock).run()
            }
        }
        guard reports.allSatisfy({ $0.differenceCount == 0 }) else {
            throw UsageError(
                "The ledger does not match its facts, so it was copied, but not moved: see souk ledger replay")
        }
        let sums = reports.map { [$0.facts, $0.factsWithoutSource, $0.purchases, $0.customers, $0.debtCount] }
        guard Set(sums).count == 1 else {
            throw UsageError("The copy differs from the ledger; run this again")
        }
    }

    /// Turns errors of a copy into `UsageError`. Each table is copied in its present state, so a row that a server wrote
    /// meanwhile can violate a constraint.
    private static func refusing<Value>(_ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch let error as EntitlementServerError {
            throw UsageError(error.description)
        } catch let error as SQLError where LedgerFile.usageErrorCodes.contains(error.code) {
            throw UsageError(error.description)
        } catch let error as SQLError where error.isConstraintViolation {
            throw UsageError("The ledger changed while it was copied; run this again to continue")
        }
    }

    /// Returns the faults of a ledger. Throws `UsageError` if it cannot be opened or has another schema.
    private static func faults(of ledger: LedgerLocation) async throws -> [String] {
        switch ledger {
        case .file(let ledger):
            let file = try ledger.file()
            let pending = try LedgerFile.refusing([.cannotOpen, .otherSchema]) {
                try file.schema(EntitlementService.migrations(for: .sqlite)).pending
            }
            guard pending.isEmpty else { return try file.damage() + missing(pending) }
            return try await file.damage() + file.deviations(from: EntitlementService.migrations(for: .sqlite))
        case .postgres(let postgres):
            let migrations = EntitlementService.migrations(for: .postgreSQL)
            return try postgres.reading { database in
                let pending = try database.schema(migrations).pending
                return pending.isEmpty ? try database.deviations(from: migrations) : missing(pending)
            }
        }
    }

    private static func missing(_ migrations: [String]) -> [String] {
        migrations.map { "The migration \($0) is not applied: run souk migrate apply." }
    }

    private static func report(_ status: SQLSchemaStatus, of ledger: String, asJSON: Bool) throws {
        if asJSON {
            try Terminal.print(json: [
                "database": .string(ledger), "applied": .array(status.applied.map { .string($0) }),
                "pending": .array(status.pending.map { .string($0) }),
            ])
        } else {
            for name in status.applied { try Terminal.print("applied  \(name)") }
            for name in status.pending { try Terminal.print("pending  \(name)") }
        }
    }
}
