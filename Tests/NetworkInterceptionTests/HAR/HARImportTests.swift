import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// Reading HAR files that deviate from the specification, as programs write them.
@Suite struct HARImportTests {
    /// Reads Insomnia's file after each `changes` pair has replaced its first text by its second.
    private func archive(_ changes: (String, String)...) throws -> HARDocument {
        var text = HARFixtures.insomnia
        for (part, other) in changes {
            let range = try #require(text.range(of: part), "\(part)")
            text.replaceSubrange(range, with: other)
        }
        return try HARDocument(parsing: Array(text.utf8))
    }

    private func only(_ archive: HARDocument) throws -> Record { try #require(archive.records.first) }

    @Test func `null for values that HTTP/2 does not have, as Charles writes it, is only a warning`() throws {
        let archive = try archive(
            ("\"status\":200,\"statusText\":\"OK\"", "\"status\":200,\"statusText\":null"),
            ("\"mimeType\":\"text/plain\"", "\"mimeType\":null"),
            ("\"redirectURL\":\"\"", "\"redirectURL\":null"))
        #expect(
            Set(archive.warnings.map(\.pointer)) == [
                "/log/entries/0/response/statusText", "/log/entries/0/response/content",
                "/log/entries/0/response/redirectURL",
            ])
        #expect(try only(archive).response?.status == 200)
    }

