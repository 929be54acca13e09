import Foundation
import SignedData
import SimulatorControl
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Waiting orders, offer codes, and offers in payments.
@Suite(.timeLimit(.minutes(2)))
struct OrderTests {
    @Test func `a purchase that waits for approval is approved after a restart, under its reserved id`() async throws {
        let folder = try ScratchFolder()
        var device: DeviceID = "none"
        var order: TransactionID = "none"
        try await TestStore.withScript(in: folder) { test in
            let phone = try await Listener(test)
            device = phone.device
            try await test.store.add(
                Payment(id: "p", productID: "coins", quantity: 3, simulatesAskToBuy: true), from: device)
            #expect(try await phone.receive().map(\.state) == ["deferred"])
            try await test.store.add(Payment(id: "p", productID: "coins", quantity: 3), from: device)
            let again = try await phone.receive()
            #expect(again.map(\.state) == ["deferred"] && again.first?.paymentID == "p")
            let pending = try test.store.pendingOrders()
            #expect(pending.map(\.state) == ["deferred"] && pending.map(\.quantity) == [3])
            #expect(pending.map(\.account) == ["anna"] && pending.first?.orderedAt == Fixtures.start)
            order = try #require(pending.first?.transactionID)
            #expect(try await test.store.transactions(of: "anna").isEmpty)
        }
        try await TestStore.withScript(in: folder) { test in
            await test.fails(.notPending) { try await test.store.resolveInterruption(order) }
            let approved = try await test.store.answerAskToBuy(order, .approve)
            #expect(approved.transactionID == order && approved.state == "purchased")
            #expect(try test.payload(approved.signedTransaction).quantity == 3)
            let reported = try await test.store.updates(for: device, after: nil).updates
            #expect(reported.last?.paymentID == "p" && reported.last?.transaction?.id == order)
            #expect(try test.store.pendingOrders().isEmpty)
            await test.fails(.notPending) { try await test.store.answerAskToBuy(order, .approve) }
            try await test.store.add(Payment(id: "p", productID: "coins", quantity: 3), from: device)
            #expect(try await test.store.transactions(of: "anna").count == 1)
        }
    }

