import Primitives

/// The error of a database: a code for the program and a sentence for people. Errors are equal when their codes are.
///
/// The sentence names paths, tables and columns, and never contains a bound value.
public struct SQLError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of an error, from an open list.
    public typealias Code = OpenEnum<SQLError>

    /// The kind of the error.
    public let code: Code
    /// One sentence that says what failed, where, and what to do.
    public let message: String
    /// The error that caused this one.
    public let underlying: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: the kind of the error.
    ///   - message: one sentence that says what failed, where, and what to do.
    ///   - underlying: the error that caused this one.
    public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    public var description: String { message }

    public static func == (left: SQLError, right: SQLError) -> Bool { left.code == right.code }

    /// Whether any constraint of the schema refused the data.
    public var isConstraintViolation: Bool { code.rawValue == "constraint" || code.rawValue.hasPrefix("constraint.") }
}

extension SQLError.Code {
    /// The database cannot be opened: the file is missing and may not be created, is a folder, unreadable or read-only,
    /// or the database server refuses the connection.
    public static var cannotOpen: Self { Self(rawValue: "cannotOpen") }
    /// The file is not a database.
    public static var notADatabase: Self { Self(rawValue: "notADatabase") }
    /// The file is open already. In this process, share the open database. Another process can have locked the file
    /// (``SQLiteDatabase/Configuration/isExclusive``).
    public static var alreadyOpen: Self { Self(rawValue: "alreadyOpen") }
    /// The file is damaged.
    public static var corrupt: Self { Self(rawValue: "corrupt") }
    /// Another connection kept the database locked for longer than the busy timeout. Nothing was changed; try again.
    public static var busy: Self { Self(rawValue: "busy") }
    /// Concurrent writes came first, in every attempt. Nothing was changed; try again.
    public static var conflict: Self { Self(rawValue: "conflict") }
    /// The connection to the database ended before the commit. Nothing was changed; try again.
    public static var connectionLost: Self { Self(rawValue: "connectionLost") }
    /// The connection ended during the commit, which may or may not have succeeded.
    public static var outcomeUnknown: Self { Self(rawValue: "outcomeUnknown") }
    /// The disk of the database is full, or has too little space left for a large write.
    public static var storageFull: Self { Self(rawValue: "storageFull") }
    /// The device or file system under the database failed.
    public static var storageFailed: Self { Self(rawValue: "storageFailed") }
    /// A statement in `read` would change data, or the database is read-only.
    public static var readOnly: Self { Self(rawValue: "readOnly") }
    /// The database was closed.
    public static var closed: Self { Self(rawValue: "closed") }

    /// A constraint of the schema other than the four below refused the data, for example a trigger.
    public static var constraint: Self { Self(rawValue: "constraint") }
    /// A row with this key exists already.
    public static var uniqueViolation: Self { Self(rawValue: "constraint.unique") }
    /// The row refers to a row that does not exist, or another row refers to this row.
    public static var foreignKeyViolation: Self { Self(rawValue: "constraint.foreignKey") }
    /// A column that must have a value has none.
    public static var notNullViolation: Self { Self(rawValue: "constraint.notNull") }
    /// A `CHECK` refused the row.
    public static var checkViolation: Self { Self(rawValue: "constraint.check") }

    /// An applied migration differs from the one in the list, or is at another position in it.
    public static var migrationChanged: Self { Self(rawValue: "migrationChanged") }
    /// The list of migrations is invalid.
    public static var invalidMigration: Self { Self(rawValue: "invalidMigration") }
    /// The tables or the first migration of the database belong to another program.
    public static var otherSchema: Self { Self(rawValue: "otherSchema") }
    /// The database was migrated by a newer version of this program, was moved, or is an unfinished copy.
    public static var newerSchema: Self { Self(rawValue: "newerSchema") }

    /// The SQL is invalid: syntax, an unknown table, placeholders other than `?1` to `?n`, more or fewer values.
    public static var invalidStatement: Self { Self(rawValue: "invalidStatement") }
    /// A value that cannot be stored in every dialect.
    public static var invalidValue: Self { Self(rawValue: "invalidValue") }
    /// The value in a row cannot be read as the requested type.
    public static var unexpectedValue: Self { Self(rawValue: "unexpectedValue") }
    /// A call that the protocol forbids, such as transaction control in a body, or a connection that is used after its
    /// body.
    public static var misuse: Self { Self(rawValue: "misuse") }
    /// Any other error; `message` contains the error message of the database.
    public static var failed: Self { Self(rawValue: "failed") }
}
