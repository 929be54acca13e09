import Foundation
import StoreKitAdapter
import StoreModel

@testable import AppStoreSimulator

/// Every event of purchases, one after another, and every document that the store signs meanwhile.
struct WholeLife {
    /// A signed document, and the event that it follows.
    struct Document: Sendable {
        var event: String
        var jws: String
    }

    private(set) var transactions: [Document] = []
    private(set) var renewals: [Document] = []
    private(set) var appTransactions: [Document] = []

    static let catalogueText = """
        {"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA", "_locale": "en_US"},
         "products": [
           {"productID": "coins", "type": "Consumable", "displayPrice": "0.99"},
           {"productID": "pack", "type": "NonConsumable", "displayPrice": "9.99", "familyShareable": true}],
         "nonRenewingSubscriptions": [{"productID": "pass", "displayPrice": "4.99"}],
         "subscriptionGroups": [
           \(group("trial", #""introductoryOffer": {"paymentMode": "free", "subscriptionPeriod": "P1W"}"#)),
           \(group("paygo", #""introductoryOffer": \#(offer("payAsYouGo", nil))"#)),
           \(group("upfront", #""introductoryOffer": \#(offer("payUpFront", nil))"#)),
           \(group("offers", #""adHocOffers": [\#(offer("payAsYouGo", "promo"))], "codeOffers": [\#(offer("free", "code"))], "#
            + #""winbackOffers": [\#(offer("payUpFront", "back"))]"#)),
           \(group("home", #""familyShareable": true"#)), \(group("week", "", period: "P1W")),
           \(group("club", monthlyPlan, period: "P1Y"))]}
        """

    /// Returns a subscription group of two products: `NAME.1` has a higher level than `NAME.2`.
    private static func group(_ name: String, _ member: String, period: String = "P1M") -> String {
        let products = (1...2).map {
            #"{"productID": "\#(name).\#($0)", "displayPrice": "\#(10 - $0).99", "groupNumber": \#($0), "#
                + #""recurringSubscriptionPeriod": "\#(period)"\#(member.isEmpty ? "" : ", ")\#(member)}"#
        }
        return #"{"id": "\#(name)", "name": "\#(name)", "subscriptions": [\#(products.joined(separator: ", "))]}"#
    }

    private static let monthlyPlan = #""billingPlans": [{"billingPlanType": "MONTHLY", "displayPrice": "0.99"}]"#

