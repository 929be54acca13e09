import EntitlementServer
import Foundation
import Primitives

/// `souk export`: writes the facts, answers, events or figures of a ledger for other tools.
enum ExportCommand {
    private enum Format: String, CaseIterable {
        case csv, jsonl
    }

    static let command = Command(
        words: ["export"], summary: "Export facts, states, events or figures of a ledger for other tools",
        options: [
            LedgerLocation.option,
            .init(
                name: "what", value: "WHAT", help: "facts, states, events or figures",
                choices: LedgerExport.Content.allCases.map(\.rawValue)),
            .init(name: "format", value: "FORMAT", help: "csv or jsonl", choices: Format.allCases.map(\.rawValue)),
            .init(name: "since", value: "CURSOR", help: "for facts and events: only those after this cursor"),
        ],
        details: """
            Writes to standard output; the last line of standard error is the cursor to go on from. A fact has products,
            amounts and dates, and nothing that identifies a person. The states are the stored answers about customers,
            with a row for each feature, subscription and purchase; events are their changes, in the order of the feed.
            Both name customers by pseudonyms. The cursor of states is for events: those after it changed the states.
            The figures are the daily sums of all measures, as Documentation/Figures.md defines them. Figures of past
            days can change, so export all of them.
            """
    ) { arguments in
        guard let content: LedgerExport.Content = try arguments.choice("what") else {
            throw UsageError("souk export needs --what facts, states, events or figures")
        }
        guard let format: Format = try arguments.choice("format") else {
            throw UsageError("souk export needs --format csv or --format jsonl")
        }
        let since = try arguments.text("since").map { text in
            guard content.hasCursor else {
                throw UsageError(
                    "--since is for facts and events; states and figures of past days can change, so export all of them"
                )
            }
            guard let cursor = Int64(text), cursor >= 0 else {
                throw UsageError("--since is the cursor of an earlier export, not \(text.quoted)")
            }
            return cursor
        }
        let cursor = try await LedgerLocation(arguments).withSharedDatabase { database in
            var buffer: [UInt8] = []
            if format == .csv { append(content.columns.map { .string($0) }, as: format, to: &buffer, content) }
            let cursor = try LedgerExport.run(content, of: database, since: since ?? 0) { values in
                append(values, as: format, to: &buffer, content)
                if buffer.count > 1 << 16 {
                    try Terminal.write(buffer)
                    buffer = []
                }
            }
            try Terminal.write(buffer)
            return cursor
        }
        Terminal.note("\(cursor)")
        return .success
    }

    private static func append(
        _ values: [JSONValue], as format: Format, to buffer: inout [UInt8], _ content: LedgerExport.Content
    ) {
        switch format {
        case .csv: buffer += Array(values.map(field).joined(separator: ",").utf8)
        case .jsonl:
            var object: JSONValue = [:]
            for (name, value) in zip(content.columns, values) where value != .null { object[name] = value }
            buffer += object.encoded()
        }
        buffer.append(UInt8(ascii: "\n"))
    }

    /// Returns a field of CSV (RFC 4180).
    private static func field(_ value: JSONValue) -> String {
        guard value != .null else { return "" }
        let text = value.stringValue ?? value.text()
        guard text.utf8.contains(where: { ",\"\n\r".utf8.contains($0) }) else { return text }
        return "\"\(text.replacingOccurrences(of: "\"", with: "\"\""))\""
    }
}
