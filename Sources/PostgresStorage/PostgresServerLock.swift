import Primitives
import SQLStorage

/// Keeps other programs that ask for the same from a database, for as long as this process lives.
///
/// A session's advisory lock, so it needs a connection of its own that no pooler shares. The server frees it when the
/// connection ends.
final class PostgresServerLock: Sendable {
    /// Of Souk's own choice, the same in each version: the letters `souk.one`.
    private static let key = SQLValue.integer(0x736f_756b_2e6f_6e65)

    private let settings: PostgresSettings
    private let connection: Locked<PostgresConnection?>

    /// Throws `alreadyOpen` when another program has the lock.
    init(_ settings: PostgresSettings) throws(SQLError) {
        self.settings = settings
        connection = Locked(try Self.take(settings))
    }

    /// Takes the lock again where the connection ended. Throws `alreadyOpen` when another program was faster, and what
    /// connecting throws.
    func check() throws {
        // One at a time: a second connection of this program would not get the lock either.
        try connection.withLock { connection in
            if let current = connection {
                if Self.isAlive(current) { return }
                current.close()
                connection = nil
            }
            connection = try Self.take(settings)
        }
    }

    func close() {
        connection.withLock { connection in
            connection?.close()
            connection = nil
        }
    }

    private static func isAlive(_ connection: PostgresConnection) -> Bool {
        guard let statement = try? PostgresStatement("SELECT 1") else { return false }
        return (try? connection.exchange([PostgresQuery(statement: statement, values: [], isKept: false)])) != nil
    }

    private static func take(_ settings: PostgresSettings) throws(SQLError) -> PostgresConnection {
        let connection = try PostgresConnection(settings, for: .transactions)
        let query = PostgresQuery(
            statement: try PostgresStatement("SELECT pg_try_advisory_lock(?1) AS is_held"), values: [key], isKept: false
        )
        do throws(SQLError) {
            guard try connection.exchange([query]).first?.rows.first?.values == [.integer(1)] else {
                throw SQLError(
                    .alreadyOpen,
                    "Another server has the database \(settings.place); stop it first. Several servers on one database "
                        + "are not built yet.")
            }
            return connection
        } catch {
            connection.close()
            throw error
        }
    }
}
