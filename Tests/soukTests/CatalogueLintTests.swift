import Foundation
import Primitives
import Testing

@Suite struct CatalogueLintTests {
    private static let faulty = """
        {
          "products" : [
            { "productID" : "a", "type" : "Consumable", "displayPrice" : "0,99" },
            { "productID" : "b", "type" : "Lottery", "displayPrice" : "1.00" }
          ],
          "subscriptionGroups" : [
            { "id" : "g", "subscriptions" : [
              { "productID" : "s", "displayPrice" : "5.00", "recurringSubscriptionPeriod" : "P1M",
                "adHocOffers" : [
                  { "offerID" : "o", "paymentMode" : "free", "subscriptionPeriod" : "P1W" },
                  { "offerID" : "o", "paymentMode" : "free", "subscriptionPeriod" : "P2W" } ],
                "codeOffers" : [
                  { "referenceName" : "c", "paymentMode" : "free", "subscriptionPeriod" : "never" } ] }
            ] }
          ],
          "version" : { "major" : 4, "minor" : 0 }
        }
        """

    @Test func `faults of a catalogue are named with file, place and reason`() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("shop.storekit", Self.faulty)
        let outcome = try await SoukExecutable.run(["catalog", "lint", file, "--json"])
        #expect(outcome.status == 1)
        let findings = try #require(outcome.json?["findings"]?.arrayValue)
        let subscription = "/subscriptionGroups/0/subscriptions/0"
        let expected: [(pointer: String, severity: String)] = [
            ("/products/0/displayPrice", "error"), ("/products/1/type", "warning"),
            ("\(subscription)/adHocOffers/1", "warning"),
            ("\(subscription)/codeOffers/0/subscriptionPeriod", "error"),
        ]
        #expect(findings.map { $0["pointer"]?.stringValue } == expected.map(\.pointer))
        #expect(findings.map { $0["severity"]?.stringValue } == expected.map(\.severity))
        #expect(findings.allSatisfy { $0["file"]?.stringValue == file })
        #expect(findings.allSatisfy { ($0["reason"]?.stringValue ?? "").count > 15 })

        let printed = try await SoukExecutable.run(["catalog", "lint", file])
        #expect(printed.status == 1 && printed.output.contains("1 file, 2 errors, 2 warnings"))
    }

    @Test func `warnings alone do not fail, and a catalogue with warnings can be converted`() async throws {
        let folder = try TemporaryFolder()
        let text = Self.faulty.replacing("0,99", with: "0.99").replacing("never", with: "P1W")
        let file = try folder.write("shop.storekit", text)
        let lint = try await SoukExecutable.run(["catalog", "lint", file])
        #expect(lint.status == 0 && lint.output.contains("2 warnings"))
        let list = try await SoukExecutable.run(["catalog", "convert", file])
        #expect(list.status == 0)
        #expect(list.json?.arrayValue?.map { $0["identifier"] } == ["a", "s"])
    }

    @Test func `the commands that read a catalogue refuse one without products`() async throws {
        let folder = try TemporaryFolder()
        let empty = try folder.write(
            "empty.storekit", #"{"products": [], "subscriptionGroups": [], "version": {"major": 4, "minor": 0}}"#)
        let list = try folder.write("empty.json", "[]")
        let unknown = try folder.write(
            "unknown.storekit",
            #"{"products": [{"productID": "a", "displayPrice": "1", "type": "Nonsense"}], "version": {"major": 4, "minor": 0}}"#
        )
        let nonsense = try await SoukExecutable.run(["catalog", "lint", unknown, "--json"])
        #expect(nonsense.status == 1 && nonsense.json?["ok"] == false, "\(nonsense)")
        for file in [empty, list] {
            let lint = try await SoukExecutable.run(["catalog", "lint", file, "--json"])
            #expect(lint.status == 1 && lint.json?["ok"] == false, "\(lint)")
            #expect(lint.json?["findings"]?.arrayValue?.map { $0["severity"] } == ["error"])
        }
        let key = ["--key", String(repeating: "0a", count: 32)]
        for arguments in [
            ["catalog", "convert", empty], ["catalog", "convert", unknown], ["simulate", "--catalog", unknown],
            ["catalog", "lint", TestFiles.darkroom, "--catalog", empty],
            ["catalog", "encrypt", list] + key, ["simulate", "--catalog", empty], ["demo", "--catalog", empty],
            ["serve", "--bundle-id", "b", "--catalog", empty, "--database", "sqlite:\(folder.file("ledger.sqlite"))"],
        ] {
            let outcome = try await SoukExecutable.run(arguments)
            #expect(outcome.status == 2 && outcome.output.isEmpty, "\(arguments): \(outcome)")
            #expect(outcome.errors.contains("the file has no products"), "\(arguments): \(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
        #expect(!FileManager.default.fileExists(atPath: folder.file("ledger.sqlite")))
    }

    @Test func `a name of credits that is not in NFC is an error`() async throws {
        let folder = try TemporaryFolder()
        let credits = try folder.write(
            "credits.json",
            "{\"features\": {\"pro\": [\"a\"]}, \"credits\": {\"e\u{301}\": {\"products\": {\"a\": 1}, \"prices\": {\"b\": 1}}}}"
        )
        let named = try await SoukExecutable.run(["catalog", "lint", credits, "--json"])
        #expect(
            named.status == 1 && named.json?["findings"]?[0]?["reason"]?.stringValue?.contains("NFC") == true,
            "\(named)")
    }

    @Test(.enabled(if: TestFiles.conformance != nil, "SOUK_CONFORMANCE is not set"), arguments: TestFiles.catalogues)
    func `catalogues of other programs are accepted`(file: String) async throws {
        let outcome = try await SoukExecutable.run(["catalog", "lint", file, "--json"])
        #expect(outcome.status == 0 && outcome.json?["ok"] == true, "\(outcome.output)")
    }
}
