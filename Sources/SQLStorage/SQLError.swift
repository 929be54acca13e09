import Primitives

/// Why a database did not do what it was asked: a code to act on and a sentence to read. Equal when the codes are.
///
/// Never holds a bound value; what it names are paths, tables and columns.
public struct SQLError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What went wrong, from an open list.
    public typealias Code = OpenEnum<SQLError>

    public let code: Code
    /// One sentence: what happened, where, and what to do about it.
    public let message: String
    /// What caused it, where another module's error did.
    public let underlying: (any Error)?

    public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    public var description: String { message }

    public static func == (left: SQLError, right: SQLError) -> Bool { left.code == right.code }

    /// Whether a rule of the schema refused the data, whichever rule it was.
    public var isConstraintViolation: Bool { code.rawValue == "constraint" || code.rawValue.hasPrefix("constraint.") }
}

extension SQLError.Code {
    /// The file is missing where it may not be made, a folder, unreadable or read-only.
    public static var cannotOpen: Self { Self(rawValue: "cannotOpen") }
    /// The file is something else than a database.
    public static var notADatabase: Self { Self(rawValue: "notADatabase") }
    /// The file is open in this process already, and the database should be shared; or, where it was to be exclusive,
    /// another process has it.
    public static var alreadyOpen: Self { Self(rawValue: "alreadyOpen") }
    /// The file is damaged.
    public static var corrupt: Self { Self(rawValue: "corrupt") }
    /// Somebody else kept the database locked for longer than the busy timeout; nothing happened, try again.
    public static var busy: Self { Self(rawValue: "busy") }
    /// Others who wrote at the same time were first, every time that this was tried; nothing happened, try again.
    public static var conflict: Self { Self(rawValue: "conflict") }
    /// The connection to the database ended before the commit; nothing happened, try again.
    public static var connectionLost: Self { Self(rawValue: "connectionLost") }
    /// The connection ended while the commit was on its way: it may have happened or not.
    public static var outcomeUnknown: Self { Self(rawValue: "outcomeUnknown") }
    /// There is no room left where the database is.
    public static var storageFull: Self { Self(rawValue: "storageFull") }
    /// The device or file system under the database failed.
    public static var storageFailed: Self { Self(rawValue: "storageFailed") }
    /// A statement in `read` would change something, or the file may not be written.
    public static var readOnly: Self { Self(rawValue: "readOnly") }
    /// The database was closed.
    public static var closed: Self { Self(rawValue: "closed") }

    /// A rule of the schema other than the four below, for example a trigger's.
    public static var constraint: Self { Self(rawValue: "constraint") }
    /// A row with this key exists already.
    public static var uniqueViolation: Self { Self(rawValue: "constraint.unique") }
    /// The row refers to one that does not exist, or is referred to.
    public static var foreignKeyViolation: Self { Self(rawValue: "constraint.foreignKey") }
    /// A column that must have a value has none.
    public static var notNullViolation: Self { Self(rawValue: "constraint.notNull") }
    /// A `CHECK` refused the row.
    public static var checkViolation: Self { Self(rawValue: "constraint.check") }

    /// An applied migration differs from the one in the list, or stands elsewhere in it.
    public static var migrationChanged: Self { Self(rawValue: "migrationChanged") }
    /// The list of migrations is wrong in itself.
    public static var invalidMigration: Self { Self(rawValue: "invalidMigration") }
    /// The database is of another kind: its first migration is none of this program's.
    public static var otherSchema: Self { Self(rawValue: "otherSchema") }
    /// The database was migrated by a newer version of this program.
    public static var newerSchema: Self { Self(rawValue: "newerSchema") }

    /// The SQL is wrong: syntax, an unknown table, other placeholders than `?1` to `?n`, more or fewer values.
    public static var invalidStatement: Self { Self(rawValue: "invalidStatement") }
    /// A value that cannot be stored in every dialect.
    public static var invalidValue: Self { Self(rawValue: "invalidValue") }
    /// A row's value is not of the type it is read as.
    public static var unexpectedValue: Self { Self(rawValue: "unexpectedValue") }
    /// A call the contract forbids: transaction control in a body, a connection used after its body.
    public static var misuse: Self { Self(rawValue: "misuse") }
    /// Anything else; the message says what the database said.
    public static var failed: Self { Self(rawValue: "failed") }
}
