import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import NetworkInterception
import NetworkTestSupport
import Primitives
import Testing

/// Compares traffic with and without an interceptor over real sockets, at the app and at the server.
@Suite struct UnchangedTrafficTests {
    /// The observations during the use of one transport.
    private struct Seen: Equatable {
        /// Status, header lines, body and error of each request, as the app got them.
        var answers: [String] = []
        /// The bytes that the server received, by connection.
        var wire: [[String]] = []
    }

    /// A server that responds by the path, keeps connections open, and stores every byte that it receives.
    private final class Wire: Sendable {
        private static let answers: [String: String] = [
            "/cookies": "HTTP/1.1 200 Fine\r\nx-OdD: 1\r\nSet-Cookie: a=1\r\nB:  two words \r\nset-cookie: b=2; Path=/"
                + "\r\nContent-Length: 2\r\n\r\nok",
            "/gzip": "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n\r\n\u{1f}not gz!",
            "/chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
            "/head": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nETag: \"h\"\r\n\r\n",
            "/204": "HTTP/1.1 204 No Content\r\n\r\n", "/304": "HTTP/1.1 304 Not Modified\r\nETag: \"e\"\r\n\r\n",
            "/302": "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 5\r\n\r\nmoved",
            "/401": "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\", charset=\"UTF-8\"\r\n"
                + "Content-Length: 3\r\n\r\nwho",
            "/500": "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
            "/large": "HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n" + large,
            "/cut": "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
            "/close": "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nup to the end",
        ]
        static let large = String((0..<300_000).map { String($0 + 1_000_000_000) }.joined())

        let server: ScriptedServer
        private let connections = Locked<[[String]]>([])

        init(connections count: Int) throws {
            let connections = connections
            server = try ScriptedServer(
                (0..<count).map { _ -> @Sendable (ScriptedServer.Peer) -> Void in
                    { peer in
                        connections.withLock { $0.append([]) }
                        while true {
                            var request = peer.receive(until: "\r\n\r\n")
                            guard let target = request.split(separator: " ").dropFirst().first else { return }
                            if request.contains("hunked\r\n") { request += peer.receive(until: "\r\n0\r\n\r\n") }
                            if request.contains("Content-Length: 1") { request += peer.receive(until: "<END>") }
                            connections.withLock { [request] in $0[$0.count - 1].append(request) }
                            peer.send(
                                Self.answers[String(target)] ?? "HTTP/1.1 404 Nothing\r\nContent-Length: 0\r\n\r\n")
                            if target == "/cut" || target == "/close" { return }
                        }
                    }
                })
        }

        /// The received lines without the port, which differs each time.
        var transcript: [[String]] {
            connections.withLock { $0 }.map { $0.map { $0.replacing(":\(server.port)", with: ":port") } }
        }
    }

