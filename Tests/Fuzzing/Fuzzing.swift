import Foundation

/// What the four fuzzers share. Each is a program of libFuzzer's: `Scripts/fuzz` compiles it together with the modules
/// it tests, and tells it by the environment where its seeds belong and where its keys are.
enum Fuzzing {
    /// The folder that holds the keys a fuzzer signs with: the same at every run, so that a crash's input replays.
    static var keys: URL { folder("SOUK_FUZZ_KEYS") }

    /// Writes seeds where libFuzzer, which has not looked yet, reads its corpus.
    static func plant(_ seeds: [[UInt8]]) {
        guard ProcessInfo.processInfo.environment["SOUK_FUZZ_SEEDS"] != nil else { return }
        for (number, seed) in seeds.enumerated() {
            must { try Data(seed).write(to: folder("SOUK_FUZZ_SEEDS").appendingPathComponent("seed-\(number)")) }
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

    /// Ends the process, so that libFuzzer keeps the input.
    static func claim(_ holds: Bool, _ what: String) {
        if !holds { fatalError("not true: \(what)") }
    }

    private static func folder(_ variable: String) -> URL {
        guard let path = ProcessInfo.processInfo.environment[variable] else {
            fatalError("\(variable) names no folder; run Scripts/fuzz")
        }
        return URL(fileURLWithPath: path, isDirectory: true)
    }
}
