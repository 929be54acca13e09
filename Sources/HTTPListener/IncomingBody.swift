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

/// The bytes of request bodies that all requests of a listener may hold in memory together.
final class BodyAllowance: Sendable {
    private let free: Locked<Int>

    init(_ limit: Int) { free = Locked(max(0, limit)) }

    /// Takes `count` bytes, or none when fewer are left.
    fileprivate func take(_ count: Int) -> Bool {
        free.withLock { free in
            if free < count { return false }
            free -= count
            return true
        }
    }

    fileprivate func giveBack(_ count: Int) { free.withLock { $0 += count } }
}

/// The body of one request while it arrives: in memory, or in a file once the allowance has nothing left. What it took of
/// the allowance it gives back when it is released.
final class IncomingBody {
    private let allowance: BodyAllowance?
    private var bytes: [UInt8] = []
    private var held = 0
    private var file: UnnamedFile?

    /// - Parameter allowance: `nil` for no limit.
    init(_ allowance: BodyAllowance?) { self.allowance = allowance }

    deinit { allowance?.giveBack(held) }

    func reserveCapacity(_ count: Int) { bytes.reserveCapacity(count) }

    /// Throws `POSIXError` where a file is needed and cannot be written.
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

    /// The body is not wanted any more.
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

/// A file in the folder for temporary files that has no name, so that it goes with its descriptor. Its owner alone could
/// have opened it.
private final class UnnamedFile: Sendable {
    private static let pieceSize = 64 << 10

    private let descriptor: Int32
    /// How many bytes are written, and how many of them are read.
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

    /// What was written, in pieces.
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
