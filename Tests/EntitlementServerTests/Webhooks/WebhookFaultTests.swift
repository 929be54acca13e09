import HTTPCore
import Primitives
import StoreTestSupport
import Testing

@testable import EntitlementServer

/// Webhooks over a network on which one call fails. The tests try each call in turn.
@Suite struct WebhookFaultTests {
    private static let customers = ["anna", "ben", "carl"]

    /// One fault is omitted: an impostor that answers 200. Without TLS the server cannot distinguish it from the
    /// receiver.
    @Test(arguments: [FaultyTransport.Fault.unreachable, .answerLost, .serverError, .garbage])
    func `whichever call fails, every event arrives in order, and twice only if its response was lost`(
        fault: FaultyTransport.Fault
    ) async throws {
        let events = 3 * Self.customers.count
        for call in 1...events {
            let receiver = WebhookReceiver()
            let network = FaultyTransport(receiver, fault, atCall: call)
            let bench = try await ServerBench.withWebhook(receiver) { $0.webhookTransport = network }
            for round in 1...3 {
                for customer in Self.customers { try await bench.writeEvent(about: "\(customer)") }
                if round < 3 { try await bench.deliver() }
            }
            try await bench.deliver()
            let waiting = try await bench.deliveries("?state=pending").count
            #expect(fault == .garbage ? waiting == 0 : (1...3).contains(waiting))
            bench.realClock.advance(by: 10)
            try await bench.deliver()

            let delivered = try await bench.deliveries("?state=delivered")
            #expect(delivered.count == events && network.calls == events + (fault == .garbage ? 0 : 1))
            let arrived = receiver.all.compactMap { $0.id.flatMap { Int($0) } }
            #expect(arrived.count == receiver.all.count && Set(arrived).count == events)
            #expect(arrived.count == events + (fault == .answerLost ? 1 : 0))
            for customer in Self.customers {
                let own = receiver.all.filter { $0.customer == customer }.compactMap { $0.id.flatMap { Int($0) } }
                #expect(own == own.sorted())
            }
            await bench.close()
        }
    }
}
