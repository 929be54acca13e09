import AppStorePayloads
import CurlTransport
import Foundation
import HTTPCore
import Primitives
import SignedData
import Testing

/// `souk serve --retention-rules`, and `souk catalog lint` for the rules.
@Suite struct RetentionCommandTests {
    private static let message = "0b6f2e5c-7f5e-4c57-9a2b-6f1f5f0c2a01"
    private static let offer = """
        {"rules": [
          {"name": "half price", "answer": {"promotionalOffer":
            {"messageIdentifier": "\(message)", "offerIdentifier": "half"}}}
        ]}
        """
    private static let text = """
        {"rules": [{"name": "all", "answer": {"message": {"messageIdentifier": "\(message)"}}}]}
        """

    @Test func `faults of retention rules are listed with file, line and place`() async throws {
        let folder = try TemporaryFolder()
        let faulty = try folder.write(
            "faulty.json",
            """
            {"rules": [
              {"name": "a", "when": {"product": "x"}, "answer": "none"},
              {"name": "b", "answer": {"message": {"messageIdentifier": "1"}}}
            ]}
            """)
        let outcome = try await SoukExecutable.run(["catalog", "lint", faulty, "--json"])
        let findings = try #require(outcome.json?["findings"]?.arrayValue)
        #expect(outcome.status == 1)
        #expect(
            findings.map { $0["pointer"]?.stringValue } == [
                "/rules/0/when/product", "/rules/1/answer/message/messageIdentifier",
            ])
        #expect(findings.map { $0["line"]?.intValue } == [2, 3])
        let good = try await SoukExecutable.run(["catalog", "lint", folder.write("rules.json", Self.offer)])
        #expect(good.status == 0 && good.output.contains("1 file, 0 errors"))
    }

    @Test func `rules that the server cannot apply are refused before anything is created`() async throws {
        let folder = try TemporaryFolder()
        let (text, offer) = (try folder.write("text.json", Self.text), try folder.write("offer.json", Self.offer))
        let broken = try folder.write("broken.json", #"{"rules": [{"name": "a", "answer": "nothing"}]}"#)
        let cases: [([String], String)] = [
            ([text], "give --app-apple-id"), ([offer, "--app-apple-id", "7"], "give --app-store-key"),
            ([broken, "--app-apple-id", "7"], "broken.json/rules/0/answer: "),
            ([try folder.write("list.json", "[]"), "--app-apple-id", "7"], "list.json: "),
            ([try folder.write("no.json", "no"), "--app-apple-id", "7"], "this is not JSON"),
            ([folder.file("missing.json"), "--app-apple-id", "7"], "missing.json"),
        ]
        for (options, words) in cases {
            let refused = try await SoukExecutable.run(
                [
                    "serve", "--database", "sqlite:" + folder.file("ledger.sqlite"), "--bundle-id", SignedShop.app,
                    "--retention-rules",
                ] + options)
            #expect(refused.status == 2 && refused.errors.contains(words), "\(refused.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder.file("ledger.sqlite")))
    }

    @Test func `each app of the configuration file has rules of its own`() async throws {
        let shop = try SignedShop()
        let other: JSONValue = ["bundleId": "com.example.other", "appAppleId": 8]
        let rules = try shop.folder.write("rules.json", Self.text)
        let file = try shop.folder.write(
            "souk.json",
            JSONValue.object([
                "apps": [
                    ["bundleId": .string(SignedShop.app), "appAppleId": 7, "retentionRules": .string(rules)], other,
                ]
            ]).text())
        let server = try await shop.serve("--config", file)
        func ask(_ number: Int) async throws -> JSONValue {
            let request = HTTPRequest(
                method: .post, url: server.url + "/v1/retention-messages/app-store",
                headers: ["Content-Type": "application/json"],
                body: .json(["signedPayload": .string(try shop.realtimeRequest(toApp: number))]))
            return try await CurlTransport.platformDefault().send(request).body.json(upTo: 1 << 16)
        }
        #expect(try await ask(7)["message"]?["messageIdentifier"]?.stringValue == Self.message)
        #expect(try await ask(8) == [:])
        #expect(try await ask(9)["code"] == "wrongAppID")
        #expect(await server.stop() == 0)
    }
}
