import Foundation
import HTTPCore
import HostTestSupport
import NetworkInterception
import Primitives
import Testing

@Suite struct HARDocumentTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000.25)

    /// The JSON as a text, to compare the order of members, which the equality of JSON ignores. The parser replaces a
    /// lone surrogate, so this function does too.
    private func ordered(_ text: String) throws -> String {
        try JSONValue(parsing: text.replacingOccurrences(of: "\\ud83d", with: "\\ufffd")).text()
    }

    @Test(arguments: HARFixtures.all.map(\.name))
    func `a file of a browser or another program is read and written without changes`(name: String) throws {
        let text = try #require(HARFixtures.all.first { $0.name == name }?.text)
        for mark in ["", "\u{FEFF}"] {
            let archive = try HARDocument(parsing: Array((mark + text).utf8))
            #expect(String(decoding: archive.encoded(), as: UTF8.self) == (try ordered(text)) + "\n")
            #expect(try HARDocument(parsing: archive.encoded(pretty: true)) == archive)
        }
    }

    @Test func `entries become records`() throws {
        let chrome = try HARDocument(parsing: Array(HARFixtures.chrome.utf8))
        #expect(chrome.creator == "WebInspector 537.36")
        let (posted, blocked) = (chrome.records[0], chrome.records[1])
        #expect(posted.originalRequest.headers == ["content-type": "application/json", "x-a": "1", "X-A": "2"])
        #expect(posted.originalRequest.body.buffered == Array(#"{"order":1}"#.utf8))
        #expect(posted.response?.status == 201)
        #expect(posted.response?.headers.values("Set-Cookie") == ["a=1", "b=2"])
        #expect(posted.timing.started == RFC3339.date(from: "2026-03-01T10:00:00.5Z"))
        let sent = try #require(posted.timing.sent)
        #expect(abs(sent.timeIntervalSince(try #require(posted.timing.started)) - 0.0021) < 1e-6)
        #expect((blocked.failure as? RecordedFailure)?.reason == "net::ERR_BLOCKED_BY_CLIENT")
        let firefox = try HARDocument(parsing: Array(HARFixtures.firefox.utf8)).records
        #expect(firefox[0].response?.body.buffered == [0x89, 0x50, 0x4E, 0x47])
        #expect(firefox[0].originalRequest.body.buffered == Array("a=1+2&b=".utf8))
        #expect(firefox[0].timing.started == RFC3339.date(from: "2026-03-01T10:00:00.01Z"))
        let charles = try HARDocument(parsing: Array(HARFixtures.charles.utf8)).records
        #expect(charles[0].timing.started == RFC3339.date(from: "2026-03-01T12:00:00.5Z"))
        #expect(charles[0].bodies.designated == .init(byteCount: 16, isCut: true), "the body is not in the file")
        #expect(charles[0].response?.status == 204)
    }

    @Test func `times that do not add up are warnings, because programs write them`() throws {
        func warnings(_ text: String) throws -> [String] {
            try HARDocument(parsing: Array(text.utf8)).warnings.map(\.pointer)
        }
        #expect(try warnings(HARFixtures.chrome) == ["/log/entries/1", "/log/entries/1/timings"])
        #expect(try warnings(HARFixtures.charles) == ["/log/entries/0/time"])
        #expect(try warnings(HARFixtures.safari).isEmpty)
        #expect(try warnings(HARFixtures.insomnia).isEmpty)
        let late = HARFixtures.insomnia.replacingOccurrences(of: "\"send\":0", with: "\"send\":-3")
        #expect(try warnings(late) == ["/log/entries/0/timings/send"])
    }

    @Test(arguments: [
        ("\"log\"", "\"blog\"", ""),
        ("\"creator\"", "\"author\"", "/log"),
        ("\"version\":\"1.2\",", "", "/log"),
        ("\"entries\":[", "\"entries\":[1,", "/log/entries/0"),
        ("2026-03-01T14:00:00.000Z", "yesterday", "/log/entries/0/startedDateTime"),
        ("\"method\":\"GET\",", "", "/log/entries/0/request"),
        ("\"url\":\"http://shop.example/x\"", "\"url\":7", "/log/entries/0/request/url"),
        ("\"queryString\":[]", "\"queryString\":{}", "/log/entries/0/request/queryString"),
        ("\"headers\":[]", "\"headers\":[{\"name\":\"a\"}]", "/log/entries/0/request/headers/0"),
        ("\"status\":200", "\"status\":\"200\"", "/log/entries/0/response/status"),
        ("\"content\":", "\"contents\":", "/log/entries/0/response"),
        ("\"cache\":{},", "", "/log/entries/0"),
        ("\"timings\":", "\"times\":", "/log/entries/0"),
        ("\"text\":\"ok\"", "\"text\":\"?\",\"encoding\":\"base64\"", "/log/entries/0/response/content/text"),
    ])
    func `an error in the structure is reported with its JSON Pointer`(part: String, other: String, pointer: String)
        throws
    {
        let text = HARFixtures.insomnia
        let range = try #require(text.range(of: part))
        let broken = Array(text.replacingCharacters(in: range, with: other).utf8)
        let findings = try HARDocument.findings(in: broken).filter(\.isError)
        #expect(Set(findings.map(\.pointer)).contains(pointer), "\(findings)")
        let error = #expect(throws: InterceptionError.self) { try HARDocument(parsing: broken) }
        #expect(error?.code == .invalidFile && error?.reason.contains(findings[0].reason) == true)
    }

    @Test func `the error of malformed JSON names the line`() {
        let error = #expect(throws: InterceptionError.self) { try HARDocument(parsing: Array("{\n\"log\": }".utf8)) }
        #expect(error?.reason.contains("line 2") == true)
    }

    /// Four records: with text bodies, with binary bodies, with a failure, and without a result.
    private func records() -> [Record] {
        var posted = Record(
            HTTPRequest(
                method: .post, url: "http://a/x?q=a%20b&q=",
                headers: ["Content-Type": "application/x-www-form-urlencoded"],
                body: .text("n=1+2&m=")))
        posted.designatedRequest.headers.add("X-Stamp", "1")
        posted.changes = [.init(floret: "Stamp", kind: .changedRequest)]
        posted.result = .success(
            Response(status: 201, headers: ["Location": "/y", "Content-Type": "text/plain"], body: .text("grüß")))
        posted.timing = .init(
            started: Self.start, sent: Self.start.addingTimeInterval(0.001),
            answered: Self.start.addingTimeInterval(0.0235),
            ended: Self.start.addingTimeInterval(0.030))
        var binary = Record(HTTPRequest(method: .put, url: "http://a/b", body: .bytes([0xFF, 0])))
        binary.result = .success(Response(status: 500, body: .bytes([1, 2, 0xFE])))
        binary.bodies.response = .init(byteCount: 9000, isCut: true)
        binary.timing.started = Self.start.addingTimeInterval(1)
        var failed = Record(HTTPRequest(method: .get, url: "http://a/c"))
        failed.result = .failure(HTTPError(.timeout, "No answer came."))
        failed.timing.started = Self.start.addingTimeInterval(2)
        var underway = Record(HTTPRequest(method: .get, url: "http://a/d"))
        underway.timing.started = Self.start.addingTimeInterval(3)
        return [underway, failed, binary, posted]
    }

    @Test func `exported records are read back`() throws {
        let records = records()
        let archive = try HARDocument(parsing: HARDocument(records).encoded())
        #expect(archive.warnings.isEmpty)
        let read = archive.records
        #expect(read.map(\.id) == records.reversed().map(\.id), "the earliest first")
        #expect(read[0].originalRequest.headers == records[3].originalRequest.headers)
        #expect(read[0].designatedRequest.headers["X-Stamp"] == "1")
        #expect(read[0].changes == records[3].changes)
        #expect(read[0].response?.body.buffered == Array("grüß".utf8))
        #expect(abs((read[0].timing.ended ?? .distantPast).timeIntervalSince(Self.start) - 0.030) < 1e-6)
        #expect(read[1].originalRequest.body.buffered == [0xFF, 0])
        #expect(read[1].response?.body.buffered == [1, 2, 0xFE])
        #expect(read[1].bodies.response == .init(byteCount: 9000, isCut: true))
        #expect((read[2].failure as? HTTPError)?.code == .timeout)
        #expect(read[3].result == nil)
    }

    @Test func `a body over the limit is replaced with a comment`() throws {
        var options = HARDocument.ExportOptions()
        options.maximumBodyBytes = 3
        let content = HARDocument([records()[3]], options: options).entries[0].json["response"]?["content"]
        #expect(content?["text"] == "" && content?["size"] == 6)
        #expect(content?["comment"] == "The body is left out: it is longer than 3 bytes.")
    }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with haralyzer"))
    func `haralyzer reads exported files`() async throws {
        let json = try JSONValue(parsing: HARDocument(records()).encoded())
        let verdict = try await OutsideJudge.judge("har.py", ["document": json])
        let judged = try #require(verdict.json, "\(verdict.errors)")
        #expect(judged["creator"] == "Souk" && judged["version"] == "1.2")
        let entries = try #require(judged["entries"]?.arrayValue)
        #expect(entries.map { $0["status"]?.intValue } == [201, 500, 0, 0])
        #expect(entries[0]["milliseconds"] == 30 && entries[0]["wait"] == 22.5)
        #expect(entries[0]["started"]?.stringValue?.hasPrefix("2027-01-15T08:00:00.25") == true)
        #expect(entries[0]["query"] == [["name": "q", "value": "a b"], ["name": "q", "value": ""]])
        #expect(entries[0]["posted"] == "n=1+2&m=" && entries[0]["text"] == "grüß")
        #expect(judged["post"] == 1 && judged["server errors"] == 1)
        #expect(try await OutsideJudge.judge("har.py", ["document": ["log": [:]]]).status != 0)
    }
}
