import BaseTestSupport
import Dispatch
import Foundation
import HTTPCore
import HTTPListener
import HostTestSupport
import NetworkTestSupport
import Primitives
import Testing

@Suite struct TLSTests {
    @Test func `https is answered to a client that trusts the certificate, and to no other`() async throws {
        try await LoopbackCertificate.withFiles { files in
            try await withListener(echo) {
                $0.tls = .init(certificateFile: files.certificate, privateKeyFile: files.key)
            } body: { address, _ in
                #expect(address.url == "https://127.0.0.1:\(address.port)")
                let trusting = loopbackTransport(trusting: files.certificate)
                for number in 0..<3 {
                    let answer = try await trusting.send(
                        HTTPRequest(method: .post, url: "\(address.url)/\(number)", body: .text("secret")))
                    #expect(answer.body.buffered == Array("POST /\(number)\nsecret".utf8))
                }
                await #expect(throws: HTTPError(.tlsFailed, "")) {
                    try await loopbackTransport().send(HTTPRequest(method: .get, url: address.url))
                }
                let plain = try await RawClient(port: address.port)
                await plain.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try await !plain.receiveToEnd().contains("200 OK"))
            }
        }
    }

    @Test func `a new certificate is for new connections, and the former ones continue`() async throws {
        try await LoopbackCertificate.withFiles { files in
            let folder = (files.certificate as NSString).deletingLastPathComponent
            let fresh = HTTPListener.TLS(
                certificateFile: folder + "/fresh.pem", privateKeyFile: folder + "/fresh-key.pem")
            let made = try await ChildProgram.run(
                "/usr/bin/env",
                [
                    "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "3650",
                    "-out", fresh.certificateFile, "-keyout", fresh.privateKeyFile,
                ])
            try #require(made.status == 0, "\(made.errors)")
            try await withListener(echo) {
                $0.tls = .init(certificateFile: files.certificate, privateKeyFile: files.key)
            } body: { address, listener in
                let request = HTTPRequest(method: .get, url: address.url)
                let kept = loopbackTransport(trusting: files.certificate)
                #expect(try await kept.send(request).status == 200)
                #expect(throws: HTTPListenerError(.tlsFailed, "")) {
                    try listener.replaceCertificate(
                        .init(certificateFile: fresh.certificateFile, privateKeyFile: files.key))
                }
                #expect(try await loopbackTransport(trusting: files.certificate).send(request).status == 200)
                for _ in 0..<3 { try listener.replaceCertificate(fresh) }
                #expect(try await loopbackTransport(trusting: fresh.certificateFile).send(request).status == 200)
                await #expect(throws: HTTPError(.tlsFailed, "")) {
                    try await loopbackTransport(trusting: files.certificate).send(request)
                }
                #expect(try await kept.send(request).status == 200)
            }
        }
    }

    @Test func `a listener without TLS, and one that does not run, get no certificate`() async throws {
        try await LoopbackCertificate.withFiles { files in
            let tls = HTTPListener.TLS(certificateFile: files.certificate, privateKeyFile: files.key)
            try await withListener(echo) { _, listener in
                _ = #expect(throws: HTTPListenerError(.systemFailed, "")) { try listener.replaceCertificate(tls) }
            }
            var configuration = HTTPListener.Configuration()
            configuration.tls = tls
            let listener = HTTPListener(handler: echo, configuration: configuration)
            #expect(throws: HTTPListenerError(.systemFailed, "")) { try listener.replaceCertificate(tls) }
        }
    }

    /// Returns the output of OpenSSL's client for a connection with one version of TLS and all algorithms.
    private func handshake(_ version: String, port: Int) async throws -> String {
        let outcome = try await ChildProgram.run(
            "/usr/bin/env",
            [
                "openssl", "s_client", "-connect", "127.0.0.1:\(port)", "-\(version)", "-cipher", "ALL:@SECLEVEL=0",
            ])
        return outcome.output + outcome.errors
    }

    @Test func `TLS 1.2 and 1.3 are supported, and no older version`() async throws {
        try await LoopbackCertificate.withFiles { files in
            try await withListener(echo) {
                $0.tls = .init(certificateFile: files.certificate, privateKeyFile: files.key)
            } body: { address, _ in
                for (version, name) in [("tls1_2", "TLSv1.2"), ("tls1_3", "TLSv1.3")] {
                    let output = try await handshake(version, port: address.port)
                    #expect(output.contains("New, \(name), Cipher is"), "\(output)")
                }
                for version in ["tls1", "tls1_1"] {
                    let output = try await handshake(version, port: address.port)
                    // The server closed the connection: GnuTLS sends no alert here.
                    #expect(output.contains("CONNECTED") && !output.contains("written 0 bytes"), "\(output)")
                    #expect(output.contains("New, (NONE), Cipher is (NONE)"), "\(output)")
                }
            }
        }
    }

    @Test func `the error names a key that does not match, a missing file and a file without the expected PEM block`()
        async throws
    {
        try await LoopbackCertificate.withFiles { files in
            for (certificate, key, part) in [
                (files.certificate, files.otherKey, "matching"), (files.certificate, files.key + ".no", ".no"),
                (files.key, files.key, "CERTIFICATE"), (files.certificate, files.certificate, "PRIVATE KEY"),
            ] {
                var configuration = HTTPListener.Configuration()
                configuration.tls = .init(certificateFile: certificate, privateKeyFile: key)
                let listener = HTTPListener(handler: echo, configuration: configuration)
                let refused = try #require(throws: HTTPListenerError.self) { try listener.start() }
                #expect(refused.code == .tlsFailed)
                #expect(refused.reason.contains(part))
            }
        }
    }

    @Test func `a listener that fails to start closes only its own descriptors`() async throws {
        try await LoopbackCertificate.withFiles { files in
            var configuration = HTTPListener.Configuration()
            configuration.tls = .init(certificateFile: files.certificate, privateKeyFile: files.otherKey)
            let (isOver, gone) = (Locked(false), Locked(0))
            // The system reuses the lowest number, so these sockets take each one that the listener closes.
            let neighbours = (0..<2).map { number in
                let hasBegun = Signal()
                let end = Task {
                    await withCheckedContinuation { continuation in
                        DispatchQueue(label: "neighbour \(number)").async {
                            while !isOver.withLock({ $0 }) {
                                let descriptors = (0..<64).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
                                hasBegun.fire()
                                let lost = descriptors.count { close($0) != 0 }
                                gone.withLock { $0 += lost }
                            }
                            continuation.resume()
                        }
                    }
                }
                return (hasBegun, end)
            }
            for (hasBegun, _) in neighbours { await hasBegun.wait() }
            for _ in 0..<100 {
                await letOthersRun()
                #expect(throws: HTTPListenerError(.tlsFailed, "")) {
                    try HTTPListener(handler: echo, configuration: configuration).start()
                }
            }
            isOver.withLock { $0 = true }
            for (_, end) in neighbours { await end.value }
            #expect(gone.withLock { $0 } == 0)
        }
    }
}
