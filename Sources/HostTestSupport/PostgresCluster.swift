import Foundation
import Primitives

/// A PostgreSQL server of this process, with its data and its socket in a temporary folder. When this object is
/// released or the process ends, the server stops and the folder is removed.
///
///     let url = try await PostgresCluster.shared().makeDatabase()
///
/// Durability is off. The role `souk` is the owner and needs no password; `locked` has the password `open sesame`.
package final class PostgresCluster: Sendable {
    /// The folder with the programs: Debian's folder for the newest version, or else a folder of the PATH.
    private static let programs: String? = {
        let root = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).compactMap(Int.init)
        let folders = versions.sorted(by: >).map { "\(root)/\($0)/bin" }
        let named = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return (folders + named).first { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") }
    }()

    /// Whether PostgreSQL is installed.
    package static var isAvailable: Bool { programs != nil }

    private static let starting = Locked<Task<PostgresCluster, any Error>?>(nil)

    /// Returns the server of this process, and starts it at the first call.
    ///
    /// Throws when it does not start; the server prints the reason on standard error.
    package static func shared() async throws -> PostgresCluster {
        try await starting.withLock { task in
            let new = task ?? Task { try await PostgresCluster() }
            task = new
            return new
        }.value
    }

    /// The folder of the socket, the server's log (`log`) and its data (`data`).
    package let folder: String
    private let port: Int?
    private let program: ChildProgram
    private let count = Locked(0)

    /// Creates a cluster, which runs until this object is released or the process ends.
    ///
    /// - Parameters:
    ///   - primary: The cluster that this one follows as a standby; `nil` for a primary.
    ///   - backup: The cluster to take a base backup of; `restore(to:)` starts this cluster from the backup.
    ///   - port: A port of 127.0.0.1 for TLS; the certificate is `server.crt` in the folder.
    ///   - pooled: Whether PgBouncer in transaction mode is in front of it, see `pooledURL(of:)`.
    ///   - settings: More settings of the server, such as `max_prepared_transactions=1`.
    package init(
        standbyOf primary: PostgresCluster? = nil, backupOf backup: PostgresCluster? = nil, port: Int? = nil,
        pooled: Bool = false, settings: [String] = []
    ) async throws {
        self.port = port
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Scripts/support/postgres-cluster")
        var words = [script.path]
        if let primary { words.append("standby-of=\(primary.folder)") }
        if let backup { words.append("backup-of=\(backup.folder)") }
        if let port { words.append("tls=\(port)") }
        if pooled { words.append("pooler") }
        words += ["fsync=off", "full_page_writes=off"] + settings
        program = try ChildProgram("/bin/sh", words, input: .captured, output: .captured)
        guard let line = await program.output.firstLine(), !line.isEmpty else { throw POSIXError(.ECHILD) }
        folder = line
    }

    /// The script stops the server and removes the folder when its input ends. The task keeps `program` until then: its
    /// deallocation would kill the script at once, and the server would continue.
    deinit {
        program.closeInput()
        Task { [program] in _ = await program.end() }
    }

    /// Settings that archive the write-ahead log in `archive`, so that a state after a base backup can be restored.
    package static let archiving = [
        "archive_mode=on", "archive_command='mkdir -p ../archive && cp %p ../archive/%f'",
    ]

    /// Starts the cluster from the base backup in the state at `timestamp`, in PostgreSQL's notation. The cluster
    /// accepts writes as soon as `pg_is_in_recovery()` is false.
    package func restore(to timestamp: String) async { await program.write(timestamp + "\n") }

    /// Kills the server, as in a crash. Throws an error when the server has no process any more.
    package func kill() throws {
        let file = try String(contentsOfFile: "\(folder)/data/postmaster.pid", encoding: .utf8)
        guard let id = file.split(separator: "\n").first.flatMap({ Int32($0) }), Foundation.kill(id, SIGKILL) == 0
        else {
            throw POSIXError(.ESRCH)
        }
    }

    /// Creates an empty database and returns its URL.
    ///
    /// Throws when `psql` fails.
    package func makeDatabase() async throws -> String {
        let name = "test\(count.withLock { count in count += 1; return count })"
        try await run("CREATE DATABASE \(name) TEMPLATE template0")
        return url(of: name)
    }

    /// The URL of the database `name`, for the owner or another role.
    package func url(of name: String, as role: String = "souk") -> String {
        "postgres://\(role)@/\(name)?host=\(folder)"
    }

    /// The URL of the database `name` behind the pooler.
    package func pooledURL(of name: String) -> String { url(of: name) + "&port=6432" }

    /// Whether PgBouncer is installed.
    package static var hasPooler: Bool {
        ["/usr/sbin", "/usr/bin", "/usr/local/bin"].contains { folder in
            FileManager.default.isExecutableFile(atPath: "\(folder)/pgbouncer")
        }
    }

    /// Runs SQL with `psql`, in the database `postgres` by default, and returns its output: values without a header.
    @discardableResult
    package func run(_ sql: String, in database: String = "postgres") async throws -> String {
        let outcome = try await ChildProgram.run(
            "\(Self.programs ?? "")/psql",
            [
                "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", folder, "-p", "\(port ?? 5432)", "-U", "souk",
                "-d", database,
            ],
            input: .text(sql))
        guard outcome.status == 0 else {
            FileHandle.standardError.write(Data(outcome.errors.utf8))
            throw POSIXError(.EIO)
        }
        return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
