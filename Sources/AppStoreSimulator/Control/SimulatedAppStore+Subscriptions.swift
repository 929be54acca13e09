import SimulatorControl
import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

/// Changes to one subscription, or to all subscribers of a product. A function for one subscription finds it by its
/// current or next product, and returns its latest transaction.
extension SimulatedAppStore {
    /// Renews a subscription now, before the renewal is due.
    ///
    /// - Parameters:
    ///   - product: The current or next product of the subscription.
    ///   - account: The account.
    /// - Returns: The latest transaction of the subscription.
    /// - Throws: `SimulatorError` (`unknownAccount`, `unknownSubscription`; `notNow` if the store would not sell the
    ///   period, for example because auto-renewal is off, payments fail, the product is withdrawn, or the customer has
    ///   not agreed to a higher price).
    @discardableResult
    public func renew(_ product: ProductID, for account: AccountName) async throws -> StoreControlWire.Transaction {
        try await change(product, for: account) { event, state in try event.rules.renew(state, at: event.now) }
    }

    /// Turns auto-renewal on again. In a commitment, the next period is the one after the commitment.
    ///
    /// - Parameters:
    ///   - product: The current or next product of the subscription.
    ///   - plan: The product of the next period. `nil` keeps the present one.
    ///   - account: The account.
    /// - Returns: The latest transaction of the subscription.
    /// - Throws: `SimulatorError` (`unknownAccount`, `unknownSubscription`; `otherGroup` for a plan of another group).
    @discardableResult
    public func resume(
        _ product: ProductID, renewingTo plan: ProductID? = nil, for account: AccountName
    ) async throws -> StoreControlWire.Transaction {
        try await resume(StoreControlWire.Resume(productID: product, renewsTo: plan), for: account)
    }

    /// Turns auto-renewal on again. Throws `invalidValue` for a billing plan that the product does not have.
    @discardableResult
    package func resume(
        _ request: StoreControlWire.Resume, for account: AccountName
    ) async throws -> StoreControlWire.Transaction {
        try await change(request.productID, for: account) { event, state in
            try event.rules.resume(state, renewingTo: request.renewsTo, request.billingPlan?.kind, at: event.now)
        }
    }

    /// Ends a subscription now: its current period, or the grace period or billing retry after it.
    ///
    /// - Parameters:
    ///   - product: The current or next product of the subscription.
    ///   - account: The account.
    /// - Returns: The latest transaction of the subscription.
    /// - Throws: `SimulatorError` (`unknownAccount`, `unknownSubscription`).
    @discardableResult
    public func expire(_ product: ProductID, for account: AccountName) async throws -> StoreControlWire.Transaction {
        try await change(product, for: account) { StoreRules.expire($1, at: $0.now) }
    }

    /// Lets the payments of a subscription fail from now on. The next renewal leads to the grace period, if there is
    /// one, and then to billing retry.
    ///
    /// - Parameters:
    ///   - product: The current or next product of the subscription.
    ///   - account: The account.
    /// - Returns: The latest transaction of the subscription.
    /// - Throws: `SimulatorError` (`unknownAccount`, `unknownSubscription`).
    @discardableResult
    public func failBilling(
        _ product: ProductID, for account: AccountName
    ) async throws -> StoreControlWire.Transaction {
        try await change(product, for: account) { StoreRules.setPaymentsFail(true, $1, at: $0.now) }
    }

    /// Lets the payments of a subscription work again. An overdue payment is made now.
    ///
    /// - Parameters:
    ///   - product: The current or next product of the subscription.
    ///   - account: The account.
    /// - Returns: The latest transaction of the subscription.
    /// - Throws: `SimulatorError` (`unknownAccount`, `unknownSubscription`; `notNow` while the setting `renewalsFail`
    ///   is on).
    @discardableResult
    public func resolveBilling(
        _ product: ProductID, for account: AccountName
    ) async throws -> StoreControlWire.Transaction {
        try await change(product, for: account) { event, state in
            guard !event.conditions.paymentsFail(at: event.now) else {
                throw SimulatorError(
                    .notNow, "Every renewal fails; turn the setting \(StoreSetting.renewalsFail.name) off first.")
            }
            return StoreRules.setPaymentsFail(false, state, at: event.now)
        }
    }

