import Foundation
import StoreModel
import Testing

@testable import ZipExtraction

/// Known and further attacks. Each must be refused with its code, and change nothing on the disk.
@Suite(.eachExtractor) struct AttackTests {
    private let fixture: ExtractionFixture

    init() throws { fixture = try ExtractionFixture() }

    @Test(arguments: [
        "/etc/passwd", "//etc", "/", "..", "../", "../outside.txt", "a/../../outside.txt", "a/..", "..\u{0}/a", "./a",
        "a/./b", ".", "a//b",
        "a//", "C:/outside.txt", "c:outside.txt", "\\outside.txt", "..\\outside.txt", "a\\b", "\\\\server\\share",
        "a\u{0}b", "a\nb", "\u{7F}", "a\u{85}", "",
    ])
    func `a name that leads out of the folder, or that other systems read differently, is refused`(name: String)
        async throws
    {
        try await fixture.refuse(ForgedArchive([.file("good"), .file(name)]), as: .unsafeName)
        if !name.hasSuffix("/") {
            try await fixture.refuse(ForgedArchive([.folder(name + "/")]), as: .unsafeName)
        }
    }

    @Test func `a name that is not UTF-8 is refused, whatever its encoding flag says`() async throws {
        for name: [UInt8] in [[0x81], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xC0, 0xAE, 0xC0, 0xAE, 0x2F]] {
            for flags in [0, 1 << 11] {
                let entry = ForgedArchive.Entry.raw(name).changingHeaders { $0.flags = flags }
                try await fixture.refuse(ForgedArchive([entry]), as: .unsafeName)
            }
        }
    }

    @Test func `a name too long, too deep or with a part too long is refused`() async throws {
        let deep = Array(repeating: "a", count: 33).joined(separator: "/")
        try await fixture.refuse(ForgedArchive([.file(deep)]), as: .limitExceeded)
        let long = Array(repeating: String(repeating: "a", count: 200), count: 6).joined(separator: "/")
        try await fixture.refuse(ForgedArchive([.file(long)]), as: .limitExceeded)
        try await fixture.refuse(ForgedArchive([.file(String(repeating: "ä", count: 128))]), as: .unsafeName)
        try await fixture.extract(ForgedArchive([.file(String(deep.dropLast(2)))]))
    }

    @Test(arguments: [
        0o120777, 0o020666, 0o060660, 0o010644, 0o140755, 0o170000, 0o050000, 0o040755,
    ])
    func `a file entry whose mode is not that of a file is refused`(mode: Int) async throws {
        for target in ["/etc/passwd", "../outside.txt", "good"] {
            let entry = ForgedArchive.Entry.file("link", target).with { $0.attributes = mode << 16 }
            try await fixture.refuse(ForgedArchive([.file("good"), entry]), as: .unsafeKind)
            try await fixture.refuse(
                ForgedArchive([.file("good"), entry.with { $0.madeBy = 20 }]), as: .unsafeKind)
        }
    }

    @Test func `a link with a file below it is refused`() async throws {
        let link = ForgedArchive.Entry.file("way", "../../outside").with { $0.attributes = 0o120777 << 16 }
        try await fixture.refuse(ForgedArchive([link, .file("way/file", "changed")]), as: .unsafeKind)
    }

    @Test func `a link that only libarchive would see is refused`() async throws {
        // The experimental field "xl": attributes in the local header.
        let field = le(5, 1) + le(3 << 8, 2) + le(0o120777 << 16, 4)
        let extra = le(0x6C78, 2) + le(field.count, 2) + field
        let entry = ForgedArchive.Entry.file("link", "/etc/passwd").with {
            $0.local.extra = extra
            $0.attributes = 0
        }
        try await fixture.refuse(ForgedArchive([entry]), as: .corrupt)
    }

    @Test func `a folder with content, and a file that the attributes call a folder, are refused`() async throws {
        let full = ForgedArchive.Entry.folder("folder/").with {
            $0.changeHeaders { header in (header.size, header.compressedSize, header.checksum) = (1, 1, CRC32.of([1])) }
            $0.data = [1]
        }
        try await fixture.refuse(ForgedArchive([full]), as: .unsafeKind)
        let file = ForgedArchive.Entry.file("file").with { $0.attributes |= 0x10 }
        try await fixture.refuse(ForgedArchive([file]), as: .unsafeKind)
    }

    @Test(arguments: [
        ["a", "a"], ["a", "A"], ["a/", "a/"], ["a/b", "A/c"], ["a/", "A/b"], ["ä", "a\u{308}"], ["ä/x", "a\u{308}/y"],
        ["Å", "\u{212B}"],
        ["straße", "STRASSE"], ["ΣΑΣ", "σας"], ["ﬁ", "FI"], ["a", "a\u{200B}"], [".git/x", ".g\u{200C}it/y"],
        ["K", "\u{212A}"],
    ])
    func `names that are the same on some disks are refused`(names: [String]) async throws {
        let entries = names.map { $0.hasSuffix("/") ? ForgedArchive.Entry.folder($0) : .file($0) }
        try await fixture.refuse(ForgedArchive(entries), as: .conflictingNames)
        try await fixture.refuse(ForgedArchive(entries.reversed()), as: .conflictingNames)
    }

    @Test func `an entry that is both file and folder is refused`() async throws {
        for names in [["a", "a/b"], ["a/b/c", "a/b"]] {
            try await fixture.refuse(ForgedArchive(names.map { .file($0) }), as: .conflictingNames)
        }
        try await fixture.refuse(ForgedArchive([.file("a"), .folder("a/")]), as: .conflictingNames)
        try await fixture.extract(ForgedArchive([.file("a/b/c"), .folder("a/"), .folder("a/b/")]))
    }

    @Test func `encrypted entries are refused, whatever the encryption`() async throws {
        for flags in [1, 1 | 1 << 6, 1 << 13] {
            let entry = ForgedArchive.Entry.file("a").changingHeaders { $0.flags = flags }
            try await fixture.refuse(ForgedArchive([entry]), as: .encrypted)
        }
        try await fixture.refuse(ForgedArchive([.file("a").changingHeaders { $0.method = 99 }]), as: .encrypted)
    }

    @Test func `rare compression methods, patches and parts of archives are refused`() async throws {
        for method in [1, 6, 9, 12, 14, 20, 93, 95, 98, 65535] {
            try await fixture.refuse(
                ForgedArchive([.file("a").changingHeaders { $0.method = method }]), as: .unsupportedFeature)
        }
        try await fixture.refuse(
            ForgedArchive([.file("a").changingHeaders { $0.flags = 1 << 5 }]), as: .unsupportedFeature)
        try await fixture.refuse(ForgedArchive([.file("a").with { $0.disk = 1 }]), as: .unsupportedFeature)
        try await fixture.refuse(
            ForgedArchive([.file("a").with { $0.versionNeeded = 64 }]), as: .unsupportedFeature)
        var part = ForgedArchive([.file("a")])
        part.end.disk = 1
        try await fixture.refuse(part, as: .unsupportedFeature)
        part.end = .init(count: 2, countHere: 1)
        try await fixture.refuse(part, as: .unsupportedFeature)
    }

    @Test func `an entry's second name is refused unless it equals the first`() async throws {
        func field(_ name: String) -> [UInt8] {
            le(0x7075, 2) + le(5 + name.utf8.count, 2) + le(1, 1) + le(CRC32.of(Array("a".utf8)), 4) + Array(name.utf8)
        }
        for place: WritableKeyPath<ForgedArchive.Entry, ForgedArchive.Header> in [\.central, \.local] {
            for name in ["b", "..", "", "a/"] {
                let entry = ForgedArchive.Entry.file("a").with { $0[keyPath: place].extra = field(name) }
                try await fixture.refuse(ForgedArchive([entry]), as: .corrupt)
            }
            try await fixture.extract(
                ForgedArchive([ForgedArchive.Entry.file("a").with { $0[keyPath: place].extra = field("a") }]))
        }
    }
}
