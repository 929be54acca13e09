import Foundation
import HTTPCore
import HTTPListener
import Primitives
import Testing

@Suite struct ResponseTests {
    private func answer(
        _ method: String, isHead: Bool = false, _ response: @escaping @Sendable () -> HTTPResponse
    ) async throws -> (answer: AnswerReader.Answer, next: AnswerReader.Answer) {
        let handler = AnyHTTPHandler { request in
            request.url == "/next" ? .ready(HTTPResponse(status: 200, body: .text("next"))) : .ready(response())
        }
        return try await withListener(handler) { address, _ in
            let client = try await RawClient(port: address.port)
            await client.send("\(method) / HTTP/1.1\r\nHost: x\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n")
            var reader = AnswerReader(client)
            return (try await reader.next(isHead: isHead), try await reader.next())
        }
    }

    @Test func `HEAD is answered with the length and without the body`() async throws {
        let (head, next) = try await answer("HEAD", isHead: true) { HTTPResponse(status: 200, body: .text("hello")) }
        #expect(head.headers["Content-Length"] == "5")
        #expect(next.body == "next")
    }

    @Test func `for HEAD, a handler may state the length of a body that it does not create`() async throws {
        let (head, next) = try await answer("HEAD", isHead: true) {
            HTTPResponse(status: 200, headers: ["Content-Length": "12345"])
        }
        #expect(head.headers.values("Content-Length") == ["12345"])
        #expect(next.body == "next")
    }

    @Test func `HEAD of a stream does not read it`() async throws {
        let cancelled = Locked(0)
        let (head, next) = try await answer("HEAD", isHead: true) {
            HTTPResponse(
                status: 200,
                body: .stream(
                    HTTPBodyStream(
                        length: 7,
                        next: {
                            Issue.record("the stream was read")
                            return nil
                        }, cancel: { cancelled.withLock { $0 += 1 } })))
        }
        #expect(head.headers["Content-Length"] == "7")
        #expect(next.body == "next")
        #expect(cancelled.withLock { $0 } == 1)
    }

    @Test(arguments: [204, 304])
    func `a response with status 204 or 304 has no body`(status: Int) async throws {
        let (first, next) = try await answer("GET") {
            HTTPResponse(status: status, headers: ["ETag": "\"a\"", "Content-Length": "12345"], body: .text("ignored"))
        }
        #expect(first.status == status)
        #expect(first.headers["ETag"] == "\"a\"")
        #expect(first.headers["Transfer-Encoding"] == nil)
        #expect(first.headers["Content-Length"] == (status == 304 ? "12345" : nil))
        #expect(next.body == "next")
    }

    @Test(arguments: ["GET", "HEAD"])
    func `a 304 without a stated length is sent without a length, and ends its connection`(method: String) async throws
    {
        let handler = AnyHTTPHandler { _ in .ready(HTTPResponse(status: 304, headers: ["ETag": "\"a\""])) }
        try await withListener(handler) { address, _ in
            let client = try await RawClient(port: address.port)
            await client.send("\(method) / HTTP/1.1\r\nHost: x\r\n\r\n")
            let text = try await client.receiveToEnd()
            #expect(text.hasPrefix("HTTP/1.1 304 ") && text.hasSuffix("\r\n\r\n"), "\(text)")
            #expect(text.components(separatedBy: "\r\n\r\n").count == 2, "\(text)")
            #expect(text.contains("Connection: close\r\n"), "\(text)")
            #expect(!text.contains("Content-Length") && !text.contains("Transfer-Encoding"), "\(text)")
        }
    }

    @Test func `headers keep their spelling and repeats, and the listener sets the lengths`() async throws {
        let (first, next) = try await answer("GET") {
            var response = HTTPResponse(
                status: 201, headers: ["x-ONE": "1", "Content-Length": "999"], body: .text("ab"))
            response.headers.add("Set-Cookie", "a=1")
            response.headers.add("Set-Cookie", "b=2")
            response.headers.add("Transfer-Encoding", "chunked")
            return response
        }
        #expect(first.headers.contains { $0.name == "x-ONE" && $0.value == "1" })
        #expect(first.headers.values("Set-Cookie") == ["a=1", "b=2"])
        #expect(first.headers.values("Content-Length") == ["2"])
        #expect(first.headers["Transfer-Encoding"] == nil)
        #expect(next.body == "next")
    }

    @Test func `a header with an empty value is sent`() async throws {
        let (first, next) = try await answer("GET") {
            HTTPResponse(status: 200, headers: ["Vary": "", "Date": "", "X": "1"], body: .text("ab"))
        }
        #expect(first.status == 200 && first.body == "ab")
        #expect(first.headers.values("Vary") == [""] && first.headers.values("X") == ["1"])
        #expect(next.body == "next")
    }

    @Test func `a response with an invalid header or status is replaced by 500`() async throws {
        let (split, _) = try await answer("GET") { HTTPResponse(status: 200, headers: ["X": "a\r\nInjected: 1"]) }
        #expect(split.status == 500)
        #expect(split.headers["Injected"] == nil)
        let (invalid, _) = try await answer("GET") { HTTPResponse(status: 99) }
        #expect(invalid.status == 500)
    }

    @Test func `Connection close closes after the answer`() async throws {
        let handler = AnyHTTPHandler { _ in
            .ready(HTTPResponse(status: 200, headers: ["Connection": "close"], body: .text("bye")))
        }
        try await withListener(handler) { address, _ in
            let client = try await RawClient(port: address.port)
            await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await client.receiveToEnd().hasSuffix("\r\n\r\nbye"))
        }
    }

    @Test func `an HTTP 1.0 client is answered and closed`() async throws {
        let handler = AnyHTTPHandler { _ in
            .ready(HTTPResponse(status: 200, body: .stream(HTTPBodyStream { nil })))
        }
        try await withListener(handler) { address, _ in
            let client = try await RawClient(port: address.port)
            await client.send("GET / HTTP/1.0\r\n\r\n")
            let text = try await client.receiveToEnd()
            #expect(text.contains(" 200 ") && !text.lowercased().contains("chunked"))
        }
    }

    @Test func `a large body of bytes arrives whole`() async throws {
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let handler = AnyHTTPHandler { _ in .ready(HTTPResponse(status: 200, body: .bytes(bytes))) }
        try await withListener(handler) { address, _ in
            let response = try await URLSessionTransport().send(HTTPRequest(method: .get, url: address.url))
            #expect(try await response.body.collect(upTo: 3_000_000) == bytes)
        }
    }
}
