import BaseTestSupport
import HTTPCore
import Primitives
import Testing

@Suite struct InProcessTransportTests {
    /// A transport whose handler responds with the request.
    private let mirror = InProcessTransport(
        AnyHTTPHandler { request in
            .suspended {
                let body = (try? await request.body.collect(upTo: 100)) ?? []
                let host = request.headers.values("Host").joined(separator: ",")
                let words = "\(request.method) \(request.url) \(host) \(request.timeout.map { "\($0)" } ?? "-") "
                return HTTPResponse(status: 200, body: .bytes(Array(words.utf8) + body))
            }
        })

    private func answer(_ request: HTTPRequest) async throws -> String {
        String(decoding: try await mirror.send(request).body.collect(upTo: 1000), as: UTF8.self)
    }

    @Test func `a handler gets the body, and not the timeout of the caller`() async throws {
        let request = HTTPRequest(
            method: .post, url: "http://host/a#b", body: .stream(HTTPBodyStream([[0x78], [0x79]])),
            timeout: .seconds(50))
        #expect(try await answer(request) == "POST /a host - xy")
    }

    @Test(
        arguments: [
            ("http://user:secret@host:81/a", [:], "/a host:81"), ("http://host/a", ["host": "other"], "/a other"),
            ("/a?to=http://evil/", [:], "/a?to=http://evil/ "), ("http://secret@/a", [:], "/a "),
        ] as [(String, HTTPHeaders, String)])
    func `the host is that of the URL unless a header names one, and has no other part of the URL`(
        url: String, headers: HTTPHeaders, expected: String
    ) async throws {
        #expect(try await answer(HTTPRequest(method: .get, url: url, headers: headers)) == "GET \(expected) - ")
    }

    @Test func `a connection that is closed without a response is a retryable error`() async throws {
        let transport = InProcessTransport(AnyHTTPHandler { _ in .ready(.connectionClosed) })
        let error = await #expect(throws: HTTPError.self) {
            try await transport.send(HTTPRequest(method: .get, url: "http://h/"))
        }
        #expect(error?.code == .noAnswer && error?.isRetryable == true)
    }

    @Test func `the handler's task is cancelled with the caller`() async throws {
        let (isAsked, isTold) = (Gate(), Gate())
        let transport = InProcessTransport(
            AnyHTTPHandler { _ in
                .suspended {
                    isAsked.open()
                    _ = try? await untilCancelled()
                    isTold.open()
                    return HTTPResponse(status: 499)
                }
            })
        let sending = Task { try await transport.send(HTTPRequest(method: .get, url: "http://h/")) }
        try await isAsked.pass()
        sending.cancel()
        do { #expect(try await sending.value.status == 499) } catch {
            #expect(error as? HTTPError == HTTPError(.cancelled, ""))
        }
        try await isTold.pass()
    }

    @Test func `a ready and a suspended reply are changed in the same way`() async {
        let change: @Sendable (HTTPResponse) -> HTTPResponse = { HTTPResponse(status: $0.status + 1) }
        let replies: [HTTPReply] = [
            .ready(HTTPResponse(status: 200)), .suspended { HTTPResponse(status: 200) },
        ]
        for reply in replies { #expect(await reply.map(change).map(change).response().status == 202) }
    }
}
