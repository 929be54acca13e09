import CZlib
import Foundation
import Primitives

/// Compresses files in gzip's format (RFC 1952).
enum GzipFile {
    /// Writes the compressed content of `source` to a new file, and does not flush it to the disk.
    ///
    /// Throws `FileFailure`, also for a file that exists. After a failure the new file can be incomplete.
    static func compress(_ source: String, to path: String) throws(FileFailure) {
        let input = open(source, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard input >= 0 else { throw FileFailure("read", source, errno) }
        defer { close(input) }
        let output = try DurableFile.create(path, mode: 0o600)
        guard let stream = gzdopen(output, "wb") else {
            close(output)
            throw FileFailure("write", path, ENOMEM)
        }
        var failure: FileFailure?
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while failure == nil {
            let count = DurableFile.retrying { read(input, &buffer, buffer.count) }
            if count < 0 { failure = FileFailure("read", source, errno) }
            guard count > 0 else { break }
            errno = 0
            if gzwrite(stream, buffer, UInt32(count)) != Int32(count) { failure = FileFailure("write", path, reason) }
        }
        errno = 0
        if gzclose_w(stream) != Z_OK { failure = failure ?? FileFailure("write", path, reason) }
        if let failure { throw failure }
    }

    /// The error number of a failed call of zlib, which sets none if it lacks memory.
    private static var reason: Int32 { errno == 0 ? ENOMEM : errno }
}
