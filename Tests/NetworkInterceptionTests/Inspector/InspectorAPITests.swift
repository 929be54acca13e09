import Foundation
import HTTPCore
import NetworkInterception
import PluginHub
import Primitives
import Testing

/// The inspector's API without a browser.
@Suite struct InspectorAPITests {
    private func paths(_ world: InspectorWorld, _ query: String) async throws -> [String] {
        let answer = try await world.ask("/api/records?" + query).body.json()
        return answer["records"]?.arrayValue?.compactMap { $0["path"]?.stringValue } ?? []
    }

    // MARK: - Lists

    @Test func `records come newest first, and in pages`() async throws {
        let world = InspectorWorld()
        for number in 1...5 { try await world.send("http://a.example/\(number)") }
        let first = try await world.ask("/api/records?limit=3").body.json()
        #expect(first["records"]?.arrayValue?.map { $0["path"]?.stringValue } == ["/5", "/4", "/3"])
        let next = try #require(first["next"]?.stringValue)
        #expect(try await paths(world, "limit=3&after=\(next)") == ["/2", "/1"])
        #expect(try await world.ask("/api/records?limit=3&after=\(next)").body.json()["next"] == .null)
        #expect(try await paths(world, "after=\(UUID())") == [])
    }

    @Test(arguments: [
        ("text=pro.YEARLY", ["/json"]), ("text=x-path", ["/status/404", "/status/200"]), ("text=Ada", ["/json"]),
        ("method=post", ["/json"]), ("status=4xx", ["/status/404"]), ("status=failed", ["/gone"]),
        ("host=b.example", ["/gone", "/status/404"]), ("host=a.example&status=2xx", ["/json", "/status/200"]),
        ("status=underway", []), ("text=nowhere", []), ("text=status:404", ["/status/404"]),
        ("text=method:post%20ada", ["/json"]),
    ])
    func `filters select records by text, method, status and host`(query: String, expected: [String]) async throws {
        let world = InspectorWorld()
        try await world.send("http://a.example/status/200")
        try await world.send("http://a.example/json", .post, body: "Ada")
        try await world.send("http://b.example/status/404")
        let network = world.interceptor.transport(wrapping: BrokenTransport())
        _ = try? await network.send(HTTPRequest(method: .get, url: "http://b.example/gone"))
        #expect(try await paths(world, query) == expected)
    }

    @Test(arguments: ["limit=0", "limit=1001", "limit=x", "after=1"])
    func `an invalid limit or record id is refused with the name of its parameter`(query: String) async throws {
        let answer = try await InspectorWorld().ask("/api/records?" + query)
        #expect(answer.status == 422)
        #expect(try await answer.body.json()["field"]?.stringValue == String(query.prefix { $0 != "=" }))
    }

    @Test func `a DELETE request removes all records`() async throws {
        let world = InspectorWorld()
        try await world.send("http://a.example/1")
        #expect(try await world.ask("/api/records", .delete).status == 204)
        #expect(try await paths(world, "") == [])
    }

    // MARK: - One record

