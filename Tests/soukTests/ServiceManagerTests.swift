import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import Testing

/// `souk serve` under a service manager: notifications, the watchdog, and a socket that is handed over.
@Suite struct ServiceManagerTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var options: [String] {
        ["serve", "--database", "sqlite:" + folder.file("ledger.sqlite"), "--bundle-id", "com.example.darkroom"]
    }

    /// Starts a server that gets the socket as its descriptor 3.
    private func serve(
        on socket: ServiceManagerSockets.Listening, _ more: String...
    ) async throws -> (child: ChildProgram, url: String?) {
        let child = try ChildProgram(
            "/bin/sh", ["-c", "LISTEN_PID=$$ exec \"$@\"", "sh", SoukExecutable.path()] + options + more,
            environment: ["LISTEN_FDS": "1"], output: .captured, errors: .captured, socket: socket.descriptor)
        let greeting = await child.output.firstLine().flatMap { try? JSONValue(parsing: $0) }
        return (child, greeting?["listening"]?.stringValue)
    }

    private func status(_ url: String) async throws -> Int {
        try await CurlTransport.platformDefault().send(HTTPRequest(method: .get, url: url)).status
    }

    @Test(arguments: [false, true])
    func `the manager learns that the server is ready, reloads and stops`(isAbstract: Bool) async throws {
        let manager = try ServiceManagerSockets.Notifications(isAbstract: isAbstract)
        let server = try await SoukService(options, environment: ["NOTIFY_SOCKET": manager.name])
        try await manager.wait(for: "READY=1")
        #expect(manager.messages.first == "STATUS=Listening at \(server.url)")
        #expect(try await status(server.url + "/readyz") == 200)
        server.signal(SIGHUP)
        try await manager.wait(for: "READY=1", count: 2)
        #expect(try await status(server.url + "/readyz") == 200)
        #expect(await server.stop() == 0)
        try await manager.wait(for: "STOPPING=1")
        #expect(manager.names == ["STATUS", "READY", "RELOADING", "READY", "STOPPING"])
        #expect(manager.messages[2].firstMatch(of: /^RELOADING=1\nMONOTONIC_USEC=[0-9]+$/) != nil)
    }

    @Test func `a watchdog gets signs of life, and one of another process gets none`() async throws {
        let manager = try ServiceManagerSockets.Notifications()
        let environment = ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "20000"]
        let server = try await SoukService(options, environment: environment)
        try await manager.wait(for: "WATCHDOG=1", count: 3)
        #expect(await server.stop() == 0)

        for other in [["WATCHDOG_PID": "1"], ["WATCHDOG_USEC": "0"], ["WATCHDOG_USEC": "soon"]] {
            let other = environment.merging(other) { $1 }
            let manager = try ServiceManagerSockets.Notifications()
            let server = try await SoukService(
                options, environment: other.merging(["NOTIFY_SOCKET": manager.name]) { $1 })
            #expect(await server.stop() == 0)
            try await manager.wait(for: "STOPPING=1")
            #expect(manager.names == ["STATUS", "READY", "STOPPING"])
        }
    }

    @Test(arguments: ["", "/missing/notify", "vsock:2:1", "@" + String(repeating: "a", count: 200)])
    func `a server serves although its notifications cannot be sent`(name: String) async throws {
        let server = try await SoukService(options, environment: ["NOTIFY_SOCKET": name])
        #expect(try await status(server.url + "/readyz") == 200)
        #expect(await server.stop() == 0)
    }

    @Test func `a request between two servers waits in the socket, and the next server answers it`() async throws {
        let socket = try ServiceManagerSockets.Listening()
        let first = try await serve(on: socket, "--host", "192.0.2.1", "--port", "1")
        #expect(first.url == socket.url)
        #expect(try await status(socket.url + "/readyz") == 200)
        first.child.terminate()
        #expect(await first.child.end() == 0)
        let waiting = try RawSocket(to: socket.url)
        waiting.send(Array("GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8))
        let second = try await serve(on: socket)
        #expect(second.url == socket.url)
        #expect(String(decoding: await waiting.receive(), as: UTF8.self).hasPrefix("HTTP/1.1 200 "))
        second.child.terminate()
        #expect(await second.child.end() == 0)
    }

    @Test func `while a server is replaced three times under load, every request is answered`() async throws {
        let socket = try ServiceManagerSockets.Listening(isDeferred: true)
        let isOver = Locked(false)
        var server = try await serve(on: socket)
        let answers = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var answers: [String] = []
                    while !isOver.withLock({ $0 }) {
                        let client = try RawSocket(to: socket.url)
                        client.send(Array("GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8))
                        answers.append(String(decoding: await client.receive(upTo: 13), as: UTF8.self))
                    }
                    return answers
                }
            }
            for _ in 0..<3 {
                server.child.terminate()
                #expect(await server.child.end() == 0)
                server = try await serve(on: socket)
                #expect(try await status(socket.url + "/readyz") == 200)
            }
            isOver.withLock { $0 = true }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(answers.count > 12 && Set(answers) == ["HTTP/1.1 200 "], "\(Set(answers))")
        server.child.terminate()
        #expect(await server.child.end() == 0)
    }

    @Test func `the socket of another process is ignored`() async throws {
        let server = try await SoukService(options, environment: ["LISTEN_PID": "1", "LISTEN_FDS": "1"])
        #expect(try await status(server.url + "/readyz") == 200)
        #expect(await server.stop() == 0)
    }

    @Test func `several sockets, and one that is no listening socket, are refused before anything is created`()
        async throws
    {
        for (count, sentence) in [
            ("2", "passed 2 sockets, and souk serve takes one"), ("1", "descriptor 3 is not a listening socket"),
        ] {
            let outcome = try await ChildProgram.run(
                "/bin/sh",
                ["-c", "exec 3</dev/null; LISTEN_PID=$$ exec \"$@\"", "sh", SoukExecutable.path()] + options,
                environment: ["LISTEN_FDS": count])
            #expect(outcome.status == 2 && outcome.errors.contains(sentence), "\(outcome)")
            #expect(!FileManager.default.fileExists(atPath: folder.file("ledger.sqlite")))
        }
    }

    @Test func `the console needs TLS on a socket that other machines can reach, whatever --host says`() async throws {
        let socket = try ServiceManagerSockets.Listening(address: "0.0.0.0")
        let server = try await serve(on: socket, "--console", "--host", "127.0.0.1")
        #expect(await server.child.end() == 2)
        #expect(await server.child.errors.text().contains("--console needs TLS or a loopback address"))
    }
}
