import AppStorePayloads
import Foundation
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Subscriptions of a year that are billed monthly.
///
/// Source: Apple, "Supporting monthly subscriptions with a 12-month commitment" and "Managing the life cycle of monthly
/// subscriptions with a 12-month commitment".
struct CommitmentTests {
    private typealias RulesFixture = StoreRulesTests.RulesFixture

    static let catalogueText = #"""
        {"version": {"major": 5, "minor": 0}, "settings": {"_storefront": "DEU", "_locale": "de_DE"},
         "subscriptionGroups": [
           {"id": "club", "name": "Club", "subscriptions": [
             {"productID": "club", "displayPrice": "60.00", "recurringSubscriptionPeriod": "P1Y", "groupNumber": 2,
              "billingPlans": [
                {"billingPlanType": "BILLED_UPFRONT", "displayPrice": "60.00"},
                {"billingPlanType": "MONTHLY", "displayPrice": "6.00", "commitmentDisplayPrice": "72.00"}],
              "introductoryOffers": [
                {"billingPlanType": "BILLED_UPFRONT", "paymentMode": "free", "subscriptionPeriod": "P1W"}],
              "adHocOffers": [
                {"offerID": "half", "billingPlanType": "MONTHLY", "paymentMode": "payAsYouGo",
                 "subscriptionPeriod": "P1M", "numberOfPeriods": 3, "displayPrice": "3.00"}],
              "codeOffers": [
                {"offerID": "spring", "billingPlanType": "MONTHLY", "paymentMode": "free", "subscriptionPeriod": "P1M",
                 "eligibility": ["new", "existing", "expired"]}],
              "winbackOffers": [
                {"offerID": "back", "billingPlanType": "MONTHLY", "paymentMode": "free",
                 "subscriptionPeriod": "P2M"}]},
             {"productID": "club.alt", "displayPrice": "66.00", "recurringSubscriptionPeriod": "P1Y", "groupNumber": 2,
              "billingPlans": [{"billingPlanType": "MONTHLY", "displayPrice": "7.00"}]},
             {"productID": "month", "displayPrice": "8.00", "recurringSubscriptionPeriod": "P1M", "groupNumber": 3},
             {"productID": "top", "displayPrice": "12.00", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1}]},
           {"id": "trial", "name": "Trial", "subscriptions": [
             {"productID": "trial", "displayPrice": "60.00", "recurringSubscriptionPeriod": "P1Y",
              "billingPlans": [{"billingPlanType": "MONTHLY", "displayPrice": "6.00"}],
              "introductoryOffers": [
                {"billingPlanType": "MONTHLY", "paymentMode": "free", "subscriptionPeriod": "P1M"}]}]}]}
        """#

    private static func catalogue() throws -> Catalogue {
        try Catalogue(parsing: Array(catalogueText.utf8), file: "commitment.storekit")
    }

    private static func fixture(_ conditions: RenewalConditions = RenewalConditions()) throws -> RulesFixture {
        var fixture = try RulesFixture()
        fixture.rules = StoreRules(catalogue: try catalogue(), conditions: conditions, numbers: SaleNumbers(sale: 1))
        return fixture
    }

    private static func buy(
        _ product: ProductID, _ plan: BillingPlan.Kind = .monthly, offer: String? = nil,
        kind: AppliedOffer.Kind? = nil, in fixture: inout RulesFixture
    ) -> StoreRules.Decision {
        let order = Order(accountID: 1, productID: product, offerID: offer, offerKind: kind, billingPlan: plan)
        let outcome = fixture.rules.sell(order, fixture.existing(product), at: fixture.now)
        fixture.record(outcome.changes)
        return outcome.decision
    }

    private static func with(_ body: (TestStore) async throws -> Void) async throws {
        let catalogue = try catalogue()
        try await TestStore.with(change: { $0.catalogue = catalogue }, body)
    }

    private static func bills(_ fixture: RulesFixture) -> [Int?] { fixture.transactions.map(\.commitment?.bill) }

    // MARK: - Bills

    @Test func `a commitment is twelve transactions of a month, and then another commitment begins`() throws {
        var fixture = try Self.fixture()
        #expect(Self.buy("club", in: &fixture) == .sold(StoreRulesTests.id(1)))
        #expect(fixture.transactions.map(\.expiresDate) == [Fixtures.date("2026-02-28T10:00:00Z")])
        fixture.pass(until: "2027-02-28T10:00:00Z")
        #expect(Self.bills(fixture) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1, 2])
        #expect(Set(fixture.transactions.map(\.price)) == [Price(amount: 6, currency: "EUR")])
        #expect(Set(fixture.transactions.compactMap(\.commitment?.price.amount)) == [72])
        #expect(Set(fixture.transactions.compactMap(\.commitment?.bills)) == [12])
        let ends = fixture.transactions.map(\.commitment?.endsAt)
        #expect(Set(ends.prefix(12)) == [Fixtures.date("2027-01-31T10:00:00Z")])
        #expect(Set(ends.suffix(2)) == [Fixtures.date("2028-01-31T10:00:00Z")])
        #expect(fixture.transactions[11].expiresDate == fixture.transactions[11].commitment?.endsAt)
        #expect(fixture.transactions.map(\.isRenewal) == [false] + Array(repeating: true, count: 13))
    }

    @Test func `the plan that is paid up front has no commitment`() throws {
        var fixture = try Self.fixture()
        _ = Self.buy("club", .upFront, in: &fixture)
        let sale = try #require(fixture.transactions.first)
        #expect(sale.billingPlan == .upFront && sale.commitment == nil && sale.offer?.kind == .introductory)
        fixture.pass(until: "2026-03-01T00:00:00Z")
        #expect(fixture.transactions.last?.price.amount == 60)
        #expect(fixture.transactions.last?.expiresDate == Fixtures.date("2027-02-07T10:00:00Z"))
    }

    @Test func `a product without the monthly plan is not sold with it`() throws {
        var fixture = try Self.fixture()
        guard case .refused(let failure) = Self.buy("month", in: &fixture) else {
            Issue.record("month was sold")
            return
        }
        #expect(failure.code == .invalidProduct && fixture.transactions.isEmpty)
    }

    @Test func `a cancellation stops the next commitment, not the bills of this one`() throws {
        var fixture = try Self.fixture()
        _ = Self.buy("club", in: &fixture)
        fixture.pass(until: "2026-04-05T00:00:00Z")
        try fixture.cancel("club")
        let cancelled = try fixture.state("club")
        #expect(cancelled.autoRenews && !cancelled.renewsTerm && cancelled.isCommitted)
        fixture.pass(until: "2027-01-31T09:59:59Z")
        #expect(try fixture.state("club").isActive && Self.bills(fixture).last == 12)
        #expect(try fixture.state("club").autoRenews == false)
        fixture.pass(until: "2027-01-31T10:00:00Z")
        let ended = try fixture.state("club")
        #expect(ended.status == .expired && ended.expirationIntent == .cancelled && fixture.transactions.count == 12)
    }

    @Test func `a cancelled commitment can be resumed until its end`() throws {
        var fixture = try Self.fixture()
        _ = Self.buy("club", in: &fixture)
        fixture.pass(until: "2026-04-05T00:00:00Z")
        try fixture.cancel("club")
        fixture.pass(until: "2027-01-20T00:00:00Z")
        try fixture.happen("club") { StoreRules.setAutoRenew(true, $0, at: $1) }
        fixture.pass(until: "2027-02-01T00:00:00Z")
        #expect(Self.bills(fixture).suffix(2) == [12, 1])
    }

    // MARK: - Payments

    @Test func `an unpaid bill ends access at once, and its payment moves the commitment`() throws {
        var conditions = RenewalConditions()
        conditions.gracePeriods = [.init(at: .distantPast, value: 16)]
        var fixture = try Self.fixture(conditions)
        _ = Self.buy("club", in: &fixture)
        fixture.pass(until: "2026-03-05T00:00:00Z")
        try fixture.happen("club") { StoreRules.setPaymentsFail(true, $0, at: $1) }
        try fixture.cancel("club")
        fixture.pass(until: "2026-03-31T10:00:00Z")
        let unpaid = try fixture.state("club")
        #expect(unpaid.status == .billingRetry && unpaid.graceEnd == nil && !unpaid.isActive)
        #expect(unpaid.retryEnd == Fixtures.date("2026-06-29T10:00:00Z"))
        fixture.pass(until: "2026-04-10T12:00:00Z")
        try fixture.happen("club") { StoreRules.setPaymentsFail(false, $0, at: $1) }
        let paid = try #require(fixture.transactions.last)
        #expect(paid.commitment?.bill == 3 && paid.purchaseDate == Fixtures.date("2026-04-10T12:00:00Z"))
        #expect(paid.expiresDate == Fixtures.date("2026-05-10T12:00:00Z"))
        #expect(paid.commitment?.endsAt == Fixtures.date("2027-02-10T12:00:00Z"))
        fixture.pass(until: "2027-02-10T12:00:00Z")
        #expect(try fixture.state("club").status == .expired && Self.bills(fixture).last == 12)
        #expect(fixture.transactions.count == 12)
    }

    @Test func `a bill that is unpaid for 90 days ends the commitment`() throws {
        var fixture = try Self.fixture()
        _ = Self.buy("club", in: &fixture)
        try fixture.happen("club") { StoreRules.setPaymentsFail(true, $0, at: $1) }
        fixture.pass(until: "2026-05-29T09:59:59Z")
        #expect(try fixture.state("club").status == .billingRetry)
        fixture.pass(until: "2026-05-29T10:00:00Z")
        let ended = try fixture.state("club")
        #expect(ended.status == .expired && ended.expirationIntent == .billingError)
        #expect(Self.buy("club", in: &fixture) == .sold(StoreRulesTests.id(2)))
        #expect(Self.bills(fixture) == [1, 1])
    }

    @Test func `a tester can end a commitment, also while a bill is unpaid`() throws {
        for fails in [false, true] {
            var fixture = try Self.fixture()
            _ = Self.buy("club", in: &fixture)
            if fails { try fixture.happen("club") { StoreRules.setPaymentsFail(true, $0, at: $1) } }
            fixture.pass(until: "2026-03-05T00:00:00Z")
            try fixture.happen("club") { StoreRules.expire($0, at: $1) }
            #expect(try fixture.state("club").status == .expired)
            let count = fixture.transactions.count
            fixture.pass(until: "2027-03-05T00:00:00Z")
            #expect(fixture.transactions.count == count)
        }
    }

    @Test func `an early renewal is the next bill, and an extension moves the commitment`() throws {
        var fixture = try Self.fixture()
        _ = Self.buy("club", in: &fixture)
        fixture.pass(until: "2026-02-10T10:00:00Z")
        fixture.subscriptions["club"] = try fixture.rules.renew(try fixture.state("club"), at: fixture.now)
        #expect(Self.bills(fixture) == [1, 2])
        #expect(fixture.transactions.last?.commitment?.endsAt == Fixtures.date("2027-01-10T10:00:00Z"))
        try fixture.happen("club") { StoreRules.extend($0, byDays: 10, at: $1) }
        #expect(fixture.transactions.last?.commitment?.endsAt == Fixtures.date("2027-01-20T10:00:00Z"))
        fixture.pass(until: "2027-01-20T10:00:00Z")
        #expect(Self.bills(fixture) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1])
    }

    // MARK: - Refunds

    @Test func `a refund of an earlier bill leaves the commitment, and one of the current bill ends it`() throws {
        var fixture = try Self.fixture()
        _ = Self.buy("club", in: &fixture)
        fixture.pass(until: "2026-04-05T00:00:00Z")
        let sales = fixture.transactions
        fixture.record(StoreRules.revoke(sales[0], try fixture.state("club"), Revocation(at: fixture.now)))
        #expect(try fixture.state("club").isActive)
        fixture.pass(until: "2026-05-05T00:00:00Z")
        #expect(Self.bills(fixture) == [1, 2, 3, 4])
        let current = try #require(fixture.transactions.last)
        fixture.record(StoreRules.revoke(current, try fixture.state("club"), Revocation(at: fixture.now)))
        #expect(try fixture.state("club").status == .revoked)
        fixture.pass(until: "2027-05-05T00:00:00Z")
        #expect(fixture.transactions.count == 4)
    }

    @Test func `a reversed refund of the current bill continues the commitment, unless its period is over`() throws {
        for (date, count) in [("2026-02-10T00:00:00Z", 12), ("2026-03-10T00:00:00Z", 1)] {
            var fixture = try Self.fixture()
            _ = Self.buy("club", in: &fixture)
            fixture.pass(until: "2026-02-05T00:00:00Z")
            let revocation = Revocation(at: fixture.now)
            let sale = try #require(fixture.transactions.last)
            fixture.record(StoreRules.revoke(sale, try fixture.state("club"), revocation))
            fixture.pass(until: date)
            fixture.record(StoreRules.reverse(revocation, of: sale, try fixture.state("club"), at: fixture.now))
            fixture.pass(until: "2027-01-20T00:00:00Z")
            #expect(fixture.transactions.count == count)
        }
    }

    // MARK: - Changes of the plan

    @Test func `an upgrade begins at once and ends the commitment`() throws {
        var fixture = try Self.fixture()
        _ = Self.buy("club", in: &fixture)
        fixture.pass(until: "2026-03-05T00:00:00Z")
        #expect(Self.buy("top", .upFront, in: &fixture) == .sold(StoreRulesTests.id(2)))
        fixture.pass(until: "2026-05-06T00:00:00Z")
        #expect(fixture.transactions.map(\.productID) == ["club", "club", "top", "top", "top"])
        #expect(fixture.transactions[1].upgradedAt != nil)
        #expect(Self.bills(fixture) == [1, 2, nil, nil, nil])
    }

    @Test(arguments: [("month", BillingPlan.Kind.upFront), ("club", .upFront), ("club.alt", .upFront)])
    func `a downgrade and another billing plan begin when the commitment ends`(
        product: String, plan: BillingPlan.Kind
    ) throws {
        var fixture = try Self.fixture()
        let product = ProductID(unchecked: product)
        _ = Self.buy("club", in: &fixture)
        fixture.pass(until: "2026-03-05T00:00:00Z")
        #expect(Self.buy(product, plan, in: &fixture) == .alreadyOwned(StoreRulesTests.id(1, 1)))
        #expect(try fixture.state("club").nextSale().plan.productID == "club")
        #expect(try fixture.state("club").nextTerm().plan.productID == product)
        fixture.pass(until: "2027-01-31T10:00:00Z")
        #expect(fixture.transactions.count == 13)
        let next = try #require(fixture.transactions.last)
        #expect(next.productID == product && next.billingPlan == plan && next.commitment == nil)
        #expect(next.purchaseDate == Fixtures.date("2027-01-31T10:00:00Z"))
    }

    @Test func `another product of the level with the same billing plan begins at once`() throws {
        var fixture = try Self.fixture()
        _ = Self.buy("club", in: &fixture)
        fixture.pass(until: "2026-03-05T00:00:00Z")
        #expect(Self.buy("club.alt", in: &fixture) == .sold(StoreRulesTests.id(2)))
        #expect(Self.bills(fixture) == [1, 2, 1])
        #expect(fixture.transactions.last?.commitment?.endsAt == Fixtures.date("2027-03-05T00:00:00Z"))
    }

    @Test func `a year that is paid up front becomes a commitment at its renewal`() throws {
        var fixture = try Self.fixture()
        _ = Self.buy("club.alt", .upFront, in: &fixture)
        #expect(Self.buy("club.alt", in: &fixture) == .alreadyOwned(StoreRulesTests.id(1)))
        fixture.pass(until: "2027-02-01T00:00:00Z")
        #expect(fixture.transactions.map(\.price.amount) == [66, 7] && Self.bills(fixture) == [nil, 1])
        #expect(fixture.transactions.last?.expiresDate == Fixtures.date("2027-02-28T10:00:00Z"))
    }

    @Test func `resuming can choose the billing plan after the commitment`() throws {
        var fixture = try Self.fixture()
        _ = Self.buy("club", in: &fixture)
        try fixture.cancel("club")
        let rules = fixture.rules
        try fixture.happen("club") { try? rules.resume($0, renewingTo: nil, .upFront, at: $1) }
        #expect(try fixture.state("club").nextTerm().plan.billingPlan == .upFront)
        try fixture.happen("club") { try? rules.resume($0, renewingTo: "club", .monthly, at: $1) }
        #expect(try fixture.state("club").nextTerm().plan == fixture.state("club").current.plan)
        let state = try fixture.state("club")
        #expect(throws: SimulatorError.self) {
            try rules.resume(state, renewingTo: "month", .monthly, at: state.instant)
        }
    }

    // MARK: - Prices

    @Test func `a higher price of the bills begins with the next commitment, if the customer agrees`() throws {
        let rise = RenewalConditions.PriceIncrease(
            productID: "club", billingPlan: .monthly, at: Fixtures.date("2026-04-05T00:00:00Z"),
            price: Price(amount: 8, currency: "EUR"), needsConsent: true)
        var conditions = RenewalConditions()
        conditions.priceIncreases = [rise]
        for agrees in [true, false] {
            var fixture = try Self.fixture(conditions)
            _ = Self.buy("club", in: &fixture)
            fixture.pass(until: "2026-04-06T00:00:00Z")
            #expect(try fixture.state("club").increase?.price.amount == 8)
            #expect(try fixture.state("club").nextSale().plan.price.amount == 6)
            #expect(try fixture.state("club").nextTerm().plan.termPrice.amount == 96)
            if agrees {
                try fixture.happen("club") { StoreRules.answerPriceIncrease($0, isAccepted: true, at: $1) }
            }
            fixture.pass(until: "2027-01-31T10:00:00Z")
            #expect(fixture.transactions.prefix(12).allSatisfy { $0.price.amount == 6 })
            #expect(fixture.transactions.count == (agrees ? 13 : 12))
            #expect(try fixture.state("club").expirationIntent == (agrees ? nil : .priceIncrease))
            if agrees { #expect(fixture.transactions.last?.price.amount == 8 && Self.bills(fixture).last == 1) }
        }
    }

    @Test func `a higher price of one billing plan does not change the other`() throws {
        var conditions = RenewalConditions()
        conditions.priceIncreases = [
            .init(productID: "club", at: Fixtures.start, price: Price(amount: 90, currency: "EUR"), needsConsent: false)
        ]
        var fixture = try Self.fixture(conditions)
        fixture.pass(until: "2026-02-01T00:00:00Z")
        _ = Self.buy("club", in: &fixture)
        fixture.pass(until: "2027-02-05T00:00:00Z")
        #expect(Set(fixture.transactions.map(\.price.amount)) == [6])
    }

    @Test func `a withdrawn product is billed until the commitment ends`() throws {
        var conditions = RenewalConditions()
        conditions.withdrawals = ["club": [.init(at: Fixtures.date("2026-03-05T00:00:00Z"), value: true)]]
        var fixture = try Self.fixture(conditions)
        _ = Self.buy("club", in: &fixture)
        fixture.pass(until: "2027-03-05T00:00:00Z")
        #expect(fixture.transactions.count == 12)
        #expect(try fixture.state("club").expirationIntent == .productUnavailable)
    }

    // MARK: - Offers

    @Test func `an offer of the monthly plan comes before the bills, and can be cancelled`() throws {
        var fixture = try Self.fixture()
        _ = Self.buy("trial", in: &fixture)
        let trial = try #require(fixture.transactions.first)
        #expect(trial.offer?.paymentMode == .freeTrial && trial.billingPlan == .monthly && trial.commitment == nil)
        var kept = fixture
        try fixture.cancel("trial")
        fixture.pass(until: "2026-03-05T00:00:00Z")
        #expect(try fixture.state("trial").status == .expired && fixture.transactions.count == 1)
        kept.pass(until: "2026-04-05T00:00:00Z")
        #expect(Self.bills(kept) == [nil, 1, 2])
        #expect(kept.transactions.last?.commitment?.endsAt == Fixtures.date("2027-02-28T10:00:00Z"))
    }

    @Test func `an offer belongs to its billing plan`() throws {
        var fixture = try Self.fixture()
        _ = Self.buy("club", in: &fixture)
        #expect(fixture.transactions.first?.offer == nil)
        try fixture.happen("club") { StoreRules.expire($0, at: $1) }
        fixture.pass(until: "2026-02-05T00:00:00Z")
        guard case .refused(let failure) = Self.buy("club", .upFront, offer: "half", in: &fixture) else {
            Issue.record("the offer was sold with another plan")
            return
        }
        #expect(failure.code == .invalidOffer)
        var other = fixture
        _ = Self.buy("club", offer: "half", in: &fixture)
        fixture.pass(until: "2026-06-06T00:00:00Z")
        #expect(fixture.transactions.dropFirst().map(\.price.amount) == [3, 3, 3, 6, 6])
        #expect(Self.bills(fixture) == [1, nil, nil, nil, 1, 2])
        _ = Self.buy("club", offer: "back", kind: .winBack, in: &other)
        #expect(other.transactions.last?.offer?.kind == .winBack)
    }

    @Test func `a code of the monthly plan sells this plan`() throws {
        var fixture = try Self.fixture()
        _ = Self.buy("club", .upFront, offer: "spring", kind: .code, in: &fixture)
        fixture.pass(until: "2026-03-05T00:00:00Z")
        #expect(fixture.transactions.map(\.offer?.kind) == [.code, nil] && Self.bills(fixture) == [nil, 1])
    }

    @Test func `a promotional offer in a commitment begins with the next one`() throws {
        var fixture = try Self.fixture()
        _ = Self.buy("club", in: &fixture)
        #expect(Self.buy("club", offer: "half", in: &fixture) == .alreadyOwned(StoreRulesTests.id(1)))
        fixture.pass(until: "2027-05-05T00:00:00Z")
        #expect(fixture.transactions.map(\.price.amount) == Array(repeating: 6, count: 12) + [3, 3, 3, 6])
        #expect(Self.bills(fixture).suffix(4) == [nil, nil, nil, 1])
    }

    // MARK: - The whole store

    @Test func `the signed data has Apple's members about a commitment`() async throws {
        try await Self.with { test in
            let store = test.store
            try await store.createAccount("anna")
            try await store.buy(.init(productID: "club", billingPlan: .monthly), for: "anna")
            try await test.advance(.months(2))
            let verifier = try test.verifier()
            func latest() async throws -> (JWSTransactionDecodedPayload, JWSRenewalInfoDecodedPayload) {
                let last = try #require(try await store.transactions(of: "anna").last)
                return (
                    try verifier.transaction(last.signedTransaction).payload,
                    try verifier.renewalInfo(try #require(last.signedRenewalInfo)).payload
                )
            }
            let end = Fixtures.date("2027-01-31T10:00:00Z")
            var (sale, renewal) = try await latest()
            #expect(sale.billingPlanType == .monthly && sale.price == 6000)
            #expect(sale.expiresDate == Fixtures.date("2026-04-30T10:00:00Z"))
            let commitment = try #require(sale.commitmentInfo)
            #expect(commitment.billingPeriodNumber == 3 && commitment.totalBillingPeriods == 12)
            #expect(commitment.commitmentExpiresDate == end && commitment.commitmentPrice == 72000)
            #expect(renewal.autoRenewStatus == .on && renewal.renewalBillingPlanType == .monthly)
            #expect(renewal.renewalPrice == 6000 && renewal.renewalDate == sale.expiresDate)
            var next = try #require(renewal.commitmentInfo)
            #expect(next.commitmentAutoRenewProductId == "club" && next.commitmentAutoRenewStatus == .on)
            #expect(next.commitmentRenewalDate == end && next.commitmentRenewalPrice == 72000)
            #expect(next.commitmentRenewalBillingPlanType == .monthly)

            try await store.cancel("club", for: "anna")
            renewal = try await latest().1
            #expect(renewal.autoRenewStatus == .on && renewal.renewalPrice == 6000)
            #expect(renewal.commitmentInfo?.commitmentAutoRenewStatus == .off)
            #expect(renewal.commitmentInfo?.commitmentRenewalPrice == nil)
            try await store.resume(.init(productID: "club", renewsTo: "month"), for: "anna")
            renewal = try await latest().1
            next = try #require(renewal.commitmentInfo)
            #expect(renewal.autoRenewProductId == "club" && next.commitmentAutoRenewProductId == "month")
            #expect(next.commitmentRenewalPrice == 8000 && next.commitmentRenewalBillingPlanType == .billedUpfront)
            try await store.advance(.init(to: end))
            (sale, renewal) = try await latest()
            #expect(sale.productId == "month" && sale.billingPlanType == .billedUpfront && sale.commitmentInfo == nil)
            #expect(renewal.commitmentInfo == nil && renewal.renewalBillingPlanType == .billedUpfront)
        }
    }

    @Test func `the control API shows the bills, and the store keeps them`() async throws {
        let folder = try ScratchFolder()
        let catalogue = try Self.catalogue()
        try await TestStore.with(in: folder, change: { $0.catalogue = catalogue }) { test in
            try await test.store.createAccount("anna")
            try await test.store.buy(.init(productID: "club", billingPlan: .monthly), for: "anna")
            try await test.advance(.months(4))
            try await test.store.failBilling("club", for: "anna")
            try await test.advance(.months(1))
            try await test.store.resolveBilling("club", for: "anna")
            try await test.store.cancel("club", for: "anna")
        }
        try await TestStore.with(in: folder, change: { $0.catalogue = catalogue }) { test in
            try await test.advance(.days(40))
            let subscription = try #require(try await test.store.subscriptions(of: "anna").first)
            let commitment = try #require(subscription.commitment)
            #expect(commitment.bill == 7 && commitment.billCount == 12 && !commitment.renews)
            #expect(subscription.autoRenews && subscription.status == .active)
        }
    }

    @Test func `a waiting purchase keeps its billing plan`() async throws {
        try await Self.with { test in
            try await test.store.createAccount("anna")
            let waiting = try await test.store.buy(
                .init(productID: "club", billingPlan: .monthly, simulatesAskToBuy: true), for: "anna")
            try await test.store.answerAskToBuy(waiting.transactionID, .approve)
            let subscription = try await test.store.subscriptions(of: "anna").first
            #expect(subscription?.commitment?.bill == 1)
        }
    }

    @Test func `a higher price of a plan is listed, and refused for a plan that does not exist`() async throws {
        try await Self.with { test in
            try await test.store.increasePrice(of: "club", .init(price: "7.50", billingPlan: .monthly))
            let product = try test.store.products(["club"]).products.first
            #expect(product?.price.amount == 60 && product?.subscription?.monthlyPlan?.price.amount == 7.5)
            await #expect(throws: SimulatorError.self) {
                try await test.store.increasePrice(of: "month", .init(price: "9", billingPlan: .monthly))
            }
            await #expect(throws: SimulatorError.self) {
                try await test.store.increasePrice(of: "club", .init(price: "7.50", billingPlan: .monthly))
            }
        }
    }

    @Test func `a family member shares the bills`() async throws {
        let text = Self.catalogueText.replacingOccurrences(
            of: #""productID": "club","#, with: #""productID": "club", "familyShareable": true,"#)
        let catalogue = try Catalogue(parsing: Array(text.utf8), file: "family.storekit")
        try await TestStore.with(change: { $0.catalogue = catalogue }) { test in
            for name in ["anna", "ben"] as [AccountName] { try await test.store.createAccount(name) }
            try await test.store.buy(.init(productID: "club", billingPlan: .monthly), for: "anna")
            try await test.advance(.months(3))
            try await test.store.createFamily("home", organizer: "anna")
            try await test.store.join("home", "ben")
            try await test.advance(.days(32))
            let shared = try #require(try await test.store.subscriptions(of: "ben").first)
            #expect(shared.commitment?.bill == 5 && shared.sharedBy == "anna")
        }
    }

    @Test(arguments: [
        ("P1M", #""displayPrice": "6.00""#, CatalogueFinding.Code.unusualPeriod),
        ("P1Y", #""displayPrice": "6.00", "commitmentDisplayPrice": "70.00""#, .planPrice),
    ])
    func `a monthly plan that cannot be sold as written is a warning`(
        period: String, prices: String, code: CatalogueFinding.Code
    ) throws {
        let text = #"""
            {"version": {"major": 5, "minor": 0}, "subscriptionGroups": [{"id": "g", "name": "G", "subscriptions": [
              {"productID": "p", "displayPrice": "60.00", "recurringSubscriptionPeriod": "\#(period)",
               "groupNumber": 1, "billingPlans": [{"billingPlanType": "MONTHLY", \#(prices)}]}]}]}
            """#
        let catalogue = try Catalogue(parsing: Array(text.utf8), file: "p.storekit")
        #expect(catalogue.warnings.map(\.code) == [code])
        #expect((catalogue["p"]?.monthlyPlan != nil) == (period == "P1Y"))
        #expect((catalogue["p"]?.subscription?.monthlyPlan != nil) == (period == "P1Y"))
    }
}
