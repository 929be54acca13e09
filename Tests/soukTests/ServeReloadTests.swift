import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import Testing

/// `souk serve` after SIGHUP.
@Suite struct ServeReloadTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func start(_ options: String..., errors: ChildProgram.Stream = .captured) async throws -> (
        child: ChildProgram, url: String
    ) {
        let child = try ChildProgram(
            SoukExecutable.path(),
            ["serve", "--database", "sqlite:" + folder.file("ledger.sqlite"), "--bundle-id", "com.example.darkroom"]
                + options, output: .captured, errors: errors)
        let greeting = try JSONValue(parsing: try #require(await child.output.firstLine()))
        return (child, try #require(greeting["listening"]?.stringValue))
    }

    private func stop(_ child: ChildProgram) async {
        child.terminate()
        #expect(await child.end() == 0)
    }

    /// Writes a new certificate for 127.0.0.1, and its key.
    private func makeCertificate(_ certificate: String, _ key: String) async throws {
        let outcome = try await ChildProgram.run(
            "/usr/bin/env",
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "3650",
                "-out", certificate, "-keyout", key,
            ])
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    private func signal(_ child: ChildProgram, andAwait line: String) async throws {
        child.signal(SIGHUP)
        #expect(await child.errors.contains(line), "\(child.errors.soFar)")
    }

    @Test func `a new certificate is used while requests run, and no request fails`() async throws {
        let (certificate, key) = (folder.file("chain.pem"), folder.file("key.pem"))
        let (former, fresh, both) = (folder.file("former.pem"), folder.file("fresh.pem"), folder.file("both.pem"))
        try await makeCertificate(certificate, key)
        try FileManager.default.copyItem(atPath: certificate, toPath: former)
        let freshKey = folder.file("fresh-key.pem")
        try await makeCertificate(fresh, freshKey)
        _ = try folder.write("both.pem", try folder.text("former.pem") + folder.text("fresh.pem"))
        let (child, url) = try await start("--tls-certificate", certificate, "--tls-key", key)
        let request = HTTPRequest(method: .get, url: url + "/readyz")
        let kept = loopbackTransport(trusting: former)
        #expect(try await kept.send(request).status == 200)

        let isOver = Locked(false)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<3 {
                group.addTask { () async throws -> Int in
                    var count = 0
                    while !isOver.withLock({ $0 }) {
                        // Each transport makes a connection of its own.
                        #expect(try await loopbackTransport(trusting: both).send(request).status == 200)
                        count += 1
                    }
                    return count
                }
            }
            for (path, other) in [(certificate, fresh), (key, freshKey)] {
                _ = try folder.write(
                    String(path.split(separator: "/").last!), try String(contentsOfFile: other, encoding: .utf8))
            }
            try await signal(child, andAwait: #""reloaded""#)
            #expect(try await loopbackTransport(trusting: fresh).send(request).status == 200)
            await #expect(throws: HTTPError(.tlsFailed, "")) {
                try await loopbackTransport(trusting: former).send(request)
            }
            // The connection with the former certificate is still open.
            #expect(try await kept.send(request).status == 200)
            isOver.withLock { $0 = true }
            for try await count in group { #expect(count > 0) }
        }
        await stop(child)
    }

    @Test func `wrong settings change nothing, and the log says why`() async throws {
        let (certificate, key) = (folder.file("chain.pem"), folder.file("key.pem"))
        try await makeCertificate(certificate, key)
        let former = folder.file("former.pem")
        try FileManager.default.copyItem(atPath: certificate, toPath: former)
        let settings: JSONValue = [
            "port": 0, "tlsCertificate": .string(certificate), "tlsKey": .string(key), "log": "refusals",
        ]
        let file = try folder.write("souk.json", settings.text())
        let (child, url) = try await start("--config", file)
        let request = HTTPRequest(method: .get, url: url + "/readyz")
        var other = settings
        other["log"] = "requests"
        _ = try folder.write("souk.json", other.text())
        try await makeCertificate(folder.file("unused.pem"), key)
        try await signal(child, andAwait: "matching PEM files")
        other["tlsKey"] = nil
        other["tlsCertificate"] = nil
        _ = try folder.write("souk.json", other.text())
        try await signal(child, andAwait: "https needs a restart")
        _ = try folder.write("souk.json", "{")
        try await signal(child, andAwait: "this is not JSON")
        #expect(try await loopbackTransport(trusting: former).send(request).status == 200)
        await stop(child)
        let log = child.errors.soFar
        #expect(!log.contains("BEGIN") && !log.contains(#""reloaded""#) && !log.contains("getReadiness"), "\(log)")
        let lines = try log.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        #expect(lines.map { $0["requestID"] } == ["start", "reload", "reload", "reload", "stop", "stopped"])
        #expect(lines.first?["listening"] == .string(url) && lines.first?["version"]?.stringValue?.isEmpty == false)
    }

    @Test func `the log and the keys that sign answers are replaced, and other changes are named`() async throws {
        func makeKey(_ name: String) async throws {
            let made = try await SoukExecutable.run(["keys", "create", "--signing", folder.file(name)])
            try #require(made.status == 0, "\(made.errors)")
        }
        try await makeKey("one.pem")
        try await makeKey("two.pem")
        let file = try folder.write(
            "souk.json", JSONValue.object(["signingKey": .string(folder.file("one.pem"))]).text())
        let (child, url) = try await start("--config", file)
        let network = CurlTransport.platformDefault()
        func publishedKeys() async throws -> [String] {
            let request = HTTPRequest(method: .get, url: url + "/v1/signing-keys")
            let body = try await network.send(request).body.collect(upTo: 1 << 16)
            return try JSONValue(parsing: body)["keys"]?.arrayValue?.compactMap { $0["id"]?.stringValue } ?? []
        }
        let former = try await publishedKeys()
        #expect(!child.errors.soFar.contains("getSigningKeys"))
        let changed: JSONValue = [
            "signingKey": [.string(folder.file("two.pem")), .string(folder.file("one.pem"))], "log": "requests",
            "transferMode": "share", "eventRetention": "1d", "apps": [["bundleId": "com.example.other"]],
            "webPurchases": [
                [
                    "name": "shop", "bundleId": "com.example.darkroom", "environment": "sandbox",
                    "secretFiles": [.string(try folder.write("shop.secret", "0123456789abcdef"))],
                ]
            ],
        ]
        _ = try folder.write("souk.json", changed.text())
        try await signal(child, andAwait: #""needsRestart":["eventRetention","apps","webPurchases"]"#)
        let fresh = try await publishedKeys()
        #expect(former.count == 1 && fresh.count == 2 && fresh.last == former.first)
        #expect(await child.errors.contains("getSigningKeys"))
        await stop(child)
    }

    @Test func `a server under nohup ignores SIGHUP`() async throws {
        let manager = try ServiceManagerSockets.Notifications()
        let child = try ChildProgram(
            "/bin/sh",
            [
                "-c", "trap '' HUP; exec \"$@\"", "sh", SoukExecutable.path(), "serve",
                "--database", "sqlite:" + folder.file("ledger.sqlite"), "--bundle-id", "com.example.darkroom",
            ], environment: ["NOTIFY_SOCKET": manager.name], output: .captured)
        #expect(await child.output.firstLine() != nil)
        child.signal(SIGHUP)
        await stop(child)
        try await manager.wait(for: "STOPPING=1")
        #expect(manager.names == ["STATUS", "READY", "STOPPING"])
    }

    @Test func `a server whose terminal is closed stops`() async throws {
        let script = """
            import os, pty, sys
            child, terminal = pty.fork()
            if child == 0:
                os.execv(sys.argv[1], sys.argv[1:])
            text = b""
            while b"\\n" not in text:
                text += os.read(terminal, 1000)
            assert b"listening" in text, text
            os.close(terminal)
            print(os.waitpid(child, 0)[1])
            """
        let outcome = try await ChildProgram.run(
            "/usr/bin/env",
            [
                "python3", "-c", script, SoukExecutable.path(), "serve",
                "--database", "sqlite:" + folder.file("ledger.sqlite"), "--bundle-id", "com.example.darkroom",
            ])
        #expect(outcome.status == 0 && outcome.output == "0\n", "\(outcome)")
    }
}
