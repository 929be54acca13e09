import Foundation
import StoreModel

@testable import AppStoreSimulator

/// A script of dated steps for one subscription, without a store.
struct SubscriptionScript {
    /// A step of a subscription or of its store. The set is closed.
    enum Step {
        case buy(ProductID, offer: String? = nil, AppliedOffer.Kind? = nil)
        /// A purchase that is billed monthly with a commitment.
        case commit(ProductID)
        case cancel, resume(ProductID? = nil), renew, expire
        case fail, resolve, allFail(Bool), grace(Int)
        case increase(ProductID, BillingPlan.Kind = .upFront, milliunits: Int64, needsConsent: Bool), agree(Bool)
        case withdraw(ProductID, Bool)
        /// The index of the transaction; `nil` means the latest.
        case refund(Int? = nil), reverse(Int? = nil)
    }

    static let text = """
        {"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA", "_locale": "en_US"},
         "products": [
           {"productID": "coins", "type": "Consumable", "displayPrice": "0.99"},
           {"productID": "pack", "type": "NonConsumable", "displayPrice": "9.99", "familyShareable": true}],
         "subscriptionGroups": [
           {"id": "g", "name": "G", "subscriptions": [
             {"productID": "basic", "displayPrice": "4.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 3,
              "introductoryOffer": {"paymentMode": "free", "subscriptionPeriod": "P1W"},
              "adHocOffers": [
                {"offerID": "half", "paymentMode": "payUpFront", "subscriptionPeriod": "P2M", "displayPrice": "4.49"},
                {"offerID": "three", "paymentMode": "payAsYouGo", "subscriptionPeriod": "P1M", "numberOfPeriods": 3,
                 "displayPrice": "1.99"},
                {"offerID": "gift", "paymentMode": "free", "subscriptionPeriod": "P1M"}],
              "codeOffers": [
                {"offerID": "spring", "paymentMode": "free", "subscriptionPeriod": "P1M", "isStackable": true,
                 "eligibility": ["new", "existing", "expired"]},
                {"offerID": "hello", "paymentMode": "payAsYouGo", "subscriptionPeriod": "P1M", "numberOfPeriods": 2,
                 "displayPrice": "0.99", "isStackable": false, "eligibility": ["new"]},
                {"offerID": "return", "paymentMode": "free", "subscriptionPeriod": "P1M", "isStackable": false,
                 "eligibility": ["expired"]},
                {"offerID": "stay", "paymentMode": "free", "subscriptionPeriod": "P1M", "isStackable": false,
                 "eligibility": ["existing"]}],
              "winbackOffers": [
                {"offerID": "back", "paymentMode": "payAsYouGo", "subscriptionPeriod": "P1M", "numberOfPeriods": 2,
                 "displayPrice": "2.99", "isEligible": true},
                {"offerID": "never", "paymentMode": "free", "subscriptionPeriod": "P1M", "isEligible": false}]},
             {"productID": "plain", "displayPrice": "5.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 3,
              "familyShareable": true,
              "codeOffers": [
                {"offerID": "spring", "paymentMode": "free", "subscriptionPeriod": "P1M", "isStackable": false}]},
             {"productID": "year", "displayPrice": "49.99", "recurringSubscriptionPeriod": "P1Y", "groupNumber": 3,
              "billingPlans": [{"billingPlanType": "MONTHLY", "displayPrice": "4.49"}]},
             {"productID": "pro", "displayPrice": "9.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1}]},
           {"id": "w", "name": "W", "subscriptions": [
             {"productID": "weekly", "displayPrice": "0.99", "recurringSubscriptionPeriod": "P1W",
              "groupNumber": 1}]},
           {"id": "p", "name": "P", "subscriptions": [
             {"productID": "paygo", "displayPrice": "2.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1,
              "introductoryOffer": {"paymentMode": "payAsYouGo", "subscriptionPeriod": "P1M", "numberOfPeriods": 3,
                                    "displayPrice": "0.99"}}]},
           {"id": "u", "name": "U", "subscriptions": [
             {"productID": "upfront", "displayPrice": "2.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1,
              "introductoryOffer": {"paymentMode": "payUpFront", "subscriptionPeriod": "P1M", "numberOfPeriods": 3,
                                    "displayPrice": "1.99"}}]}]}
        """

    let catalogue: Catalogue
    var conditions = RenewalConditions()
    var numbers = SaleNumbers(sale: 1)
    var record: SubscriptionRecord?
    /// The decision about the last purchase.
    var decision: StoreRules.Decision?

    init() throws { catalogue = try Catalogue(parsing: Array(Self.text.utf8), file: "script.storekit") }

