import Foundation
import Testing

@testable import Primitives

@Suite struct FolderReplacementTests {
    private let parent: URL
    private var folder: String { parent.appendingPathComponent("film").path }

    init() throws {
        parent = FileManager.default.temporaryDirectory.appendingPathComponent("replace-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
    }

    @Test func `content is written where there was none, and no other file is left`() throws {
        defer { clean() }
        try replace(with: "new")
        #expect(try content() == ["film", "film/name: new"])
    }

    @Test func `new content replaces all old content`() throws {
        defer { clean() }
        try replace(with: "old", file: "elsewhere")
        try replace(with: "new")
        #expect(try content() == ["film", "film/name: new"])
    }

    @Test func `the old content stays if the replacement is not committed`() throws {
        defer { clean() }
        try replace(with: "old")
        var replacement: FolderReplacement? = try FolderReplacement(of: folder)
        try write("half", replacement!.path)
        #expect(try String(contentsOfFile: folder + "/name", encoding: .utf8) == "old")
        replacement = nil
        #expect(try content() == ["film", "film/name: old"])
    }

    @Test func `a reader with the old content open continues to read`() throws {
        defer { clean() }
        try replace(with: "old")
        let file = try #require(FileHandle(forReadingAtPath: folder + "/name"))
        try replace(with: "new")
        #expect(try file.readToEnd() == Data("old".utf8))
    }

    @Test func `a reader always sees the old or the new content`() async throws {
        defer { clean() }
        try replace(with: "0")
        let isDone = Locked(false)
        async let seen: Set<String> = Task.detached {
            var seen: Set<String> = []
            while !isDone.withLock({ $0 }) {
                seen.insert((try? String(contentsOfFile: folder + "/name", encoding: .utf8)) ?? "nothing")
            }
            return seen
        }.value
        for round in 1...50 { try replace(with: "\(round)") }
        isDone.withLock { $0 = true }
        #expect(await seen.contains("nothing") == false)
    }

    @Test func `many concurrent replacements all succeed, and the content of one of them remains`() async throws {
        defer { clean() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<16 { group.addTask { try replace(with: "\(number)") } }
            try await group.waitForAll()
        }
        let names = try content()
        #expect(names.count == 2)
        #expect((0..<16).map { "film/name: \($0)" }.contains(names[1]))
    }

    @Test func `if folders cannot be exchanged, the old one is moved aside`() async throws {
        defer { clean() }
        try replace(with: "old")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 { group.addTask { try replace(with: "\(number)", exchange: { _, _ in EINVAL }) } }
            try await group.waitForAll()
        }
        #expect(try content().count == 2)
    }

    @Test func `a refused exchange leaves the old content`() throws {
        defer { clean() }
        try replace(with: "old")
        #expect(throws: FileFailure("replace", folder, EPERM)) {
            try replace(with: "new", exchange: { _, _ in EPERM })
        }
        #expect(try content() == ["film", "film/name: old"])
    }

    @Test func `the folder of a killed process is removed, that of a running one is not`() throws {
        defer { clean() }
        try replace(with: "old")
        let living = try FolderReplacement(of: folder)
        for leftover in [".film.new-aB3dE6", ".film.old-Zz9999", ".film.new-aB3.E6", ".other.new-aB3dE6"] {
            let path = parent.appendingPathComponent(leftover).path
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try write("leftover", path)
        }
        try FolderReplacement.recover(folder)
        let left = try FileManager.default.contentsOfDirectory(atPath: parent.path)
        #expect(
            Set(left) == [
                "film", ".film.new-aB3.E6", ".other.new-aB3dE6", URL(fileURLWithPath: living.path).lastPathComponent,
            ])
        try write("new", living.path)
        try living.commit()
        #expect(try String(contentsOfFile: folder + "/name", encoding: .utf8) == "new")
    }

    @Test func `content that a killed process had moved aside comes back`() throws {
        defer { clean() }
        try replace(with: "old")
        try FileManager.default.moveItem(atPath: folder, toPath: parent.path + "/.film.old-aB3dE6")
        try FolderReplacement.recover(folder)
        #expect(try content() == ["film", "film/name: old"])
    }

    @Test func `a folder is removed completely, and removing a missing one has no effect`() throws {
        defer { clean() }
        try replace(with: "old")
        try FolderReplacement.remove(folder)
        #expect(try content() == [])
        try FolderReplacement.remove(folder)
        #expect(try content() == [])
        try write("file", parent.path)
        #expect(throws: FileFailure.self) { try FolderReplacement.remove(parent.path + "/name") }
        #expect(try content() == ["name: file"])
    }

    @Test func `a file, a link and a folder without a parent cannot be replaced`() throws {
        defer { clean() }
        try write("file", parent.path)
        let file = parent.path + "/name"
        #expect(throws: FileFailure("replace", file, ENOTDIR)) { try FolderReplacement(of: file) }
        try FileManager.default.createSymbolicLink(atPath: parent.path + "/link", withDestinationPath: "/")
        #expect(throws: FileFailure.self) { try FolderReplacement(of: parent.path + "/link") }
        #expect(throws: FileFailure("replace", file + "/inside", ENOTDIR)) {
            try FolderReplacement(of: file + "/inside")
        }
        #expect(throws: FileFailure.self) { try FolderReplacement(of: parent.path + "/missing/inside") }
    }

    private func replace(with text: String, file: String = "name") throws {
        let replacement = try FolderReplacement(of: folder)
        try write(text, replacement.path, file: file)
        try replacement.commit()
    }

    private func replace(with text: String, exchange: @escaping FolderReplacement.Exchange) throws {
        let replacement = try FolderReplacement(of: folder, exchange: exchange)
        try write(text, replacement.path)
        try replacement.commit()
    }

    private func write(_ text: String, _ folder: String, file: String = "name") throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder).appendingPathComponent(file))
    }

    /// Returns everything in the parent folder, including hidden names, with the content of the files.
    private func content() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: parent.path).sorted().map { name in
            let text = try? String(contentsOfFile: parent.path + "/" + name, encoding: .utf8)
            return text.map { "\(name): \($0)" } ?? name
        }
    }

    private func clean() { try? FileManager.default.removeItem(at: parent) }
}
