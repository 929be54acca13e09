import Foundation
import GooglePlay
import Primitives
import SignedData
import StoreModel

/// The conversion of Google Play's purchases to facts: a pure function of a fetch.
extension PlayFetch {
    /// The content of a fetch.
    enum Reading: Sendable {
        /// The payment is not complete. Nothing is sold yet.
        case pending
        /// The payment was never completed.
        case canceled
        case purchased(Purchase)
    }

    /// A purchase whose payment was completed once.
    struct Purchase: Sendable {
        var transaction: TransactionFact
        /// `nil` for a one-time product.
        var renewal: RenewalFact?
        /// Whether Google still awaits the acknowledgement or, for a consumable, the consumption.
        let awaitsAcknowledgement: Bool
        /// The instant at which Google refunds a purchase that is not acknowledged.
        let acknowledgeBy: Date
        /// The instant from which Google may state something else without a notification; `nil` after the end.
        let checkAt: Date?
    }

    /// Google refunds a purchase that is not acknowledged after this time, in seconds.
    private static let acknowledgementTime: TimeInterval = 3 * 86400
    /// A prepaid plan that is shorter must be acknowledged in half of its time.
    private static let shortPlan: TimeInterval = 7 * 86400
    /// The time between two checks of a subscription whose payment failed, in seconds.
    private static let holdCheck: TimeInterval = 86400

    /// Throws `SignedDataError` (`payloadMalformed`) if Google's answer lacks a member that it must have.
    func reading() throws(SignedDataError) -> Reading {
        switch kind {
        case .subscription: try subscriptionReading()
        case .product: try productReading()
        }
    }

    /// Returns the facts of a purchase.
    func facts(of purchase: Purchase, in environment: StoreEnvironment) -> [PresentedFact] {
        let source = source
        var contents = [PresentedFact.Content.transaction(purchase.transaction)]
        if let renewal = purchase.renewal { contents.append(.renewal(renewal)) }
        return contents.map {
            PresentedFact(
                content: $0, environment: environment, format: .googlePlay, source: source,
                orderID: orderID.map(Self.orderWithoutRenewal), index: 0)
        }
    }

    private var transactionDigest: [UInt8] { SHA256.hash(source) }
    private var renewalDigest: [UInt8] { SHA256.hash(Array("renewal\n".utf8) + source) }

    /// Returns the id that all orders of a subscription begin with: the renewals add two periods and a number.
    private static func orderWithoutRenewal(_ id: String) -> String {
        guard let end = id.range(of: "..", options: .backwards) else { return id }
        return String(id[..<end.lowerBound])
    }

    // MARK: - Subscriptions

