import PluginHub
import Primitives

/// `souk policy lint`.
enum PolicyCommands {
    static let lint = Command(
        words: ["policy", "lint"], summary: "Check the policies of a hub",
        operands: ["FILE…"],
        options: [
            .init(name: "json", help: "print one JSON value"),
            .init(
                name: "partial",
                help: "the files are a part of a hub's policies: a missing sender or receiver is a warning"),
        ],
        details: """
            The files are checked together, as the hub checks its plugins when it starts, in the order given.
            Exit 1 for an error; warnings alone exit 0.
            """
    ) { arguments in
        let files = try arguments.operands.map(PolicyFile.init(reading:))
        let findings = findings(in: files, isPartialSet: arguments.has("partial"))
        return try LintReport(files: files.count, findings: findings).print(asJSON: arguments.has("json"))
    }

    /// Returns the findings in the order of the files. Those of one file are in the order of their discovery.
    private static func findings(in files: [PolicyFile], isPartialSet: Bool) -> [LintReport.Finding] {
        let readable = files.indices.compactMap { index in
            (try? files[index].content.get()).map { (index: index, policy: $0) }
        }
        // An invalid file may declare messages that others refer to, so the set counts as partial.
        let placed = Policy.placedFindings(
            among: readable.map(\.policy), isPartialSet: isPartialSet || readable.count < files.count)
        return files.indices.flatMap { index in
            let file = files[index]
            var findings: [LintReport.Finding] = []
            if case .failure(let finding) = file.content {
                findings.append(.init(isError: true, file: file.path, pointer: finding.pointer, reason: finding.reason))
            }
            findings += file.unknownMembers.map {
                .init(isError: false, file: file.path, pointer: $0.pointer, reason: $0.reason)
            }
            return findings
                + placed.filter { readable[$0.index].index == index }.map { finding(in: file, $0) }
        }
    }

    private static func finding(in file: PolicyFile, _ placed: Policy.PlacedFinding) -> LintReport.Finding {
        let found = placed.finding
        var details: JSONMembers = ["code": .string(found.code.rawValue)]
        details["plugin"] = found.plugin.map(JSONValue.string)
        details["message"] = found.message.map(JSONValue.string)
        return .init(
            isError: found.severity == .error, file: file.path, pointer: placed.pointer, reason: found.sentence,
            details: details)
    }
}
