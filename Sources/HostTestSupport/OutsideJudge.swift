import Foundation
import Primitives
import Testing

/// An independent program that checks a result: an installed one such as Graphviz or OpenSSL, or a Python script of
/// `Tests/Judges` with its packages.
package enum OutsideJudge {
    /// The Python interpreter with the packages of the scripts; `make test` sets it in `SOUK_PYTHON`.
    package static var python: String? { ProcessInfo.processInfo.environment["SOUK_PYTHON"] }

    /// Whether tests with such programs are skipped in this process.
    fileprivate static var areSkipped: Bool { ProcessInfo.processInfo.environment["SOUK_JUDGES"] == "skip" }

    /// The error of a test that uses an outside judge without the trait.
    private struct Unmarked: Error, CustomStringConvertible {
        let description =
            "A test that uses an outside judge needs the trait `.outsideJudge`. Add the trait to the test or its suite."
    }

    /// Returns the path of `program` in the PATH.
    package static func path(of program: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Runs a script of `Tests/Judges` with a JSON value as its input.
    ///
    /// - Throws: `POSIXError` when the interpreter cannot be started; `Unmarked` if tests with judges are skipped but
    ///   the calling test, which lacks the trait, is not.
    package static func judge(_ script: String, _ request: JSONValue) async throws -> ChildProgram.Outcome {
        guard !areSkipped else { throw Unmarked() }
        let judges = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Tests/Judges")
        return try await run(
            python ?? "/usr/bin/python3", [judges.appendingPathComponent(script).path],
            input: String(decoding: request.encoded(), as: UTF8.self))
    }

    /// Runs a program to its end.
    ///
    /// - Throws: `POSIXError` when it cannot be started.
    package static func run(_ program: String, _ arguments: [String], input: String) async throws
        -> ChildProgram.Outcome
    {
        try await ChildProgram.run(program, arguments, input: .text(input))
    }
}

extension Trait where Self == ConditionTrait {
    /// Marks tests with an outside judge for the test runner, which runs them concurrently with the others, may repeat
    /// each once, and skips them under Thread Sanitizer (`SOUK_JUDGES=skip`).
    ///
    ///     @Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with haralyzer"))
    ///
    /// - Parameters:
    ///   - isAvailable: Whether the judge is installed; otherwise the tests are skipped.
    ///   - comment: The reason for skipping them.
    package static func outsideJudge(
        _ isAvailable: @autoclosure @escaping @Sendable () -> Bool, _ comment: Comment,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> Self {
        if OutsideJudge.areSkipped {
            // The test runner searches for these words.
            return .disabled("outside judge", sourceLocation: sourceLocation)
        }
        return .enabled(if: isAvailable(), comment, sourceLocation: sourceLocation)
    }
}
