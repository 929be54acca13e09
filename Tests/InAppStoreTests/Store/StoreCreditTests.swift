import HTTPCore
import Primitives
import Purchases
import StoreModel
import Testing

@testable import InAppStore

/// A server that gives every customer a hundred coins.
private final class Bank: CreditService {
    let error = Locked<(any Error)?>(nil)
    private let redeemed = Locked<[String: Int]>([:])
    private let prices = ["filter": 5, "frame": 60]

    func credit(_ type: String, of customer: CustomerID) async throws -> CreditBalance {
        if let error = error.withLock({ $0 }) { throw error }
        let spent = redeemed.withLock { $0.values.reduce(0, +) }
        return CreditBalance(type: type, earned: 100, spent: spent, prices: prices)
    }

    func redeem(
        _ items: [RedeemRequest.Item], credit type: String, of customer: CustomerID
    ) async throws -> RedeemAnswer {
        if let error = error.withLock({ $0 }) { throw error }
        let costs = redeemed.withLock { redeemed in
            items.map { item in
                let cost = redeemed[item.id] == nil ? prices[item.type] ?? 0 : 0
                redeemed[item.id] = max(cost, redeemed[item.id] ?? 0)
                return RedeemAnswer.Item(id: item.id, type: item.type, cost: cost)
            }
        }
        let balance = try await credit(type, of: customer).balance
        return RedeemAnswer(type: type, balance: balance, items: costs)
    }
}

@Suite(.timeLimit(.minutes(2)))
struct StoreCreditTests {
    private let test = StoreTestContext()
    private let bank = Bank()

    private func open(_ customer: CustomerID = "anna") async throws -> Store {
        var configuration = test.configuration(customer: customer)
        configuration.credits = bank
        return try await test.open(configuration)
    }

    @Test func `credit is fetched, stored, and spent once on each item`() async throws {
        let store = try await open()
        #expect(store.cachedCredit("coins") == nil)
        #expect(try await store.credit("coins").balance == 100)
        #expect(try await store.creditPrices("coins", of: ["filter"]) == ["filter": 5])
        let answer = try await store.redeem(["look.1": "filter", "look.2": "frame"], credit: "coins")
        #expect(answer.items.map(\.cost) == [5, 60])
        #expect(store.cachedCredit("coins")?.balance == 35)
        #expect(try await store.redeem(["look.1": "filter"], credit: "coins").items.map(\.cost) == [0])
        await store.close()
        let again = try await open()
        #expect(again.cachedCredit("coins")?.balance == 35, "The credit must survive a restart.")
        #expect(again.cachedCredit("gems") == nil)
        await again.close()
    }

    @Test func `one customer's credit is not shown to another`() async throws {
        let store = try await open()
        _ = try await store.credit("coins")
        try await store.logIn("boris")
        #expect(store.cachedCredit("coins") == nil)
        await store.close()
    }

    @Test func `the error names an item without a price`() async throws {
        let store = try await open()
        await #expect {
            try await store.creditPrices("coins", of: ["filter", "hat"])
        } throws: { error in
            (error as? PurchaseError)?.code == .creditFailed && "\(error)".contains("hat")
        }
        await store.close()
    }

    @Test func `too little credit, an unreachable server and a missing service have codes of their own`() async throws {
        let store = try await open()
        _ = try await store.credit("coins")
        bank.error.withLock {
            $0 = PurchaseError(
                .protocolError, "Too little.",
                underlying: HTTPProblem(
                    status: 409, code: "insufficient_credit", title: "", detail: "", isRetryable: false))
        }
        await #expect(throws: PurchaseError(.insufficientCredit, "")) {
            try await store.redeem(["a": "frame"], credit: "coins")
        }
        bank.error.withLock { $0 = PurchaseError(.unreachable) }
        await #expect(throws: PurchaseError(.creditFailed, "")) { try await store.credit("coins") }
        #expect(store.cachedCredit("coins")?.balance == 100)
        bank.error.withLock { $0 = CancellationError() }
        await #expect(throws: PurchaseError(.operationCancelled, "")) { try await store.credit("coins") }
        await store.close()
        let bare = try await test.open()
        await #expect(throws: PurchaseError(.unsupported, "")) { try await bare.credit("coins") }
        await bare.close()
    }
}
