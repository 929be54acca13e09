import Dispatch
import Foundation
import Primitives

/// What the six fuzzers share.
///
/// `Scripts/fuzz` compiles each fuzzer with the modules it tests into a program of libFuzzer's, and sets `FUZZING`.
/// `FuzzingTests` compiles all fuzzers into one module and replays the inputs in the folder `Corpus`.
enum Fuzzing {
    /// The folder with the keys that the fuzzers sign with. They are public and protect nothing. They are committed because
    /// an input that carries a signature is only accepted with the same keys.
    static let keys = folder.appendingPathComponent("Keys", isDirectory: true)

    /// The folder of this file.
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    /// Returns a file of `keys`, and makes it first when it is missing. For what a fuzzer signs with a signature that
    /// differs each time, and later has to recognise in an input.
    static func kept(_ name: String, orMake make: () throws -> [UInt8]) -> [UInt8] {
        let file = keys.appendingPathComponent(name)
        if let known = try? Data(contentsOf: file) { return Array(known) }
        return must {
            let made = try make()
            try Data(made).write(to: file, options: .atomic)
            return made
        }
    }

    /// Writes seeds to the folder that libFuzzer reads its corpus from next.
    static func plant(_ seeds: [[UInt8]]) {
        guard let path = ProcessInfo.processInfo.environment["SOUK_FUZZ_SEEDS"] else { return }
        let corpus = URL(fileURLWithPath: path, isDirectory: true)
        for (number, seed) in seeds.enumerated() {
            must { try Data(seed).write(to: corpus.appendingPathComponent("seed-\(number)")) }
        }
    }

    /// An input as an array; libFuzzer's own memory is read no further.
    static func bytes(_ start: UnsafePointer<UInt8>?, _ count: Int) -> [UInt8] {
        Array(UnsafeBufferPointer(start: start, count: count))
    }

    /// What cannot go wrong unless the fuzzer itself is at fault.
    static func must<Result>(_ body: () throws -> Result) -> Result {
        do { return try body() } catch { fatalError("the fuzzer cannot go on: \(error)") }
    }

    /// Runs what is asynchronous to its end, and waits on this thread. For libFuzzer's thread, or one that a replay made: a
    /// thread of Swift's own pool may be the one that the work needs.
    static func wait<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) -> Result<Value, any Error> {
        let outcome = Locked<Result<Value, any Error>?>(nil)
        let isOver = DispatchSemaphore(value: 0)
        Task.detached {
            let result: Result<Value, any Error>
            do { result = .success(try await work()) } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
            isOver.signal()
        }
        isOver.wait()
        return outcome.withLock { $0 } ?? .failure(CancellationError())
    }

    /// Reports what is not true to `refuse`.
    static func claim(_ holds: Bool, _ what: String) {
        if !holds { refuse("not true: \(what)") }
    }

    /// Ends the process, so that libFuzzer keeps the input. A replay notes the claim instead.
    @TaskLocal static var refuse: @Sendable (String) -> Void = { fatalError($0) }
}
