import AppStorePayloads
import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import StoreModel
import StoreTestSupport
import Testing

@testable import AppStoreSimulator

/// Delivery to real servers on the loopback interface.
@Suite struct NotificationDeliveryTests {
    private typealias Outcome = AppStoreServerAPI.SendAttemptResult
    private typealias Peer = ScriptedServer.Peer

    private func deliver(
        to url: String, within deadline: Duration = .seconds(30),
        over transport: any HTTPTransport = loopbackTransport()
    ) async throws -> Outcome {
        try await NotificationDelivery(transport: transport, deadline: deadline).send("e30.e30.eA", to: url)
    }

    /// Returns the result of a delivery to a server that sends one of `answers` on each connection, as raw bytes.
    private func result(
        _ answers: String..., within deadline: Duration = .seconds(30)
    ) async throws -> Outcome {
        let server = try ScriptedServer(answers.map(Self.answering))
        return try await deliver(to: server.url + "/n", within: deadline)
    }

    private static let request = #"{"signedPayload":"e30.e30.eA"}"#

    private static func answer(_ peer: Peer, _ answer: String) {
        _ = peer.receive(until: request)
        peer.send(answer)
    }

    private static func answering(_ answer: String) -> @Sendable (Peer) -> Void { { Self.answer($0, answer) } }

    private static func empty(_ status: String) -> String { "HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n" }

