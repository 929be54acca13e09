import Foundation
import HTTPCore
import Primitives
import StoreModel

/// `souk import`: transactions and receipts in bulk, from a file of JSON lines to an entitlement server.
enum ImportCommand {
    static let command = Command(
        words: ["import"], summary: "hand transactions and receipts of a file to an entitlement server",
        operands: ["FILE|-"],
        options: FactSender.options + [
            .init(name: "parallel", value: "N", help: "how many lines are on their way at once (1)"),
            .init(name: "state", value: "FILE", help: "where it remembers how far it came (FILE.import-state)"),
            .init(name: "json", help: "print one JSON value"),
        ],
        details: """
            Each line is one JSON object: a "customer", and "signedTransaction", "signedTransactions" (at most 100, with
            "signedRenewalInfos" if you have them) or "receipt" (base64). Lines are taken in order, so that of several
            customers who present one purchase the last has it; with --parallel their order is not certain.
            Interrupted, the same command goes on where it was. What was taken before is known and counts once.
            Exit 1 when anything was not accepted; the report says what, and in which lines.
            """
    ) { arguments in
        let path = arguments.operands[0]
        let sender = try FactSender(arguments)
        let parallel = try arguments.integer("parallel", in: 1...64) ?? 1
        let state = (arguments.text("state") ?? (path == "-" ? nil : "\(path).import-state")).map(
            StateFile<Work>.init(path:))
        if let state, InputFile.areSame(state.path, path) {
            throw Misuse("--state is the file to import; name another file")
        }
        var work = try state?.read() ?? Work()
        let file = try LineFile(path, from: work.mark)
        if let mark = work.mark { Terminal.note("going on after line \(mark.lines)") }
        try await run(&work, from: file, to: sender, parallel: parallel, state)
        state?.remove()
        try report(work, asJSON: arguments.has("json"))
        return work.report.rejected == 0 ? .success : .doesNotHold
    }

    /// How far an import came.
    private struct Work: ResumableState, Sendable {
        var mark: LineFile.Mark?
        var report = FactReport()

        var isPlausible: Bool { report.isPlausible && mark?.isPlausible ?? true }
    }

    private static func run(
        _ work: inout Work, from file: LineFile, to sender: FactSender, parallel: Int, _ state: StateFile<Work>?
    ) async throws {
        var bar = ProgressBar("importing", of: file.size)
        defer { bar.end() }
        var saved = ContinuousClock.now
        var isOver = false
        while !isOver {
            var lines: [LineFile.Line] = []
            while lines.count < parallel, !isOver {
                if let line = try file.next() {
                    if !line.bytes.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) { lines.append(line) }
                } else {
                    isOver = true
                }
            }
            let outcomes: [FactSender.Outcome]
            do {
                outcomes = try await send(lines, to: sender)
            } catch {
                // What came before this batch is done; the batch is sent again.
                try state?.write(work)
                throw error
            }
            for (line, outcome) in zip(lines, outcomes) { work.report.take(outcome, at: "line \(line.number)") }
            let mark = file.mark
            work.mark = mark
            if ContinuousClock.now - saved > .seconds(1) {
                try state?.write(work)
                saved = .now
            }
            bar.show(mark.bytes, "\(mark.lines) lines, \(work.report.rejected) rejected")
        }
    }

    /// What became of lines, in their order.
    private static func send(
        _ lines: [LineFile.Line], to sender: FactSender
    ) async throws -> [FactSender.Outcome] {
        try await withThrowingTaskGroup(of: (Int, FactSender.Outcome).self) { group in
            for (index, line) in lines.enumerated() {
                group.addTask { (index, try await send(line.bytes, to: sender)) }
            }
            var outcomes: [Int: FactSender.Outcome] = [:]
            for try await (index, outcome) in group { outcomes[index] = outcome }
            return lines.indices.compactMap { outcomes[$0] }
        }
    }

    private static func send(_ line: [UInt8], to sender: FactSender) async throws -> FactSender.Outcome {
        guard let json = try? JSONValue(parsing: line), case .object(let members) = json else {
            return .rejected(code: "malformedLine", detail: "The line is not a JSON object.")
        }
        guard let customer = members["customer"]?.stringValue, CustomerID(rawValue: customer) != nil else {
            return .rejected(code: "malformedLine", detail: "customer should have \(CustomerID.rule).")
        }
        var body: JSONValue = [:]
        for name in ["signedTransaction", "signedTransactions", "signedRenewalInfos", "receipt"] {
            body[name] = members[name]
        }
        return try await sender.post("/v1/customers/\(PercentEncoding.encode(customer))/transactions", body)
    }

    private static func report(_ work: Work, asJSON: Bool) throws {
        let lines = work.mark?.lines ?? 0
        guard !asJSON else {
            var json = work.report.json
            json["lines"] = .number(lines)
            try Terminal.print(json: json)
            return
        }
        try Terminal.print(
            "\(lines) lines: \(work.report.accepted) transactions accepted, \(work.report.rejected) rejected")
        for line in work.report.lines { try Terminal.print(line) }
    }
}
