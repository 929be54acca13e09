import Foundation
import HostTestSupport
import StoreModel
import Testing

@testable import ZipExtraction

@Suite(.eachExtractor) struct BombTests {
    private let fixture: ExtractionFixture

    init() throws { fixture = try ExtractionFixture() }

    @Test func `a file with a stated size beyond the ratio is refused`() async throws {
        let bomb = ForgedArchive.Entry.deflated("bomb", [1]).changingHeaders { $0.size = 5 << 20 }
        try await fixture.refuse(ForgedArchive([bomb]), as: .limitExceeded)
    }

    @Test func `many small files that together exceed the ratio are refused`() async throws {
        let files = (0..<12).map {
            ForgedArchive.Entry.deflated("file\($0)", [1]).changingHeaders { $0.size = 1 << 20 }
        }
        try await fixture.refuse(ForgedArchive(files), as: .limitExceeded)
    }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter"))
    func `zeros that are compressed to a thousandth are refused, or extracted if the limit allows it`()
        async throws
    {
        let zeros = [UInt8](repeating: 0, count: 2 << 20)
        let small = try await ArchiveJudge.deflatedZeros(zeros.count)
        let bomb = ForgedArchive.Entry.file("zeros", zeros).with {
            $0.data = small
            $0.changeHeaders { header in (header.method, header.compressedSize) = (8, small.count) }
        }
        try await fixture.refuse(ForgedArchive([bomb]), as: .limitExceeded)
        try await fixture.extract(ForgedArchive([bomb]), limits: ExtractionLimits(ratio: 1100))
        #expect(try fixture.content()["zeros"]?.utf8.count == zeros.count)
    }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter"))
    func `data that is longer than its stated size is refused`() async throws {
        let zeros = [UInt8](repeating: 0, count: 2 << 20)
        let small = try await ArchiveJudge.deflatedZeros(zeros.count)
        let liar = ForgedArchive.Entry.file("zeros", [0]).with {
            $0.data = small
            $0.changeHeaders { header in (header.method, header.compressedSize) = (8, small.count) }
        }
        try await fixture.refuse(ForgedArchive([liar]), as: .corrupt)
    }

    @Test func `more bytes in total than the limit are refused, and exactly the limit is accepted`() async throws {
        let archive = ForgedArchive([.file("a", "123"), .file("b", "4567")])
        try await fixture.refuse(archive, as: .limitExceeded, limits: ExtractionLimits(totalBytes: 6))
        try await fixture.extract(archive, limits: ExtractionLimits(totalBytes: 7))
    }

    @Test func `sizes whose sum overflows are refused`() async throws {
        let huge = (0..<3).map { number in
            ForgedArchive.Entry.deflated("\(number)", [1]).with {
                $0.changeHeaders { $0.size = 0xFFFF_FFFF }
                $0.central.extra = ForgedArchive.zip64Field(Int.max)
                $0.local.extra = ForgedArchive.zip64Field(Int.max)
            }
        }
        let limits = ExtractionLimits(totalBytes: .max, ratio: .max)
        try await fixture.refuse(ForgedArchive(huge), as: .limitExceeded, limits: limits)
        try await fixture.refuse(ForgedArchive(Array(huge.prefix(1))), as: .corrupt, limits: limits)
    }

    @Test func `more entries than the limit are refused, and exactly the limit is accepted`() async throws {
        let archive = ForgedArchive((0..<5).map { .file("\($0)") })
        try await fixture.refuse(archive, as: .limitExceeded, limits: ExtractionLimits(entries: 4))
        try await fixture.extract(archive, limits: ExtractionLimits(entries: 5))
    }

    @Test func `a wrong number of entries is refused, too large or too small`() async throws {
        for count in [0, 1, 3, 4000] {
            var archive = ForgedArchive([.file("a"), .file("b")])
            archive.end.count = count
            try await fixture.refuse(archive, as: .corrupt)
        }
    }

    @Test func `a directory with an oversized extra field is refused`() async throws {
        let fat = ForgedArchive.Entry.file("a").with {
            $0.central.extra = le(0x9999, 2) + le(60_000, 2) + [UInt8](repeating: 0, count: 60_000)
        }
        try await fixture.refuse(ForgedArchive([fat]), as: .limitExceeded)
    }

    @Test func `entries that share their data are refused`() async throws {
        var twice = ForgedArchive([.file("a"), .file("b")])
        twice.entries[1].offset = 0
        try await fixture.refuse(twice, as: .corrupt)
        let inner = ForgedArchive([.file("inner")]).bytes.prefix(30 + 5 + 4)
        var nested = ForgedArchive([.file("outer", Array(inner)), .file("inner")])
        nested.entries[1].offset = 30 + 5
        let error = await #expect(throws: ExtractionError(.corrupt, "")) { try await fixture.extract(nested) }
        #expect(error?.reason.contains("shares its bytes") == true)
    }
}
