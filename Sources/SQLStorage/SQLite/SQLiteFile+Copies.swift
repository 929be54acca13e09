import CSQLite
import Foundation

extension SQLiteFile {
    /// Copies the database as it is at one instant, while writers continue. Checks the copy, and renames it to
    /// `destination` when it is durable. The copy is one file that only its owner can read.
    ///
    /// - Parameters:
    ///   - progress: receives the finished part, from 0 to 1.
    ///   - holdsDeleted: whether the copy is rewritten without deleted data before it is renamed.
    /// - Throws: ``SQLError`` with `cannotOpen` when `destination` exists or cannot be created, `corrupt` when the
    ///   database is damaged, `storageFull` and others. Then `destination` is unchanged.
    package func backUp(
        to destination: String, progress: (Double) -> Void = { _ in },
        holdsDeleted: (any SQLConnection) throws -> Bool = { _ in false }
    ) throws {
        try backUp(to: destination, pagesAtOnce: 1024, progress: progress, holdsDeleted: holdsDeleted)
    }

    /// Does the same as the other `backUp`, and calls `progress` after each `pagesAtOnce` pages.
    func backUp(
        to destination: String, pagesAtOnce: CInt, progress: (Double) -> Void,
        holdsDeleted: (any SQLConnection) throws -> Bool = { _ in false }
    ) throws {
        guard access(destination, F_OK) != 0 else {
            throw SQLError(.cannotOpen, "Cannot create the backup \(destination): the file exists; name another.")
        }
        let destination = Self.resolvingLinks(destination)
        let unfinished = destination + ".partial"
        Self.remove(unfinished)
        do {
            try copy(to: unfinished, pagesAtOnce, progress)
            if let fault = try SQLiteFile(path: unfinished).damage(limit: 1).first {
                throw SQLError(.corrupt, "The database \(path) cannot be copied completely. \(fault)")
            }
            let copied = try SQLiteFile(path: unfinished)
            if try copied.reading(holdsDeleted) { try copied.compact() }
            try Self.move(unfinished, to: destination)
        } catch {
            Self.remove(unfinished)
            throw error
        }
    }

    /// Replaces the database at `target`, which may be missing, by a checked copy of this file. The exchange is atomic.
    /// The old database is kept as `former`, with its log if it is too damaged to be opened. The target of a symbolic
    /// link is replaced, and the link is kept.
    ///
    /// - Parameters:
    ///   - read: reads data to keep from the old database, which is locked against writers. Not called when there is no
    ///     old database, or when it is too damaged to be opened.
    ///   - holdsDeleted: whether the old database is rewritten without deleted data before it is renamed; receives the
    ///     result of `read`.
    ///   - amend: changes the copy before the exchange; receives the copy and the result of `read`.
    /// - Returns: the error of rewriting the old database; `nil` if it succeeded or was not needed.
    /// - Throws: ``SQLError`` with `alreadyOpen` while a server has `target` open
    ///   (`SQLiteDatabase.Configuration.isExclusive`), `busy` while another program has it open, the errors of
    ///   `backUp`, and what `amend` throws. Then `target` is unchanged.
    @discardableResult
    package func replace<Kept: Sendable>(
        _ target: String, keepingItAs former: String, progress: (Double) -> Void = { _ in },
        reading read: (any SQLConnection) throws -> Kept, holdsDeleted: (Kept) -> Bool = { _ in false },
        amending amend: (SQLiteDatabase, Kept?) async throws -> Void
    ) async throws -> SQLError? {
        let target = Self.resolvingLinks(target)
        let lock = try ProcessLock(database: target)
        defer { lock.release() }
        let incoming = Self.incoming(to: target)
        Self.removeUnfinishedCopies(of: target)
        do {
            try backUp(to: incoming, progress: progress)
            let locked = try lockDatabase(target)
            defer {
                locked?.endQuietly()
                locked?.close()
            }
            let kept = try locked.map { try $0.session(read) }
            try await change(incoming) { try await amend($0, kept) }
            // Before the exchange: a process killed after the exchange would leave deleted data in the former file.
            let failure = try locked.flatMap { try kept.map(holdsDeleted) == true ? compact(locked: $0) : nil }
            try exchange(target, isLocked: locked != nil, for: incoming, keepingItAs: former)
            return failure
        } catch {
            Self.remove(incoming)
            throw error
        }
    }

    private static func incoming(to target: String) -> String { target + ".restoring" }

    /// Removes the temporary files of a killed `replace`. The caller has the `ProcessLock` of the database.
    static func removeUnfinishedCopies(of target: String) {
        for path in [incoming(to: target), incoming(to: target) + ".partial"] { remove(path) }
    }

    /// Rewrites the file without deleted data. No other connection may have it open.
    package func compact() throws {
        let connection = try SQLiteConnection(path: path, mode: .plain, limits: limits)
        defer { connection.close() }
        try connection.leaveWriteAheadLog(within: limits.busyTimeout)
        try connection.runInternal("VACUUM")
    }

    /// Rewrites a database that `lockDatabase` returned. Unlocks the database for this, and locks it again. Throws
    /// `busy` if another program wrote to the unlocked database. Returns the error if the database cannot be rewritten.
    private func compact(locked connection: SQLiteConnection) throws -> SQLError? {
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

    /// Opens the database at `path` for `body`, and leaves one file without a log.
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
        _ target: String, isLocked: Bool, for incoming: String, keepingItAs former: String
    ) throws {
        if access(target, F_OK) == 0 { try Self.link(target, to: former) }
        if !isLocked {
            // SQLite would use an old log for the new file.
            if access(target + "-wal", F_OK) == 0 { try Self.link(target + "-wal", to: former + "-wal") }
            unlink(target + "-wal")
            unlink(target + "-shm")
        }
        try Self.move(incoming, to: target)
    }

    /// Locks a database until the connection is closed. First copies its log into the file, which needs exclusive
    /// access. Returns `nil` if there is no database, or if it is too damaged to be opened.
    private func lockDatabase(_ path: String) throws -> SQLiteConnection? {
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
        // One snapshot for the whole copy: otherwise each commit of another connection restarts it.
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
            let (remaining, all) = (sqlite3_backup_remaining(backup), sqlite3_backup_pagecount(backup))
            progress(all > 0 ? Double(all - remaining) / Double(all) : 1)
        }
        guard sqlite3_backup_finish(backup) == SQLITE_OK, result == SQLITE_DONE else {
            throw sqlite3_errcode(target.handle) == SQLITE_OK ? source.failure() : target.failure()
        }
        try target.leaveWriteAheadLog(within: limits.busyTimeout)
    }

    /// Returns the path of the file that symbolic links lead to. The file may be missing.
    package static func resolvingLinks(_ path: String) -> String {
        var path = path
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
                .cannotOpen, "The database \(path) cannot be renamed to \(other): \(String(cString: strerror(errno))).")
        }
    }

    /// Renames a file and syncs the folder.
    private static func move(_ path: String, to other: String) throws(SQLError) {
        guard rename(path, other) == 0 else {
            throw SQLError(
                .cannotOpen, "The file \(path) cannot be renamed to \(other): \(String(cString: strerror(errno))).")
        }
        let parent = (other as NSString).deletingLastPathComponent
        let folder = open(parent.isEmpty ? "." : parent, O_RDONLY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }
}
