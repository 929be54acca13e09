import BaseTestSupport
import Foundation
import Primitives
import Testing

@testable import Purchases

/// A row of the table in `Documentation/Purchases.md`. The tests expect these words, not the rules of the client.
private struct Row: Sendable, CustomTestStringConvertible {
    let operation: PurchaseOperation
    let name, called, values, error, reads, deadline, after, withoutPlugins: String

    private static let allPlugins = "all plugins, concurrently"
    private static let inOrder = "one after another, until one handles it"
    private static let reported = "it is only reported"
    private static let decides = "it is thrown, and no other plugin is called"
    private static let added = "the others' features are added"

    private init(
        _ operation: PurchaseOperation, _ name: String, _ called: String, _ values: String, _ error: String,
        _ reads: String, _ deadline: String, _ after: String, _ withoutPlugins: String
    ) {
        self.operation = operation
        self.name = name
        self.called = called
        self.values = values
        self.error = error
        self.reads = reads
        self.deadline = deadline
        self.after = after
        self.withoutPlugins = withoutPlugins
    }

    static let all: [Row] = [
        Row(.logIn, "logIn", allPlugins, "–", "a rejection logs the user out everywhere", "–", "yes", "–", "done"),
        Row(.logOut, "logOut", allPlugins, "–", reported, "–", "yes", "–", "done"),
        Row(
            .getFeatures, "getFeatures", allPlugins, "each once", "its last answer is used", "best effort", "yes", "–",
            "nothing"),
        Row(
            .getPaidFeatures, "getPaidFeatures", allPlugins, "each purchase once", "its last answer is used",
            "best effort", "yes", "–", "nothing"),
        Row(
            .getSubscriptions, "getSubscriptions", allPlugins, "each purchase once", "it is thrown", "strict", "yes",
            "–", "nothing"),
        Row(
            .getProductsAndPricePoints, "getProductsAndPricePoints", allPlugins, "each once", "it is thrown", "strict",
            "yes", "–", "nothing"),
        Row(
            .getWebPricePoints, "getWebPricePoints", allPlugins, "each once", "it is thrown", "strict", "yes", "–",
            "nothing"),
        Row(
            .restorePurchases, "restorePurchases", allPlugins, "each purchase once",
            "the others' restored purchases are used", "best effort", "yes", "–", "nothing"),
        Row(
            .getPromotionalOffer, "getPromotionalOffer", inOrder, "–", decides, "–", "yes", "–",
            "`noSuitablePlugin`"),
        Row(.purchase, "purchase", inOrder, "–", decides, "–", "no", added, "`noSuitablePlugin`"),
        Row(
            .promotedPurchase, "promotedPurchases", "the plugin that announced it", "–", decides, "–", "no", added, "–"),
        Row(
            .cancelSubscription, "cancelSubscription", inOrder, "–", decides, "–", "yes", "–", "`noSuitablePlugin`"),
        Row(.sendRestoreLink, "sendRestoreLink", inOrder, "–", decides, "–", "yes", "–", "`noSuitablePlugin`"),
        Row(
            .presentCodeRedemptionUI, "presentCodeRedemptionUI", inOrder, "–", "the next plugin is called", "–", "no",
            "–",
            "`noSuitablePlugin`"),
        Row(.setAttributes, "setAttributes", allPlugins, "–", reported, "–", "yes", "–", "done"),
        Row(.collectDeviceIdentifiers, "collectDeviceIdentifiers", allPlugins, "–", reported, "–", "yes", "–", "done"),
        Row(
            .invalidatePaidFeaturesCache, "invalidatePaidFeaturesCache", allPlugins, "–", reported, "–", "yes", "–",
            "done"),
    ]

    var testDescription: String { name }

    /// The row in the form of the document.
    var line: String {
        "| " + ["`\(name)`", called, values, error, reads, deadline, after, withoutPlugins].joined(separator: " | ")
            + " |"
    }

    var perform: @Sendable (PurchaseClient, [StubPlugin]) async throws -> [String] {
        get throws { try #require(PerformedOperation.all.first { $0.operation == operation }).perform }
    }

    var callsAllPlugins: Bool { called == Self.allPlugins }
    var callsInOrder: Bool { called == Self.inOrder }
}

/// The client follows the table in `Documentation/Purchases.md`.
@Suite(.timeLimit(.minutes(1))) struct MergeTableTests {
    private static func client(_ plugins: [StubPlugin], clock: ManualClock? = nil) async throws -> PurchaseClient {
        var configuration = PurchaseClient.Configuration.patient
        if let clock {
            configuration.sleep = {
                try await clock.sleep(until: clock.now().addingTimeInterval(TimeInterval($0.components.seconds)))
            }
        }
        let client = PurchaseClient(configuration: configuration)
        try await client.setup(with: plugins)
        return client
    }

    @Test func `the document has the table of these tests`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Documentation/Purchases.md")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let rows = lines.drop { !$0.hasPrefix("| operation |") }.dropFirst(2).prefix { $0.hasPrefix("|") }
        #expect(rows.map(String.init) == Row.all.map(\.line))
    }

    @Test func `there is a row for every operation, under the name of the client's method`() {
        #expect(PurchaseOperation.all == Row.all.map(\.operation))
        #expect(PurchaseOperation.all.map(\.name) == Row.all.map(\.name))
        #expect(PerformedOperation.all.map(\.operation) == PurchaseOperation.all)
    }