    private func subscriptionReading() throws(SignedDataError) -> Reading {
        let purchase: AndroidPublisher.SubscriptionPurchaseV2 = try decode(resource, "subscription")
        let state = purchase.subscriptionState
        if state == .pending { return .pending }
        if state == .pendingPurchaseCanceled { return .canceled }
        let item = try subscriptionItem().item
        guard let product = item.productId.flatMap(ProductID.init) else { throw Self.malformed("productId") }
        guard let startedAt = purchase.startTime?.wholeMillisecond else { throw Self.malformed("startTime") }
        guard let expiry = item.expiryTime?.wholeMillisecond else { throw Self.malformed("expiryTime") }
        let payment = try paidOrder(item.latestSuccessfulOrderId, product)
        let service = payment?.line?.subscriptionDetails
        let begin = service?.servicePeriodStartTime?.wholeMillisecond
        var end = expiry
        // Google's expiry time includes the grace period; the order has the end of the time that was paid.
        let paidUntil = service?.servicePeriodEndTime?.wholeMillisecond
        if state == .inGracePeriod, let paidUntil { end = min(end, paidUntil) }
        if let replacedAt { end = min(end, replacedAt) }
        let isTrial = item.offerPhase?.freeTrial != nil
        let isIntroductory = item.offerPhase?.introductoryPrice != nil
        let hasEnded = state == .expired || replacedAt != nil
        let isRefunded = state == .expired && payment?.order.state == .refunded
        let transaction = TransactionFact(
            id: item.latestSuccessfulOrderId.flatMap(TransactionID.init) ?? original, originalID: original,
            productID: product, kind: .autoRenewableSubscription,
            purchaseDate: begin.flatMap { $0 < expiry ? $0 : nil } ?? startedAt, originalPurchaseDate: startedAt,
            expiresDate: end,
            revocationDate: isRefunded ? payment?.refundedAt ?? expiry : nil, isUpgraded: replacedAt != nil,
            appAccountToken: Self.account(
                purchase.externalAccountIdentifiers
                    ?? purchase.outOfAppPurchaseContext?.expiredExternalAccountIdentifiers),
            price: price(of: item, payment), isTrial: isTrial, isIntroductory: isIntroductory,
            offerType: isTrial || isIntroductory ? 1 : nil,
            offerIdentifier: isTrial || isIntroductory ? item.offerDetails?.offerId : nil, source: .googlePlay,
            packageName: packageName.rawValue, replaces: replaced, replacedBy: replacedBy,
            paidUntil: paidUntil == end ? nil : paidUntil, signedDate: beganAt, digest: transactionDigest)
        let renewal = renewal(of: purchase, item, product, expiry, hasEnded: hasEnded)
        let isShort = item.prepaidPlan != nil && expiry.timeIntervalSince(startedAt) < Self.shortPlan
        let time = isShort ? expiry.timeIntervalSince(startedAt) / 2 : Self.acknowledgementTime
        let checkAt: Date? =
            switch state {
            case _ where hasEnded: nil
            case .paused: purchase.pausedStateContext?.autoResumeTime?.wholeMillisecond ?? expiry
            case .onHold: beganAt.addingTimeInterval(Self.holdCheck)
            default: expiry
            }
        return .purchased(
            Purchase(
                transaction: transaction, renewal: renewal,
                awaitsAcknowledgement: purchase.acknowledgementState == .pending && !hasEnded,
                acknowledgeBy: startedAt.addingTimeInterval(time).wholeMillisecond, checkAt: checkAt))
    }

    private func renewal(
        of purchase: AndroidPublisher.SubscriptionPurchaseV2, _ item: AndroidPublisher.SubscriptionLineItem,
        _ product: ProductID, _ expiry: Date, hasEnded: Bool
    ) -> RenewalFact {
        let state = purchase.subscriptionState
        let renews = !hasEnded && state != .canceled && item.autoRenewingPlan?.autoRenewEnabled == true
        let isCommitted = item.autoRenewingPlan?.installmentDetails.map { renews && $0.pendingCancellation == nil }
        let next = item.deferredItemReplacement?.productId.flatMap(ProductID.init) ?? product
        return RenewalFact(
            originalID: original, autoRenews: renews, renewsCommitment: isCommitted, renewsTo: renews ? next : nil,
            gracePeriodExpiresDate: state == .inGracePeriod && !hasEnded ? expiry : nil,
            isInBillingRetry: state == .onHold && !hasEnded, isPaused: state == .paused && !hasEnded,
            cancelledAt: purchase.canceledStateContext?.userInitiatedCancellation?.cancelTime?.wholeMillisecond,
            signedDate: beganAt, digest: renewalDigest)
    }

    /// Returns what was paid for the period. Without an order that is known only for the usual price and a free trial.
    private func price(of item: AndroidPublisher.SubscriptionLineItem, _ payment: Payment?) -> Price? {
        if let payment { return payment.line?.total.flatMap { Self.price($0) } }
        guard let usual = item.autoRenewingPlan?.recurringPrice else { return nil }
        if item.offerPhase?.freeTrial != nil { return Self.price(.zero(usual.currencyCode)) }
        guard item.offerPhase?.introductoryPrice == nil, item.offerPhase?.prorationPeriod == nil else { return nil }
        return Self.price(usual)
    }

    // MARK: - One-time products

