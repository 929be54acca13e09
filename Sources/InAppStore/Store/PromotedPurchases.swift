import Primitives
import StoreModel

/// What an app does with a purchase that the customer has begun in the App Store.
///
/// Closed: the three things that can be done with it.
public enum PromotedPurchaseAnswer: String, Sendable {
    /// Go on with it now: the store asks the customer to confirm.
    case buy
    /// Not now, for example before the app has been introduced: it waits among `postponedPurchases`, for as long as the
    /// app runs, and is offered by the `PurchaseClient` behind which the store is.
    case postpone
    /// Not at all: the customer has it, or may not have it.
    case refuse

    /// What a configuration says unless it is told otherwise: go on, unless the customer would pay for what they have, a
    /// second subscription included.
    public static func unlessOwned(
        _ promoted: PromotedPurchase, of product: ListedProduct, knowing snapshot: StoreSnapshot
    ) -> PromotedPurchaseAnswer {
        if snapshot.allowedProducts.contains(product.id.rawValue) { return .refuse }
        let isSubscribed = snapshot.subscriptionInfo.map { !$0.isExpired } ?? false
        return isSubscribed && product.productType == .autoRenewableSubscription ? .refuse : .buy
    }
}

/// Purchases that the customer has begun in the App Store: each is asked about, and then bought, put off or left.
extension Store {
    /// What was put off, in the order in which it was begun.
    public var postponedPurchases: [PromotedPurchase] { postponed.withLock { $0 } }

    /// Goes on with a purchase that was put off. It is put off no longer, whatever becomes of it; who comes second, here or
    /// at the purchase client, finds nothing.
    ///
    /// Throws `invalidProductForPurchasing` when no purchase of this product was put off, and what `purchaseProduct`
    /// throws.
    @discardableResult
    public func continuePurchase(_ productIdentifier: String) async throws -> StorePurchase {
        let found = postponed.withLock { all -> PromotedPurchase? in
            all.firstIndex { $0.productID.rawValue.hasSameBytes(as: productIdentifier) }.map { all.remove(at: $0) }
        }
        guard let found else {
            throw PurchaseError(.invalidProductForPurchasing, "No purchase of \"\(productIdentifier)\" was put off.")
        }
        return try await purchase(found.productID, offer: found.offer)
    }

    /// Each purchase that is put off, when it is; the first reader also gets those of before.
    public var postponements: AsyncStream<PromotedPurchase> { newlyPostponed.stream() }

    /// Asks the app what to do, and does it. What is bought is told as an event and as a completed transaction, for nobody
    /// waits for it.
    func meet(_ promoted: PromotedPurchase) async {
        guard let product = list[promoted.productID] else {
            let sentence =
                "What the customer began in the App Store, \(promoted.productID), is not in the product list."
            return keeper.report(.promoted(promoted, .promotedPurchaseRefused, sentence))
        }
        switch await answerPromotion(promoted, product, keeper.board.current) {
        case .buy:
            keeper.report(
                .promoted(
                    promoted, .promotedPurchaseBegun,
                    "The purchase of \(product.id) that was begun in the App Store goes on."))
            let purchase = try? await purchase(product.id, offer: promoted.offer)
            if let transaction = purchase?.transaction { complete(transaction) }
        case .postpone:
            postponed.withLock { all in
                all.removeAll { $0.id == promoted.id }
                all.append(promoted)
            }
            newlyPostponed.send(promoted)
            keeper.report(
                .promoted(
                    promoted, .promotedPurchasePostponed,
                    "The purchase of \(product.id) that was begun in the App Store is put off."))
        case .refuse:
            keeper.report(
                .promoted(
                    promoted, .promotedPurchaseRefused,
                    "The purchase of \(product.id) that was begun in the App Store is left."))
        }
    }
}

extension StoreEvent {
    fileprivate static func promoted(
        _ promoted: PromotedPurchase, _ code: PurchaseError.Code, _ sentence: String
    ) -> StoreEvent {
        StoreEvent(kind: .informational, code: code, sentence: sentence, productID: promoted.productID)
    }
}
