import Foundation

/// A new folder that replaces another one atomically.
///
/// The new folder is created beside the old one, filled, and flushed to the disk. Then the two are exchanged. A reader
/// sees the old content or the new content, even after a crash. If the file system cannot exchange folders, the folder
/// is missing for a moment. Files that are open stay readable.
///
///     let replacement = try FolderReplacement(of: "/var/lib/app/content/film")
///     try write(into: replacement.path)
///     try replacement.commit()
///
/// Without `commit()`, the new folder is removed with the object, and the old one stays. A folder that a killed process
/// left behind has a known name and no lock. The next replacement of the same folder, or `recover(_:)`, removes it.
///
/// Any number of threads and processes may replace a folder; the last commit wins. The parent folder must belong to
/// this user, and no other program may write to it.
package final class FolderReplacement: Sendable {
    /// The folder for the new content, which has the mode 0700 and is empty at first.
    package let path: String

    private let target: Target
    private let exchange: Exchange
    /// The descriptor of the new folder. It holds a lock, which shows other processes that the folder is in use.
    private let lock: Int32
    private let isCommitted = Locked(false)

    /// Creates the new folder beside `folder`, whose parent must exist. Removes the folders that killed processes left
    /// behind.
    ///
    /// - Throws: `FileFailure`, with `ENOTDIR` when `folder` or its parent is not a folder.
    package convenience init(of folder: String) throws(FileFailure) {
        try self.init(of: folder, exchange: Self.systemExchange)
    }

    init(of folder: String, exchange: @escaping Exchange) throws(FileFailure) {
        target = try Target(folder)
        self.exchange = exchange
        try target.recover()
        (path, lock) = try target.makeLockedFolder()
    }

    deinit {
        if !isCommitted.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path) }
        close(lock)
    }

    /// Flushes the new content and puts it in the place of the folder. Removes the old content afterwards.
    ///
    /// - Throws: `FileFailure`. The old content is still in place then, unless only the flush of the parent folder
    ///   failed.
    package func commit() throws(FileFailure) {
        // Starts all writes first, because files that are only flushed are written one after another.
        try Self.walk(path) { Self.beginWriting($0) }
        try Self.walk(path, DurableFile.flush)
        try target.put(path, exchange)
        isCommitted.withLock { $0 = true }
        defer { try? FileManager.default.removeItem(atPath: path) }
        try DurableFile.flush(target.parent)
    }

    /// Removes the folders that killed processes left beside `folder`.
    ///
    /// If the file system cannot exchange two folders atomically, it also restores the old content after a process was
    /// killed between two steps. Call it before the folder is read.
    package static func recover(_ folder: String) throws(FileFailure) {
        try Target(folder).recover()
    }

    /// Removes `folder` with its content atomically: renames it first. The next replacement of the same folder removes
    /// the files that cannot be deleted now, or that a killed process did not delete. Does nothing if the folder does
    /// not exist.
    ///
    /// - Throws: `FileFailure`, like `init(of:)`.
    package static func remove(_ folder: String) throws(FileFailure) {
        let target = try Target(folder)
        try target.recover()
        let (leftover, lock) = try target.makeLockedFolder()
        defer {
            try? FileManager.default.removeItem(atPath: leftover)
            close(lock)
        }
        guard rename(target.folder, leftover) == 0 || errno == ENOENT else {
            throw FileFailure("remove", folder, errno)
        }
        try DurableFile.flush(target.parent)
    }

    /// Calls `body` with every regular file and folder in a folder, and with the folder itself last.
    private static func walk(
        _ folder: String, _ body: (String) throws(FileFailure) -> Void
    ) throws(FileFailure) {
        for name in try Target.names(in: folder) {
            let path = "\(folder)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0 else { throw FileFailure("flush", path, errno) }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: try walk(path, body)
            case S_IFREG: try body(path)
            default: break
            }
        }
        try body(folder)
    }
}

extension FolderReplacement {
    /// Exchanges two folders atomically. Returns 0 or the error number of the system.
    typealias Exchange = @Sendable (_ one: String, _ other: String) -> Int32

    /// Finds a function of the system by name, because Glibc's headers declare some only with `_GNU_SOURCE`.
    private static func system<Call>(_ names: String..., as type: Call.Type) -> Call? {
        let symbol = names.lazy.compactMap { dlsym(dlopen(nil, RTLD_NOW), $0) }.first
        return symbol.map { unsafeBitCast($0, to: type) }
    }

    /// Starts to write a file to the disk, if the system supports it, and does not wait. This makes nothing durable.
    fileprivate static func beginWriting(_ path: String) {
        guard let syncRange else { return }
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { return }
        let onlyBegin: UInt32 = 2
        _ = syncRange(file, 0, 0, onlyBegin)
        close(file)
    }

    /// `sync_file_range` of Linux, for which 0 bytes mean the whole file.
    private static let syncRange = system(
        "sync_file_range", as: (@convention(c) (Int32, Int64, Int64, UInt32) -> Int32).self)

    /// `renameat2` of Linux or `renameatx_np` of Darwin, which have the same arguments and the same flag.
    private static let systemExchange: Exchange = {
        typealias Call = @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
        guard let call = system("renameat2", "renameatx_np", as: Call.self) else { return { _, _ in ENOSYS } }
        let exchangeFlag: UInt32 = 2
        return { one, other in call(AT_FDCWD, one, AT_FDCWD, other, exchangeFlag) == 0 ? 0 : errno }
    }()

