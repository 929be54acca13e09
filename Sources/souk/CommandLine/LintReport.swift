import Primitives

/// What a linter found, and how every linter of `souk` says it.
struct LintReport {
    struct Finding {
        let isError: Bool
        let file: String
        /// Where in the file, as an RFC 6901 pointer; empty for the whole.
        let pointer: String
        let reason: String
        /// Where that is in the text, counted from 1, where somebody looked.
        var line: Int?
        /// More for programs to read.
        var details: JSONMembers = [:]

        var json: JSONValue {
            var head: JSONMembers = [
                "severity": .string(isError ? "error" : "warning"), "file": .string(file), "pointer": .string(pointer),
                "reason": .string(reason),
            ]
            if let line { head["line"] = .number(line) }
            return .object(JSONMembers((Array(head) + Array(details)).map { ($0.key, $0.value) }))
        }

        /// As compilers write it, so that editors find the place.
        var text: TerminalText {
            let severity = isError ? Terminal.red("error") : Terminal.bold("warning")
            let place: TerminalText = "\(file)\(line.map { ":\($0)" } ?? "")\(pointer.isEmpty ? "" : " \(pointer)")"
            return "\(place): \(severity): \(reason)"
        }
    }

    let files: Int
    let findings: [Finding]

    /// Prints everything, for people or as one JSON value. An error does not hold; warnings do.
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
        return errors == 0 ? .success : .doesNotHold
    }

    /// The same with the lines of the findings in `json`, the text of a file.
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
