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
    }

    /// Longer lines are cut here, so that what follows them can be read.
    private static let longest = 16 << 20
    private static let block = 1 << 20

    /// Of the whole file; `nil` for a pipe.
    let size: Int?
    private let handle: FileHandle
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
            size = nil
        } else {
            guard let file = FileHandle(forReadingAtPath: path) else {
                throw Misuse("\(path): there is no such file, or it cannot be read")
            }
            handle = file
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

    /// The next line; `nil` at the end.
    func next() throws -> Line? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) { return take(upTo: end, after: end + 1) }
            if buffer.count - start > Self.longest { return take(upTo: buffer.count, after: buffer.count) }
            buffer.removeFirst(start)
            searched = buffer.count
            start = 0
            guard let more = try handle.read(upToCount: Self.block), !more.isEmpty else {
                return buffer.isEmpty ? nil : take(upTo: buffer.count, after: buffer.count)
            }
            buffer += more
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
