import HTTPCore
import NetworkInterception
import Testing

/// The files in the folder of a mock.
@Suite struct MockFolderTests {
    @Test func `a folder that Cauli wrote is read`() async throws {
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

    @Test func `an answer with an impossible recording time is returned unchanged`() async throws {
        let folder = try ScratchFolder()
        try folder.write(
            "GET_http_a_example_/1/record.json",
            #"""
            {"designatedRequest": {"url": "http://a.example/", "httpMethod": "GET"}, "requestStarted": 1e300,
             "result": {"urlResponseRepresentable": {"httpURLResponse": {"url": "http://a.example/", "statusCode": 200,
                "headerFields": {"Date": "Sun, 06 Nov 1994 08:49:37 GMT"}}}}}
            """#)
        var configuration = MockFloret.Configuration.standard
        configuration.refreshesDates = true
        let mock = try MockFloret(.mock(forced: true), folder: folder.path, configuration: configuration)
        let answer = try await FloretScene([mock]).send(.get, "http://a.example/")
        #expect(answer.headers["Date"] == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func `a recording can be read by its path`() async throws {
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
    func `an invalid recording is refused with its path and the location of the error`(text: String, reason: String)
        throws
    {
        let folder = try ScratchFolder()
        let file = try folder.write("a/0001.json", text)
        do {
            _ = try MockFloret(folder: folder.path)
            Issue.record("the invalid recording was accepted")
        } catch let error as InterceptionError {
            #expect(
                error.code == .invalidFile && error.reason.hasPrefix(file) && error.reason.contains(reason), "\(error)")
        }
    }

    @Test func `a missing folder is refused, but created by a recorder`() async throws {
        let folder = try ScratchFolder()
        let path = folder.path + "/none/yet"
        #expect(throws: InterceptionError(.storageFailed, "")) { try MockFloret(folder: path) }
        try await FloretScene([try MockFloret(.record, folder: path)]).send()
        #expect(folder.files().count == 1)
    }
}
