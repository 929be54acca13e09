import HTTPCore
import Testing

@Suite struct HTTPHeaderEdgeTests {
    /// `tchar` of RFC 9110 section 5.6.2.
    @Test func `a name can contain exactly the characters of a token`() {
        let allowed = Set("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
        for byte in UInt8(0)..<0x80 {
            let headers = HTTPHeaders([.init(name: String(decoding: [0x61, byte], as: UTF8.self), value: "")])
            #expect(((try? headers.validate()) != nil) == allowed.contains(byte), "\(byte)")
        }
    }

    @Test func `a value can contain everything except line breaks and NUL`() {
        for byte in UInt8(0)..<0x80 {
            let headers = HTTPHeaders([.init(name: "a", value: String(decoding: [0x61, byte, 0x62], as: UTF8.self))])
            #expect(((try? headers.validate()) == nil) == [0, 0x0A, 0x0D].contains(byte), "\(byte)")
        }
        #expect(throws: Never.self) { try HTTPHeaders([.init(name: "a", value: "é日")]).validate() }
    }

    @Test func `every field is validated, not only the first`() {
        #expect(throws: HTTPError(.invalidHeader, "")) { try (["a": "1", "b": "2\n"] as HTTPHeaders).validate() }
        #expect(throws: HTTPError(.invalidHeader, "")) { try (["a": "1", "b b": "2"] as HTTPHeaders).validate() }
    }

    @Test func `only letters have an upper and a lower case that are equal`() {
        for byte in UInt8(0)..<0x80 {
            let one = String(decoding: [byte], as: UTF8.self)
            let isLetter = (0x41...0x5A).contains(byte & 0xDF)
            let other = String(decoding: [byte ^ 0x20], as: UTF8.self)
            #expect(one.equalsIgnoringCase(other) == isLetter, "\(byte)")
        }
        #expect(!"K".equalsIgnoringCase("\u{212A}"), "the kelvin sign does not equal K")
    }

    @Test func `setting nil on a name that repeats removes every line of it`() {
        var headers: HTTPHeaders = ["A": "1", "b": "2", "a": "3"]
        headers["A"] = nil
        #expect(headers == ["b": "2"] && !headers.contains("a"))
        headers.add("B", "4")
        #expect(headers.values("b") == ["2", "4"] && headers["B"] == "2")
        #expect(headers.count == 2 && headers[1].name == "B")
    }

    @Test func `a sensitive name is found in any case, and a longer or shorter name is not`() {
        let own = SensitiveHeaders(["X-Secret", "é"])
        for name in ["X-Secret", "x-secret", "X-SECRET", "é"] { #expect(own.contains(name)) }
        for name in ["X-Secre", "X-Secrets", "", "Cookie", "É"] { #expect(!own.contains(name)) }
        #expect(!SensitiveHeaders([]).contains("") && !SensitiveHeaders([]).contains("a"))
        let more = own.adding(["Token"])
        #expect(more.contains("token") && more.contains("x-secret") && !own.contains("token"))
    }

    @Test(arguments: [
        "authorization", "PROXY-AUTHORIZATION", "Authentication-Info", "Proxy-Authentication-Info", "cookie",
        "Set-Cookie", "X-API-Key", "api-key", "Souk-Customer-Token", "X-Auth-Token", "X-Access-Token", "X-CSRF-Token",
        "X-Amz-Security-Token", "X-Goog-Api-Key", "Stripe-Signature",
    ])
    func `credentials are redacted by default`(name: String) {
        let redacted = HTTPHeaders([.init(name: name, value: "secret")]).redacted()
        #expect(redacted.fields == [.init(name: name, value: "[redacted]")])
    }
}