    /// Answers a price increase for the customer. Without consent the subscription does not renew.
    ///
    /// - Parameters:
    ///   - product: The current or next product of the subscription.
    ///   - agrees: Whether the customer agrees to the higher price.
    ///   - account: The account.
    /// - Returns: The latest transaction of the subscription.
    /// - Throws: `SimulatorError` (`unknownAccount`, `unknownSubscription`; `nothingToAnswer` if no price increase
    ///   waits for an answer).
    @discardableResult
    public func answerPriceIncrease(
        of product: ProductID, agreeing agrees: Bool, for account: AccountName
    ) async throws -> StoreControlWire.Transaction {
        try await change(product, for: account) { event, state in
            guard let record = StoreRules.answerPriceIncrease(state, isAccepted: agrees, at: event.now) else {
                throw SimulatorError(
                    .nothingToAnswer, "No price increase of \(product) waits for an answer of \(account).")
            }
            return record
        }
    }

    /// Changes the account's running subscription of `product`, or the subscription that renews to `product`. Returns
    /// its latest transaction.
    func change(
        _ product: ProductID, for name: AccountName,
        _ change: @escaping @Sendable (SimulatorEvent, SubscriptionState) throws -> SubscriptionRecord?
    ) async throws -> StoreControlWire.Transaction {
        let sale = try await recordEvent({ try $0.existingAccount(name) }) { event in
            let state = try event.runningSubscription(of: product)
            guard let record = try change(event, state) else { return event.sale(of: state) }
            try event.record([.subscription(record)])
            return event.sale(of: event.state(of: record))
        }
        return try describe(sale)
    }

    /// Returns all subscriptions of an account, including shared ones, oldest first.
    ///
    /// - Parameter account: The account.
    /// - Returns: The subscriptions.
    /// - Throws: `SimulatorError` (`unknownAccount`).
    public func subscriptions(of account: AccountName) async throws -> [StoreControlWire.Subscription] {
        let (sales, owners) = try read({ try $0.existingAccount(account) }) { db, account, now in
            let conditions = try db.conditions()
            var owners: [Int64: AccountName] = [:]
            let sales = try db.subscriptions(of: account.id).map { record in
                let state = SubscriptionState(of: record, under: conditions, at: now)
                if let owner = try record.share.flatMap({ try db.subscription($0.ownerOriginalID)?.accountID }) {
                    owners[record.originalID] = try db.account(owner)?.name
                }
                return Sale(transaction: state.latest, state: state, account: account, now: now)
            }
            return (sales, owners)
        }
        return try sales.compactMap { sale in
            try sale.state.map { state in
                StoreControlWire.Subscription(
                    state, sharedBy: owners[state.record.originalID], signed: try describe(sale))
            }
        }
    }

    /// Increases the price of a subscription: for new subscribers now, and for others from their next renewal.
    ///
    /// - Parameters:
    ///   - product: The product.
    ///   - price: The new price as a decimal such as `5.99`, in the currency of the catalogue's storefront.
    ///   - needsConsent: Whether a subscription ends if its customer does not agree.
    /// - Throws: `SimulatorError` (`unknownProduct`; `invalidValue` for a price that is not higher, and for a product
    ///   that is not a subscription).
    public func increasePrice(of product: ProductID, to price: String, needsConsent: Bool = true) async throws {
        try await increasePrice(
            of: product, StoreControlWire.NewPrice(price: price, needsConsent: needsConsent))
    }

    @discardableResult
    package func increasePrice(
        of product: ProductID, _ price: StoreControlWire.NewPrice
    ) async throws -> StoreControlWire.PriceIncrease {
        let item = try item(product)
        guard item.subscription != nil else {
            throw SimulatorError(
                .invalidValue, "\(product) is not a subscription; only subscriptions have price increases.")
        }
        let plan = price.billingPlan?.kind ?? .upFront
        guard let original = plan == .upFront ? item.price : item.monthlyPlan?.price else {
            throw SimulatorError(.invalidValue, "\(product) has no monthly billing plan.")
        }
        let amount = JSONNumber(text: price.price)?.decimal
        let increase = try await recordStoreEvent { db, now in
            let current = try db.conditions().price(of: product, plan, at: now) ?? original
            guard let amount, amount > current.amount, amount < 1_000_000_000 else {
                throw SimulatorError(
                    .invalidValue,
                    "The price should be a number above \(current.amount), as in \"\(current.amount + 1)\".")
            }
            let price = RenewalConditions.PriceIncrease(
                productID: product, billingPlan: plan, at: now,
                price: Price(amount: amount, currency: current.currency),
                needsConsent: price.needsConsent ?? true)
            try db.add(price)
            return price
        }
        return StoreControlWire.PriceIncrease(increase)
    }

