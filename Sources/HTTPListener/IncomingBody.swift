import Foundation
import HTTPCore
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The memory, in bytes, that the request bodies of a listener share.
final class BodyAllowance: Sendable {
    private let free: Locked<Int>

    init(_ limit: Int) { free = Locked(max(0, limit)) }

    /// Reserves `count` bytes. Reserves none and returns `false` when fewer are free.
    fileprivate func take(_ count: Int) -> Bool {
        free.withLock { free in
            if free < count { return false }
            free -= count
            return true
        }
    }

    fileprivate func giveBack(_ count: Int) { free.withLock { $0 += count } }
}

/// The body of one request while it arrives. It is kept in memory, or in a file if the allowance is exhausted. When
/// released, it gives its memory back to the allowance.
final class IncomingBody {
    private let allowance: BodyAllowance?
    private var bytes: [UInt8] = []
    private var held = 0
    private var file: UnnamedFile?

    /// Creates an empty body. `allowance` is the shared memory, or `nil` for no limit.
    init(_ allowance: BodyAllowance?) { self.allowance = allowance }

    deinit { allowance?.giveBack(held) }

    func reserveCapacity(_ count: Int) { bytes.reserveCapacity(count) }

    /// Appends a part of the body.
    ///
    /// - Throws: `POSIXError` when a file is needed but cannot be written.
    func append(_ data: UnsafeRawBufferPointer) throws {
        if let file { return try file.append(data) }
        guard let allowance, !allowance.take(data.count) else {
            if allowance != nil { held += data.count }
            return bytes.append(contentsOf: data)
        }
        let file = try UnnamedFile()
        try bytes.withUnsafeBytes { try file.append($0) }
        try file.append(data)
        self.file = file
        drop()
    }

    /// The whole body: bytes, or a stream of known length.
    func finish() -> HTTPBody {
        defer { bytes = [] }
        return file.map { .stream($0.stream) } ?? .bytes(bytes)
    }

    func discard() {
        file = nil
        drop()
    }

    private func drop() {
        bytes = []
        allowance?.giveBack(held)
        held = 0
    }
}

/// A file without a name in the folder for temporary files. It disappears with its descriptor, and only its owner could
/// have opened it.
private final class UnnamedFile: Sendable {
    private static let pieceSize = 64 << 10

    private let descriptor: Int32
    /// The number of written bytes, and how many of them were read.
    private let state = Locked((written: 0, read: 0))

    init() throws {
        var template = Array((NSTemporaryDirectory() + "/souk-body-XXXXXX").utf8CString)
        descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        unlink(template)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit { close(descriptor) }

    func append(_ data: UnsafeRawBufferPointer) throws {
        var rest = data
        while !rest.isEmpty {
            let place = state.withLock { $0.written }
            let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(place))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            state.withLock { $0.written += count }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    /// The written bytes as a stream of chunks.
    var stream: HTTPBodyStream {
        HTTPBodyStream(length: state.withLock { $0.written }) { try self.next() }
    }

    private func next() throws -> [UInt8]? {
        let (written, read) = state.withLock { $0 }
        guard read < written else { return nil }
        let wanted = min(Self.pieceSize, written - read)
        let piece = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
            count = max(0, pread(descriptor, buffer.baseAddress, wanted, off_t(read)))
        }
        guard !piece.isEmpty else {
            if errno == EINTR { return try next() }
            throw HTTPError(.bodyFailed, "A part of the request's body cannot be read from its file.")
        }
        state.withLock { $0.read += piece.count }
        return piece
    }
}
