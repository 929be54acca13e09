import Foundation
import Primitives

/// An open database file. Only one `SQLiteDatabase` of a process can have it open, because two would not share commits and
/// would wait for each other's lock.
///
/// It stores the identity of the file and its log, to detect when another file is at one of their paths.
struct OpenFile: Sendable {
    struct Identity: Hashable {
        let device: UInt64
        let inode: UInt64
    }

    struct Status {
        let identity: Identity
        /// The size in bytes.
        let size: Int64

        init?(of path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            self.init(status)
        }

        init?(of descriptor: CInt) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return nil }
            self.init(status)
        }

        private init(_ status: stat) {
            identity = Identity(
                device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino))
            size = Int64(status.st_size)
        }
    }

    /// The state of the files at the last check.
    private struct ContentState {
        /// The smallest valid size of the database file in bytes: the size at the last check, or the size after a later
        /// commit if that is smaller.
        var minimumSize: Int64 = 0
        var log = LogTail()
        /// The file that was found truncated, for the message. It stays set, because SQLite may overwrite the lost part.
        var lostFile: String?
    }

    private static let openFiles = Locked<Set<Identity>>([])
    private let path: String
    /// The path of the log, which is beside the target of links.
    private let logPath: String
    private let database: Identity
    /// The descriptor for reading the header. It is closed after all connections, because closing it releases SQLite's own
    /// locks.
    private let descriptor: CInt
    /// Whether the file has had the header of a database.
    private let hadHeader = Locked(false)
    /// The identity of the log, recorded by the first check that finds the log.
    private let log = Locked<Identity?>(nil)
    private let index: LogIndex
    private let content = Locked(ContentState())

    /// Registers the file at `path`, which exists.
    init(path: String) throws(SQLError) {
        guard let identity = Status(of: path)?.identity else {
            throw SQLError(
                .cannotOpen, "The database \(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        guard Self.openFiles.withLock({ $0.insert(identity).inserted }) else {
            throw SQLError(
                .alreadyOpen, "The database \(path) is open in this process already; share it or close it first.")
        }
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        self.path = path
        let resolved = SQLiteFile.resolvingLinks(path)
        logPath = resolved + "-wal"
        index = LogIndex(path: resolved + "-shm")
        database = identity
    }

    func release() {
        _ = Self.openFiles.withLock { $0.remove(database) }
    }

    /// Called after the last connection is closed.
    func closeDescriptor() {
        if descriptor >= 0 { close(descriptor) }
        index.close()
        content.withLock { $0.log.close() }
    }

    /// Throws `storageFailed` if the database, its log or the log's index is no longer at its path. Otherwise writes
    /// would be lost, and a new connection would open another file.
    func checkPaths() throws(SQLError) {
        guard Status(of: path)?.identity == database else { throw lost("The database \(path)") }
        let present = Status(of: logPath)?.identity
        let recorded = log.withLock { log in
            log = log ?? present
            return log
        }
        guard present == recorded else { throw lost("The log \(logPath) of the database") }
        guard recorded == nil || index.isInPlace else { throw lost("The index \(index.path) of the log") }
    }

    /// Throws `storageFailed` as `checkPaths` does, and if the database or its log was truncated.
    func check() throws(SQLError) {
        try checkPaths()
        let hasHeader = hasHeader
        let didHaveHeader = hadHeader.withLock { hadHeader in
            defer { hadHeader = hadHeader || hasHeader }
            return hadHeader
        }
        guard hasHeader || !didHaveHeader else { throw lost("The content of the database \(path)") }
        if log.withLock({ $0 }) != nil { try checkContents() }
    }

    /// Compares both files with the index of the log, and the log with its earlier content. Only a commit can make the
    /// database smaller.
    private func checkContents() throws(SQLError) {
        let lostFile: String? = content.withLock { content in
            content.log.open(logPath)
            // Another thread or process may commit meanwhile.
            for _ in 0..<10 where content.lostFile == nil {
                var current = content
                guard let head = index.head() else { continue }
                if head.databaseSize > 0 { current.minimumSize = min(current.minimumSize, head.databaseSize) }
                let isLogWhole = current.log.follow(head)
                guard let size = Status(of: descriptor)?.size, index.head() == head else { continue }
                if size < current.minimumSize { current.lostFile = "The database \(path)" }
                if !isLogWhole { current.lostFile = "The log \(logPath) of the database" }
                current.minimumSize = max(current.minimumSize, min(size, head.databaseSize))
                content = current
                break
            }
            return content.lostFile
        }
        guard let lostFile else { return }
        // The rest of the log must not be copied into the file.
        DamagedFiles.note(path)
        throw lost(lostFile)
    }

    /// Throws `storageFull` if the disk has less free space than one write may need. Without the check, a small write
    /// may succeed although the write of a purchase fails.
    func checkRoom() throws(SQLError) {
        guard let free = freeBytes, free < Self.minimumFreeBytes else { return }
        throw SQLError(
            .storageFull,
            "The disk of the database \(path) has less than \(Self.minimumFreeBytes >> 20) MiB free. Free some space on it."
        )
    }

    /// The free space for this process on the file system of the database; `nil` if it cannot be read.
    var freeBytes: Int64? {
        var room = statvfs()
        guard descriptor >= 0, fstatvfs(descriptor, &room) == 0 else { return nil }
        let bytes = UInt64(room.f_bavail).multipliedReportingOverflow(by: UInt64(room.f_frsize))
        return bytes.overflow ? .max : Int64(clamping: bytes.partialValue)
    }

    /// The space in bytes for a request of the largest size, its pages and their copies in the log.
    private static let minimumFreeBytes: Int64 = 4 << 20

    /// Whether the file has the first bytes of a database (https://www.sqlite.org/fileformat.html section 1.3).
    private var hasHeader: Bool {
        withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { bytes in
            descriptor >= 0 && pread(descriptor, bytes.baseAddress, 16, 0) == 16
                && bytes.elementsEqual("SQLite format 3\0".utf8)
        }
    }

    private func lost(_ what: String) -> SQLError {
        SQLError(
            .storageFailed,
            "\(what) was removed, replaced or truncated while the database is open. Stop the server and put the file back."
        )
    }
}

