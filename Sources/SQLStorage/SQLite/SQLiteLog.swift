import CSQLite
import Foundation
import Primitives

/// The index of a write-ahead log, which all processes that have the database open share
/// (https://www.sqlite.org/walformat.html section 2.1).
struct LogIndex: Sendable {
    struct Head: Equatable {
        /// The 48 bytes of the header, as words in the byte order of the machine.
        private let words: SIMD8<UInt64>

        /// Takes the two copies of the header, which differ while another process changes it.
        fileprivate init?(copies bytes: UnsafeRawBufferPointer) {
            guard bytes[..<48].elementsEqual(bytes[48..<96]) else { return nil }
            var words = SIMD8<UInt64>.zero
            for place in 0..<6 { words[place] = bytes.loadUnaligned(fromByteOffset: 8 * place, as: UInt64.self) }
            self.words = words
        }

        private func number<T: FixedWidthInteger>(at offset: Int, _ type: T.Type) -> Int64 {
            withUnsafeBytes(of: words) { Int64($0.loadUnaligned(fromByteOffset: offset, as: T.self)) }
        }

        /// The page size in bytes; 1 means 65,536, which does not fit into 16 bits.
        fileprivate var pageSize: Int64 {
            let size = number(at: 14, UInt16.self)
            return size == 1 ? 65536 : size
        }

        /// The number of frames in use; each has a header of 24 bytes and a page.
        fileprivate var frames: Int64 { number(at: 16, UInt32.self) }

        /// A value that changes when the log restarts, in the order of its bytes in the log.
        fileprivate var salt: UInt64 { words[4] }

        fileprivate var isBigEndian: Bool { number(at: 13, UInt8.self) != 0 }

        /// The size of the database in bytes, including the log; 0 while it is unknown.
        var databaseSize: Int64 { number(at: 20, UInt32.self) * pageSize }
    }

    let path: String
    /// The descriptor, which is opened at its first use, and the identity of its file. It is closed after all
    /// connections, because closing it releases SQLite's locks.
    private let file = Locked<(descriptor: CInt, identity: OpenFile.Identity?)>((-1, nil))

    init(path: String) { self.path = path }

    private var opened: (descriptor: CInt, identity: OpenFile.Identity?) {
        file.withLock { file in
            if file.descriptor < 0 {
                file.descriptor = open(path, O_RDONLY | O_CLOEXEC)
                file.identity = OpenFile.Status(of: file.descriptor)?.identity
            }
            return file
        }
    }

    /// Whether the path still leads to the opened file.
    var isInPlace: Bool {
        guard let identity = opened.identity else { return false }
        return OpenFile.Status(of: path)?.identity == identity
    }

    /// Returns the header of the index; `nil` while another process changes it.
    func head() -> Head? {
        let descriptor = opened.descriptor
        return withUnsafeTemporaryAllocation(byteCount: 96, alignment: 8) { bytes in
            guard pread(descriptor, bytes.baseAddress, 96, 0) == 96 else { return nil }
            return Head(copies: UnsafeRawBufferPointer(bytes))
        }
    }

    func close() {
        file.withLock { file in
            if file.descriptor >= 0 { Foundation.close(file.descriptor) }
            file = (-1, nil)
        }
    }
}

/// Verifies the new frames of a write-ahead log, and the last verified one again. So it detects a truncation even if later
/// frames have filled the gap.
struct LogTail {
    private static let headerSize = 32
    private static let frameHeaderSize = 24
    /// The number of frames that are read at once.
    private static let framesAtOnce: Int64 = 16

    /// The descriptor, which is opened at its first use. SQLite has no locks on the log, so it can be closed at any time.
    private var descriptor: CInt = -1
    private var salt: UInt64 = 0
    /// The number of the last frame that was read, from 1, and the checksum before it.
    private var last: (frame: Int64, before: Checksum) = (0, Checksum())

    mutating func close() {
        if descriptor >= 0 { Foundation.close(descriptor) }
        descriptor = -1
    }

    /// Opens the log, unless it is open.
    mutating func open(_ path: String) {
        if descriptor < 0 { descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC) }
    }

    /// Returns whether the frames that were not read before have the content that the index describes.
    mutating func follow(_ head: LogIndex.Head) -> Bool {
        guard head.frames > 0 else { return true }
        guard head.pageSize >= 512 else { return false }
        let size = Self.frameHeaderSize + Int(head.pageSize)
        return withUnsafeTemporaryAllocation(
            byteCount: size * Int(min(Self.framesAtOnce, head.frames)), alignment: 8
        ) { buffer in
            let start = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Self.headerSize])
            guard read(into: start, at: 0), start.loadUnaligned(fromByteOffset: 16, as: UInt64.self) == head.salt else {
                return false
            }
            var sum = Checksum(UnsafeRawBufferPointer(start), at: 24)
            var next: Int64 = 1
            if head.salt == salt, (1...head.frames).contains(last.frame) { (next, sum) = (last.frame, last.before) }
            while next <= head.frames {
                let count = Int(min(Self.framesAtOnce, head.frames - next + 1))
                let frames = UnsafeMutableRawBufferPointer(rebasing: buffer[..<(count * size)])
                guard read(into: frames, at: Int64(Self.headerSize) + (next - 1) * Int64(size)) else { return false }
                for place in stride(from: 0, to: frames.count, by: size) {
                    last.before = sum
                    let frame = UnsafeRawBufferPointer(rebasing: frames[place..<place + size])
                    sum.add(UnsafeRawBufferPointer(rebasing: frame[..<8]), isBigEndian: head.isBigEndian)
                    sum.add(
                        UnsafeRawBufferPointer(rebasing: frame[Self.frameHeaderSize...]), isBigEndian: head.isBigEndian)
                    guard frame.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == head.salt,
                        sum == Checksum(frame, at: 16)
                    else { return false }
                }
                next += Int64(count)
            }
            (salt, last.frame) = (head.salt, head.frames)
            return true
        }
    }

    private func read(into bytes: UnsafeMutableRawBufferPointer, at offset: Int64) -> Bool {
        pread(descriptor, bytes.baseAddress, bytes.count, off_t(offset)) == bytes.count
    }
}

/// The checksum of a log from its beginning to some frame.
private struct Checksum: Equatable {
    private var first: UInt32 = 0
    private var second: UInt32 = 0

    init() {}

    /// Reads a stored checksum, which is big-endian.
    init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        first = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        second = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self))
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer, isBigEndian: Bool) {
        csqlite_log_checksum(
            bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, isBigEndian ? 1 : 0, &first, &second)
    }
}
