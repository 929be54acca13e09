import CSQLite
import Foundation
import Primitives

/// The index of a write-ahead log, which all processes that have the database open share
/// (https://www.sqlite.org/walformat.html section 2.1).
struct LogIndex: Sendable {
    struct Head: Equatable {
        fileprivate let bytes: [UInt8]

        private func number<T: FixedWidthInteger>(at offset: Int, _ type: T.Type) -> Int64 {
            bytes.withUnsafeBytes { Int64($0.loadUnaligned(fromByteOffset: offset, as: T.self)) }
        }

        /// The page size in bytes; 1 means 65,536, which does not fit into 16 bits.
        fileprivate var pageSize: Int64 {
            let size = number(at: 14, UInt16.self)
            return size == 1 ? 65536 : size
        }

        /// The number of frames in use; each has a header of 24 bytes and a page.
        fileprivate var frames: Int64 { number(at: 16, UInt32.self) }

        /// A value that changes when the log restarts.
        fileprivate var salt: ArraySlice<UInt8> { bytes[32..<40] }

        fileprivate var isBigEndian: Bool { bytes[13] != 0 }

        /// The size of the database in bytes, including the log; 0 while it is unknown.
        var databaseSize: Int64 { number(at: 20, UInt32.self) * pageSize }
    }

    let path: String
    /// The descriptor, which is opened at its first use. It is closed after all connections, because closing it releases
    /// SQLite's locks.
    private let descriptor = Locked<CInt>(-1)

    init(path: String) { self.path = path }

    private var opened: CInt {
        descriptor.withLock { descriptor in
            if descriptor < 0 { descriptor = open(path, O_RDONLY | O_CLOEXEC) }
            return descriptor
        }
    }

    /// Whether the path still leads to the opened file.
    var isInPlace: Bool {
        let opened = OpenFile.Status(of: self.opened)
        return opened != nil && OpenFile.Status(of: path)?.identity == opened?.identity
    }

    /// Returns the header of the index; `nil` while another process changes it.
    func head() -> Head? {
        // There are two copies of the header, to detect concurrent changes.
        var bytes = [UInt8](repeating: 0, count: 96)
        guard pread(opened, &bytes, 96, 0) == 96, bytes[..<48] == bytes[48...] else { return nil }
        return Head(bytes: Array(bytes[..<48]))
    }

    func close() {
        descriptor.withLock { descriptor in
            if descriptor >= 0 { Foundation.close(descriptor) }
            descriptor = -1
        }
    }
}

/// Verifies the new frames of a write-ahead log, and the last verified one again. So it detects a truncation even if later
/// frames have filled the gap.
struct LogTail {
    private static let headerSize = 32
    private static let frameHeaderSize = 24
    /// The number of frames that are read at once.
    private static let framesAtOnce: Int64 = 64

    /// The descriptor, which is opened at its first use. SQLite has no locks on the log, so it can be closed at any time.
    private var descriptor: CInt = -1
    private var salt: [UInt8] = []
    /// The number of the last frame that was read, from 1, and the checksum before it.
    private var last: (frame: Int64, before: [UInt32]) = (0, [])

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
        guard let start = read(Self.headerSize, at: 0), start[16..<24] == head.salt else { return false }
        var sum = [Self.bigEndian(start[24...]), Self.bigEndian(start[28...])]
        var next: Int64 = 1
        if head.salt.elementsEqual(salt), (1...head.frames).contains(last.frame) {
            (next, sum) = (last.frame, last.before)
        }
        let size = Self.frameHeaderSize + Int(head.pageSize)
        while next <= head.frames {
            let count = Int(min(Self.framesAtOnce, head.frames - next + 1))
            guard let frames = read(count * size, at: Int64(Self.headerSize) + (next - 1) * Int64(size)) else {
                return false
            }
            for place in stride(from: 0, to: frames.count, by: size) {
                last.before = sum
                let frame = frames[place..<place + size]
                Self.add(frame.prefix(8), head, to: &sum)
                Self.add(frame.dropFirst(Self.frameHeaderSize), head, to: &sum)
                guard frame[place + 8..<place + 16].elementsEqual(head.salt),
                    sum == [Self.bigEndian(frame[(place + 16)...]), Self.bigEndian(frame[(place + 20)...])]
                else { return false }
            }
            next += Int64(count)
        }
        (salt, last.frame) = (Array(head.salt), head.frames)
        return true
    }

    private static func add(_ bytes: ArraySlice<UInt8>, _ head: LogIndex.Head, to sum: inout [UInt32]) {
        bytes.withUnsafeBufferPointer {
            csqlite_log_checksum($0.baseAddress, $0.count, head.isBigEndian ? 1 : 0, &sum)
        }
    }

    private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    private func read(_ count: Int, at offset: Int64) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return pread(descriptor, &bytes, count, off_t(offset)) == count ? bytes : nil
    }
}
