import Dispatch
import Foundation
import Primitives

/// The shared code of the six fuzzers.
///
/// `Scripts/fuzz` compiles each fuzzer with the modules it tests into a libFuzzer program, and sets `FUZZING`.
/// `FuzzingTests` compiles all fuzzers into one module and replays the inputs in the folder `Corpus`.
enum Fuzzing {
    /// The folder with the fuzzers' signing keys. They are public and protect nothing. They are committed because a
    /// signed input is only accepted with the same keys.
    static let keys = folder.appendingPathComponent("Keys", isDirectory: true)

    /// The folder of this file.
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    /// Returns a file of `keys`, and creates it if it is missing. A signature differs each time, and the fuzzer must
    /// recognize it in later inputs.
    static func kept(_ name: String, orMake make: () throws -> [UInt8]) -> [UInt8] {
        let file = keys.appendingPathComponent(name)
        if let known = try? Data(contentsOf: file) { return Array(known) }
        return must {
            let made = try make()
            try Data(made).write(to: file, options: .atomic)
            return made
        }
    }

    /// Writes seeds to the folder from which libFuzzer reads its corpus next.
    static func plant(_ seeds: [[UInt8]]) {
        guard let path = ProcessInfo.processInfo.environment["SOUK_FUZZ_SEEDS"] else { return }
        let corpus = URL(fileURLWithPath: path, isDirectory: true)
        for (number, seed) in seeds.enumerated() {
            must { try Data(seed).write(to: corpus.appendingPathComponent("seed-\(number)")) }
        }
    }

    /// Copies an input to an array, so that reads beyond its end are detected.
    static func bytes(_ start: UnsafePointer<UInt8>?, _ count: Int) -> [UInt8] {
        Array(UnsafeBufferPointer(start: start, count: count))
    }

    /// Runs a body that can only fail through an error in the fuzzer itself.
    static func must<Result>(_ body: () throws -> Result) -> Result {
        do { return try body() } catch { fatalError("the fuzzer cannot go on: \(error)") }
    }

    /// Waits on this thread for an asynchronous body. Call it on libFuzzer's thread or a thread of a replay: the body
    /// may need the threads of Swift's pool.
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

    /// Reports a false claim to `refuse`.
    static func claim(_ holds: Bool, _ what: String) {
        if !holds { refuse("not true: \(what)") }
    }

    /// Ends the process, so that libFuzzer keeps the input. A replay records the claim instead.
    @TaskLocal static var refuse: @Sendable (String) -> Void = { fatalError($0) }
}
