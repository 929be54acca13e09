import CPostgreSQL
import Foundation
import Primitives
import SQLStorage

/// The address of a database, the parameters of its connections, and their shared state.
final class PostgresSettings: Sendable {
    let configuration: PostgresDatabase.Configuration
    /// The server and the database, for messages.
    let place: String
    /// `postgres://user@host:port/name`; with `?host=` for the folder of a socket.
    let address: String
    /// The parameters for `PQconnectdbParams`, which uses the last of two with the same name.
    private let parameters: [(String, String)]
    private let options: String
    let roundTrips = Locked(0)
    /// The number of open connections.
    let openConnections = Locked(0)

    /// Throws `cannotOpen` for an invalid URL, and for a password in it that `configuration` does not allow.
    init(url: String, _ configuration: PostgresDatabase.Configuration) throws(SQLError) {
        let parts = try Self.parts(of: url)
        guard parts["password"] == nil || configuration.allowsPasswordInURL else {
            throw SQLError(
                .cannotOpen,
                "The URL of the database has a password, which others on this machine can read; put it into a file that "
                    + "PGPASSFILE names, or into PGPASSWORD.")
        }
        let host = parts["host"] ?? parts["hostaddr"] ?? "localhost"
        let name = parts["dbname"] ?? parts["user"] ?? ""
        place = "\(host)\(parts["port"].map { ":\($0)" } ?? "")/\(name)"
        address = Self.address(host: host, name: name, parts)
        self.configuration = configuration
        let seconds = max(1, configuration.connectTimeout.components.seconds)
        parameters = [
            ("application_name", "souk"), ("connect_timeout", "\(seconds)"),
            ("tcp_user_timeout", "\(seconds * 1000)"), ("keepalives_idle", "30"), ("keepalives_interval", "5"),
            ("keepalives_count", "3"), ("target_session_attrs", "read-write"), ("dbname", url),
            ("client_encoding", "UTF8"),
        ]
        options = parts["options"] ?? ""
    }

    /// The additional parameters of a standby. It can become the primary, so servers of both kinds are accepted.
    private var standby: [(String, String)] {
        configuration.isStandby ? [("target_session_attrs", "any")] : []
    }

    /// The timeout of locks in milliseconds: at least 1, because 0 means no limit.
    private var lockMilliseconds: Int64 {
        let (seconds, attoseconds) = configuration.lockTimeout.components
        return max(1, min(seconds, 1_000_000) * 1000 + attoseconds / 1_000_000_000_000_000)
    }

    /// The settings that limit the duration of locks: how long a transaction can be idle, and how long a statement
    /// waits for a lock.
    private var transactionSettings: [(String, String)] {
        [("idle_in_transaction_session_timeout", "60000"), ("lock_timeout", "\(lockMilliseconds)")]
    }

    /// Returns the statements that begin a transaction of this kind. Behind a pooler they contain the settings of the
    /// transaction, because a pooler refuses settings of a connection and changes the connection between transactions.
    func beginStatements(_ kind: String) throws(SQLError) -> [PostgresQuery] {
        var texts = ["BEGIN ISOLATION LEVEL \(kind)"]
        if !configuration.keepsStatements {
            texts += transactionSettings.map { "SET LOCAL \($0) = \($1)" }
        }
        var queries: [PostgresQuery] = []
        for text in texts {
            queries.append(PostgresQuery(statement: try PostgresStatement(text), values: [], isPrepared: false))
        }
        return queries
    }

    private func options(_ settings: [(String, String)]) -> [(String, String)] {
        let own = configuration.keepsStatements ? settings.map { "-c \($0)=\($1)" } : []
        let all = (own + [options]).filter { !$0.isEmpty }.joined(separator: " ")
        return all.isEmpty ? [] : [("options", all)]
    }

    /// Returns the parameters for `PQconnectdbParams`, which uses the last of two with the same name.
    func parameters(for use: PostgresConnection.Use) -> [(String, String)] {
        switch use {
        case .transactions:
            parameters + standby + options(transactionSettings)
        case .lookups:
            // Each statement is a read-only transaction of its own.
            parameters + [("target_session_attrs", "primary")] + standby
                + options([("default_transaction_read_only", "on")])
        }
    }

    private static func address(host: String, name: String, _ parts: [String: String]) -> String {
        func coded(_ text: String) -> String {
            text.addingPercentEncoding(withAllowedCharacters: .urlHostAllowed.subtracting(["/", "@", ":"])) ?? ""
        }
        let user = parts["user"].map { "\(coded($0))@" } ?? ""
        let port = parts["port"].map { ":\($0)" } ?? ""
        guard host.contains("/") else { return "postgres://\(user)\(host)\(port)/\(coded(name))" }
        return "postgres://\(user)\(port)/\(coded(name))?host=\(host)"
    }

    /// Returns the parameters in the URL as libpq parses them, by name.
    private static func parts(of url: String) throws(SQLError) -> [String: String] {
        guard url.hasPrefix("postgres://") || url.hasPrefix("postgresql://") else {
            throw SQLError(
                .cannotOpen,
                "The URL of a PostgreSQL database begins with postgres://, as in postgres://user@host/name.")
        }
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(url, &message) else {
            // libpq's message quotes the URL.
            if let message { PQfreemem(message) }
            throw SQLError(
                .cannotOpen, "The URL of the database is malformed; write it as postgres://user@host:port/name.")
        }
        defer { PQconninfoFree(options) }
        var parts: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { parts[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return parts
    }
}

/// A cache of translated statements, for all connections.
final class PostgresStatements: Sendable {
    private let statements = Locked<[String: PostgresStatement]>([:])
    private static let limit = 2048

    func statement(_ sql: String) throws(SQLError) -> PostgresStatement {
        if let cached = statements.withLock({ $0[sql] }) { return cached }
        let statement = try PostgresStatement(sql)
        statements.withLock { statements in
            if statements.count >= Self.limit { statements = [:] }
            statements[sql] = statement
        }
        return statement
    }
}
