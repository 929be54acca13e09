import Foundation
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A copy of this program, doing another part, or a program that was built beside it.
final class Child: @unchecked Sendable {
    // Sendable: `process` is run in `init`; afterwards only its identifier is read, and what changes is locked.
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let errors = Pipe()
    private let status = Broadcast<Int32>(replaysLast: true)
    private let state = Locked<Int32?>(nil)
    private let words = Locked<[UInt8]>([])
    private let lines = Broadcast<String?>(replaysLast: true)

    init(_ arguments: [String], program: String? = nil) throws {
        guard let path = Bundle.main.executablePath else { throw CrashFailure("this program does not know its path") }
        let own = URL(fileURLWithPath: path)
        process.executableURL = program.map { own.deletingLastPathComponent().appendingPathComponent($0) } ?? own
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        process.terminationHandler = { [state, status] process in
            let code = process.terminationReason == .exit ? process.terminationStatus : process.terminationStatus + 128
            state.withLock { $0 = code }
            status.send(code)
        }
        try process.run()
        let (out, err) = (output.fileHandleForReading, errors.fileHandleForReading)
        Thread.detachNewThread { [lines] in
            var text: [UInt8] = []
            while true {
                let data = out.availableData
                if data.isEmpty { break }
                text += data
                if let end = text.firstIndex(of: 0x0A) { lines.send(String(decoding: text[..<end], as: UTF8.self)) }
            }
            if !text.contains(0x0A) { lines.send(nil) }
        }
        Thread.detachNewThread { [words] in
            while true {
                let data = err.availableData
                if data.isEmpty { break }
                words.withLock { $0 += data }
            }
        }
    }

    var isRunning: Bool { state.withLock { $0 == nil } }
    var lastWords: String { String(decoding: words.withLock { $0 }, as: UTF8.self) }

    /// The first line of standard output; `nil` when it ended without one.
    func firstLine() async -> String? {
        for await line in lines.stream() { return line }
        return nil
    }

    /// The exit status, 128 and the signal's number for a signal; waits for the end.
    @discardableResult
    func ended() async -> Int32 {
        for await code in status.stream() { return code }
        return -1
    }

    func kill() async {
        if isRunning { Self.signal(process.processIdentifier) }
        await ended()
    }

    private static func signal(_ identifier: Int32) { sendSignal(identifier, SIGKILL) }
}

private func sendSignal(_ identifier: Int32, _ number: Int32) { kill(identifier, number) }
