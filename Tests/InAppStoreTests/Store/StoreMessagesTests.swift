import StoreModel
import Testing

@testable import InAppStore

/// The App Store's messages, and offer codes.
@Suite(.timeLimit(.minutes(2)))
struct StoreMessagesTests {
    private let test = StoreTestContext()
    private let rise = StoreMessage(id: "1", reason: .priceIncreaseConsent, productID: "pro.monthly")

    @Test func `each observer receives all open messages`() async throws {
        let store = try await test.open()
        var first = store.messages.makeAsyncIterator()
        test.connection.set(messages: [rise])
        #expect(await first.next() == [rise])
        var second = store.messages.makeAsyncIterator()
        #expect(await second.next() == [rise])
        test.connection.set(messages: [])
        #expect(await first.next() == [])
        await store.close()
    }

    @Test func `an answer reaches the App Store, and its refusal reaches the caller`() async throws {
        let store = try await test.open()
        try await store.answer(rise.id, with: .accept)
        #expect(test.connection.calls.all.contains(.answer("1", .accept)))
        for (failure, code) in [
            (StoreFailure.Code.unsupported, PurchaseError.Code.unsupported), (.unknown, .messageFailed),
            (.unreachable, .messageFailed), (.cancelled, .operationCancelled),
        ] {
            test.connection.before { _ in throw StoreFailure(code: failure, reason: "The store's own words.") }
            let error = await #expect(throws: PurchaseError.self) { try await store.answer("1", with: .show) }
            #expect(error?.code == code && error?.reason == "The store's own words.")
        }
        await store.close()
    }

    @Test func `a code is redeemed for the current customer`() async throws {
        let store = try await test.open()
        try await store.redeemOfferCode("SPRING")
        try await store.redeemOfferCode()
        try await store.logOut()
        try await store.redeemOfferCode("AUTUMN")
        let redeemed: [OfferCodeRedemption] = test.connection.calls.all.compactMap {
            if case .redeem(let redemption) = $0 { redemption } else { nil }
        }
        let anna = CustomerID("anna").appAccountToken
        #expect(
            redeemed == [
                OfferCodeRedemption(code: "SPRING", appAccountToken: anna), OfferCodeRedemption(appAccountToken: anna),
                OfferCodeRedemption(code: "AUTUMN"),
            ])
        await store.close()
    }

    @Test func `a refused code is an error with the App Store's reason`() async throws {
        let store = try await test.open()
        for (failure, code) in [
            (StoreFailure.Code.invalidCode, PurchaseError.Code.codeRedemptionFailed),
            (.ineligibleForOffer, .codeRedemptionFailed), (.missingOfferParameters, .codeRedemptionFailed),
            (.unsupported, .unsupported), (.cancelled, .operationCancelled),
        ] {
            test.connection.before { _ in throw StoreFailure(code: failure, reason: "The store's own words.") }
            let error = await #expect(throws: PurchaseError.self) { try await store.redeemOfferCode("SPRING") }
            #expect(error?.code == code && error?.reason == "The store's own words.")
        }
        await store.close()
        let closed = await #expect(throws: PurchaseError.self) { try await store.redeemOfferCode("SPRING") }
        #expect(closed?.code == .codeRedemptionFailed)
    }
}
