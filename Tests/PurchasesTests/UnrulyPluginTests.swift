import BaseTestSupport
import Foundation
import Primitives
import Testing

@testable import Purchases

/// Plugins that violate the rules.
@Suite(.timeLimit(.minutes(1))) struct UnrulyPluginTests {
    private let plugin = StubPlugin("a")

    @Test func `only the first callback counts`() async throws {
        let names = try await plugin.answer { completion in
            completion(.success("first"))
            completion(.success("second"))
            completion(.failure(Refusal()))
        }
        #expect(names == "first")
    }

    @Test func `a failure in the callback and a thrown error fail the operation`() async throws {
        let plugin = plugin
        await #expect(throws: Refusal(1)) {
            let _: String = try await plugin.answer { $0(.failure(Refusal(1))) }
        }
        await #expect(throws: Refusal(2)) {
            let _: String = try await plugin.answer { _ in throw Refusal(2) }
        }
    }

    @Test func `without a callback the wait ends when the caller is cancelled`() async throws {
        let (plugin, asked) = (plugin, Gate())
        let caller = Task {
            try await plugin.answer { (_: @escaping @Sendable (Result<Int, any Error>) -> Void) in asked.open() }
        }
        await asked.pass()
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
    }

    @Test(arguments: PerformedOperation.all.indices)
    func `a plugin that cancels itself counts as unreachable and does not affect others`(row: Int) async throws {
        let (operation, perform) = (PerformedOperation.all[row].operation, PerformedOperation.all[row].perform)
        guard operation.rule.called == .allPlugins else { return }
        let (quitter, sound) = (StubPlugin.failing("a", with: CancellationError()), StubPlugin.sound("b"))
        let client = try await PurchaseClient.with(quitter, sound)
        switch operation.rule.failure {
        case .failsAll:
            await #expect(throws: PurchaseError(.unreachable)) { try await perform(client, [quitter]) }
        case .rollsBack:
            _ = try await perform(client, [quitter])
            #expect(client.userId == .string("ada"), "no plugin rejected the user")
        default: _ = try await perform(client, [quitter])
        }
        #expect(sound.calls.count == 1)
    }

    @Test func `each plugin has a deadline of its own`() async throws {
        let (clock, never, later) = (ManualClock(), Gate(), Gate())
        let client = PurchaseClient(
            configuration: .init(pluginDeadline: .seconds(30), pluginDeadlines: ["slow": .seconds(90)]) {
                try await clock.sleep(until: clock.now().addingTimeInterval(TimeInterval($0.components.seconds)))
            })
        try await client.setup(with: [
            StubPlugin.sound("unresponsive") { await never.pass() }, StubPlugin.sound("slow") { await later.pass() },
        ])
        let caller = Task { try await client.collectPaidFeatures() }
        await never.arrivals()
        await later.arrivals()
        await clock.waiters(atLeast: 2)
        clock.advance(by: 30)
        later.open()
        let collected = try await caller.value
        #expect(collected.reports.map { $0.error as? PurchaseError } == [PurchaseError(.timedOut), nil])
        #expect(collected.value.names == ["slow", "both"])
        never.open()
    }
}