    @Test func `the details of a record include a line-by-line difference of its requests`() async throws {
        let world = InspectorWorld()
        world.stamp.enabled = true
        try await world.send("http://a.example/moved", .post, headers: ["Accept": "a/b"], body: #"{"b":1,"a":2.50}"#)
        let record = try await world.ask("/api/records/\(world.newest().id)").body.json()
        #expect(record["original"]?["url"] == "http://a.example/moved")
        #expect(record["original"]?["body"]?["text"] == "{\n  \"b\": 1,\n  \"a\": 2.50\n}")
        #expect(record["response"]?["body"]?["kind"] == "json")
        #expect(record["changes"] == [["floret": "Stamp", "kind": "changedRequest"]])
        #expect(
            record["difference"]?.arrayValue?.prefix(5) == [
                ["-", "POST http://a.example/moved"], ["+", "POST http://b.example/json?n=2"], [" ", "Accept: a/b"],
                ["+", "X-Stamp: seen"], [" ", ""],
            ])
        #expect(
            record["timing"]?["phases"]?.arrayValue?.map { $0["name"]?.stringValue } == ["florets", "waiting", "body"])
    }

    @Test func `a body that is not text is shown as bytes and downloaded unchanged`() async throws {
        let world = InspectorWorld()
        try await world.send("http://a.example/bytes")
        let id = try await world.newest().id
        let body = try await world.ask("/api/records/\(id)").body.json()["response"]?["body"]
        #expect(body?["kind"] == "binary")
        #expect(body?["text"]?.stringValue?.hasPrefix("0000  89 50 4e 47 00 ff 07") == true)
        let download = try await world.ask("/api/records/\(id)/response")
        #expect(try await download.body.collect(upTo: 100).prefix(6) == [0x89, 0x50, 0x4E, 0x47, 0, 0xFF])
        #expect(download.headers["Content-Type"] == "application/octet-stream")
        #expect(download.headers["Content-Disposition"]?.hasPrefix("attachment") == true)
        #expect(try await world.ask("/api/records/\(id)/other").status == 404)
        #expect(try await world.ask("/api/records/\(UUID())").status == 404)
        #expect(try await world.ask("/api/records/1").status == 422)
    }

    @Test func `secrets that were redacted before storage are not on the page`() async throws {
        let world = InspectorWorld()
        world.stamp.enabled = true
        try await world.send(
            "http://a.example/json", headers: ["Authorization": "Bearer sesame", "Cookie": "s=sesame"])
        let id = try await world.newest().id
        for path in ["/", "/api/records", "/api/records/\(id)", "/api/state", "/api/trace"] {
            let text = String(decoding: try await world.ask(path).body.collect(upTo: 1 << 20), as: UTF8.self)
            #expect(!text.contains("sesame"), "\(path)")
        }
    }

    @Test func `records are exported as HAR files and Postman collections`() async throws {
        let world = InspectorWorld()
        for status in [200, 404, 404] { try await world.send("http://a.example/status/\(status)?token=sesame") }
        let har = try await world.ask("/api/export?status=4xx")
        #expect(har.headers["Content-Disposition"] == "attachment; filename=\"traffic.har\"")
        let records = try HARDocument(parsing: await har.body.collect(upTo: 1 << 20)).records
        #expect(records.map { $0.response?.status } == [404, 404])
        let postman = try await world.ask("/api/export?format=postman").body.json()
        #expect(postman["item"]?.arrayValue?.count == 3)
        #expect(!postman.text().contains("sesame"))
        #expect(try await world.ask("/api/export?format=pdf").status == 422)
        let id = try await world.newest().id
        let single = try await world.ask("/api/records/\(id)/postman")
        #expect(
            single.headers["Content-Disposition"]
                == "attachment; filename=\"\(id.uuidString.lowercased()).postman_collection.json\"")
        let collection = try await single.body.json()
        #expect(collection["info"]?["name"] == "GET /status/404")
        #expect(collection["item"]?.arrayValue == postman["item"]?.arrayValue?.prefix(1).map { $0 })
        #expect(try await world.ask("/api/records/\(UUID())/postman").status == 404)
    }

    @Test func `a record is exported as a curl command, with a binary body in a file`() async throws {
        let world = InspectorWorld()
        try await world.send("http://a.example/json?q=it's", .put, body: "one")
        let text = try await world.ask("/api/records/\(world.newest().id)").body.json()["curl"]?.stringValue
        #expect(text?.hasPrefix("curl ") == true && text?.hasSuffix(" one") == true)
        _ = try await world.transport.send(
            HTTPRequest(method: .post, url: "http://a.example/json", body: .bytes([0, 1, 2])))
        let id = try await world.newest().id
        let record = try await world.ask("/api/records/\(id)").body.json()
        let name = try #require(record["curlFile"]?.stringValue)
        #expect(record["curl"]?.stringValue?.contains("@" + name) == true)
        let file = try await world.ask("/api/records/\(id)/designated")
        #expect(file.headers["Content-Disposition"]?.contains("\"\(name)\"") == true)
        #expect(try await file.body.collect(upTo: 10) == [0, 1, 2])
    }

    @Test func `a record can become the mock for similar requests`() async throws {
        let mock = MockFloret()
        let world = InspectorWorld(florets: [mock])
        try await world.send("http://a.example/json")
        let id = try await world.newest().id
        let answer = try await world.ask("/api/records/\(id)/mock", .post, json: [:])
        #expect(try await answer.body.json() == ["floret": .string(mock.name), "isEnabled": true])
        try await world.send("http://a.example/json")
        #expect(try await world.newest().changes == [.init(floret: mock.name, kind: .answered)])
        #expect(try await world.ask("/api/records/\(id)").body.json()["canMock"] == true)
    }

    @Test func `a record is not mocked without a mock floret or without an answer`() async throws {
        let bare = InspectorWorld()
        try await bare.send("http://a.example/json")
        #expect(try await bare.ask("/api/records/\(bare.newest().id)/mock", .post, json: [:]).status == 409)
        let world = InspectorWorld(florets: [MockFloret()])
        let record = Record(HTTPRequest(method: .get, url: "http://a.example/"))
        await world.interceptor.storage.store(record)
        #expect(try await world.ask("/api/records/\(record.id)/mock", .post, json: [:]).status == 409)
    }

    // MARK: - Sending

    @Test func `a record is sent again through the florets, without its redacted headers, and becomes a new record`()
        async throws
    {
        let world = InspectorWorld()
        try await world.send(
            "http://a.example/json", .post, headers: ["Accept": "a/b", "Authorization": "Bearer x"], body: "one  two")
        let first = try await world.newest()
        world.stamp.enabled = true
        let answer = try await world.ask("/api/records/\(first.id)/resend", .post, json: [:]).body.json()
        #expect(answer["status"] == 200)
        let second = try await world.newest()
        #expect(answer["id"]?.stringValue == second.id.uuidString && second.id != first.id)
        #expect(second.originalRequest.body.buffered == Array("one  two".utf8))
        #expect(second.originalRequest.headers.map(\.name) == ["Accept"])
        #expect(second.designatedRequest.headers["X-Stamp"] == "seen")
    }

    @Test func `edited parts of a request replace the recorded ones`() async throws {
        let world = InspectorWorld()
        try await world.send("http://a.example/json", .post, headers: ["Accept": "a/b"], body: "one")
        let id = try await world.newest().id
        _ = try await world.ask(
            "/api/records/\(id)/resend", .post,
            json: [
                "method": "PUT", "url": "http://c.example/json", "headers": [["X-A", "1"], ["X-A", "2"]], "body": "two",
            ])
        let sent = try await world.newest().originalRequest
        #expect(sent.method == .put && sent.url == "http://c.example/json")
        #expect(sent.headers.values("X-A") == ["1", "2"] && sent.headers.count == 2)
        #expect(sent.body.buffered == Array("two".utf8))
    }

    @Test func `a request can be sent without a record`() async throws {
        let world = InspectorWorld()
        let answer = try await world.ask("/api/requests", .post, json: ["url": "http://a.example/status/418"])
        #expect(try await answer.body.json()["status"] == 418)
        #expect(try await world.newest().originalRequest.method == .get)
    }

    @Test(
        arguments: [
            (["url": "ftp://a.example/"], "url"), (["url": "/json"], "url"), (["url": "http://a b/"], "url"),
            (["url": "http://a.example/?token=%5Bredacted%5D"], "url"), (["url": 1], "url"),
            (["method": "A B"], "method"),
            (["headers": [["A B", "1"]]], "headers"), (["headers": [["A", "1\r\nB: 2"]]], "headers"),
            (["headers": ["A"]], "headers"), (["headers": "A: 1"], "headers"), (["body": [1]], "body"), ([1], "body"),
        ] as [(JSONValue, String)])
    func `an invalid request is refused with the name of its invalid field`(change: JSONValue, field: String)
        async throws
    {
        let world = InspectorWorld()
        try await world.send("http://a.example/1")
        let id = try await world.newest().id
        let answer = try await world.ask("/api/records/\(id)/resend", .post, json: change)
        #expect(answer.status == 422)
        #expect(try await answer.body.json()["field"]?.stringValue == field)
        #expect(await world.interceptor.storage.records(10, after: nil).count == 1)
    }

    @Test func `a request is sent only with a transport, with its whole body, and while the interceptor runs`()
        async throws
    {
        let silent = InspectorWorld { $0.transport = nil }
        try await silent.send("http://a.example/1")
        let path = "/api/records/\(try await silent.newest().id)/resend"
        #expect(try await silent.ask(path, .post, json: [:]).status == 409)

        let world = InspectorWorld()
        var cut = Record(HTTPRequest(method: .post, url: "http://a.example/", body: .text("half")))
        cut.bodies.original = .init(byteCount: 100, isCut: true)
        await world.interceptor.storage.store(cut)
        #expect(try await world.ask("/api/records/\(cut.id)/resend", .post, json: [:]).status == 409)
        #expect(try await world.ask("/api/records/\(cut.id)/resend", .post, json: ["body": "whole"]).status == 200)
        world.interceptor.pause()
        #expect(try await world.ask("/api/requests", .post, json: ["url": "http://a.example/"]).status == 409)
    }

    @Test func `a request that fails is answered with its error, and is recorded`() async throws {
        let world = InspectorWorld { $0.transport = BrokenTransport() }
        let answer = try await world.ask("/api/requests", .post, json: ["url": "http://a.example/"]).body.json()
        #expect(answer["error"]?.stringValue?.isEmpty == false)
        #expect(try await world.newest().failure != nil)
    }

    // MARK: - Florets

    @Test func `florets can be disabled, and the interceptor can pause`() async throws {
        let world = InspectorWorld()
        #expect(try await world.ask("/api/state").body.json()["florets"]?[0]?["isEnabled"] == false)
        let answer = try await world.ask("/api/florets/0", .post, json: ["isEnabled": true])
        #expect(try await answer.body.json()["florets"]?[0]?["isEnabled"] == true)
        #expect(world.stamp.enabled)
        #expect(try await world.ask("/api/florets/1", .post, json: ["isEnabled": true]).status == 404)
        #expect(try await world.ask("/api/florets/0", .post, json: ["isEnabled": 1]).status == 422)
        #expect(try await world.ask("/api/state", .post, json: ["isRunning": false]).status == 200)
        #expect(!world.interceptor.isRunning)
    }

    @Test func `a floret's settings are changed only by a form of its screen`() async throws {
        let world = InspectorWorld()
        let text = String(decoding: try await world.ask("/florets/0").body.collect(upTo: 1 << 16), as: UTF8.self)
        let action = try #require(text.firstMatch(of: /action="([^"]+)"/)).output.1
        func post(_ target: String, _ form: String) async throws -> Int {
            try await InProcessTransport(world.page).send(
                HTTPRequest(
                    method: .post, url: "http://localhost" + target, headers: ["Origin": "null"], body: .text(form))
            ).status
        }
        #expect(try await post("/florets/0", "row=stamp&value=x") == 403)
        #expect(try await post("/florets/0?proof=1", "row=stamp&value=x") == 403)
        #expect(world.stamp.stamp.withLock { $0 } == "seen")
        #expect(try await post(String(action), "row=stamp&value=x%26y") == 303)
        #expect(world.stamp.stamp.withLock { $0 } == "x&y")
        #expect(try await post(String(action), "row=stamp&value=") == 422)
        #expect(try await post(String(action), "row=other&value=1") == 422)
        #expect(try await post(String(action), "row=%zz") == 422)
    }
}

/// A transport without a connection.
struct BrokenTransport: HTTPTransport {
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        throw HTTPError(.connectionFailed, "No connection could be made.")
    }
}
