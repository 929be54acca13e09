import NetworkInterception
import Primitives
import StoreKitAdapter
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// Purchases with a fault in each request in turn. The simulator's transactions show what was paid, and the server's
/// credit shows what the customer got.
@Suite(.timeLimit(.minutes(5)))
struct PurchaseFaultTests {
    struct Trouble: Sendable, CustomTestStringConvertible {
        let fault: Fault
        var testDescription: String { fault.description }
    }

    static let troubles: [Trouble] = [
        .drop(.beforeSending), .drop(.afterSending), .drop(.inAnswer), .status(503), .status(500, afterSending: true),
        .truncated(after: 5),
        // Every byte is changed, because a single changed byte could give other valid JSON. TLS prevents that.
        .corrupted(every: 1),
    ].map(Trouble.init)

    /// The result of one purchase.
    private struct Outcome {
        var failure: (any Error)?
        /// Whether a fault occurred in a request.
        var wasHit: Bool
    }

    @Test(arguments: troubles)
    func `a purchase with a fault in any request ends acknowledged or unpaid`(trouble: Trouble) async throws {
        try await RealWorld.run { world in
            var lives: [Outcome] = []
            repeat {
                let request = lives.count + 1
                let faults = FaultFloret([.init(trouble.fault, requests: request...request)])
                lives.append(try await life(in: world, with: faults, "request \(request)"))
            } while lives.last?.wasHit == true && lives.count < 100
            #expect(lives.last?.wasHit == false && lives.last?.failure == nil)
            #expect(lives.count > 5, "The test ended before the last request of a purchase.")
        }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `random faults of the network neither lose nor duplicate a purchase`(seed: UInt64) async throws {
        try await RealWorld.run { world in
            let faults = FaultFloret(Self.troubles.map { .init($0.fault, probability: 0.03) }, seed: seed)
            var lives: [Outcome] = []
            for number in 1...12 {
                faults.enabled = true
                lives.append(try await life(in: world, with: faults, isMended: true, "seed \(seed), life \(number)"))
            }
            #expect(lives.contains { $0.wasHit })
            // The number of successful purchases depends on the order of concurrent requests. Without faults each one
            // succeeds.
            faults.enabled = false
            let calm = try await life(in: world, with: faults, "seed \(seed), without faults")
            #expect(calm.failure == nil && !calm.wasHit)
        }
    }

    /// Buys ten coins on a new device with these faults, and waits until it is idle. With `isMended`, the faults end
    /// after the purchase.
    private func life(
        in world: RealWorld, with faults: FaultFloret, isMended: Bool = false, _ place: String
    ) async throws -> Outcome {
        let paid = try await world.simulator.transactions(of: "ada").count
        let hit = faults.counts.reduce(0) { $0 + $1.hit }
        let interceptor = Interceptor([faults])
        interceptor.run()
        let configuration = world.configuration(
            network: DeviceNetwork(), storage: MemorySecureStorage(), watched: interceptor.transport(wrapping:))
        let store = try Store(configuration: configuration)
        var outcome = Outcome(wasHit: false)
        let balance: Int
        do {
            do { try await store.purchaseConsumableProduct("coins", quantity: 1) } catch { outcome.failure = error }
            if isMended { faults.enabled = false }
            try await world.settle(deviceIsOnline: true)
            outcome.wasHit = faults.counts.reduce(0) { $0 + $1.hit } > hit
            faults.enabled = false
            balance = try await store.credit("coins").balance
        } catch {
            await store.close()
            throw error
        }
        await store.close()
        let transactions = try await world.simulator.transactions(of: "ada").count
        let ending: Comment = "\(place): \(outcome.failure.map { "\($0)" } ?? "bought")"
        #expect(transactions - paid <= 1, ending)
        if let failure = outcome.failure {
            let error = failure as? PurchaseError
            #expect(error != nil && (!(error?.underlying is ProductRequestError) || transactions == paid), ending)
        } else {
            #expect(transactions == paid + 1, ending)
        }
        #expect(balance == 10 * transactions, ending)
        #expect(try await world.simulator.unfinishedTransactions(of: "ada").isEmpty, ending)
        return outcome
    }
}
