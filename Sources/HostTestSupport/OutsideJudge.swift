import Foundation
import Primitives
import Testing

/// A program that was not written here and is asked for its opinion: Graphviz, or a Python script of `Tests/Judges` with
/// its packages.
package enum OutsideJudge {
    package typealias Verdict = ChildProgram.Outcome

    /// The interpreter that has the judges' packages; `make test` names it in `SOUK_PYTHON`.
    package static var python: String? { ProcessInfo.processInfo.environment["SOUK_PYTHON"] }

    /// Whether tests run that ask no judge: their packages need not be installed then.
    fileprivate static var areLeftOut: Bool { ProcessInfo.processInfo.environment["SOUK_JUDGES"] == "skip" }

    /// A test asks a judge and is not marked as one that does.
    private struct Unmarked: Error, CustomStringConvertible {
        let description = "A test that asks an outside judge needs the trait `.outsideJudge`."
    }

    /// Where `program` is on the PATH.
    package static func path(of program: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Gives a script of `Tests/Judges` one JSON value to judge.
    ///
    /// - Throws: `POSIXError` when the interpreter cannot be started; `Unmarked` where judges are left out.
    package static func judge(_ script: String, _ request: JSONValue) async throws -> Verdict {
        guard !areLeftOut else { throw Unmarked() }
        let judges = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Tests/Judges")
        return try await run(
            python ?? "/usr/bin/python3", [judges.appendingPathComponent(script).path],
            input: String(decoding: request.encoded(), as: UTF8.self))
    }

    /// Runs a program to its end.
    ///
    /// - Throws: `POSIXError` when it cannot be started.
    package static func run(_ program: String, _ arguments: [String], input: String) async throws -> Verdict {
        try await ChildProgram.run(program, arguments, input: .text(input))
    }
}

extension Trait where Self == ConditionTrait {
    /// Marks tests that ask an outside judge, so that the test runner finds them: it runs them beside the others, may
    /// repeat each once, and leaves them out under Thread Sanitizer (`SOUK_JUDGES=skip`).
    ///
    ///     @Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with haralyzer"))
    ///
    /// - Parameters:
    ///   - isAvailable: whether the judge can be asked here; otherwise the tests are skipped.
    ///   - comment: why they are skipped then.
    package static func outsideJudge(
        _ isAvailable: @autoclosure @escaping @Sendable () -> Bool, _ comment: Comment,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> Self {
        if OutsideJudge.areLeftOut {
            // The runner looks for these words.
            return .disabled("outside judge", sourceLocation: sourceLocation)
        }
        return .enabled(if: isAvailable(), comment, sourceLocation: sourceLocation)
    }
}
