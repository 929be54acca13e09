import Foundation
import Testing

/// Replays every kept input of `Scripts/fuzz`.
@Suite struct ReplayTests {
    @Test func `JSON that was kept refutes no claim`() throws { try replay(.json) }

    @Test func `JWS that were kept refute no claim`() throws { try replay(.jws) }

    @Test func `certificates that were kept refute no claim`() throws { try replay(.certificates) }

    @Test func `states that were kept refute no claim`() async throws {
        let found = try await Replay.onThread { try Replay.state.firstFalseClaim(in: Replay.state.inputs()) }
        if let found { Issue.record("\(found)") }
    }

    @Test func `receipts that were kept refute no claim`() throws { try replay(.receipts) }

    @Test func `archives that were kept refute no claim`() throws { try replay(.archives) }

    private func replay(_ replay: Replay, sourceLocation: SourceLocation = #_sourceLocation) throws {
        guard let found = try replay.firstFalseClaim(in: replay.inputs()) else { return }
        Issue.record("\(found)", sourceLocation: sourceLocation)
    }
}

/// Tests of the replay itself.
@Suite struct ReplayItselfTests {
    @Test func `a false claim names the fuzzer, the line and the input`() throws {
        let short = Replay(
            name: "short", seeds: { [] },
            fuzz: { start, count in
                Fuzzing.claim(Fuzzing.bytes(start, count) != [1, 2, 3], "no input counts to three")
                return 0
            })
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("souk-\(UUID().uuidString).txt")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("AA==\nAQID\nAQIE\n".utf8).write(to: file)
        let found = try #require(try short.firstFalseClaim(in: Replay.read(file)))
        #expect(
            found.description
                == "short, Corpus/\(file.lastPathComponent):2: not true: no input counts to three, for AQID")
    }

    @Test func `a line that is not base64 is refused`() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("souk-\(UUID().uuidString).txt")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("AQID\n<html>\n".utf8).write(to: file)
        #expect(throws: Replay.UnreadableLine.self) { try Replay.read(file) }
    }

    @Test func `every fuzzer is replayed, and every committed file belongs to a fuzzer`() throws {
        let sources = try FileManager.default.contentsOfDirectory(atPath: Fuzzing.folder.path)
        #expect(sources.count { $0.hasSuffix("Fuzzer.swift") } == Replay.all.count)
        let files = try FileManager.default.contentsOfDirectory(atPath: Replay.corpus.path)
        let expected = Set(Replay.all.map { "\($0.name).txt" })
        #expect(Set(files.filter { !$0.hasSuffix("-crashes.txt") }) == expected)
        #expect(expected.isSuperset(of: files.map { $0.replacing("-crashes.txt", with: ".txt") }))
    }

    @Test(arguments: Replay.all.map(\.name))
    func `a corpus is sorted by the length of its inputs, and has none twice`(name: String) async throws {
        let replay = try #require(Replay.all.first { $0.name == name })
        let inputs = try replay.committed().map(\.bytes)
        #expect(inputs.count >= 20)
        let isSorted = zip(inputs, inputs.dropFirst()).allSatisfy { before, after in
            before.count == after.count ? before.lexicographicallyPrecedes(after) : before.count < after.count
        }
        #expect(isSorted)
        let seeds = try await Replay.onThread { replay.seeds() }
        #expect(!seeds.isEmpty)
    }

    @Test func `a committed JWS is valid with the committed keys`() throws {
        #expect(try Replay.jws.committed().contains { isAcceptedJWS($0.bytes) })
    }
}
