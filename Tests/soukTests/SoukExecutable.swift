import Foundation
import Primitives

/// The programs that were built beside the tests, run as a user runs them.
enum SoukExecutable {
    struct Outcome: Sendable {
        let status: Int32
        let output: String
        let errors: String

        var json: JSONValue? { try? JSONValue(parsing: output) }
    }

    static func path(_ name: String = "souk") -> String {
        let tests = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        return tests.appendingPathComponent(name).path
    }

    /// Runs a program to its end, the file `input` being its standard input. Blocks a thread of its own, not the caller's.
    static func run(
        _ arguments: [String], program: String = "souk", environment: [String: String] = [:], in folder: String? = nil,
        input: String? = nil
    ) async throws -> Outcome {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        try runAndWait(
                            arguments, program: program, environment: environment, in: folder, input: input)
                    })
            }
        }
    }

    private static func runAndWait(
        _ arguments: [String], program: String, environment: [String: String], in folder: String?, input: String?
    ) throws -> Outcome {
        let scratch = try TemporaryFolder()
        let (out, errors) = (try scratch.emptyFile("out"), try scratch.emptyFile("errors"))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path(program))
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
        process.standardInput =
            try input.map { try FileHandle(forReadingFrom: URL(fileURLWithPath: $0)) } ?? FileHandle.nullDevice
        process.standardOutput = out
        process.standardError = errors
        try process.run()
        process.waitUntilExit()
        return Outcome(
            status: process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus,
            output: try scratch.text("out"), errors: try scratch.text("errors"))
    }
}

/// A `souk`, or another program, that serves until it is told to stop, or until this object is gone.
final class SoukService: @unchecked Sendable {
    // Sendable: nothing changes after `init`.
    let greeting: JSONValue
    private let process = Process()
    private let input = Pipe()

    /// Starts it and reads its first line. Throws when it ends instead.
    ///
    /// - Parameter openFiles: how many it may have open before it asks for more.
    convenience init(_ arguments: [String], openFiles: Int? = nil) throws {
        try self.init(program: "souk", arguments + ["--stop-with-parent"], openFiles: openFiles)
    }

    init(program: String, _ arguments: [String], openFiles: Int? = nil) throws {
        let output = Pipe()
        let words = [SoukExecutable.path(program)] + arguments
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", (openFiles.map { "ulimit -Sn \($0); " } ?? "") + "exec \"$@\"", "sh"] + words
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line: [UInt8] = []
        while !line.contains(0x0A) {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { break }
            line += data
        }
        greeting = try JSONValue(parsing: line)
    }

    var url: String { greeting["listening"]?.stringValue ?? "" }

    var processID: Int32 { process.processIdentifier }

    /// Asks it to end, as a user would (SIGTERM).
    func terminate() { process.terminate() }

    /// Asks it to end and gives its exit status.
    func stop() -> Int32 {
        process.terminate()
        // Started from a thread that takes no signals, a program that does not ask for them hears none; its input ends.
        try? input.fileHandleForWriting.close()
        return waitForEnd()
    }

    /// Its exit status, 128 and the signal's number for a signal, once it has ended.
    func waitForEnd() -> Int32 {
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
    }

    deinit { if process.isRunning { process.terminate() } }
}

/// A folder that goes with this object.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/souk-test-\(UUID().uuidString.lowercased())"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }

    func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }

    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }

    func emptyFile(_ name: String) throws -> FileHandle {
        _ = try write(name, "")
        return try FileHandle(forWritingTo: URL(fileURLWithPath: file(name)))
    }

    func text(_ name: String) throws -> String { try String(contentsOfFile: file(name), encoding: .utf8) }
}

/// Files of the repository and of the conformance data.
enum TestFiles {
    static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path
    static let darkroom = repository + "/Examples/darkroom.storekit"
    static let conformance = ProcessInfo.processInfo.environment["SOUK_CONFORMANCE"]

    /// The StoreKit catalogues of the conformance data; empty without it, never empty with it.
    static var catalogues: [String] {
        guard let conformance else { return [] }
        let folder = conformance + "/storekit"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let files = names.filter { $0.hasSuffix(".storekit") }.sorted().map { "\(folder)/\($0)" }
        return files.isEmpty ? ["\(folder)/missing.storekit"] : files
    }
}
