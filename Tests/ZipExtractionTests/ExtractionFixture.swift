import Foundation
import StoreModel
import Testing

@testable import ZipArchives
@testable import ZipExtraction

/// Runs each test of a suite twice: with libarchive's extractor, and with the code of `SystemZipExtractor` with zlib.
struct EachExtractor: SuiteTrait, TestTrait, TestScoping {
    @TaskLocal static var present: any ArchiveExtractor = ZipExtractor()

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        for extractor in [ZipExtractor(), ZlibExtractor()] as [any ArchiveExtractor] {
            try await Self.$present.withValue(extractor) { try await function() }
        }
    }
}

extension Trait where Self == EachExtractor {
    static var eachExtractor: Self { Self() }
}

/// A folder with content, and files around it that no archive may change.
///
///     surroundings/outside.txt, outside/file, link -> outside, content/film/old.txt
final class ExtractionFixture: Sendable {
    let root: String
    /// The target folder of extractions, with `old.txt` at first.
    var folder: String { root + "/content/film" }
    /// The extractor of the current run.
    let extractor = EachExtractor.present
    private let base: String

    init() throws {
        base = FileManager.default.temporaryDirectory.appendingPathComponent("zip-\(UUID().uuidString)").path
        root = base + "/surroundings"
        try FileManager.default.createDirectory(atPath: root + "/content/film", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: root + "/outside", withIntermediateDirectories: true)
        for name in ["outside.txt", "outside/file", "content/outside.txt", "content/film/old.txt"] {
            try Data(name.utf8).write(to: URL(fileURLWithPath: "\(root)/\(name)"))
        }
        try FileManager.default.createSymbolicLink(atPath: root + "/link", withDestinationPath: "outside")
    }

    deinit { try? FileManager.default.removeItem(atPath: base) }

    func extract(
        _ forged: ForgedArchive, limits: ExtractionLimits = ExtractionLimits(),
        progress: @escaping @Sendable (ExtractionProgress) -> Void = { _ in }
    ) async throws {
        try await extract(bytes: forged.bytes, limits: limits, progress: progress)
    }

    func extract(
        bytes: [UInt8], limits: ExtractionLimits = ExtractionLimits(),
        progress: @escaping @Sendable (ExtractionProgress) -> Void = { _ in }
    ) async throws {
        try await extractor.extract(try write(bytes), into: folder, limits: limits, progress: progress)
    }

    /// Writes an archive beside the folder.
    func write(_ bytes: [UInt8], _ name: String = "archive") throws -> String {
        let path = "\(base)/\(name).zip"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Expects an extraction to fail with `code` and to change nothing.
    func refuse(
        _ forged: ForgedArchive, as code: ExtractionError.Code, limits: ExtractionLimits = ExtractionLimits(),
        _ comment: Comment? = nil, at location: SourceLocation = #_sourceLocation
    ) async throws {
        let before = try snapshot()
        await #expect(throws: ExtractionError(code, ""), comment, sourceLocation: location) {
            try await self.extract(forged, limits: limits)
        }
        #expect(try snapshot() == before, comment, sourceLocation: location)
    }

    /// Every file, folder and link with its mode and content.
    func snapshot() throws -> [String: String] { try Self.snapshot(of: root) }

    /// The content of the folder, by relative path.
    func content() throws -> [String: String] {
        try Self.snapshot(of: folder).filter { !$0.value.hasPrefix("folder") }.mapValues {
            String($0.drop { $0 != ":" }.dropFirst(2))
        }
    }

    /// Everything but the content.
    func outside() throws -> [String: String] {
        try snapshot().filter { !$0.key.hasPrefix("content/film") }
    }

    static func snapshot(of root: String) throws -> [String: String] {
        var found: [String: String] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: root) {
            let path = "\(root)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0 else { continue }
            let mode = String(status.st_mode & 0o7777, radix: 8)
            switch status.st_mode & S_IFMT {
            case S_IFREG:
                found[name] =
                    "file \(mode): " + String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
            case S_IFLNK: found[name] = "link: " + (try FileManager.default.destinationOfSymbolicLink(atPath: path))
            case S_IFDIR: found[name] = "folder \(mode)"
            default: found[name] = "special"
            }
        }
        return found
    }
}
