import Foundation
import Primitives
import StoreModel
import Testing

@Suite struct PurchaseVocabularyTests {
    private let start = Date(timeIntervalSince1970: 1_700_000_000)
    private var end: Date { start.addingTimeInterval(3600) }
    private let tick: TimeInterval = 0.001

    private func pro(_ type: PaidFeature.PaymentType) -> PaidFeatures {
        PaidFeatures(features: [PaidFeature(name: "pro", paymentType: type)])
    }

    @Test func `a subscription begins with its first instant and is over at its end`() {
        let features = pro(.subscription(.init(current: .init(startDate: start, endDate: end))))
        #expect(!features.hasActiveFeature(with: "pro", at: start.addingTimeInterval(-tick)))
        #expect(features.hasActiveFeature(with: "pro", at: start))
        #expect(features.hasActiveFeature(with: "pro", at: end.addingTimeInterval(-tick)))
        #expect(!features.hasActiveFeature(with: "pro", at: end))
        #expect(!features.hasActiveFeature(with: "export", at: start))
    }

    @Test func `products of a web shop and of the store with the same identifier differ`() {
        let inApp = Product(productIdentifier: "pro")
        #expect(inApp.pricePointIdent == nil)
        #expect(Set([inApp, inApp, Product(productIdentifier: "pro", pricePointIdent: "pro")]).count == 2)
    }

    @Test func `an upcoming period gives no access`() {
        let next = PaidFeature.Period(startDate: end, endDate: end.addingTimeInterval(3600))
        let features = pro(.subscription(.init(current: .init(startDate: start, endDate: end), next: next)))
        #expect(!features.hasActiveFeature(with: "pro", at: end))
    }

    @Test func `a cancelled subscription is active in its period`() {
        let period = PaidFeature.Period(startDate: start, endDate: end, cancellationDate: start)
        #expect(pro(.subscription(.init(current: period))).hasActiveFeature(with: "pro", at: start))
    }

    @Test func `a feature with an end is inactive from that instant`() {
        #expect(pro(.until(end)).hasActiveFeature(with: "pro", at: end.addingTimeInterval(-tick)))
        #expect(!pro(.until(end)).hasActiveFeature(with: "pro", at: end))
    }

    @Test func `a product bought once and a consumable do not end`() {
        #expect(pro(.oneOff).hasActiveFeature(with: "pro", at: .distantFuture))
        #expect(pro(.consumable).hasActiveFeature(with: "pro", at: .distantFuture))
        #expect(pro(.oneOff).features[0].isLifetime)
        #expect(!pro(.until(end)).features[0].isLifetime)
    }

