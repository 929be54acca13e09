import BaseTestSupport
import Foundation
import HostTestSupport
import Primitives
import SQLStorage
import Testing

/// `souk export --to`: the log in compressed files.
@Suite struct ExportFolderTests {
    @Test(arguments: ["feed", "events", "facts"])
    func `the files have the lines of an export to standard output, and a later run adds what is new`(what: String)
        async throws
    {
        let ledger = try await ExportLedger(events: 5)
        let first = try await ledger.export(what: what)
        #expect(first.status == 0, "\(first.errors)")
        #expect(try await ledger.exported() == ledger.lines(what))
        guard what != "facts" else { return #expect(first.errors == "0\n" && first.output.isEmpty) }
        #expect(first.errors == "5\n")
        #expect(first.output == ledger.folder + "/\(what)-0000000000000000001.jsonl.gz\n")
        #expect(try ledger.names() == ["\(what)-0000000000000000001.jsonl.gz", "\(what).cursor"])

        #expect(try await ledger.export(what: what).output.isEmpty)
        try await ledger.add(6...7)
        let second = try await ledger.export(what: what)
        #expect(second.output == ledger.folder + "/\(what)-0000000000000000006.jsonl.gz\n" && second.errors == "7\n")
        #expect(try await ledger.exported() == ledger.lines(what))
    }

    @Test func `the feed has the complete events, in one line each`() async throws {
        let ledger = try await ExportLedger(events: 2)
        #expect(try await ledger.export().status == 0)
        #expect(
            try await ledger.exported().last
                == #"{"id":"2","type":"customer.updated","app":"com.example.darkroom","environment":"sandbox","#
                + #""createdAt":"2025-11-20T14:46:40.002Z","data":{"customer":"c2","note":"Größe 1.50"}}"#)
        let events = try await ledger.lines("events")
        #expect(!events.joined().contains("\"c2\""))
    }

    @Test func `a file is completed at its size, and Python reads it`() async throws {
        let ledger = try await ExportLedger(events: 2500)
        #expect(try await ledger.export("--rotate-bytes", "20000").status == 0)
        let names = try ledger.completed()
        #expect(names.count > 10)
        let script = """
            import glob, gzip, json, sys
            for path in sorted(glob.glob(sys.argv[1] + "/*.gz")):
                with gzip.open(path) as file: lines = file.read().split(b"\\n")
                assert lines.pop() == b"" and sum(map(len, lines)) + len(lines) < 20200
                ids = [int(json.loads(line)["id"]) for line in lines]
                assert f"feed-{ids[0]:019}.jsonl.gz" == path.rsplit("/", 1)[1]
                print(*ids, sep="\\n")
            """
        let outcome = try await ChildProgram.run("/usr/bin/python3", ["-c", script, ledger.folder])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.split(separator: "\n").compactMap { Int($0) } == Array(1...2500))
        #expect(try await ledger.exported() == ledger.lines())
    }

    @Test func `while it follows, new events are in the partial file, and the end completes it`() async throws {
        let ledger = try await ExportLedger(events: 0)
        let child = try ChildProgram(
            SoukExecutable.path(), ledger.arguments(["--follow"]), output: .captured, errors: .captured)
        func partial() -> String? {
            try? String(contentsOfFile: ledger.folder + "/feed-0000000000000000001.jsonl.partial", encoding: .utf8)
        }
        try await until("the folder exists") { FileManager.default.fileExists(atPath: ledger.folder) }
        try await ledger.add(1...1)
        try await until("the first event is written") { partial()?.hasSuffix("\n") == true }
        let other = try await ledger.export()
        #expect(other.status == 2 && other.errors.contains("another souk export writes to this folder"))
        try await ledger.add(2...3)
        try await until("the others are written") { partial()?.split(separator: "\n").count == 3 }
        child.terminate()
        #expect(await child.end() == 0)
        #expect(await child.output.text() == ledger.folder + "/feed-0000000000000000001.jsonl.gz\n")
        #expect(await child.errors.text() == "3\n")
        #expect(try await ledger.exported() == ledger.lines())
    }

    @Test func `while it follows, a file is completed after a time`() async throws {
        let ledger = try await ExportLedger(events: 1)
        let child = try ChildProgram(
            SoukExecutable.path(), ledger.arguments(["--follow", "--rotate-every", "1s"]), output: .captured,
            errors: .captured)
        #expect(await child.output.firstLine()?.hasSuffix("feed-0000000000000000001.jsonl.gz") == true)
        try await ledger.add(2...2)
        try await until("the second file is complete") { try ledger.completed().count == 2 }
        child.terminate()
        #expect(await child.end() == 0)
        #expect(try await ledger.exported() == ledger.lines())
    }

