import Foundation

/// Extracts an empty archive into a temporary folder, and then tries to extract a file that is not an archive.
@main
enum ArchiveExtraction {
    static func main() async throws {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let (archive, content) = (place.appendingPathComponent("empty.zip"), place.appendingPathComponent("content"))
        for bytes in [[0x50, 0x4B, 5, 6] + [UInt8](repeating: 0, count: 18), Array("no archive".utf8)] {
            try Data(bytes).write(to: archive)
            try await unpack(archive.path, into: content.path)
        }
        let isExtracted = FileManager.default.fileExists(atPath: content.path)
        try FileManager.default.removeItem(at: place)
        exit(isExtracted ? 0 : 1)
    }
}