    @Test func `a feature is active from its start until before its end`() {
        let feature = Feature(name: "pro", startDate: start, endDate: end)
        #expect(
            [start.addingTimeInterval(-tick), start, end.addingTimeInterval(-tick), end].map {
                feature.isActive(at: $0)
            } == [false, true, true, false])
        #expect(Feature(name: "pro", startDate: start).isActive(at: .distantFuture))
        #expect(Features(features: [feature]).activeFeatures(at: end).isEmpty)
    }

    @Test(arguments: [
        (
            UserId.uuid(UUID(uuidString: "7E3FB20B-4CDB-47CC-936D-99D65F608138") ?? UUID()),
            #"{"type":"merchant-uuid","value":"7E3FB20B-4CDB-47CC-936D-99D65F608138"}"#
        ),
        (.string("ada"), #"{"type":"merchant-str","value":"ada"}"#),
    ])
    func `a user id has the form of the HTTP contract and survives encoding`(user: UserId, json: String) throws {
        #expect(String(decoding: try WireJSON.encode(user), as: UTF8.self) == json)
        #expect(try WireJSON.decode(UserId.self, from: Array(json.utf8)) == user)
    }

    @Test(arguments: [
        #"{"type":"merchant-uuid","value":"ada"}"#, #"{"type":"merchant","value":"ada"}"#, #"{"value":"ada"}"#,
    ])
    func `an invalid user is refused`(json: String) {
        #expect(throws: DecodingError.self) { try WireJSON.decode(UserId.self, from: Array(json.utf8)) }
    }

    @Test func `the customer id of a UUID is in lower case`() {
        let uuid = UUID(uuidString: "7E3FB20B-4CDB-47CC-936D-99D65F608138") ?? UUID()
        #expect(UserId.uuid(uuid).customerID == "7e3fb20b-4cdb-47cc-936d-99d65f608138")
        #expect(UserId.string("").customerID == nil)
    }

    @Test func `products that differ only in the formatted price are equal`() {
        let plain = Product(productIdentifier: "pro", price: 5, localizedPriceString: "$5")
        let other = Product(productIdentifier: "pro", price: 5, localizedPriceString: "5 $")
        #expect(Set([plain, other]).count == 1)
        #expect(plain != Product(productIdentifier: "pro", price: 6))
        let discount = ProductDiscount(identifier: "half", localizedPriceString: "a")
        #expect(Set([discount, ProductDiscount(identifier: "half", localizedPriceString: "b")]).count == 1)
    }

    @Test func `terms and offers without localized strings are read`() throws {
        let old = """
            {"groupID": "g", "level": 1, "period": "P1M", "promotionalOffers": [{"id": "half", "paymentMode": \
            "PAY_UP_FRONT", "period": "P3M", "periodCount": 1}]}
            """
        let terms = try WireJSON.decode(SubscriptionTerms.self, from: Array(old.utf8))
        #expect(terms.displayPeriod == nil && terms.promotionalOffers.first?.displayPrice == nil)
        var changed = terms
        changed.displayPeriod = "1 month"
        changed.promotionalOffers[0].displayPrice = "$2.00"
        changed.promotionalOffers[0].displayPeriod = "3 months"
        #expect(try WireJSON.decode(SubscriptionTerms.self, from: try WireJSON.encode(changed)) == changed)
    }

    @Test func `a product that is made from a store's product keeps its terms`() {
        let terms = SubscriptionTerms(
            groupID: "g", level: 1, period: .months(1),
            displayPeriod: "1 Monat", introductoryOffer: Offer(paymentMode: .freeTrial, period: .weeks(1)),
            promotionalOffers: [
                Offer(
                    id: "half", paymentMode: .payUpFront, period: .months(3),
                    price: Price(amount: 2, currency: "EUR"), displayPrice: "2,00 €", displayPeriod: "3 Monate")
            ])
        let product = Product(
            StoreProduct(
                id: "pro.monthly", kind: .autoRenewableSubscription, price: Price(amount: 4, currency: "EUR"),
                displayPrice: "4,00 €", displayName: "Pro", description: "All of it", subscription: terms))
        #expect(product.productType == .autoRenewableSubscription)
        #expect(product.localizedPriceString == "4,00 €" && product.currencyCode == "EUR")
        #expect(product.subscriptionPeriod == .months(1))
        #expect(
            product.introductoryDiscount
                == ProductDiscount(paymentMode: .freeTrial, currencyCode: "EUR", subscriptionPeriod: .weeks(1)))
        #expect(product.discounts.map(\.identifier) == ["half"])
        #expect(product.discounts.first?.type == .promotional)
        #expect(product.localizedSubscriptionPeriod == "1 Monat")
        #expect(product.discounts.first?.localizedPriceString == "2,00 €")
        #expect(product.discounts.first?.localizedSubscriptionPeriod == "3 Monate")
        #expect(product.introductoryDiscount?.localizedPriceString == "", "the store did not say")
    }
}

@Suite struct PurchaseCustomerMappingTests {
    private let asOf = Date(timeIntervalSince1970: 1_700_000_000)

    private func customer(
        _ features: [CustomerFeature], subscriptions: [CustomerSubscription] = []
    ) -> Customer {
        Customer(
            customer: "ada", environment: .sandbox, asOf: asOf, features: features, subscriptions: subscriptions)
    }

    private func feature(
        isActive: Bool = true, from: TimeInterval = -10, effectiveUntil: TimeInterval? = nil,
        source: PurchaseSource = .appStore, original: TransactionID? = nil
    ) -> CustomerFeature {
        CustomerFeature(
            name: "pro", isActive: isActive, from: asOf.addingTimeInterval(from),
            effectiveUntil: effectiveUntil.map { asOf.addingTimeInterval($0) }, source: source,
            productID: "pro.product",
            originalTransactionID: original, because: "test")
    }

