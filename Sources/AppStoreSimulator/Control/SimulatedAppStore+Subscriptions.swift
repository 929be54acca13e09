import SimulatorControl
import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

/// What becomes of a subscription. Each names it by a product of its group, throws `unknownAccount` and
/// `unknownSubscription`, and returns its latest transaction.
extension SimulatedAppStore {
    /// Sells the next period now instead of when it is due. Throws `notNow` where the store would not sell it: auto-renewal
    /// is off, its payments fail, the product is withdrawn, or a higher price has not been agreed to.
    @discardableResult
    public func renew(_ product: ProductID, for account: AccountName) async throws -> StoreControlWire.Transaction {
        try await change(product, for: account) { entry, course in try entry.life.renew(course, at: entry.now) }
    }

    /// Turns auto-renewal on again, to `plan` if one is given. Throws `otherGroup`.
    @discardableResult
    public func resume(
        _ product: ProductID, renewingTo plan: ProductID? = nil, for account: AccountName
    ) async throws -> StoreControlWire.Transaction {
        try await change(product, for: account) { entry, course in
            try entry.life.resume(course, renewingTo: plan, at: entry.now)
        }
    }

    /// Ends the current period now.
    @discardableResult
    public func expire(_ product: ProductID, for account: AccountName) async throws -> StoreControlWire.Transaction {
        try await change(product, for: account) { StoreLife.expire($1, at: $0.now) }
    }

    /// Lets its payments fail from now on: at the next renewal comes the grace period, if there is one, then billing retry.
    @discardableResult
    public func failBilling(
        _ product: ProductID, for account: AccountName
    ) async throws -> StoreControlWire.Transaction {
        try await change(product, for: account) { StoreLife.setPaymentsFail(true, $1, at: $0.now) }
    }

    /// Lets its payments work again; what is being retried is paid now. Throws `notNow` while the setting `renewalsFail` is
    /// on, which nobody can pay.
    @discardableResult
    public func resolveBilling(
        _ product: ProductID, for account: AccountName
    ) async throws -> StoreControlWire.Transaction {
        try await change(product, for: account) { entry, course in
            guard !entry.conditions.paymentsFail(at: entry.now) else {
                throw SimulatorError(
                    .notNow, "Every renewal fails; turn the setting \(StoreSetting.renewalsFail.name) off first.")
            }
            return StoreLife.setPaymentsFail(false, course, at: entry.now)
        }
    }

    /// The customer's answer to a higher price; who does not agree no longer renews. Throws `nothingToAnswer`.
    @discardableResult
    public func answerPriceIncrease(
        of product: ProductID, agreeing agrees: Bool, for account: AccountName
    ) async throws -> StoreControlWire.Transaction {
        try await change(product, for: account) { entry, course in
            guard let record = StoreLife.answerPriceIncrease(course, isAccepted: agrees, at: entry.now) else {
                throw SimulatorError(
                    .nothingToAnswer, "No higher price of \(product) waits for an answer of \(account).")
            }
            return record
        }
    }

    /// Changes the account's running subscription of `product`, or that is to become it. Returns its latest transaction.
    func change(
        _ product: ProductID, for name: AccountName,
        _ change: @escaping @Sendable (BookEntry, Course) throws -> SubscriptionRecord?
    ) async throws -> StoreControlWire.Transaction {
        let sale = try await enter({ try $0.known(name) }) { entry in
            let course = try entry.runningSubscription(of: product)
            guard let record = try change(entry, course) else { return entry.sale(of: course) }
            try entry.record([.subscription(record)])
            return entry.sale(of: entry.course(of: record))
        }
        return try describe(sale)
    }

    /// All subscriptions of an account, those that share a family's among them, oldest first. Throws `unknownAccount`.
    public func subscriptions(of account: AccountName) async throws -> [StoreControlWire.Subscription] {
        let (sales, owners) = try look({ try $0.known(account) }) { books, account, now in
            let conditions = try books.conditions()
            var owners: [Int64: AccountName] = [:]
            let sales = try books.subscriptions(of: account.id).map { record in
                let course = Course(of: record, under: conditions, at: now)
                if let owner = try record.share.flatMap({ try books.subscription($0.ownerOriginalID)?.accountID }) {
                    owners[record.originalID] = try books.account(owner)?.name
                }
                return Sale(transaction: course.latest, course: course, account: account, now: now)
            }
            return (sales, owners)
        }
        return try sales.compactMap { sale in
            try sale.course.map { course in
                StoreControlWire.Subscription(
                    course, sharedBy: owners[course.record.originalID], signed: try describe(sale))
            }
        }
    }

