import BaseTestSupport
import Foundation

/// A shell in which the commands of a guide are followed: with the built souk, and the Python that has what judges need.
enum GuideShell {
    /// A child of a test is born with the signals of its thread blocked; in a shell they are not, and guides send some.
    private static let unblocking = """
        import os, signal, sys
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        for number in (signal.SIGTERM, signal.SIGINT): signal.signal(number, signal.SIG_DFL)
        os.execvp(sys.argv[1], sys.argv[1:])
        """

    static var path: String {
        let built = URL(fileURLWithPath: SoukExecutable.path()).deletingLastPathComponent().path
        let python = OutsideJudge.python.map { URL(fileURLWithPath: $0).deletingLastPathComponent().path }
        return [built, python, ProcessInfo.processInfo.environment["PATH"]].compactMap(\.self).joined(separator: ":")
    }

    /// Runs a command line to its end, for five minutes at most.
    static func run(_ words: [String], environment: [String] = []) async throws -> OutsideJudge.Verdict {
        try await OutsideJudge.run(
            "/usr/bin/env",
            ["PATH=\(path)"] + environment + ["python3", "-c", unblocking, "timeout", "300"] + words, input: "")
    }

    /// Two ports, below those that the system gives to clients: other tests have thousands.
    static func ports() -> (Int, Int) {
        let port = Int.random(in: 20000..<26000)
        return (port, port + 6000)
    }
}
