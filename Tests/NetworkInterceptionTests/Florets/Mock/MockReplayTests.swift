import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// Replays of recorded responses.
@Suite struct MockReplayTests {
    /// Returns a server whose response contains the number of requests for the URL so far.
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

    @Test func `recordings are replayed in order, without the network`() async throws {
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

    @Test func `a second recorder keeps earlier recordings, and a floret can change from recording to replaying`()
        async throws
    {
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

    @Test func `each URL, of any length, has its own folder with a valid name`() async throws {
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

    @Test func `no file contains secrets, and a request with a secret matches its recording`() async throws {
        let folder = try ScratchFolder()
        let scene = FloretScene([try MockFloret(.record, folder: folder.path)], server: Self.counter())
        let headers: HTTPHeaders = ["Authorization": "Bearer hush-hush"]
        _ = try await scene.send(.get, "http://a.example/me?page=2", headers: headers).body.text()
        #expect(scene.last?.headers["Authorization"] == "Bearer hush-hush")
        for file in folder.files() { #expect(!(try folder.text(file)).contains("hush")) }
        let replaying = FloretScene([try MockFloret(.mock(forced: true), folder: folder.path)])
        #expect(try await replaying.send(.get, "http://a.example/me?page=2", headers: headers).status == 200)
    }

    @Test func `an incomplete answer or a body that is too long is not recorded, and this is reported`()
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

    @Test func `a body with every byte value is replayed unchanged`() async throws {
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

    @Test func `only responses from the network are recorded`() async throws {
        let folder = try ScratchFolder()
        try await FloretScene([
            FaultFloret([.init(.status(503))]), try MockFloret(.record, folder: folder.path),
        ]).send()
        let later = FloretScene([
            try MockFloret(.record, folder: folder.path), MockFloret(rules: [.init(.all(), [Response(status: 201)])]),
        ])
        #expect(try await later.send().status == 201)
        #expect(folder.files() == [])
    }

    @Test func `a record with a complete answer can be replayed, and any other is refused`() async throws {
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
        for end in Record.BodyTransfer.End.allCases where end != .complete {
            record.bodies.response = .init(byteCount: 8, end: end)
            #expect(throws: InterceptionError(.invalidSetting, "")) { try mock.replay(record) }
            let read = HARDocument([record]).records[0]
            #expect(read.bodies.response == .init(byteCount: 8, end: end))
            #expect(throws: InterceptionError(.invalidSetting, "")) { try mock.replay(read) }
        }
        #expect(throws: InterceptionError(.invalidSetting, "")) {
            try mock.replay(Record(HTTPRequest(method: .get, url: "http://a/")))
        }
    }

    @Test func `records are replayed in order, except those without a valid response`() async throws {
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
        for (encoding, bytes, isEncoded) in [
            ("gzip", [0x89, 0x50], false), ("zstd", [0x28, 0xB5, 0x2F, 0xFD], true), ("ZSTD", [0xFF], false),
            ("br", [0xFF], true), ("br", [0x41], false),
        ] as [(String, [UInt8], Bool)] {
            let response = Response(status: 200, headers: ["Content-Encoding": encoding], body: .bytes(bytes))
            mock.replay([record("http://a/z", response)])
            let answer = try await scene.send(.get, "http://a/z")
            #expect(answer.headers.contains("Content-Encoding") == isEncoded, "\(encoding) \(bytes)")
        }
    }
}

extension HTTPBody {
    fileprivate func cancelled() {
        if case .stream(let stream) = self { stream.cancel() }
    }
}