    // MARK: - For all who subscribe

    /// A higher price from the next renewal on. Throws `unknownProduct`, `invalidValue` for a price that is not higher.
    ///
    /// `price` is a decimal such as `5.99`, in the currency of the catalogue's storefront. A subscription whose customer does
    /// not agree ends, unless `needsConsent` is false.
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
            throw SimulatorError(.invalidValue, "\(product) is no subscription; only those have price increases.")
        }
        let amount = JSONNumber(text: price.price)?.decimal
        let increase = try await enterAll { books, now in
            let current = try books.conditions().price(of: product, at: now) ?? item.price
            guard let amount, amount > current.amount, amount < 1_000_000_000 else {
                throw SimulatorError(
                    .invalidValue,
                    "The price should be a number above \(current.amount), as in \"\(current.amount + 1)\".")
            }
            let price = Conditions.PriceIncrease(
                productID: product, at: now, price: Price(amount: amount, currency: current.currency),
                needsConsent: price.needsConsent ?? true)
            try books.add(price)
            return price
        }
        return StoreControlWire.PriceIncrease(increase)
    }

    /// The increases there were, oldest first.
    public func priceIncreases() throws -> [(productID: ProductID, at: Date, price: Price, needsConsent: Bool)] {
        try database.read { sql in
            try Books(sql).conditions().priceIncreases.map(StoreControlWire.PriceIncrease.init)
        }.map { ($0.productID, $0.at, $0.price, $0.needsConsent) }
    }

    /// Sells a product no longer, or again; its subscriptions end with their period. Throws `unknownProduct`.
    public func setWithdrawn(_ product: ProductID, _ isWithdrawn: Bool) async throws {
        _ = try item(product)
        try await enterAll { books, now in
            guard try books.conditions().isWithdrawn(product, at: now) != isWithdrawn else { return }
            try books.setWithdrawn(isWithdrawn, product, at: now)
        }
    }

    private func item(_ product: ProductID) throws -> CatalogueItem {
        guard let item = configuration.catalogue[product] else {
            throw SimulatorError(.unknownProduct, "The store does not sell \(product).")
        }
        return item
    }

    /// The products as they are sold now: at their latest price, and without those that are withdrawn.
    func current(_ products: [StoreProduct], in storefront: Storefront) throws -> [StoreProduct] {
        let conditions = try database.read { try Books($0).conditions() }
        guard !conditions.priceIncreases.isEmpty || !conditions.withdrawals.isEmpty else { return products }
        let writer = PriceWriter(storefront: storefront)
        return products.filter { !conditions.isWithdrawn($0.id, at: .distantFuture) }.map { product in
            guard let price = conditions.price(of: product.id, at: .distantFuture) else { return product }
            var product = product
            product.price.amount = price.amount
            product.displayPrice = writer.text(price.amount)
            return product
        }
    }
}

extension StoreControlWire.Subscription {
    init(_ course: Course, sharedBy: AccountName?, signed: StoreControlWire.Transaction) {
        let status: Status =
            switch course.status {
            case .active: .active
            case .expired: .expired
            case .billingRetry: .billingRetry
            case .gracePeriod: .gracePeriod
            case .revoked: .revoked
            }
        self.init(
            originalTransactionID: signed.originalTransactionID, transactionID: signed.transactionID,
            productID: signed.productID, groupID: course.record.groupID, status: status,
            startedAt: course.record.startedAt.wholeMilliseconds,
            expiresAt: course.expiresDate.wholeMilliseconds, autoRenews: course.autoRenews,
            renewsTo: course.nextSale().plan.productID, gracePeriodUntil: course.graceEnd?.wholeMilliseconds,
            billingRetryUntil: course.retryEnd?.wholeMilliseconds,
            revokedAt: course.status == .revoked
                ? (course.latest.revocation?.at ?? course.changedAt).wholeMilliseconds : nil,
            expirationIntent: course.expirationIntent?.rawValue,
            priceIncrease: course.increase == nil ? nil : course.hasConsented ? "agreed" : "pending",
            sharedBy: sharedBy?.rawValue, signedTransaction: signed.signedTransaction,
            signedRenewalInfo: signed.signedRenewalInfo ?? "")
    }
}

extension StoreControlWire.PriceIncrease {
    fileprivate init(_ increase: Conditions.PriceIncrease) {
        self.init(
            productID: increase.productID, at: increase.at.wholeMilliseconds, price: increase.price,
            needsConsent: increase.needsConsent)
    }
}
