import BaseTestSupport
import Foundation
import Primitives
import StoreTestSupport
import Testing

@testable import Purchases

/// The last answers of the plugins survive a restart.
@Suite(.timeLimit(.minutes(1))) struct StoredAnswersTests {
    private static let ada = UserId.string("ada")
    private let storage = MemorySecureStorage()
    private let clock = ManualClock()

    /// Launches the app with these plugins, and returns its client.
    private func launch(
        _ plugins: any PurchasePlugin..., user: UserId? = ada, storage: (any SecureStorage)? = nil
    ) async throws -> PurchaseClient {
        var configuration = PurchaseClient.Configuration.patient
        configuration.storage = storage ?? self.storage
        configuration.clock = clock
        let client = PurchaseClient(configuration: configuration)
        try await client.setup(with: plugins, appUserId: user)
        return client
    }

    private func unreachable(_ name: String) -> StubPlugin { .failing(name, with: PurchaseError(.unreachable)) }

    @Test func `a launch without a network has the last answers, with their dates`() async throws {
        let first = try await launch(StubPlugin.sound("a"), StubPlugin.sound("b"))
        _ = try await first.getPaidFeatures()
        _ = try await first.getFeatures()
        let then = clock.now()
        clock.advance(by: 86_400)

        let second = try await launch(unreachable("a"), unreachable("b"))
        var updates = second.paidFeaturesUpdates.makeAsyncIterator()
        #expect(await updates.next()?.names == ["a", "both", "b"], "known before any request")
        let paid = try await second.collectPaidFeatures()
        #expect(paid.value == .of("a", "both", "b"))
        #expect(paid.reports.map(\.usedLastKnownAnswer) == [true, true])
        #expect(paid.reports.map(\.origin) == [AnswerOrigin(.disk, asOf: then), AnswerOrigin(.disk, asOf: then)])
        #expect(paid.value.features.allSatisfy { $0.authority == .lastKnown })
        #expect(try await second.getFeatures().features.map(\.name) == ["a", "both", "b"])
        await #expect(throws: PurchaseError(.unreachable)) { try await second.getPaidFeatures(.strict) }
    }

    // MARK: - Plugins that keep their answers themselves

    /// Records the writes to another storage.
    private final class NotedStorage: SecureStorage {
        let written = Locked<[String]>([])
        private let storage: MemorySecureStorage

        init(_ storage: MemorySecureStorage) { self.storage = storage }

        func data(for key: String) throws -> [UInt8]? { try storage.data(for: key) }

        func set(_ data: [UInt8]?, for key: String) throws {
            if let data { written.withLock { $0.append(String(decoding: data, as: UTF8.self)) } }
            try storage.set(data, for: key)
        }
    }

    private func keeping(_ name: String, _ kept: PaidFeatures?, asOf: Date, now: PaidFeatures? = nil) -> StubPlugin {
        StubPlugin(name) {
            $0.kept = {
                kept.map { ($0, Features(features: [Feature(name: "own", startDate: asOf)]), asOf) }
            }
            $0.paidFeatures = {
                guard let now else { throw PurchaseError(.unreachable) }
                return now
            }
            $0.features = { throw PurchaseError(.unreachable) }
        }
    }

    @Test func `answers that a plugin keeps itself are not stored, and count from the start`()
        async throws
    {
        let then = clock.now()
        let noted = NotedStorage(storage)
        let first = try await launch(
            keeping("store", nil, asOf: then, now: .of("pro")), StubPlugin.sound("a"), storage: noted)
        _ = try await first.getPaidFeatures()
        let stored = try #require(noted.written.withLock { $0 }.last)
        #expect(stored.contains("\"a\"") && !stored.contains("pro") && !stored.contains("store"))
        clock.advance(by: 86_400)

        let second = try await launch(keeping("store", .of("pro"), asOf: then), unreachable("a"))
        var updates = second.paidFeaturesUpdates.makeAsyncIterator()
        #expect(await updates.next().map { Set($0.names) } == ["a", "both", "pro"], "known before any request")
        let paid = try await second.collectPaidFeatures()
        #expect(Set(paid.value.names) == ["a", "both", "pro"])
        #expect(paid.reports.map(\.origin) == [AnswerOrigin(.disk, asOf: then), AnswerOrigin(.disk, asOf: then)])
        #expect(paid.value.features.allSatisfy { $0.authority == .lastKnown })
        #expect(try await second.getFeatures().features.map(\.name) == ["own"])
    }

    @Test func `the stored answers of an earlier version count if a plugin that keeps its answers has none`()
        async throws
    {
        _ = try await launch(StubPlugin("store") { $0.paidFeatures = { .of("old") } }).getPaidFeatures()
        let date = clock.now()
        #expect(try await launch(keeping("store", nil, asOf: date)).getPaidFeatures().names == ["old"])
        #expect(try await launch(keeping("store", .of("new"), asOf: date)).getPaidFeatures().names == ["new"])
    }

    @Test func `an unreachable plugin is not asked for its kept answers, which belong to another user`() async throws {
        let plugin = keeping("store", .of("pro"), asOf: clock.now())
        plugin.change { $0.logIn = { _ in throw PurchaseError(.unreachable) } }
        let client = try await launch(plugin)
        await #expect(throws: PurchaseError(.unreachable)) { try await client.getPaidFeatures() }
        #expect(!plugin.calls.contains("storedAnswers"))
    }

    @Test func `a first launch without a network throws the plugin's error`() async throws {
        let client = try await launch(unreachable("a"))
        await #expect(throws: PurchaseError(.unreachable)) { try await client.getPaidFeatures() }
    }

    @Test func `a new answer replaces the stored one`() async throws {
        _ = try await launch(StubPlugin.sound("a"), StubPlugin.sound("b")).getPaidFeatures()
        let second = try await launch(StubPlugin("a") { $0.paidFeatures = { .of("new") } }, unreachable("b"))
        #expect(try await second.getPaidFeatures().names == ["new", "b", "both"])
        let third = try await launch(unreachable("a"), unreachable("b"))
        #expect(try await third.getPaidFeatures().names == ["new", "b", "both"], "in a third run too")
    }

    @Test func `stored features are active until they expire`() async throws {
        let end = clock.now().addingTimeInterval(600)
        let pro = PaidFeature(name: "pro", originalTransactionID: "1", paymentType: .until(end))
        _ = try await launch(StubPlugin("a") { $0.paidFeatures = { PaidFeatures(features: [pro]) } }).getPaidFeatures()
        let features = try await launch(unreachable("a")).getPaidFeatures()
        #expect(features.hasActiveFeature(with: "pro", at: end.addingTimeInterval(-1)))
        #expect(!features.hasActiveFeature(with: "pro", at: end))
    }

    @Test func `a purchase is stored before its caller gets it`() async throws {
        let first = try await launch(StubPlugin.sound("a"))
        _ = try await first.purchase(PerformedOperation.product)
        #expect(try await launch(unreachable("a")).getPaidFeatures().names == ["a", "both"])
    }

    @Test func `an update of a plugin is stored`() async throws {
        let plugin = StubPlugin("a")
        let first = try await launch(plugin)
        var updates = first.paidFeaturesUpdates.makeAsyncIterator()
        plugin.send(.of("renewed"))
        _ = await updates.next()
        await first.close()
        #expect(try await launch(unreachable("a")).getPaidFeatures().names == ["renewed"])
    }

    @Test func `a user does not get the answers of another`() async throws {
        _ = try await launch(StubPlugin.sound("a")).getPaidFeatures()
        let bob = try await launch(unreachable("a"), user: .string("bob"))
        await #expect(throws: PurchaseError(.unreachable)) { try await bob.getPaidFeatures() }
        let uuid = UUID()
        _ = try await launch(StubPlugin.sound("a"), user: .uuid(uuid)).getPaidFeatures()
        let namesake = try await launch(unreachable("a"), user: .string(uuid.uuidString))
        await #expect(throws: PurchaseError(.unreachable)) { try await namesake.getPaidFeatures() }
        let renamed = try await launch(unreachable("z"))
        await #expect(throws: PurchaseError(.unreachable)) { try await renamed.getPaidFeatures() }
    }

    @Test func `a user who logs out loses the answers, and one who stays keeps them`() async throws {
        let first = try await launch(StubPlugin.sound("a"))
        _ = try await first.getPaidFeatures()
        try await first.logIn(appUserId: Self.ada)
        #expect(try await launch(unreachable("a")).getPaidFeatures().names == ["a", "both"])
        await first.logOut()
        let second = try await launch(unreachable("a"))
        await #expect(throws: PurchaseError(.unreachable)) { try await second.getPaidFeatures() }
    }

    @Test func `the log-in of another user removes the answers of the previous one`() async throws {
        let first = try await launch(StubPlugin.sound("a"))
        _ = try await first.getPaidFeatures()
        try await first.logIn(appUserId: .string("bob"))
        let second = try await launch(unreachable("a"))
        await #expect(throws: PurchaseError(.unreachable)) { try await second.getPaidFeatures() }
    }

    @Test func `a client without a user stores its answers too`() async throws {
        _ = try await launch(StubPlugin.sound("a"), user: nil).getPaidFeatures()
        let second = try await launch(unreachable("a"), user: nil)
        #expect(try await second.getPaidFeatures().names == ["a", "both"])
        try await second.logIn(appUserId: .string("ada"))
        await #expect(throws: PurchaseError(.unreachable)) { try await second.getPaidFeatures() }
    }

    @Test func `every kind of payment survives storage`() async throws {
        let (start, end) = (clock.now(), clock.now().addingTimeInterval(99.5))
        let full = PaidFeature.Period(
            id: UUID(), startDate: start, endDate: end, cancellationDate: start, isTrial: true, isIntroductory: true,
            cancellationToken: CancellationToken(pluginName: "web", rawValue: "s-1"), price: Decimal(string: "4.99"),
            currencyCode: "EUR", subscriptionPeriod: .months(1), introPrice: Decimal(string: "0.1"),
            introSubscriptionPeriod: .days(3),
            managementURL: "https://play.google.com/store/account/subscriptions?sku=a&package=b")
        let plain = PaidFeature.Period(startDate: start, endDate: end)
        let features = [
            PaidFeature(
                name: "a", paymentType: .subscription(.init(current: full, next: plain)), transactionType: .web),
            PaidFeature(
                name: "a", originalTransactionID: "play.1", paymentType: .subscription(.init(current: full)),
                transactionType: .googlePlay),
            PaidFeature(
                name: "b", productIdentifier: "p", pricePointIdent: "pp", originalTransactionID: "1",
                paymentType: .until(end), transactionType: .appStore),
            PaidFeature(name: "c", paymentType: .consumable, transactionType: .googlePlay), PaidFeature(name: "d"),
        ]
        let plugin = StubPlugin("a") { $0.paidFeatures = { PaidFeatures(features: features) } }
        _ = try await launch(plugin).getPaidFeatures()
        #expect(try await launch(unreachable("a")).getPaidFeatures().features == features)
    }

    @Test func `without changes only the dates are written, once an hour`() async throws {
        let counting = CountingStorage()
        let plugin = StubPlugin.sound("a")
        let client = try await launch(plugin, storage: counting)
        for _ in 0..<5 { _ = try await client.getPaidFeatures() }
        #expect(counting.writes == 1)
        clock.advance(by: 3599)
        _ = try await client.getPaidFeatures()
        #expect(counting.writes == 1)
        clock.advance(by: 1)
        _ = try await client.getPaidFeatures()
        #expect(counting.writes == 2)
        plugin.change { $0.paidFeatures = { .of("new") } }
        _ = try await client.getPaidFeatures()
        #expect(counting.writes == 3)
    }

    @Test func `a failing storage loses no answer, is reported, and is tried again`() async throws {
        let counting = CountingStorage()
        counting.fail(true)
        let client = try await launch(StubPlugin.sound("a"), storage: counting)
        var diagnostics = client.diagnostics.makeAsyncIterator()
        #expect(try await client.getPaidFeatures().names == ["a", "both"])
        var reported = await diagnostics.next()
        while let event = reported, event.operation != "lastAnswers" { reported = await diagnostics.next() }
        #expect(reported?.error as? PurchaseError == PurchaseError(.storageFailed))
        counting.fail(false)
        _ = try await client.getPaidFeatures()
        #expect(try await launch(unreachable("a"), storage: counting).getPaidFeatures().names == ["a", "both"])
    }

    @Test func `damaged answers are set aside and ignored`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("kept-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let files = try FileSecureStorage(directory: folder)
        _ = try await launch(StubPlugin.sound("a"), storage: files).getPaidFeatures()
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
        #expect(!name.contains("ada"))
        try Data("souk1\nnonsense".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        let client = try await launch(unreachable("a"), storage: files)
        await #expect(throws: PurchaseError(.unreachable)) { try await client.getPaidFeatures() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["\(name).damaged"])
    }

    @Test(arguments: [
        #"{"plugins":{},"#,
        #"{"other":"# + String(repeating: "[", count: 128) + String(repeating: "]", count: 128) + ",",
    ])
    func `stored answers with a duplicate key or deep nesting are ignored`(beginning: String) async throws {
        _ = try await launch(StubPlugin.sound("a")).getPaidFeatures()
        let key = "lastAnswers-" + Hex.encode(SHA256.hash(Array("string ada".utf8)).prefix(16))
        let kept = try #require(try storage.data(for: key))
        #expect(try await launch(unreachable("a")).getPaidFeatures().names == ["a", "both"])
        try storage.set(Array(beginning.utf8) + kept.dropFirst(), for: key)
        let client = try await launch(unreachable("a"))
        await #expect(throws: PurchaseError(.unreachable)) { try await client.getPaidFeatures() }
    }

    @Test func `an answer that arrives after its user logged out is not kept`() async throws {
        let gate = Gate()
        let client = try await launch(StubPlugin.sound("a") { await gate.pass() }, user: nil)
        let reader = Task { try await client.getPaidFeatures() }
        await gate.arrivals()
        let leaving = Task { await client.logOut() }
        await gate.arrivals(2)
        gate.open()
        _ = try await reader.value
        await leaving.value
        let second = try await launch(unreachable("a"), user: nil)
        await #expect(throws: PurchaseError(.unreachable)) { try await second.getPaidFeatures() }
    }
}

/// Counts its writes and fails on request.
private final class CountingStorage: SecureStorage {
    private let storage = MemorySecureStorage()
    private let state = Locked((writes: 0, isFailing: false))

    var writes: Int { state.withLock { $0.writes } }
    func fail(_ isFailing: Bool) { state.withLock { $0.isFailing = isFailing } }
    func data(for key: String) throws -> [UInt8]? { try storage.data(for: key) }

    func set(_ data: [UInt8]?, for key: String) throws {
        let isFailing = state.withLock { state in
            state.writes += 1
            return state.isFailing
        }
        if isFailing { throw PurchaseError(.storageFailed) }
        try storage.set(data, for: key)
    }
}
