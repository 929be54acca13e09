import Foundation
import Primitives
import Testing

@Suite struct DurableFileTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("file-\(UUID().uuidString)").path

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

    @Test func `a written file replaces the old one, and only this user can read it`() throws {
        defer { clean() }
        try DurableFile.write([1, 2], to: folder + "/a", by: folder + "/t")
        try DurableFile.write([3], to: folder + "/a", by: folder + "/t")
        #expect(try DurableFile.read(folder + "/a", upTo: 1) == [3])
        let mode = try FileManager.default.attributesOfItem(atPath: folder + "/a")[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["a"])
    }

    @Test func `a missing file reads as nil, and a file over the limit or a link is refused`() throws {
        defer { clean() }
        #expect(try DurableFile.read(folder + "/a", upTo: 1) == nil)
        try DurableFile.write([1, 2], to: folder + "/a", by: folder + "/t")
        #expect(throws: FileFailure("read", folder + "/a", EFBIG)) { try DurableFile.read(folder + "/a", upTo: 1) }
        try FileManager.default.createSymbolicLink(atPath: folder + "/l", withDestinationPath: "a")
        #expect(throws: FileFailure("read", folder + "/l", ELOOP)) { try DurableFile.read(folder + "/l", upTo: 9) }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func `a full disk is reported as such, with the system's description`() throws {
        defer { clean() }
        let full = open("/dev/full", O_WRONLY)
        try #require(full >= 0)
        defer { close(full) }
        let failure = #expect(throws: FileFailure.self) {
            try [UInt8](repeating: 0, count: 9).withUnsafeBytes { try DurableFile.append($0, to: full, path: "film") }
        }
        #expect(failure?.isDiskFull == true)
        #expect(failure?.description == "cannot write film (No space left on device)")
    }

    @Test func `a failed write leaves nothing behind`() throws {
        defer { clean() }
        try FileManager.default.createDirectory(atPath: folder + "/a/b", withIntermediateDirectories: true)
        #expect(throws: FileFailure("write", folder + "/a", EISDIR)) {
            try DurableFile.write([1], to: folder + "/a", by: folder + "/t")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["a"])
    }

    private func clean() { try? FileManager.default.removeItem(atPath: folder) }
}
