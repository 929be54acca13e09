import NetworkInterception
import Primitives
import StoreKitAdapter
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// A purchase whose requests go wrong, one after the other. The simulator's ledger says what was paid, the server's what
/// the customer got for it.
@Suite(.timeLimit(.minutes(5)))
struct PurchaseFaultTests {
    struct Trouble: Sendable, CustomTestStringConvertible {
        let fault: Fault
        var testDescription: String { fault.description }
    }

    static let troubles: [Trouble] = [
        .drop(.beforeSending), .drop(.afterSending), .drop(.inAnswer), .status(503), .status(500, afterSending: true),
        .truncated(after: 5),
        // Every byte: a single one may make another valid answer of JSON, which is what TLS is for.
        .corrupted(every: 1),
    ].map(Trouble.init)

    /// What one life of the app came to.
    private struct Outcome {
        var failure: (any Error)?
        /// Whether there was a request of that number.
        var wasHit: Bool
        /// Coins that the server counts.
        var balance: Int
    }

    @Test(arguments: troubles)
    func `whichever request goes wrong, a purchase ends acknowledged or cleanly failed`(trouble: Trouble) async throws {
        try await RealWorld.run { world in
            var paid = 0
            var request = 1
            var outcomes: [Outcome] = []
            repeat {
                let outcome = try await life(in: world, trouble.fault, at: request)
                let transactions = try await world.simulator.transactions(of: "ada").count
                let place = "request \(request): \(outcome.failure.map { "\($0)" } ?? "bought")"
                // Paid at most once, and once if the app was told so.
                #expect(transactions - paid <= 1, "\(place)")
                if outcome.failure == nil { #expect(transactions == paid + 1, "\(place)") }
                if let failure = outcome.failure {
                    // What the store says of the product it says before anybody pays.
                    let isBeforePaying = failure is ProductRequestError && transactions == paid
                    #expect(failure is StoreError || isBeforePaying, "\(place)")
                }
                // Whatever was paid is acknowledged, exactly once, and nothing else is.
                #expect(outcome.balance == 10 * transactions, "\(place)")
                #expect(try await world.simulator.unfinishedTransactions(of: "ada").isEmpty, "\(place)")
                paid = transactions
                outcomes.append(outcome)
                request += 1
            } while outcomes.last?.wasHit == true && request < 100
            // The last life met no fault any more, so every request of a purchase was tried.
            #expect(outcomes.last?.wasHit == false && outcomes.last?.failure == nil)
            #expect(outcomes.count > 5, "a purchase has more requests than that")
        }
    }

    /// A new device buys ten coins while its request of this number goes wrong, and comes to rest.
    private func life(in world: RealWorld, _ fault: Fault, at request: Int) async throws -> Outcome {
        let faults = FaultFloret([.init(fault, requests: request...request)])
        let interceptor = Interceptor([faults])
        interceptor.run()
        let configuration = world.configuration(
            line: Line(), storage: MemorySecureStorage(), watched: interceptor.transport(wrapping:))
        let store = try Store(configuration: configuration)
        var outcome = Outcome(wasHit: false, balance: 0)
        do {
            do { try await store.purchaseConsumableProduct("coins", quantity: 1) } catch { outcome.failure = error }
            try await world.settle(deviceIsOnline: true)
            outcome.wasHit = faults.counts[0].hit > 0
            faults.enabled = false
            outcome.balance = try await store.credit("coins").balance
        } catch {
            await store.close()
            throw error
        }
        await store.close()
        return outcome
    }
}
