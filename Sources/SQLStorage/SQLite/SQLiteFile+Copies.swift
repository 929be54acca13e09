import CSQLite
import Foundation

extension SQLiteFile {
    /// Copies the database as it is at one instant, checks the copy and gives it its name once it is durable; writers go
    /// on meanwhile. The copy is one file, readable by its owner alone.
    ///
    /// Throws `SQLError` with `cannotOpen` when there is something at `destination` already or nothing can be made there,
    /// `corrupt` when the database is damaged, `storageFull` and the like; then nothing is left at `destination`.
    ///
    /// - Parameters:
    ///   - progress: called with the part that is done, from 0 to 1.
    ///   - holdsDeleted: whether the copy is to be written anew before it gets its name, without anything that was deleted.
    package func backUp(
        to destination: String, progress: (Double) -> Void = { _ in },
        holdsDeleted: (any SQLConnection) throws -> Bool = { _ in false }
    ) throws {
        try backUp(to: destination, pagesAtOnce: 1024, progress: progress, holdsDeleted: holdsDeleted)
    }

    /// `progress` is called after each `pagesAtOnce` pages.
    func backUp(
        to destination: String, pagesAtOnce: CInt, progress: (Double) -> Void,
        holdsDeleted: (any SQLConnection) throws -> Bool = { _ in false }
    ) throws {
        guard access(destination, F_OK) != 0 else {
            throw SQLError(.cannotOpen, "The backup \(destination) cannot be made: that file exists; name another.")
        }
        // A link that leads to nothing yet stays a link.
        let destination = Self.resolvingLinks(destination)
        let unfinished = destination + ".partial"
        Self.remove(unfinished)
        do {
            try copy(to: unfinished, pagesAtOnce, progress)
            if let fault = try SQLiteFile(path: unfinished).damage(limit: 1).first {
                throw SQLError(.corrupt, "The database \(path) cannot be copied whole. \(fault)")
            }
            let copied = try SQLiteFile(path: unfinished)
            if try copied.reading(holdsDeleted) { try copied.compact() }
            try Self.move(unfinished, to: destination)
        } catch {
            Self.remove(unfinished)
            throw error
        }
    }

    /// Puts a copy of this file, checked, in the place of the database at `target`, which may be missing, at one
    /// instant: whoever looks sees the old one or this one. The old one stays as `former`, with its log if it is too
    /// damaged to be opened. Where `target` is a symbolic link, what it leads to is replaced, and the link stays.
    ///
    /// Throws `SQLError` with `alreadyOpen` while a server has `target` (`SQLiteDatabase.Configuration.isExclusive`),
    /// `busy` while anybody else has, and what `backUp` throws; then `target` is as it was.
    ///
    /// - Parameters:
    ///   - read: reads from the old database, which nobody can write any more, what is to outlive it. Not called where
    ///     there is none, or none that can be opened.
    ///   - holdsDeleted: whether the old database is to be written anew before it gets its other name, without anything that
    ///     was deleted from it; asked with what `read` returned.
    ///   - amend: is given the copy before it takes the place, and what `read` returned. What it throws is thrown here.
    /// - Returns: why the old database could not be written anew, `nil` where it could or need not be.
    @discardableResult
    package func replace<Kept: Sendable>(
        _ target: String, keepingItAs former: String, progress: (Double) -> Void = { _ in },
        reading read: (any SQLConnection) throws -> Kept, holdsDeleted: (Kept) -> Bool = { _ in false },
        amending amend: (SQLiteDatabase, Kept?) async throws -> Void
    ) async throws -> SQLError? {
        // `rename` would replace the link and leave the database that it leads to as it is.
        let target = Self.resolvingLinks(target)
        let lock = try ProcessLock(database: target)
        defer { lock.release() }
        let incoming = Self.incoming(to: target)
        Self.removeUnfinishedCopies(of: target)
        do {
            try backUp(to: incoming, progress: progress)
            let held = try hold(target)
            defer {
                held?.endQuietly()
                held?.close()
            }
            let kept = try held.map { try $0.session(read) }
            try await change(incoming) { try await amend($0, kept) }
            // Before the exchange: a process that is killed after it would leave what was deleted in the former file.
            let failure = try held.flatMap { try kept.map(holdsDeleted) == true ? compact(held: $0) : nil }
            try exchange(target, isHeld: held != nil, for: incoming, keepingItAs: former)
            return failure
        } catch {
            Self.remove(incoming)
            throw error
        }
    }

    private static func incoming(to target: String) -> String { target + ".restoring" }

    /// Removes what a `replace` that was killed left beside a database. The caller has its `ProcessLock`.
    static func removeUnfinishedCopies(of target: String) {
        for path in [incoming(to: target), incoming(to: target) + ".partial"] { remove(path) }
    }

    /// Writes the file anew, without anything that was deleted from it. Nobody else may have it open.
    package func compact() throws {
        let connection = try SQLiteConnection(path: path, mode: .plain, limits: limits)
        defer { connection.close() }
        try connection.leaveWriteAheadLog(within: limits.busyTimeout)
        try connection.runInternal("VACUUM")
    }

