import SQLStorage

extension SQLError {
    /// Creates the error of a statement from the server's `message`. `state` is the SQLSTATE
    /// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
    init(state: String, message: String, place: String) {
        func error(_ code: Code, _ text: String) -> SQLError { SQLError(code, text) }
        self =
            switch state {
            case "23505":
                error(.uniqueViolation, "The database \(place) already has a row with this unique value: \(message).")
            case "23503":
                error(.foreignKeyViolation, "A row of the database \(place) must refer to an existing one: \(message).")
            case "23502": error(.notNullViolation, "A value is missing for the database \(place): \(message).")
            case "23514": error(.checkViolation, "The database \(place) refused a value: \(message).")
            case "40001", "40P01":
                error(.conflict, "Concurrent writes to the database \(place) came first; try again.")
            case "42501": error(.cannotOpen, "The role lacks a privilege in the database \(place): \(message).")
            case "25006": error(.readOnly, "The database \(place) is read-only here: \(message).")
            case "53100":
                error(.storageFull, "The disk of the database \(place) is full; free some space and try again.")
            case "55P03":
                error(.busy, "Another transaction kept rows of the database \(place) locked for too long; try again.")
            case "55006": error(.busy, "The database \(place) is in use: \(message).")
            case "53300", "57014":
                error(.busy, "The database \(place) is busy: \(message); try again.")
            case "57P01", "57P02", "57P03", "57P05", "25P03":
                error(.connectionLost, "The database \(place) ended the connection: \(message).")
            case "26000":
                error(
                    .failed,
                    "The database \(place) lost a prepared statement; behind a transaction pooler, such as "
                        + "PgBouncer, open it without prepared statements.")
            default:
                switch state.prefix(2) {
                case "08": error(.connectionLost, "The connection to the database \(place) was lost: \(message).")
                // The message of the server is left out, because it quotes the value.
                case "22": error(.invalidValue, "The database \(place) refused a value (SQLSTATE \(state)).")
                case "23": error(.constraint, "The database \(place) refused a change: \(message).")
                case "28", "3D": error(.cannotOpen, "The database \(place) cannot be opened: \(message).")
                case "42": error(.invalidStatement, "The database \(place) cannot run a statement: \(message).")
                case "58": error(.storageFailed, "The storage of the database \(place) failed: \(message).")
                case "XX": error(.corrupt, "The database \(place) is damaged or has an internal error: \(message).")
                case "53": error(.busy, "The database \(place) lacks a resource: \(message); try again.")
                default: error(.failed, "The database \(place) failed: \(message) (SQLSTATE \(state)).")
                }
            }
    }

    static func closed(_ place: String) -> SQLError { SQLError(.closed, "The database \(place) was closed.") }

    static func lost(_ place: String, _ reason: String) -> SQLError {
        SQLError(.connectionLost, "The connection to the database \(place) was lost: \(reason).")
    }

    /// Whether the same body may run again, because its transaction changed nothing.
    var mayRunAgain: Bool { code == .conflict || code == .connectionLost }
}
