import BaseTestSupport
import HostTestSupport
import SQLStorage
import Testing

@testable import PostgresStorage

/// TLS to the database, set by libpq's parameters in the URL.
@Suite(.enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"))
struct PostgresTLSTests {
    @Test func `a server is accepted only over TLS, and only with the root in the URL and the name in its certificate`()
        async throws
    {
        let port = try ReservedPort()
        let first = try await PostgresCluster(port: port.number)
        let server = "postgres://souk@127.0.0.1:\(port.number)/postgres"
        let database = try PostgresDatabase(url: "\(server)?sslmode=verify-full&sslrootcert=\(first.folder)/server.crt")
        let row = try database.read { connection in
            try connection.first("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        }
        #expect(row?.values == [1])
        await database.close()

        let other = "\(first.folder)/other"
        _ = try await ChildProgram.run(
            "/usr/bin/env",
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                "/CN=127.0.0.1", "-days", "2", "-keyout", other + ".key", "-out", other + ".crt",
            ])
        for refused in [
            // Another root, another name, no TLS.
            "\(server)?sslmode=verify-full&sslrootcert=\(other).crt",
            "postgres://souk@localhost:\(port.number)/postgres?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert=\(first.folder)/server.crt",
            "\(server)?sslmode=disable",
        ] {
            let error = #expect(throws: SQLError(.cannotOpen, "")) { try PostgresDatabase(url: refused) }
            #expect(error?.message.contains("cannot be opened") == true, "\(String(describing: error))")
        }
    }
}