    @Test func `unused members may deviate from the schema`() throws {
        let archive = try archive(
            (
                "\"cache\":{}",
                #""cache":{"afterRequest":{"expires":1790000000,"lastAccess":"","eTag":"","hitCount":"2"}}"#
            ),
            ("\"headersSize\":-1,\"bodySize\":-1,\"settingEncodeUrl\"", "\"settingEncodeUrl\""),
            ("\"comment\"", "\"connection\":443,\"comment\""))
        let pointer = "/log/entries/0"
        #expect(
            Set(archive.warnings.map(\.pointer)) == [
                "\(pointer)/cache/afterRequest/expires", "\(pointer)/cache/afterRequest/hitCount", "\(pointer)/request",
                "\(pointer)/connection",
            ])
        #expect(try only(archive).originalRequest.url == "http://shop.example/x")
    }

    @Test func `an empty date, which Safari writes for an unknown one, counts as absent`() throws {
        let archive = try archive(("2026-03-01T14:00:00.000Z", ""))
        #expect(archive.warnings.map(\.pointer) == ["/log/entries/0/startedDateTime"])
        #expect(try only(archive).timing == .init())
        #expect(HARDocument(archive.records).entries.first?.started == Date(timeIntervalSince1970: 0))
    }

    @Test(arguments: [
        ("2026-03-01T14:00:00Z", 0), ("2026-03-01T15:00:00.000+01:00", 0), ("2026-03-01T15:00:00+0100", 0),
        ("2026-03-01T09:00:00.0000000-05:00", 0), ("2026-03-01T14:00:00.250000+00:00", 0.25),
    ])
    func `dates are read with and without a fraction, in each form of the offset`(text: String, fraction: Double) throws
    {
        let started = try only(archive(("2026-03-01T14:00:00.000Z", text))).timing.started
        #expect(started == RFC3339.date(from: "2026-03-01T14:00:00Z")?.addingTimeInterval(fraction))
    }

    @Test func `a total time without phases counts as waiting time`() throws {
        let parts = "\"timings\":{\"blocked\":-1,\"dns\":-1,\"connect\":-1,\"send\":0,\n\"wait\":42.5"
        for timings in ["\"timings\":{\"wait\":-1", "\"timings\":{\"wait\":null", "\"timings\":{\"wait\":0"] {
            let timing = try only(archive((parts, timings))).timing
            let started = try #require(timing.started)
            #expect(timing.sent == started)
            #expect(abs(try #require(timing.ended).timeIntervalSince(started) - 0.0425) < 1e-6)
        }
        let exported = try HARDocument([only(archive((parts, "\"timings\":{\"wait\":-1")))])
        #expect(exported.entries[0].json["time"] == 42.5)
    }

    @Test func `the time for TLS is a part of the time for the connection`() throws {
        let firefox = try HARDocument(parsing: Array(HARFixtures.firefox.utf8))
        let timing = firefox.records[0].timing
        let started = try #require(timing.started)
        let spans = [timing.sent, timing.answered, timing.ended].map { $0?.timeIntervalSince(started) ?? -1 }
        #expect(spans.map { ($0 * 1000).rounded() } == [5, 26, 28])
    }

    @Test func `impossibly long times are limited`() throws {
        let archive = try archive(("\"wait\":42.5", "\"wait\":1e300"), ("\"receive\":0", "\"receive\":1e308"))
        #expect(!archive.warnings.isEmpty)
        let again = try HARDocument(parsing: HARDocument(archive.records).encoded())
        #expect(again.entries[0].started == archive.entries[0].started)
    }

    @Test func `joined header lines are separated`() throws {
        let record = try only(
            archive(
                (
                    "\"statusText\":\"OK\",\"httpVersion\":\"HTTP/1.1\",\"cookies\":[],\"headers\":[]",
                    #""statusText":"OK","httpVersion":"HTTP/1.1","cookies":[],"headers":[{"name":":status","value":"200"},{"name":"Set-Cookie","value":"a=1; Path=/\nb=2\r\nc=3"},{"name":"X-Empty","value":""}]"#
                )))
        #expect(record.response?.headers.values("set-cookie") == ["a=1; Path=/", "b=2", "c=3"])
        #expect(record.response?.headers["X-Empty"] == "")
        #expect(record.response?.headers.fields.count == 4)
    }

    @Test func `a form is restored from its items, but a multipart form is marked as cut`() throws {
        func posted(_ type: String) throws -> Record {
            try only(
                archive(
                    (
                        "\"settingEncodeUrl\"",
                        #""postData":{"mimeType":"\#(type)","params":[{"name":"a b","value":"1&2"},{"name":"f","fileName":"x.png"}]},"settingEncodeUrl""#
                    )))
        }
        let form = try posted("application/x-www-form-urlencoded")
        #expect(form.originalRequest.body.buffered == Array("a+b=1%262&f=".utf8))
        #expect(form.bodies.original?.isCut == false)
        let parts = try posted("multipart/form-data; boundary=x")
        #expect(parts.originalRequest.body.buffered == [])
        #expect(parts.bodies.original?.isCut == true && parts.bodies.designated?.isCut == true)
    }

    private let compressed = (
        "\"httpVersion\":\"HTTP/1.1\",\"cookies\":[],\"headers\":[],\"content\":{\"size\":2",
        #""httpVersion":"HTTP/1.1","cookies":[],"headers":[{"name":"A","value":"1"},{"name":"content-encoding","value":"gzip"},{"name":"B","value":"2"}],"content":{"size":-1"#
    )

    @Test func `an export removes only the secrets of a decompressed text, but compressed bytes completely`() throws {
        let record = try only(archive(compressed, ("\"text\":\"ok\"", #""text":"{\"token\":\"planted\",\"a\":1}""#)))
        let exported = HARDocument([record]).entries[0]
        #expect(exported.json["response"]?["content"]?["text"] == #"{"token":"[redacted]","a":1}"#)
        #expect(
            exported.json["response"]?["headers"] == [
                ["name": "A", "value": "1"], ["name": "content-encoding", "value": "gzip"],
                ["name": "B", "value": "2"],
            ])
        let bytes = try only(archive(compressed, ("\"text\":\"ok\"", #""text":"H4sI/w==","encoding":"base64""#)))
        #expect(bytes.response?.body.buffered == [0x1F, 0x8B, 8, 0xFF])
        #expect(HARDocument([bytes]).entries[0].json["response"]?["content"]?["text"] == "[redacted]")
    }

    @Test(arguments: [
        ("\"size\":2", false), ("\"size\":5", false), ("\"size\":6", true), ("\"size\":1", false),
        ("\"size\":-1", false),
    ])
    func `a text counts as cut if it is more than a byte order mark shorter than its size`(size: String, isCut: Bool)
        throws
    {
        #expect(try only(archive(("\"size\":2", size))).bodies.response?.isCut == isCut)
    }

    @Test func `the size of a UTF-16 text counts the bytes of UTF-16`() throws {
        let wide = try only(
            archive(
                ("\"size\":2", "\"size\":6"),
                ("\"mimeType\":\"text/plain\"", "\"mimeType\":\"text/plain; charset=UTF-16LE\"")))
        #expect(wide.bodies.response == .init(byteCount: 6))
        let bytes = try only(
            archive(("\"size\":2", "\"size\":4"), ("\"text\":\"ok\"", #""text":"/w==","encoding":"base64""#)))
        #expect(bytes.bodies.response == .init(byteCount: 4, isCut: true))
        let absent = try only(archive(("\"size\":2", "\"size\":3"), ("\"text\":\"ok\"", "\"text\":\"\"")))
        #expect(absent.bodies.response == .init(byteCount: 3, isCut: true))
    }

    @Test func `requests of the same instant keep their order`() throws {
        let at = Date(timeIntervalSince1970: 1_800_000_000)
        func record(_ name: String, _ delay: Double = 0) -> Record {
            Record(
                HTTPRequest(method: .get, url: "http://a/\(name)"), id: UUID(),
                timing: .init(started: at.addingTimeInterval(delay)))
        }
        func order(_ records: Record...) -> [String] { HARDocument(records).records.map(\.originalRequest.path) }
        #expect(order(record("1"), record("2"), record("3")) == ["/1", "/2", "/3"])
        #expect(order(record("1"), record("2"), record("3", 1)) == ["/1", "/2", "/3"])
        #expect(
            order(record("3", 1), record("2"), record("1")) == ["/1", "/2", "/3"], "newest first, as a storage has them"
        )
    }

    @Test func `cookies are exported with their attributes`() throws {
        var record = Record(HTTPRequest(method: .get, url: "http://a/", headers: ["Cookie": "x=1; y=a=b; z"]))
        record.result = .success(
            Response(
                status: 200,
                headers: [
                    "Set-Cookie":
                        "s=1; Path=/; Domain=a; expires=Sun, 01 Mar 2026 14:00:00 GMT; HttpOnly; Secure; SameSite=Lax"
                ]))
        var options = HARDocument.ExportOptions()
        options.redaction = .none
        let entry = HARDocument([record], options: options).entries[0].json
        #expect(
            entry["request"]?["cookies"] == [
                ["name": "x", "value": "1"], ["name": "y", "value": "a=b"], ["name": "z", "value": ""],
            ])
        #expect(
            entry["response"]?["cookies"] == [
                [
                    "name": "s", "value": "1", "path": "/", "domain": "a", "expires": "2026-03-01T14:00:00.000Z",
                    "httpOnly": true, "secure": true,
                ]
            ])
    }

    @Test func `a query that cannot be decoded is exported unchanged`() throws {
        let record = Record(HTTPRequest(method: .get, url: "http://a/?q=100%&b&c=%FF"))
        #expect(
            HARDocument([record]).entries[0].json["request"]?["queryString"] == [
                ["name": "q", "value": "100%"], ["name": "b", "value": ""], ["name": "c", "value": "%FF"],
            ])
    }

    @Test func `a file may have several pages, no pages, or null instead of pages`() throws {
        let page =
            #"{"startedDateTime":"","id":"page_1","title":null,"pageTimings":{"onLoad":null,"onContentLoad":"soon"}}"#
        let other = page.replacingOccurrences(of: "page_1", with: "page_2")
        for (pages, warnings) in [("null", 0), ("[]", 0), ("[\(page),\(other)]", 6)] {
            let archive = try archive(("\"entries\":[", "\"pages\":\(pages),\"entries\":["))
            #expect(archive.warnings.count == warnings, "\(archive.warnings)")
            #expect(String(decoding: archive.encoded(), as: UTF8.self).contains("\"pages\":\(pages)"))
        }
    }
}
