import Foundation
import HTTPCore
import Primitives
import StoreModel

/// `souk import`: sends transactions and receipts in bulk, from a file of JSON lines to an entitlement server.
enum ImportCommand {
    static let command = Command(
        words: ["import"], summary: "Send the transactions and receipts of a file to an entitlement server",
        operands: ["FILE|-"],
        options: FactSender.options + [
            .init(name: "parallel", value: "N", help: "the number of lines that are sent at once (1)"),
            .init(name: "state", value: "FILE", help: "the file that keeps the progress (FILE.import-state)"),
            .init(name: "json", help: "print one JSON value"),
        ],
        details: """
            Each line is one JSON object: a "customer", and "signedTransaction", "signedTransactions" (at most 100, with
            "signedRenewalInfos" if you have them) or "receipt" (base64). Lines are sent in order: if
            purchases are transferred, the last of several customers who present one purchase gets it. With --parallel the
            order is undefined.
            After an interruption, run the same command again: it continues, and repeated facts count once.
            Exit 1 when a fact was not accepted; the report lists the reasons and lines.
            """
    ) { arguments in
        let path = arguments.operands[0]
        let sender = try FactSender(arguments)
        let parallel = try arguments.integer("parallel", in: 1...64) ?? 1
        let state = (arguments.text("state") ?? (path == "-" ? nil : "\(path).import-state")).map(
            StateFile<Work>.init(path:))
        if let state, InputFile.areSame(state.path, path) {
            throw UsageError("--state is the file to import; name another file")
        }
        var work = try state?.read() ?? Work()
        let file = try LineFile(path, from: work.mark)
        if let mark = work.mark { Terminal.note("continuing after line \(mark.lines)") }
        try await run(&work, from: file, to: sender, parallel: parallel, state)
        state?.remove()
        try report(work, asJSON: arguments.has("json"))
        return work.report.rejected == 0 ? .success : .failure
    }

    /// The progress of an import.
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
                // The state does not include this batch, so the next run sends the batch again.
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

    /// Sends the facts of the lines concurrently. Returns the outcomes in the order of the lines.
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
