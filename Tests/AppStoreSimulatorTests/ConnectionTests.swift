import Foundation
import HTTPCore
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Connections in the process and over HTTP, which behave alike.
struct ConnectionTests {
    enum Way: CaseIterable { case inProcess, remote }

    private func connect(_ way: Way, _ test: TestStore, _ account: AccountName) async throws -> any StoreConnection {
        switch way {
        case .inProcess: try await test.store.connection(account: account)
        case .remote:
            RemoteStoreConnection(
                configuration: .init(
                    url: "http://store.test", account: account.rawValue,
                    transport: InProcessTransport(test.store.handler)))
        }
    }

    @Test(arguments: Way.allCases)
    func `a purchase is reported with its payment, and not again after it is finished`(way: Way) async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            let connection = try await connect(way, test, "anna")
            #expect(try await connection.canMakePayments())
            #expect(try await connection.storefront() == Storefronts.usa)
            let answer = try await connection.products(["pack", "nothing"])
            #expect(answer.products.map(\.id) == ["pack"] && answer.invalidProductIDs == ["nothing"])
            #expect(try await connection.receipt()?.isEmpty == false)

            try await connection.add(Payment(id: "p", productID: "pack"))
            try await connection.add(Payment(id: "p", productID: "pack"))
            var updates = connection.updates.makeAsyncIterator()
            let update = try #require(await updates.next())
            guard case .purchased(let transaction, alreadyOwned: false) = update.state else {
                Issue.record("\(update)")
                return
            }
            #expect(update.paymentID == "p")
            try await connection.finish(transaction.id)
            await #expect(throws: StoreFailure(code: .init(rawValue: "unknownTransaction"), reason: "")) {
                do { try await connection.finish("7") } catch let failure as StoreFailure {
                    throw StoreFailure(code: failure.code, reason: "")
                }
            }
            try await connection.add(Payment(id: "q", productID: "pack"))
            let again = try #require(await updates.next())
            #expect(again.paymentID == "q" && again.state == .purchased(transaction, alreadyOwned: true))
            try await connection.add(Payment(id: "r", productID: "nothing"))
            let refused = try #require(await updates.next())
            guard case .failed(let failure) = refused.state else {
                Issue.record("\(refused)")
                return
            }
            #expect(refused.paymentID == "r" && failure.code == .invalidProduct)
            #expect(try await connection.restore().map(\.id) == [transaction.id])
            await connection.close()
            #expect(await updates.next() == nil)
        }
    }

    @Test(arguments: Way.allCases)
    func `a device knows whether a group's introductory offer is for its account`(way: Way) async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            let connection = try await connect(way, test, "anna")
            func eligible(_ group: String) async throws -> Bool {
                try await connection.isEligibleForIntroductoryOffer(subscriptionGroupID: group)
            }
            for group in ["plus", "slow"] { #expect(try await eligible(group), "\(group)") }
            for group in ["nothing", "", "a b", "%"] { #expect(try await !eligible(group), "\(group)") }
            try await test.store.buy(.init(productID: "paygo", allowsIntroductoryOffer: false), for: "anna")
            #expect(try await !eligible("slow"), "A subscriber has no introductory offer.")
            try await test.store.expire("paygo", for: "anna")
            #expect(try await eligible("slow"), "The offer was not used.")
            try await test.buy("paygo")
            try await test.store.expire("paygo", for: "anna")
            #expect(try await !eligible("slow"), "The offer was used.")
            #expect(try await eligible("plus"))
            await connection.close()
        }
    }

    @Test(arguments: Way.allCases)
    func `a new connection gets unfinished transactions first`(way: Way) async throws {
        try await TestStore.with { test in
            let bought = try await test.buy("monthly.alt")
            let connection = try await connect(way, test, "anna")
            var updates = connection.updates.makeAsyncIterator()
            let unfinished = try #require(await updates.next())
            guard case .purchased(let transaction, _) = unfinished.state else {
                Issue.record("\(unfinished)")
                return
            }
            #expect(transaction.id == bought.transactionID && unfinished.paymentID == nil)
            try await connection.finish(transaction.id)
            _ = try await test.store.cancel("monthly.alt", for: "anna")
            guard case .renewalChanged(let changed) = try #require(await updates.next()).state else {
                Issue.record("The change of the renewal was not reported.")
                return
            }
            #expect(changed.id == bought.transactionID)
            await connection.close()
        }
    }
}
