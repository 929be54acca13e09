import Foundation
import StoreModel
import Testing

/// The parts of the contract that need actions outside the app.
extension StoreConnectionContract {
    var controlled: [Part] {
        let (first, second) = (subscriptions?.first, subscriptions?.second)
        return [
            Part(name: "renewal", body: with(first, controls.advance) { try await verifyRenewal($0, $1) }),
            Part(
                name: "end of renewal",
                body: with(first, controls.cancel, controls.advance) { try await verifyEnd($0, $1, $2) }),
            Part(
                name: "promotional offers",
                body: with(first, promotionalOffer, controls.signOffer) { try await verifyOffer($0, $1, $2) }),
            Part(
                name: "billing failure",
                body: with(second, controls.advance, controls.failBilling, controls.resolveBilling) {
                    try await verifyBilling($0, $1, $2, $3)
                }),
            Part(name: "price increase", body: with(second, controls.raisePrice) { try await verifyPrice($0, $1) }),
            Part(
                name: "offer codes",
                body: with(second, controls.makeOfferCode, controls.cancel, controls.advance) {
                    try await verifyCode($0, $1, $2, $3)
                }),
            Part(
                name: "ask to buy",
                body: with(controls.approve, controls.decline) { try await verifyAskToBuy($0, $1) }),
            Part(
                name: "refund", body: with(controls.refund, controls.reverseRefund) { try await verifyRefund($0, $1) }),
            Part(name: "promoted purchases", body: controls.promote.map { act in { try await verifyPromotion(act) } }),
            Part(
                name: "payments switched off", body: controls.setMayPay.map { set in { try await verifyMayPay(set) } }),
            Part(name: "storefront", body: controls.moveAbroad.map { move in { try await verifyStorefront(move) } }),
        ]
    }

