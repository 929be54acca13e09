import Foundation
import Testing

/// `souk serve --offer-rules`, and `souk catalog lint` for the rules.
@Suite struct OfferCommandTests {
    private static let groups = #"{"groups": {"g": ["monthly"]}}"#
    private static let offers = """
        {"groups": {"g": ["monthly"]},
         "offers": [{"productId": "monthly", "offerIdentifier": "back", "oncePerCustomer": true}]}
        """

    @Test func `faults of offer rules are listed with file, line and place`() async throws {
        let folder = try TemporaryFolder()
        let faulty = try folder.write(
            "faulty.json",
            """
            {"groups": {"g": ["monthly"]},
             "offers": [
              {"productId": "yearly", "offerIdentifier": "back"},
              {"productId": "monthly", "offerIdentifier": "back", "when": {"states": ["gone"]}}
            ]}
            """)
        let outcome = try await SoukExecutable.run(["catalog", "lint", faulty, "--json"])
        let findings = try #require(outcome.json?["findings"]?.arrayValue)
        #expect(outcome.status == 1)
        #expect(
            findings.map { $0["pointer"]?.stringValue }.sorted { ($0 ?? "") < ($1 ?? "") } == [
                "/offers/0/productId", "/offers/1/when/states/0",
            ])
        #expect(Set(findings.map { $0["line"]?.intValue }) == [3, 4])
        let good = try await SoukExecutable.run([
            "catalog", "lint", folder.write("offers.json", Self.offers), folder.write("groups.json", Self.groups),
        ])
        #expect(good.status == 0 && good.output.contains("2 files, 0 errors"))
    }

    @Test func `rules that the server cannot apply are refused before anything is created`() async throws {
        let folder = try TemporaryFolder()
        let cases: [(String, String)] = [
            (try folder.write("offers.json", Self.offers), "give --app-store-key"),
            (try folder.write("broken.json", #"{"groups": {}}"#), "broken.json/groups: "),
            (try folder.write("no.json", "no"), "this is not JSON"), (folder.file("missing.json"), "missing.json"),
        ]
        for (file, words) in cases {
            let refused = try await SoukExecutable.run([
                "serve", "--database", "sqlite:" + folder.file("ledger.sqlite"), "--bundle-id", SignedShop.app,
                "--offer-rules", file,
            ])
            #expect(refused.status == 2 && refused.errors.contains(words), "\(refused.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder.file("ledger.sqlite")))
    }
}
