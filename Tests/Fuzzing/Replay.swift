import Foundation
import Primitives

/// Runs one fuzzer on known inputs, without libFuzzer and Address Sanitizer.
///
/// An input that traps ends the process; `Scripts/fuzz` then keeps it, because it starts with the same inputs.
struct Replay: Sendable {
    /// An input and its place, such as `Corpus/json.txt:3`.
    struct Input: Sendable, Equatable {
        let origin: String
        let bytes: [UInt8]
    }

    /// The claims of a fuzzer that an input refutes.
    struct FalseClaim: CustomStringConvertible {
        let fuzzer: String
        let input: Input
        let claims: [String]

        var description: String {
            "\(fuzzer), \(input.origin): \(claims.joined(separator: "; ")), for \(Base64.encode(input.bytes))"
        }
    }

    /// An invalid line of a corpus.
    struct UnreadableLine: Error, CustomStringConvertible {
        let origin: String
        var description: String { "\(origin) is not base64; Scripts/fuzz writes these files" }
    }

    static let all = [json, jws, certificates, receipts, archives, state]
    static let json = Replay(name: "json", seeds: jsonSeeds, fuzz: fuzzJSON)
    static let jws = Replay(name: "jws", seeds: jwsSeeds, fuzz: fuzzJWS)
    static let certificates = Replay(name: "certificates", seeds: certificateSeeds, fuzz: fuzzCertificates)
    static let receipts = Replay(name: "receipts", seeds: receiptSeeds, fuzz: fuzzReceipts)
    static let archives = Replay(name: "archives", seeds: archiveSeeds, fuzz: fuzzArchives)
    static let state = Replay(name: "state", seeds: stateSeeds, fuzz: fuzzStates)

    static let corpus = Fuzzing.folder.appendingPathComponent("Corpus", isDirectory: true)

    /// The name of the fuzzer in `Scripts/fuzz`.
    let name: String
    let seeds: @Sendable () -> [[UInt8]]
    let fuzz: @Sendable (UnsafePointer<UInt8>?, Int) -> CInt

    /// Returns the seeds, the minimised corpus, and the inputs that crashed once.
    func inputs() throws -> [Input] {
        let planted = seeds().enumerated().map { Input(origin: "seed \($0.offset)", bytes: $0.element) }
        let crashes = Self.corpus.appendingPathComponent("\(name)-crashes.txt")
        let hasCrashed = FileManager.default.fileExists(atPath: crashes.path)
        return try planted + committed() + (hasCrashed ? Self.read(crashes) : [])
    }

    /// The minimised corpus.
    func committed() throws -> [Input] { try Self.read(Self.corpus.appendingPathComponent("\(name).txt")) }

    /// Reads one input in base64 from each line.
    static func read(_ file: URL) throws -> [Input] {
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        return try lines.enumerated().map { place, line in
            let origin = "Corpus/\(file.lastPathComponent):\(place + 1)"
            guard let bytes = Base64.decode(String(line)) else { throw UnreadableLine(origin: origin) }
            return Input(origin: origin, bytes: bytes)
        }
    }

    /// Runs `body` on its own thread, for a fuzzer that waits.
    static func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Runs the fuzzer on each input, up to the first that refutes a claim. Later results of a fuzzer with files would
    /// be unreliable.
    func firstFalseClaim(in inputs: [Input]) -> FalseClaim? {
        for input in inputs {
            let claims = Locked<[String]>([])
            Fuzzing.$refuse.withValue({ claim in claims.withLock { $0.append(claim) } }) {
                _ = input.bytes.withUnsafeBufferPointer { fuzz($0.baseAddress, $0.count) }
            }
            let found = claims.withLock { $0 }
            if !found.isEmpty { return FalseClaim(fuzzer: name, input: input, claims: found) }
        }
        return nil
    }
}