    @Test func `a declined purchase fails`() async throws {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            let tablet = try await Listener(test)
            try await test.store.add(
                Payment(id: "p", productID: "plain", simulatesAskToBuy: true), from: phone.device)
            _ = try await phone.receive()
            try await test.store.add(Payment(id: "p", productID: "plain"), from: tablet.device)
            #expect(try await tablet.receive().map(\.state) == ["deferred"])
            let order = try #require(try test.store.pendingOrders(of: "anna").first)
            let declined = try await test.store.answerAskToBuy(order.transactionID, .decline)
            #expect(declined.state == "declined" && declined.signedTransaction.isEmpty)
            let reported = try await tablet.receive()
            #expect(reported.map(\.state) == ["failed"] && reported.first?.paymentID == "p")
            #expect(reported.first?.failure?.code == .declined)
            #expect(try await test.store.transactions(of: "anna").isEmpty)
            await test.fails(.unknownAccount) { try test.store.pendingOrders(of: "nobody") }
        }
    }

    @Test func `an order for a device is a payment of that device, with the same payment ids in equal stores`()
        async throws
    {
        var payments: [[PaymentID?]] = []
        for _ in 1...2 {
            try await TestStore.withScript { test in
                let phone = try await Listener(test), tablet = try await Listener(test, "bob")
                func buy(_ product: ProductID, asks: Bool = false) async throws -> StoreControlWire.Transaction {
                    try await test.store.buy(
                        .init(productID: product, simulatesAskToBuy: asks, deviceID: phone.device.rawValue),
                        for: "anna")
                }
                let sold = try await buy("coins"), waiting = try await buy("coins", asks: true)
                #expect(sold.state == "purchased" && waiting.state == "deferred")
                try await test.store.setWithdrawn("pack", true)
                await test.fails(.productUnavailable) { _ = try await buy("pack") }
                let updates = try await phone.receive()
                #expect(updates.map(\.state).sorted() == ["deferred", "failed", "purchased"])
                #expect(Set(updates.map(\.paymentID)).count == 3 && !updates.contains { $0.paymentID == nil })
                payments.append(updates.map(\.paymentID))
                let approved = try await test.store.answerAskToBuy(waiting.transactionID, .approve)
                #expect(approved.transactionID == waiting.transactionID && approved.transactionID != sold.transactionID)
                #expect(try await phone.receive().map(\.transaction?.id) == [waiting.transactionID])
                for device in [tablet.device.rawValue, "none"] {
                    await test.fails(.unknownDevice) {
                        try await test.store.buy(.init(productID: "coins", deviceID: device), for: "anna")
                    }
                }
                try await test.store.set(.errors(.purchase), to: "networkError")
                await test.fails(.unreachable) { _ = try await buy("coins") }
                #expect(try await test.store.transactions(of: "anna").count == 2)
                #expect(try await test.store.buy("coins", for: "anna").state == "purchased")
            }
        }
        #expect(payments[0] == payments[1])
    }

    @Test func `a purchase without the introductory offer has no offer, and the account stays eligible`() async throws {
        try await TestStore.with { test in
            let client = StoreRoutesTests.Client(test)
            _ = try await client.ask(.post, "/control/v1/accounts", #"{"name":"anna"}"#)
            func buy(_ more: String = "") async throws {
                let (status, json) = try await client.ask(
                    .post, "/control/v1/accounts/anna/buy", #"{"productID":"monthly"\#(more)}"#)
                #expect(status == 200, "\(json)")
            }
            try await buy(#","allowsIntroductoryOffer":false"#)
            let first = try #require(try await test.payloads().first)
            #expect(first.offerType == nil && first.offerIdentifier == nil && first.offerDiscountType == nil)
            #expect(first.price == 4990)
            #expect(first.expiresDate == Fixtures.date("2026-02-28T10:00:00Z"))
            try await test.advance(.months(1))
            #expect(try await test.payloads().map(\.price) == [4990, 4990])
            _ = try await test.store.cancel("monthly", for: "anna")
            try await test.advance(.months(2))

            // The offer was not used, so the account gets it when it subscribes again.
            try await buy()
            let again = try #require(try await test.payloads().last)
            #expect(again.offerDiscountType == .freeTrial && again.price == 0)
            _ = try await test.store.expire("monthly", for: "anna")
            try await buy(#","allowsIntroductoryOffer":true"#)
            let last = try #require(try await test.payloads().last)
            #expect(
                last.offerType == nil && last.price == 4990, "An account that has used the offer must not get it again."
            )
        }
    }

    @Test func `a purchase that waits for approval is still sold without its introductory offer`() async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            let waiting = try await test.store.buy(
                "monthly", for: "anna", allowsIntroductoryOffer: false, simulatesAskToBuy: true)
            let sold = try await test.store.answerAskToBuy(waiting.transactionID, approving: true)
            #expect(try test.payload(sold.signedTransaction).price == 4990)
            #expect(try test.payload(sold.signedTransaction).offerType == nil)
        }
    }

    @Test func `withdrawn products are listed with the prices of a storefront`() async throws {
        try await TestStore.with { test in
            #expect(try test.store.withdrawnProducts().isEmpty)
            try await test.store.setWithdrawn("pack", true)
            try await test.store.setWithdrawn("weekly", true)
            let client = StoreRoutesTests.Client(test)
            let answer = try await client.ask(.get, "/control/v1/withdrawn-products?storefront=DEU").json
            #expect(answer["products"]?.arrayValue?.compactMap { $0["id"]?.stringValue } == ["pack", "weekly"])
            #expect(answer["products"]?[0]?["price"]?["currency"] == "EUR")
            await test.fails(.unknownStorefront) { _ = try test.store.withdrawnProducts(storefront: "XXX") }
            try await test.store.setWithdrawn("pack", false)
            #expect(try test.store.withdrawnProducts().map(\.id) == ["weekly"])
        }
    }

    @Test func `an order without a device waits too, and is reported only after it is sold`() async throws {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            let waiting = try await test.store.buy(.init(productID: "plain", simulatesAskToBuy: true), for: "anna")
            #expect(waiting.state == "deferred" && waiting.signedTransaction.isEmpty)
            #expect(try await phone.receive().isEmpty)
            let sold = try await test.store.answerAskToBuy(waiting.transactionID, .approve)
            #expect(sold.transactionID == waiting.transactionID && sold.state == "purchased")
            #expect(try await phone.receive().map(\.transaction?.id) == [sold.transactionID])
            let owned = try await test.store.buy(.init(productID: "plain", simulatesAskToBuy: true), for: "anna")
            #expect(owned.state == "purchased" && owned.transactionID == sold.transactionID)
            await test.fails(.invalidProduct) {
                try await test.store.buy(.init(productID: "nothing", simulatesAskToBuy: true), for: "anna")
            }
            #expect(try test.store.pendingOrders().isEmpty)
        }
    }

    @Test func `an approval after the withdrawal of the product fails, and the device gets the failure`() async throws {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            try await test.store.add(
                Payment(id: "p", productID: "coins", simulatesAskToBuy: true), from: phone.device)
            _ = try await phone.receive()
            let order = try #require(try test.store.pendingOrders().first)
            try await test.store.setWithdrawn("coins", true)
            await test.fails(.productUnavailable) {
                try await test.store.answerAskToBuy(order.transactionID, .approve)
            }
            let reported = try await phone.receive()
            #expect(reported.map(\.failure?.code) == [.productUnavailable] && reported.first?.paymentID == "p")
            #expect(try test.store.pendingOrders().isEmpty)
        }
    }

    @Test func `an interrupted purchase fails, and is reported without its payment after it is resolved`() async throws
    {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            _ = try await test.store.set(.interruptedPurchases, to: true)
            try await test.store.add(Payment(id: "p", productID: "pack"), from: phone.device)
            let failed = try await phone.receive()
            #expect(failed.map(\.failure?.code) == [.cancelled] && failed.first?.paymentID == "p")
            let order = try #require(try test.store.pendingOrders().first)
            #expect(order.state == "interrupted")
            await test.fails(.notPending) { try await test.store.answerAskToBuy(order.transactionID, .approve) }
            let sold = try await test.store.resolveInterruption(order.transactionID)
            #expect(sold.transactionID == order.transactionID)
            let reported = try await phone.receive()
            #expect(reported.map(\.state) == ["purchased"] && reported.first?.paymentID == nil)
            #expect(reported.first?.transaction?.id == order.transactionID)
            let byHand = try await test.buy("coins")
            #expect(byHand.state == "interrupted")
        }
    }

    @Test func `an account's own Ask to Buy setting overrides the store's`() async throws {
        try await TestStore.withScript { test in
            for name: AccountName in ["anna", "bob", "eve"] { try await test.store.createAccount(name) }
            for (name, asks) in [("bob", true), ("eve", false)] as [(AccountName, Bool)] {
                try await test.store.recordEvent({ try $0.existingAccount(name) }) { event in
                    var account = event.account
                    account.asksToBuy = asks
                    try event.db.save(account)
                }
            }
            #expect(try await test.buy("coins", "anna").state == "purchased")
            #expect(try await test.buy("coins", "bob").state == "deferred")
            _ = try await test.store.set(.askToBuy, to: true)
            #expect(try await test.buy("coins", "anna").state == "deferred")
            #expect(try await test.buy("coins", "eve").state == "purchased")
        }
    }

    @Test func `a redeemed code is reported to the device, without a payment`() async throws {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            let token = UUID()
            try await test.store.redeem(OfferCodeRedemption(code: "hello", appAccountToken: token), from: phone.device)
            let reported = try await phone.receive()
            #expect(reported.map(\.state) == ["purchased"] && reported.first?.paymentID == nil)
            let transaction = try #require(reported.first?.transaction)
            #expect(transaction.productID == "basic" && transaction.appAccountToken == token)
            #expect(transaction.offer?.id == "hello" && transaction.offer?.type == .init(rawValue: 3))
            try await phone.finish(transaction.id)
            let kept = try await test.store.redeem(.init(code: "stay"), for: "anna")
            #expect(kept.transactionID == transaction.id)
            #expect(try await phone.receive().map(\.state) == ["renewalChanged"])
            try await test.advance(to: "04-01")
            #expect(try await test.payloads().map(\.offerIdentifier) == ["hello", "hello", "stay"])
        }
    }

    @Test func `an unknown, ambiguous or ineligible code is refused`() async throws {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            for code in ["", "nothing", "basic:nothing", "spring", "half"] {
                await test.fails(.invalidCode) { try await test.store.redeem(.init(code: code), for: "anna") }
            }
            await test.fails(.invalidCode) {
                try await test.store.redeem(.init(code: "hello", productID: "plain"), for: "anna")
            }
            await test.fails(.invalidCode) { try await test.store.redeem(OfferCodeRedemption(), from: phone.device) }
            await test.fails(.ineligibleForOffer) {
                try await test.store.redeem(OfferCodeRedemption(code: "return"), from: phone.device)
            }
            await test.fails(.unknownAccount) { try await test.store.redeem(.init(code: "hello"), for: "nobody") }
            #expect(try await phone.receive().isEmpty)
            let named = try await test.store.redeem(.init(code: "plain:spring"), for: "anna")
            #expect(named.productID == "plain")
            let chosen = try await test.store.redeem(.init(code: "spring", productID: "basic"), for: "anna")
            #expect(chosen.productID == "basic")
        }
    }

    @Test func `a payment can name the kind of its offer`() async throws {
        try await TestStore.withScript { test in
            let phone = try await Listener(test)
            func pay(_ id: PaymentID, _ offer: PaymentOffer) async throws -> StoreWire.Update {
                try await test.store.add(Payment(id: id, productID: "basic", offer: offer), from: phone.device)
                return try #require(try await phone.receive().first { $0.paymentID == id })
            }
            let early = try await pay("a", PaymentOffer(kind: .promotional, id: "half"))
            #expect(early.failure?.code == .ineligibleForOffer)
            try await test.buy("basic")
            #expect(try await pay("b", .winBack("back")).failure?.code == .ineligibleForOffer)
            #expect(try await pay("c", .winBack("half")).failure?.code == .invalidOffer)
            let odd = PaymentOffer(kind: .init(rawValue: "odd"), id: "half")
            #expect(try await pay("d", odd).failure?.code == .invalidOffer)
            #expect(try await pay("e", PaymentOffer(kind: .promotional, id: "gift")).alreadyOwned == true)
            try await test.store.expire("basic", for: "anna")
            let back = try await pay("f", .winBack("back"))
            #expect(back.transaction?.offer?.type == .init(rawValue: 4) && back.transaction?.offer?.id == "back")
        }
    }
}