    @Test(arguments: Row.all) fileprivate func `the rule of an operation agrees with its row`(row: Row) {
        let rule = row.operation.rule
        #expect(rule.called.rawValue == row.called)
        #expect(rule.merged.rawValue == row.values)
        #expect(rule.failure.rawValue == row.error)
        #expect(rule.hasDeadline == (row.deadline == "yes"))
        #expect(rule.after.rawValue == row.after)
        if row.reads != "–" { #expect(rule.mode == (row.reads == "strict" ? .strict : .bestEffort)) }
    }

    @Test(arguments: Row.all) fileprivate func `without plugins an operation has the result of its row`(row: Row)
        async throws
    {
        let client = try await Self.client([])
        switch row.withoutPlugins {
        case "`noSuitablePlugin`":
            await #expect(throws: PurchaseError(.noSuitablePlugin)) { try await row.perform(client, []) }
        case "done", "nothing": #expect(try await row.perform(client, []).isEmpty)
        default: #expect(row.name == "promotedPurchases")
        }
    }

    @Test(arguments: Row.all.filter { !$0.callsAllPlugins })
    fileprivate func `an operation that no plugin handles throws an error`(row: Row) async throws {
        let plugins = [StubPlugin("a"), StubPlugin("b")]
        let client = try await Self.client(plugins)
        await #expect(throws: PurchaseError(.noSuitablePlugin)) { try await row.perform(client, plugins) }
        #expect(plugins.map(\.calls.count) == [1, row.callsInOrder ? 1 : 0])
    }

    @Test(arguments: Row.all)
    fileprivate func `values are merged in the order of registration, and products as a set`(row: Row) async throws {
        let (a, b) = (StubPlugin.sound("a"), StubPlugin.sound("b"))
        let names = try await row.perform(try await Self.client([a, b]), [a, b])
        if row.values != "–" {
            #expect(Set(names) == ["a", "both", "b"] && names.count == 3)
            if row.name != "getProductsAndPricePoints" { #expect(names == ["a", "both", "b"]) }
        }
        #expect(a.calls.count == 1, "each plugin is called once")
        switch (row.callsAllPlugins, row.after) {
        case (true, _): #expect(b.calls.count == 1)
        case (false, "–"): #expect(b.calls.isEmpty)
        default:
            #expect(b.calls == ["invalidate", "paidFeatures"])
            #expect(names == ["a", "both", "b"])
        }
    }

    @Test(arguments: Row.all)
    fileprivate func `when all plugins fail, the first plugin's error is thrown, unless errors are only reported`(
        row: Row
    ) async throws {
        let plugins = [
            StubPlugin.failing("a", with: Refusal(1)), .failing("b", with: Refusal(2)), .failing("c", with: Refusal(3)),
        ]
        let client = try await Self.client(plugins)
        if row.error == "it is only reported" {
            _ = try await row.perform(client, plugins)
        } else {
            await #expect(throws: Refusal(1)) { try await row.perform(client, plugins) }
        }
    }

    @Test(arguments: Row.all)
    fileprivate func `an error affects the other plugins as its row says`(row: Row) async throws {
        let (broken, sound) = (StubPlugin.failing("a", with: Refusal(1)), StubPlugin.sound("b"))
        let client = try await Self.client([broken, sound])
        switch row.error {
        case "its last answer is used", "the others' restored purchases are used":
            #expect(try await row.perform(client, [broken]) == ["b", "both"])
        case "the next plugin is called", "it is only reported":
            _ = try await row.perform(client, [broken])
            #expect(sound.calls.count == 1)
        case "it is thrown":
            await #expect(throws: Refusal(1)) { try await row.perform(client, [broken]) }
            #expect(sound.calls.count == 1)
        case "it is thrown, and no other plugin is called":
            await #expect(throws: Refusal(1)) { try await row.perform(client, [broken]) }
            #expect(sound.calls.isEmpty)
        case "a rejection logs the user out everywhere":
            await #expect(throws: Refusal(1)) { try await row.perform(client, [broken]) }
            #expect(broken.calls.last == "logOut" && sound.calls.last == "logOut")
            #expect(client.userId == nil)
        default: Issue.record("no test knows what \"\(row.error)\" means")
        }
    }

    @Test(arguments: Row.all.filter { $0.error == "its last answer is used" })
    fileprivate func `the last answer of a failed plugin counts if the row says so`(
        row: Row
    ) async throws {
        let (a, b) = (StubPlugin.sound("a"), StubPlugin.sound("b"))
        let client = try await Self.client([a, b])
        _ = try await row.perform(client, [a])
        a.change {
            $0.features = { throw Refusal(1) }
            $0.paidFeatures = { throw Refusal(1) }
        }
        #expect(try await row.perform(client, [a]) == ["a", "both", "b"])
    }

    @Test(arguments: Row.all)
    fileprivate func `a plugin that never answers delays the caller no longer than its row says`(
        row: Row
    ) async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let unresponsive = StubPlugin.sound("a") { await gate.pass() }
        let client = try await Self.client([unresponsive], clock: clock)
        let perform = try row.perform
        let caller = Task { try? await perform(client, [unresponsive]) }
        await gate.arrivals()
        if row.deadline == "yes" {
            await clock.waiters(atLeast: 1)
            clock.advance(by: 30)
            _ = await caller.value
            gate.open()
        } else {
            clock.advance(by: 86_400)
            gate.open()
            #expect(await caller.value != nil)
        }
    }

    @Test(arguments: Row.all.filter { $0.name != "promotedPurchases" })
    fileprivate func `before setup every operation throws, except a log-out and an invalidation of caches`(row: Row)
        async throws
    {
        let client = PurchaseClient()
        if ["logOut", "invalidatePaidFeaturesCache"].contains(row.name) {
            #expect(try await row.perform(client, []).isEmpty)
        } else {
            await #expect(throws: PurchaseError(.notSetUp)) { try await row.perform(client, []) }
        }
    }
}