/// An exclusive use of a database file by this process: advisory locks on `<file>.lock` and on the file, until
/// `release` or the end of the process.
///
/// The lock on the file also covers hard links, and a `<file>.lock` that was removed. The other lock covers a file that
/// does not exist yet. The existence of the lock file has no meaning: it can be left by a killed process.
struct ProcessLock: Sendable {
    private let descriptor: CInt
    private let path: String
    /// A descriptor of the database, kept open because closing one releases SQLite's own locks. `nil` if there is no
    /// file.
    private let file: CInt?

    /// Locks the database at `database`, which need not exist yet. Links to one file share a lock. Throws
    /// `alreadyOpen`.
    init(database: String) throws(SQLError) {
        func refusal(_ code: CInt) -> SQLError {
            SQLError(
                .cannotOpen, "The database \(database) cannot be locked: \(String(cString: strerror(code))).")
        }
        func inUse() -> SQLError {
            SQLError(
                .alreadyOpen,
                "The database \(database) is in use by another process; stop that process first or name another file.")
        }
        guard let resolved = Self.resolve(database) else { throw refusal(errno) }
        let path = resolved + ".lock"
        while true {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw refusal(errno) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let code = errno
                close(descriptor)
                throw code == EWOULDBLOCK ? inUse() : refusal(code)
            }
            // Another process may have removed the file between `open` and `flock`; the lock would have no effect.
            var (held, named) = (stat(), stat())
            guard fstat(descriptor, &held) == 0, stat(path, &named) == 0, held.st_dev == named.st_dev,
                held.st_ino == named.st_ino
            else {
                close(descriptor)
                continue
            }
            // Does not wait if the file is a pipe, which SQLite must not open.
            let file = open(resolved, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            guard file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0 else {
                let code = errno
                close(file)
                unlink(path)
                close(descriptor)
                throw code == EWOULDBLOCK ? inUse() : refusal(code)
            }
            (self.descriptor, self.path, self.file) = (descriptor, path, file < 0 ? nil : file)
            return
        }
    }

    /// Resolves all links of a path; for a missing file, those of its folder.
    private static func resolve(_ path: String) -> String? {
        if let resolved = realpath(path, nil) {
            defer { free(resolved) }
            return String(cString: resolved)
        }
        let folder = (path as NSString).deletingLastPathComponent
        guard errno == ENOENT, let resolved = realpath(folder.isEmpty ? "." : folder, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved) + "/" + (path as NSString).lastPathComponent
    }

    func release() {
        if let file { close(file) }
        unlink(path)
        close(descriptor)
    }
}

/// The permissions of a database file: only its owner can read it. SQLite gives the log and the shared memory the same
/// permissions.
enum PrivateFile {
    /// Creates an empty file at `path` if there is none. Ignores errors, which SQLite reports when it opens the file.
    static func makeIfMissing(_ path: String) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        fchmod(descriptor, 0o600)
        close(descriptor)
    }
}

/// A folder for a temporary database.
enum TemporaryFolder {
    static func make(in folder: String?) throws(SQLError) -> String {
        let memory = "/dev/shm"
        let parent = folder ?? (access(memory, W_OK) == 0 ? memory : NSTemporaryDirectory())
        var template = Array((parent + "/sqlite.XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw SQLError(
                .cannotOpen,
                "Cannot create a temporary database in \(parent): \(String(cString: strerror(errno))).")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func remove(_ folder: String) {
        try? FileManager.default.removeItem(atPath: folder)
    }
}