    private func productReading() throws(SignedDataError) -> Reading {
        let purchase: AndroidPublisher.ProductPurchaseV2 = try decode(resource, "purchase")
        guard let state = purchase.purchaseStateContext?.purchaseState else { throw Self.malformed("purchaseState") }
        if state == .pending { return .pending }
        let isCancelled = state == .cancelled
        // The state of a purchase does not show each refund.
        let isVoided = isCancelled || voidedAt != nil
        guard isCancelled || state == .purchased else { throw Self.malformed("purchaseState") }
        guard let purchasedAt = purchase.purchaseCompletionTime?.wholeMillisecond else {
            guard isCancelled else { throw Self.malformed("purchaseCompletionTime") }
            return .canceled
        }
        guard let item = purchase.productLineItem?.first, let product = item.productId.flatMap(ProductID.init) else {
            throw Self.malformed("productId")
        }
        let details = item.productOfferDetails
        let bought = details?.quantity ?? 1
        guard TransactionFact.quantities.contains(bought) else { throw Self.malformed("quantity") }
        // A refund of a part of the quantity leaves the rest; the refund of all is a cancelled purchase.
        let rest = details?.refundableQuantity ?? bought
        let isPartial = (1..<bought).contains(rest)
        let isConsumed = details?.consumptionState == .consumed
        let isConsumable = isConsumable || isConsumed
        let payment = try paidOrder(purchase.orderId, product)
        let transaction = TransactionFact(
            id: purchase.orderId.flatMap(TransactionID.init) ?? original, originalID: original, productID: product,
            kind: isConsumable ? .consumable : .nonConsumable, purchaseDate: purchasedAt,
            revocationDate: isVoided ? payment?.refundedAt ?? voidedAt ?? purchasedAt : nil,
            quantity: isPartial ? rest : bought, refundedQuantity: isPartial ? bought - rest : 0,
            appAccountToken: Self.account(purchase.obfuscatedExternalAccountId),
            price: payment?.line?.total.flatMap { Self.price($0, of: bought) }, source: .googlePlay,
            packageName: packageName.rawValue, signedDate: beganAt, digest: transactionDigest)
        return .purchased(
            Purchase(
                transaction: transaction,
                awaitsAcknowledgement: !isVoided
                    && (isConsumable ? !isConsumed : purchase.acknowledgementState == .pending),
                acknowledgeBy: purchasedAt.addingTimeInterval(Self.acknowledgementTime).wholeMillisecond,
                checkAt: nil))
    }

    // MARK: - Parts

    /// The order of the last payment, and its line with the product.
    private struct Payment {
        let order: AndroidPublisher.Order
        let line: AndroidPublisher.OrderLineItem?

        /// The instant at which the payment was refunded in full.
        var refundedAt: Date? {
            (order.orderHistory?.refundEvent?.eventTime ?? order.lastEventTime)?.wholeMillisecond
        }
    }

    /// Returns the order of a payment, if the fetch has it.
    private func paidOrder(_ id: String?, _ product: ProductID) throws(SignedDataError) -> Payment? {
        guard let order, let id else { return nil }
        let decoded: AndroidPublisher.Order = try decode(order, "order")
        guard decoded.orderId?.hasSameBytes(as: id) == true else { return nil }
        let line = decoded.lineItems?.first { $0.productId?.hasSameBytes(as: product.rawValue) == true }
        return Payment(order: decoded, line: line)
    }

    private static func account(_ identifiers: AndroidPublisher.ExternalAccountIdentifiers?) -> UUID? {
        account(identifiers?.obfuscatedExternalAccountId)
    }

    /// Returns the token of the account that the app named: a UUID is the token itself, and another string is the id of
    /// the customer.
    private static func account(_ name: String?) -> UUID? { name.flatMap(CustomerID.init)?.appAccountToken }

    /// Returns the price of one unit, to a millionth; `nil` for a negative amount and for a currency without three
    /// letters.
    private static func price(_ money: AndroidPublisher.Money, of quantity: Int = 1) -> Price? {
        guard money.billionths >= 0, money.currencyCode.utf8.count == 3 else { return nil }
        var (amount, rounded) = (money.amount / Decimal(quantity), Decimal())
        NSDecimalRound(&rounded, &amount, 6, .plain)
        return Price(amount: rounded, currency: money.currencyCode)
    }
}
