import Foundation
import GooglePlay
import Primitives
import StoreModel

/// A purchase of a one-time product.
struct PlayProductPurchase: Codable, Sendable, Hashable {
    /// The state of the purchase. The set is closed by Google's resource.
    enum State: Int, Codable, Sendable { case purchased = 0, cancelled = 1, pending = 2 }

    var info: PlayPurchaseInfo
    var optionID: String
    var offerID: String?
    var tags: [String]
    var price: AndroidPublisher.Money
    var quantity: Int
    var state = State.pending
    /// The instant of the order, and of the payment once it was made.
    var purchasedAt: Date
    var isConsumed = false

    /// The number of items that were refunded while the customer keeps the others.
    var refundedQuantity: Int?

    var refundableQuantity: Int {
        state == .cancelled ? 0 : max(0, quantity.subtractingReportingOverflow(refundedQuantity ?? 0).partialValue)
    }
    /// Whether the account owns the product, so that it cannot buy it again.
    var isOwned: Bool { state != .cancelled && !isConsumed }

    var nextChange: Date? { state == .purchased && !info.isAcknowledged ? info.acknowledgeBy : nil }

    /// Refunds a purchase that was not acknowledged in time.
    mutating func step() -> [PlayEffect] {
        guard let due = nextChange else { return [] }
        return void(at: due, source: 2, reason: 8)
    }

    /// Completes a purchase with its payment.
    mutating func complete(at instant: Date) throws(PlayRefusal) -> [PlayEffect] {
        guard state == .pending else { throw Self.notPending }
        state = .purchased
        purchasedAt = instant
        info.begin(at: instant)
        return [.order(order(at: instant)), .productEvent(1, at: instant)]
    }

    /// Ends a purchase that waits for its payment.
    mutating func decline(at instant: Date) throws(PlayRefusal) -> [PlayEffect] {
        guard state == .pending else { throw Self.notPending }
        state = .cancelled
        return [.productEvent(2, at: instant)]
    }

    mutating func acknowledge(_ payload: String?) throws(PlayRefusal) {
        try requirePurchased()
        info.acknowledge(payload)
    }

    /// Consumes the product, which also acknowledges the purchase.
    mutating func consume() throws(PlayRefusal) {
        try requirePurchased()
        guard !isConsumed else {
            throw PlayRefusal("productNotOwnedByUser", "The product was consumed already; the user does not own it.")
        }
        isConsumed = true
        info.acknowledge(nil)
    }

    /// Refunds some of the items, or takes the product from the account if none is left.
    mutating func refund(_ count: Int, at instant: Date, source: Int) throws(PlayRefusal) -> [PlayEffect] {
        guard state == .purchased, count >= 1, count <= refundableQuantity else {
            throw PlayRefusal(
                "invalidValue",
                "The quantity of a refund should be 1 to the refundable quantity, \(refundableQuantity).")
        }
        guard count < refundableQuantity else { return void(at: instant, source: source, reason: 0) }
        refundedQuantity = (refundedQuantity ?? 0) + count
        var refund = PlayRefund(info.orderID, at: instant, voided: (source, 0))
        refund.quantity = count
        refund.numerator = Int64(count)
        refund.denominator = Int64(quantity)
        return [.refund(refund)]
    }

    /// Takes the product from the account and refunds its order.
    mutating func void(
        at instant: Date, source: Int, reason: Int, chargeback: Bool = false
    ) -> [PlayEffect] {
        var refund = PlayRefund(info.orderID, at: instant, voided: (source, reason))
        if chargeback { refund.reason = .chargeback }
        state = .cancelled
        return [.refund(refund)]
    }

    private func requirePurchased() throws(PlayRefusal) {
        switch state {
        case .purchased: return
        case .pending:
            throw PlayRefusal(
                "productNotOwnedByUser", "The purchase is pending; the user does not own the product yet.")
        case .cancelled:
            throw PlayRefusal("productNotOwnedByUser", "The purchase was cancelled; the user does not own the product.")
        }
    }