    private static func redirect(_ status: Int, to location: String) -> String {
        "HTTP/1.1 \(status) X\r\nLocation: \(location)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    }

    // MARK: - The request

    @Test func `the signed payload is posted as JSON`() async throws {
        let asked = Locked<[String]>([])
        let handler = AnyHTTPHandler { request in
            asked.withLock {
                $0 += [
                    request.method.rawValue, request.url, request.headers["Content-Type"] ?? "",
                    String(decoding: request.body.buffered ?? [], as: UTF8.self),
                ]
            }
            return .ready(HTTPResponse(status: 200))
        }
        try await withLoopbackServer(handler) { url in
            let outcome = try await deliver(to: url + "/apple?key=1")
            #expect(outcome == .success)
        }
        #expect(asked.withLock { $0 } == ["POST", "/apple?key=1", "application/json", Self.request])
    }

    // MARK: - Statuses

    @Test(arguments: ["200 OK", "201 Created", "202 Accepted", "203 X", "205 X", "206 X"])
    func `a status from 200 to 206 is a success`(status: String) async throws {
        #expect(try await result(Self.empty(status)) == .success)
    }

    @Test func `204, which has no body, is a success`() async throws {
        #expect(try await result("HTTP/1.1 204 No Content\r\n\r\n") == .success)
    }

    @Test(arguments: [
        "207 X", "226 X", "299 X", "300 X", "303 X", "304 X", "400 X", "404 X", "410 X", "500 X", "503 X",
    ])
    func `any other status, except a redirect that is followed, is a failure`(status: String) async throws {
        #expect(try await result(Self.empty(status)) == .unsuccessfulHttpResponseCode)
    }

    @Test func `each attempt has its own result: 500, then 200`() async throws {
        let server = try ScriptedServer(
            ["500 X", "200 OK"].map {
                Self.answering("HTTP/1.1 \($0)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            })
        #expect(try await deliver(to: server.url) == .unsuccessfulHttpResponseCode)
        #expect(try await deliver(to: server.url) == .success)
    }

    // MARK: - Invalid responses

    @Test func `a receiver that is down is a socket issue`() async throws {
        let port = try ReservedPort()
        defer { withExtendedLifetime(port) {} }
        #expect(try await deliver(to: port.url) == .socketIssue)
    }

    @Test(arguments: [
        "", "HTTP/1.1 200 OK\r\nX-Slow: ", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n",
    ])
    func `a receiver that does not finish its response times out`(part: String) async throws {
        let server = try ScriptedServer { peer in
            Self.answer(peer, part)
            peer.waitForEnd()
        }
        #expect(try await deliver(to: server.url, within: .milliseconds(200)) == .timedOut)
    }

    @Test func `a redirect does not extend the deadline`() async throws {
        let server = try ScriptedServer([
            { Self.answer($0, Self.redirect(307, to: "/2")) },
            { peer in
                _ = peer.receive(until: Self.request)
                peer.waitForEnd()
            },
        ])
        #expect(try await deliver(to: server.url, within: .milliseconds(300)) == .timedOut)
    }

    @Test func `a connection that is closed before the response has another result than one closed within it`()
        async throws
    {
        #expect(try await result("") == .noResponse)
        #expect(try await result("HTTP/1.1 200 OK\r\nX-Half: ") == .prematureClose)
        #expect(try await result("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab") == .prematureClose)
        #expect(
            try await result("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\non") == .prematureClose)
    }

    @Test(arguments: ["SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 abc\r\nContent-Length: 0\r\n\r\n", "{}\r\n\r\n"])
    func `a malformed response is an invalid response`(answer: String) async throws {
        #expect(try await result(answer) == .invalidResponse)
    }

    @Test func `an untrusted certificate and a server without TLS are TLS issues`() async throws {
        try await LoopbackCertificate.withFiles { files in
            let handler = AnyHTTPHandler { _ in .ready(HTTPResponse(status: 200)) }
            try await withLoopbackServer(handler, certificate: files) { url in
                let distrusting = try await deliver(to: url)
                #expect(distrusting == .tlsIssue)
                let trusting = try await deliver(to: url, over: loopbackTransport(trusting: files.certificate))
                #expect(trusting == .success)
            }
        }
        let plain = try ScriptedServer { $0.send("HTTP/1.1 200 OK\r\n\r\n") }
        #expect(try await deliver(to: "https://127.0.0.1:\(plain.port)") == .tlsIssue)
    }

    @Test(arguments: [
        ("application/json", true), ("text/plain; charset=utf-8", true), ("text/plain;charset=\"US-ASCII\"", true),
        ("text/html; q=1; Charset = ISO-8859-1", true), ("text/plain; charset=x-klingon", false),
        ("text/plain; charset=", true), ("charset=x-klingon", true),
    ])
    func `a response is a failure if its charset is unknown`(type: String, isKnown: Bool) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Length: 0\r\n\r\n"
        #expect(try await result(head) == (isKnown ? .success : .unsupportedCharset))
    }

    @Test func `an endless response is read up to the limit, and its status is the result`() async throws {
        let server = try ScriptedServer { peer in
            Self.answer(peer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "10000\r\n" + String(repeating: "x", count: 1 << 16) + "\r\n"
            for _ in 0..<4096 { peer.send(chunk) }
        }
        #expect(try await deliver(to: server.url) == .success)
    }

    // MARK: - Redirects

    @Test(arguments: [301, 302, 307, 308])
    func `a redirect is followed with the same method`(status: Int) async throws {
        let second = try ScriptedServer { peer in
            let head = peer.receive(until: Self.request)
            peer.send(Self.empty(head.hasPrefix("POST /moved HTTP/1.1\r\n") ? "200 OK" : "404 Not Found"))
        }
        #expect(try await result(Self.redirect(status, to: second.url + "/moved#part")) == .success)
    }

    @Test(arguments: ["/b/c", "b/c?x=1", "../b/c", "?q"])
    func `a relative location is relative to the redirecting URL`(location: String) async throws {
        let server = try ScriptedServer([
            { Self.answer($0, Self.redirect(308, to: location)) },
            { peer in
                let line = peer.receive(until: Self.request).prefix { $0 != "\r\n" }
                let expected = ["/b/c": "/b/c", "b/c?x=1": "/a/b/c?x=1", "../b/c": "/b/c", "?q": "/a/n?q"]
                peer.send(Self.empty(line.contains(" \(expected[location] ?? "") ") ? "200 OK" : "404 Not Found"))
            },
        ])
        #expect(try await deliver(to: server.url + "/a/n") == .success)
    }

    @Test func `a redirect loop is detected`() async throws {
        #expect(try await result(Self.redirect(302, to: "/n")) == .circularRedirect)
        #expect(try await result(Self.redirect(302, to: "/m"), Self.redirect(301, to: "/n#2")) == .circularRedirect)
    }

    @Test func `five redirects are followed, and a sixth is an error`() async throws {
        let handler = AnyHTTPHandler { request in
            let number = Int(request.path.dropFirst()) ?? 0
            guard number > 0 else { return .ready(HTTPResponse(status: 200)) }
            return .ready(HTTPResponse(status: 307, headers: ["Location": "/\(number - 1)"]))
        }
        try await withLoopbackServer(handler) { url in
            let (five, six) = (try await deliver(to: url + "/5"), try await deliver(to: url + "/6"))
            #expect(five == .success)
            #expect(six == .circularRedirect)
        }
    }

    @Test func `a redirect to an unreachable server is a socket issue, and to an invalid location an invalid response`()
        async throws
    {
        let port = try ReservedPort()
        defer { withExtendedLifetime(port) {} }
        #expect(try await result(Self.redirect(307, to: port.url)) == .socketIssue)
        #expect(try await result(Self.redirect(307, to: "")) == .invalidResponse)
        #expect(try await result("HTTP/1.1 302 X\r\nContent-Length: 0\r\n\r\n") == .invalidResponse)
        for location in ["ftp://127.0.0.1/", "http://[::1/", "http:///x", "mailto:a@b"] {
            #expect(try await result(Self.redirect(307, to: location)) == .invalidResponse)
        }
    }

    @Test func `a redirect never leads from https to http`() async throws {
        var trail = RedirectTrail(from: "https://example.com/n")
        #expect(trail.follow("HTTP://example.com/n") == .unsuccessfulHttpResponseCode)
        #expect(trail.follow("//other.example/n") == nil)
        #expect(trail.url == "https://other.example/n")
        #expect(trail.follow("http://example.com/n") == .unsuccessfulHttpResponseCode)
        var upwards = RedirectTrail(from: "http://example.com/n")
        #expect(upwards.follow("https://example.com/n") == nil)
    }

    // MARK: - Cancellation and errors

    @Test func `cancelling the task ends an attempt in progress`() async throws {
        let arrival = Gate()
        let handler = AnyHTTPHandler { _ in
            arrival.open()
            return .suspended {
                do { try await untilCancelled() } catch { return HTTPResponse(status: 200) }
            }
        }
        try await withLoopbackServer(handler, stopGracePeriod: .milliseconds(100)) { url in
            let attempt = Task { try await deliver(to: url) }
            await arrival.wait()
            attempt.cancel()
            await #expect(throws: CancellationError.self) { try await attempt.value }
        }
    }

    @Test func `any other error of the transport has the result OTHER`() async throws {
        for error in [HTTPError(.cancelled, ""), HTTPError(.invalidURL, ""), HTTPError(.init(rawValue: "new"), "")] {
            let transport = ScriptedTransport([.fail(error)])
            #expect(try await deliver(to: "http://example.com", over: transport) == .other)
        }
        #expect(try await deliver(to: "http://example.com", over: ScriptedTransport([.fail(StrangeError())])) == .other)
    }

    private struct StrangeError: Error {}
}
