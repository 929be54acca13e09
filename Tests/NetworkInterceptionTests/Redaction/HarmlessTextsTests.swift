import HTTPCore
import Testing

@testable import NetworkInterception

@Suite struct HarmlessTextsTests {
    private let texts = HarmlessTexts()

    @Test func `only fields with the same bytes are known`() {
        texts.insert(HTTPField(name: "Accept", value: "caf\u{E9}"))
        let fields = [
            HTTPField(name: "Accept", value: "caf\u{E9}"), HTTPField(name: "Accept", value: "cafe\u{301}"),
            HTTPField(name: "accept", value: "caf\u{E9}"), HTTPField(name: "Acceptc", value: "af\u{E9}"),
            HTTPField(name: "Accept", value: ""),
        ]
        #expect(texts.known(fields) == 0b1)
    }

    @Test func `only URLs with the same bytes are known`() {
        texts.insert(url: "http://a/1")
        #expect(texts.contains(url: "http://a/1"))
        #expect(!texts.contains(url: "http://a/2"))
    }

    @Test func `a long text is not kept`() {
        let (longest, longer) = (String(repeating: "a", count: 512), String(repeating: "a", count: 513))
        texts.insert(url: longest)
        texts.insert(url: longer)
        #expect(texts.contains(url: longest))
        #expect(!texts.contains(url: longer))
    }

    @Test(arguments: 0..<20) func `a text of any length is known, except an empty one`(length: Int) {
        let field = HTTPField(name: "", value: String("0123456789abcdefghij".prefix(length)))
        #expect(texts.known([field]) == 0)
        texts.insert(field)
        #expect(texts.known([field]) == (length == 0 ? 0 : 1))
    }

    @Test func `fields after the first 64 are not looked up`() {
        let field = HTTPField(name: "A", value: "1")
        texts.insert(field)
        #expect(texts.known(Array(repeating: field, count: 70)) == .max)
    }

    @Test func `a harmless value is a secret under the name of a secret`() {
        let redaction = Redaction.standard.adding(headers: ["X-Door"])
        for _ in 0..<2 {
            let headers = redaction.redacted(["X-Note": "blue", "X-Door": "blue", "Authorization": "blue"])
            #expect(headers.map(\.value) == ["blue", "[redacted]", "[redacted]"])
        }
    }

    @Test func `a repeated secret is redacted each time`() {
        for _ in 0..<3 {
            let headers = Redaction.standard.redacted(["X-Note": "Bearer abcdefghijklmnop", "Accept": "*/*"])
            #expect(headers["X-Note"]?.contains("abcdefghijklmnop") == false)
            #expect(headers["Accept"] == "*/*")
            let url = Redaction.standard.redacted(url: "https://a.example/?token=abcdef&page=2")
            #expect(!url.contains("abcdef") && url.contains("page=2"))
        }
    }

    @Test func `rules with other names do not share what they know`() {
        #expect(Redaction.standard.redacted(["X-Colour": "blue"])["X-Colour"] == "blue")
        #expect(
            Redaction.standard.adding(headers: ["X-Colour"]).redacted(["X-Colour": "blue"])["X-Colour"] == "[redacted]")
    }
}
