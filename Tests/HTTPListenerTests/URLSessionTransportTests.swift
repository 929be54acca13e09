import BaseTestSupport
import Foundation
import HTTPCore
import HTTPListener
import HostTestSupport
import Primitives
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite struct URLSessionTransportTests {
    private let handler = AnyHTTPHandler { request in
        switch request.path {
        case "/redirect": .ready(HTTPResponse(status: 302, headers: ["Location": "/elsewhere"], body: .text("moved")))
        case "/login": .ready(HTTPResponse(status: 401, headers: ["X-Why": "none"], body: .text("who")))
        case "/basic", "/digest":
            .ready(
                HTTPResponse(
                    status: 401,
                    headers: ["WWW-Authenticate": "\(request.path.dropFirst()) realm=\"r\", nonce=\"n\""],
                    body: .text("who")))
        case "/large": .ready(HTTPResponse(status: 200, body: .bytes([UInt8](repeating: 1, count: 5000))))
        case "/never":
            .suspended {
                try? await untilCancelled()
                return HTTPResponse(status: 200)
            }
        default:
            .ready(
                HTTPResponse(
                    status: 200, headers: ["ETag": "\"e\"", "X-Method": request.method.rawValue],
                    body: request.body))
        }
    }

    @Test func `a request reaches the server, and its response is returned`() async throws {
        try await withListener(handler) { address, _ in
            let transport = URLSessionTransport()
            let body = (0..<10_000).map { UInt8(truncatingIfNeeded: $0) }
            let answer = try await transport.send(
                HTTPRequest(
                    method: .put, url: address.url + "/x%2Fy?z=%20", headers: ["X-A": "1"],
                    body: .stream(HTTPBodyStream([body]))))
            #expect(answer.status == 200)
            #expect(answer.headers["etag"] == "\"e\"")
            #expect(answer.headers["X-Method"] == "PUT")
            #expect(answer.body.buffered == body)
        }
    }

    @Test func `redirects and refusals are returned as responses`() async throws {
        try await withListener(handler) { address, _ in
            let transport = URLSessionTransport()
            let moved = try await transport.send(HTTPRequest(method: .get, url: address.url + "/redirect"))
            #expect(moved.status == 302)
            #expect(moved.headers["Location"] == "/elsewhere")
            for path in ["/login", "/basic", "/digest"] {
                let refused = try await transport.send(HTTPRequest(method: .get, url: address.url + path))
                #expect(refused.status == 401)
                #expect(refused.body.buffered == Array("who".utf8))
            }
        }
    }

    @Test func `a deadline, a cancellation, a limit and a failed connection have different errors`() async throws {
        let reserved = try ReservedPort()
        try await withListener(handler) {
            $0.port = reserved.number
            $0.stopGracePeriod = .zero
        } body: { address, _ in
            var configuration = URLSessionTransport.Configuration()
            configuration.maximumBodyBytes = 4999
            let transport = URLSessionTransport(configuration: configuration)
            let never = HTTPRequest(method: .get, url: address.url + "/never", timeout: .milliseconds(200))
            await #expect(throws: HTTPError(.timeout, "")) { try await transport.send(never) }
            let cancelled = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await transport.send(HTTPRequest(method: .get, url: address.url + "/never"))
            }
            await #expect(throws: HTTPError(.cancelled, "")) { try await cancelled.value }
            await #expect(throws: HTTPError(.bodyTooLarge, "")) {
                try await transport.send(HTTPRequest(method: .get, url: address.url + "/large"))
            }
        }
        await #expect(throws: HTTPError(.connectionFailed, "")) {
            try await URLSessionTransport().send(HTTPRequest(method: .get, url: reserved.url))
        }
    }

    @Test func `a request can be cancelled at any time`() async throws {
        try await withListener(handler) {
            $0.stopGracePeriod = .zero
        } body: { address, _ in
            let transport = URLSessionTransport()
            for round in 0..<40 {
                let never = Task {
                    try await transport.send(
                        HTTPRequest(method: .get, url: address.url + "/never", timeout: .seconds(3600)))
                }
                await letOthersRun(times: round)
                never.cancel()
                await #expect(throws: HTTPError(.cancelled, "")) { try await never.value }
            }
        }
    }

    @Test(arguments: ["", "/path", "ftp://127.0.0.1/", "http://", "http://a b/"])
    func `a URL that is not absolute http or https is refused`(url: String) async throws {
        await #expect(throws: HTTPError(.invalidURL, "")) {
            try await URLSessionTransport().send(HTTPRequest(method: .get, url: url))
        }
    }

    /// Blocks the queue of all sessions until another thread has released a transport.
    private final class Holding: URLProtocol {
        static let wasReleased = Locked<Bool?>(nil)
        override class func canInit(with request: URLRequest) -> Bool { true }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override func startLoading() {
            let released = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                _ = URLSessionTransport()
                released.signal()
            }
            let outcome = released.wait(timeout: .now() + 50)
            Self.wasReleased.withLock { $0 = outcome == .success }
            client?.urlProtocol(self, didFailWithError: URLError(.cancelled))
        }
        override func stopLoading() {}
    }

    @Test func `releasing a transport does not wait for a session`() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [Holding.self]
        let session = URLSession(configuration: configuration)
        await #expect(throws: URLError.self) { try await session.data(from: #require(URL(string: "http://a.example"))) }
        #expect(Holding.wasReleased.withLock { $0 } == true)
        session.invalidateAndCancel()
    }
}
