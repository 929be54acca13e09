import BaseTestSupport
import Foundation
import Primitives
import Testing

@testable import Purchases

@Suite(.timeLimit(.minutes(1))) struct DiagnosticsTests {
    private let clock = ManualClock()

    private func client(_ plugins: StubPlugin...) async throws -> PurchaseClient {
        var configuration = PurchaseClient.Configuration.patient
        configuration.clock = clock
        let client = PurchaseClient(configuration: configuration)
        try await client.setup(with: plugins)
        return client
    }

    private func next(
        _ count: Int, of diagnostics: inout AsyncStream<PurchaseDiagnostic>.Iterator
    ) async -> [String] {
        var reported: [String] = []
        while reported.count < count, let event = await diagnostics.next() {
            let age = event.age.map { " \(Int($0))s" } ?? ""
            let error = (event.error as? Refusal).map { " error \($0.number)" } ?? ""
            reported.append(
                "\(event.operation) \(event.pluginName ?? "–") \(event.origin?.source.rawValue ?? "–")\(age)\(error)")
        }
        return reported
    }

    @Test func `each request is reported with its plugin, origin and age`() async throws {
        let (now, a, b) = (clock.now(), StubPlugin.sound("a"), StubPlugin.sound("b"))
        b.change { $0.origin = { _ in AnswerOrigin(.cache, asOf: now.addingTimeInterval(-40)) } }
        let client = try await client(a, b)
        var diagnostics = client.diagnostics.makeAsyncIterator()
        _ = try await client.getPaidFeatures()
        #expect(await next(2, of: &diagnostics) == ["getPaidFeatures a plugin 0s", "getPaidFeatures b cache 40s"])
        clock.advance(by: 20)
        for plugin in [a, b] { plugin.change { $0.paidFeatures = { throw Refusal(7) } } }
        _ = try await client.getPaidFeatures()
        #expect(
            await next(2, of: &diagnostics) == [
                "getPaidFeatures a memory 20s error 7", "getPaidFeatures b memory 60s error 7",
            ])
    }

    @Test func `each request is a log entry, with the text of the error only in the detail`() async throws {
        let entries = Locked<[LogEntry]>([])
        var configuration = PurchaseClient.Configuration.patient
        configuration.clock = clock
        configuration.log = { entry in entries.withLock { $0.append(entry) } }
        let client = PurchaseClient(configuration: configuration)
        let plugin = StubPlugin.sound("a")
        try await client.setup(with: [plugin])
        _ = try await client.getPaidFeatures()
        plugin.change { $0.paidFeatures = { throw PurchaseError(.invalidKey, "The key of anna is wrong.") } }
        _ = try await client.getPaidFeatures()
        let seen = entries.withLock { $0 }
        #expect(
            seen == [
                LogEntry(.debug, category: "Purchases", "getPaidFeatures, a, from plugin, 0 s old"),
                LogEntry(
                    .error, category: "Purchases", "getPaidFeatures, a, from memory, 0 s old: invalidKey",
                    detail: "The key of anna is wrong."),
            ])
    }

    @Test func `for an operation of one plugin, the plugins that handled it or failed are reported`() async throws {
        let client = try await client(StubPlugin("a"), .failing("b", with: Refusal(2)), .sound("c"))
        var diagnostics = client.diagnostics.makeAsyncIterator()
        try await client.presentCodeRedemptionUI()
        #expect(
            await next(2, of: &diagnostics) == [
                "presentCodeRedemptionUI b – error 2", "presentCodeRedemptionUI c plugin 0s",
            ])
    }

    @Test(arguments: PerformedOperation.all.indices) func `every operation is reported`(row: Int) async throws {
        let (operation, perform) = (PerformedOperation.all[row].operation, PerformedOperation.all[row].perform)
        let plugin = StubPlugin.sound("a")
        let client = try await client(plugin)
        var diagnostics = client.diagnostics.makeAsyncIterator()
        _ = try await perform(client, [plugin])
        #expect(await next(1, of: &diagnostics) == ["\(operation.name) a plugin 0s"])
    }

    @Test func `the remote plugin reports the origin and age of its answer`() async throws {
        let backend = RemoteBackend()
        let (remote, _) = try await backend.plugin([backend.features(backend.feature("pro"))], user: nil) {
            $0.freshness = .init(foreground: .seconds(60))
        }
        var configuration = PurchaseClient.Configuration.patient
        configuration.clock = backend.clock
        let client = PurchaseClient(configuration: configuration)
        try await client.setup(with: [remote], appUserId: .string("ada"))
        var diagnostics = client.diagnostics.makeAsyncIterator()
        _ = try await client.getPaidFeatures()
        backend.clock.advance(by: 20)
        _ = try await client.getFeatures()
        #expect(
            await next(2, of: &diagnostics) == ["getPaidFeatures remote network 0s", "getFeatures remote cache 20s"])
    }
}
