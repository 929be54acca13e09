import Foundation
import Testing

/// `String` compares by canonical equivalence. So dictionaries and sets of external names are keyed by an identifier
/// type or `ExactString`. This test lists the exceptions, each with the reason why `String` is harmless.
struct StringKeyTests {
    /// The allowed number of dictionaries and sets with `String` keys in each file.
    private static let allowed: [String: (count: Int, reason: String)] = [
        "AppStorePayloads/PayloadSchema.swift": (1, "members of Apple's payloads: constants of our code"),
        "EntitlementServer/EntitlementService.swift": (1, "background jobs: constants of our code"),
        "EntitlementServer/GooglePlay/GooglePlayPushVerifier.swift": (1, "keys, looked up with [exactly:]"),
        "EntitlementServer/Ledger/Ledger.swift": (2, "kinds of facts: constants of our code"),
        "EntitlementServer/Ledger/LedgerTransaction.swift": (1, "kinds of facts: constants of our code"),
        "EntitlementServer/Observability/EndpointMetrics.swift": (1, "labels of metrics: constants of our code"),
        "AppStoreSimulator/Database/ColumnForm.swift": (2, "tables and columns: constants of our code"),
        "AppStoreSimulator/Database/ColumnRange.swift": (3, "tables and columns: constants of our code"),
        "AppStoreSimulator/Database/SimulatorDatabase+Settings.swift": (4, "settings, found by StoreSetting.named"),
        "AppStoreSimulator/Database/SimulatorEvent.swift": (2, "settings: constants of our code"),
        "AppStoreSimulator/Catalogue/CatalogueReader+Subscriptions.swift": (
            3, "refuses canonically equal names; constants of our code"
        ),
        "AppStoreSimulator/Catalogue/CatalogueReader.swift": (
            2, "warns of canonically equal names; constants of our code"
        ),
        "AppStoreSimulator/Catalogue/CatalogueSettings+Store.swift": (1, "settings: constants of our code"),
        "AppStoreSimulator/Catalogue/StorefrontCatalogues.swift": (1, "countries that the table of storefronts has"),
        "AppStoreSimulator/Catalogue/Storefronts.swift": (1, "countries: constants of our code"),
        "AppStoreSimulator/Control/InjectedFaults.swift": (1, "settings: constants of our code"),
        "AppStoreSimulator/Control/SimulatedAppStore+Fixtures.swift": (1, "tables: constants of our code"),
        "AppStoreSimulator/Control/SimulatedAppStore+Settings.swift": (1, "settings: constants of our code"),
        "AppStoreSimulator/Control/SimulatedAppStore+RefundDecisions.swift": (1, "settings: constants of our code"),
        "AppStoreSimulator/Control/StoreSetting.swift": (1, "settings: constants of our code"),
        "AppStoreSimulator/GooglePlay/API/PlayRules.swift": (1, "settings: constants of our code"),
        "AppStoreSimulator/HTTP/StoreEndpoints.swift": (1, "parameters of paths: constants of our code"),
        "AppStoreSimulator/Notifications/NotificationDelivery.swift": (1, "charsets: constants of our code"),
        "AppStoreSimulator/Notifications/NotificationWriter.swift": (1, "settings: constants of our code"),
        "AppStoreSimulator/Notifications/SendingRules.swift": (1, "settings: constants of our code"),
        "AppStoreSimulator/Notifications/SimulatedAppStore+Notifications.swift": (1, "settings: constants of our code"),
        "AppStoreSimulator/Scenarios/ScenarioCall.swift": (9, "a tester's own names in one file"),
        "AppStoreSimulator/Scenarios/ScenarioExpectation.swift": (5, "a tester's own names in one file"),
        "AppStoreSimulator/Scenarios/ScenarioMatch.swift": (2, "a tester's own names in one file"),
        "AppStoreSimulator/Scenarios/ScenarioPresentation.swift": (1, "a tester's own names in one file"),
        "AppStoreSimulator/Scenarios/ScenarioReceiver.swift": (3, "a tester's own words in one file"),
        "AppStoreSimulator/Scenarios/ScenarioRun.swift": (3, "a tester's own names in one file"),
        "AppStoreSimulator/Scenarios/ScenarioServer.swift": (1, "a tester's own names in one file"),
        "AppStoreSimulator/Scenarios/ScenarioShape.swift": (3, "a tester's own names in one file"),
        "AppStoreSimulator/Scenarios/ScenarioStep.swift": (5, "a tester's own names in one file"),
        "AppStoreSimulator/ServerAPI/ServerRules.swift": (2, "settings and endpoints: constants of our code"),
        "AppStoreSimulator/Signing/OfferVerifier.swift": (1, "keys, looked up with [exactly:]"),
        "AppStoreSimulator/SimulatedAppStore.swift": (1, "settings: constants of our code"),
        "AppStoreSimulator/VerifyReceipt/ReceiptEndpoint.swift": (1, "paths: constants of our code"),
        "AppStoreSimulator/VerifyReceipt/SimulatedAppStore+VerifyReceipt.swift": (2, "settings: constants of our code"),
        "GooglePlay/Access/JSONWebKeySet.swift": (3, "keys, looked up with [exactly:]"),
        "GooglePlay/Notifications/PubSubPush.swift": (1, "keys, looked up with [exactly:]"),
        "StoreModel/API/CustomersAPI.swift": (2, "prices as the feature file has them, for display"),
        "StoreModel/Entitlements/CreditTable.swift": (7, "names in form NFC, looked up with [exactly:]"),
        "StoreModel/Entitlements/FeatureMap.swift": (3, "names in form NFC"),
        "StoreModel/Localization/CustomerSentences.swift": (1, "codes of errors: constants of our code"),
    ]

    @Test func `a dictionary or set that is keyed by String is listed with its reason`() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources")
        var found: [String: Int] = [:]
        for module in ["EntitlementServer", "AppStoreSimulator", "AppStorePayloads", "GooglePlay", "StoreModel"] {
            let folder = sources.appendingPathComponent(module)
            let files = try #require(FileManager.default.enumerator(atPath: folder.path))
            for case let file as String in files where file.hasSuffix(".swift") {
                let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
                let lines = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("///") }
                let count = lines.reduce(0) { $0 + $1.matches(of: /\[String ?:|Set<String>|Dictionary<String/).count }
                if count > 0 { found["\(module)/\(file)"] = count }
            }
        }
        #expect(found.count > 20)
        for (file, count) in found.sorted(by: { $0.key < $1.key }) {
            #expect(
                count <= Self.allowed[file]?.count ?? 0,
                "\(file): key it by an identifier or ExactString, or list it in StringKeyTests with the reason")
        }
        for (file, entry) in Self.allowed { #expect(found[file] == entry.count, "\(file): \(entry.reason)") }
    }
}
