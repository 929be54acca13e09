import Foundation
import HTTPCore
import NetworkInterception
import Testing

/// The cost of redaction, names that users add, and texts outside of records.
@Suite struct RedactionLimitsTests {
    private static let fragments = [
        "<token>", "<token", "<item name=\"token\" ", "<name>token</name>", "token: must be ", "token: |\n", "token:\n",
        "\"token\":",
        "'token': '", "token=\"/", "tokens:\n a: ", "token: 'a\n ", "token: a\n b", "token: #a\n b\n", "/token/%41",
        "token: |          ", "&lt;token&gt;", "\\u003ctoken\\u003e", "&amp;", "\\\\", "&#", "\\u0022", "&amp;lt;",
        "a=b;token=", "a=b;token=c d", "(token=a ", "(token=a, ", "token=it's", "''",
        "?token==", "token=f(\"", "token=\"/\" ", "token='/a'b", "\"token: null ", "\\\"token\\\":",
        "\\u0022token\\u0022:", "&quot;token&quot;:", "{\"token\":{",
        "token=null|",
        "token=", "?token", "&", "=", ":", "://", "://a:b", "%41", "%2541", "%", "a%41=", "Bearer ", "Basic+", "token+",
        "basic ",
        "sk-", "ghp_", "eyJ", "eyJ ", "MI", "MI.", "$2b$", "--token ", "--", "-----BEGIN ", "-----BEGIN PRIVATE KEY",
        "4111", "4111 ",
        "4111-1111 ", "cookie: a\"", "cookie: \"", "name=\"password\" ", "name: token ", "\"", "\\", "'", "\\\"", "[",
        "{", "<", ">",
        "`token`='", "`=", ":'\\n", "'\\n' ", "\" '\\n", "set password for ", "\"token\":\n#", "\"token\":\n- ",
        "<key>token</key><!--",
        "identified with ", "identified with 'a_", "/reset/1/", "/1/a/2", "passwords:\n- a: ",
        "#a\n", "tokens:\n  a:\n", "secrets:\n  a:\n    file: b\n", "- secrets:\n", "  secrets:\n    name: a\n",
        (0..<100).map { String(repeating: " ", count: $0) + "tokens:\n" }.joined(), "\"tokens\":\n  a: b\n",
        "\"tokens\":\n\n", "\"-u\",", "\"-u\",\"a:", "-u 'a:1",
        "token:\n#", "token: &a ", "token: !", "\\n", "\\ntoken: |\\n ", "\\\\n", "\"\\n", "\\\"\\n", "\\u000a",
        "<param-name>token</param-name><", "<key a>", "<entry name=\"otp\"><", "%2574oken=", "token=\n\"",
        "<a token=\n", "--a\n", "--a\n\n\u{0}", "\n--", "a\u{0}", "t\u{0}o\u{0}",
        "{\"name\":\"token\",\"id\":1,", "\"id\":1,{\"name\":\"token\"", "\"otp\":{\"value\":", "\"otp\":{",
        "\"path\":\"/token\",",
        "name: token\nid: a\n- ", "<token a='", "<token value=", "<a name=token id=", "define('token',\"",
        "set(\"token\",", "(\"",
        "a[\"token\"]=", "(token:\n", "(token:\n\"", "token: a = \"", "$token:A=\"", "data:\n\"token\":\n",
        "4111+1111+",
        "token_v2=", "a_v2: ", "<pin><a>", "<pin><", "<pin>\n<value>", "pin:\n a: ", "pin:\n value: ",
        "- pin:\n  - value: ",
        "378282246310005 ", "[378282246310005,", "378282246310005,", "\"id\":[378282246310005,", "ZXlK", "ZXlK ",
        "//a:b", "//a:", "--token\",\"", "tokens = [\n", "token=(\"", "token=b\"",
        "/token", "/token/", "token=a          ", "          ", "\n\n", "\u{0}t", "a", "é",
    ]

    @Test(arguments: fragments)
    func `the time of redaction grows in proportion to the length, whichever fragment is repeated`(_ fragment: String) {
        let (short, long) = (time(fragment, 4096), time(fragment, 32_768))
        // Linear time is eight times as long, quadratic time 64 times.
        #expect(long < 24 * short || long < CLOCKS_PER_SEC / 8, "\(fragment.debugDescription): \(short), \(long)")
    }

