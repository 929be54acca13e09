import SimulatorControl
import CurlTransport
import EntitlementServer
import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

/// `souk ledger replay`: checks that a ledger's state follows from its facts. `souk ledger compact`: erases deleted
/// data from the SQLite file.
enum LedgerCommands {
    static let compact = Command(
        words: ["ledger", "compact"], summary: "Rewrite a ledger's file, without the remains of erased data",
        options: [LedgerFile.option, .init(name: "json", help: "print one JSON value")],
        details: """
            SQLite leaves copies of rows in free space, where the name of an erased customer can remain. souk serve rewrites
            a ledger of up to 256 MiB after an erasure. Run this command for a larger one, at a quiet time: writes
            wait for about a second for each 100 MB, and get status 503 after 5 seconds. While it runs, it needs free disk
            space of the size of the ledger. A server may be running.
            """
    ) { arguments in
        let ledger = try LedgerFile(arguments)
        func size() throws -> Int64 {
            (try FileManager.default.attributesOfItem(atPath: ledger.resolvedPath)[.size] as? NSNumber)?.int64Value ?? 0
        }
        let before = try ledger.exists ? size() : 0
        try await ledger.withSharedDatabase { try await EntitlementService.compact($0) }
        let after = try size()
        if arguments.has("json") {
            try Terminal.print(json: [
                "database": .string("sqlite:\(ledger.path)"), "bytes": .number(after), "bytesBefore": .number(before),
            ])
        } else {
            try Terminal.print("\(ledger.path) was rewritten: \(after) bytes, before \(before)")
        }
        return .success
    }

    static let replay = Command(
        words: ["ledger", "replay"], summary: "Recompute all customers from the ledger's facts, and compare",
        options: [
            LedgerLocation.option,
            .init(name: "features", value: "FILE", help: "the server's feature map"),
            .init(name: "clock", value: "URL", help: "the simulator whose virtual time the server follows"),
            .init(name: "json", help: "print one JSON value"),
        ],
        details: """
            Reads all facts, claims and customers. Each fact must equal its signed payload. Each purchase must belong to the
            customers of its token and claims. Answers must follow from the facts, and purchases must cover all redemptions.
            Changes nothing; a server may be running. Exit 1 when something differs. Debts of customers who spent a
            purchase more than once in older versions are listed, and do not count as differences.
            """
    ) { arguments in
        let features = try arguments.text("features").map { try CatalogueCommands.featureMap(in: $0) } ?? FeatureMap()
        let clock = try await SimulatorClock.started(by: arguments)
        let report = try await LedgerLocation(arguments).withSharedDatabase { database in
            let apps = try LedgerReplay.apps(in: database).map {
                EntitlementService.Configuration.App(bundleID: $0, features: features)
            }
            let replay = LedgerReplay(database: database, apps: apps, clock: clock ?? SystemClock())
            return try await shown(replay)
        }
        await clock?.stop()
        try printReport(report, asJSON: arguments.has("json"))
        return report.differenceCount == 0 ? .success : .failure
    }

    private static func shown(_ replay: LedgerReplay) async throws -> LedgerReplay.Report {
        let size = max(1, try replay.size())
        defer { if Terminal.showsProgress { Terminal.write(error: "\r\u{1B}[K") } }
        do {
            return try replay.run { seen in
                guard Terminal.showsProgress, seen % 1000 == 0 else { return }
                Terminal.write(error: "\rreplaying \(min(100, seen * 100 / size)) % ")
            }
        } catch let error as EntitlementServerError where error.code == .invalidConfiguration {
            throw UsageError(error.description)
        }
    }

    private static func printReport(_ report: LedgerReplay.Report, asJSON: Bool) throws {
        guard !asJSON else {
            try Terminal.print(json: [
                "ok": .bool(report.differenceCount == 0), "facts": .number(report.facts),
                "factsWithoutSource": .number(report.factsWithoutSource), "purchases": .number(report.purchases),
                "customers": .number(report.customers), "staleAnswers": .number(report.staleAnswers),
                "debtCount": .number(report.debtCount),
                "debts": .array(
                    report.debts.map { debt in
                        [
                            "app": .string(debt.app.rawValue), "environment": .string(debt.environment.rawValue),
                            "customer": .string(debt.customer.rawValue), "credit": .string(debt.credit),
                            "amount": .number(debt.amount),
                        ]
                    }),
                "differenceCount": .number(report.differenceCount),
                "differences": .array(
                    report.differences.map { difference in
                        [
                            "app": .string(difference.app.rawValue),
                            "environment": .string(difference.environment.rawValue),
                            "subject": .string(difference.subject), "reason": .string(difference.reason),
                        ]
                    }),
            ])
            return
        }
        for difference in report.differences { try Terminal.print("\(difference)") }
        for debt in report.debts { try Terminal.print("\(debt)") }
        let counts = """
            \(LintReport.count(report.facts, "fact")), \(LintReport.count(report.purchases, "purchase")) and \
            \(LintReport.count(report.customers, "customer"))
            """
        try Terminal.print(
            report.differenceCount == 0
                ? "\(counts): all match the ledger's facts"
                : "\(counts): \(report.differenceCount) do not match the ledger's facts")
    }
}
