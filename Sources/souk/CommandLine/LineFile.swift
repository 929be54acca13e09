import Foundation
import Primitives

/// Reads a file of any size line by line. Can continue from a `Mark` of an earlier run.
final class LineFile {
    struct Line: Sendable {
        let number: Int
        /// Without the line end.
        let bytes: [UInt8]
    }

    /// A position in a file, with a digest of the bytes before it.
    struct Mark: Codable, Sendable {
        var lines: Int
        var bytes: Int
        /// SHA-256 of all bytes before the position.
        var digest: String

        /// Whether a file can have such a position. Each line has at least one byte.
        var isPlausible: Bool { lines >= 0 && bytes >= lines }
    }

    /// A longer line is returned in parts, which count as lines, so that no line has to fit into memory.
    private static let longest = 16 << 20
    private static let block = 1 << 20

    /// The size of the whole file; `nil` for a pipe.
    let size: Int?
    private let handle: FileHandle
    /// The file's name in messages.
    private let name: String
    private var buffer: [UInt8] = []
    private var start = 0
    private var digest = SHA256()
    private var lines = 0
    private var bytes = 0

    /// Opens `path`, where `-` is standard input, and seeks to `mark`. Throws `UsageError` when the file cannot be read, or
    /// when the bytes before the mark have changed.
    init(_ path: String, from mark: Mark? = nil) throws {
        if path == "-" {
            handle = .standardInput
            name = "standard input"
            size = nil
        } else {
            var isDirectory: ObjCBool = false
            if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory.boolValue {
                throw UsageError("\(path): this is a folder, not a file")
            }
            guard let file = FileHandle(forReadingAtPath: path) else {
                throw UsageError(path: path, "there is no such file, or it cannot be read")
            }
            handle = file
            name = path
            size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        }
        guard let mark else { return }
        while bytes < mark.bytes, try next() != nil {}
        guard bytes == mark.bytes, self.mark.digest == mark.digest else {
            throw UsageError(
                "\(path) is not the file to which the saved progress belongs; remove the state file to start again")
        }
    }

    var mark: Mark {
        var digest = digest
        return Mark(lines: lines, bytes: bytes, digest: Hex.encode(digest.finalize()))
    }

    /// Returns the next line; `nil` at the end. Throws `UsageError` when the file cannot be read further.
    func next() throws -> Line? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) { return take(upTo: end, after: end + 1) }
            if buffer.count - start > Self.longest { return take(upTo: buffer.count, after: buffer.count) }
            buffer.removeFirst(start)
            searched = buffer.count
            start = 0
            guard let more = try read(), !more.isEmpty else {
                return buffer.isEmpty ? nil : take(upTo: buffer.count, after: buffer.count)
            }
            buffer += more
        }
    }

    private func read() throws -> Data? {
        do { return try handle.read(upToCount: Self.block) } catch {
            throw UsageError("\(name): the file cannot be read after line \(lines)")
        }
    }

    private func take(upTo end: Int, after next: Int) -> Line {
        digest.update(buffer[start..<next])
        bytes += next - start
        lines += 1
        defer { start = next }
        return Line(number: lines, bytes: Array(buffer[start..<end]))
    }
}
