import Foundation
import HostTestSupport

/// A shell for the commands of a guide, with the built souk and the judges' Python.
enum GuideShell {
    static var path: String {
        let built = URL(fileURLWithPath: SoukExecutable.path()).deletingLastPathComponent().path
        let python = OutsideJudge.python.map { URL(fileURLWithPath: $0).deletingLastPathComponent().path }
        return [built, python, ProcessInfo.processInfo.environment["PATH"]].compactMap(\.self).joined(separator: ":")
    }

    /// Runs a command line to its end, for five minutes at most.
    static func run(_ words: [String], environment: [String] = []) async throws -> ChildProgram.Outcome {
        try await OutsideJudge.run(
            "/usr/bin/env", ["PATH=\(path)"] + environment + ["timeout", "300"] + words, input: "")
    }
}
