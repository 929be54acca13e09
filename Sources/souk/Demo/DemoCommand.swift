import AppStoreSimulator
import Foundation
import Primitives
import StoreModel

/// `souk demo`: purchases from the store to the app in one run.
enum DemoCommand {
    static let command = Command(
        words: ["demo"], summary: "Run example purchases from the store to the app, on this machine",
        options: [
            .init(name: "catalog", value: "F.storekit", help: "the products (a photo app's catalogue)"),
            .init(name: "bundle-id", value: "B", help: "the app (com.example.souk)"),
            .init(name: "data", value: "DIR", help: "an empty folder for all files (a temporary one)"),
            .init(name: "json", help: "print one JSON value instead of text"),
            .init(name: "keep", help: "leave both processes running until Ctrl-C, and print their URLs"),
            .init(name: "inspect", help: "show the apps' requests and messages in a browser, until Ctrl-C"),
        ],
        details: """
            Starts an App Store simulator and an entitlement server as two processes, and acts as an app would. It buys,
            fetches content, lets time pass, kills the server, presents forged data and restores on a second device. It
            checks the result of each step. Exit 0 only if every check held.
            """
    ) { arguments in
        let named = arguments.text("data")
        if let named, let content = try? FileManager.default.contentsOfDirectory(atPath: named), !content.isEmpty {
            throw UsageError("\(named): the folder is not empty; name an empty or a new one with --data")
        }
        let bundleID: BundleID = try arguments.identifier("bundle-id") ?? "com.example.souk"
        let folder = DataFolder(named)
        if let file = arguments.text("catalog"), file != "-" { _ = try CatalogueCommands.catalogue(in: file) }
        try folder.make()
        defer { folder.removeIfTemporary() }
        let demoProducts = try DemoProducts(arguments.text("catalog"), in: folder)
        let stop = try StopSignal()
        let isQuiet = arguments.has("json")
        if !isQuiet { Terminal.note("Starting an App Store simulator and an entitlement server …") }
        let inspector = arguments.has("inspect") ? try DemoInspector() : nil
        if let inspector { try inspector.announce(isQuiet: isQuiet) }
        do {
            let world = try await DemoWorld.begin(
                demoProducts, bundleID: bundleID, folder: folder,
                contentPause: Terminal.showsProgress && !isQuiet ? .milliseconds(40) : nil, inspector: inspector)
            let status = try await play(
                in: world, isQuiet: isQuiet, isKept: arguments.has("keep") || inspector != nil, inspector, until: stop)
            await inspector?.close()
            return status
        } catch {
            await inspector?.close()
            throw error
        }
    }

    /// Runs the scenario, and ends the processes in any case.
    private static func play(
        in world: DemoWorld, isQuiet: Bool, isKept: Bool, _ inspector: DemoInspector?, until stop: StopSignal
    ) async throws -> ExitStatus {
        var (report, isInterrupted) = await runScenario(in: world, isQuiet: isQuiet, until: stop)
        // Ctrl-C at a terminal ends the processes of the demonstration too, which can fail a step first.
        if !report.isFine, stop.interruption != nil { isInterrupted = true }
        do {
            if let failure = report.outputFailure { throw failure }
            if isQuiet { try Terminal.print(json: report.json) } else { try await conclude(report, world) }
            if isKept, !isInterrupted { try await keep(world, inspector, until: stop, quiet: isQuiet) }
        } catch {
            await world.end()
            throw error
        }
        await world.end()
        if isInterrupted {
            Terminal.note("souk: interrupted")
            return stop.interruption ?? .failure
        }
        return report.isFine ? .success : .failure
    }

