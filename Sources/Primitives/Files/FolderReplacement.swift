import Foundation

/// A folder that takes another one's place in one step: it is filled beside it, flushed to the disk, and exchanged for
/// it. Whoever looks sees the old content or the new one, after a crash too; what was open stays readable.
///
///     let replacement = try FolderReplacement(of: "/var/lib/app/content/film")
///     try write(into: replacement.path)
///     try replacement.commit()
///
/// Without `commit()` the new folder is removed with the object, and the old one stays. What a killed process left
/// behind is known by its name and by nobody holding its lock, and is removed by the next replacement of the same
/// folder, or by `recover(_:)`.
///
/// Any number of threads and processes may replace one folder; the last to commit wins. Nobody else may write where
/// they do: the folder that holds both must belong to this user.
package final class FolderReplacement: Sendable {
    /// Where the new content is written: a folder of mode 0700, empty at first.
    package let path: String

    private let target: Target
    private let exchange: Exchange
    /// Open as long as this process is at work on it; a lock on it tells the others.
    private let lock: Int32
    private let isCommitted = Locked(false)

    /// Makes the new folder beside `folder`, whose parent must be there; removes what killed processes left.
    ///
    /// Throws `FileFailure`, `ENOTDIR` when `folder` or its parent is something else than a folder.
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

    /// Flushes the new content and puts it into the folder's place; the old content is removed afterwards.
    ///
    /// Throws `FileFailure`: the old content is in its place then, unless only flushing the folder above failed.
    package func commit() throws(FileFailure) {
        // Flushed one after the other, files are written one after the other; begun all at once, they are written together.
        try Self.visit(path) { Self.beginWriting($0) }
        try Self.visit(path, DurableFile.flush)
        try target.put(path, exchange)
        isCommitted.withLock { $0 = true }
        // What cannot be removed now is a leftover, which the next replacement removes.
        defer { try? FileManager.default.removeItem(atPath: path) }
        try DurableFile.flush(target.parent)
    }

    /// Removes what killed processes left beside `folder`. Where the file system cannot exchange two folders in one
    /// step, this is also what puts the old content back if a process was killed between two steps: call it before the
    /// folder is read.
    package static func recover(_ folder: String) throws(FileFailure) {
        try Target(folder).recover()
    }

    /// Removes `folder` with all that is in it, in one step for whoever looks. Without the folder nothing is to be done.
    ///
    /// Throws `FileFailure`, as `init(of:)` does.
    package static func remove(_ folder: String) throws(FileFailure) {
        let target = try Target(folder)
        try target.recover()
        let (leftover, lock) = try target.makeLockedFolder()
        defer {
            try? FileManager.default.removeItem(atPath: leftover)
            close(lock)
        }
        // Takes the place of the empty one; what a kill leaves of it is a leftover then.
        guard rename(target.folder, leftover) == 0 || errno == ENOENT else {
            throw FileFailure("remove", folder, errno)
        }
        try DurableFile.flush(target.parent)
    }

    /// Calls `visit` with everything in a folder, and with the folder last.
    private static func visit(
        _ folder: String, _ visit: (String) throws(FileFailure) -> Void
    ) throws(FileFailure) {
        for name in try Target.names(in: folder) {
            let path = "\(folder)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0 else { throw FileFailure("flush", path, errno) }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: try self.visit(path, visit)
            case S_IFREG: try visit(path)
            default: break
            }
        }
        try visit(folder)
    }
}

extension FolderReplacement {
    /// Exchanges two folders in one step; 0 or the system's error number.
    typealias Exchange = @Sendable (_ one: String, _ other: String) -> Int32

    /// A function of the system, by name, because Glibc's headers show some to nobody who does not define `_GNU_SOURCE`.
    private static func system<Call>(_ names: String..., as type: Call.Type) -> Call? {
        let symbol = names.lazy.compactMap { dlsym(dlopen(nil, RTLD_NOW), $0) }.first
        return symbol.map { unsafeBitCast($0, to: type) }
    }

    /// Begins to write what stands in a file to the disk, where the system can be told so, and does not wait: nothing is
    /// durable by this.
    fileprivate static func beginWriting(_ path: String) {
        guard let syncRange else { return }
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { return }
        let onlyBegin: UInt32 = 2
        _ = syncRange(file, 0, 0, onlyBegin)
        close(file)
    }

    /// `sync_file_range` of Linux; 0 bytes are all.
    private static let syncRange = system(
        "sync_file_range", as: (@convention(c) (Int32, Int64, Int64, UInt32) -> Int32).self)

    /// `renameat2` of Linux or `renameatx_np` of Darwin, which take the same arguments and the same flag.
    private static let systemExchange: Exchange = {
        typealias Call = @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
        guard let call = system("renameat2", "renameatx_np", as: Call.self) else { return { _, _ in ENOSYS } }
        let exchangeFlag: UInt32 = 2
        return { one, other in call(AT_FDCWD, one, AT_FDCWD, other, exchangeFlag) == 0 ? 0 : errno }
    }()

    /// The folder to replace, and the names of what stands beside it while that happens.
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

        /// How often others may come in between before it is given up.
        private static let attempts = 100

        private var newPrefix: String { ".\(name).new-" }
        private var oldPrefix: String { ".\(name).old-" }

        /// A new folder beside, open and locked.
        func makeLockedFolder() throws(FileFailure) -> (path: String, lock: Int32) {
            for _ in 0..<Self.attempts {
                let path = try makeFolder()
                do throws(FileFailure) {
                    return (path, try lock(path))
                } catch  where [ENOENT, EWOULDBLOCK].contains(error.errorNumber) {
                    // Somebody took it for a leftover between the two steps and removes it.
                    continue
                } catch {
                    rmdir(path)
                    throw error
                }
            }
            throw FileFailure("make a folder in", parent, EBUSY)
        }

        /// Throws `EWOULDBLOCK` when somebody else has locked it, `ENOENT` when it is gone.
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

        /// Gives `new` the name of the folder and the old one another.
        func put(_ new: String, _ exchange: Exchange) throws(FileFailure) {
            // Others may come in between, with a folder where there was none or away with the one there was.
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

        /// For file systems that know no exchange: for a moment the folder is missing, and `recover` puts it back.
        private func moveAside(_ new: String) throws(FileFailure) -> Bool {
            let old = "\(parent)/\(oldPrefix)\(new.suffix(6))"
            guard rename(folder, old) == 0 || errno == ENOENT else { throw FileFailure("replace", folder, errno) }
            if rename(new, folder) == 0 {
                // Under the name by which the caller removes it.
                rename(old, new)
                return true
            }
            let number = errno
            // Where somebody else's content has come in between, nobody needs the old any more.
            if rename(old, folder) != 0, [EEXIST, ENOTEMPTY].contains(errno) {
                try? FileManager.default.removeItem(atPath: old)
            }
            guard [EEXIST, ENOTEMPTY].contains(number) else { throw FileFailure("replace", folder, number) }
            return false
        }

        func recover() throws(FileFailure) {
            let names = try Self.names(in: parent)
            for name in names where isOurs(name, oldPrefix) {
                // Fails, as it should, when there is content in the folder.
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