    @Test func `a subscription keeps its values, and its period ends when access ends`() throws {
        let subscription = CustomerSubscription(
            productID: "pro.product", originalTransactionID: "1", state: .inGracePeriod, startedAt: asOf,
            expiresAt: asOf, effectiveUntil: asOf.addingTimeInterval(50), isTrial: true, cancelledAt: asOf,
            price: Price(amount: 3, currency: "USD"))
        let paid = PaidFeatures(
            customer([feature(effectiveUntil: 50, original: "1")], subscriptions: [subscription]))
        let pro = try #require(paid.features.first)
        guard case .subscription(let periods) = pro.paymentType else {
            Issue.record("\(pro.paymentType) is no subscription")
            return
        }
        #expect(periods.current.endDate == asOf.addingTimeInterval(50))
        #expect(periods.current.isTrial && periods.current.cancellationDate == asOf)
        #expect(pro.authority == .server && pro.transactionType == .appStore && pro.originalTransactionID == "1")
        #expect(Subscription(subscription, providing: ["pro"]).state == .cancelled)
    }

    @Test func `a subscription of Google Play keeps its store and its own management page`() throws {
        let page = "https://play.google.com/store/account/subscriptions?sku=pro.product&package=com.example"
        let apple = "https://apps.apple.com/account/subscriptions"
        let subscriptions = [("1", PurchaseSource.appStore, apple), ("play.2", .googlePlay, page), ("w", .web, nil)].map
        {
            CustomerSubscription(
                productID: "pro.product", originalTransactionID: TransactionID(unchecked: $0), state: .active,
                startedAt: asOf, expiresAt: asOf, effectiveUntil: asOf.addingTimeInterval(50), source: $1,
                managementURL: $2)
        }
        let paid = PaidFeatures(
            customer(
                subscriptions.map {
                    feature(effectiveUntil: 50, source: $0.source, original: $0.originalTransactionID)
                }, subscriptions: subscriptions))
        #expect(paid.features.map(\.transactionType) == [.appStore, .googlePlay, .web])
        let periods = paid.features.compactMap { feature -> PaidFeature.Period? in
            guard case .subscription(let periods) = feature.paymentType else { return nil }
            return periods.current
        }
        #expect(periods.map(\.managementURL) == [apple, page, nil])
        let listed = subscriptions.map { Subscription($0) }
        #expect(listed.map(\.type) == [.apple, .android, .web])
        #expect(listed.map(\.managementURL) == [apple, page, nil])
    }

    @Test(arguments: [(CustomerSubscription.State.paused, Subscription.State.expired), (.inBillingRetry, .active)])
    func `a paused subscription gives no access`(state: CustomerSubscription.State, expected: Subscription.State) {
        let subscription = CustomerSubscription(
            productID: "pro.product", originalTransactionID: "play.2", state: state, startedAt: asOf,
            expiresAt: asOf, effectiveUntil: asOf, source: .googlePlay)
        #expect(Subscription(subscription).state == expected)
    }

    @Test func `a feature without a subscription has the end of its access, if any`() {
        let paid = PaidFeatures(customer([feature(effectiveUntil: 5, source: .grant), feature(original: "2")]))
        #expect(paid.features.map(\.paymentType) == [.until(asOf.addingTimeInterval(5)), .oneOff])
        #expect(paid.features.map(\.transactionType) == [.web, .appStore])
    }

    @Test(arguments: [nil, 100, -5] as [TimeInterval?])
    func `a feature that has begun and is reported as inactive has ended, whatever its end date`(until: TimeInterval?) {
        let answer = customer([feature(isActive: false, effectiveUntil: until, original: "2")])
        #expect(!PaidFeatures(answer).hasActiveFeature(with: "pro", at: asOf))
        #expect(!Features(answer).hasActiveFeature(with: "pro", at: asOf))
    }

    @Test func `a revoked feature has priority over the device's own value`() {
        let device = PaidFeatures(features: [PaidFeature(name: "pro", originalTransactionID: "2")])
        let server = PaidFeatures(customer([feature(isActive: false, original: "2")]))
        #expect(!device.merged(with: server).hasActiveFeature(with: "pro", at: asOf))
    }

    @Test func `a feature that has not begun keeps its end`() {
        let answer = customer([feature(isActive: false, from: 10, effectiveUntil: 20)])
        #expect(!Features(answer).hasActiveFeature(with: "pro", at: asOf))
        #expect(Features(answer).hasActiveFeature(with: "pro", at: asOf.addingTimeInterval(15)))
    }
}
