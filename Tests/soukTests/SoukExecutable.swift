import BaseTestSupport
import Foundation
import HostTestSupport
import Primitives

/// Runs the programs that were built beside the tests, as a user does.
enum SoukExecutable {
    typealias Outcome = ChildProgram.Outcome

    static func path(_ name: String = "souk") -> String {
        let tests = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        return tests.appendingPathComponent(name).path
    }

    /// Runs a program to its end, with the file `input` as its standard input.
    static func run(
        _ arguments: [String], program: String = "souk", environment: [String: String] = [:], in folder: String? = nil,
        input: String? = nil
    ) async throws -> Outcome {
        try await ChildProgram.run(
            path(program), arguments, environment: environment, in: folder, input: input.map { .file($0) } ?? .null)
    }
}

/// A `souk`, or another program, that serves until it is stopped, or until this object is deallocated.
final class SoukService: Sendable {
    let greeting: JSONValue
    private let child: ChildProgram

    /// Starts the program and reads its first line. Throws if the program ends before it prints one.
    ///
    /// - Parameter openFiles: The soft limit of open files of the program.
    convenience init(
        _ arguments: [String], environment: [String: String] = [:], openFiles: Int? = nil, in folder: String? = nil
    ) async throws {
        try await self.init(
            program: "souk", arguments + ["--stop-with-parent"], environment: environment, openFiles: openFiles,
            in: folder)
    }

    /// Starts `souk` with this umask.
    convenience init(_ arguments: [String], mask: String) async throws {
        try await self.init(program: "souk", arguments, mask: mask)
    }

    init(
        program: String, _ arguments: [String], environment: [String: String] = [:], openFiles: Int? = nil,
        mask: String? = nil, in folder: String? = nil
    ) async throws {
        var words = [SoukExecutable.path(program)] + arguments
        if let mask { words = ["/bin/sh", "-c", "umask \(mask); exec \"$@\"", "sh"] + words }
        if let openFiles { words = ["/bin/sh", "-c", "ulimit -Sn \(openFiles); exec \"$@\"", "sh"] + words }
        child = try ChildProgram(
            words[0], Array(words.dropFirst()), environment: environment, in: folder, input: .captured,
            output: .captured)
        greeting = try JSONValue(parsing: await child.output.firstLine() ?? "")
    }

    var url: String { greeting["listening"]?.stringValue ?? "" }

    var processID: Int32 { child.processID }

    /// Requests the program to end (SIGTERM).
    func terminate() { child.terminate() }

    func signal(_ number: Int32) { child.signal(number) }

    /// Requests the program to end, and returns its exit status.
    func stop() async -> Int32 {
        child.terminate()
        return await child.end()
    }

    /// Waits for the end of the program, and returns its exit status. After a signal, that is 128 plus the signal's
    /// number.
    func waitForEnd() async -> Int32 { await child.end() }
}

/// A folder that is removed when this object is deallocated.
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

    func text(_ name: String) throws -> String { try String(contentsOfFile: file(name), encoding: .utf8) }
}

/// Files of the repository and of the conformance data.
enum TestFiles {
    static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path
    static let darkroom = repository + "/Examples/darkroom.storekit"
    static let conformance = ProcessInfo.processInfo.environment["SOUK_CONFORMANCE"]

    /// The StoreKit catalogues of the conformance data. Empty without this data. If the data has no catalogue, the path
    /// of a missing file, so that the tests fail.
    static var catalogues: [String] {
        guard let conformance else { return [] }
        let folder = conformance + "/storekit"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let files = names.filter { $0.hasSuffix(".storekit") }.sorted().map { "\(folder)/\($0)" }
        return files.isEmpty ? ["\(folder)/missing.storekit"] : files
    }
}
