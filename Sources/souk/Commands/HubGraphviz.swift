import Dispatch
import Foundation
import Primitives

/// Runs `dot` of Graphviz, if it is installed, as a child process without a shell.
enum Graphviz {
    /// Returns the SVG of a graph. Throws `UsageError` when there is no `dot`, `Failure` when it cannot draw this graph
    /// or takes longer than `timeout` seconds.
    static func svg(of dot: String, timeout: Double = 30) async throws -> String {
        guard let executable else {
            throw UsageError("--format svg needs Graphviz: install the package graphviz, or use --format html")
        }
        let drawing = try await run(executable, input: Array(dot.utf8), timeout: timeout)
        guard drawing.hasEnded else {
            throw Failure(
                "dot did not finish within \(Int(timeout)) seconds: give fewer policies, or use --format html")
        }
        guard drawing.status == 0, let text = String(utf8: drawing.output), !text.isEmpty else {
            let words =
                String(decoding: drawing.errors, as: UTF8.self).split(separator: "\n").last ?? "it printed nothing"
            throw Failure("dot could not draw the graph: \(words)")
        }
        return text
    }

    /// The first `dot` on the PATH.
    private static var executable: URL? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return folders.map { URL(fileURLWithPath: String($0)).appendingPathComponent("dot") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    private struct Drawing {
        let hasEnded: Bool
        let status: Int32
        let output: Data
        let errors: Data
    }

    /// Runs `dot` on a thread that may block.
    private static func run(_ executable: URL, input: [UInt8], timeout: Double) async throws -> Drawing {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try runAndWait(executable, input: input, timeout: timeout) })
            }
        }
    }

    private static func runAndWait(_ executable: URL, input: [UInt8], timeout: Double) throws -> Drawing {
        let process = Process()
        let (toChild, fromChild, errorPipe) = (Pipe(), Pipe(), Pipe())
        process.executableURL = executable
        process.arguments = ["-Tsvg"]
        process.standardInput = toChild
        process.standardOutput = fromChild
        process.standardError = errorPipe
        do {
            try process.run()
        } catch {
            throw Failure("\(executable.path) cannot be run: \(error)")
        }
        let isLate = Locked(false)
        let child = Child(process)
        let alarm = DispatchWorkItem {
            isLate.withLock { $0 = true }
            child.kill()
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + timeout, execute: alarm)
        let errors = Locked(Data())
        let readers = DispatchGroup()
        // All pipes are served at once: a full one would block the child.
        let (writing, readingErrors) = (toChild.fileHandleForWriting, errorPipe.fileHandleForReading)
        Thread.detachNewThread {
            try? writing.write(contentsOf: input)
            try? writing.close()
        }
        readers.enter()
        Thread.detachNewThread {
            let read = (try? readingErrors.readToEnd()) ?? Data()
            errors.withLock { $0 = read }
            readers.leave()
        }
        let output = (try? fromChild.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        alarm.cancel()
        readers.wait()
        return Drawing(
            hasEnded: !isLate.withLock { $0 },
            status: process.terminationReason == .exit ? process.terminationStatus : 1,
            output: output, errors: errors.withLock { $0 })
    }

    /// Ends a child that is still running.
    private final class Child: @unchecked Sendable {
        // Sendable: the process is started before it is shared, and `isRunning` is thread-safe.
        private let process: Process
        init(_ process: Process) { self.process = process }
        func kill() { if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) } }
    }
}
