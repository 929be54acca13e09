import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

@Suite struct MockFloretTests {
    // MARK: - Mappings and rules

    @Test func `mappings are asked in the order they were added, before rules, and can be removed`() async throws {
        let mock = MockFloret(rules: [.init(.path("/a"), [Response(status: 203)])])
        let scene = FloretScene([mock])
        let silent = mock.addMapping { _, _ in nil }
        let byPath = mock.addMapping(forURLPath: "/a") { request, _ in
            Response(status: 201, body: .text(request.method.rawValue))
        }
        mock.addMapping(forURL: "http://a.example/a?x=1") { _, _ in Response(status: 202) }
        #expect(try await scene.send(.put, "http://a.example/a?x=1").body.text() == "PUT")
        mock.removeMapping(byPath)
        mock.removeMapping(silent)
        #expect(try await scene.send(.get, "http://a.example/a?x=1").status == 202)
        #expect(try await scene.send(.get, "http://a.example/a?x=2").status == 203)
        #expect(try await scene.send(.get, "http://a.example/b").status == 200)
        #expect(scene.arrived.withLock { $0.count } == 1)
        #expect(mock.counts == .init(answered: 3, missed: 1))
    }

    @Test(arguments: [
        (MockFloret.WhenUsedUp.repeatLast, [1, 2, 2, 2, 2]), (.cycle, [1, 2, 1, 2, 1]), (.fail, [1, 2, 9, 9, 9]),
    ])
    func `a sequence is answered in order, and what follows it is chosen`(
        whenUsedUp: MockFloret.WhenUsedUp, expected: [Int]
    ) async throws {
        let mock = MockFloret(rules: [
            .init(.all(), [Response(status: 201), Response(status: 202)], whenUsedUp: whenUsedUp),
            .init(.all(), [Response(status: 209)]),
        ])
        let scene = FloretScene([mock])
        for status in expected { #expect(try await scene.send().status == 200 + status) }
        mock.rewind()
        #expect(try await scene.send().status == 201)
    }

    @Test func `rules look at the body, also when it streams`() async throws {
        let mock = MockFloret(rules: [
            .init(.bodyJSON(["user": ["name": "anna"]]), [Response(status: 201)]),
            .init(.method(.post) && .body(containing: "berta"), [Response(status: 202)]),
        ])
        let scene = FloretScene([mock])
        #expect(try await scene.send(.post, body: .pieces(#"{"user": {"na"#, #"me": "anna", "id": 1}}"#)).status == 201)
        #expect(try await scene.send(.post, body: .text(#"{"user": "berta"}"#)).status == 202)
        let passed = try await scene.send(.post, body: .pieces("ca", "rla"))
        #expect(try await passed.body.text() == "carla")
    }

    @Test func `each of many requests at once gets its own answer of a sequence`() async throws {
        let mock = MockFloret(rules: [.init(.all(), (0..<100).map { Response(status: 200 + $0) }, whenUsedUp: .fail)])
        let scene = FloretScene([mock])
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 { group.addTask { try await scene.send().status } }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(statuses.count == 100)
    }

    // MARK: - Recording and replay

    /// Counts the requests for each URL.
    private static func counter() -> @Sendable (HTTPRequest) async -> Response {
        let counts = Locked<[String: Int]>([:])
        return { request in
            let count = counts.withLock { counts in
                counts[request.url, default: 0] += 1
                return counts[request.url, default: 0]
            }
            var response = Response(
                status: 200, headers: ["Content-Type": "text/plain", "Set-Cookie": "session=hush"],
                body: .pieces("answer ", "\(count)"))
            response.headers.add("X-Twice", "1")
            response.headers.add("X-Twice", "2")
            return response
        }
    }

    @Test func `what was recorded is replayed in its order, without the network`() async throws {
        let folder = try ScratchFolder()
        let recording = FloretScene([try MockFloret(.record, folder: folder.path)], server: Self.counter())
        for text in ["answer 1", "answer 2"] {
            #expect(try await recording.send(.get, "http://a.example/x?q=1").body.text() == text)
        }
        #expect(
            try await recording.send(.post, "http://a.example/x?q=1", body: .pieces("up")).body.text() == "answer 3")

        let replaying = FloretScene([try MockFloret(.mock(forced: true), folder: folder.path)])
        for text in ["answer 1", "answer 2", "answer 2"] {
            let answer = try await replaying.send(.get, "http://a.example/x?q=1")
            #expect(try await answer.body.text() == text)
            #expect(answer.headers.values("X-Twice") == ["1", "2"])
        }
        #expect(try await replaying.send(.post, "http://a.example/x?q=1").body.text() == "answer 3")
        #expect(replaying.last == nil)
    }