    /// The folder to replace, and the names of the temporary folders beside it.
    fileprivate struct Target {
        let folder: String
        let parent: String
        private let name: String

        init(_ folder: String) throws(FileFailure) {
            let url = URL(fileURLWithPath: folder)
            self.folder = url.path
            parent = url.deletingLastPathComponent().path
            name = url.lastPathComponent
            var status = stat()
            if lstat(self.folder, &status) == 0 {
                guard status.st_mode & S_IFMT == S_IFDIR else { throw FileFailure("replace", folder, ENOTDIR) }
            } else if errno != ENOENT {
                throw FileFailure("replace", folder, errno)
            }
        }

        /// The maximum number of attempts when other processes interfere.
        private static let attempts = 100

        private var newPrefix: String { ".\(name).new-" }
        private var oldPrefix: String { ".\(name).old-" }

        /// Creates a folder beside the target, opens it and locks it.
        func makeLockedFolder() throws(FileFailure) -> (path: String, lock: Int32) {
            for _ in 0..<Self.attempts {
                let path = try makeFolder()
                do throws(FileFailure) {
                    return (path, try lock(path))
                } catch  where [ENOENT, EWOULDBLOCK].contains(error.errorNumber) {
                    // Another process saw the unlocked folder between the two steps and removes it.
                    continue
                } catch {
                    rmdir(path)
                    throw error
                }
            }
            throw FileFailure("make a folder in", parent, EBUSY)
        }

        /// Opens and locks a folder.
        ///
        /// - Throws: `FileFailure`, with `EWOULDBLOCK` when another process holds the lock and `ENOENT` when the folder
        ///   is gone.
        private func lock(_ path: String) throws(FileFailure) -> Int32 {
            let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard folder >= 0 else { throw FileFailure("lock", path, errno) }
            do throws(FileFailure) {
                var (opened, named) = (stat(), stat())
                guard flock(folder, LOCK_EX | LOCK_NB) == 0, fstat(folder, &opened) == 0, lstat(path, &named) == 0
                else { throw FileFailure("lock", path, errno) }
                guard opened.st_ino == named.st_ino else { throw FileFailure("lock", path, ENOENT) }
                return folder
            } catch {
                close(folder)
                throw error
            }
        }

        private func makeFolder() throws(FileFailure) -> String {
            var template = "\(parent)/\(newPrefix)XXXXXX".utf8CString
            let made = template.withUnsafeMutableBufferPointer { buffer in
                mkdtemp(buffer.baseAddress!).map { String(cString: $0) }
            }
            guard let made else { throw FileFailure("make a folder in", parent, errno) }
            return made
        }

        /// Gives `new` the name of the folder, and the old folder another name. Tries again when another process has
        /// created or removed the folder meanwhile.
        func put(_ new: String, _ exchange: Exchange) throws(FileFailure) {
            for _ in 0..<Self.attempts {
                if rename(new, folder) == 0 { return }
                guard [EEXIST, ENOTEMPTY].contains(errno) else { throw FileFailure("replace", folder, errno) }
                switch exchange(new, folder) {
                case 0: return
                case ENOENT: continue
                case EINVAL, ENOSYS, ENOTSUP: if try moveAside(new) { return }
                case let number: throw FileFailure("replace", folder, number)
                }
            }
            throw FileFailure("replace", folder, EBUSY)
        }

        /// Replaces the folder in two steps, for file systems that cannot exchange folders. The folder is missing
        /// between the steps; `recover` restores it after a kill. Afterwards `new` has the old content, as after an
        /// exchange, and the caller removes it.
        private func moveAside(_ new: String) throws(FileFailure) -> Bool {
            let old = "\(parent)/\(oldPrefix)\(new.suffix(6))"
            guard rename(folder, old) == 0 || errno == ENOENT else { throw FileFailure("replace", folder, errno) }
            if rename(new, folder) == 0 {
                rename(old, new)
                return true
            }
            let renameError = errno
            // If another process has put its own content in place, the old content is obsolete.
            if rename(old, folder) != 0, [EEXIST, ENOTEMPTY].contains(errno) {
                try? FileManager.default.removeItem(atPath: old)
            }
            guard [EEXIST, ENOTEMPTY].contains(renameError) else { throw FileFailure("replace", folder, renameError) }
            return false
        }

        func recover() throws(FileFailure) {
            let names = try Self.names(in: parent)
            for name in names where isOurs(name, oldPrefix) {
                // Fails if the folder has content, which then stays.
                if rename("\(parent)/\(name)", folder) != 0 { remove("\(parent)/\(name)") }
            }
            for name in names where isOurs(name, newPrefix) { remove("\(parent)/\(name)") }
        }

        private func remove(_ leftover: String) {
            guard let lock = try? lock(leftover) else { return }
            try? FileManager.default.removeItem(atPath: leftover)
            close(lock)
        }

        private func isOurs(_ name: String, _ prefix: String) -> Bool {
            let ending = name.utf8.dropFirst(prefix.utf8.count)
            return name.utf8.starts(with: prefix.utf8) && ending.count == 6 && !ending.contains(UInt8(ascii: "."))
        }

        static func names(in folder: String) throws(FileFailure) -> [String] {
            guard let stream = opendir(folder) else { throw FileFailure("read", folder, errno) }
            defer { closedir(stream) }
            var names: [String] = []
            while let entry = readdir(stream) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                    pointer.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
                }
                if name != ".", name != ".." { names.append(name) }
            }
            return names
        }
    }
}
