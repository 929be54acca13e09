import StoreModel
import Testing

@testable import AppStoreSimulator

/// Offer codes. `Fixtures.catalogueText` sells `paygo` with an introductory offer and `spring`, a free month by code.
struct OfferCodeTests {
    @Test func `a customer gets the offer of a code once`() async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            let redeemed = try await test.store.redeem(.init(code: "spring"), for: "anna")
            #expect(redeemed.productID == "paygo")
            await #expect(throws: StoreFailure.self) { try await test.store.redeem(.init(code: "spring"), for: "anna") }
            try await test.advance(.months(1))
            _ = try await test.store.cancel("paygo", for: "anna")
            try await test.advance(.months(2))
            let failure = await #expect(throws: StoreFailure.self, "The code must be refused years later too.") {
                try await test.store.redeem(.init(code: "spring"), for: "anna")
            }
            #expect(failure?.code == .ineligibleForOffer)
            try await test.store.createAccount("ben")
            try await test.store.redeem(.init(code: "spring"), for: "ben")
        }
    }

    @Test func `a code of an active customer is used up before its offer is sold`() async throws {
        try await TestStore.with { test in
            try await test.buy("paygo")
            try await test.store.redeem(.init(code: "spring"), for: "anna")
            #expect(try await test.payloads().count == 1, "The offer must be sold at the next renewal only.")
            await #expect(throws: StoreFailure.self) { try await test.store.redeem(.init(code: "spring"), for: "anna") }
            try await test.advance(.months(4))
            let offers = try await test.payloads().map(\.offerIdentifier)
            #expect(offers.filter { $0 == "spring" }.count == 1)
            await #expect(throws: StoreFailure.self) { try await test.store.redeem(.init(code: "spring"), for: "anna") }
        }
    }
}
