import AppStoreSimulator
import Foundation
import Primitives

/// `souk scenario run`: runs scenarios on a simulated store and compares the results.
enum ScenarioCommand {
    static let run = Command(
        words: ["scenario", "run"], summary: "Run scenarios on simulated stores, and compare the results",
        operands: ["FILE…"],
        options: [
            .init(
                name: "junit", value: "OUT",
                help: "also write JUnit XML for CI systems, and replace an existing file"),
            .init(name: "json", help: "print one JSON value"),
        ],
        details: """
            Documentation/Formats.md describes the files; there are examples in Examples/Scenarios.
            Exit 1 when a result differs (- expected, + actual), 2 for a file that is no scenario.
            """
    ) { arguments in
        guard arguments.text("junit") != "-" else {
            throw UsageError("--junit must name a file; standard output has the report")
        }
        let scenarios = try arguments.operands.map(read)
        if let path = arguments.text("junit"), arguments.operands.contains(where: { InputFile.areSame($0, path) }) {
            throw UsageError("--junit \(path) is one of the scenarios; name another file")
        }
        let stop = try StopSignal()
        let reports = try await withThrowingTaskGroup(of: [Scenario.Report]?.self) { group in
            group.addTask { try await run(scenarios, printing: !arguments.has("json")) }
            group.addTask {
                await stop.wait()
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
        guard let reports else {
            Terminal.note("souk: interrupted")
            return stop.interruption ?? .failure
        }
        if let path = arguments.text("junit") {
            try OutputFile.replace(path, with: Scenario.junit(reports), isPublic: true)
        }
        let failed = reports.count { !$0.holds }
        if arguments.has("json") {
            try Terminal.print(json: ["ok": .bool(failed == 0), "scenarios": .array(reports.map(\.json))])
        } else {
            try Terminal.print("\(reports.count - failed) of \(reports.count) as expected")
        }
        return failed == 0 ? .success : .failure
    }

    private static func read(_ file: String) throws -> Scenario {
        do {
            guard file != "-" else {
                return try Scenario(
                    parsing: try InputFile.read(file), file: "standard input", folder: "",
                    server: ScenarioEntitlementServer.self)
            }
            return try Scenario(contentsOf: file, server: ScenarioEntitlementServer.self)
        } catch let error as ScenarioError {
            throw UsageError(error.description)
        }
    }

    private static func run(_ scenarios: [Scenario], printing: Bool) async throws -> [Scenario.Report] {
        var reports: [Scenario.Report] = []
        for scenario in scenarios {
            let report = try await Progress.shown("running \(scenario.name)") { try await scenario.run() }
            if printing { try Terminal.print(coloured(report.description)) }
            reports.append(report)
        }
        return reports
    }

    /// Colours the sides of differences, and the result of each scenario.
    private static func coloured(_ text: String) -> TerminalText {
        text.split(separator: "\n").map { line -> TerminalText in
            let rest = line.drop { $0 == " " }
            if rest.hasPrefix("- ") || rest.hasPrefix("FAILED:") { return Terminal.red("\(line)") }
            if rest.hasPrefix("+ ") || rest.hasPrefix("ok:") { return Terminal.green("\(line)") }
            return "\(line)"
        }.joined(separator: "\n")
    }
}
