import Foundation
import HostTestSupport
import Primitives
import Testing

/// A disk that fails, or kills a program, at one of the program's operations.
private enum FailingDisk {
    static var isAvailable: Bool {
        #if os(Linux)
            FileManager.default.isExecutableFile(atPath: "/usr/bin/cc")
        #else
            false
        #endif
    }

    /// The library that intercepts the operations, compiled once.
    private static let library = Task {
        let folder = try TemporaryFolder()
        let path = folder.file("failing_disk.so")
        let outcome = try await ChildProgram.run(
            "/usr/bin/cc",
            [
                "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", path,
                TestFiles.repository + "/Scripts/support/failing_disk.c",
            ])
        try #require(outcome.status == 0, "\(outcome.errors)")
        return (folder: folder, path: path)
    }

    /// Returns the variables for a program whose disk fails in this way at an operation in a folder.
    static func environment(_ folder: String, _ fault: String, _ operation: Int) async throws -> [String: String] {
        [
            "LD_PRELOAD": try await library.value.path, "SOUK_DISK_FOLDER": folder + "/",
            "SOUK_DISK_\(fault)": String(operation),
        ]
    }
}

/// `souk export --to` on a disk that fails, and killed at each operation on its files.
@Suite(.enabled(if: FailingDisk.isAvailable, "there is no C compiler, or not Linux"))
struct ExportCrashTests {
    /// The files have about four events, and the last one is not full.
    private static let rotation = ["--rotate-bytes", "700"]
    private static let events = 10
    /// The operations of one run are divided among this number of test cases.
    private static let parts = 4

    /// Records an issue unless the completed files have each event once, in order, and nothing else remains.
    private func check(_ ledger: ExportLedger, _ expected: [String], _ operation: Int) async throws {
        #expect(try await ledger.exported() == expected, "operation \(operation)")
        #expect(try ledger.names() == ledger.completed() + ["feed.cursor"], "operation \(operation)")
    }

    @Test(arguments: 0..<parts)
    func `an export that was killed at any operation repeats and loses nothing`(part: Int) async throws {
        var operation = part + 1
        while true {
            let ledger = try await ExportLedger(events: Self.events)
            let expected = try await ledger.lines()
            let killed = try await SoukExecutable.run(
                ledger.arguments(Self.rotation),
                environment: try await FailingDisk.environment(ledger.folder, "KILL", operation))
            if killed.status == 0 {
                // The run had fewer operations.
                try await check(ledger, expected, operation)
                break
            }
            #expect(killed.status == 128 + 9, "\(killed.errors)")
            #expect(try await ledger.export("--rotate-bytes", "700").status == 0)
            try await check(ledger, expected, operation)
            operation += Self.parts
        }
        #expect(operation > 30)
    }

    @Test(arguments: 0..<parts)
    func `a recovery that is killed too, at any operation, repeats and loses nothing`(part: Int) async throws {
        var operation = part + 1
        while true {
            let ledger = try await ExportLedger(events: Self.events)
            let expected = try await ledger.lines()
            // The first operations create a file and write two halves of its rows.
            let first = try await SoukExecutable.run(
                ledger.arguments(), environment: try await FailingDisk.environment(ledger.folder, "KILL", 4))
            #expect(first.status == 128 + 9)
            let killed = try await SoukExecutable.run(
                ledger.arguments(Self.rotation),
                environment: try await FailingDisk.environment(ledger.folder, "KILL", operation))
            #expect(try await ledger.export().status == 0)
            try await check(ledger, expected, operation)
            if killed.status == 0 { break }
            operation += Self.parts
        }
        #expect(operation > 15)
    }

    @Test(arguments: 0..<parts)
    func `a disk that becomes full ends an export, which loses and repeats nothing when there is space`(part: Int)
        async throws
    {
        var operation = part + 1
        while true {
            let ledger = try await ExportLedger(events: Self.events)
            let expected = try await ledger.lines()
            let full = try await SoukExecutable.run(
                ledger.arguments(Self.rotation),
                environment: try await FailingDisk.environment(ledger.folder, "FULL", operation))
            if full.status == 0 { break }
            #expect(full.status == 2, "operation \(operation)")
            #expect(full.errors.contains("cannot be written: No space left on device"), "\(full.errors)")
            #expect(full.errors.contains(ledger.folder), "\(full.errors)")
            #expect(try await ledger.export("--rotate-bytes", "700").status == 0)
            try await check(ledger, expected, operation)
            operation += Self.parts
        }
        #expect(operation > 30)
    }

    @Test(arguments: 0..<parts)
    func `files that were moved away before a crash are not written again`(part: Int) async throws {
        // Each operation from the completion of the first file on.
        var operation = 15 + part
        while true {
            let ledger = try await ExportLedger(events: Self.events)
            let expected = try await ledger.lines()
            let killed = try await SoukExecutable.run(
                ledger.arguments(Self.rotation),
                environment: try await FailingDisk.environment(ledger.folder, "KILL", operation))
            guard killed.status != 0 else { break }
            let shipped = try await ledger.exported()
            for name in try ledger.completed() {
                try FileManager.default.removeItem(atPath: ledger.folder + "/" + name)
            }
            #expect(try await ledger.export().status == 0)
            #expect(shipped + (try await ledger.exported()) == expected, "operation \(operation)")
            operation += Self.parts
        }
        #expect(operation > 30)
    }
}
