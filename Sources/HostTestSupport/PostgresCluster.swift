import Foundation
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A PostgreSQL server of this process' own, in a temporary folder and on a socket there. It ends, and the folder goes,
/// when the process does.
///
///     let url = try await PostgresCluster.shared().makeDatabase()
///
/// Durability is off, and everybody on this machine who may open the socket is let in, but for the role `locked`, which
/// has the password `open sesame`.
public final class PostgresCluster: Sendable {
    /// Where Debian puts the programs, newest version first; else the PATH's.
    private static let programs: String? = {
        let root = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).compactMap(Int.init)
        let folders = versions.sorted(by: >).map { "\(root)/\($0)/bin" }
        let named = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return (folders + named).first { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") }
    }()

    /// Whether PostgreSQL is installed here.
    public static var isAvailable: Bool { programs != nil }

    private static let starting = Locked<Task<PostgresCluster, any Error>?>(nil)

    /// The server of this process, started when it is first asked for.
    ///
    /// Throws when it does not start; the server says why on the standard error.
    public static func shared() async throws -> PostgresCluster {
        try await starting.withLock { task in
            let new = task ?? Task { try await PostgresCluster() }
            task = new
            return new
        }.value
    }

    /// The folder of the socket, of the server's log (`log`) and of its data (`data`).
    public let folder: String
    private let program: ChildProgram
    private let count = Locked(0)

    /// Begins a new cluster, which lives as long as this object and the process.
    ///
    /// - Parameter settings: more of the server's settings, such as `max_prepared_transactions=1`.
    public init(settings: [String] = []) async throws {
        guard let programs = Self.programs else { throw POSIXError(.ENOENT) }
        let options = (["listen_addresses=", "fsync=off", "full_page_writes=off"] + settings).map { "-c '\($0)'" }
        // The shell waits for the end of its input, which comes with the end of this process, however that ends.
        let script = """
            umask 077
            folder=$(mktemp -d /tmp/souk-postgres-XXXXXX) || exit 1
            trap 'rm -rf "$folder"' EXIT
            cd "$folder"
            printf 'open sesame' >password
            "$0/initdb" -D data -U souk -A trust -E UTF8 --locale=C --no-sync >log 2>&1 || { cat log >&2; exit 1; }
            printf 'local all locked scram-sha-256\\nlocal all all trust\\n' >data/pg_hba.conf
            "$0/postgres" -D data -k "$folder" \(options.joined(separator: " ")) >log 2>&1 </dev/null &
            server=$!
            until "$0/pg_isready" -q -h "$folder"; do
                kill -0 $server 2>/dev/null || { cat log >&2; exit 1; }
                sleep 0.05
            done
            "$0/psql" -q -h "$folder" -U souk -d postgres -c "CREATE ROLE locked LOGIN PASSWORD 'open sesame'"
            echo "$folder"
            cat >/dev/null
            kill -INT $server
            wait $server
            """
        let arguments = ["sh", "-c", script, programs]
        // PostgreSQL refuses to run as root.
        let asUser = geteuid() == 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] : []
        program = try ChildProgram("/usr/bin/env", asUser + arguments, input: .captured, output: .captured)
        guard let line = await program.output.firstLine(), !line.isEmpty else { throw POSIXError(.ECHILD) }
        folder = line
    }

    /// Makes an empty database and returns its URL.
    ///
    /// Throws when `psql` cannot.
    public func makeDatabase() async throws -> String {
        let name = "test\(count.withLock { count in count += 1; return count })"
        try await run("CREATE DATABASE \(name) TEMPLATE template0")
        return url(of: name)
    }

    /// The URL of the database `name`, for the owner or another role.
    public func url(of name: String, as role: String = "souk") -> String {
        "postgres://\(role)@/\(name)?host=\(folder)"
    }

    /// Runs SQL with `psql`, in the database `postgres` unless another is named, and returns what it prints: values without
    /// a header.
    @discardableResult
    public func run(_ sql: String, in database: String = "postgres") async throws -> String {
        let outcome = try await ChildProgram.run(
            "\(Self.programs ?? "")/psql",
            ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", folder, "-U", "souk", "-d", database],
            input: .text(sql))
        guard outcome.status == 0 else {
            FileHandle.standardError.write(Data(outcome.errors.utf8))
            throw POSIXError(.EIO)
        }
        return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
