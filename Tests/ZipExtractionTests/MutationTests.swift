import BaseTestSupport
import Foundation
import HostTestSupport
import Primitives
import StoreModel
import Testing

@testable import ZipExtraction

/// Randomly changed archives. There must be no crash and no change outside the folder. After an error the old content
/// stays, and an accepted archive has the content that Python's zipfile reads.
@Suite(.eachExtractor) struct MutationTests {
    /// `SOUK_ARCHIVES` sets the number of archives, six hundred for each case.
    @Test(
        .outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter"),
        arguments: 0..<((Int(ProcessInfo.processInfo.environment["SOUK_ARCHIVES"] ?? "") ?? 600) + 599) / 600)
    func `a randomly changed archive is refused, or means the same to zipfile`(batch: Int) async throws {
        let fixture = try ExtractionFixture()
        var numbers = SeededNumbers(state: 5 + UInt64(batch))
        let rounds = 600
        let outside = try fixture.outside()
        var accepted: [(file: String, content: ArchiveJudge.Listing)] = []
        for round in 0..<rounds {
            let bytes = Self.mutated(Self.seeds.randomElement(using: &numbers)!, with: &numbers)
            let file = try fixture.write(bytes, "mutated-\(round)")
            let before = try ArchiveJudge.listing(of: fixture.folder)
            do {
                try await fixture.extractor.extract(file, into: fixture.folder)
                accepted.append((file, try ArchiveJudge.listing(of: fixture.folder)))
            } catch is ExtractionError {
                #expect(try ArchiveJudge.listing(of: fixture.folder) == before)
                try FileManager.default.removeItem(atPath: file)
            }
            #expect(try fixture.outside() == outside)
        }
        #expect(accepted.count > rounds / 50 && accepted.count < rounds)
        for (ours, theirs) in zip(accepted, try await ArchiveJudge.read(accepted.map(\.file))) {
            let bytes = Base64.encode(try Data(contentsOf: URL(fileURLWithPath: ours.file)))
            #expect(ours.content == theirs, "\(bytes)")
        }
    }

    private static let seeds: [[UInt8]] = {
        var large = ForgedArchive([.deflated("deflated", Array("some text".utf8)), .folder("folder/")])
        large.zip64 = .init()
        large.end = .init(count: 0xFFFF, size: 0xFFFF_FFFF, offset: 0xFFFF_FFFF)
        let streamed = ForgedArchive.Entry.deflated("streamed", Array("text".utf8)).with {
            $0.descriptor = ForgedArchive.descriptor($0.central)
            $0.changeHeaders { $0.flags |= 8 }
            ($0.local.checksum, $0.local.size, $0.local.compressedSize) = (0, 0, 0)
        }
        return [
            ForgedArchive([.file("a", "text"), .file("b/c", "more"), .folder("d/")]), large,
            ForgedArchive([streamed, .file("ä")]),
        ].map(\.bytes)
    }()

    /// Makes one to three changes: of a bit, of a byte to a special value, or of a run that is removed or doubled.
    private static func mutated(_ seed: [UInt8], with numbers: inout SeededNumbers) -> [UInt8] {
        var bytes = seed
        for _ in 0..<Int.random(in: 1...3, using: &numbers) {
            let place = Int.random(in: bytes.indices, using: &numbers)
            let run = place..<min(bytes.count, place + Int.random(in: 1...8, using: &numbers))
            switch Int.random(in: 0..<6, using: &numbers) {
            case 0, 1, 2: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &numbers)
            case 3: bytes[place] = [0, 1, 0xFF, 0x2F, 0x2E, 0x50].randomElement(using: &numbers)!
            case 4 where bytes.count > 30: bytes.removeSubrange(run)
            default: bytes.insert(contentsOf: bytes[run], at: place)
            }
        }
        return bytes
    }
}