    /// Writes a database that `hold` returned anew, and holds it again. Returns why that failed. Throws `SQLError` with
    /// `busy` when another program wrote to it meanwhile: no transaction can be open then.
    private func compact(held connection: SQLiteConnection) throws -> SQLError? {
        let before = try connection.dataVersion()
        connection.endQuietly()
        var failure: SQLError?
        do { try connection.runInternal("VACUUM") } catch { failure = error }
        try connection.run(.beginExclusive)
        guard try connection.dataVersion() == before else {
            throw SQLError(.busy, "Another program wrote to the database that is replaced; run the command again.")
        }
        return failure
    }

    /// Opens the database at `path` for `body`. One file is left of it.
    private func change(_ path: String, _ body: (SQLiteDatabase) async throws -> Void) async throws {
        let database = try SQLiteDatabase(path: path)
        do { try await body(database) } catch {
            await database.close()
            throw error
        }
        await database.close()
        let connection = try SQLiteConnection(path: path, mode: .plain, limits: limits)
        defer { connection.close() }
        try connection.leaveWriteAheadLog(within: limits.busyTimeout)
    }

    private func exchange(
        _ target: String, isHeld: Bool, for incoming: String, keepingItAs former: String
    ) throws {
        if access(target, F_OK) == 0 { try Self.link(target, to: former) }
        if !isHeld {
            // A log that stayed would be taken for the new file's.
            if access(target + "-wal", F_OK) == 0 { try Self.link(target + "-wal", to: former + "-wal") }
            unlink(target + "-wal")
            unlink(target + "-shm")
        }
        try Self.move(incoming, to: target)
    }

    /// Folds the log of the database at `path` into the file, which only who is alone with it can, and keeps others out
    /// until the connection is closed. `nil` where there is none, or none that can be opened.
    private func hold(_ path: String) throws -> SQLiteConnection? {
        guard access(path, F_OK) == 0 else { return nil }
        do {
            let connection = try SQLiteConnection(path: path, mode: .plain, limits: limits)
            try connection.leaveWriteAheadLog(within: limits.busyTimeout)
            try connection.run(.beginExclusive)
            return connection
        } catch  where [.corrupt, .notADatabase].contains(error.code) {
            return nil
        }
    }

    private func copy(to destination: String, _ pagesAtOnce: CInt, _ progress: (Double) -> Void) throws {
        let source = try SQLiteConnection(path: path, mode: .read, limits: limits)
        defer { source.close() }
        // One snapshot for the whole copy: without it every commit of somebody else would begin it anew.
        try source.run(.begin)
        defer { source.endQuietly() }
        _ = try source.session { try $0.first("SELECT count(*) AS count FROM sqlite_schema") }
        let target = try SQLiteConnection(path: destination, mode: .plain, limits: limits)
        defer { target.close() }
        guard let backup = sqlite3_backup_init(target.handle, "main", source.handle, "main") else {
            throw target.failure()
        }
        var result = SQLITE_OK
        while result == SQLITE_OK {
            result = sqlite3_backup_step(backup, pagesAtOnce)
            let (left, all) = (sqlite3_backup_remaining(backup), sqlite3_backup_pagecount(backup))
            progress(all > 0 ? Double(all - left) / Double(all) : 1)
        }
        guard sqlite3_backup_finish(backup) == SQLITE_OK, result == SQLITE_DONE else {
            throw sqlite3_errcode(target.handle) == SQLITE_OK ? source.failure() : target.failure()
        }
        // A copy has no log beside it.
        try target.leaveWriteAheadLog(within: limits.busyTimeout)
    }

    // MARK: - Names

    /// Returns the path of the file that symbolic links lead to. The file may be missing.
    package static func resolvingLinks(_ path: String) -> String {
        var path = path
        // As many links as the system follows; more are a loop, which opening the file refuses.
        for _ in 0..<40 {
            if let resolved = realpath(path, nil) {
                defer { free(resolved) }
                return String(cString: resolved)
            }
            guard let destination = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { break }
            let folder = (path as NSString).deletingLastPathComponent
            path = destination.hasPrefix("/") || folder.isEmpty ? destination : "\(folder)/\(destination)"
        }
        return path
    }

    private static func remove(_ path: String) {
        for suffix in ["", "-journal", "-wal", "-shm"] { unlink(path + suffix) }
    }

    private static func link(_ path: String, to other: String) throws(SQLError) {
        guard Foundation.link(path, other) == 0 else {
            throw SQLError(
                .cannotOpen, "The database \(path) cannot be kept as \(other): \(String(cString: strerror(errno))).")
        }
    }

    /// Renames a file, durably.
    private static func move(_ path: String, to other: String) throws(SQLError) {
        guard rename(path, other) == 0 else {
            throw SQLError(
                .cannotOpen, "The file \(path) cannot be called \(other): \(String(cString: strerror(errno))).")
        }
        let parent = (other as NSString).deletingLastPathComponent
        let folder = open(parent.isEmpty ? "." : parent, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }
}