    @Test func `recordings survive another recorder, and one floret may change its mode`() async throws {
        let folder = try ScratchFolder()
        let server = Self.counter()
        _ = try await FloretScene([try MockFloret(.record, folder: folder.path)], server: server).send().body.text()
        let mock = try MockFloret(.record, folder: folder.path)
        let scene = FloretScene([mock], server: server)
        _ = try await scene.send().body.text()
        try await scene.perform(mock, "mock.configure", ["mode": "forced"])
        #expect(try await scene.send().body.text() == "answer 1")
        #expect(try await scene.send().body.text() == "answer 2")
        #expect(folder.files().count == 2)
    }

    @Test func `any URL of any length has a file name of its own`() async throws {
        let folder = try ScratchFolder()
        let scene = FloretScene([try MockFloret(.record, folder: folder.path)])
        let urls = [
            "http://a.example/", "http://a.example/..", "http://a.example/%2e%2e/%00", "http://a.example/x y/ü/日本",
            "http://a.example/" + String(repeating: "long/", count: 2000), "http://a.example/?a=1",
            "http://a.example/?a=2",
            "http://a.example/X", "http://a.example/x",
        ]
        for url in urls { _ = try await scene.send(.get, url).body.text() }
        let names = folder.files()
        #expect(Set(names).count == urls.count)
        let parts = names.flatMap { $0.split(separator: "/") }
        #expect(
            parts.allSatisfy { $0.utf8.count < 120 && $0 != ".." && $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } })
        let replaying = FloretScene([try MockFloret(.mock(forced: true), folder: folder.path)])
        for url in urls { #expect(try await replaying.send(.get, url).status == 200) }
    }

    @Test func `secrets are in no file, and a request is found without them`() async throws {
        let folder = try ScratchFolder()
        let scene = FloretScene([try MockFloret(.record, folder: folder.path)], server: Self.counter())
        let headers: HTTPHeaders = ["Authorization": "Bearer hush-hush"]
        _ = try await scene.send(.get, "http://a.example/me?page=2", headers: headers).body.text()
        #expect(scene.last?.headers["Authorization"] == "Bearer hush-hush")
        for file in folder.files() { #expect(!(try folder.text(file)).contains("hush")) }
        let replaying = FloretScene([try MockFloret(.mock(forced: true), folder: folder.path)])
        #expect(try await replaying.send(.get, "http://a.example/me?page=2", headers: headers).status == 200)
    }

    @Test func `an answer that does not come whole, or is too long, is not recorded, and that is reported`()
        async throws
    {
        let folder = try ScratchFolder()
        var configuration = MockFloret.Configuration.standard
        configuration.maximumBodyBytes = 10
        let scene = FloretScene([try MockFloret(.record, folder: folder.path, configuration: configuration)]) {
            request in
            request.url == "/long"
                ? Response(status: 200, body: .pieces("0123456", "789ab"))
                : Response(status: 200, body: .stream(HTTPBodyStream { throw HTTPError(.connectionLost, "gone") }))
        }
        #expect(try await scene.send(.get, "http://a/long").body.text() == "0123456789ab")
        await #expect(throws: HTTPError.self) { try await scene.send(.get, "http://a/lost").body.text() }
        let upload = try await scene.send(.post, "http://a/upload", body: .text("0123456789ab"))
        upload.body.cancelled()
        #expect(folder.files() == [])
        #expect(scene.interceptor.reports.count == 3)
    }

    @Test func `bodies of any bytes come back as they were`() async throws {
        let folder = try ScratchFolder()
        let bytes = Array(UInt8.min...UInt8.max)
        let scene = FloretScene([try MockFloret(.record, folder: folder.path)]) { _ in
            Response(status: 200, headers: ["Content-Length": "256"], body: .bytes(bytes))
        }
        _ = try await scene.send()
        let replaying = FloretScene([try MockFloret(folder: folder.path)])
        let answer = try await replaying.send()
        #expect(answer.body.buffered == bytes && answer.headers["Content-Length"] == "256")
    }

    @Test func `only what the network answered is recorded`() async throws {
        let folder = try ScratchFolder()
        try await FloretScene([
            FaultFloret([.init(.status(503))]), try MockFloret(.record, folder: folder.path),
        ]).send()
        #expect(folder.files() == [])
    }

    @Test func `a record can be replayed, and one without a whole answer is refused`() async throws {
        let mock = MockFloret()
        let scene = FloretScene([mock], server: Self.counter())
        for text in ["answer 1", "answer 2"] { #expect(try await scene.send().body.text() == text) }
        await scene.interceptor.settled()
        var record = try #require(await scene.interceptor.storage.records(2, after: nil).last)
        try mock.replay(record)
        for _ in 0..<2 { #expect(try await scene.send().body.text() == "answer 1") }
        #expect(try await scene.send(.put).body.text() == "answer 3")
        record.bodies.response = .init(byteCount: 100, isCut: true)
        #expect(throws: InterceptionError(.invalidSetting, "")) { try mock.replay(record) }
        #expect(throws: InterceptionError(.invalidSetting, "")) {
            try mock.replay(Record(HTTPRequest(method: .get, url: "http://a/")))
        }
    }

    @Test func `a session is replayed in its order, but for what has no whole answer`() async throws {
        func record(_ url: String, _ response: Response?) -> Record {
            var record = Record(HTTPRequest(method: .get, url: url))
            record.result = response.map { .success($0) }
            return record
        }
        let mock = MockFloret(.mock(forced: true))
        let decoded: HTTPHeaders = ["Content-Encoding": "gzip", "Content-Length": "99"]
        let encoded = HTTPBody.bytes([0x1F, 0x8B, 0x08, 0x00])
        let count = mock.replay([
            record("http://a/x", Response(status: 200, headers: decoded, body: .text("one"))),
            record("http://a/y", Response(status: 0)), record("http://a/y", nil),
            record("http://a/x", Response(status: 201, headers: decoded, body: encoded)),
        ])
        #expect(count == 2)
        let scene = FloretScene([mock])
        let first = try await scene.send(.get, "http://a/x")
        #expect(try await first.body.text() == "one")
        #expect(first.headers == ["Content-Length": "3"])
        let second = try await scene.send(.get, "http://a/x")
        #expect(second.status == 201 && second.headers["Content-Encoding"] == "gzip")
        await #expect(throws: InterceptionError(.noMock, "")) { try await scene.send(.get, "http://a/y") }
    }

    // MARK: - What counts of a request

    struct Likeness: Sendable, CustomTestStringConvertible {
        let name: String
        var recorded = HTTPRequest(method: .get, url: "http://a.example/x")
        var asked = HTTPRequest(method: .get, url: "http://a.example/x")
        var configure: @Sendable (inout MockFloret.Matching) -> Void = { _ in }
        /// What has to be said; `nil` is found.
        let reason: String?
        var testDescription: String { name }
    }

    private static func request(
        _ url: String = "http://a.example/x", _ method: HTTPRequest.Method = .get, _ headers: HTTPHeaders = [:],
        _ body: String = ""
    ) -> HTTPRequest {
        HTTPRequest(method: method, url: url, headers: headers, body: .text(body))
    }

    static let likenesses: [Likeness] = [
        .init(name: "the same", reason: nil),
        .init(
            name: "method", asked: request("http://a.example/x", .put), reason: "the method is GET there and PUT here"),
        .init(
            name: "host", asked: request("http://b.example/x"),
            reason: "the host is http://a.example:80 there and http://b.example:80 here"),
        .init(
            name: "host left out", asked: request("https://b.example:1/x"), configure: { $0.ignoresHost = true },
            reason: nil),
        .init(
            name: "port left out", asked: request("http://a.example:1/x"), configure: { $0.ignoresPort = true },
            reason: nil),
        .init(name: "path", asked: request("http://a.example/y"), reason: "the path is /x there and /y here"),
        .init(
            name: "query item", recorded: request("http://a.example/x?p=1&q=2"),
            asked: request("http://a.example/x?q=2&p=3"), reason: #"the query item "p" is "1" there and "3" here"#),
        .init(
            name: "query item missing", recorded: request("http://a.example/x?p=1"),
            reason: #"the query item "p" is only there"#),
        .init(
            name: "query item new", asked: request("http://a.example/x?p=1"),
            reason: #"the query item "p" is only here"#),
        .init(
            name: "query item left out", asked: request("http://a.example/x?p=1"),
            configure: { $0.ignoredQueryItems = ["p"] }, reason: nil),
        .init(
            name: "query order", recorded: request("http://a.example/x?a=1&b=2"),
            asked: request("http://a.example/x?b=2&a=1"), reason: nil),
        .init(
            name: "order of one name", recorded: request("http://a.example/x?a=1&a=2"),
            asked: request("http://a.example/x?a=2&a=1"), reason: #"the query item "a" is "1, 2" there and "2, 1" here"#
        ),
        .init(
            name: "query left out", asked: request("http://a.example/x?p=1"), configure: { $0.ignoresQuery = true },
            reason: nil),
        .init(
            name: "secret query item", recorded: request("http://a.example/x?token=1"),
            asked: request("http://a.example/x?token=2"), reason: nil),
        .init(
            name: "secret header", recorded: request("http://a.example/x", .get, ["Authorization": "Bearer 1"]),
            asked: request("http://a.example/x", .get, ["Authorization": "Bearer 2"]),
            configure: { $0.headers = ["Authorization"] }, reason: nil),
        .init(
            name: "header that does not count", asked: request("http://a.example/x", .get, ["Accept": "a"]), reason: nil
        ),
        .init(
            name: "header", recorded: request("http://a.example/x", .get, ["accept": "b"]),
            asked: request("http://a.example/x", .get, ["Accept": "a"]), configure: { $0.headers = ["Accept"] },
            reason: #"the header "accept" has another value"#),
        .init(name: "body that does not count", asked: request("http://a.example/x", .get, [:], "b"), reason: nil),
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
            name: "JSON, written otherwise",
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

    @Test(arguments: likenesses)
    func `forced, a request is found or the reason is said`(example: Likeness) async throws {
        let folder = try ScratchFolder()
        var configuration = MockFloret.Configuration.standard
        example.configure(&configuration.matching)
        let recorder = FloretScene([try MockFloret(.record, folder: folder.path, configuration: configuration)])
        _ = try await recorder.transport.send(example.recorded)
        // One that is farther away.
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

    @Test func `an unmatched request without recordings says that there are none`() async throws {
        let scene = FloretScene([MockFloret(.mock(forced: true))])
        do {
            try await scene.send()
            Issue.record("it was answered")
        } catch let error as InterceptionError {
            #expect(error.reason == "No mock for GET http://a.example/: there is none at all.")
        }
    }

    @Test func `recordings that are used up say so`() async throws {
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

    // MARK: - Files

    @Test func `a folder of Cauli's own is read`() async throws {
        let folder = try ScratchFolder()
        let name = "GET_https_a_example_list_1/0f343b0931126a20f133d67c2b018a3b"
        try folder.write("\(name)/response.data", "from Cauli")
        try folder.write(
            "\(name)/record.json",
            #"""
            {"identifier": "0C1F…", "requestStarted": 5.6e8,
             "originalRequest": {"url": "https://a.example/list?1", "cachePolicy": 0, "timeoutInterval": 60},
             "designatedRequest": {"url": "https://a.example/list?1", "httpMethod": "GET", "timeoutInterval": 60,
                "allHTTPHeaderFields": {"Accept": "*/*"}},
             "result": {"dataFilename": "response.data", "urlResponseRepresentable":
                {"httpURLResponse": {"url": "https://a.example/list?1", "statusCode": 203, "headerFields": {"X-Own": "1"}}}}}
            """#)
        try folder.write(
            "GET_https_a_example_down/1/record.json",
            #"""
            {"designatedRequest": {"url": "https://a.example/down", "httpMethod": "GET"}, "requestStarted": 5.5e8,
             "result": {"domain": "NSURLErrorDomain", "code": -1004, "userInfo": {}}}
            """#)
        let scene = FloretScene([try MockFloret(.mock(forced: true), folder: folder.path)])
        let answer = try await scene.send(.get, "https://a.example/list?1")
        #expect(answer.status == 203 && answer.headers["x-own"] == "1")
        #expect(try await answer.body.text() == "from Cauli")
        await #expect(throws: HTTPError(.connectionFailed, "")) { try await scene.send(.get, "https://a.example/down") }
    }

    @Test func `a recording can be had by its path`() async throws {
        let folder = try ScratchFolder()
        let mock = try MockFloret(.record, folder: folder.path)
        try await FloretScene([mock]) { _ in Response(status: 203) }.send()
        let path = try #require(folder.files().first)
        #expect(mock.answer(at: path)?.status == 203)
        #expect(mock.answer(at: "other/0001.json") == nil)
    }

    @Test(arguments: [
        ("{", "is not JSON"), (#"{"format": "souk.mock.2"}"#, "/format must be"),
        (#"{"format": "souk.mock.1", "request": {"method": "GET"}}"#, "/request/url is missing"),
        (
            #"{"format": "souk.mock.1", "request": {"method": "GET", "url": "http://a/"}, "answer": {"status": 99}}"#,
            "/answer/status must be"
        ),
        (
            #"{"format": "souk.mock.1", "request": {"method": "GET", "url": "http://a/"}, "answer": {"file": "../x"}}"#,
            "/answer/file must be the path"
        ),
        (
            #"{"format": "souk.mock.1", "request": {"method": "GET", "url": "http://a/"}, "answer": {"bode": ""}}"#,
            "/answer/bode is not known"
        ),
    ])
    func `a file that is no recording is refused with its path and place`(text: String, reason: String) throws {
        let folder = try ScratchFolder()
        let file = try folder.write("a/0001.json", text)
        do {
            _ = try MockFloret(folder: folder.path)
            Issue.record("it was accepted")
        } catch let error as InterceptionError {
            #expect(
                error.code == .invalidFile && error.reason.hasPrefix(file) && error.reason.contains(reason), "\(error)")
        }
    }

    @Test func `a folder that is not there is refused, but begun by a recorder`() async throws {
        let folder = try ScratchFolder()
        let path = folder.path + "/none/yet"
        #expect(throws: InterceptionError(.storageFailed, "")) { try MockFloret(folder: path) }
        try await FloretScene([try MockFloret(.record, folder: path)]).send()
        #expect(folder.files().count == 1)
    }
}

extension HTTPBody {
    fileprivate func cancelled() {
        if case .stream(let stream) = self { stream.cancel() }
    }
}
