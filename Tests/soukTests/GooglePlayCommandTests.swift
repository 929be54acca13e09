import CurlTransport
import Foundation
import HTTPCore
import Primitives
import Testing

/// `souk simulate --play-catalog` and `souk store play`, as processes.
@Suite struct GooglePlayCommandTests {
    private static let catalogue = TestFiles.repository + "/Examples/darkroom.play.json"

    private func start(_ folder: TemporaryFolder, _ options: [String] = []) async throws -> SoukService {
        try await SoukService(
            [
                "simulate", "--catalog", TestFiles.darkroom, "--play-catalog", Self.catalogue, "--data",
                folder.file("store"), "--time-rate", "frozen",
            ] + options)
    }

    private func store(_ service: SoukService, _ words: String) async throws -> SoukExecutable.Outcome {
        try await SoukExecutable.run(["store", "--url", service.url] + words.split(separator: " ").map(String.init))
    }

    /// Uses each control of Google Play, by its operation. `$NAME` is a token of an earlier purchase.
    static let steps: [(operation: String, words: String, name: String?)] = [
        ("playProducts", "play products --region DE", nil),
        ("playBuy", "play buy ada plus --base-plan monthly --offer first-week --obfuscated-account-id a", "PLUS"),
        ("playAcknowledge", "play acknowledge $PLUS", nil), ("playPurchase", "play show $PLUS", nil),
        ("playPurchases", "play purchases ada", nil), ("playCancel", "play cancel $PLUS", nil),
        ("playRestart", "play restart $PLUS", nil), ("playPause", "play pause $PLUS P1M", nil),
        ("playResume", "play resume $PLUS", nil), ("playHold", "play hold $PLUS", nil),
        ("playRecover", "play recover $PLUS", nil), ("playPriceChange", "play price-change $PLUS 5.99", nil),
        ("playAgree", "play agree $PLUS", nil), ("playPriceChange", "play price-change $PLUS 6 --opt-out", nil),
        ("playBuy", "play buy ada credits --quantity 2", "CREDITS"),
        ("playChargeback", "play chargeback $PLUS", nil),
        ("playResubscribe", "play resubscribe $PLUS", "AGAIN"),
        ("playConsume", "play consume $CREDITS", nil), ("playBuy", "play buy ada credits --pending", "WAITS"),
        ("playComplete", "play complete $WAITS", nil), ("playRefund", "play refund $WAITS", nil),
        ("playBuy", "play buy ada credits --pending --test", "DECLINED"),
        ("playDecline", "play decline $DECLINED", nil), ("playRefund", "play refund $CREDITS --quantity 1", nil),
        ("playRequestChargeback", "play request-chargeback $CREDITS", nil),
        ("playChargeback", "play chargeback $CREDITS", nil),
        ("playTestNotification", "play test-notification", nil),
        ("playNotifications", "play notifications --account ada --limit 5", nil),
        ("playNotifications", "play notifications", nil), ("playDeliver", "play deliver", nil),
        ("playDeliver", "play deliver", nil), ("playResend", "play resend 1", nil),
        ("playResend", "play resend 1", nil), ("playOrders", "play orders ada", nil),
        ("playOrders", "play orders ada", nil), ("playProducts", "play products", nil),
    ]

    @Test func `each control of Google Play has an action, with JSON and text output`() async throws {
        let folder = try TemporaryFolder()
        let service = try await start(folder, ["--play-rtdn-url", "http://127.0.0.1:1/push"])
        #expect(try await store(service, "account create ada").status == 0)
        var names: [String: String] = [:]
        for (index, step) in Self.steps.enumerated() {
            let words = step.words.split(separator: " ").map { word in
                word.hasPrefix("$") ? names[String(word.dropFirst())] ?? String(word) : String(word)
            }.joined(separator: " ")
            guard step.name != nil || index % 2 == 0 else {
                let text = try await store(service, words)
                #expect(text.status == 0 && !text.output.isEmpty, "\(step.words): \(text.errors)")
                continue
            }
            let json = try await store(service, words + " --json")
            #expect(json.status == 0 && json.json != nil, "\(step.words): \(json.errors)")
            if let name = step.name { names[name] = json.json?["purchaseToken"]?.stringValue }
        }
        for wrong in [
            "play buy ada plus --replacement-mode NONE", "play pause token never", "play refund token --quantity 0",
            "play notifications --limit 0",
            "play buy ada plus --quantity 0",
        ] { #expect(try await store(service, wrong).status == 2, "\(wrong)") }
        for missing in ["play cancel unknown", "play resend 99", "play resend x", "play orders nobody"] {
            #expect(try await store(service, missing).status == 1, "\(missing)")
        }
        #expect(await service.stop() == 0)
    }

    @Test func `the first line names the key file, which is private, and a restart keeps the purchases`() async throws {
        let folder = try TemporaryFolder()
        var service = try await start(folder)
        let line = try #require(service.greeting["googlePlay"])
        #expect(line["url"]?.stringValue == service.url)
        #expect(line["packageName"] == "com.example.darkroom")
        let file = try #require(line["serviceAccount"]?.stringValue)
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
        let key = try JSONValue(parsing: Array(try Data(contentsOf: URL(fileURLWithPath: file))))
        #expect(key["token_uri"]?.stringValue == service.url + "/token")
        _ = try await store(service, "account create ada")
        let bought = try await store(service, "play buy ada plus --json")
        let members = ["orderId", "packageName", "productId", "purchaseToken", "signature", "signedData"]
        #expect(bought.json?.objectValue?.keys.sorted() == members)
        #expect(await service.stop() == 0)
        service = try await start(folder)
        #expect(service.greeting["googlePlay"]?["publicKey"] == line["publicKey"])
        #expect(try await store(service, "play purchases ada --json").json?["purchases"]?.arrayValue?.count == 1)
        #expect(await service.stop() == 0)
    }

    @Test func `a catalogue of Google Play is checked, and needed for its notifications`() async throws {
        let folder = try TemporaryFolder()
        #expect(try await SoukExecutable.run(["catalog", "lint", Self.catalogue]).status == 0)
        let text = try String(contentsOfFile: Self.catalogue, encoding: .utf8)
        let faulty = try folder.write("faulty.json", text.replacing("P7D", with: "P70D"))
        let lint = try await SoukExecutable.run(["catalog", "lint", faulty, "--json"])
        #expect(lint.status == 1)
        #expect(
            lint.json?["findings"]?[0]?["pointer"]
                == "/subscriptions/0/basePlans/0/autoRenewingBasePlanType/gracePeriodDuration")
        for options in [["--play-catalog", faulty], ["--play-rtdn-url", "http://127.0.0.1:1/"]] {
            let outcome = try await SoukExecutable.run(["simulate", "--catalog", TestFiles.darkroom] + options)
            #expect(outcome.status == 2, "\(outcome.errors)")
        }
    }
}
