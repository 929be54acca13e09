import BaseTestSupport
import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// Recordings, and how requests match them.
@Suite struct MockRecordingTests {
    @Test func `a mock before other florets records the request before their changes`() async throws {
        let folder = try ScratchFolder()
        func scene(_ mode: MockFloret.Mode) throws -> FloretScene {
            FloretScene([
                try MockFloret(mode, folder: folder.path), NoCacheFloret(),
                MapRemoteFloret([.init("away", from: .init(host: "a.example"), to: .init(host: "b.example"))]),
            ])
        }
        let recording = try scene(.record)
        _ = try await recording.send(.put, "http://a.example/x", body: .pieces("o", "ne")).body.text()
        let replaying = try scene(.mock(forced: true))
        #expect(try await replaying.send(.put, "http://a.example/x").body.text() == "one")
        #expect(replaying.last == nil)
        #expect(try folder.text(folder.files()[0]).contains("http://a.example/x"))
    }

    @Test func `matching requests are answered in the order of recording, across folders`()
        async throws
    {
        let folder = try ScratchFolder()
        for (name, second, item) in [("c", 1, 7), ("a", 2, 8), ("b", 3, 9)] {
            try folder.write(
                "\(name)/0001.json",
                #"{"format":"souk.mock.1","recorded":"2026-03-01T14:00:0\#(second)Z","request":{"method":"GET","url":"http://a/?t=\#(item)"},"answer":{"text":"\#(second)"}}"#
            )
        }
        var configuration = MockFloret.Configuration.standard
        configuration.matching.ignoredQueryItems = ["t"]
        let scene = FloretScene([
            try MockFloret(.mock(forced: true), folder: folder.path, configuration: configuration)
        ])
        for answer in ["1", "2", "3", "3"] {
            #expect(try await scene.send(.get, "http://a/?t=5").body.text() == answer)
        }
    }

