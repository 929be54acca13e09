import EntitlementServer
import Foundation
import Primitives
import SQLStorage
import SimulatorControl

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
                name: "what", value: "WHAT", help: "facts, states, events, feed or figures",
                choices: LedgerExport.Content.allCases.map(\.rawValue)),
            .init(name: "format", value: "FORMAT", help: "csv or jsonl", choices: Format.allCases.map(\.rawValue)),
            .init(name: "since", value: "CURSOR", help: "for facts, events and the feed: only those after this cursor"),
            .init(
                name: "to", value: "FOLDER",
                help: "for facts, events and the feed: append to compressed files in this folder"),
            .init(name: "follow", help: "with --to: go on with new rows until SIGTERM or SIGINT"),
            .init(
                name: rotateBytes, value: "N",
                help: "with --to: complete a file at this size, before compression (67108864)"),
            .init(name: rotateEvery, value: "DURATION", help: "with --follow: complete a file after this time (1h)"),
            .init(
                name: "clock", value: "URL", help: "for the feed: the simulator whose virtual time the server follows"),
        ],
        details: """
            Writes to standard output; the last line of standard error is the cursor to go on from. A fact has products,
            amounts and dates, and nothing that identifies a person. The states are the stored answers about customers,
            with a row for each feature, subscription and purchase; events are their changes, in the order of the feed.
            Both name customers by pseudonyms. The cursor of states is for events: those after it changed the states.
            The feed has the complete events, as GET /v1/events sends them, with the ids of customers.
            The figures are the daily sums of all measures, as Documentation/Figures.md defines them. Figures of past
            days can change, so export all of them.

            With --to, each run goes on where the last one ended, even if it was killed. The files in FOLDER contain
            each row once, and standard output has the path of each completed file (events-N.jsonl.gz, where N is the
            position of its first row). Completed files may be moved away. Documentation/Events.md describes the rest.
            """
    ) { arguments in
        guard let content: LedgerExport.Content = try arguments.choice("what") else {
            throw UsageError("souk export needs --what facts, states, events, feed or figures")
        }
        let format: Format? = try arguments.choice("format")
        let since = try arguments.text("since").map { text in
            guard content.hasCursor else {
                throw UsageError(
                    "--since is for facts, events and the feed; states and figures of past days can change, so export "
                        + "all of them")
            }
            guard let cursor = Int64(text), cursor >= 0 else {
                throw UsageError("--since is the cursor of an earlier export, not \(text.quoted)")
            }
            return cursor
        }
        let folder = arguments.text("to")
        if folder != nil {
            guard content.hasCursor, format != .csv else {
                throw UsageError("--to is for facts, events and the feed, as --format jsonl")
            }
        } else {
            for name in [rotateBytes, rotateEvery] where arguments.text(name) != nil {
                throw UsageError("--\(name) goes with --to FOLDER")
            }
            guard !arguments.has("follow") else { throw UsageError("--follow goes with --to FOLDER") }
            guard format != nil else { throw UsageError("souk export needs --format csv or --format jsonl") }
        }
        let simulatorClock = try await SimulatorClock.started(by: arguments)
        let clock: any WallClock = simulatorClock ?? SystemClock()
        let result: Result<Int64, any Error>
        do {
            if let folder {
                result = .success(try await export(content, to: folder, since: since, clock, arguments))
            } else {
                result = .success(
                    try await LedgerLocation(arguments).withSharedDatabase { database in
                        try print(content, of: database, since: since ?? 0, clock, as: format ?? .jsonl)
                    })
            }
        } catch { result = .failure(error) }
        await simulatorClock?.stop()
        Terminal.note("\(try result.get())")
        return .success
    }

    // MARK: - Standard Output

    private static func print(
        _ content: LedgerExport.Content, of database: any SQLDatabase, since cursor: Int64, _ clock: any WallClock,
        as format: Format
    ) throws -> Int64 {
        var buffer: [UInt8] = []
        if format == .csv { append(content.columns.map { .string($0) }, as: format, to: &buffer, content) }
        let cursor = try LedgerExport.run(content, of: database, since: cursor, clock: clock) { values in
            append(values, as: format, to: &buffer, content)
            if buffer.count > 1 << 16 {
                try Terminal.write(buffer)
                buffer = []
            }
        }
        try Terminal.write(buffer)
        return cursor
    }

    private static func append(
        _ values: [JSONValue], as format: Format, to buffer: inout [UInt8], _ content: LedgerExport.Content
    ) {
        switch format {
        case .csv: buffer += Array((values.map(field).joined(separator: ",") + "\n").utf8)
        case .jsonl: buffer += content.line(values)
        }
    }

    /// Returns a field of CSV (RFC 4180).
    private static func field(_ value: JSONValue) -> String {
        guard value != .null else { return "" }
        let text = value.stringValue ?? value.text()
        guard text.utf8.contains(where: { ",\"\n\r".utf8.contains($0) }) else { return text }
        return "\"\(text.replacingOccurrences(of: "\"", with: "\"\""))\""
    }

    // MARK: - Folder

    private static let rotateBytes = "rotate-bytes"
    private static let rotateEvery = "rotate-every"
    /// The pause between searches for new rows, in seconds.
    private static let pause: TimeInterval = 1

    private static func export(
        _ content: LedgerExport.Content, to path: String, since: Int64?, _ clock: any WallClock, _ arguments: Arguments
    ) async throws -> Int64 {
        let period = try Arguments.period(arguments.text(rotateEvery) ?? "1h")
        let start = Date(timeIntervalSince1970: 0)
        let rotation = ExportFolder.Rotation(
            bytes: try arguments.integer(rotateBytes, in: 1...1 << 40) ?? 64 << 20,
            period: .seconds(period.end(from: start).timeIntervalSince(start)))
        let location = try LedgerLocation(arguments)
        let isFollowing = arguments.has("follow")
        guard isFollowing || arguments.text(rotateEvery) == nil else {
            throw UsageError("--\(rotateEvery) goes with --follow")
        }
        let stop = try isFollowing ? StopSignal() : nil
        let work = Task {
            defer { stop?.request() }
            return try await location.withSharedDatabase { database in
                let folder = try ExportFolder(path, of: content, since: since, rotation: rotation) { file in
                    try Terminal.print("\(file)")
                }
                while !Task.isCancelled {
                    let rows = try LedgerExport.page(content, of: database, after: folder.cursor, clock: clock)
                    try folder.append(rows)
                    guard rows.isEmpty else { continue }
                    guard isFollowing else { break }
                    try folder.rotate()
                    try? await SystemClock().sleep(for: pause)
                }
                try folder.finish()
                return folder.cursor
            }
        }
        await stop?.wait()
        if isFollowing { work.cancel() }
        return try await work.value
    }
}
