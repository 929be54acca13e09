import Foundation
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The members of the store's documents and their types. They are Apple's, as far as Apple documents them.
struct MembersTests {
    /// The members of every transaction.
    private static let always: Set<String> = [
        "transactionId", "originalTransactionId", "bundleId", "productId", "purchaseDate", "originalPurchaseDate",
        "quantity", "type", "inAppOwnershipType", "signedDate", "environment", "transactionReason", "storefront",
        "storefrontId", "price", "currency", "appTransactionId",
    ]
    private static let ofSubscriptions: Set<String> = [
        "isUpgraded", "billingPlanType",
        "webOrderLineItemId", "subscriptionGroupIdentifier", "expiresDate",
    ]
    private static let renewal: Set<String> = [
        "originalTransactionId", "productId", "autoRenewProductId", "autoRenewStatus", "signedDate", "environment",
        "recentSubscriptionStartDate", "renewalDate", "renewalPrice", "currency", "appTransactionId",
        "renewalBillingPlanType",
    ]

    private static func members(_ jws: String?) throws -> [String: JSONValue] {
        try WholeLifeTests.payload(of: .init(event: "", jws: try #require(jws)))
    }

    private static let kinds: [(product: String, more: Set<String>)] = [
        ("coins", []), ("pack", []), ("pass", []), ("weekly", ofSubscriptions),
        ("monthly", ofSubscriptions.union(["offerType", "offerDiscountType", "offerPeriod"])),
    ]

    @Test(arguments: kinds)
    func `a purchase has the members of its type and no others`(product: String, more: Set<String>) async throws {
        try await TestStore.with { test in
            let bought = try await test.buy(ProductID(unchecked: product))
            #expect(Set(try Self.members(bought.signedTransaction).keys) == Self.always.union(more))
            let token = try await test.buy(ProductID(unchecked: product), "berta", token: UUID())
            #expect(try Self.members(token.signedTransaction)["appAccountToken"] != nil)
        }
    }

    @Test
    func `a renewal and an upgrade keep the set of members, a cancellation in billing retry and a refund change it`()
        async throws
    {
        try await TestStore.with { test in
            func latest() async throws -> (sale: Set<String>, renewal: Set<String>) {
                let all = try await test.store.transactions(of: "anna")
                return (
                    Set(try Self.members(all.last?.signedTransaction).keys),
                    Set(try Self.members(all.last?.signedRenewalInfo).keys)
                )
            }
            let plain = Self.always.union(Self.ofSubscriptions)
            try await test.buy("monthly.alt")
            #expect(try await latest() == (plain, Self.renewal))
            try await test.advance(.months(1))
            #expect(try await latest() == (plain, Self.renewal))

            let renewed = try await test.store.transactions(of: "anna").last
            try await test.buy("pro")
            let replaced = try await test.store.transactions(of: "anna").first {
                $0.transactionID == renewed?.transactionID
            }
            #expect(Set(try Self.members(replaced?.signedTransaction).keys) == plain)
            #expect(try Self.members(replaced?.signedTransaction)["isUpgraded"] == true)

            try await test.store.failBilling("pro", for: "anna")
            try await test.advance(.months(1))
            #expect(try await latest().renewal.isSuperset(of: ["isInBillingRetryPeriod"]))
            try await test.store.cancel("pro", for: "anna")
            let ended = try await latest()
            #expect(
                ended.renewal
                    == Self.renewal.subtracting(["renewalPrice", "renewalBillingPlanType"])
                    .union(["expirationIntent", "isInBillingRetryPeriod"]))

            let last = try #require(try await test.store.transactions(of: "anna").last)
            try await test.store.refund(last.transactionID)
            #expect(
                try await latest().sale == plain.union(["revocationDate", "revocationReason", "revocationType"]))
        }
    }

    @Test(.enabled(if: conformance != nil, "SOUK_CONFORMANCE is not set"))
    func `a member has the JSON type that it has in Apple's examples`() async throws {
        let folder = URL(fileURLWithPath: try #require(Self.conformance)).appendingPathComponent("models")
        let catalogue = try Catalogue(parsing: Array(WholeLife.catalogueText.utf8), file: "life.storekit")
        try await TestStore.with(change: { $0.catalogue = catalogue }) { test in
            let life = try await WholeLife.live(in: test.store)
            for (file, documents) in [
                ("signedTransaction.json", life.transactions), ("signedRenewalInfo.json", life.renewals),
            ] {
                let bytes = try Data(contentsOf: folder.appendingPathComponent(file))
                let examples = try #require(try JSONValue(parsing: Array(bytes)).objectValue)
                var compared = Set<String>()
                for document in documents {
                    for (name, value) in try WholeLifeTests.payload(of: document) {
                        guard let example = examples[name] else { continue }
                        compared.insert(name)
                        #expect(
                            Self.kind(value) == Self.kind(example), "after \(document.event): \(name) is \(value)")
                    }
                }
                #expect(compared.count >= 15, "\(file): only \(compared.sorted())")
            }
        }
    }

    private static let conformance = ProcessInfo.processInfo.environment["SOUK_CONFORMANCE"]

    private static func kind(_ value: JSONValue) -> String {
        if value.stringValue != nil { return "text" }
        if value.boolValue != nil { return "truth value" }
        if value.intValue != nil { return "whole number" }
        return value.arrayValue != nil ? "list" : "another"
    }
}
