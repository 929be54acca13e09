import Foundation
import Primitives

/// The claim of this process on a database file: held by one database at a time. Knows the file and its log, so that
/// others which get their names are not taken for them.
///
/// Two writers in a process would not share commits, and each would wait for the other's lock without need.
struct OpenFile: Sendable {
    private struct Identity: Hashable {
        let device: UInt64
        let inode: UInt64
    }

    private static let claimed = Locked<Set<Identity>>([])
    private let path: String
    /// SQLite keeps it beside the file that links lead to.
    private let logPath: String
    private let database: Identity
    /// Reads the beginning of the file. Closed when all connections are, because closing it releases SQLite's own locks.
    private let descriptor: CInt
    /// Whether the file has begun as a database does.
    private let isFounded = Locked(false)
    /// From the first commit on, which makes it, until all connections are closed.
    private let log = Locked<Identity?>(nil)

    /// Claims the file at `path`, which exists.
    init(path: String) throws(SQLError) {
        guard let identity = Self.identity(of: path) else {
            throw SQLError(
                .cannotOpen, "The database \(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        guard Self.claimed.withLock({ $0.insert(identity).inserted }) else {
            throw SQLError(
                .alreadyOpen, "The database \(path) is open in this process already; share it or close it first.")
        }
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        self.path = path
        logPath = SQLiteFile.resolvingLinks(path) + "-wal"
        database = identity
    }

    func release() {
        _ = Self.claimed.withLock { $0.remove(database) }
    }

    /// After the last connection.
    func closeDescriptor() { if descriptor >= 0 { close(descriptor) } }

    /// Throws `storageFailed` when the database or its log is no longer at its path. Writes would be lost then, and a new
    /// connection would open another file.
    func check() throws(SQLError) {
        guard Self.identity(of: path) == database else { throw lost("The database \(path)") }
        let begins = beginsAsDatabase
        let wasFounded = isFounded.withLock { isFounded in
            defer { isFounded = isFounded || begins }
            return isFounded
        }
        guard begins || !wasFounded else { throw lost("What the database \(path) held") }
        let present = Self.identity(of: logPath)
        let known = log.withLock { log in
            log = log ?? present
            return log
        }
        guard present == known else { throw lost("The log \(logPath) of the database") }
    }

    /// Whether the file has the first bytes of a database (https://www.sqlite.org/fileformat.html section 1.3).
    private var beginsAsDatabase: Bool {
        var bytes = [UInt8](repeating: 0, count: 16)
        guard descriptor >= 0, pread(descriptor, &bytes, 16, 0) == 16 else { return false }
        return bytes.elementsEqual("SQLite format 3\0".utf8)
    }

    private func lost(_ what: String) -> SQLError {
        SQLError(
            .storageFailed,
            "\(what) was removed or replaced while it is open. Stop the server and put the file back.")
    }

    private static func identity(of path: String) -> Identity? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Identity(
            device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino))
    }
}

/// The claim of this process on a database file against all others: advisory locks on `<file>.lock` and on the file,
/// held until `release`, the end of the process or its death.
///
/// The lock on the file covers its hard links, and a `<file>.lock` that was removed. The other one covers a file that is
/// still to come. The existence of the lock file means nothing: it outlives a killed process.
struct ProcessLock: Sendable {
    private let descriptor: CInt
    private let path: String
    /// A descriptor of the database, kept open because closing one releases SQLite's own locks. `nil` while there is no
    /// file.
    private let file: CInt?

    /// Locks the database at `database`, which may be still to come. Links to one file share a lock. Throws `alreadyOpen`.
    init(database: String) throws(SQLError) {
        func refusal(_ code: CInt) -> SQLError {
            SQLError(
                .cannotOpen, "The database \(database) cannot be locked: \(String(cString: strerror(code))).")
        }
        func inUse() -> SQLError {
            SQLError(
                .alreadyOpen,
                "The database \(database) is in use by another process; end that one first or name another file.")
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
            // A process that released the lock may have removed the file between `open` and `flock`; then this locks
            // nothing any more.
            var (held, named) = (stat(), stat())
            guard fstat(descriptor, &held) == 0, stat(path, &named) == 0, held.st_dev == named.st_dev,
                held.st_ino == named.st_ino
            else {
                close(descriptor)
                continue
            }
            // Does not wait where a pipe has this name; SQLite is not let near one.
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

    /// The path behind all links; of a file that is missing, the path in the folder behind all links.
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

/// The permissions of a database file: its owner's alone, because what is in it is not everybody's to read. SQLite gives
/// the log and the shared memory beside it the same.
enum PrivateFile {
    /// Makes an empty file at `path` if there is none; one that is there stays as it is. What cannot be done is left to
    /// SQLite, which says why.
    static func makeIfMissing(_ path: String) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        // The process's mask may have taken the owner's rights too.
        fchmod(descriptor, 0o600)
        close(descriptor)
    }
}

/// A folder of its own for a database that nobody keeps.
enum TemporaryFolder {
    static func make(in folder: String?) throws(SQLError) -> String {
        let memory = "/dev/shm"
        let parent = folder ?? (access(memory, W_OK) == 0 ? memory : NSTemporaryDirectory())
        var template = Array((parent + "/sqlite.XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw SQLError(
                .cannotOpen,
                "A temporary database cannot be made in \(parent): \(String(cString: strerror(errno))).")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func remove(_ folder: String) {
        // Whatever cannot be removed from a temporary folder, the system removes in its time.
        try? FileManager.default.removeItem(atPath: folder)
    }
}
