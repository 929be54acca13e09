import Foundation
import Primitives

/// A program nobody here wrote, asked for its opinion: Graphviz, or a Python script of `Tests/Judges` with its packages.
public enum OutsideJudge {
    public struct Verdict: Sendable {
        public let status: Int32
        public let output: String
        public let errors: String

        /// What a script of `Tests/Judges` answered.
        public var json: JSONValue? { try? JSONValue(parsing: output) }
    }

    /// The interpreter that has the judges' packages; `make test` names it in `SOUK_PYTHON`.
    public static var python: String? { ProcessInfo.processInfo.environment["SOUK_PYTHON"] }

    /// Where `program` is on the PATH.
    public static func path(of program: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Gives a script of `Tests/Judges` one JSON value to judge.
    public static func judge(_ script: String, _ request: JSONValue) async throws -> Verdict {
        let judges = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Tests/Judges")
        return try await run(
            python ?? "/usr/bin/python3", [judges.appendingPathComponent(script).path],
            input: String(decoding: request.encoded(), as: UTF8.self))
    }

    /// Runs a program to its end. Blocks a thread of its own, not the caller's.
    public static func run(_ program: String, _ arguments: [String], input: String) async throws -> Verdict {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try runAndWait(program, arguments, input) })
            }
        }
    }

    private static func runAndWait(_ program: String, _ arguments: [String], _ input: String) throws -> Verdict {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("souk-judge-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Files, not pipes: neither side can wait for the other.
        let files = ["in", "out", "errors"].map { folder.appendingPathComponent($0) }
        try Data(input.utf8).write(to: files[0])
        for file in files[1...] { try Data().write(to: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardInput = try FileHandle(forReadingFrom: files[0])
        process.standardOutput = try FileHandle(forWritingTo: files[1])
        process.standardError = try FileHandle(forWritingTo: files[2])
        try process.run()
        process.waitUntilExit()
        func text(_ file: URL) throws -> String { String(decoding: try Data(contentsOf: file), as: UTF8.self) }
        return Verdict(
            status: process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus,
            output: try text(files[1]), errors: try text(files[2]))
    }
}
