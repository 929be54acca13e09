import Foundation
import Primitives
import StoreModel

/// An archive on the disk, opened once, so that a later file at its path is not read.
///
/// The file is opened without blocking, because opening a pipe would wait for a writer. Each read names its position,
/// so there is no mutable state. The descriptor is closed in `deinit`, which also runs when `init` throws after the
/// opening.
package final class ArchiveFile: Sendable {
    package let size: Int
    private let path: String
    private let descriptor: Int32

    init(_ path: String) throws(ExtractionError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw ExtractionError(FileFailure("read", path, errno)) }
        var status = stat()
        let isKnown = fstat(descriptor, &status) == 0
        size = Int(status.st_size)
        guard isKnown, status.st_mode & S_IFMT == S_IFREG else {
            throw ExtractionError(.unsupportedFormat, "\(path) is not a file; pass the path of a zip archive.")
        }
    }

    deinit { close(descriptor) }

    /// Reads the bytes from `position` on, up to the buffer's size.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at position: Int) throws(ExtractionError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let count = DurableFile.retrying {
                pread(descriptor, buffer.baseAddress! + filled, buffer.count - filled, off_t(position + filled))
            }
            guard count >= 0 else { throw ExtractionError(FileFailure("read", path, errno)) }
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    /// Returns exactly `count` bytes; throws `corrupt` when the file ends before.
    func bytes(_ count: Int, at position: Int) throws(ExtractionError) -> LittleEndianBytes {
        guard position >= 0, count >= 0, position <= size, count <= size - position else { throw .cutOff }
        var bytes = [UInt8](repeating: 0, count: count)
        var read: Result<Int, ExtractionError> = .success(0)
        bytes.withUnsafeMutableBytes { buffer in
            read = Result { () throws(ExtractionError) in try self.read(into: buffer, at: position) }
        }
        guard try read.get() == count else { throw .cutOff }
        return LittleEndianBytes(bytes)
    }
}

extension ExtractionError {
    static var cutOff: ExtractionError {
        corrupt("The archive is truncated; fetch it again.")
    }

    package static func corrupt(_ reason: String, entry: String? = nil) -> ExtractionError {
        ExtractionError(.corrupt, reason, entry: entry)
    }
}

/// Little-endian numbers of the zip format in a byte sequence.
struct LittleEndianBytes {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var count: Int { bytes.count }

    func uint16(_ offset: Int) -> Int { Int(number(offset, 2)) }
    func uint32(_ offset: Int) -> Int { Int(number(offset, 4)) }

    /// A size or a position; `nil` if no file can have it.
    func uint64(_ offset: Int) -> Int? { Int(exactly: number(offset, 8)) }

    subscript(range: Range<Int>) -> ArraySlice<UInt8> { bytes[range] }

    private func number(_ offset: Int, _ width: Int) -> UInt64 {
        (0..<width).reversed().reduce(0) { $0 << 8 | UInt64(bytes[offset + $1]) }
    }
}