    private static let notPending = PlayRefusal("invalidPurchaseState", "The purchase does not wait for its payment.")

    private func order(at instant: Date) -> AndroidPublisher.Order {
        .processed(info, orderID: info.orderID, price: price, total: price.multiplied(by: quantity), at: instant) {
            $0.oneTimePurchaseDetails = AndroidPublisher.OneTimePurchaseDetails {
                $0.purchaseOptionId = optionID
                $0.offerId = offerID
                $0.quantity = quantity
            }
        }
    }
}

extension AndroidPublisher.Money {
    /// Returns the price of several items. A catalogue's prices and quantities cannot overflow.
    func multiplied(by count: Int) -> Self {
        let (product, overflows) = billionths.multipliedReportingOverflow(by: Int64(count))
        return Self(currencyCode: currencyCode, billionths: overflows ? .max : product)
    }
}

extension AndroidPublisher.Order {
    /// Creates an order that was paid at `instant`.
    static func processed(
        _ info: PlayPurchaseInfo, orderID: String, price: AndroidPublisher.Money, total: AndroidPublisher.Money,
        at instant: Date, _ details: (inout AndroidPublisher.OrderLineItem) -> Void
    ) -> AndroidPublisher.Order {
        AndroidPublisher.Order {
            $0.orderId = orderID
            $0.purchaseToken = info.token
            $0.state = .processed
            $0.createTime = instant.wholeMilliseconds
            $0.lastEventTime = instant.wholeMilliseconds
            $0.buyerAddress = AndroidPublisher.BuyerAddress { $0.buyerCountry = info.regionCode }
            $0.total = total
            $0.tax = .zero(total.currencyCode)
            $0.developerRevenueInBuyerCurrency = total
            $0.orderDetails = AndroidPublisher.OrderDetails { $0.taxInclusive = true }
            $0.salesChannel = "IN_APP"
            $0.orderHistory = AndroidPublisher.OrderHistory {
                $0.processedEvent = AndroidPublisher.OrderEvent { $0.eventTime = instant.wholeMilliseconds }
            }
            $0.lineItems = [
                AndroidPublisher.OrderLineItem {
                    $0.productId = info.productID.rawValue
                    $0.productTitle = info.title
                    $0.listingPrice = price
                    $0.total = total
                    $0.tax = .zero(total.currencyCode)
                    details(&$0)
                }
            ]
        }
    }

    /// Refunds the order. Returns `false` if nothing is left to refund.
    mutating func refund(_ refund: PlayRefund) -> Bool {
        guard state == .processed || state == .partiallyRefunded, let total else { return false }
        let instant = refund.at.wholeMilliseconds
        let rest = developerRevenueInBuyerCurrency ?? total
        let part = total.share(refund.numerator, of: refund.denominator) ?? rest
        let isFull = refund.numerator == refund.denominator || part.billionths >= rest.billionths
        let amount = isFull ? rest : part
        let details = AndroidPublisher.RefundDetails {
            $0.total = amount
            $0.tax = .zero(total.currencyCode)
        }
        developerRevenueInBuyerCurrency = rest.subtracting(amount) ?? .zero(total.currencyCode)
        lastEventTime = instant
        state = isFull ? .refunded : .partiallyRefunded
        if isFull {
            orderHistory?.refundEvent = AndroidPublisher.RefundEvent {
                $0.eventTime = instant
                $0.refundDetails = details
                $0.refundReason = refund.reason
            }
        } else {
            let event = AndroidPublisher.PartialRefundEvent {
                $0.createTime = instant
                $0.processTime = instant
                $0.state = "PROCESSED_SUCCESSFULLY"
                $0.refundDetails = details
            }
            let earlier = orderHistory?.partialRefundEvents ?? []
            orderHistory?.partialRefundEvents = earlier + [event]
        }
        return true
    }
}
