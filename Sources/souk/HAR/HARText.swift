import Foundation
import HTTPCore
import NetworkInterception
import Primitives

/// Recorded exchanges as text and as JSON.
/// Files of other programs can contain secrets, which are not printed.
enum HARText {
    static let redaction = Redaction.standard

    static func table(_ rows: [HARCommands.Row]) -> TerminalText {
        var lines = [["#", "began", "ms", "status", "bytes", "request"]]
        for row in rows {
            lines.append([
                String(row.number), row.entry.started.map(RFC3339.string) ?? "-",
                row.entry.duration.map { String(milliseconds($0)) } ?? "-", status(row.record),
                row.record.bodies.response.map { String($0.byteCount) } ?? "-",
                TerminalText.escaped("\(row.record.designatedRequest.method) \(url(of: row))"),
            ])
        }
        let widths = (0..<5).map { column in lines.map { $0[column].count }.max() ?? 0 }
        let table = lines.map { line in
            let cells = zip(line, widths).map { cell, width in
                cell.padding(toLength: width, withPad: " ", startingAt: 0)
            }
            return (cells + [line[5]]).joined(separator: "  ")
        }
        return .lines((table + [LintReport.count(rows.count, "request")]).joined(separator: "\n") + "\n")
    }

    /// The request and the response as HTTP messages, with the bodies that are text.
    static func whole(_ row: HARCommands.Row) -> TerminalText {
        let record = redaction.redactedAsDecoded(row.record)
        let request = record.designatedRequest
        var text: TerminalText = "\(Terminal.bold("\(request.method) \(request.url)"))\n"
        text += headers(request.headers)
        text += body(request.body, missing(row.record.designatedRequest.body, record.bodies.designated))
        text += "\n\(Terminal.bold("\(status(record))"))"
        text += row.entry.duration.map { " after \(milliseconds($0)) ms\n" } ?? "\n"
        if let failure = record.failure { text += "\(RecordedFailure(failure).reason)\n" }
        if let response = record.response {
            text += headers(response.headers)
            text += body(response.body, missing(row.record.response?.body ?? .empty, record.bodies.response))
        }
        return text
    }

    static func json(_ row: HARCommands.Row, isWhole: Bool) -> JSONValue {
        var members: JSONMembers = [
            "entry": .number(row.number), "started": .string(row.entry.started.map(RFC3339.string) ?? ""),
            "milliseconds": row.entry.duration.map { .number(milliseconds($0)) } ?? .null,
            "method": .string(row.record.designatedRequest.method.rawValue),
            "url": .string(url(of: row)),
            "status": row.record.response.map { .number($0.status) } ?? .null,
            "bytes": row.record.bodies.response.map { .number($0.byteCount) } ?? .null,
        ]
        if let failure = row.record.failure {
            members["error"] = .string(redaction.redacted(RecordedFailure(failure).reason))
        }
        if isWhole { members["har"] = redaction.redacted(row.entry).json }
        return .object(members)
    }

    private static func url(of row: HARCommands.Row) -> String {
        redaction.redacted(url: row.record.designatedRequest.url)
    }

    static func status(_ record: Record) -> String {
        if let response = record.response { return String(response.status) }
        return record.result == nil ? "underway" : "failed"
    }

    static func milliseconds(_ duration: Duration) -> Int { Int((duration / .milliseconds(1)).rounded()) }

    private static func headers(_ headers: HTTPHeaders) -> TerminalText {
        headers.fields.map { field -> TerminalText in "\(Terminal.dim("\(field.name):")) \(field.value)\n" }.joined()
    }

    /// The number of bytes of a body that are not in the file.
    private static func missing(_ body: HTTPBody, _ transfer: Record.BodyTransfer?) -> Int {
        (transfer?.byteCount ?? 0) - (body.buffered ?? []).count
    }

    private static func body(_ body: HTTPBody, _ missing: Int) -> TerminalText {
        let bytes = body.buffered ?? []
        var text: TerminalText = ""
        if !bytes.isEmpty {
            if let json = try? JSONValue(parsing: bytes) {
                text = "\n\(TerminalText.json(json.text(pretty: true)))\n"
            } else if let plain = String(utf8: bytes) {
                text =
                    "\n" + TerminalText.lines(plain.replacing("\r\n", with: "\n")) + (plain.hasSuffix("\n") ? "" : "\n")
            } else {
                text = "\n(\(bytes.count) bytes of binary data)\n"
            }
        }
        if missing > 0 { text += "(\(missing) bytes are not in the file)\n" }
        return text
    }
}