    @Test func `an invalid time of recording is refused with its location`() throws {
        let folder = try ScratchFolder()
        try folder.write(
            "a/0001.json",
            #"{"format":"souk.mock.1","recorded":"today","request":{"method":"GET","url":"u"},"answer":{}}"#)
        let error = #expect(throws: InterceptionError.self) { try MockFloret(folder: folder.path) }
        #expect(error?.reason.hasSuffix("a/0001.json: /recorded must be a date and time (RFC 3339).") == true)
    }

    @Test func `the Content-Length of a mocked HEAD response is kept`() async throws {
        let mock = MockFloret(rules: [.init(.all(), [Response(status: 200, headers: ["Content-Length": "99"])])])
        let scene = FloretScene([mock])
        #expect(try await scene.send(.head).headers["Content-Length"] == "99")
        #expect(try await scene.send(.get).headers["Content-Length"] == "0")
    }

    @Test func `the number of recorded answers per request is limited, and an answer over the limit is reported`()
        async throws
    {
        let folder = try ScratchFolder()
        var configuration = MockFloret.Configuration.standard
        configuration.maximumAnswers = 2
        let scene = FloretScene([try MockFloret(.record, folder: folder.path, configuration: configuration)])
        for _ in 0..<3 { _ = try await scene.send().body.text() }
        _ = try await scene.send(.get, "http://a.example/other").body.text()
        #expect(folder.files().count == 3)
        #expect(scene.interceptor.reports.map(\.code) == [.leftUnchanged])
    }

    @Test func `a second replay of the same records starts at their beginning`() async throws {
        let mock = MockFloret(.mock(forced: true))
        let session = [201, 202].map { status in
            var record = Record(HTTPRequest(method: .get, url: "http://a.example/"))
            record.result = .success(Response(status: status))
            return record
        }
        let scene = FloretScene([mock])
        for _ in 0..<2 {
            mock.replay(session)
            for status in [201, 202, 202] { #expect(try await scene.send().status == status) }
        }
    }

    // MARK: - Dates

    @Test func `if enabled, the dates of a response and its cookies are moved to the present`() async throws {
        var record = Record(HTTPRequest(method: .get, url: "http://a.example/"))
        let cookies = [
            "a=1; Path=/; expires=Sun, 01 Mar 2026 15:00:00 GMT; Secure",
            "b=Expires=1; Expires=Sun, 01-Mar-2026 13:00:00 GMT",
            "c=3; Max-Age=60", "d; Expires=soon", "e=5; expires=Fri, 31 Dec 9999 23:59:59 GMT",
        ]
        record.result = .success(
            Response(
                status: 200,
                headers: [
                    "date": "Sun, 01 Mar 2026 14:00:00 GMT", "Expires": "Sun, 01 Mar 2026 14:10:00 GMT",
                    "Last-Modified": "Sat, 28 Feb 2026 14:00:00 GMT", "X-Date": "Sun, 01 Mar 2026 14:00:00 GMT",
                ], body: .text("x")))
        if case .success(var response) = record.result {
            for cookie in cookies { response.headers.add("Set-Cookie", cookie) }
            response.headers.add("Expires", "0")
            record.result = .success(response)
        }
        record.timing.answered = RFC3339.date(from: "2026-03-01T14:00:00.5Z")
        let now = try #require(RFC3339.date(from: "2026-03-03T15:00:01Z"))
        for isFresh in [false, true] {
            var configuration = MockFloret.Configuration.standard
            configuration.refreshesDates = isFresh
            let mock = MockFloret(.mock(forced: true), configuration: configuration)
            try mock.replay(record)
            var setting = Interceptor.Configuration.standard
            setting.clock = ManualClock(now)
            let interceptor = Interceptor([mock], configuration: setting)
            interceptor.run()
            let answer = try await interceptor.transport(wrapping: FloretScene([]).transport).send(
                HTTPRequest(method: .get, url: "http://a.example/"))
            guard isFresh else {
                #expect(answer.headers == record.response?.headers)
                continue
            }
            #expect(answer.headers["Date"] == "Tue, 03 Mar 2026 15:00:00 GMT")
            #expect(answer.headers.values("Expires") == ["Tue, 03 Mar 2026 15:10:00 GMT", "0"])
            #expect(answer.headers["Last-Modified"] == "Mon, 02 Mar 2026 15:00:00 GMT")
            #expect(answer.headers["X-Date"] == "Sun, 01 Mar 2026 14:00:00 GMT")
            #expect(
                answer.headers.values("Set-Cookie") == [
                    "a=1; Path=/; expires=Tue, 03 Mar 2026 16:00:00 GMT; Secure",
                    "b=Expires=1; Expires=Tue, 03 Mar 2026 14:00:00 GMT", cookies[2], cookies[3], cookies[4],
                ])
        }
    }

    // MARK: - Multipart forms

    /// A multipart form with this boundary and line end.
    private func form(_ boundary: String, _ end: String = "\r\n", _ fields: (String, String)...) -> HTTPBody {
        let parts = fields.map {
            "--\(boundary)\(end)Content-Disposition: form-data; name=\"\($0.0)\"\(end)\(end)\($0.1)\(end)"
        }
        return .text(parts.joined() + "--\(boundary)--\(end)")
    }

    @Test func `multipart forms match regardless of their boundaries and of ignored parts`() async throws {
        var configuration = MockFloret.Configuration.standard
        configuration.matching.comparesBody = true
        configuration.matching.ignoredBodyItems = ["time"]
        let mock = MockFloret(.mock(forced: true), configuration: configuration)
        let type = "multipart/form-data; boundary="
        var record = Record(
            HTTPRequest(
                method: .post, url: "http://a.example/", headers: ["Content-Type": type + "one"],
                body: form("one", "\r\n", ("time", "1"), ("name", "anna"))))
        record.result = .success(Response(status: 201))
        try mock.replay(record)
        let scene = FloretScene([mock])
        func status(_ boundary: String, _ body: HTTPBody) async throws -> Int {
            try await scene.send(.post, headers: ["Content-Type": type + boundary], body: body).status
        }
        #expect(try await status("\"t w o\"", form("t w o", "\r\n", ("time", "2"), ("name", "anna"))) == 201)
        #expect(try await status("three; charset=utf-8", form("three", "\r\n", ("name", "anna"))) == 201)
        for body in [
            form("x", "\r\n", ("name", "berta")), form("x"), form("x", "\r\n", ("name", "anna"), ("more", "1")),
            .text("anna"),
            .text("--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nann"),
        ] {
            await #expect(throws: InterceptionError.self) { try await status("x", body) }
        }
        let error = await #expect(throws: InterceptionError.self) {
            try await status("x", form("x", "\r\n", ("name", "berta")))
        }
        #expect(error?.reason.contains("the part of the form \"name\" has another value") == true)
    }
}
