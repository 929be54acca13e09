import CSQLite
import Foundation
import Primitives

extension SQLError {
    static func closed(_ path: String) -> SQLError {
        SQLError(.closed, "The database \(path) was closed.")
    }

    /// The error of the last failed call on a connection to the file at `path`.
    init(sqlite handle: OpaquePointer, path: String) {
        let extended = sqlite3_extended_errcode(handle)
        let message = String(cString: sqlite3_errmsg(handle))
        switch Int(extended) {
        case CSQLITE_CONSTRAINT_UNIQUE, CSQLITE_CONSTRAINT_PRIMARYKEY, CSQLITE_CONSTRAINT_ROWID:
            self.init(.uniqueViolation, "The database \(path) already has a row with this unique value: \(message).")
            return
        case CSQLITE_CONSTRAINT_FOREIGNKEY:
            self.init(
                .foreignKeyViolation, "A row of the database \(path) must refer to an existing one: \(message).")
            return
        case CSQLITE_CONSTRAINT_NOTNULL:
            self.init(.notNullViolation, "A value is missing for the database \(path): \(message).")
            return
        case CSQLITE_CONSTRAINT_CHECK:
            self.init(.checkViolation, "The database \(path) refused a value: \(message).")
            return
        default: break
        }
        let cause = sqlite3_system_errno(handle)
        let reason = cause == 0 ? message : "\(message) (\(String(cString: strerror(cause))))"
        switch extended & 0xFF {
        case SQLITE_CONSTRAINT:
            self.init(.constraint, "The database \(path) refused a change: \(message).")
        case SQLITE_NOTADB:
            DamagedFiles.note(path)
            self.init(.notADatabase, "The file \(path) is not a database; name another file.")
        case SQLITE_CORRUPT:
            DamagedFiles.note(path)
            self.init(.corrupt, "The database \(path) is damaged (\(message)); restore it from a backup.")
        case SQLITE_BUSY, SQLITE_LOCKED:
            self.init(.busy, "The database \(path) is locked by another process; try again.")
        case SQLITE_FULL:
            self.init(.storageFull, "The disk of the database \(path) is full; free some space and try again.")
        case SQLITE_IOERR:
            self.init(.storageFailed, "The storage of the database \(path) failed: \(reason).")
        case SQLITE_READONLY:
            self.init(.readOnly, "The database \(path) may not be written: \(reason).")
        case SQLITE_CANTOPEN, SQLITE_PERM:
            self.init(.cannotOpen, "The database \(path) cannot be opened: \(reason).")
        case SQLITE_AUTH:
            self.init(
                .misuse,
                "A statement for the database \(path) must not control transactions, attach databases or set pragmas.")
        case SQLITE_TOOBIG:
            self.init(.invalidValue, "A value is too large for the database \(path).")
        case SQLITE_ERROR, SQLITE_RANGE, SQLITE_MISMATCH:
            self.init(.invalidStatement, "The database \(path) cannot run a statement: \(message).")
        default:
            self.init(.failed, "The database \(path) failed: \(reason) (SQLite result \(extended)).")
        }
    }
}

/// Files that are damaged or truncated. Their write-ahead log is no longer copied into the file and remains beside it,
/// because it may have data that the file has lost, for example after a truncation.
enum DamagedFiles {
    private static let paths = Locked<Set<String>>([])

    static func note(_ path: String) { paths.withLock { _ = $0.insert(path) } }
    /// Forgets a path, because another file may have it now.
    static func forget(_ path: String) { paths.withLock { _ = $0.remove(path) } }
    static func contains(_ path: String) -> Bool { paths.withLock { $0.contains(path) } }
}
