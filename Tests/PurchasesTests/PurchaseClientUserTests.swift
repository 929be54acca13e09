import BaseTestSupport
import Foundation
import Primitives
import Purchases
import Testing

@Suite(.timeLimit(.minutes(1))) struct PurchaseClientUserTests {
    private let ada = UserId.string("ada")
    private let bob = UserId.string("bob")

    @Test func `logging in reaches every plugin`() async throws {
        let plugins = [StubPlugin("a"), StubPlugin("b")]
        let client = try await PurchaseClient.with(plugins[0], plugins[1])
        let reports = try await client.logIn(appUserId: ada)
        #expect(client.userId == ada)
        #expect(plugins.map(\.calls) == [["logIn ada"], ["logIn ada"]])
        #expect(reports.map(\.pluginName) == ["a", "b"])
        #expect(reports.allSatisfy { $0.didAnswer })
    }

    @Test func `a plugin that rejects the user logs all plugins out`() async throws {
        let sound = StubPlugin("sound")
        let first = StubPlugin("first") { $0.logIn = { _ in throw Refusal(1) } }
        let second = StubPlugin("second") { $0.logIn = { _ in throw Refusal(2) } }
        let client = try await PurchaseClient.with(sound, first, second)
        await #expect(throws: Refusal(1)) { try await client.logIn(appUserId: ada) }
        #expect(client.userId == nil)
        for plugin in [sound, first, second] { #expect(plugin.calls == ["logIn ada", "logOut"]) }
    }

    @Test func `a rejection at setup leaves the client set up without a user`() async throws {
        let plugin = StubPlugin("a") { $0.logIn = { _ in throw Refusal(1) } }
        let client = PurchaseClient(configuration: .patient)
        await #expect(throws: Refusal(1)) { try await client.setup(with: [plugin], appUserId: ada) }
        #expect(client.userId == nil)
        plugin.change { $0.logIn = { _ in } }
        try await client.logIn(appUserId: ada)
        #expect(client.userId == ada)
    }

    @Test(arguments: [PurchaseError.Code.unreachable, .timedOut, .rateLimited, .serverError])
    func `a plugin that cannot be reached is reported, and logged in before its next call`(
        code: PurchaseError.Code
    ) async throws {
        let away = StubPlugin("away") {
            $0.logIn = { _ in throw PurchaseError(code) }
            $0.paidFeatures = { .of("pro") }
        }
        let sound = StubPlugin("sound") { $0.paidFeatures = { .of("export") } }
        let client = try await PurchaseClient.with(away, sound)
        let reports = try await client.logIn(appUserId: ada)
        #expect(reports.map { $0.error as? PurchaseError } == [PurchaseError(code), nil])
        #expect(client.userId == ada)

        let collected = try await client.collectPaidFeatures()
        #expect(collected.value.names == ["export"])
        #expect(collected.reports.map { $0.error as? PurchaseError } == [PurchaseError(code), nil])
        #expect(away.calls == ["logIn ada", "logIn ada"])

        away.change { $0.logIn = { _ in } }
        #expect(try await client.getPaidFeatures().names == ["pro", "export"])
        #expect(try await client.getPaidFeatures(.strict).names == ["pro", "export"])
        #expect(away.calls == ["logIn ada", "logIn ada", "logIn ada", "paidFeatures", "paidFeatures"])
        #expect(sound.calls == ["logIn ada", "paidFeatures", "paidFeatures", "paidFeatures"])
    }

    @Test func `a plugin that cannot be reached does not delay a purchase`() async throws {
        let gate = Gate()
        let away = StubPlugin("away") { $0.logIn = { _ in throw PurchaseError(.unreachable) } }
        let seller = StubPlugin("seller") {
            $0.purchase = { _ in .success(SuccessfulPurchase(paidFeatures: .of("pro"))) }
        }
        let client = try await PurchaseClient.with(away, seller, user: ada)
        away.change { $0.logIn = { _ in await gate.pass() } }
        let purchase = try await client.purchase(Product(productIdentifier: "pro"))
        #expect(purchase.paidFeatures.names == ["pro"])
        #expect(away.calls == ["logIn ada"])
        gate.open()
    }

    @Test func `when only an unreachable plugin might sell, its error is thrown`() async throws {
        let away = StubPlugin("away") { $0.logIn = { _ in throw PurchaseError(.unreachable) } }
        let client = try await PurchaseClient.with(away, StubPlugin("other"), user: ada)
        let product = Product(productIdentifier: "pro")
        await #expect(throws: PurchaseError(.unreachable)) { try await client.purchase(product) }
        away.change {
            $0.logIn = { _ in }
            $0.purchase = { _ in .success(SuccessfulPurchase(paidFeatures: .of("pro"))) }
        }
        #expect(try await client.purchase(product).paidFeatures.names == ["pro"])
    }

    @Test func `many requests share one repeated log-in`() async throws {
        let gate = Gate()
        let away = StubPlugin("away") { $0.logIn = { _ in throw PurchaseError(.unreachable) } }
        let client = try await PurchaseClient.with(away, user: ada)
        away.change { $0.logIn = { _ in await gate.pass() } }
        try await withThrowingTaskGroup(of: PaidFeatures.self) { group in
            for _ in 0..<20 { group.addTask { try await client.getPaidFeatures() } }
            await gate.arrivals()
            gate.open()
            for try await features in group { #expect(features == PaidFeatures()) }
        }
        #expect(away.calls.filter { $0 == "logIn ada" }.count == 2)
    }

    @Test func `changes of user happen one after another`() async throws {
        let gate = Gate()
        let plugin = StubPlugin("a") { $0.logIn = { if $0 == .string("ada") { await gate.pass() } } }
        let client = try await PurchaseClient.with(plugin)
        async let first = client.logIn(appUserId: ada)
        await gate.arrivals()
        let second = Task { try await client.logIn(appUserId: bob) }
        gate.open()
        _ = try await first
        _ = try await second.value
        #expect(plugin.calls == ["logIn ada", "logIn bob"])
        #expect(client.userId == bob)
    }

    @Test func `a repeated log-in does not outlive its user`() async throws {
        let gate = Gate()
        let away = StubPlugin("away") { $0.logIn = { _ in throw PurchaseError(.unreachable) } }
        let client = try await PurchaseClient.with(away, user: ada)
        away.change { answers in answers.logIn = { _ in await gate.pass() } }
        let reader = Task { try await client.getPaidFeatures() }
        await gate.arrivals()
        await client.logOut()
        #expect(client.userId == nil)
        gate.open()
        _ = await reader.result
        #expect(away.calls.last != "logIn ada")
    }

    @Test func `logging out reaches every plugin and forgets the user`() async throws {
        let plugins = [StubPlugin("a"), StubPlugin("b") { $0.paidFeatures = { .of("pro") } }]
        let client = try await PurchaseClient.with(plugins[0], plugins[1], user: ada)
        _ = try await client.getPaidFeatures()
        await client.logOut()
        #expect(client.userId == nil)
        #expect(plugins.map { $0.calls.last } == ["logOut", "logOut"])
        plugins[1].change { $0.paidFeatures = { throw Refusal() } }
        #expect(try await client.getPaidFeatures() == PaidFeatures())
    }

    @Test func `a cancelled log-in is rolled back`() async throws {
        let gate = Gate()
        let slow = StubPlugin("slow") { $0.logIn = { _ in await gate.pass() } }
        let quick = StubPlugin("quick")
        let client = try await PurchaseClient.with(slow, quick)
        let ada = ada
        let caller = Task { try await client.logIn(appUserId: ada) }
        await gate.arrivals()
        try await until("the other plugin is asked too") { quick.calls.last == "logIn ada" }
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        #expect(client.userId == nil)
        #expect(quick.calls.last == "logOut" && slow.calls.last == "logOut")
        gate.open()
    }

    @Test func `an answer about the former user is not kept for the next`() async throws {
        let gate = Gate()
        let plugin = StubPlugin("a") {
            $0.paidFeatures = {
                await gate.pass()
                return .of("ada's")
            }
        }
        let client = try await PurchaseClient.with(plugin, user: ada)
        let reader = Task { try await client.getPaidFeatures() }
        await gate.arrivals()
        try await client.logIn(appUserId: bob)
        gate.open()
        #expect(try await reader.value.names == ["ada's"])
        plugin.change { $0.paidFeatures = { throw Refusal() } }
        await #expect(throws: Refusal()) { try await client.getPaidFeatures() }
    }
}
