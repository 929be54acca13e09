import Foundation
import Primitives

/// Reads a file of any size line by line, and knows by a digest where in which file it stands.
final class LineFile {
    struct Line: Sendable {
        let number: Int
        /// Without the line end.
        let bytes: [UInt8]
    }

    /// A place in a file, and what stands before it.
    struct Mark: Codable, Sendable {
        var lines: Int
        var bytes: Int
        /// SHA-256 of all bytes before.
        var digest: String

        /// Whether a file can have such a place. Each line has at least one byte.
        var isPlausible: Bool { lines >= 0 && bytes >= lines }
    }

    /// Longer lines are cut here, so that what follows them can be read.
    private static let longest = 16 << 20
    private static let block = 1 << 20

    /// Of the whole file; `nil` for a pipe.
    let size: Int?
    private let handle: FileHandle
    /// As messages call it.
    private let name: String
    private var buffer: [UInt8] = []
    private var start = 0
    private var digest = SHA256()
    private var lines = 0
    private var bytes = 0

    /// Opens `path`, `-` being standard input, and goes to `mark`. Throws `Misuse` when it cannot be read, or when what
    /// stands before the mark is not what stood there.
    init(_ path: String, from mark: Mark? = nil) throws {
        if path == "-" {
            handle = .standardInput
            name = "standard input"
            size = nil
        } else {
            var isDirectory: ObjCBool = false
            if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory.boolValue {
                throw Misuse("\(path): this is a folder, not a file")
            }
            guard let file = FileHandle(forReadingAtPath: path) else {
                throw Misuse(path: path, "there is no such file, or it cannot be read")
            }
            handle = file
            name = path
            size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        }
        guard let mark else { return }
        while bytes < mark.bytes, try next() != nil {}
        guard bytes == mark.bytes, self.mark.digest == mark.digest else {
            throw Misuse("\(path) is not the file that was begun with; remove the state file to begin anew")
        }
    }

    var mark: Mark {
        var digest = digest
        return Mark(lines: lines, bytes: bytes, digest: Hex.encode(digest.finalize()))
    }

    /// The next line; `nil` at the end. Throws `Misuse` when the file cannot be read further.
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
            throw Misuse("\(name): the file cannot be read after line \(lines)")
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