    private static func offer(_ mode: String, _ id: String?) -> String {
        let name = id.map { #""offerID": "\#($0)", "# } ?? ""
        return #"{\#(name)"paymentMode": "\#(mode)", "subscriptionPeriod": "P1M", "numberOfPeriods": 2, "#
            + #""displayPrice": "0.49"}"#
    }

    private static let accounts: [AccountName] = ["anna", "berta", "child"]

    /// Causes all events in a store.
    static func live(in store: SimulatedAppStore) async throws -> WholeLife {
        var life = WholeLife()
        for account in accounts { try await store.createAccount(account) }
        let device = DeviceID(unchecked: try await store.signIn(account: "anna").deviceID)
        try await life.buy(in: store, device)
        try await life.change(in: store)
        try await life.failToPay(in: store)
        try await life.commit(in: store)
        try await life.refundAll(in: store)
        try await life.share(in: store)
        try await life.answerAndMove(in: store, device)
        return life
    }

    /// Records the documents that the store signs after an event.
    private mutating func record(_ event: String, _ store: SimulatedAppStore) async throws {
        for account in Self.accounts {
            for transaction in try await store.transactions(of: account) {
                transactions.append(Document(event: event, jws: transaction.signedTransaction))
                if let renewal = transaction.signedRenewalInfo {
                    renewals.append(Document(event: event, jws: renewal))
                }
            }
        }
    }

    private mutating func buy(in store: SimulatedAppStore, _ device: DeviceID) async throws {
        appTransactions.append(Document(event: "the app", jws: try store.appTransaction(of: device)))
        for product in ["coins", "pack", "pass", "trial.2", "paygo.2", "upfront.2", "offers.2", "week.2"] {
            try await store.buy(.init(productID: ProductID(unchecked: product), appAccountToken: UUID()), for: "anna")
        }
        try await record("bought, with each introductory offer", store)
        try await store.advance(.init(period: .months(1)))
        try await record("renewed", store)
        try await store.buy(.init(productID: "offers.2", offerID: "promo", offerKind: .promotional), for: "anna")
        try await store.advance(.init(period: .months(1)))
        try await record("a promotional offer", store)
        try await store.redeem(.init(code: "code", productID: "offers.1"), for: "berta")
        try await record("an offer code", store)
        try await store.createOfferCodes(
            .init(productID: "coins", offerID: "launch", code: "LAUNCH", price: "0.49"))
        try await store.redeem(.init(code: "LAUNCH"), for: "berta")
        try await record("an offer code of a consumable", store)
        try await store.expire("offers.1", for: "berta")
        try await record("an expiry", store)
        try await store.buy(.init(productID: "offers.1", offerID: "back", offerKind: .winBack), for: "berta")
        try await record("a win-back offer", store)
    }

    private mutating func change(in store: SimulatedAppStore) async throws {
        try await store.increasePrice(of: "paygo.2", .init(price: "12.99", needsConsent: true))
        try await record("a price increase", store)
        try await store.answerPriceIncrease(of: "paygo.2", agreeing: true, for: "anna")
        try await record("consent", store)
        try await store.buy(.init(productID: "trial.1"), for: "anna")
        try await record("an upgrade", store)
        try await store.buy(.init(productID: "trial.2"), for: "anna")
        try await record("a downgrade", store)
        try await store.advance(.init(period: .months(1)))
        try await record("the downgrade's renewal", store)
        try await store.cancel("trial.2", for: "anna")
        try await record("auto-renewal off", store)
        try await store.resume("trial.2", for: "anna")
        try await record("auto-renewal on", store)
        try await store.renew("trial.2", for: "anna")
        try await record("an early renewal", store)
    }

    private mutating func failToPay(in store: SimulatedAppStore) async throws {
        try await store.set(.gracePeriod, to: "16d")
        for product in ["upfront.2", "trial.2"] {
            try await store.failBilling(ProductID(unchecked: product), for: "anna")
        }
        try await store.advance(.init(period: .months(1)))
        try await record("a failed payment", store)
        try await store.resolveBilling("trial.2", for: "anna")
        try await record("recovery", store)
        try await store.failBilling("trial.2", for: "anna")
        try await store.advance(.init(period: .days(50)))
        try await record("grace and billing retry", store)
        try await store.resolveBilling("trial.2", for: "anna")
        try await record("a late recovery", store)
        try await store.advance(.init(period: .days(70)))
        try await record("expired for want of payment", store)
        try await store.setWithdrawn("week.2", true)
        try await store.advance(.init(period: .weeks(1)))
        try await record("no longer sold", store)
    }

    private mutating func commit(in store: SimulatedAppStore) async throws {
        try await store.buy(.init(productID: "club.2", billingPlan: .monthly), for: "berta")
        try await record("a commitment", store)
        try await store.advance(.init(period: .months(2)))
        try await store.cancel("club.2", for: "berta")
        try await record("a commitment is cancelled", store)
        try await store.failBilling("club.2", for: "berta")
        try await store.advance(.init(period: .months(1)))
        try await record("a failed bill", store)
        try await store.resolveBilling("club.2", for: "berta")
        try await record("a bill is recovered", store)
        try await store.resume(.init(productID: "club.2", renewsTo: "club.2", billingPlan: .upFront), for: "berta")
        try await record("a change of the billing plan", store)
    }

    private mutating func refundAll(in store: SimulatedAppStore) async throws {
        let sold = try await store.transactions(of: "anna").filter { $0.state == "purchased" }
        for (place, transaction) in sold.enumerated() {
            try await store.refund(
                transaction.transactionID,
                .init(reason: place == 0 ? .appIssue : .other, percentage: place == 1 ? 12.5 : nil))
        }
        try await record("refunds", store)
        for transaction in sold { try await store.reverseRefund(transaction.transactionID) }
        try await record("refunds reversed", store)
        if let last = sold.last { try await store.revoke(last.transactionID) }
        try await record("a revocation", store)
    }

    private mutating func share(in store: SimulatedAppStore) async throws {
        try await store.buy(.init(productID: "pack"), for: "berta")
        try await store.buy(.init(productID: "home.2"), for: "berta")
        try await store.createFamily("home", organizer: "berta")
        try await store.join("home", "child")
        try await record("a family", store)
        try await store.advance(.init(period: .months(1)))
        try await record("the family's renewal", store)
        try await store.leave("home", "child")
        try await record("the family left", store)
    }

    private mutating func answerAndMove(in store: SimulatedAppStore, _ device: DeviceID) async throws {
        let asked = try await store.buy(.init(productID: "coins", simulatesAskToBuy: true), for: "child")
        try await store.answerAskToBuy(asked.transactionID, .approve)
        try await record("approved", store)
        let denied = try await store.buy(.init(productID: "coins", simulatesAskToBuy: true), for: "child")
        try await store.answerAskToBuy(denied.transactionID, .decline)
        try await store.change("child", .init(interruptedPurchases: true))
        let interrupted = try await store.buy(.init(productID: "week.1"), for: "child")
        try await store.resolveInterruption(interrupted.transactionID)
        try await record("an interruption resolved", store)
        try await store.switchAccount(of: device, to: "child")
        appTransactions.append(Document(event: "another account", jws: try store.appTransaction(of: device)))
        try await store.change("child", .init(storefront: "DEU"))
        try await record("another storefront", store)
    }
}