    @Test func `--since begins a new folder, and is refused in another`() async throws {
        let ledger = try await ExportLedger(events: 5)
        #expect(try await ledger.export("--since", "3").status == 0)
        #expect(try await ledger.exported() == ledger.lines().suffix(2))
        let again = try await ledger.export("--since", "3")
        #expect(again.status == 2 && again.errors.contains("--since is for a new folder"))
        try await ledger.add(6...6)
        #expect(try await ledger.export().status == 0)
        #expect(try await ledger.exported() == ledger.lines().suffix(3))
    }

    @Test func `events that were deleted before they were exported leave a notice at their position`() async throws {
        let ledger = try await ExportLedger(events: 3)
        #expect(try await ledger.export().status == 0)
        try await ledger.add(4...6)
        try await ledger.write { connection in
            try connection.perform("DELETE FROM event WHERE sequence IN (4, 5)", [])
            // As after a restore, two ledgers have the same last deleted event.
            for environment in ["sandbox", "production"] {
                try connection.perform(
                    "INSERT INTO event_horizon (app, environment, sequence) VALUES (?1, ?2, 5)",
                    [.text(ExportLedger.app), .text(environment)])
            }
        }
        #expect(try await ledger.export("--rotate-bytes", "1").status == 0)
        let rows = try await ledger.exported().map { try JSONValue(parsing: $0) }
        #expect(rows.map { $0["id"] } == ["1", "2", "3", "5", "5", "6"])
        #expect(rows[3...4].allSatisfy { $0["type"] == "events.expired" && $0["data"] == nil })
        #expect(Set(rows[3...4].map { $0["environment"]?.stringValue }) == ["sandbox", "production"])
        #expect(try ledger.completed().count == 3)
    }

    @Test(arguments: ["", "5", "x\n", "-1\n", "99999999999999999999\n"])
    func `a damaged cursor is refused, and so is a folder whose cursor is missing`(text: String) async throws {
        let ledger = try await ExportLedger(events: 1)
        #expect(try await ledger.export().status == 0)
        try Data(text.utf8).write(to: URL(fileURLWithPath: ledger.folder + "/feed.cursor"))
        let damaged = try await ledger.export()
        #expect(damaged.status == 2 && damaged.errors.contains("feed.cursor: this is no position"))
        try FileManager.default.removeItem(atPath: ledger.folder + "/feed.cursor")
        let missing = try await ledger.export()
        #expect(missing.status == 2 && missing.errors.contains("feed.cursor is missing"))
    }

    @Test func `zeros that a loss of power left in a partial file are not exported`() async throws {
        let ledger = try await ExportLedger(events: 6)
        let lines = try await ledger.lines()
        try FileManager.default.createDirectory(atPath: ledger.folder, withIntermediateDirectories: true)
        var bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
        let start = lines[0].utf8.count + lines[1].utf8.count + lines[2].utf8.count + 10
        for index in start..<(start + 50) { bytes[index] = 0 }
        try Data(bytes).write(
            to: URL(fileURLWithPath: ledger.folder + "/feed-0000000000000000001.jsonl.partial"))
        #expect(try await ledger.export().status == 0)
        #expect(try await ledger.exported() == lines)
        #expect(
            try ledger.completed()
                == ["feed-0000000000000000001.jsonl.gz", "feed-0000000000000000003.jsonl.gz"])
    }

    @Test(arguments: [
        (["--what", "states", "--to", "x"], "--to is for facts, events and the feed"),
        (["--what", "events", "--to", "x", "--format", "csv"], "as --format jsonl"),
        (["--what", "events", "--follow", "--format", "jsonl"], "--follow goes with --to"),
        (["--what", "events", "--rotate-bytes", "9", "--format", "jsonl"], "--rotate-bytes goes with --to"),
        (["--what", "events", "--to", "x", "--rotate-every", "1h"], "--rotate-every goes with --follow"),
        (["--what", "events", "--to", "x", "--rotate-bytes", "0"], "--rotate-bytes is a whole number from 1"),
        (["--what", "events"], "--format csv or --format jsonl"),
    ])
    func `options that do not go together are refused`(words: [String], sentence: String) async throws {
        let outcome = try await SoukExecutable.run(["export"] + words)
        #expect(outcome.status == 2 && outcome.errors.contains(sentence), "\(outcome.errors)")
    }
}