    /// Returns the instant of a day: `02-28` is 28 February 2026, 10:00 UTC. A longer text has the year or is in RFC
    /// 3339.
    static func date(_ text: String) -> Date {
        switch text.count {
        case 5: Fixtures.date("2026-\(text)T10:00:00Z")
        case 10: Fixtures.date("\(text)T10:00:00Z")
        default: Fixtures.date(text)
        }
    }

    func state(at now: Date) -> SubscriptionState? {
        record.map { SubscriptionState(of: $0, under: conditions, at: now) }
    }

    /// Performs a step. An impossible step changes nothing.
    mutating func happen(_ step: Step, at now: Date) throws {
        var rules = StoreRules(catalogue: catalogue, conditions: conditions, numbers: numbers)
        switch step {
        case .buy(let product, let offer, let kind):
            let order = Order(accountID: 1, productID: product, offerID: offer, offerKind: kind)
            let outcome = rules.sell(order, .init(owned: nil, state: state(at: now)), at: now)
            numbers = rules.numbers
            decision = outcome.decision
            take(outcome.changes)
        case .commit(let product):
            let order = Order(accountID: 1, productID: product, billingPlan: .monthly)
            let outcome = rules.sell(order, .init(owned: nil, state: state(at: now)), at: now)
            numbers = rules.numbers
            decision = outcome.decision
            take(outcome.changes)
        case .cancel: act(at: now) { StoreRules.setAutoRenew(false, $0, at: now) }
        case .resume(let plan): try act(at: now) { [rules] in try rules.resume($0, renewingTo: plan, at: now) }
        case .renew: act(at: now) { [rules] in try? rules.renew($0, at: now) }
        case .expire: act(at: now) { StoreRules.expire($0, at: now) }
        case .fail: act(at: now) { StoreRules.setPaymentsFail(true, $0, at: now) }
        case .resolve: act(at: now) { StoreRules.setPaymentsFail(false, $0, at: now) }
        case .agree(let agrees): act(at: now) { StoreRules.answerPriceIncrease($0, isAccepted: agrees, at: now) }
        case .allFail(let fail): conditions.failingPayments.append(.init(at: now, value: fail))
        case .grace(let days): conditions.gracePeriods.append(.init(at: now, value: days))
        case .increase(let product, let plan, let price, let needsConsent):
            conditions.priceIncreases.append(
                .init(
                    productID: product, billingPlan: plan, at: now, price: Price(milliunits: price, currency: "USD"),
                    needsConsent: needsConsent))
        case .withdraw(let product, let isWithdrawn):
            conditions.withdrawals[product, default: []].append(.init(at: now, value: isWithdrawn))
        case .refund(let place):
            guard let (state, transaction) = transaction(place, at: now), transaction.revocation == nil else { return }
            take(StoreRules.revoke(transaction, state, Revocation(at: now)))
        case .reverse(let place):
            guard let (state, transaction) = transaction(place, at: now), let revocation = transaction.revocation
            else { return }
            take(StoreRules.reverse(revocation, of: transaction, state, at: now))
        }
    }

    private func transaction(_ place: Int?, at now: Date) -> (SubscriptionState, TransactionRecord)? {
        guard let state = state(at: now) else { return nil }
        let all = state.transactions
        let index = place ?? all.count - 1
        return all.indices.contains(index) ? (state, all[index]) : nil
    }

    private mutating func act(at now: Date, _ event: (SubscriptionState) throws -> SubscriptionRecord?) rethrows {
        if let state = state(at: now), let changed = try event(state) { record = changed }
    }

    private mutating func take(_ changes: [StoreChange]) {
        for case .subscription(let changed) in changes { record = changed }
    }

    /// The transactions, each as `basic 2026-01-31…2026-02-07 0 introductory`, followed by the status.
    func summary(at text: String) -> [String] {
        guard let state = state(at: Self.date(text)) else { return ["nothing"] }
        func day(_ date: Date?) -> String { date.map { String($0.formatted(.iso8601).prefix(10)) } ?? "" }
        let lines = state.transactions.map { transaction in
            var words = [
                "\(transaction.productID)", "\(day(transaction.purchaseDate))…\(day(transaction.expiresDate))",
            ]
            words.append("\(transaction.price.amount)")
            if let offer = transaction.offer { words.append(offer.id ?? "introductory") }
            if transaction.upgradedAt != nil { words.append("upgraded") }
            if transaction.revocation != nil { words.append("revoked") }
            return words.joined(separator: " ")
        }
        return lines + [
            ([state.status] as [Any] + [state.expirationIntent].compactMap(\.self)).map { "\($0)" }
                .joined(separator: " ")
        ]
    }
}
