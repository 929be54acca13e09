import Primitives

/// What a linter found, and how every linter of `souk` says it.
struct LintReport {
    struct Finding {
        let isError: Bool
        let file: String
        /// Where in the file, as an RFC 6901 pointer; empty for the whole.
        let pointer: String
        let reason: String
        /// More for programs to read.
        var details: JSONMembers = [:]

        var json: JSONValue {
            let head: JSONMembers = [
                "severity": .string(isError ? "error" : "warning"), "file": .string(file), "pointer": .string(pointer),
                "reason": .string(reason),
            ]
            return .object(JSONMembers((Array(head) + Array(details)).map { ($0.key, $0.value) }))
        }

        var line: String {
            let severity = isError ? Terminal.red("error") : Terminal.bold("warning")
            return "\(file)\(pointer.isEmpty ? "" : " \(pointer)"): \(severity): \(reason)"
        }
    }

    let files: Int
    let findings: [Finding]

    /// Prints everything, for people or as one JSON value. An error does not hold; warnings do.
    func print(asJSON: Bool) -> ExitStatus {
        let errors = findings.filter(\.isError).count
        if asJSON {
            Terminal.print(json: ["ok": .bool(errors == 0), "findings": .array(findings.map(\.json))])
        } else {
            for finding in findings { Terminal.print(finding.line) }
            let parts = [
                Self.count(files, "file"), Self.count(errors, "error"), Self.count(findings.count - errors, "warning"),
            ]
            Terminal.print(parts.joined(separator: ", "))
        }
        return errors == 0 ? .success : .doesNotHold
    }

    static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}