    private static func requests(to url: String) -> [HTTPRequest] {
        let text = Array("some bytes<END>".utf8)
        func stream(_ length: Int?) -> HTTPBody {
            let pieces = Locked([text[..<4], text[4..<9], text[9...]].map { Array($0) })
            return .stream(
                HTTPBodyStream(length: length) { pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() } })
        }
        let odd: HTTPHeaders = [
            "x-lower": "1", "X-UPPER": "2", "X-Twice": "a", "Accept-Encoding": "gzip", "x-twice": "b", "X-Empty": "",
        ]
        let paths = [
            "/cookies", "/gzip", "/chunked", "/204", "/304", "/302", "/401", "/500", "/large", "/a%2Fb?c=%20&d",
        ]
        return paths.map { HTTPRequest(method: .get, url: url + $0, headers: odd) } + [
            HTTPRequest(method: .head, url: url + "/head"),
            HTTPRequest(method: .post, url: url + "/cookies", headers: ["Content-Type": "x/y"], body: .bytes(text)),
            HTTPRequest(method: .post, url: url + "/chunked", body: stream(nil)),
            HTTPRequest(method: .put, url: url + "/204", body: stream(text.count)),
            HTTPRequest(method: "ODD", url: url + "/500"), HTTPRequest(method: .delete, url: url + "/204"),
            HTTPRequest(method: .get, url: url + "/cut"), HTTPRequest(method: .get, url: url + "/close"),
            HTTPRequest(method: .get, url: url + "/cookies", headers: ["Bad Name": "x"]),
            HTTPRequest(method: .get, url: "no url"),
            HTTPRequest(method: .get, url: "http://127.0.0.1:1/nobody-listens"),
        ]
    }

    private func observe(_ watched: (any HTTPTransport) -> any HTTPTransport) async throws -> Seen {
        // The second connection is for the requests after the cut response.
        let wire = try Wire(connections: 2)
        let curl = CurlTransport()
        let transport = watched(curl)
        var seen = Seen()
        for request in Self.requests(to: wire.server.url) {
            do {
                let answer = try await transport.send(request)
                let isStream = answer.body.buffered == nil
                seen.answers.append("\(answer.status) \(answer.headers.fields) \(isStream) \(answer.body.length ?? -1)")
                seen.answers.append(String(decoding: try await answer.body.collect(upTo: .max), as: UTF8.self))
            } catch {
                seen.answers.append("\((error as? HTTPError)?.code.rawValue ?? "\(error)")")
            }
        }
        await curl.shutdown()
        seen.wire = wire.transcript
        return seen
    }

    @Test func `app and server see the same bytes in the same order with an interceptor`() async throws {
        let plain = try await observe { $0 }
        #expect(plain.wire.map(\.count) == [17, 1])
        #expect(plain.answers.contains(Wire.large))
        #expect(plain.answers.contains("connectionLost"))
        for count in [0, 1, 8] {
            let florets = (0..<count).map { _ in Probe(before: { _ in await letOthersRun() }) }
            let interceptor = Interceptor.running(florets) { $0.maximumRecordedBytes = 1000 }
            let seen = try await observe { interceptor.transport(wrapping: $0) }
            #expect(seen.wire == plain.wire, "with \(count) florets")
            #expect(seen.answers == plain.answers, "with \(count) florets")
            await interceptor.settled()
            let records = await interceptor.records
            #expect(records.count == 21)
            #expect(records.allSatisfy { $0.timing.ended != nil && $0.changes.isEmpty })
            let large = try #require(records.first { $0.originalRequest.path == "/large" })
            #expect(large.bodies.response == .init(byteCount: 3_000_000, isCut: true))
            #expect(large.response?.body.buffered == Array(Wire.large.utf8.prefix(1000)))
        }
    }

    @Test(arguments: [0, 1, 8])
    func `a request that is cancelled before or during its response ends as without an interceptor`(_ count: Int)
        async throws
    {
        func observe(_ watched: (any HTTPTransport) -> any HTTPTransport) async throws -> [String] {
            let (isAsked, isClosed) = (Gate(), Gate())
            let server = try ScriptedServer([
                { peer in
                    _ = peer.receive(until: "\r\n\r\n")
                    isAsked.open()
                    peer.waitForEnd()
                },
                { peer in
                    _ = peer.receive(until: "\r\n\r\n")
                    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\nbegin")
                    peer.waitForEnd()
                    isClosed.open()
                },
            ])
            let transport = watched(CurlTransport())
            let request = HTTPRequest(method: .get, url: server.url)
            var ends: [String] = []
            let sending = Task { try await transport.send(request) }
            await isAsked.wait()
            sending.cancel()
            do { ends.append("\(try await sending.value.status)") } catch {
                ends.append("\((error as? HTTPError)?.code as Any)")
            }
            let answer = try await transport.send(request)
            guard case .stream(let stream) = answer.body else { return ["no stream"] }
            ends.append(String(decoding: try await stream.next() ?? [], as: UTF8.self))
            stream.cancel()
            do { ends.append("\(try await stream.next()?.count as Any)") } catch {
                ends.append("\((error as? HTTPError)?.code as Any)")
            }
            await isClosed.wait()
            return ends
        }
        let plain = try await observe { $0 }
        #expect(plain.count == 3)
        let interceptor = Interceptor.running((0..<count).map { _ in Probe() })
        #expect(try await observe { interceptor.transport(wrapping: $0) } == plain)
        await interceptor.settled()
        let records = await interceptor.records
        #expect(records.first?.bodies.response == .init(byteCount: 5, end: .cancelled))
        #expect(records.last?.failure as? HTTPError == HTTPError(.cancelled, ""))
    }

    @Test(arguments: [0, 1, 8])
    func `a thousand concurrent requests over sockets each get their own answer`(_ count: Int) async throws {
        let echo = AnyHTTPHandler { .ready(HTTPResponse(status: 200, headers: ["X-Path": $0.path], body: $0.body)) }
        let interceptor = Interceptor.running((0..<count).map { _ in Probe() })
        try await withLoopbackServer(echo) { url in
            let transport = interceptor.transport(wrapping: CurlTransport())
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<1000 {
                    group.addTask {
                        let body = Array("body \(number)".utf8)
                        let answer = try await transport.send(
                            HTTPRequest(method: .post, url: "\(url)/\(number)", body: .bytes(body)))
                        let read = try await answer.body.collect(upTo: 100)
                        return read == body && answer.headers["X-Path"] == "/\(number)"
                    }
                }
                for try await isOwn in group { #expect(isOwn) }
            }
        }
        #expect(await interceptor.records.count == 1000)
    }
}
