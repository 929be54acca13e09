import Primitives
import StoreModel

/// An app's answer to a promoted purchase, which the customer began in the App Store.
///
/// The enum is closed: these are the three possible answers.
public enum PromotedPurchaseAnswer: String, Sendable {
    /// Continue now: the App Store asks the customer to confirm.
    case buy
    /// Continue later, for example after an introduction to the app. The purchase is among `postponedPurchases` until
    /// it is continued or the app ends, and the `PurchaseClient` of the store offers it.
    case postpone
    /// Do not buy: the customer already has the product, or may not have it.
    case refuse

    /// Returns the default answer: `buy`, unless the customer already has the product or would get a second
    /// subscription.
    ///
    /// - Parameters:
    ///   - promoted: The promoted purchase.
    ///   - product: The product to buy.
    ///   - snapshot: The current state of the store.
    /// - Returns: `buy` or `refuse`.
    public static func unlessOwned(
        _ promoted: PromotedPurchase, of product: ListedProduct, knowing snapshot: StoreSnapshot
    ) -> PromotedPurchaseAnswer {
        if snapshot.allowedProducts.contains(product.id.rawValue) { return .refuse }
        let isSubscribed = snapshot.subscriptionInfo.map { !$0.isExpired } ?? false
        return isSubscribed && product.productType == .autoRenewableSubscription ? .refuse : .buy
    }
}

/// Promoted purchases, which the customer began in the App Store. For each one of a listed product, the app decides
/// whether to buy, postpone or refuse it.
extension Store {
    /// The postponed purchases, in the order in which they were postponed.
    public var postponedPurchases: [PromotedPurchase] { postponed.withLock { $0 } }

    /// Continues a postponed purchase. It is removed from the postponed purchases, whatever its outcome, so a second
    /// call or the purchase client does not find it.
    ///
    /// - Parameter productIdentifier: The product of the purchase.
    /// - Returns: The purchase.
    /// - Throws: `PurchaseError`: `invalidProductForPurchasing` if no purchase of this product is postponed, and the
    ///   errors of `purchaseProduct`.
    @discardableResult
    public func continuePurchase(_ productIdentifier: String) async throws -> StorePurchase {
        let found = postponed.withLock { all -> PromotedPurchase? in
            all.firstIndex { $0.productID.rawValue.hasSameBytes(as: productIdentifier) }.map { all.remove(at: $0) }
        }
        guard let found else {
            throw PurchaseError(.invalidProductForPurchasing, "No purchase of \"\(productIdentifier)\" is postponed.")
        }
        return try await purchase(found.productID, offer: found.offer)
    }

    /// Each purchase when it is postponed. The first reader also receives earlier ones.
    public var postponements: AsyncStream<PromotedPurchase> { newlyPostponed.stream() }

    /// Asks the app for its answer, and acts on it. A purchase is reported as an event and as a completed transaction,
    /// because no caller waits for it.
    func handlePromotedPurchase(_ promoted: PromotedPurchase) async {
        guard let product = list[promoted.productID] else {
            let sentence =
                "The promoted purchase of \(promoted.productID) was refused: it is not in the product list."
            return coordinator.report(.promoted(promoted, .promotedPurchaseRefused, sentence))
        }
        switch await answerPromotion(promoted, product, coordinator.snapshotPublisher.current) {
        case .buy:
            coordinator.report(
                .promoted(
                    promoted, .promotedPurchaseBegun,
                    "The promoted purchase of \(product.id) continues."))
            let purchase = try? await purchase(product.id, offer: promoted.offer)
            if let transaction = purchase?.transaction { complete(transaction) }
        case .postpone:
            postponed.withLock { all in
                all.removeAll { $0.id == promoted.id }
                all.append(promoted)
            }
            newlyPostponed.send(promoted)
            coordinator.report(
                .promoted(
                    promoted, .promotedPurchasePostponed,
                    "The promoted purchase of \(product.id) is postponed."))
        case .refuse:
            coordinator.report(
                .promoted(
                    promoted, .promotedPurchaseRefused,
                    "The promoted purchase of \(product.id) was refused."))
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
