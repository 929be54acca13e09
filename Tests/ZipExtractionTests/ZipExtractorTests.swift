import Foundation
import HostTestSupport
import Primitives
import StoreModel
import Testing

@testable import ZipArchives
@testable import ZipExtraction

@Suite(.eachExtractor) struct ZipExtractorTests {
    private let fixture: ExtractionFixture

    init() throws { fixture = try ExtractionFixture() }

    @Test func `the content of an archive replaces the old content`() async throws {
        let outside = try fixture.outside()
        try await fixture.extract(
            ForgedArchive([.file("film.json", "{}"), .folder("luts/"), .deflated("luts/warm.cube", Array("3D".utf8))]))
        #expect(try fixture.content() == ["film.json": "{}", "luts/warm.cube": "3D"])
        #expect(try fixture.outside() == outside)
    }

    @Test func `an archive is extracted where there was no content`() async throws {
        try FileManager.default.removeItem(atPath: fixture.folder)
        try await fixture.extract(ForgedArchive([.file("a")]))
        #expect(try fixture.content() == ["a": "text"])
    }

    @Test func `files and folders are only for their user and never executable, whatever the archive says`()
        async throws
    {
        let modes = [0o104755, 0o102777, 0o100777, 0o101777, 0o100000, 0]
        let files = modes.map { mode in ForgedArchive.Entry.file("\(mode)").with { $0.attributes = mode << 16 } }
        let folder = ForgedArchive.Entry.folder("folder/").with { $0.attributes = 0o042777 << 16 }
        try await fixture.extract(ForgedArchive(files + [folder]))
        let found = try ExtractionFixture.snapshot(of: fixture.folder)
        #expect(found["folder"] == "folder 700")
        #expect(found.filter { $0.key != "folder" }.values.allSatisfy { $0.hasPrefix("file 600:") })
        #expect(try ExtractionFixture.snapshot(of: fixture.root + "/content")["film"] == "folder 700")
    }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter"))
    func `archives of zipfile and of zip are extracted byte for byte`() async throws {
        let folder = fixture.root + "/archives"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let archives = try await ArchiveJudge.make(in: folder)
        #expect(archives.count == 14)
        for (name, listing) in archives {
            try await fixture.extractor.extract("\(folder)/\(name)", into: fixture.folder)
            #expect(try ArchiveJudge.listing(of: fixture.folder) == listing, "\(name)")
        }
    }

    @Test func `progress begins with nothing, never goes back and ends with everything`() async throws {
        let content = [UInt8](repeating: 7, count: 700_000)
        let steps = Locked<[ExtractionProgress]>([])
        try await fixture.extract(ForgedArchive([.deflated("a", content), .file("b", content)])) { step in
            steps.withLock { $0.append(step) }
        }
        let seen = steps.withLock { $0 }
        #expect(seen.first == ExtractionProgress(written: 0, total: 1_400_000))
        #expect(seen.last == ExtractionProgress(written: 1_400_000, total: 1_400_000))
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.written < $1.written })
        #expect(seen.count > 4)
    }

    @Test func `names of any script and case are kept to the byte`() async throws {
        let names = [
            "ä", "o\u{308}", "日本語", "😀", "Straße", "a b", " ", "...", "-rf", "~", "*", "C", "con", "ab:c", "%2e%2e",
        ]
        try await fixture.extract(ForgedArchive(names.map { .file($0) }))
        let found = try FileManager.default.contentsOfDirectory(atPath: fixture.folder)
        #expect(Set(found.map { Array($0.utf8) }) == Set(names.map { Array($0.utf8) }))
    }

    @Test func `an error names the entry, printable and short`() async throws {
        let name = "\u{1B}[31m" + String(repeating: "x", count: 500)
        let error = await #expect(throws: ExtractionError.self) {
            try await fixture.extract(ForgedArchive([.file(name)]))
        }
        let reason = try #require(error?.reason)
        #expect(reason.contains(#"\x1b[31m"#) && reason.utf8.count < 200)
        #expect(reason.hasSuffix("."))
        #expect(error?.entry?.contains("\u{1B}") == false)
    }
}

/// Checks archives without an extractor.
@Suite struct ExtractionPlanTests {
    private let fixture: ExtractionFixture

    init() throws { fixture = try ExtractionFixture() }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter"))
    func `more entries than an archive without zip64 can have are counted`() async throws {
        let path = try await ArchiveJudge.makeMany(66_000, in: fixture.root)
        let limits = ExtractionLimits(entries: 66_000)
        let plan = try ExtractionPlan(ArchiveFile(path), limits: limits)
        #expect(plan.entries.map(\.name.path) == (0..<66_000).map(String.init))
        #expect(throws: ExtractionError(.limitExceeded, "")) {
            try ExtractionPlan(ArchiveFile(path), limits: ExtractionLimits(entries: 65_999))
        }
    }
}
