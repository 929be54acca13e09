import Foundation
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Writes files that were named on the command line.
enum OutputFile {
    /// Writes `bytes` to `path`, as `replace` does when `isPublic` is true. `-` is standard output, which must not be a
    /// terminal.
    ///
    /// Throws `UsageError` for a terminal, and for a file that exists when `overwriting` is false; otherwise the errors of
    /// `replace`.
    static func write(_ bytes: [UInt8], to path: String, overwriting: Bool) throws {
        if path == "-" {
            guard isatty(1) == 0 else {
                throw UsageError("the output is binary; write it to a file with --out FILE or >")
            }
            return try Terminal.write(bytes)
        }
        if !overwriting, isRegular(path) ?? false {
            throw UsageError("\(path): the file exists; give another name, or --force to replace it")
        }
        try replace(path, with: bytes, isPublic: true)
    }

    /// Writes `text` to `path`. A file is replaced atomically; a device or a pipe, such as `/dev/stdout`, is written
    /// to. A symbolic link is kept, and its target is written. Only the owner may read the file, unless `isPublic` is
    /// true. Then an existing file keeps its permissions, and a new one gets those of the process's umask.
    ///
    /// Throws `OutputFailure` with the path and the system's reason.
    static func replace(_ path: String, with text: String, isPublic: Bool = false) throws(OutputFailure) {
        try replace(path, with: Array(text.utf8), isPublic: isPublic)
    }

    /// Writes `bytes` as the other function writes text. First removes temporary files that killed processes left
    /// behind.
    static func replace(_ path: String, with bytes: [UInt8], isPublic: Bool = false) throws(OutputFailure) {
        guard isRegular(path) ?? true else { return try append(bytes, to: path, O_WRONLY | O_CLOEXEC) }
        let file =
            realpath(path, nil).map { name in
                defer { free(name) }
                return String(cString: name)
            } ?? path
        let mode = isPublic ? mode(of: file) : 0o600
        removeLeftovers(of: file)
        let temporary = "\(file).\(getpid())\(unfinished)"
        unlink(temporary)
        do throws(OutputFailure) {
            try append(
                bytes, to: temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode: mode ?? 0o666, named: path)
            if let mode { chmod(temporary, mode) }
            guard rename(temporary, file) == 0 else { throw OutputFailure(path, errno) }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    /// The suffix of files that are being written.
    private static let unfinished = ".souk-new"
    private static let cleaned = Locked<Set<String>>([])

    /// Removes temporary files of `file` that killed processes left behind. Later calls for the same file do nothing.
    private static func removeLeftovers(of file: String) {
        guard cleaned.withLock({ $0.insert(file).inserted }) else { return }
        let name = (file as NSString).lastPathComponent + "."
        let folder = (file as NSString).deletingLastPathComponent
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)
        for leftover in names ?? [] where leftover.hasPrefix(name) && leftover.hasSuffix(unfinished) {
            let number = leftover.dropFirst(name.count).dropLast(unfinished.count)
            // A process that is running, or cannot be signalled, may be writing its file.
            guard let process = pid_t(number), process > 0, kill(process, 0) != 0, errno == ESRCH else { continue }
            unlink((folder as NSString).appendingPathComponent(leftover))
        }
    }

    /// Creates a file that only its owner may read, and removes it if it cannot be written. Syncs the folder too,
    /// because the secret is stored nowhere else.
    ///
    /// Throws `OutputFailure`, also for a file that exists.
    static func createSecret(_ secret: String, at path: String) throws(OutputFailure) {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw OutputFailure(path, errno) }
        do throws(OutputFailure) {
            try fill(file, Array((secret + "\n").utf8), named: path)
            try flushFolder(of: path)
        } catch {
            unlink(path)
            throw error
        }
    }

    private static func append(
        _ bytes: [UInt8], to path: String, _ flags: Int32, mode: mode_t = 0o666, named name: String? = nil
    ) throws(OutputFailure) {
        let file = open(path, flags, mode)
        guard file >= 0 else { throw OutputFailure(name ?? path, errno) }
        try fill(file, bytes, named: name ?? path)
    }

    /// Writes all bytes, flushes a regular file to the disk and closes it.
    private static func fill(_ file: Int32, _ bytes: [UInt8], named name: String) throws(OutputFailure) {
        var errorNumber: Int32?
        do throws(FileFailure) {
            try bytes.withUnsafeBufferPointer { bytes throws(FileFailure) in
                try DurableFile.append(UnsafeRawBufferPointer(bytes), to: file, path: name)
            }
            // Pipes and devices cannot be synced.
            if fsync(file) != 0, errno != EINVAL, errno != EROFS, errno != ENOTSUP { errorNumber = errno }
        } catch {
            errorNumber = error.errorNumber
        }
        if close(file) != 0, errorNumber == nil { errorNumber = errno }
        if let errorNumber { throw OutputFailure(name, errorNumber) }
    }

    /// Syncs the folder of `path`, which makes the file's name durable. Some network file systems cannot sync
    /// folders; their error is ignored.
    private static func flushFolder(of path: String) throws(OutputFailure) {
        let folder = (path as NSString).deletingLastPathComponent
        do throws(FileFailure) { try DurableFile.flush(folder.isEmpty ? "." : folder) } catch {
            guard [EINVAL, EROFS, ENOTSUP].contains(error.errorNumber) else {
                throw OutputFailure(path, error.errorNumber)
            }
        }
    }

    /// Whether `path`, or the target of a link, is a regular file; `nil` if it does not exist.
    private static func isRegular(_ path: String) -> Bool? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return status.st_mode & S_IFMT == S_IFREG
    }

    private static func mode(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }
}
