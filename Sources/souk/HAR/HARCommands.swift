import Foundation
import HTTPCore
import NetworkInterception
import Primitives

/// `souk har lint` and `souk har show`: files of recorded traffic from browsers, proxies and the interceptor.
enum HARCommands {
    static let sizeLimit = 512 << 20

    static let lint = Command(
        words: ["har", "lint"], summary: "Check files of recorded traffic (HAR 1.2)",
        operands: ["FILE…"], options: [.init(name: "json", help: "print one JSON value")],
        details: """
            A file that is no HAR is an error and exits 1. Inconsistent times and missing numbers are
            warnings: browsers write such files.
            """
    ) { arguments in
        let findings = try arguments.operands.flatMap(findings)
        return try LintReport(files: arguments.operands.count, findings: findings).print(asJSON: arguments.has("json"))
    }

    static let show = Command(
        words: ["har", "show"], summary: "List the requests of a file of recorded traffic, or show one of them",
        operands: ["FILE"],
        options: [
            .init(name: "entry", value: "N", help: "show this entry, counted from 1, with its headers and bodies"),
            .init(
                name: "only", value: "WORDS", help: "only matching entries, such as \"method:post status:5xx refused\""
            ),
            .init(name: "json", help: "print one JSON value"),
        ],
        details: """
            Passwords, tokens and other secrets are printed as [redacted], also if another program recorded them in
            plain text. The file is not changed.
            """
    ) { arguments in
        let archive = try read(arguments.operands[0])
        let rows = try chosen(from: archive, arguments)
        let isWhole = arguments.text("entry") != nil
        if arguments.has("json") {
            let entries = rows.map { HARText.json($0, isWhole: isWhole) }
            let creator = HARText.redaction.redacted(archive.creator)
            try Terminal.print(json: ["creator": .string(creator), "entries": .array(entries)])
        } else if isWhole {
            for row in rows { try Terminal.write(HARText.whole(row)) }
        } else {
            try Terminal.write(HARText.table(rows))
        }
        return .success
    }

    /// An entry of a file, with its number.
    struct Row {
        /// The number, counted from 1.
        let number: Int
        let entry: HAREntry
        /// The record with its secrets, which are sent and compared, but never printed.
        let record: Record
    }

    /// Throws `UsageError` for a file that is no HAR.
    static func read(_ file: String) throws -> HARDocument {
        do {
            return try HARDocument(parsing: InputFile.read(file, limit: sizeLimit))
        } catch let error as InterceptionError {
            throw UsageError("\(file): \(error.reason)")
        }
    }

    /// Returns the entries that `--entry` and `--only` select, or all. Throws `UsageError` when the file has no entry
    /// with the number of `--entry`.
    static func chosen(from archive: HARDocument, _ arguments: Arguments) throws -> [Row] {
        var rows = archive.entries.enumerated().map {
            Row(number: $0.offset + 1, entry: $0.element, record: $0.element.record)
        }
        if arguments.text("entry") != nil, rows.isEmpty { throw UsageError("the file has no entries") }
        if let number = try arguments.integer("entry", in: 1...max(1, rows.count)) { rows = [rows[number - 1]] }
        if let words = arguments.text("only") {
            let query = RecordQuery(words)
            rows = rows.filter { query.matches($0.record) }
        }
        return rows
    }

    private static func findings(in file: String) throws -> [LintReport.Finding] {
        let bytes = try InputFile.read(file, limit: sizeLimit)
        do {
            let findings = try HARDocument.findings(in: bytes).map {
                let reason = HARText.redaction.redacted($0.reason)
                return LintReport.Finding(isError: $0.isError, file: file, pointer: $0.pointer, reason: reason)
            }
            return LintReport.locating(
                findings, in: bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes)
        } catch {
            return [.init(isError: true, file: file, pointer: "", reason: error.reason)]
        }
    }
}
