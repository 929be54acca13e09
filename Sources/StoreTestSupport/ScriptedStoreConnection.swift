import BaseTestSupport
import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

/// A store connection with scripted answers, which records its calls.
///
/// It sells every product at once unless `whenPaying` sets another reaction. Unfinished transactions are reported again
/// to the connection of `reconnected()`, as to the same store after a crash of the app.
///
///     let store = ScriptedStoreConnection(products: [.init(id: "pack", kind: .nonConsumable, price: …)])
///     store.whenPaying { payment, store in store.send(.init(paymentID: payment.id, … state: .deferred)) }
public final class ScriptedStoreConnection: StoreConnection {
    /// A recorded call.
    public enum Call: Hashable, Sendable {
        case canMakePayments, storefront, restore, receipt, close
        case ownedTransactions, subscriptionStatuses, appTransaction
        case isEligibleForIntroductoryOffer(String)
        case showManageSubscriptions(String?)
        case beginRefundRequest(TransactionID)
        case products(Set<ProductID>)
        case redeem(OfferCodeRedemption)
        case answer(StoreMessage.ID, StoreMessage.Answer)
        case pay(Payment)
        case finish(TransactionID)
    }

    /// Reacts to a payment.
    public typealias Cashier = @Sendable (Payment, ScriptedStoreConnection) async throws -> Void

    private struct State {
        var products: [StoreProduct]
        var storefront: Storefront
        var unfinished: [StoreTransaction] = []
        var restorable: [StoreTransaction] = []
        var owned: [StoreTransaction] = []
        var statuses: [StoreSubscriptionStatus] = []
        var eligibleGroups: Set<String> = []
        var refundAnswer = RefundRequestStatus.success
        var mayPay = true
        var lastNumber = 0
        var cashier: Cashier = { payment, store in store.sell(payment) }
        var before: @Sendable (Call) async throws -> Void = { _ in }
    }

    /// The calls of all connections to this store.
    package let calls: CallLog<Call>
    public let updates: AsyncStream<StoreUpdate>
    private let state: Locked<State>
    private let notifications = StoreStreams()
    private let listener: AsyncStream<StoreUpdate>.Continuation

    public static let storefront = Storefront(countryCode: "USA", id: "143441", locale: "en_US", currency: "USD")

    /// Creates a store with products.
    public convenience init(products: [StoreProduct] = [], storefront: Storefront = ScriptedStoreConnection.storefront)
    {
        self.init(Locked(State(products: products, storefront: storefront)), CallLog())
    }

    private init(_ state: Locked<State>, _ calls: CallLog<Call>) {
        self.state = state
        self.calls = calls
        (updates, listener) = AsyncStream.makeStream()
        notifications.send(state.withLock { $0.storefront })
        for transaction in state.withLock({ $0.unfinished }) {
            listener.yield(
                StoreUpdate(productID: transaction.productID, state: .purchased(transaction, alreadyOwned: false)))
        }
    }

    /// A new connection to the same store, for example after a crash of the app.
    public func reconnected() -> ScriptedStoreConnection { ScriptedStoreConnection(state, calls) }

    /// Sets the reaction to payments; by default the product is sold at once.
    public func whenPaying(_ cashier: @escaping Cashier) { state.withLock { $0.cashier = cashier } }

    /// Sets a function that runs before the answer to every call except `close`. Its error is thrown to the caller.
    public func before(_ body: @escaping @Sendable (Call) async throws -> Void) { state.withLock { $0.before = body } }

    /// Moves the customer to another storefront, and notifies the observers.
    public func set(storefront: Storefront) {
        state.withLock { $0.storefront = storefront }
        notifications.send(storefront)
    }

    /// Sends the store's current messages to the observers.
    public func set(messages: [StoreMessage]) { notifications.send(messages) }

    /// Begins a promoted purchase of the customer.
    public func promote(_ product: ProductID, offer: PaymentOffer? = nil) {
        notifications.send(PromotedPurchase(productID: product, offer: offer))
    }

    /// Sets the products of the store.
    public func set(products: [StoreProduct]) { state.withLock { $0.products = products } }
    /// Sets the transactions that a restore returns.
    public func set(restorable: [StoreTransaction]) { state.withLock { $0.restorable = restorable } }
    /// Sets the owned transactions.
    public func set(owned: [StoreTransaction]) { state.withLock { $0.owned = owned } }
    /// Sets the latest status of each subscription.
    public func set(statuses: [StoreSubscriptionStatus]) { state.withLock { $0.statuses = statuses } }
    /// Sets the subscription groups in which the customer may get an introductory offer.
    public func set(eligibleGroups: Set<String>) { state.withLock { $0.eligibleGroups = eligibleGroups } }
    /// Sets the result of later refund requests.
    public func set(refundAnswer: RefundRequestStatus) { state.withLock { $0.refundAnswer = refundAnswer } }
    /// Sets whether the device can pay.
    public func set(mayPay: Bool) { state.withLock { $0.mayPay = mayPay } }

