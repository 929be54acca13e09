import Foundation
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Storefronts, payment restrictions and devices of accounts.
struct AccountTests {
    @Test func `an account has the values of its creation and of later changes`() async throws {
        try await TestStore.with { test in
            let store = test.store
            try await store.createAccount("anna")
            #expect(
                try store.account("anna")
                    == .init(
                        name: "anna", storefront: "USA", canMakePayments: true, askToBuy: false,
                        interruptedPurchases: false))
            try await store.createAccount(
                "ben", with: .init(storefront: "DEU", canMakePayments: false, askToBuy: true))
            #expect(
                try store.account("ben")
                    == .init(
                        name: "ben", storefront: "DEU", canMakePayments: false, askToBuy: true,
                        interruptedPurchases: false))
            let changed = try await store.change("ben", .init(canMakePayments: true, interruptedPurchases: true))
            #expect(changed.storefront == "DEU" && changed.canMakePayments == true && changed.askToBuy == true)
            #expect(try store.account("ben") == changed && changed.interruptedPurchases == true)
            #expect(try store.accountList().map(\.name) == ["anna", "ben"])
        }
    }

    @Test func `a duplicate or unknown account, or an unknown country, is refused and changes nothing`() async throws {
        try await TestStore.with { test in
            let store = test.store
            try await store.createAccount("anna")
            await #expect(throws: SimulatorError(.accountExists, "")) { try await store.createAccount("anna") }
            await #expect(throws: SimulatorError(.unknownStorefront, "")) {
                try await store.createAccount("ben", with: .init(storefront: "XXX"))
            }
            #expect(try store.accounts() == ["anna"])
            await #expect(throws: SimulatorError(.unknownStorefront, "")) {
                try await store.change("anna", .init(storefront: "de", canMakePayments: false))
            }
            #expect(try store.account("anna").canMakePayments == true)
            await #expect(throws: SimulatorError(.unknownAccount, "")) {
                try await store.change("nobody", .init(canMakePayments: false))
            }
            #expect(throws: SimulatorError(.unknownAccount, "")) { try store.account("nobody") }
            #expect(throws: SimulatorError(.unknownAccount, "")) { try store.devices(of: "nobody") }
        }
    }

    @Test func `a plan is renewed in the country and currency of the account`() async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna", with: .init(storefront: "DEU"))
            try await test.buy("paygo")
            try await test.buy("pro")
            try await test.store.resume("pro", renewingTo: "yearly", for: "anna")
            try await test.advance(.months(2))
            let renewed = try #require(try await test.payloads().last { $0.productId == "yearly" })
            #expect(renewed.storefront == "DEU" && renewed.currency == "EUR")
        }
    }

    @Test func `a device receives a new storefront at once, and an earlier subscription renews in the old one`()
        async throws
    {
        try await TestStore.with { test in
            let store = test.store
            let device = try await test.device()
            try await test.buy("monthly.alt")
            let first = try await store.updates(for: device, after: nil)
            #expect(first.storefront == Storefronts.usa)
            let japan = try #require(Storefronts.storefront("JPN"))
            async let waiting = store.updates(
                for: device, after: first.cursor, wait: 30, storefront: Storefronts.usa.id)
            try await store.change("anna", .init(storefront: "JPN"))
            #expect(try await waiting.storefront == japan)
            #expect(try store.device(device).storefront == japan)
            let product = try #require(try await store.products(["pack"], for: device).products.first)
            #expect(product.price.currency == "JPY" && product.displayPrice.contains("10"))

            try await test.buy("coins")
            try await test.advance(.months(1))
            let payloads = try await test.payloads()
            #expect(payloads.map(\.productId) == ["monthly.alt", "coins", "monthly.alt"])
            #expect(payloads.map(\.storefront) == ["USA", "JPN", "USA"])
            #expect(payloads.map(\.storefrontId) == [Storefronts.usa.id, japan.id, Storefronts.usa.id])
            #expect(payloads.map(\.currency) == ["USD", "JPY", "USD"])
            try await test.buy("pro")
            let upgraded = try #require(try await test.payloads().last)
            #expect(upgraded.storefront == "JPN" && upgraded.currency == "JPY" && upgraded.price == 9990)
        }
    }

    @Test func `a change of the store's country applies to accounts without a country of their own`() async throws {
        try await TestStore.with { test in
            let store = test.store
            let device = try await test.device()
            try await store.createAccount("ben", with: .init(storefront: "GBR"))
            async let waiting = store.updates(
                for: device, after: "0", wait: 30, storefront: Storefronts.usa.id)
            try await store.set(.storefront, to: "DEU")
            #expect(try await waiting.storefront?.countryCode == "DEU")
            #expect(try store.accountList().map(\.storefront) == ["DEU", "GBR"])
            try await test.buy("pack")
            #expect(try await test.payloads().map(\.currency) == ["EUR"])
        }
    }

    @Test func `an increased price has the same number in the currency of an account`() async throws {
        try await TestStore.with { test in
            let store = test.store
            try await store.createAccount("anna", with: .init(storefront: "DEU"))
            try await test.buy("monthly.alt")
            let price = try #require(Decimal(string: "7.99"))
            try await store.increasePrice(
                of: "monthly.alt", .init(price: "7.99", needsConsent: false))
            try await test.advance(.months(1))
            let payloads = try await test.payloads()
            #expect(payloads.map(\.price) == [5990, 7990] && payloads.map(\.currency) == ["EUR", "EUR"])
            let device = try await test.device()
            let product = try #require(try await store.products(["monthly.alt"], for: device).products.first)
            #expect(product.price == Price(amount: price, currency: "EUR"))
        }
    }

    @Test func `a purchase by an account that may not make payments is refused with the reason`() async throws {
        try await TestStore.with { test in
            let store = test.store
            try await store.createAccount("anna", with: .init(canMakePayments: false))
            let connection = try await store.connection(account: "anna")
            #expect(try await !connection.canMakePayments())
            try await connection.add(Payment(id: "p", productID: "pack"))
            var updates = connection.updates.makeAsyncIterator()
            guard case .failed(let failure) = try #require(await updates.next()).state else {
                Issue.record("the payment did not fail")
                return
            }
            #expect(failure.code == .notAllowed)
            await #expect(throws: StoreFailure(code: .notAllowed, reason: "The account may not make payments.")) {
                try await store.buy(.init(productID: "pack"), for: "anna")
            }
            try await store.change("anna", .init(canMakePayments: true))
            #expect(try await connection.canMakePayments())
            try await test.buy("pack")
            await connection.close()
        }
    }

    @Test func `devices are listed oldest first, until they are signed out`() async throws {
        try await TestStore.with { test in
            let store = test.store
            var devices: [DeviceID] = []
            for _ in 0..<5 { devices.append(try await test.device()) }
            #expect(try store.devices(of: "anna").map(\.deviceID) == devices.map(\.rawValue))
            let gone = devices[1]
            let waiting = Task { try await store.updates(for: gone, after: "0", wait: 30) }
            try await store.signOut(devices[1])
            await #expect(throws: SimulatorError(.unknownDevice, "")) { try await waiting.value }
            #expect(try store.devices(of: "anna").count == 4)
            #expect(throws: SimulatorError(.unknownDevice, "")) { try store.device(devices[1]) }
            await #expect(throws: SimulatorError(.unknownDevice, "")) { try await store.signOut(devices[1]) }
            await #expect(throws: SimulatorError(.unknownDevice, "")) { try await store.receipt(of: devices[1]) }
            #expect(throws: SimulatorError(.unknownDevice, "")) { try store.appTransaction(of: devices[1]) }
            await #expect(throws: SimulatorError(.unknownDevice, "")) {
                try await store.switchAccount(of: devices[1], to: "anna")
            }
            await #expect(throws: SimulatorError(.unknownAccount, "")) {
                try await store.switchAccount(of: devices[0], to: "nobody")
            }
        }
    }

    @Test func `a connection whose device was signed out ends`() async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            let connection = try await test.store.connection(account: "anna")
            try await test.store.signOut(connection.device)
            for await _ in connection.updates {}
            await #expect(throws: StoreFailure.self) { try await connection.storefront() }
        }
    }

    @Test func `a device that moves to another account receives all updates of that account, with any cursor`()
        async throws
    {
        try await TestStore.with { test in
            let store = test.store
            let device = try await test.device("anna")
            try await store.createAccount("ben", with: .init(storefront: "DEU"))
            let early = try await test.buy("coins", "ben")
            try await test.advance(.days(1))
            try await test.buy("pack", "anna")
            let cursor = try await store.updates(for: device, after: nil).cursor
            async let waiting = store.updates(for: device, after: cursor, wait: 30)
            try await store.switchAccount(of: device, to: "ben")
            #expect(try store.device(device).account == "ben")
            let answer = try await waiting
            #expect(answer.updates.map(\.transaction?.id) == [early.transactionID])
            #expect(answer.storefront?.countryCode == "DEU")
            #expect(try await store.updates(for: device, after: cursor).updates == answer.updates)
            #expect(try await store.updates(for: device, after: answer.cursor).updates.isEmpty)
            await #expect(throws: SimulatorError(.unknownTransaction, "")) {
                try await store.finish(test.buy("coins", "anna").transactionID, from: device)
            }
            #expect(try await store.restore(for: device).isEmpty)
            #expect(try store.devices(of: "anna").isEmpty)
            #expect(try store.devices(of: "ben").map(\.deviceID) == [device.rawValue])

            try await store.createAccount("cora")
            async let empty = store.updates(for: device, after: answer.cursor, wait: 30)
            try await store.switchAccount(of: device, to: "cora")
            let nothing = try await empty
            #expect(nothing.updates.isEmpty && nothing.cursor != answer.cursor)
            await #expect(throws: SimulatorError(.invalidValue, "")) {
                try await store.updates(for: device, after: "1.x")
            }
        }
    }
}
