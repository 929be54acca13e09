import Foundation
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Another `souk` process. It ends on request and when this process ends for any reason, because this process holds the
/// other end of its standard input.
final class ChildProcess: Sendable {
    /// The first line of the child's standard output, which it prints when it is ready.
    let greeting: JSONValue
    private let name: String
    private let process: RunningProcess

    /// Starts `souk` with `arguments` and waits for its first line, for `timeout` at most.
    /// Throws `Failure` with the last line of the child's log when the child ends before it prints that line, or after
    /// `timeout`.
    static func start(
        _ arguments: [String], named name: String, log: String, timeout: Duration = .seconds(20)
    ) async throws -> ChildProcess {
        let process = try RunningProcess(arguments + ["--stop-with-parent"], log: log)
        guard let line = await process.firstLine(timeout: timeout), let greeting = try? JSONValue(parsing: line)
        else {
            await process.end(SIGKILL)
            let words = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            let last = words.split(separator: "\n").last.map(String.init) ?? "it printed nothing; its log is \(log)"
            throw Failure("the \(name) did not start: \(last)")
        }
        return ChildProcess(greeting: greeting, name: name, process: process)
    }

    private init(greeting: JSONValue, name: String, process: RunningProcess) {
        self.greeting = greeting
        self.name = name
        self.process = process
    }

    var isRunning: Bool { process.isRunning }

    /// Returns when the process has ended, or when the waiting task is cancelled.
    func ended() async {
        while isRunning, (try? await Task.sleep(for: .milliseconds(50))) != nil {}
    }

    /// Kills the process, as a power failure would; returns when it has ended.
    func kill() async { await process.end(SIGKILL) }

    /// Sends SIGTERM to the process and waits for its end. Kills it after five seconds.
    func stop() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.process.end(SIGTERM) }
            group.addTask {
                try? await Task.sleep(for: .seconds(5))
                if !Task.isCancelled { await self.process.end(SIGKILL) }
            }
            await group.next()
            group.cancelAll()
        }
    }
}

/// Foundation's `Process`, with an asynchronous wait for its end.
private final class RunningProcess: @unchecked Sendable {
    // Sendable: `process` is configured and run in `init`; later only its identifier is read. `state` has the mutable values.
    private struct State {
        var hasEnded = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let state = Locked(State())

    init(_ arguments: [String], log: String) throws {
        guard let executable = Bundle.main.executablePath else { throw Failure("souk cannot find its own executable") }
        _ = FileManager.default.createFile(atPath: log, contents: nil, attributes: [.posixPermissions: 0o600])
        guard let log = FileHandle(forWritingAtPath: log) else { throw Failure("\(log) cannot be written") }
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = log
        process.terminationHandler = { [state] _ in
            let waiting = state.withLock { state in
                state.hasEnded = true
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }
        try process.run()
    }

    var isRunning: Bool { state.withLock { !$0.hasEnded } }

    func end(_ number: Int32) async {
        if isRunning { kill(process.processIdentifier, number) }
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiting.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    /// Returns the first line of standard output; `nil` if the process ends before it, or after the timeout. Discards
    /// later output.
    func firstLine(timeout: Duration) async -> [UInt8]? {
        let (lines, continuation) = AsyncStream.makeStream(of: [UInt8]?.self)
        let handle = output.fileHandleForReading
        Thread.detachNewThread {
            var line: [UInt8] = []
            var isDone = false
            while true {
                let data = handle.availableData
                if data.isEmpty { break }
                guard !isDone else { continue }
                line += data
                if let end = line.firstIndex(of: 0x0A) {
                    continuation.yield(Array(line[..<end]))
                    isDone = true
                }
            }
            continuation.yield(nil)
        }
        let timer = Task {
            try? await Task.sleep(for: timeout)
            continuation.yield(nil)
        }
        defer { timer.cancel() }
        for await line in lines { return line }
        return nil
    }
}
