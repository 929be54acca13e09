import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// `souk serve` with clients that connect and send no complete request.
@Suite struct ManyConnectionsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let size = 10_000

    /// Whether a process may open enough files for one end of each connection.
    private static let mayOpenEnough: Bool = {
        #if canImport(Glibc)
            var limit = rlimit()
            return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
                && limit.rlim_max >= size + 2000
        #else
            return false
        #endif
    }()

    private func arguments(_ options: String...) -> [String] {
        ["serve", "--database", "sqlite:" + folder.file("ledger.sqlite"), "--bundle-id", "com.example.one"] + options
    }

    /// Sends a request on a new connection.
    private func status(_ server: SoukService) async throws -> Int {
        try await CurlTransport().send(HTTPRequest(method: .get, url: server.url + "/healthz")).status
    }

    /// Returns the number of the server's open sockets. Its open files are not counted, because the ledger opens more
    /// of them for concurrent reads.
    private func sockets(of server: SoukService) throws -> Int {
        let folder = "/proc/\(server.processID)/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).count { descriptor in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(descriptor)")
            return target?.hasPrefix("socket:") ?? false
        }
    }

    @Test(.enabled(if: Self.mayOpenEnough, "the hard limit of open files is below 12000 here, or there is no /proc"))
    func `ten thousand silent or slow connections keep no client out and leave nothing behind`() async throws {
        let server = try await SoukService(arguments("--max-connections", String(Self.size)), openFiles: 256)
        #expect(try await status(server) == 200)
        let before = try sockets(of: server)
        let clients = try IdleClients(at: server.url)
        try await clients.open(Self.size / 2)
        try await clients.open(Self.size / 2, sending: "GET /healthz HTTP/1.1")
        #expect(try await status(server) == 200)
        for _ in 0..<5 {
            try await clients.open(100, sending: "G")
            #expect(try await status(server) == 200)
            // A few more are being closed; some may have timed out.
            #expect((before + 1000...before + Self.size + 300).contains(try sockets(of: server)))
        }
        await clients.close()
        try await until("the server has closed the connections of the clients") { try sockets(of: server) <= before }
        #expect(try await status(server) == 200)
        #expect(await server.stop() == 0)
    }

    @Test func `the limit of connections follows the system's limit of files, and a higher limit is an error`()
        async throws
    {
        func run(files: Int, _ options: String...) async throws -> ChildProgram.Outcome {
            let words = [SoukExecutable.path()] + arguments() + options + ["--stop-with-parent"]
            return try await OutsideJudge.run(
                "/bin/sh", ["-c", "ulimit -n \(files); exec \"$@\"", "sh"] + words, input: "")
        }
        let refused = try await run(files: 3000, "--max-connections", "5000")
        #expect(refused.status == 2)
        #expect(
            refused.errors.contains("--max-connections can be 1976 at most: the system lets this process open 3000"))
        #expect(!FileManager.default.fileExists(atPath: folder.file("ledger.sqlite")))
        let fewer = try await run(files: 3000)
        #expect(fewer.status == 0 && fewer.errors.contains("at most 1976 connections instead of 10000"))
        let highest = try await run(files: 3000, "--max-connections", "1976")
        #expect(highest.status == 0 && !highest.errors.contains("warning"), "\(highest.errors)")
    }
}

/// Clients in another process, because all tests share this process's limit of open files.
private final class IdleClients {
    private static let script = """
        trap '' PIPE
        ulimit -n "$(ulimit -Hn)"
        while read -r count text; do
            for ((i = 0; i < count; i++)); do
                exec {socket}<>"/dev/tcp/127.0.0.1/$1" || exit 1
                if [ -n "$text" ]; then printf %s "$text" >&"$socket"; fi
            done
            echo opened
        done
        """

    private let child: ChildProgram
    private var openings = 0

    init(at url: String) throws {
        let port = url.split(separator: ":").last.map(String.init) ?? ""
        child = try ChildProgram(
            "/bin/bash", ["-c", Self.script, "bash", port], input: .captured, output: .captured, errors: .null)
    }

    /// Opens `count` more connections, and sends `text` on each.
    func open(_ count: Int, sending text: String = "") async throws {
        openings += 1
        await child.write("\(count) \(text)\n")
        try #require(await child.output.contains(String(repeating: "opened\n", count: openings)))
    }

    func close() async {
        child.closeInput()
        #expect(await child.end() == 0)
    }
}
