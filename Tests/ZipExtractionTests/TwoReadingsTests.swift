import Foundation
import StoreModel
import Testing

@testable import ZipExtraction

/// Ambiguous and broken archives.
@Suite(.eachExtractor) struct TwoReadingsTests {
    private let fixture: ExtractionFixture

    init() throws { fixture = try ExtractionFixture() }

    @Test func `a local header that differs from the directory is refused`() async throws {
        let changes: [(inout ForgedArchive.Header) -> Void] = [
            { $0.name = Array("B".utf8) }, { $0.name = Array("longer".utf8) }, { $0.flags = 0 }, { $0.flags |= 8 },
            { $0.method = 0 }, { $0.checksum ^= 1 }, { $0.size += 1 }, { $0.compressedSize += 1 },
            { $0.extra = le(1, 2) + le(100, 2) }, { $0.size = 0xFFFF_FFFF },
        ]
        for change in changes {
            for content in [[], Array("text".utf8)] as [[UInt8]] {
                let entry = ForgedArchive.Entry.deflated("b", content)
                for side in [\ForgedArchive.Entry.local, \.central]
                    as [WritableKeyPath<ForgedArchive.Entry, ForgedArchive.Header>]
                {
                    let forged = entry.with { change(&$0[keyPath: side]) }
                    await #expect(throws: ExtractionError.self) {
                        try await fixture.extract(ForgedArchive([forged]))
                    }
                }
                #expect(try fixture.content() == ["old.txt": "content/film/old.txt"])
            }
        }
    }

    @Test func `sizes that follow the data are accepted in each form of the descriptor, if they are correct`()
        async throws
    {
        for (signed, width) in [(true, 4), (false, 4), (true, 8), (false, 8)] {
            let entry = ForgedArchive.Entry.deflated("a", Array("text".utf8)).with {
                $0.descriptor = ForgedArchive.descriptor($0.central, signed: signed, width: width)
                $0.changeHeaders { $0.flags |= 8 }
                ($0.local.checksum, $0.local.size, $0.local.compressedSize) = (0, 0, 0)
            }
            try await fixture.extract(ForgedArchive([entry, .file("b")]))
            #expect(try fixture.content() == ["a": "text", "b": "text"])
            for index in entry.descriptor.indices {
                let lying = entry.with { $0.descriptor[index] ^= 1 }
                await #expect(throws: ExtractionError.self) { try await fixture.extract(ForgedArchive([lying])) }
            }
            try await fixture.refuse(ForgedArchive([entry.with { $0.descriptor = [] }]), as: .corrupt)
        }
    }

    @Test func `zip64 is read if it is needed and agrees, and otherwise refused`() async throws {
        let large = ForgedArchive.Entry.file("a").with {
            $0.changeHeaders { header in
                header.extra = ForgedArchive.zip64Field(header.size, header.compressedSize)
                (header.size, header.compressedSize) = (0xFFFF_FFFF, 0xFFFF_FFFF)
            }
        }
        var archive = ForgedArchive([large])
        archive.zip64 = .init()
        archive.end = .init(count: 0xFFFF, size: 0xFFFF_FFFF, offset: 0xFFFF_FFFF)
        try await fixture.extract(archive)
        #expect(try fixture.content() == ["a": "text"])

        for lie: ForgedArchive.End in [
            .init(count: 2), .init(size: 9), .init(offset: 9), .init(count: .max), .init(size: .max),
            .init(offset: .max),
        ] {
            archive.zip64 = lie
            await #expect(throws: ExtractionError.self) { try await fixture.extract(archive) }
        }
        archive.zip64 = .init()
        for lie: ForgedArchive.End in [.init(count: 0), .init(size: 9), .init(offset: 0)] {
            archive.end = lie
            try await fixture.refuse(archive, as: .corrupt)
        }
        archive.end = .init(count: 0xFFFF)
        archive.zip64 = nil
        try await fixture.refuse(archive, as: .corrupt)
        try await fixture.refuse(ForgedArchive([large.with { $0.central.extra = [] }]), as: .corrupt)
    }

    @Test func `bytes before or after an archive are refused`() async throws {
        var archive = ForgedArchive([.file("a")])
        archive.suffix = [0]
        try await fixture.refuse(archive, as: .corrupt)
        archive.suffix = ForgedArchive([.file("b")]).bytes
        try await fixture.refuse(archive, as: .corrupt)
        archive.suffix = []
        archive.end.comment = Array("a remark".utf8)
        try await fixture.extract(archive)
        archive.end.comment = Array("PK\u{5}\u{6}".utf8) + [UInt8](repeating: 0, count: 18)
        await #expect(throws: ExtractionError.self) { try await fixture.extract(archive) }
        archive.end.comment = []
        for offset in [1, 9, 0xFFFF_FFF0] {
            archive.end.offset = offset
            try await fixture.refuse(archive, as: .corrupt)
        }
    }

    @Test func `an archive that is truncated anywhere is refused`() async throws {
        let whole = ForgedArchive([.file("a", "some text"), .deflated("b/c", Array("more".utf8)), .folder("d/")]).bytes
        for count in whole.indices {
            let error = await #expect(throws: ExtractionError.self) {
                try await fixture.extract(bytes: Array(whole[..<count]))
            }
            #expect(error?.code == (count < 4 ? .unsupportedFormat : .corrupt))
        }
        #expect(try fixture.content() == ["old.txt": "content/film/old.txt"])
    }

    @Test func `any changed bit of the data, apart from padding, is detected`() async throws {
        for entry in [ForgedArchive.Entry.file("a", "some text"), .deflated("a", Array("some text".utf8))] {
            for index in entry.data.indices {
                for bit in 0..<8 {
                    let changed = entry.with { $0.data[index] ^= 1 << bit }
                    // Three bits of a stored block's first byte are used, the rest is padding.
                    if entry.central.method == 8, index == 0, bit > 2 { continue }
                    try await fixture.refuse(ForgedArchive([changed]), as: .corrupt)
                }
            }
        }
    }

    @Test func `data that ends before its stated size is refused`() async throws {
        let entry = ForgedArchive.Entry.deflated("a", Array("text".utf8)).with {
            $0.data += [0, 0]
            $0.changeHeaders { $0.compressedSize += 2 }
        }
        try await fixture.refuse(ForgedArchive([entry]), as: .corrupt)
    }

    @Test(arguments: [
        "", "P", "PK", "hello, this is no archive", "\u{1F}\u{8B}\u{8}", "Rar!\u{1A}\u{7}", "7z\u{BC}\u{AF}",
    ])
    func `a file of another format is refused, and the error names zip`(text: String) async throws {
        let error = await #expect(throws: ExtractionError(.unsupportedFormat, "")) {
            try await fixture.extract(
                bytes: Array(text.utf8) + [UInt8](repeating: 0, count: text.isEmpty ? 0 : 600))
        }
        #expect(error?.reason.contains("zip") == true)
    }

    @Test func `an empty archive makes an empty folder`() async throws {
        try await fixture.extract(ForgedArchive([]))
        #expect(try fixture.content().isEmpty)
    }
}
