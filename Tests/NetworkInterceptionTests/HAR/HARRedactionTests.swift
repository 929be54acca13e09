import NetworkInterception
import Primitives
import Testing

/// Redaction of HAR files of other programs.
@Suite struct HARRedactionTests {
    private static let withoutSecrets = [
        ["request", "method"], ["request", "url"], ["request", "postData"], ["request", "queryString"],
        ["response", "status"], ["response", "content"], ["response", "_error"], ["timings"], ["startedDateTime"],
        ["_initiator"], ["cache"],
    ]

    @Test(arguments: HARFixtures.all.map(\.name))
    func `members without a secret are unchanged`(name: String) throws {
        let text = try #require(HARFixtures.all.first { $0.name == name }?.text)
        for entry in try HARDocument(parsing: Array(text.utf8)).entries {
            let shown = Redaction.standard.redacted(entry)
            for path in Self.withoutSecrets {
                let values = [shown, entry].map { path.reduce($0.json) { $0?[$1] }?.text() }
                #expect(values[0] == values[1], "\(path)")
            }
            #expect(Redaction.standard.redacted(shown) == shown, "a second redaction changes nothing")
            #expect(Redaction.none.redacted(entry).json["request"]?["url"] == entry.json["request"]?["url"])
        }
    }

    @Test func `the value of a cookie is removed, and its name and attributes are kept`() throws {
        let chrome = try HARDocument(parsing: Array(HARFixtures.chrome.utf8))
        let shown = Redaction.standard.redacted(try #require(chrome.entries.first))
        let cookie = shown.json["request"]?["cookies"]?[0]
        #expect(
            cookie?["value"] == "[redacted]" && cookie?["sameSite"] == "Lax" && cookie?["name"] == "sid",
            "\(shown.json.text())")
    }
}