    /// The processor time for a body of this number of bytes, in ticks.
    private func time(_ fragment: String, _ count: Int) -> clock_t {
        let body = Array(String(repeating: fragment, count: count / fragment.utf8.count).utf8)
        let record = Record(HTTPRequest(method: .post, url: "http://a/", body: .bytes(body)))
        let begin = clock()
        _ = Redaction.standard.redacted(record)
        return clock() - begin
    }

    @Test func `added names are redacted in queries, JSON, XML and YAML, and are compared as a whole`() {
        let redaction = Redaction.standard.adding(
            headers: ["X-Till"], queryItems: ["invite"], members: ["ssn", "größe", "field_2"])
        #expect(
            redaction.redacted("https://h/?invite=a&ssn=b&reinvite=c")
                == "https://h/?invite=%5Bredacted%5D&ssn=%5Bredacted%5D&reinvite=c")
        #expect(
            redaction.redacted(#"{"SSN":1,"invite":"a","größe":"b","xssn":"c"}"#)
                == #"{"SSN":"[redacted]","invite":"a","größe":"[redacted]","xssn":"c"}"#)
        #expect(redaction.redacted(#"{"field2":"a","field1":"b"}"#) == #"{"field2":"[redacted]","field1":"b"}"#)
        #expect(redaction.redacted("<ssn>1</ssn>") == "<ssn>[redacted]</ssn>")
        #expect(redaction.redacted("a: 1\nssn: 2 3\n") == "a: 1\nssn: [redacted]\n")
        let own = Redaction(members: ["ssn"])
        #expect(own.redacted(#"{"ssn":"1","token":"a"}"#) == #"{"ssn":"[redacted]","token":"a"}"#)
        #expect(
            own.adding(members: ["b"]).keepingEncodedBodies().redacted(#"{"b":"1","token":"a"}"#)
                == #"{"b":"[redacted]","token":"a"}"#)
        #expect(Redaction.none.redacted("token=a ghp_01234567890123456789") == "token=a ghp_01234567890123456789")
    }

    @Test func `redacted text in UTF-16 stays in UTF-16`() {
        var record = Record(HTTPRequest(method: .post, url: "http://a/"))
        for encoding in Planted.Encoding.allCases {
            record.originalRequest.body = .bytes(encoding.bytes("{\"user\":\"änna 🎉\",\"token\":\"abc\"}"))
            let redacted = Redaction.standard.redacted(record).originalRequest.body.buffered
            #expect(redacted == encoding.bytes("{\"user\":\"änna 🎉\",\"token\":\"[redacted]\"}"), "\(encoding)")
            let harmless = encoding.bytes("{\"user\":\"änna\",\"漢字\":\"🎉\"}")
            record.originalRequest.body = .bytes(harmless)
            #expect(Redaction.standard.redacted(record).originalRequest.body.buffered == harmless, "\(encoding)")
        }
        let picture: [UInt8] = [
            0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0,
        ]
        record.originalRequest.body = .bytes(picture)
        #expect(Redaction.standard.redacted(record).originalRequest.body.buffered == picture)
    }

    @Test func `an error that the page shows and a message of a floret have no secrets`() async throws {
        struct Failing: HTTPTransport {
            func send(_ request: HTTPRequest) async throws -> HTTPResponse {
                throw HTTPError(.connectionFailed, "https://anna:planted@h/?token=planted cannot be reached")
            }
        }
        let interceptor = Interceptor([])
        interceptor.run()
        var configuration = InspectorPage.Configuration()
        configuration.transport = Failing()
        let page = InspectorPage(interceptor, configuration: configuration)
        defer { page.close() }
        interceptor.report(.init(rawValue: "x"), floret: "X", "Authorization: Bearer planted was refused")
        let network = InProcessTransport(page)
        let headers: HTTPHeaders = ["Host": "localhost", "X-Souk-Inspector": "1", "Content-Type": "application/json"]
        let answer = try await network.send(
            HTTPRequest(
                method: .post, url: "http://localhost/api/requests", headers: headers,
                body: .text(#"{"url":"http://h/"}"#)))
        let text = String(decoding: try await answer.body.collect(upTo: 1 << 20), as: UTF8.self)
        #expect(text.contains("cannot be reached") && !text.contains("planted"), "\(text)")
        #expect(interceptor.reports.first?.message == "Authorization: [redacted]")
        let state = try await network.send(
            HTTPRequest(method: .get, url: "http://localhost/api/state", headers: headers))
        #expect(!String(decoding: try await state.body.collect(upTo: 1 << 20), as: UTF8.self).contains("planted"))
    }
}
