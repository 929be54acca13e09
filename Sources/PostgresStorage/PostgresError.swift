import SQLStorage

extension SQLError {
    /// The error of a statement from the server at `place`. `state` is its SQLSTATE
    /// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
    init(state: String, said: String, place: String) {
        func made(_ code: Code, _ message: String) -> SQLError { SQLError(code, message) }
        self =
            switch state {
            case "23505": made(.uniqueViolation, "The database \(place) has that row already: \(said).")
            case "23503":
                made(.foreignKeyViolation, "A row of the database \(place) must refer to an existing one: \(said).")
            case "23502": made(.notNullViolation, "A value is missing for the database \(place): \(said).")
            case "23514": made(.checkViolation, "The database \(place) refused a value: \(said).")
            case "40001", "40P01":
                made(.conflict, "Concurrent writes to the database \(place) came first; try again.")
            case "42501": made(.cannotOpen, "The role may not do this in the database \(place): \(said).")
            case "25006": made(.readOnly, "The database \(place) may not be written here: \(said).")
            case "53100":
                made(.storageFull, "There is no room left for the database \(place); make room and try again.")
            case "55P03":
                made(.busy, "Another transaction kept rows of the database \(place) locked for too long; try again.")
            case "55006": made(.busy, "The database \(place) is in use: \(said).")
            case "53300", "57014":
                made(.busy, "The database \(place) is busy: \(said); try again.")
            case "57P01", "57P02", "57P03", "57P05", "25P03":
                made(.connectionLost, "The database \(place) ended the connection: \(said).")
            case "26000":
                made(
                    .failed,
                    "The database \(place) lost a prepared statement; behind a transaction pooler, such as "
                        + "PgBouncer, open it without prepared statements.")
            default:
                switch state.prefix(2) {
                case "08": made(.connectionLost, "The connection to the database \(place) was lost: \(said).")
                // The server's message would quote the value.
                case "22": made(.invalidValue, "The database \(place) refused a value (SQLSTATE \(state)).")
                case "23": made(.constraint, "The database \(place) refused a change: \(said).")
                case "28", "3D": made(.cannotOpen, "The database \(place) cannot be opened: \(said).")
                case "42": made(.invalidStatement, "The database \(place) cannot run a statement: \(said).")
                case "58": made(.storageFailed, "The storage of the database \(place) failed: \(said).")
                case "XX": made(.corrupt, "The database \(place) is damaged or has an internal error: \(said).")
                case "53": made(.busy, "The database \(place) lacks a resource: \(said); try again.")
                default: made(.failed, "The database \(place) failed: \(said) (SQLSTATE \(state)).")
                }
            }
    }

    static func closed(_ place: String) -> SQLError { SQLError(.closed, "The database \(place) was closed.") }

    static func lost(_ place: String, _ said: String) -> SQLError {
        SQLError(.connectionLost, "The connection to the database \(place) was lost: \(said).")
    }

    /// Whether the same body may run again, because nothing was changed.
    var mayRunAgain: Bool { code == .conflict || code == .connectionLost }
}
