import HTTPCore
import NetworkInterception
import Testing

/// The matching of requests with recordings, and the error without a match.
@Suite struct MockMatchingTests {
    struct MatchingCase: Sendable, CustomTestStringConvertible {
        let name: String
        var recorded = HTTPRequest(method: .get, url: "http://a.example/x")
        var asked = HTTPRequest(method: .get, url: "http://a.example/x")
        var configure: @Sendable (inout MockFloret.Matching) -> Void = { _ in }
        /// The expected reason; `nil` for a match.
        let reason: String?
        var testDescription: String { name }
    }

    private static func request(
        _ url: String = "http://a.example/x", _ method: HTTPRequest.Method = .get, _ headers: HTTPHeaders = [:],
        _ body: String = ""
    ) -> HTTPRequest {
        HTTPRequest(method: method, url: url, headers: headers, body: .text(body))
    }

    static let matchingCases: [MatchingCase] = [
        .init(name: "the same", reason: nil),
        .init(
            name: "method", asked: request("http://a.example/x", .put),
            reason: "the method is GET in the recording and PUT in the request"),
        .init(
            name: "host", asked: request("http://b.example/x"),
            reason: "the host is http://a.example:80 in the recording and http://b.example:80 in the request"),
        .init(
            name: "ignored host", asked: request("https://b.example:1/x"), configure: { $0.ignoresHost = true },
            reason: nil),
        .init(
            name: "ignored port", asked: request("http://a.example:1/x"), configure: { $0.ignoresPort = true },
            reason: nil),
        .init(
            name: "path", asked: request("http://a.example/y"),
            reason: "the path is /x in the recording and /y in the request"),
        .init(
            name: "query item", recorded: request("http://a.example/x?p=1&q=2"),
            asked: request("http://a.example/x?q=2&p=3"),
            reason: #"the query item "p" is "1" in the recording and "3" in the request"#),
        .init(
            name: "query item missing", recorded: request("http://a.example/x?p=1"),
            reason: #"the query item "p" is only in the recording"#),
        .init(
            name: "query item new", asked: request("http://a.example/x?p=1"),
            reason: #"the query item "p" is only in the request"#),
        .init(
            name: "ignored query item", asked: request("http://a.example/x?p=1"),
            configure: { $0.ignoredQueryItems = ["p"] }, reason: nil),
        .init(
            name: "query order", recorded: request("http://a.example/x?a=1&b=2"),
            asked: request("http://a.example/x?b=2&a=1"), reason: nil),
        .init(
            name: "order of one name", recorded: request("http://a.example/x?a=1&a=2"),
            asked: request("http://a.example/x?a=2&a=1"),
            reason: #"the query item "a" is "1, 2" in the recording and "2, 1" in the request"#
        ),
        .init(
            name: "ignored query", asked: request("http://a.example/x?p=1"), configure: { $0.ignoresQuery = true },
            reason: nil),
        .init(
            name: "secret query item", recorded: request("http://a.example/x?token=1"),
            asked: request("http://a.example/x?token=2"), reason: nil),
        .init(
            name: "secret header", recorded: request("http://a.example/x", .get, ["Authorization": "Bearer 1"]),
            asked: request("http://a.example/x", .get, ["Authorization": "Bearer 2"]),
            configure: { $0.headers = ["Authorization"] }, reason: nil),
        .init(
            name: "header that is not compared", asked: request("http://a.example/x", .get, ["Accept": "a"]),
            reason: nil
        ),
        .init(
            name: "header", recorded: request("http://a.example/x", .get, ["accept": "b"]),
            asked: request("http://a.example/x", .get, ["Accept": "a"]), configure: { $0.headers = ["Accept"] },
            reason: #"the header "accept" has another value"#),
        .init(name: "body that is not compared", asked: request("http://a.example/x", .get, [:], "b"), reason: nil),
        .init(
            name: "body", recorded: request("http://a.example/x", .get, [:], "abc"),
            asked: request("http://a.example/x", .get, [:], "abd"), configure: { $0.comparesBody = true },
            reason: "the body differs at byte 2"),
        .init(
            name: "JSON",
            recorded: request(
                "http://a.example/x", .get, ["Content-Type": "application/json"], #"{"a": [1, {"b/c": 2}], "t": 1}"#),
            asked: request(
                "http://a.example/x", .get, ["Content-Type": "application/json"], #"{"t": 2, "a": [1, {"b/c": 3}]}"#),
            configure: {
                $0.comparesBody = true; $0.ignoredBodyItems = ["t"]
            }, reason: #"the body differs at "/a/1/b~1c""#),
        .init(
            name: "the same JSON value with another layout",
            recorded: request("http://a.example/x", .get, ["Content-Type": "application/json"], #"{"a": 1, "b": 2}"#),
            asked: request("http://a.example/x", .get, ["Content-Type": "application/json"], #"{"b":2,"a":1.0}"#),
            configure: { $0.comparesBody = true }, reason: nil),
        .init(
            name: "form",
            recorded: request(
                "http://a.example/x", .get, ["Content-Type": "application/x-www-form-urlencoded"], "a=1&b=2"),
            asked: request(
                "http://a.example/x", .get, ["Content-Type": "application/x-www-form-urlencoded"], "b=3&a=1"),
            configure: { $0.comparesBody = true }, reason: #"the item of the form "b" has another value"#),
    ]

    @Test(arguments: matchingCases)
    func `a forced mock answers a matching request, or names the difference from the recording`(example: MatchingCase)
        async throws
    {
        let folder = try ScratchFolder()
        var configuration = MockFloret.Configuration.standard
        example.configure(&configuration.matching)
        let recorder = FloretScene([try MockFloret(.record, folder: folder.path, configuration: configuration)])
        _ = try await recorder.transport.send(example.recorded)
        _ = try await recorder.send(.delete, "http://far.example/away/and/gone?a=1")
        let mock = try MockFloret(.mock(forced: true), folder: folder.path, configuration: configuration)
        let scene = FloretScene([mock])
        do {
            _ = try await scene.transport.send(example.asked)
            #expect(example.reason == nil)
        } catch let error as InterceptionError {
            #expect(error.code == .noMock)
            #expect(error.reason.contains(", but \(example.reason ?? "it should have been found")."), "\(error.reason)")
            #expect(mock.view(scene.interceptor)?.sections.last?.rows == [.text(error.reason)])
        }
        #expect(scene.last == nil)
    }

    @Test func `the error of a request without recordings says that there are none`() async throws {
        let scene = FloretScene([MockFloret(.mock(forced: true))])
        do {
            try await scene.send()
            Issue.record("it was answered")
        } catch let error as InterceptionError {
            #expect(error.reason == "No mock for GET http://a.example/: there are no recordings.")
        }
    }

    @Test func `a different path makes a recording less similar than different query items do`() async throws {
        let mock = MockFloret(.mock(forced: true))
        mock.replay(
            ["http://a.example/items?a=1&b=1&c=1", "http://a.example/things?a=2&b=2&c=2"].map { url in
                var record = Record(HTTPRequest(method: .get, url: url))
                record.result = .success(Response(status: 200))
                return record
            })
        let error = await #expect(throws: InterceptionError.self) {
            try await FloretScene([mock]).send(.get, "http://a.example/items?a=2&b=2&c=2")
        }
        #expect(error?.reason.contains("recorded requests is GET http://a.example/items?a=1&b=1&c=1 ") == true)
    }

    @Test func `the error of a request whose recordings are all used says so`() async throws {
        let folder = try ScratchFolder()
        try await FloretScene([try MockFloret(.record, folder: folder.path)]).send()
        var configuration = MockFloret.Configuration.standard
        configuration.whenUsedUp = .fail
        let mock = try MockFloret(.mock(forced: true), folder: folder.path, configuration: configuration)
        let scene = FloretScene([mock])
        try await scene.send()
        do {
            try await scene.send()
            Issue.record("it was answered")
        } catch let error as InterceptionError {
            #expect(error.reason.contains("all 1 recorded answers were used"))
        }
        try await scene.perform(mock, "mock.rewind")
        try await scene.send()
    }
}
