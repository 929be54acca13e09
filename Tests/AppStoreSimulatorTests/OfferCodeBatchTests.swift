import BaseTestSupport
import Foundation
import Primitives
import SimulatorControl
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Offer codes that a tester creates: custom codes and one-time codes. `paygo` has the offer `spring` in the catalogue.
@Suite(.timeLimit(.minutes(5)))
struct OfferCodeBatchTests {
    private func redeem(_ code: String, _ test: TestStore, _ account: AccountName) async throws
        -> StoreControlWire.Transaction
    {
        if try !test.store.accounts().contains(account) { try await test.store.createAccount(account) }
        return try await test.store.redeem(.init(code: code), for: account)
    }

    private func reason(_ code: String, _ test: TestStore, _ account: AccountName = "anna") async -> String {
        let failure = await #expect(throws: StoreFailure.self) { _ = try await redeem(code, test, account) }
        #expect(failure?.code == .invalidCode)
        return failure?.reason ?? ""
    }

    @Test func `a custom code is used up after its limit, and its offer's identifier is no code then`() async throws {
        try await TestStore.with { test in
            let batch = try await test.store.createOfferCodes(
                .init(productID: "paygo", offerID: "spring", code: "SUMMER", limit: 2))
            #expect(batch.limit == 2 && batch.kind == .custom && batch.code == "SUMMER" && batch.expiresAt == nil)
            #expect(await reason("spring", test).contains("identifier is not one"))
            #expect(await reason("paygo:spring", test).contains("identifier is not one"))
            #expect(await reason("summer", test).contains("no offer code"), "A code is compared by its bytes.")
            #expect(try test.store.offerCodes(for: "anna").isEmpty)
            for account: AccountName in ["anna", "ben"] { _ = try await redeem("SUMMER", test, account) }
            #expect(await reason("SUMMER", test, "carl").contains("redeemed 2 times"))
            let listed = try #require(try test.store.offerCodeBatches(for: "carl").first)
            #expect(listed.redeemed == 2 && listed.state == .unavailable)
            #expect(listed.reason?.contains("used up") == true)
            #expect(try test.store.offerCodeBatches(for: "anna").first?.state == .redeemed)
        }
    }

    @Test func `a code expires at its instant in virtual time`() async throws {
        try await TestStore.with { test in
            let end = Fixtures.start.addingTimeInterval(3600)
            try await test.store.createOfferCodes(
                .init(productID: "paygo", offerID: "spring", code: "HOUR", expiresAt: end))
            _ = try await test.store.advance(.init(seconds: 3599))
            _ = try await redeem("HOUR", test, "anna")
            _ = try await test.store.advance(.init(to: end))
            #expect(await reason("HOUR", test, "ben").contains("expired"))
            #expect(try test.store.offerCodeBatches(for: "ben").first?.reason?.contains("expired") == true)
            await test.fails(.invalidValue) {
                try await test.store.createOfferCodes(
                    .init(productID: "paygo", offerID: "spring", code: "LATE", expiresAt: end))
            }
        }
    }