    /// Returns the price increases, oldest first.
    ///
    /// - Returns: Each product, the instant of its increase, the new price, and whether it needs consent.
    /// - Throws: `SQLError` if the database cannot be read.
    public func priceIncreases() throws -> [(productID: ProductID, at: Date, price: Price, needsConsent: Bool)] {
        try database.read { sql in
            try SimulatorDatabase(sql).conditions().priceIncreases.map(StoreControlWire.PriceIncrease.init)
        }.map { ($0.productID, $0.at, $0.price, $0.needsConsent) }
    }

    /// Withdraws a product from sale, or sells it again. Subscriptions to a withdrawn product end with their current
    /// periods.
    ///
    /// - Parameters:
    ///   - product: The product.
    ///   - isWithdrawn: Whether it is withdrawn.
    /// - Throws: `SimulatorError` (`unknownProduct`).
    public func setWithdrawn(_ product: ProductID, _ isWithdrawn: Bool) async throws {
        _ = try item(product)
        try await recordStoreEvent { db, now in
            guard try db.conditions().isWithdrawn(product, at: now) != isWithdrawn else { return }
            try db.setWithdrawn(isWithdrawn, product, at: now)
        }
    }

    private func item(_ product: ProductID) throws -> CatalogueItem {
        guard let item = configuration.catalogue[product] else {
            throw SimulatorError(.unknownProduct, "The store does not sell \(product).")
        }
        return item
    }

    /// Returns the products on sale now, at their latest prices and without withdrawn ones.
    func current(_ products: [StoreProduct], in storefront: Storefront) throws -> [StoreProduct] {
        let conditions = try database.read { try SimulatorDatabase($0).conditions() }
        guard !conditions.priceIncreases.isEmpty || !conditions.withdrawals.isEmpty else { return products }
        let writer = PriceWriter(storefront: storefront)
        return products.filter { !conditions.isWithdrawn($0.id, at: .distantFuture) }.map { product in
            var product = product
            if let price = conditions.price(of: product.id, .monthly, at: .distantFuture) {
                product.subscription?.monthlyPlan?.price.amount = price.amount
            }
            guard let price = conditions.price(of: product.id, at: .distantFuture) else { return product }
            product.price.amount = price.amount
            product.displayPrice = writer.text(price.amount)
            return product
        }
    }
}

extension StoreControlWire.Subscription {
    init(_ state: SubscriptionState, sharedBy: AccountName?, signed: StoreControlWire.Transaction) {
        let status: Status =
            switch state.status {
            case .active: .active
            case .expired: .expired
            case .billingRetry: .billingRetry
            case .gracePeriod: .gracePeriod
            case .revoked: .revoked
            }
        self.init(
            originalTransactionID: signed.originalTransactionID, transactionID: signed.transactionID,
            productID: signed.productID, groupID: state.record.groupID, status: status,
            startedAt: state.record.startedAt.wholeMilliseconds,
            expiresAt: state.expiresDate.wholeMilliseconds, autoRenews: state.autoRenews,
            renewsTo: state.nextTerm().plan.productID,
            commitment: state.latest.commitment.map {
                Commitment(
                    bill: $0.bill, billCount: $0.bills, endsAt: $0.endsAt.wholeMilliseconds, renews: state.renewsTerm)
            }, gracePeriodUntil: state.graceEnd?.wholeMilliseconds,
            billingRetryUntil: state.retryEnd?.wholeMilliseconds,
            revokedAt: state.status == .revoked
                ? (state.latest.revocation?.at ?? state.changedAt).wholeMilliseconds : nil,
            expirationIntent: state.expirationIntent?.rawValue,
            priceIncrease: state.increase == nil ? nil : state.hasConsented ? "agreed" : "pending",
            sharedBy: sharedBy?.rawValue, signedTransaction: signed.signedTransaction,
            signedRenewalInfo: signed.signedRenewalInfo ?? "")
    }
}

extension StoreControlWire.PriceIncrease {
    fileprivate init(_ increase: RenewalConditions.PriceIncrease) {
        self.init(
            productID: increase.productID, at: increase.at.wholeMilliseconds, price: increase.price,
            needsConsent: increase.needsConsent, billingPlan: increase.billingPlan == .monthly ? .monthly : nil)
    }
}

extension StoreControlWire.BillingPlan {
    /// The billing plan in the catalogue.
    var kind: BillingPlan.Kind {
        switch self {
        case .upFront: .upFront
        case .monthly: .monthly
        }
    }
}
