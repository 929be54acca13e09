import Foundation
import Primitives

/// A PostgreSQL server of this process' own, in a temporary folder and on a socket there. It ends, and the folder goes,
/// when the process does.
///
///     let url = try await PostgresCluster.shared().makeDatabase()
///
/// Durability is off. The role `souk` owns it and needs no password; `locked` has the password `open sesame`.
package final class PostgresCluster: Sendable {
    /// Where Debian puts the programs, newest version first; else the PATH's.
    private static let programs: String? = {
        let root = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).compactMap(Int.init)
        let folders = versions.sorted(by: >).map { "\(root)/\($0)/bin" }
        let named = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return (folders + named).first { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") }
    }()

    /// Whether PostgreSQL is installed here.
    package static var isAvailable: Bool { programs != nil }

    private static let starting = Locked<Task<PostgresCluster, any Error>?>(nil)

    /// The server of this process, started when it is first asked for.
    ///
    /// Throws when it does not start; the server says why on the standard error.
    package static func shared() async throws -> PostgresCluster {
        try await starting.withLock { task in
            let new = task ?? Task { try await PostgresCluster() }
            task = new
            return new
        }.value
    }

    /// The folder of the socket, of the server's log (`log`) and of its data (`data`).
    package let folder: String
    private let port: Int?
    private let program: ChildProgram
    private let count = Locked(0)

    /// Begins a new cluster, which lives as long as this object and the process.
    ///
    /// - Parameters:
    ///   - primary: the cluster that this one follows as a standby; `nil` for one of its own.
    ///   - backup: the cluster that a base backup is made of; `restore(to:)` starts this one then.
    ///   - port: one of 127.0.0.1 at which it listens too, for TLS alone; the certificate is `server.crt` in the folder.
    ///   - pooled: puts PgBouncer in transaction mode before it, see `pooledURL(of:)`.
    ///   - settings: more of the server's settings, such as `max_prepared_transactions=1`.
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

    /// The script ends the server and removes the folder once its input has ended. The task keeps `program` until then: let go,
    /// it would kill the script at once, and the server would go on.
    deinit {
        program.closeInput()
        Task { [program] in _ = await program.end() }
    }

    /// Settings of a cluster that keeps its log in `archive`, from which a later timestamp than that of a base backup can be restored.
    package static let archiving = [
        "archive_mode=on", "archive_command='mkdir -p ../archive && cp %p ../archive/%f'",
    ]

    /// Starts the cluster that was made of a base backup as the other one was at `timestamp`, in PostgreSQL's notation. It takes
    /// writes when `pg_is_in_recovery()` is false.
    package func restore(to timestamp: String) async { await program.write(timestamp + "\n") }

    /// Ends the server as a crash would. Throws `POSIXError` when it has no process any more.
    package func kill() throws {
        let file = try String(contentsOfFile: "\(folder)/data/postmaster.pid", encoding: .utf8)
        guard let id = file.split(separator: "\n").first.flatMap({ Int32($0) }), Foundation.kill(id, SIGKILL) == 0
        else {
            throw POSIXError(.ESRCH)
        }
    }

    /// Makes an empty database and returns its URL.
    ///
    /// Throws when `psql` cannot.
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

    /// Whether PgBouncer is installed here.
    package static var hasPooler: Bool {
        ["/usr/sbin", "/usr/bin", "/usr/local/bin"].contains { folder in
            FileManager.default.isExecutableFile(atPath: "\(folder)/pgbouncer")
        }
    }

    /// Runs SQL with `psql`, in the database `postgres` unless another is named, and returns what it prints: values without
    /// a header.
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