    /// Runs the scenario until its end, its first failure or an interrupt.
    private static func runScenario(
        in world: DemoWorld, isQuiet: Bool, until stop: StopSignal
    ) async -> (report: DemoReport, isInterrupted: Bool) {
        await withTaskGroup(of: DemoReport?.self) { group in
            group.addTask { await runScenario(in: world, isQuiet: isQuiet) }
            group.addTask {
                await stop.wait()
                return nil
            }
            var report: DemoReport?
            var isInterrupted = false
            for await outcome in group {
                if let outcome { report = outcome } else { isInterrupted = report == nil }
                group.cancelAll()
            }
            return (report ?? DemoReport(isQuiet: isQuiet), isInterrupted)
        }
    }

    private static func runScenario(in world: DemoWorld, isQuiet: Bool) async -> DemoReport {
        var report = DemoReport(isQuiet: isQuiet)
        do {
            let phone = try await world.launchDevice("phone")
            var scenario = DemoScenario(world: world, phone: phone, isQuiet: isQuiet)
            await scenario.run(reportingTo: &report)
        } catch {
            _ = await report.run(.products) { throw error }
            report.close()
        }
        return report
    }

    private static func conclude(_ report: DemoReport, _ world: DemoWorld) async throws {
        if let answer = try? await world.customerAnswer() { try Terminal.print("\n" + table(answer)) }
        let held = report.entries.filter { $0.isFine && !$0.isSkipped }.count
        let skipped = report.entries.filter { $0.isFine && $0.isSkipped }.count
        let failed = report.entries.filter { !$0.isFine && !$0.isSkipped }.map(\.step.rawValue)
        let notes = skipped == 0 ? "" : ", \(skipped) skipped because the catalogue has no such product"
        try Terminal.print(
            failed.isEmpty
                ? "\n\(Terminal.green("Every check held")): \(held) steps\(notes)."
                : "\n\(Terminal.red("Failed")): \(failed.joined(separator: ", ")).")
    }

    /// A table of the customer's features and the reasons for them.
    private static func table(_ answer: Customer) -> TerminalText {
        let rows =
            [["feature", "may use", "until", "source", "because"]]
            + answer.features.map { feature in
                [
                    feature.name, feature.isActive ? "yes" : "no",
                    feature.effectiveUntil.map { RFC3339.string(from: $0) } ?? "–", feature.source.rawValue,
                    feature.because,
                ].map(TerminalText.escaped)
            }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let lines = rows.map { row -> TerminalText in
            let cells = zip(row, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }
            return "\(cells.joined(separator: "  "))"
        }
        return
            ([Terminal.bold("Features of customer \(answer.customer) at \(RFC3339.string(from: answer.asOf))")] + lines)
            .joined(separator: "\n")
    }

    /// Leaves both processes running until Ctrl-C. Throws `Failure` with the name of a process that ends by itself.
    private static func keep(
        _ world: DemoWorld, _ inspector: DemoInspector?, until stop: StopSignal, quiet: Bool
    ) async throws {
        try await world.sendNotifications()
        let lines: [TerminalText] = [
            "", "Open both pages in a browser. Ctrl-C ends the simulator and the server.", "",
            "The store's front desk: \(world.storeURL)/",
            "  Buy for the account \(world.account), advance the time by a month, and refund.",
            "  curl \(world.storeURL)/control/v1/products", "",
            "The server's console: \(world.consoleURL)",
            "  Search for \(world.customer.rawValue), whose features change with each purchase, and open the figures, which",
            "  change too. The secret key to sign in:",
            "  cat '\(world.secretKeyFile)'",
            "  curl -H 'Authorization: Bearer \(world.publicKey)' \(world.serverURL)\(world.customerPath)",
        ]
        try inspector?.announce(isQuiet: quiet)
        for line in lines { if quiet { Terminal.note(line) } else { try Terminal.print(line) } }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await stop.wait() }
            group.addTask { await world.someProcessEnded() }
            await group.next()
            group.cancelAll()
        }
        do {
            try await world.checkProcesses()
        } catch let fault as DemoFault {
            throw Failure(fault.sentence)
        }
    }
}