    /// Returns `body` with its arguments; `nil` if one of them is missing.
    private func with<each Need>(
        _ need: repeat (each Need)?, do body: @escaping (repeat each Need) async throws -> Void
    ) -> (() async throws -> Void)? {
        func given<Value>(_ value: Value?) throws -> Value { try #require(value) }
        var isComplete = true
        for isSet in repeat (each need) != nil { isComplete = isComplete && isSet }
        guard isComplete else { return nil }
        return { try await body(repeat try given(each need)) }
    }

    private func verifyRenewal(
        _ subscription: ProductID, _ advance: StoreControls.Action<SubscriptionPeriod>
    ) async throws {
        var device = try await session()
        let bought = try #require(try await device.buy(Payment(id: "contract-10", productID: subscription)))
        try await advance(.months(1))
        let renewal = try #require(try await device.purchase(of: subscription))
        #expect(renewal.id != bought.id)
        #expect(renewal.originalID == bought.originalID, "a renewal belongs to its subscription")
        #expect(renewal.expiresDate ?? .distantPast > bought.expiresDate ?? .distantFuture)
        let restored = try await device.connection.restore().filter { $0.productID == subscription }
        #expect(restored.map(\.originalID) == [bought.originalID], "a subscription is restored once")
        await device.connection.close()
    }

    private func verifyEnd(
        _ subscription: ProductID, _ cancel: StoreControls.Action<ProductID>,
        _ advance: StoreControls.Action<SubscriptionPeriod>
    ) async throws {
        var device = try await session()
        try await cancel(subscription)
        let changed = await device.next {
            if case .renewalChanged = $0.state { $0.productID == subscription } else { false }
        }
        #expect(changed?.paymentID == nil)
        #expect(changed?.transaction?.signedRenewalInfo?.isEmpty == false)
        #expect(try await owns(subscription, device), "a cancelled subscription lasts until the end of the paid period")
        try await advance(.months(2))
        #expect(try await !owns(subscription, device))
        await device.connection.close()
    }

    private func verifyOffer(
        _ subscription: ProductID, _ offer: String,
        _ sign: @Sendable (ProductID, String, UUID?) async throws -> OfferSignature
    ) async throws {
        var device = try await session()
        let customer = UUID(uuid: (7, 7, 7, 7, 7, 7, 0x47, 7, 0x87, 7, 7, 7, 7, 7, 7, 7))
        let unknown = "no such offer"
        var payment = Payment(
            id: "contract-20", productID: subscription, appAccountToken: customer,
            offer: .promotional(unknown, signature: try await sign(subscription, unknown, customer)))
        try await device.connection.add(payment)
        #expect(await device.failure(for: payment.id)?.code == .invalidOffer)
        let signature = try await sign(subscription, offer, customer)
        var forged = signature
        forged.signature[forged.signature.count - 1] ^= 1
        (payment.id, payment.offer) = ("contract-21", .promotional(offer, signature: forged))
        try await device.connection.add(payment)
        #expect(await device.failure(for: payment.id)?.code == .invalidOfferSignature)
        (payment.id, payment.offer) = ("contract-22", .promotional(offer, signature: signature))
        let bought = try #require(try await device.buy(payment))
        #expect(bought.offer?.id == offer)
        #expect(bought.offer?.type == .promotional)
        #expect(bought.appAccountToken == customer)
        await device.connection.close()
    }

    private func verifyBilling(
        _ subscription: ProductID, _ advance: StoreControls.Action<SubscriptionPeriod>,
        _ fail: StoreControls.Action<ProductID>, _ resolve: StoreControls.Action<ProductID>
    ) async throws {
        var device = try await session()
        let bought = try #require(try await device.buy(Payment(id: "contract-30", productID: subscription)))
        try await fail(subscription)
        try await advance(.months(1))
        let changed = await device.next { $0.productID == subscription }
        #expect(changed?.transaction?.id == bought.id, "a failed billing has no new transaction")
        if case .renewalChanged? = changed?.state {} else { Issue.record("not a changed renewal: \(changed as Any)") }
        try await resolve(subscription)
        let recovered = try #require(try await device.purchase(of: subscription))
        #expect(recovered.originalID == bought.originalID)
        await device.connection.close()
    }

    /// Uses the subscription that `verifyBilling` left active, or buys one.
    private func verifyPrice(_ subscription: ProductID, _ raise: StoreControls.Action<ProductID>) async throws {
        var device = try await session()
        if try await !owns(subscription, device) {
            _ = try #require(try await device.buy(Payment(id: "contract-40", productID: subscription)))
        }
        var messages = device.connection.messages.makeAsyncIterator()
        try await raise(subscription)
        var message: StoreMessage?
        while message == nil, let open = await messages.next() {
            message = open.first { $0.reason == .priceIncreaseConsent && $0.productID == subscription }
        }
        let asked = try #require(message, "the customer was not asked")
        try await device.connection.answer(asked.id, with: .accept)
        var isOpen = true
        while isOpen, let open = await messages.next() { isOpen = open.contains { $0.id == asked.id } }
        #expect(!isOpen, "an answered message is closed")
        await #expect(throws: StoreFailure.self) { try await device.connection.answer(asked.id, with: .accept) }
        await device.connection.close()
    }

    /// Redeems the code without an active subscription, because for a subscriber the offer begins at the end of the
    /// period.
    private func verifyCode(
        _ subscription: ProductID, _ makeCode: @Sendable (ProductID) async throws -> String,
        _ cancel: StoreControls.Action<ProductID>, _ advance: StoreControls.Action<SubscriptionPeriod>
    ) async throws {
        var device = try await session()
        if try await owns(subscription, device) {
            try await cancel(subscription)
            try await advance(.months(2))
        }
        let code = try await makeCode(subscription)
        await #expect(throws: StoreFailure(code: .invalidCode, reason: "")) {
            do {
                try await device.connection.redeem(OfferCodeRedemption(code: "no such code"))
            } catch let failure as StoreFailure {
                throw StoreFailure(code: failure.code, reason: "")
            }
        }
        try await device.connection.redeem(OfferCodeRedemption(code: code))
        let redeemed = try #require(try await device.purchase(of: subscription))
        #expect(redeemed.offer?.type == .offerCode)
        await #expect(throws: StoreFailure.self, "a code can be redeemed once") {
            try await device.connection.redeem(OfferCodeRedemption(code: code))
        }
        await device.connection.close()
    }

    /// Verifies payments that are approved while the app runs, approved while it does not run, and declined.
    private func verifyAskToBuy(
        _ approve: StoreControls.Action<Payment>, _ decline: StoreControls.Action<Payment>
    ) async throws {
        func payment(_ id: PaymentID) -> Payment { Payment(id: id, productID: coins, simulatesAskToBuy: true) }
        var device = try await session()
        for id in ["contract-50", "contract-51", "contract-52"] as [PaymentID] {
            try await device.connection.add(payment(id))
            #expect(await device.next { $0.paymentID == id }?.state == .deferred)
        }
        try await approve(payment("contract-50"))
        let approved = try #require(await device.purchase(for: "contract-50"))
        try await device.connection.finish(approved.transaction.id)
        try await decline(payment("contract-51"))
        #expect(await device.failure(for: "contract-51")?.code == .declined)
        await device.connection.close()

        try await approve(payment("contract-52"))
        var later = try await session()
        let update = try #require(await later.next { $0.productID == coins })
        let transaction = try #require(update.transaction, "an approval is reported at the next launch")
        #expect(transaction.id != approved.transaction.id)
        try await later.connection.finish(transaction.id)
        await later.connection.close()
    }

    private func verifyRefund(
        _ refund: StoreControls.Action<TransactionID>, _ reverse: StoreControls.Action<TransactionID>
    ) async throws {
        var device = try await session()
        let owned = try #require(try await device.connection.restore().first { $0.productID == pack })
        try await refund(owned.id)
        let revoked = await device.next {
            if case .revoked = $0.state { $0.transaction?.id == owned.id } else { false }
        }
        #expect(revoked?.transaction?.revocationDate != nil)
        #expect(try await !owns(pack, device), "a refunded purchase is not owned")
        try await device.connection.finish(owned.id)
        try await reverse(owned.id)
        let restored = await device.next { $0.transaction?.id == owned.id }
        #expect(restored?.transaction?.revocationDate == nil)
        #expect(try await owns(pack, device))
        try await device.connection.finish(owned.id)
        await device.connection.close()
    }

    /// Verifies promoted purchases that begin while the app runs and while it does not. Of two devices that run, one
    /// receives the purchase.
    private func verifyPromotion(_ promote: StoreControls.Action<ProductID>) async throws {
        let devices = [try await session(), try await session()]
        try await promote(coins)
        let received = await withTaskGroup(of: PromotedPurchase?.self) { group in
            for device in devices {
                group.addTask { [connection = device.connection] in
                    for await promoted in connection.promotedPurchases { return promoted }
                    return nil
                }
            }
            let first = await group.next() ?? nil
            for device in devices { await device.connection.close() }
            return [first] + (await group.reduce(into: []) { $0.append($1) })
        }
        #expect(received == [PromotedPurchase(productID: coins), nil], "one device receives the purchase")

        try await promote(pack)
        let later = try await session()
        var promoted = later.connection.promotedPurchases.makeAsyncIterator()
        #expect(
            await promoted.next() == PromotedPurchase(productID: pack), "the purchase is reported at the next launch")
        await later.connection.close()
        #expect(await promoted.next() == nil, "the purchase is reported once")
    }

    private func verifyMayPay(_ set: StoreControls.Action<Bool>) async throws {
        try await set(false)
        var device = try await session()
        #expect(try await !device.connection.canMakePayments())
        try await device.connection.add(Payment(id: "contract-60", productID: coins))
        #expect(await device.failure(for: "contract-60")?.code == .notAllowed)
        await device.connection.close()
        try await set(true)
    }

    private func verifyStorefront(_ move: @Sendable () async throws -> Storefront) async throws {
        let connection = try await connect()
        let home = try await connection.storefront()
        let before = try await connection.products([pack])
        var updates = connection.storefrontUpdates.makeAsyncIterator()
        #expect(await updates.next() == home)
        let abroad = try await move()
        #expect(abroad.id != home.id)
        #expect(await updates.next() == abroad, "a change is reported without a request")
        #expect(try await connection.storefront() == abroad)
        #expect(try await connection.products([pack]) != before, "prices are those of the storefront")
        await connection.close()
    }

    private func owns(_ product: ProductID, _ device: Session) async throws -> Bool {
        try await device.connection.restore().contains { $0.productID == product }
    }
}
