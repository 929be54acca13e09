import Foundation
import Primitives
import StoreModel
import Testing

/// Compares the fast encoding of a customer's answer with `WireJSON`.
@Suite struct CustomerBytesTests {
    private static let day = Date(timeIntervalSince1970: 1_700_000_000.125)

    private static let full = Customer(
        customer: "kunde \"7\" \\ /é\u{1F600}", environment: .sandbox, asOf: day, validUntil: day + 60,
        features: [
            CustomerFeature(
                name: "pro", isActive: true, from: day, until: day + 5, effectiveUntil: day + 6, source: .appStore,
                productID: "a/b", originalTransactionID: "1", because: "active subscription, renews"),
            CustomerFeature(
                name: "gift", isActive: false, from: day, source: .grant, because: "line\nline", grantID: "g"),
        ],
        subscriptions: [
            CustomerSubscription(
                productID: "p", originalTransactionID: "1", groupID: "g", state: .inGracePeriod, startedAt: day,
                expiresAt: day + 1, effectiveUntil: day + 2, autoRenews: false, renewsTo: "q", isTrial: true,
                isIntroductory: true, gracePeriodUntil: day + 3, cancelledAt: day + 4, revokedAt: day + 5,
                price: Price(milliunits: 4990, currency: "USD"), source: .web),
            CustomerSubscription(
                productID: "p", originalTransactionID: "2", state: .active, startedAt: day, expiresAt: day,
                effectiveUntil: day),
        ],
        purchases: [
            CustomerPurchase(
                productID: "c", transactionID: "3", originalTransactionID: "3", kind: .consumable, purchasedAt: day,
                quantity: 7, refundedQuantity: 2, revokedAt: day),
            CustomerPurchase(
                productID: "n", transactionID: "4", originalTransactionID: "4", kind: .nonConsumable, purchasedAt: day),
        ], managementURL: "https://apps.apple.com/account/subscriptions")

    @Test(arguments: [full, Customer(customer: "anna", environment: .production, asOf: day)])
    func `the fast encoding has the same bytes as WireJSON`(customer: Customer) throws {
        #expect(
            String(decoding: customer.wireBytes(), as: UTF8.self)
                == String(decoding: try WireJSON.encode(customer), as: UTF8.self))
        #expect(try WireJSON.decode(Customer.self, from: customer.wireBytes()) == customer)
    }

    @Test func `the content of an answer depends on its members, but not on its instant`() {
        var later = Self.full
        later.asOf += 60
        #expect(later.wireContent() == Self.full.wireContent() && later.wireBytes() != Self.full.wireBytes())
        for change: (inout Customer) -> Void in [
            { $0.validUntil = nil }, { $0.features[0].isActive = false }, { $0.features[1].because = "" },
            { $0.subscriptions[0].price = nil }, { $0.purchases[0].quantity = 8 },
            { $0.purchases[0].refundedQuantity = nil }, { $0.managementURL = nil },
            { $0.subscriptions[1].autoRenews = true }, { $0.customer = "b" },
        ] {
            var other = Self.full
            change(&other)
            #expect(other.wireContent() != Self.full.wireContent())
        }
    }
}