    /// The finished transactions in order, with repetitions.
    public var finished: [TransactionID] {
        calls.all.compactMap { if case .finish(let id) = $0 { id } else { nil } }
    }

    /// The payments in order.
    public var payments: [Payment] { calls.all.compactMap { if case .pay(let payment) = $0 { payment } else { nil } } }
    /// The transactions that are not finished.
    public var unfinished: [StoreTransaction] { state.withLock { $0.unfinished } }

    /// Sends an update to the app.
    public func send(_ update: StoreUpdate) { listener.yield(update) }

    /// Sells a product: adds an unfinished transaction and reports it. `id` replaces the payment's id in the report.
    @discardableResult
    public func sell(_ payment: Payment, reportingTo id: PaymentID?? = nil) -> StoreTransaction {
        let transaction = state.withLock { state in
            state.lastNumber += 1
            let kind = state.products.first { $0.id == payment.productID }?.kind ?? .nonConsumable
            let transaction = Self.transaction(
                TransactionID(unchecked: "\(2_000_000_000 + state.lastNumber)"), payment.productID, kind: kind,
                quantity: payment.quantity, appAccountToken: payment.appAccountToken)
            state.unfinished.append(transaction)
            return transaction
        }
        send(
            StoreUpdate(
                paymentID: id ?? payment.id, productID: payment.productID,
                state: .purchased(transaction, alreadyOwned: false)))
        return transaction
    }

    /// A transaction of this store; `signature` distinguishes two signatures of one transaction.
    public static func transaction(
        _ id: TransactionID, _ product: ProductID, kind: ProductType = .nonConsumable, quantity: Int = 1,
        appAccountToken: UUID? = nil, signature: String = "signed"
    ) -> StoreTransaction {
        StoreTransaction(
            id: id, originalID: id, productID: product, kind: kind,
            purchaseDate: Date(timeIntervalSince1970: 1_767_225_600), quantity: quantity,
            appAccountToken: appAccountToken, signedTransaction: "\(signature).\(id)")
    }

    public func canMakePayments() async throws -> Bool {
        try await asked(.canMakePayments)
        return state.withLock { $0.mayPay }
    }

    public func storefront() async throws -> Storefront {
        try await asked(.storefront)
        return state.withLock { $0.storefront }
    }

    public var storefrontUpdates: AsyncStream<Storefront> { notifications.storefronts }
    public var messages: AsyncStream<[StoreMessage]> { notifications.messages }
    public var promotedPurchases: AsyncStream<PromotedPurchase> { notifications.promotedPurchases }

    public func redeem(_ redemption: OfferCodeRedemption) async throws { try await asked(.redeem(redemption)) }

    public func answer(_ message: StoreMessage.ID, with answer: StoreMessage.Answer) async throws {
        try await asked(.answer(message, answer))
    }

    public func products(_ ids: Set<ProductID>) async throws -> ProductAnswer {
        try await asked(.products(ids))
        let known = state.withLock { $0.products }.filter { ids.contains($0.id) }
        return ProductAnswer(products: known, invalidProductIDs: ids.subtracting(known.map(\.id)).sorted())
    }

    public func add(_ payment: Payment) async throws {
        try await asked(.pay(payment))
        try await state.withLock { $0.cashier }(payment, self)
    }

    public func finish(_ transaction: TransactionID) async throws {
        try await asked(.finish(transaction))
        state.withLock { $0.unfinished.removeAll { $0.id == transaction } }
    }

    public func restore() async throws -> [StoreTransaction] {
        try await asked(.restore)
        return state.withLock { $0.restorable }
    }

    public func ownedTransactions() async throws -> [StoreTransaction] {
        try await asked(.ownedTransactions)
        return state.withLock { $0.owned }
    }

    public func subscriptionStatuses() async throws -> [StoreSubscriptionStatus] {
        try await asked(.subscriptionStatuses)
        return state.withLock { $0.statuses }
    }

    public func appTransaction() async throws -> String {
        try await asked(.appTransaction)
        return "signed.app"
    }

    public func isEligibleForIntroductoryOffer(subscriptionGroupID: String) async throws -> Bool {
        try await asked(.isEligibleForIntroductoryOffer(subscriptionGroupID))
        return state.withLock { $0.eligibleGroups.contains(subscriptionGroupID) }
    }

    public func showManageSubscriptions(subscriptionGroupID: String?) async throws {
        try await asked(.showManageSubscriptions(subscriptionGroupID))
    }

    public func beginRefundRequest(for transaction: TransactionID) async throws -> RefundRequestStatus {
        try await asked(.beginRefundRequest(transaction))
        return state.withLock { $0.refundAnswer }
    }

    public func receipt() async throws -> [UInt8]? {
        try await asked(.receipt)
        return nil
    }

    public func close() async {
        calls.record(.close)
        listener.finish()
        notifications.finish()
    }

    private func asked(_ call: Call) async throws {
        calls.record(call)
        try await state.withLock { $0.before }(call)
    }
}
