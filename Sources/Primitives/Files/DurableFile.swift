import Foundation

/// Everything that must be said to the kernel for a file to survive a crash, and no more of it than one value needs.
package enum DurableFile {
    /// The whole file, `nil` when there is none. Throws `EFBIG` for one of more than `limit` bytes; never follows a
    /// symbolic link.
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

    /// Writes to `temporary` in the same folder, flushes it, and gives it the name `path`: there is the content before
    /// or the new one, after a crash too, once the folder was flushed (`flush`). On failure nothing is left behind.
    /// The file's mode is 0600.
    package static func write(_ content: [UInt8], to path: String, by temporary: String) throws(FileFailure) {
        // A file of this name can only be what a process of the same number left behind when it was killed.
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

    /// Makes what stands in a file, or the names in a folder, durable.
    package static func flush(_ path: String) throws(FileFailure) {
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { throw FileFailure("flush", path, errno) }
        defer { close(file) }
        try flush(file, path)
    }

    /// Returns when the content of an open file is on the disk. On Apple's systems `fsync` gives it to the drive, which may
    /// keep it in its memory; only `F_FULLFSYNC` waits for more. Not every file system there has it.
    private static func flush(_ file: Int32, _ path: String) throws(FileFailure) {
        #if canImport(Darwin)
            // F_FULLFSYNC of <fcntl.h>.
            let fullFlush: Int32 = 51
            if retrying({ Int(fcntl(file, fullFlush)) }) == 0 { return }
        #endif
        guard retrying({ Int(fsync(file)) }) == 0 else { throw FileFailure("flush", path, errno) }
    }

    /// A new file for writing, which the caller closes. Throws when something of this name is there, a link too.
    package static func create(_ path: String, mode: mode_t) throws(FileFailure) -> Int32 {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard file >= 0 else { throw FileFailure("write", path, errno) }
        return file
    }

    /// Writes all of `bytes` at the end of an open file; `path` is for the error.
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

    /// Repeats a call that a signal interrupted.
    package static func retrying(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }
}
