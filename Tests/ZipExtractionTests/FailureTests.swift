import Foundation
import HostTestSupport
import Primitives
import StoreModel
import Testing

@testable import ZipArchives
@testable import ZipExtraction

/// Full disks, permissions, cancellations and kills: the old content stays, and no other file is left.
@Suite(.eachExtractor) struct FailureTests {
    private let fixture: ExtractionFixture

    init() throws { fixture = try ExtractionFixture() }

    @Test func `a missing archive, a folder and a pipe are refused`() async throws {
        let before = try fixture.snapshot()
        let missing = await #expect(throws: ExtractionError(.fileFailed, "")) {
            try await fixture.extractor.extract(fixture.root + "/none.zip", into: fixture.folder)
        }
        #expect(missing?.reason.contains("No such file") == true)
        await #expect(throws: ExtractionError(.unsupportedFormat, "")) {
            try await fixture.extractor.extract(fixture.root, into: fixture.folder)
        }
        #expect(try fixture.snapshot() == before)
        let pipe = fixture.root + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        await #expect(throws: ExtractionError(.unsupportedFormat, "")) {
            try await fixture.extractor.extract(pipe, into: fixture.folder)
        }
    }

    @Test func `a target that is a file, a link or below a file is refused`() async throws {
        for place in ["outside.txt", "link", "outside.txt/film", "none/film"] {
            let before = try fixture.snapshot()
            let archive = try fixture.write(ForgedArchive([.file("a")]).bytes)
            await #expect(throws: ExtractionError(.fileFailed, "")) {
                try await fixture.extractor.extract(archive, into: "\(fixture.root)/\(place)")
            }
            #expect(try fixture.snapshot() == before)
        }
    }

    @Test(arguments: [
        (ENOSPC, ExtractionError.Code.diskFull), (EDQUOT, .diskFull), (EFBIG, .diskFull), (EACCES, .notPermitted),
        (EPERM, .notPermitted), (EROFS, .notPermitted), (EIO, .fileFailed),
    ])
    func `errors of the disk have their own codes`(number: Int32, code: ExtractionError.Code) {
        let error = ExtractionError(FileFailure("write", "/content/film", number))
        #expect(error.code == code)
        #expect(error.reason.contains("/content/film"))
        #expect(error.underlying as? FileFailure == FileFailure("write", "/content/film", number))
    }

    @Test(.enabled(if: TinyDisk.isAvailable, "mounting a small disk takes root"))
    func `a full disk is reported, and keeps the old content`() async throws {
        let disk = try TinyDisk(at: fixture.root + "/disk", bytes: 1 << 20)
        defer { disk.remove() }
        let folder = disk.path + "/film"
        let small = try fixture.write(ForgedArchive([.file("a", "old")]).bytes)
        try await fixture.extractor.extract(small, into: folder)
        let files = (0..<9).map { ForgedArchive.Entry.file("\($0)", [UInt8](repeating: 1, count: 200_000)) }
        let large = try fixture.write(ForgedArchive(files).bytes)
        await #expect(throws: ExtractionError(.diskFull, "")) {
            try await fixture.extractor.extract(large, into: folder)
        }
        #expect(try ExtractionFixture.snapshot(of: disk.path) == ["film": "folder 700", "film/a": "file 600: old"])
        try disk.makeReadOnly()
        await #expect(throws: ExtractionError(.notPermitted, "")) {
            try await fixture.extractor.extract(small, into: folder)
        }
        #expect(try ExtractionFixture.snapshot(of: disk.path) == ["film": "folder 700", "film/a": "file 600: old"])
    }

    @Test(.enabled(if: geteuid() != 0, "root may do everything"))
    func `a folder without write permission and an archive without read permission are reported`() async throws {
        let archive = try fixture.write(ForgedArchive([.file("a")]).bytes)
        chmod(fixture.root + "/content", 0o500)
        await #expect(throws: ExtractionError(.notPermitted, "")) {
            try await fixture.extractor.extract(archive, into: fixture.folder)
        }
        chmod(fixture.root + "/content", 0o700)
        chmod(archive, 0)
        await #expect(throws: ExtractionError(.notPermitted, "")) {
            try await fixture.extractor.extract(archive, into: fixture.folder)
        }
    }

    @Test func `a cancelled task ends with its error at any moment before the exchange, and leaves nothing`()
        async throws
    {
        let content = [UInt8](repeating: 1, count: 600_000)
        let bytes = ForgedArchive([.file("a", content), .file("b", content)]).bytes
        let before = try fixture.snapshot()
        for moment in 0..<5 {
            let steps = Locked(0)
            let (started, task) = (AsyncStream<Void>.makeStream(), Locked<Task<Void, any Error>?>(nil))
            let extraction = Task {
                for await _ in started.stream {}
                try await fixture.extract(bytes: bytes) { _ in
                    let step = steps.withLock { count in
                        defer { count += 1 }
                        return count
                    }
                    if step == moment { task.withLock { $0 }?.cancel() }
                }
            }
            task.withLock { $0 = extraction }
            started.continuation.finish()
            await #expect(throws: CancellationError.self) { try await extraction.value }
            #expect(try fixture.snapshot() == before)
        }
    }

    @Test func `a task that is cancelled before it begins extracts nothing`() async throws {
        let before = try fixture.snapshot()
        let extraction = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await fixture.extract(ForgedArchive([.file("a")]))
        }
        await #expect(throws: CancellationError.self) { try await extraction.value }
        #expect(try fixture.snapshot() == before)
    }

    @Test func `a fault in the last entry leaves nothing of the earlier entries`() async throws {
        var archive = ForgedArchive((0..<20).map { .file("folder\($0)/file") })
        archive.entries[19].data[0] ^= 1
        try await fixture.refuse(archive, as: .corrupt)
    }

    @Test func `a process killed at any moment leaves the old content, and its other files are removed next time`()
        async throws
    {
        let content = [UInt8](repeating: 1, count: 600_000)
        let bytes = ForgedArchive([.file("a", content), .file("b", content)]).bytes
        let (root, moments) = (fixture.root, Locked(0))
        try await fixture.extract(bytes: bytes) { _ in
            let number = moments.withLock { count in
                count += 1
                return count
            }
            try? FileManager.default.copyItem(atPath: root + "/content", toPath: "\(root)/killed-\(number)")
        }
        let killed = moments.withLock { $0 }
        #expect(killed > 4)
        for number in 1...killed {
            let folder = "\(root)/killed-\(number)"
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(names.count { $0.hasPrefix(".film.new-") } == 1)
            #expect(try ExtractionFixture.snapshot(of: folder)["film/old.txt"] == "file 644: content/film/old.txt")
            let archive = try fixture.write(ForgedArchive([.file("new")]).bytes)
            try await fixture.extractor.extract(archive, into: folder + "/film")
            #expect(Set(try ExtractionFixture.snapshot(of: folder).keys) == ["film", "film/new", "outside.txt"])
        }
    }

    @Test func `many extractions into one folder end with the whole content of one of them`() async throws {
        let archives = try (0..<8).map { number in
            try fixture.write(
                ForgedArchive([.file("a", "\(number)"), .file("b", "\(number)")]).bytes, "\(number)")
        }
        let folder = fixture.folder
        try await withThrowingTaskGroup(of: Void.self) { group in
            for archive in archives {
                group.addTask { for _ in 0..<5 { try await fixture.extractor.extract(archive, into: folder) } }
            }
            try await group.waitForAll()
        }
        let content = try fixture.content()
        #expect(content.count == 2 && content["a"] == content["b"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.root + "/content").count == 2)
    }

    @Test func `an exchange of the archive during its extraction has no effect`() async throws {
        let archive = try fixture.write(ForgedArchive([.file("a", "judged")]).bytes)
        let other = ForgedArchive([.file("b", "never judged")]).bytes
        try await fixture.extractor.extract(archive, into: fixture.folder, limits: ExtractionLimits()) { _ in
            unlink(archive)
            try? Data(other).write(to: URL(fileURLWithPath: archive))
        }
        #expect(try fixture.content() == ["a": "judged"])
    }
}

/// Opens files without an extractor.
@Suite struct ArchiveFileTests {
    private let fixture: ExtractionFixture

    init() throws { fixture = try ExtractionFixture() }

    @Test func `a file that is not an archive is closed only once`() async throws {
        let (isOver, lost) = (Locked(false), Locked(0))
        async let neighbour: Void = withCheckedContinuation { continuation in
            Thread.detachNewThread {
                while !isOver.withLock({ $0 }) {
                    let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
                    if close(file) != 0 { lost.withLock { $0 += 1 } }
                }
                continuation.resume()
            }
        }
        for _ in 0..<20_000 {
            #expect(throws: ExtractionError(.unsupportedFormat, "")) { try ArchiveFile(fixture.root) }
        }
        isOver.withLock { $0 = true }
        await neighbour
        #expect(lost.withLock { $0 } == 0)
    }
}
