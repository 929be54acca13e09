import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

@Suite struct FloretsFileTests {
    private func florets(_ text: String) throws -> [any Floret] {
        try FloretsFile(parsing: Array(#"{"florets": [\#(text)]}"#.utf8)) { _ in }.florets
    }

    private func scene(_ text: String) throws -> FloretScene { FloretScene(try florets(text)) }

    /// The JSON blocks of a section of Documentation/Formats.md.
    private func examples(_ section: String) throws -> [String] {
        let root = URL(fileURLWithPath: #filePath).pathComponents.dropLast(4).joined(separator: "/").dropFirst()
        let text = try String(contentsOfFile: "\(root)/Documentation/Formats.md", encoding: .utf8)
        let part = try #require(text.components(separatedBy: "\n## \(section)\n").dropFirst().first)
        return part.components(separatedBy: "\n## ")[0].components(separatedBy: "```json\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
    }

    @Test func `the documented file is valid and has every floret`() async throws {
        let folder = try ScratchFolder()
        let recording = try #require(try examples("Recording of a mock").first)
        try folder.write("mocks/GET_api_example_com_v1_items-0011223344556677/0001.json", recording)
        let file = try folder.write("florets.json", try #require(try examples("Florets").first))
        let florets = try FloretsFile(contentsOfFile: file, wait: { _ in }).florets
        #expect(
            florets.map { String(describing: type(of: $0)) } == [
                "InspectorFloret", "BodyStreamFloret", "NoCacheFloret", "FindReplaceFloret", "MapRemoteFloret",
                "MockFloret", "FaultFloret", "ThrottleFloret",
            ])
        let scene = FloretScene(florets)
        let answer = try await scene.send(.get, "https://api.example.com/v1/items?page=1")
        #expect(try await answer.body.text() == #"{"items":[]}"#)
        #expect(answer.headers["X-Served-By"] == "mock")
        #expect(scene.last == nil)
        for state in ["pending", "done", "done"] {
            let answer = try await scene.send(.get, "https://api.example.com/v1/orders/7")
            #expect(try await answer.body.json()["state"]?.stringValue == state)
        }
    }

    @Test func `each kind of change in a file works`() async throws {
        let scene = try scene(
            #"""
            {"floret": "findReplace", "name": "Mine", "request": [
              {"change": "setHeader", "name": "X-A", "value": "1", "match": {"method": ["PUT", "POST"]}},
              {"change": "appendHeader", "name": "X-B", "value": "2"},
              {"change": "removeHeader", "name": "Cookie"},
              {"change": "replace", "in": "url", "expression": "/v(\\d)/", "with": "/w$1/"},
              {"change": "replace", "in": "header", "name": "X-B", "text": "2", "with": "3"},
              {"change": "replace", "in": "body", "text": "cat", "with": "dog"}],
             "response": [{"change": "setHeader", "name": "X-C", "value": "4"}]}
            """#)
        let answer = try await scene.send(.put, "http://a/v1/x", headers: ["Cookie": "a"], body: .text("a cat"))
        let arrived = try #require(scene.last)
        #expect(arrived.url == "/w1/x" && arrived.headers["X-A"] == "1" && arrived.headers["X-B"] == "3")
        #expect(!arrived.headers.contains("Cookie") && answer.headers["X-C"] == "4")
        #expect(try await answer.body.text() == "a dog")
        try await scene.send(.get, "http://a/")
        #expect(scene.last?.headers["X-A"] == nil)
    }

    @Test func `each kind of fault in a file works`() async throws {
        let waited = Locked<[Duration]>([])
        let file = #"""
            {"florets": [{"floret": "fault", "seed": 3, "rules": [
              {"fault": "latency", "seconds": 2, "match": {"path": "/slow"}},
              {"fault": "latency", "seconds": {"uniform": [1, 1]}, "match": {"path": "/slow"}},
              {"fault": "latency", "seconds": {"normal": {"mean": 3, "deviation": 0}}, "match": {"path": "/slow"}},
              {"fault": "latency", "seconds": {"exponential": {"mean": 0}}, "match": {"path": "/slow"}},
              {"fault": "latency", "seconds": {"pareto": {"minimum": 0, "shape": 1}}, "match": {"path": "/slow"}},
              {"fault": "drop", "match": {"host": "b"}},
              {"fault": "drop", "moment": "afterSending", "match": {"host": "c"}, "requests": [1, 1]},
              {"fault": "status", "answer": {"status": 503, "text": "busy"}, "match": {"path": "/busy"}},
              {"fault": "truncate", "after": 1, "match": {"any": [{"path": "/cut"}, {"path": "/short"}]}},
              {"fault": "corrupt", "every": 1, "match": {"path": "/bad", "not": {"method": "PUT"}}, "probability": 1}
            ]}]}
            """#
        let florets = try FloretsFile(parsing: Array(file.utf8)) { duration in waited.withLock { $0.append(duration) } }
        let scene = FloretScene(florets.florets)
        try await scene.send(.get, "http://a/slow")
        #expect(waited.withLock { $0 } == [.seconds(2), .seconds(1), .seconds(3), .zero, .zero])
        await #expect(throws: HTTPError(.connectionFailed, "")) { try await scene.send(.get, "http://b/") }
        await #expect(throws: HTTPError(.connectionLost, "")) { try await scene.send(.get, "http://c/") }
        #expect(try await scene.send(.get, "http://c/").status == 200)
        #expect(try await scene.send(.get, "http://a/busy").body.text() == "busy")
        #expect(try await scene.send(.put, "http://a/short", body: .text("abc")).body.text() == "a")
        #expect(try await scene.send(.post, "http://a/bad", body: .text("a")).body.text() != "a")
        #expect(try await scene.send(.put, "http://a/bad", body: .text("a")).body.text() == "a")
    }

    @Test(arguments: [
        ("", "The file is not JSON"), ("[]", "The file must be an object."), ("{}", "/florets is missing."),
        (#"{"florets": {}}"#, "/florets must be an array."),
        (#"{"florets": [{"floret": "noCash"}]}"#, "/florets/0/floret must be one of inspector, mock,"),
        (
            #"{"florets": [{"floret": "noCache", "enable": true}]}"#,
            #"/florets/0/enable is not known here. Did you mean "enabled"?"#
        ),
        (#"{"florets": [{"floret": "noCache", "enabled": 1}]}"#, "/florets/0/enabled must be true or false."),
        (#"{"florets": [{"floret": "throttle", "up": 0}]}"#, "/florets/0/up must be a whole number of at least 1."),
        (
            #"{"florets": [{"floret": "throttle", "latency": -1}]}"#,
            "/florets/0/latency must be a number from 0.0 to 3600.0."
        ),
        (#"{"florets": [{"floret": "mock", "mode": "record"}]}"#, #"/florets/0 must have a "folder" to record to."#),
        (
            #"{"florets": [{"floret": "mapRemote", "mappings": [{"name": "a", "from": {"port": 70000}, "to": {}}]}]}"#,
            "/florets/0/mappings/0/from/port must be a whole number of at least 1 and at most 65535."
        ),
        (
            #"{"florets": [{"floret": "findReplace", "request": [{"change": "replace", "in": "url", "expression": "(", "with": ""}]}]}"#,
            "/florets/0/request/0/expression is not a regular expression."
        ),
        (
            #"{"florets": [{"floret": "findReplace", "request": [{"change": "replace", "in": "url", "with": ""}]}]}"#,
            #"/florets/0/request/0 must have either "text" or "expression"."#
        ),
        (
            #"{"florets": [{"floret": "findReplace", "request": [{"change": "setHeader", "name": "a b", "value": ""}]}]}"#,
            "/florets/0/request/0/name must be the name of a header."
        ),
        (
            #"{"florets": [{"floret": "findReplace", "request": [{"change": "setHeader", "name": "a", "value": "b\r\nc: d"}]}]}"#,
            "/florets/0/request/0/value must have no line break and no NUL."
        ),
        (
            #"{"florets": [{"floret": "fault", "rules": [{"fault": "drop", "probability": 2}]}]}"#,
            "/florets/0/rules/0/probability must be a number from 0.0 to 1.0."
        ),
        (
            #"{"florets": [{"floret": "fault", "rules": [{"fault": "drop", "requests": [2, 1]}]}]}"#,
            "/florets/0/rules/0/requests must be the first and the last request"
        ),
        (
            #"{"florets": [{"floret": "fault", "rules": [{"fault": "latency", "seconds": {"uniform": [2, 1]}}]}]}"#,
            "/florets/0/rules/0/seconds/uniform must be the shortest and the longest delay"
        ),
        (
            #"{"florets": [{"floret": "fault", "rules": [{"fault": "status", "answer": {"status": 99}}]}]}"#,
            "/florets/0/rules/0/answer/status must be a whole number of at least 100 and at most 599."
        ),
        (
            #"{"florets": [{"floret": "mock", "rules": [{"answers": [{"text": "", "json": 1}]}]}]}"#,
            "/florets/0/rules/0/answers/0 must have at most one of text, base64, json, file."
        ),
    ])
    func `an invalid file is rejected with the location of the error`(text: String, reason: String) {
        do {
            _ = try FloretsFile(parsing: Array(text.utf8))
            Issue.record("the invalid file was accepted")
        } catch let error as InterceptionError {
            #expect(error.code == .invalidFile && error.reason.hasPrefix(reason), "\(error.reason)")
        } catch {
            Issue.record(error)
        }
    }

    @Test func `the error of an invalid file has the file's path, and a missing file has another error code`() throws {
        let folder = try ScratchFolder()
        let file = try folder.write("florets.json", #"{"florets": 1}"#)
        do {
            _ = try FloretsFile(contentsOfFile: file)
        } catch let error as InterceptionError {
            #expect(error.reason == "\(file): /florets must be an array.")
        }
        #expect(throws: InterceptionError(.storageFailed, "")) {
            try FloretsFile(contentsOfFile: folder.path + "/none.json")
        }
    }

    /// A mock of one recorded response with these settings.
    private func mock(_ settings: String, in folder: ScratchFolder) throws -> FloretScene {
        try folder.write(
            "mocks/a/0001.json",
            #"{"format":"souk.mock.1","recorded":"2026-01-01T00:00:00Z","request":{"method":"POST","url":"http://a.example/x?q=1","headers":{"Content-Type":"application/json","Accept":"text/html"},"json":{"n":1}},"answer":{"headers":{"Date":"Thu, 01 Jan 2026 00:00:00 GMT"}}}"#
        )
        let file = try folder.write(
            "florets.json", #"{"florets": [{"floret": "mock", "mode": "forced", "folder": "mocks"\#(settings)}]}"#)
        return FloretScene(try FloretsFile(contentsOfFile: file).florets)
    }

    @Test(arguments: [
        ("", #", "ignoreHost": true"#, "http://b.example/x?q=1", 1, true),
        ("", #", "ignorePort": true"#, "http://a.example:81/x?q=1", 1, true),
        ("", #", "ignoreQuery": true"#, "http://a.example/x?q=2", 1, true),
        ("", #", "ignoreQueryItems": ["t"]"#, "http://a.example/x?q=1&t=3", 1, true),
        ("", #", "headers": ["Accept"]"#, "http://a.example/x?q=1", 1, false),
        ("", #", "body": true"#, "http://a.example/x?q=1", 2, false),
        (#", "body": true"#, #", "ignoreBodyItems": ["n"]"#, "http://a.example/x?q=1", 2, true),
    ])
    func `each setting for the matching of requests has an effect`(
        settings: String, more: String, url: String, number: Int, isFound: Bool
    ) async throws {
        let folder = try ScratchFolder()
        func finds(_ settings: String) async throws -> Bool {
            let scene = try mock(settings, in: folder)
            do {
                _ = try await scene.send(
                    .post, url, headers: ["Content-Type": "application/json"], body: .text("{\"n\": \(number)}"))
                return true
            } catch let error as InterceptionError where error.code == .noMock {
                return false
            }
        }
        #expect(try await finds(settings) == !isFound)
        #expect(try await finds(settings + more) == isFound)
    }

    @Test func `the file can enable the refresh of dates`() async throws {
        let folder = try ScratchFolder()
        func date(_ settings: String) async throws -> String? {
            try await mock(settings, in: folder).send(.post, "http://a.example/x?q=1").headers["Date"]
        }
        #expect(try await date("") == "Thu, 01 Jan 2026 00:00:00 GMT")
        let moved = try #require(try await date(#", "refreshDates": true"#))
        #expect(moved != "Thu, 01 Jan 2026 00:00:00 GMT" && moved.hasSuffix(" GMT"))
    }

    @Test func `the records of a HAR file are replayed`() async throws {
        let folder = try ScratchFolder()
        let file = try folder.write(
            "florets.json", #"{"florets": [{"floret": "mock", "mode": "forced", "har": "session.har"}]}"#)
        #expect(throws: InterceptionError(.invalidFile, "")) { try FloretsFile(contentsOfFile: file) }
        var record = Record(HTTPRequest(method: .get, url: "http://a.example/x"))
        record.result = .success(Response(status: 203, body: .text("as it was")))
        record.timing = .init(
            started: Date(timeIntervalSince1970: 1), sent: Date(timeIntervalSince1970: 1),
            answered: Date(timeIntervalSince1970: 2), ended: Date(timeIntervalSince1970: 2))
        try folder.write("session.har", String(decoding: HARDocument([record]).encoded(), as: UTF8.self))
        let scene = FloretScene(try FloretsFile(contentsOfFile: file).florets)
        let answer = try await scene.send(.get, "http://a.example/x")
        #expect(answer.status == 203)
        #expect(try await answer.body.text() == "as it was")
        try folder.write("session.har", "{}")
        #expect(throws: InterceptionError(.invalidFile, "")) { try FloretsFile(contentsOfFile: file) }
    }

    @Test func `an answer's body may be a file beside the florets file`() async throws {
        let folder = try ScratchFolder()
        try folder.write("bodies/picture.bin", "pixels")
        let file = try folder.write(
            "florets.json",
            #"{"florets": [{"floret": "mock", "rules": [{"answers": [{"file": "bodies/picture.bin"}]}]}]}"#)
        let scene = FloretScene(try FloretsFile(contentsOfFile: file).florets)
        #expect(try await scene.send().body.text() == "pixels")
    }
}