    @Test func `one-time codes follow from the seed, are redeemed once each, and end after six months`() async throws {
        var codes: [[String]] = []
        for seed: UInt64 in [7, 7, 8] {
            try await TestStore.with(seed: seed) { test in
                let batch = try await test.store.createOfferCodes(
                    .init(productID: "paygo", offerID: "spring", count: 3))
                codes.append(try #require(batch.codes).map(\.code))
                #expect(batch.limit == 3 && batch.code == nil && batch.kind == .oneTime)
                #expect(batch.expiresAt == Fixtures.date("2026-07-31T10:00:00Z"))
                let first = try #require(codes.last?.first)
                _ = try await redeem(first, test, "anna")
                #expect(await reason(first, test, "ben") == "The code was redeemed before.")
                await test.fails(.ineligibleForOffer) { try await redeem(codes[codes.count - 1][1], test, "anna") }
                _ = try await redeem(codes[codes.count - 1][1], test, "ben")
                try await test.store.deactivateOfferCodes(batch.batch)
                #expect(await reason(codes[codes.count - 1][2], test, "carl").contains("deactivated"))
                let all = try test.store.offerCodeBatch(batch.batch)
                #expect(all.redeemed == 2 && all.codes?.map(\.redeemed) == [1, 1, 0] && all.deactivatedAt != nil)
            }
        }
        #expect(codes[0] == codes[1] && Set(codes[0] + codes[2]).count == 6)
        #expect(codes[0].allSatisfy { CodeBatch.isValid($0) && $0.count == 16 })
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `accounts that redeem codes at once never exceed the limits`(seed: UInt64) async throws {
        try await TestStore.with(seed: seed) { test in
            let limit = 5
            try await test.store.createOfferCodes(
                .init(productID: "coins", offerID: "start", code: "RUSH", limit: limit, price: "0"))
            let oneTime = try await test.store.createOfferCodes(
                .init(productID: "paygo", offerID: "spring", count: 1))
            let single = try #require(oneTime.codes?.first?.code)
            let accounts = (0..<24).map { AccountName(unchecked: "account-\($0)") }
            for account in accounts { try await test.store.createAccount(account) }
            let outcomes = await withTaskGroup(of: (String, Bool).self) { group in
                for account in accounts {
                    for code in ["RUSH", single, "RUSH"] {
                        group.addTask {
                            do {
                                _ = try await test.store.redeem(.init(code: code), for: account)
                                return (code, true)
                            } catch { return (code, false) }
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count { $0.0 == "RUSH" && $0.1 } == limit)
            #expect(outcomes.count { $0.0 == single && $0.1 } == 1)
            let batches = try test.store.offerCodeBatches()
            #expect(batches.map(\.redeemed) == [limit, 1] && batches.map(\.limit) == [limit, 1])
            var coins = 0
            for account in accounts { coins += try await test.payloads(account).count { $0.productId == "coins" } }
            #expect(coins == limit, "Each counted redemption is one sale, and each sale is counted.")
        }
    }

    @Test(arguments: ["coins", "pack", "pass"] as [ProductID])
    func `an offer of a product that does not renew is declared with its code, and its transaction has Apple's fields`(
        product: ProductID
    ) async throws {
        try await TestStore.with { test in
            try await test.store.createOfferCodes(
                .init(productID: product, offerID: "launch", code: "LAUNCH", price: "0.50"))
            let phone = try await Listener(test)
            try await test.store.redeem(OfferCodeRedemption(code: "LAUNCH"), from: phone.device)
            let update = try #require(try await phone.receive().first)
            let offer = try #require(update.transaction?.offer)
            #expect(offer.type == .offerCode && offer.id == "launch" && offer.paymentMode == .oneTime)
            #expect(offer.period == nil)
            let payload = try #require(try await test.payloads().first)
            #expect(payload.offerType == .offerCode && payload.offerIdentifier == "launch")
            #expect(payload.offerDiscountType == .oneTime && payload.offerPeriod == nil)
            #expect(payload.price == 500 && payload.currency == "USD" && payload.productId == product.rawValue)
            await test.fails(.ineligibleForOffer) { try await redeem("LAUNCH", test, "anna") }

            // The price of the product stays, and only a code has the offer.
            try await test.store.createAccount("ben")
            await test.fails(.invalidOffer) {
                try await test.store.buy(.init(productID: product, offerID: "launch"), for: "ben")
            }
            try await test.buy(product, "ben")
            let bought = try #require(try await test.payloads("ben").first)
            #expect(bought.price ?? 0 > 500 && bought.offerType == nil)

            // The offer is kept, with its terms.
            try await test.store.createOfferCodes(.init(productID: product, offerID: "launch", count: 2))
            await test.fails(.invalidValue) {
                try await test.store.createOfferCodes(
                    .init(productID: product, offerID: "launch", code: "OTHER", price: "0.49"))
            }
        }
    }

    @Test func `a refund does not give the code back`() async throws {
        try await TestStore.with { test in
            try await test.store.createOfferCodes(
                .init(productID: "pack", offerID: "launch", code: "ONE", limit: 1, price: "0"))
            let sold = try await redeem("ONE", test, "anna")
            try await test.store.refund(sold.transactionID, .init())
            await test.fails(.invalidCode) { try await redeem("ONE", test, "anna") }
            try await test.store.createOfferCodes(.init(productID: "pack", offerID: "launch", code: "TWO"))
            await test.fails(.ineligibleForOffer) { try await redeem("TWO", test, "anna") }
            #expect(try test.store.offerCodeBatches().map(\.redeemed) == [1, 0])
        }
    }

    @Test func `a refused redemption uses no code up`() async throws {
        try await TestStore.with { test in
            try await test.store.createOfferCodes(
                .init(productID: "pack", offerID: "launch", code: "ONE", limit: 1, price: "0"))
            try await test.buy("pack", "anna")
            await test.fails(.ineligibleForOffer) { try await redeem("ONE", test, "anna") }
            try await test.store.createAccount("ben")
            try await test.store.change("ben", .init(canMakePayments: false))
            await test.fails(.notAllowed) { try await redeem("ONE", test, "ben") }
            await test.fails(.invalidCode) {
                try await test.store.redeem(.init(code: "ONE", productID: "coins"), for: "anna")
            }
            #expect(try test.store.offerCodeBatches().map(\.redeemed) == [0])
            #expect(try test.store.offerCodeBatches(for: "ben").first?.state == .unavailable)
            _ = try await redeem("ONE", test, "carl")
        }
    }

    @Test func `an offer can be for customers who never paid, paid lately, or paid thirty days ago`() async throws {
        try await TestStore.with { test in
            for (name, customer) in [
                ("NEW", StoreControlWire.PurchaseCustomer.nonSpender), ("ACTIVE", .activeSpender),
                ("LAPSED", .churnedSpender),
            ] {
                try await test.store.createOfferCodes(
                    .init(
                        productID: "coins", offerID: name.lowercased(), code: name, price: "0", customers: [customer]))
            }
            for account: AccountName in ["anna", "ben", "carl"] { try await test.store.createAccount(account) }
            await test.fails(.ineligibleForOffer) { try await redeem("ACTIVE", test, "anna") }
            _ = try await redeem("NEW", test, "anna")
            await test.fails(.ineligibleForOffer) { try await redeem("ACTIVE", test, "anna") }

            try await test.buy("pass", "ben")
            try await test.buy("pass", "carl")
            await test.fails(.ineligibleForOffer) { try await redeem("NEW", test, "ben") }
            _ = try await test.store.advance(.init(seconds: 30 * 86400 - 60))
            await test.fails(.ineligibleForOffer) { try await redeem("LAPSED", test, "ben") }
            _ = try await redeem("ACTIVE", test, "ben")
            _ = try await test.store.advance(.init(seconds: 60))
            await test.fails(.ineligibleForOffer) { try await redeem("ACTIVE", test, "carl") }
            _ = try await redeem("LAPSED", test, "carl")
        }
    }

    @Test func `codes and their redemptions are kept and exported, and an import with too many is refused`()
        async throws
    {
        let folder = try ScratchFolder()
        var state: JSONValue = .null
        try await TestStore.with(in: folder) { test in
            try await test.store.createOfferCodes(
                .init(productID: "coins", offerID: "launch", code: "ONE", limit: 1, price: "0"))
            _ = try await redeem("ONE", test, "anna")
        }
        try await TestStore.with(in: folder) { test in
            await test.fails(.invalidCode) { try await redeem("ONE", test, "ben") }
            state = try await test.store.exportState()
        }
        try await TestStore.with { test in
            try await test.store.importState(state)
            await test.fails(.invalidCode) { try await redeem("ONE", test, "ben") }
            await test.fails(.ineligibleForOffer) { try await redeemAgain(test) }
            for (column, value) in [("redeemed", 2), ("redeemed", -1), ("code", "no code")] as [(String, JSONValue)] {
                var rows = try #require(state["tables"]?["offer_code"]?.arrayValue)
                rows[0][column] = value
                var tables = try #require(state["tables"])
                tables["offer_code"] = .array(rows)
                var changed = state
                changed["tables"] = tables
                await test.fails(.invalidValue) { try await test.store.importState(changed) }
            }
        }
    }

    private func redeemAgain(_ test: TestStore) async throws {
        try await test.store.createOfferCodes(.init(productID: "coins", offerID: "launch", code: "TWO"))
        _ = try await redeem("TWO", test, "anna")
    }

    @Test(
        arguments: [
            (#"{"productID":"nothing","offerID":"x","code":"A"}"#, 404, "unknownProduct"),
            (#"{"productID":"paygo","offerID":"nothing","code":"A"}"#, 422, "invalidValue"),
            (#"{"productID":"paygo","offerID":"spring","code":"A","price":"0"}"#, 422, "invalidValue"),
            (#"{"productID":"paygo","offerID":"spring","count":1,"limit":1}"#, 422, "invalidValue"),
            (
                #"{"productID":"paygo","offerID":"spring","count":1,"expiresAt":"2026-07-31T10:00:01Z"}"#, 422,
                "invalidValue"
            ),
            (
                #"{"productID":"paygo","offerID":"spring","code":"A","expiresAt":"2026-01-31T10:00:00Z"}"#, 422,
                "invalidValue"
            ),
            (
                #"{"productID":"paygo","offerID":"spring","code":"A","expiresAt":"9999-12-31T00:00:00Z"}"#, 422,
                "invalidValue"
            ),
            (#"{"productID":"paygo","offerID":"spring","code":"KEPT"}"#, 422, "invalidValue"),
            (#"{"productID":"coins","offerID":"x","code":"A"}"#, 422, "invalidValue"),
            (#"{"productID":"coins","offerID":"x","code":"A","price":"0.99"}"#, 422, "invalidValue"),
            (#"{"productID":"coins","offerID":"x","code":"A","price":"0","customers":[]}"#, 422, "invalidValue"),
            (#"{"productID":"odd","offerID":"x","code":"A","price":"0"}"#, 422, "invalidValue"),
            (#"{"productID":"paygo","offerID":"spring"}"#, 400, "malformed"),
            (#"{"productID":"paygo","offerID":"spring","code":"A","count":1}"#, 400, "malformed"),
            (#"{"productID":"paygo","offerID":"spring","code":"Ä"}"#, 400, "malformed"),
            (#"{"productID":"paygo","offerID":"spring","code":"A B"}"#, 400, "malformed"),
            (#"{"productID":"paygo","offerID":"spring","code":"A","limit":0}"#, 400, "malformed"),
            (#"{"productID":"paygo","offerID":"spring","code":"A","limit":1000001}"#, 400, "malformed"),
            (#"{"productID":"paygo","offerID":"spring","count":25001}"#, 400, "malformed"),
        ])
    func `codes that App Store Connect does not allow are refused, and nothing is created`(
        body: String, status: Int, code: String
    ) async throws {
        try await TestStore.with { test in
            try await test.store.createOfferCodes(.init(productID: "paygo", offerID: "spring", code: "KEPT"))
            let client = StoreRoutesTests.Client(test)
            let answer = try await client.ask(.post, "/control/v1/offer-code-batches", body)
            #expect(answer.status == status && answer.json["code"]?.stringValue == code, "\(answer.json)")
            #expect(try test.store.offerCodeBatches().map(\.code) == ["KEPT"])
            let state = try await test.store.exportState()
            #expect(state["tables"]?["purchase_offer"]?.arrayValue?.isEmpty == true)
        }
    }

    @Test func `the control API creates, lists, shows and deactivates codes`() async throws {
        try await TestStore.with { test in
            let client = StoreRoutesTests.Client(test)
            let path = "/control/v1/offer-code-batches"
            let made = try await client.ask(
                .post, path, #"{"productID":"paygo","offerID":"spring","count":2}"#,
                as: StoreControlWire.OfferCodeBatch.self)
            #expect(made.codes?.count == 2)
            try await test.store.createAccount("anna")
            let listed = try await client.ask(
                .get, path + "?account=anna", as: StoreControlWire.OfferCodeBatches.self
            ).offerCodeBatches
            #expect(listed.map(\.state) == [.available] && listed.map(\.batch) == [made.batch])
            #expect(listed.first?.codes == nil)
            let shown = try await client.ask(.get, "\(path)/\(made.batch)", as: StoreControlWire.OfferCodeBatch.self)
            #expect(shown == made)
            #expect(try await client.ask(.post, "\(path)/\(made.batch)/deactivate").status == 200)
            #expect(try await client.ask(.get, "\(path)/\(made.batch)").json["deactivatedAt"] != nil)
            for missing in ["2", "0", "-1", "x", "99999999999999999999"] {
                #expect(try await client.ask(.get, "\(path)/\(missing)").json["code"] == "unknownOfferCodes")
                #expect(try await client.ask(.post, "\(path)/\(missing)/deactivate").status == 404)
            }
            #expect(try await client.ask(.get, path + "?account=nobody").status == 404)
        }
    }
}
