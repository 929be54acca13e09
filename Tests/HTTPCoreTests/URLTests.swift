import BaseTestSupport
import HTTPCore
import Testing

/// The parts of URLs and percent-encoding.
@Suite struct URLTests {
    @Test(arguments: [
        ("/a#b?c", "/a", "/a"), ("/a?b#c?d", "/a", "/a?b"), ("http://h#f", "/", "/"), ("http://h/?#", "/", "/?"),
        ("http://h?a=/b", "/", "/?a=/b"), ("HTTP://H/A", "/A", "/A"), ("http://u:p@h:1/x", "/x", "/x"),
        ("/a?x=http://other/b", "/a", "/a?x=http://other/b"), ("//host/a", "//host/a", "//host/a"), ("?a", "/", "/?a"),
        ("http://[::1]:80/a%20b", "/a%20b", "/a%20b"), ("/é?é", "/é", "/é?é"),
    ])
    func `a fragment is not part of a request, and nothing is decoded`(url: String, path: String, target: String) {
        let request = HTTPRequest(method: .get, url: url)
        #expect(request.path == path)
        #expect(request.target == target)
    }

    @Test(arguments: [
        ("http://host/a", "host"), ("https://host:8443?x", "host:8443"), ("http://user:secret@host:81/a", "host:81"),
        ("http://a@b@host", "host"), ("http://[::1]:80/", "[::1]:80"), ("http://host#f", "host"), ("http://user@", nil),
        ("http:///a", nil), ("http://", nil), ("/go?to=http://other/path", nil), ("*", nil), ("", nil), ("/", nil),
    ])
    func `host and port are those of the URL itself, without user information`(url: String, authority: String?) {
        #expect(HTTPRequest(method: .get, url: url).authority == authority)
    }

    @Test func `every ASCII character has an escape, and only unreserved characters need none`() {
        let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
        for byte in UInt8(0)..<0x80 {
            let text = String(decoding: [byte], as: UTF8.self)
            let digits = "0123456789ABCDEF".map(String.init)
            let escape = "%" + digits[Int(byte >> 4)] + digits[Int(byte & 15)]
            #expect(PercentEncoding.encode(text) == (unreserved.contains(byte) ? text : escape))
            #expect(PercentEncoding.decode(escape) == text)
            #expect(PercentEncoding.decode(escape.lowercased()) == text)
        }
        #expect(PercentEncoding.encode("é日😀") == "%C3%A9%E6%97%A5%F0%9F%98%80")
    }

    @Test(arguments: ["%", "a%", "%4", "%4g", "%g4", "%%41", "%-1", "%+1", "% 1", "%C3", "%C3%28", "%ED%A0%80", "%é"])
    func `an incomplete escape and an escape of bytes that are not UTF-8 are refused`(text: String) {
        #expect(PercentEncoding.decode(text) == nil)
    }

    @Test func `decoded text is not decoded again`() {
        #expect(PercentEncoding.decode("%2541") == "%41")
        #expect(PercentEncoding.decode("a+b%2B") == "a+b+")
    }

    @Test(arguments: [
        ("", []), ("&&", []), ("a", ["a="]), ("=", ["="]), ("=v", ["=v"]), ("a=b=c", ["a=b=c"]),
        ("a=&b", ["a=", "b="]),
        ("a=1&a=2&b=3", ["a=1", "a=2", "b=3"]), ("a;b=1", ["a;b=1"]), ("%26=%3D", ["&=="]), ("a+b=c+d", ["a b=c d"]),
        ("a%2Bb=%20", ["a+b= "]), ("é=日", ["é=日"]),
    ])
    func `a query is split before it is decoded`(text: String, items: [String]) throws {
        let query = try #require(HTTPQuery(parsing: text))
        #expect(query.items.map { "\($0.name)=\($0.value)" } == items)
        #expect(HTTPQuery(parsing: query.encoded) == query)
    }

    @Test func `random targets are divided as a plain division of their text has it`() {
        var random = SeededNumbers(state: 28)
        let parts = ["a", "é", "/", "?", "#", "&", "=", "+", "%", "%2", "%41", "%26", "%C3%A9", "%FF", "://", ":"]
        for _ in 0..<20_000 {
            let url = (0..<Int.random(in: 0...9, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }
                .joined()
            let request = HTTPRequest(method: .get, url: "/" + url)
            let whole = ("/" + url).split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)[0]
            let halves = whole.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            #expect(request.path == String(halves[0]), "\(url)")
            #expect(request.target == String(whole), "\(url)")
            let query = halves.count == 2 ? Self.items(in: halves[1]) : []
            #expect(request.query?.items.map { [$0.name, $0.value] } == query, "\(url)")
        }
    }

    /// Returns the names and values of a query; `nil` if one cannot be decoded.
    private static func items(in query: Substring) -> [[String]]? {
        var items: [[String]] = []
        for part in query.split(separator: "&") {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let decoded = halves.compactMap { half in
                PercentEncoding.decode(
                    half.split(separator: "+", omittingEmptySubsequences: false).joined(separator: "%20"))
            }
            guard decoded.count == halves.count else { return nil }
            items.append(decoded + (decoded.count == 1 ? [""] : []))
        }
        return items
    }
}
