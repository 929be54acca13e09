import AppStorePayloads
import Foundation
import Primitives
import StoreModel
import Testing

@Suite struct EntitlementFeatureMapTests {
    @Test func `a map gives a product its features in the order of their names`() throws {
        let map = try FeatureMap(parsing: Array(#"{"features":{"pro":["a","b"],"extra":["a"]},"note":1}"#.utf8))
        #expect(map.features(of: "a", kind: .nonConsumable) == ["extra", "pro"])
        #expect(map.features(of: "b", kind: .consumable) == ["pro"])
        #expect(map.features(of: "c", kind: .nonConsumable) == ["c"])
        #expect(map.features(of: "c", kind: .consumable) == [])
    }

    @Test(arguments: [
        ("[]", ""), ("{}", ""), ("{\"features\":", ""), (#"{"features":[]}"#, "/features"),
        (#"{"features":{"a/b":"x"}}"#, "/features/a~1b"), (#"{"features":{"pro":["a",7]}}"#, "/features/pro/1"),
        (#"{"features":{"pro":[""]}}"#, "/features/pro/0"), (#"{"features":{"pro":["a","a"]}}"#, "/features/pro/1"),
        (#"{"features":{"":["a"]}}"#, "/features/"),
    ])
    func `a fault in a map is named by its pointer`(text: String, pointer: String) {
        let error = #expect(throws: FeatureMapError.self) { try FeatureMap(parsing: Array(text.utf8)) }
        #expect(error?.pointer == pointer)
        #expect(error.map { "\($0)".hasSuffix(".") } == true)
    }
}

@Suite struct EntitlementAttributionTests {
    let anna: CustomerID = "anna"
    let ben: CustomerID = "ben"

    private func holders(
        _ claims: [Attribution.Claim], token: UUID? = nil, tokenOwner: CustomerID? = nil
    ) -> [CustomerID] {
        Attribution.holders(token: token, claims: claims, tokenOwner: tokenOwner.map { .init($0) })
    }

    @Test func `a purchase without a token belongs to the customer of the last accepted claim`() {
        #expect(holders([.init(by: anna), .init(by: ben)]) == [ben])
        #expect(holders([.init(by: anna), .init(by: ben), .init(by: anna)]) == [anna])
        #expect(holders([]) == [])
    }

    @Test func `a shared purchase belongs to all customers who presented it since it last had one owner`() {
        let shared: [Attribution.Claim] = [.init(by: anna, .shared), .init(by: ben, .shared), .init(by: anna, .shared)]
        #expect(holders(shared) == [anna, ben])
        #expect(holders([.init(by: "dora")] + shared) == ["dora", anna, ben])
        #expect(holders(shared + [.init(by: "cleo", .transferred), .init(by: ben, .shared)]) == ["cleo", ben])
        #expect(holders(shared + [.init(by: "cleo")]) == ["cleo"])
        #expect(holders(shared, token: anna.appAccountToken, tokenOwner: anna) == [anna])
    }

    @Test func `the token of a known customer has priority over every claim of others`() {
        let token = anna.appAccountToken
        #expect(holders([.init(by: anna), .init(by: ben)], token: token, tokenOwner: anna) == [anna])
        #expect(holders([], token: token, tokenOwner: anna) == [anna])
        #expect(holders([.init(by: ben)], token: token) == [ben])
        #expect(holders([.init(by: ben)], token: token, tokenOwner: anna) == [anna])
    }

    /// Anyone can compute the UUID of a name and use it as a customer id.
    @Test func `a customer whose id is a name has priority over a customer whose id is the token`() {
        let token = anna.appAccountToken
        let uuidCustomer = CustomerID(unchecked: token.uuidString.lowercased())
        #expect(
            holders([.init(by: uuidCustomer), .init(by: ben)], token: token, tokenOwner: uuidCustomer) == [uuidCustomer]
        )
        #expect(holders([.init(by: anna), .init(by: uuidCustomer)], token: token, tokenOwner: uuidCustomer) == [anna])
        #expect(holders([.init(by: uuidCustomer), .init(by: anna)], token: token, tokenOwner: uuidCustomer) == [anna])
        #expect(
            holders([.init(by: ben, as: anna), .init(by: uuidCustomer)], token: token, tokenOwner: uuidCustomer) == [
                ben
            ])

        func excludes(_ name: CustomerID, _ claims: [Attribution.Claim], _ tokenOwner: CustomerID?) -> Bool? {
            Attribution.excludes(name, as: name, token: token, claims: claims, tokenOwner: tokenOwner.map { .init($0) })
        }
        #expect(excludes(uuidCustomer, [], anna) == true)
        #expect(excludes(uuidCustomer, [.init(by: anna)], nil) == true)
        #expect(excludes(anna, [.init(by: uuidCustomer)], uuidCustomer) == false)
        #expect(excludes(ben, [.init(by: uuidCustomer)], uuidCustomer) == true)
        #expect(excludes(uuidCustomer, [], nil) == nil)
    }

    @Test func `a transfer by an operator has priority over the token`() {
        let given = Attribution.Claim(by: ben, .transferred)
        #expect(holders([.init(by: anna), given], token: anna.appAccountToken, tokenOwner: anna) == [ben])
        #expect(holders([given, .init(by: anna)], token: anna.appAccountToken, tokenOwner: anna) == [ben])
        #expect(holders([.init(by: anna), given]) == [ben])
        #expect(holders([given, .init(by: anna)]) == [anna])
        #expect(Attribution.bound(token: nil, claims: [given], tokenOwner: nil) == nil)
    }

    @Test func `a claim counts for the customer into which its customer was merged`() {
        let merged = Attribution.Claim(by: ben, as: anna)
        #expect(holders([merged], token: anna.appAccountToken) == [ben])
    }

    @Test func `only the token of a known customer excludes others`() {
        #expect(Attribution.bound(token: anna.appAccountToken, claims: [.init(by: ben)], tokenOwner: nil) == nil)
        #expect(Attribution.bound(token: anna.appAccountToken, claims: [], tokenOwner: .init(anna)) == anna)
        #expect(Attribution.bound(token: nil, claims: [.init(by: ben)], tokenOwner: nil) == nil)
    }

    @Test(arguments: [
        (TransferMode.transfer, true, true), (.transfer, false, true), (.share, true, true),
        (.keepWithOriginal, false, false), (.keepWithOriginal, true, false), (.transferIfInactive, true, false),
        (.transferIfInactive, false, true),
    ])
    func `the transfer mode decides whether a second customer may present a purchase`(
        mode: TransferMode, isActive: Bool, isAccepted: Bool
    ) {
        #expect(Attribution.accepts(ben, holders: [anna], mode: mode) { isActive } == isAccepted)
        #expect(Attribution.accepts(anna, holders: [anna], mode: mode) { isActive })
        #expect(Attribution.accepts(anna, holders: [], mode: mode) { isActive })
    }
}

@Suite struct EntitlementFactTests {
    let whole = JWSTransactionDecodedPayload {
        $0.transactionId = "2"
        $0.originalTransactionId = "1"
        $0.bundleId = "com.example"
        $0.productId = "pro"
        $0.subscriptionGroupIdentifier = "g"
        $0.purchaseDate = day(1)
        $0.originalPurchaseDate = day(0)
        $0.expiresDate = day(31)
        $0.quantity = 1
        $0.type = .autoRenewableSubscription
        $0.inAppOwnershipType = .familyShared
        $0.signedDate = day(1)
        $0.offerType = .introductory
        $0.offerDiscountType = .payAsYouGo
        $0.price = 4990
        $0.currency = "USD"
    }

    @Test func `a payload becomes a fact`() throws {
        let fact = try TransactionFact(whole, digest: [7])
        #expect(fact.id == "2" && fact.originalID == "1" && fact.productID == "pro" && fact.digest == [7])
        #expect(fact.kind == .autoRenewableSubscription && fact.isFamilyShared && fact.isIntroductory && !fact.isTrial)
        #expect(fact.price == Price(amount: Decimal(string: "4.99")!, currency: "USD"))
        #expect(!fact.isAssigned && !fact.sharesPeriod)
        var seat = whole
        seat.inAppOwnershipType = .assigned
        seat.additionalTransactionReason = .seatAddition
        let assigned = try TransactionFact(seat, digest: [])
        #expect(assigned.isAssigned && assigned.isFamilyShared && assigned.sharesPeriod)
        var free = whole
        free.offerDiscountType = .freeTrial
        let trial = try TransactionFact(free, digest: [])
        #expect(trial.isTrial && !trial.isIntroductory)
    }

    @Test func `a missing member is named`() {
        let without: [(String, (inout JWSTransactionDecodedPayload) -> Void)] = [
            ("/transactionId", { $0.transactionId = nil }), ("/productId", { $0.productId = "" }),
            ("/purchaseDate", { $0.purchaseDate = nil }), ("/signedDate", { $0.signedDate = nil }),
            ("/type", { $0.type = nil }), ("/expiresDate", { $0.expiresDate = nil }),
            ("/quantity", { $0.quantity = 0 }), ("/quantity", { $0.quantity = 1_000_001 }),
            ("/originalTransactionId", { $0.originalTransactionId = "" }),
        ]
        for (pointer, change) in without {
            var payload = whole
            change(&payload)
            let error = #expect(throws: AppStorePayloadError.self) { try TransactionFact(payload, digest: []) }
            #expect(error?.pointer == pointer)
        }
        #expect(throws: AppStorePayloadError.self) { try RenewalFact(JWSRenewalInfoDecodedPayload(), digest: []) }
    }

    @Test func `a renewal info becomes a fact`() throws {
        let payload = JWSRenewalInfoDecodedPayload {
            $0.originalTransactionId = "1"
            $0.autoRenewProductId = "pro.yearly"
            $0.autoRenewStatus = .off
            $0.isInBillingRetryPeriod = true
            $0.gracePeriodExpiresDate = day(9)
            $0.signedDate = day(3)
        }
        let fact = try RenewalFact(payload, digest: [1])
        #expect(fact.originalID == "1" && fact.autoRenews == false && fact.renewsTo == "pro.yearly")
        #expect(fact.isInBillingRetry && fact.gracePeriodExpiresDate == day(9))
    }

    @Test func `the UUID of a subscription is stable and unique`() {
        let one: TransactionID = "2000000000000001"
        #expect(one.subscriptionUUID == TransactionID("2000000000000001").subscriptionUUID)
        #expect(one.subscriptionUUID != TransactionID("2000000000000002").subscriptionUUID)
        #expect(one.subscriptionUUID != CustomerID("2000000000000001").appAccountToken)
    }
}
