import Primitives

/// The findings of a linter, in the format that all linters of `souk` print.
struct LintReport {
    struct Finding {
        let isError: Bool
        let file: String
        /// The place in the file as an RFC 6901 pointer; empty for the whole file.
        let pointer: String
        let reason: String
        /// The line of that place, counted from 1; `nil` if it was not computed.
        var line: Int?
        /// Additional members of the JSON output.
        var details: JSONMembers = [:]

        var json: JSONValue {
            var head: JSONMembers = [
                "severity": .string(isError ? "error" : "warning"), "file": .string(file), "pointer": .string(pointer),
                "reason": .string(reason),
            ]
            if let line { head["line"] = .number(line) }
            return .object(JSONMembers((Array(head) + Array(details)).map { ($0.key, $0.value) }))
        }

        /// The finding in the format of compilers, which editors can parse.
        var text: TerminalText {
            let severity = isError ? Terminal.red("error") : Terminal.bold("warning")
            let place: TerminalText = "\(file)\(line.map { ":\($0)" } ?? "")\(pointer.isEmpty ? "" : " \(pointer)")"
            return "\(place): \(severity): \(reason)"
        }
    }

    let files: Int
    let findings: [Finding]

    /// Prints all findings, as text or as one JSON value. Returns status 1 if one of them is an error, otherwise 0.
    func print(asJSON: Bool) throws -> ExitStatus {
        let errors = findings.filter(\.isError).count
        if asJSON {
            try Terminal.print(json: ["ok": .bool(errors == 0), "findings": .array(findings.map(\.json))])
        } else {
            for finding in findings { try Terminal.print(finding.text) }
            let parts = [
                Self.count(files, "file"), Self.count(errors, "error"), Self.count(findings.count - errors, "warning"),
            ]
            try Terminal.print("\(parts.joined(separator: ", "))")
        }
        return errors == 0 ? .success : .failure
    }

    /// Returns the findings with their lines in `json`, the text of a file.
    static func locating(_ findings: [Finding], in json: [UInt8]) -> [Finding] {
        let lines = JSONLines(of: findings.map(\.pointer), in: json)
        return findings.map { finding in
            var located = finding
            located.line = finding.pointer.isEmpty ? nil : lines[finding.pointer]
            return located
        }
    }

    static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}
