import SimulatorControl
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel

/// A customer with a store account, whose app presents the purchases to the server.
struct ChaosCustomer {
    let name: String
    let chaos: Chaos

    func act(while isRunning: () -> Bool) async throws {
        try await chaos.store.request("/control/v1/accounts", StoreControlWire.Account(name: name))
        try await buy("monthly")
        while isRunning() { try await act() }
    }

    private func act() async throws {
        switch Int.random(in: 0..<10) {
        case 0...3: try await buy("coins")
        case 4: try await buy("pack")
        case 5: try await buy("monthly")
        case 6: try await change(["cancel", "resume"].randomElement() ?? "cancel")
        case 7: try await refund(["refund", "reverse-refund"].randomElement() ?? "refund")
        default: try await presentAgain()
        }
    }

    private func transactions() async throws -> [StoreControlWire.Transaction] {
        try await chaos.store.transactions(of: name)
    }

    private func buy(_ product: ProductID) async throws {
        let before = Set(try await transactions().map(\.transactionID))
        let isSold = try await chaos.store.request(
            "/control/v1/accounts/\(name)/buy",
            StoreControlWire.Buy(productID: product, appAccountToken: CustomerID(unchecked: name).appAccountToken))
        guard isSold else { return }
        let bought = try await transactions().filter { !before.contains($0.transactionID) }
        async let one: Void = present(bought)
        async let other: Void = present(bought)
        _ = try await (one, other)
    }

    private func change(_ word: String) async throws {
        try await chaos.store.request(
            "/control/v1/accounts/\(name)/\(word)", StoreControlWire.OfProduct(productID: "monthly"))
    }

    /// Refunds a purchase other than the subscription, or reverses its refund. Only the notification informs the server
    /// of a refund.
    private func refund(_ word: String) async throws {
        let bought = try await transactions().filter { $0.productID != "monthly" }
        guard let one = bought.randomElement() else { return }
        try await chaos.store.request("/control/v1/transactions/\(one.transactionID)/\(word)")
    }

    private func presentAgain() async throws {
        let some = try await transactions().filter { $0.state == "purchased" }.shuffled().prefix(Int.random(in: 1...5))
        try await present(Array(some))
    }

    /// Presents transactions until they are acknowledged, with an idempotency key or without.
    private func present(_ transactions: [StoreControlWire.Transaction]) async throws {
        guard !transactions.isEmpty else { return }
        let texts = transactions.map(\.signedTransaction)
        let headers: HTTPHeaders = Bool.random() ? ["Idempotency-Key": UUID().uuidString] : [:]
        let response = try await chaos.client.sendUntilSuccess(
            .post, "/v1/customers/\(name)/transactions", of: chaos.server, key: chaos.server.publicKey,
            headers: headers,
            body: ["signedTransactions": .array(texts.map { .string($0) })])
        let answer = try JSONValue(parsing: response)
        let acknowledged = answer["acknowledgedTransactionIDs"]?.arrayValue?.compactMap(\.stringValue) ?? []
        guard Set(acknowledged) == Set(transactions.map(\.transactionID.rawValue)) else {
            throw CrashFailure("\(name): acknowledged are \(acknowledged) of \(transactions.map(\.transactionID))")
        }
        chaos.client.state.withLock { state in
            state.acknowledged[name, default: []].formUnion(transactions.map(\.transactionID))
            state.presented[name, default: []].formUnion(texts)
        }
    }
}
