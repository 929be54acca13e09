import Foundation

/// File operations for data that must survive a crash of the system.
package enum DurableFile {
    /// Reads a whole file. Returns `nil` when there is none. Does not follow a symbolic link.
    ///
    /// - Throws: `FileFailure`, with `EFBIG` for a file of more than `limit` bytes.
    package static func read(_ path: String, upTo limit: Int) throws(FileFailure) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw FileFailure("read", path, errno) }
        defer { close(file) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = retrying { Foundation.read(file, &buffer, buffer.count) }
            guard count >= 0 else { throw FileFailure("read", path, errno) }
            if count == 0 { return content }
            content += buffer[..<count]
            guard content.count <= limit else { throw FileFailure("read", path, EFBIG) }
        }
    }

    /// Replaces the content of a file atomically.
    ///
    /// Writes to `temporary` in the same folder, flushes it, and renames it to `path`. After a crash the file has the
    /// old or the new content. If `flush` flushed the folder before the crash, the file has the new content. After a
    /// failure no temporary file remains. The mode of the file is 0600.
    package static func write(_ content: [UInt8], to path: String, by temporary: String) throws(FileFailure) {
        // Only a killed process can have left a file of this name.
        unlink(temporary)
        do throws(FileFailure) {
            let file = try create(temporary, mode: 0o600)
            defer { close(file) }
            try content.withUnsafeBufferPointer { bytes throws(FileFailure) in
                try append(UnsafeRawBufferPointer(bytes), to: file, path: path)
            }
            try flush(file, path)
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, path) == 0 else {
            let number = errno
            unlink(temporary)
            throw FileFailure("write", path, number)
        }
    }

    /// Flushes the content of a file, or the names in a folder, to the disk.
    package static func flush(_ path: String) throws(FileFailure) {
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { throw FileFailure("flush", path, errno) }
        defer { close(file) }
        try flush(file, path)
    }

    /// Flushes an open file to the disk.
    ///
    /// On Apple platforms `fsync` only passes the content to the drive, which can keep it in memory. `F_FULLFSYNC`
    /// waits until it is stored, but not every file system supports it.
    private static func flush(_ file: Int32, _ path: String) throws(FileFailure) {
        #if canImport(Darwin)
            let fullFlush: Int32 = 51  // F_FULLFSYNC of <fcntl.h>
            if retrying({ Int(fcntl(file, fullFlush)) }) == 0 { return }
        #endif
        guard retrying({ Int(fsync(file)) }) == 0 else { throw FileFailure("flush", path, errno) }
    }

    /// Creates a file for writing, which the caller closes. Throws when the name exists, even as a link.
    package static func create(_ path: String, mode: mode_t) throws(FileFailure) -> Int32 {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard file >= 0 else { throw FileFailure("write", path, errno) }
        return file
    }

    /// Writes all of `bytes` at the end of an open file. `path` is for the error.
    package static func append(
        _ bytes: UnsafeRawBufferPointer, to file: Int32, path: String
    ) throws(FileFailure) {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = retrying { Foundation.write(file, rest.baseAddress, rest.count) }
            guard count > 0 else { throw FileFailure("write", path, count == 0 ? ENOSPC : errno) }
            written += count
        }
    }

    /// Repeats a system call that a signal interrupted.
    package static func retrying(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }
}
