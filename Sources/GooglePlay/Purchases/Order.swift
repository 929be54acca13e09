import Foundation
import Primitives

extension AndroidPublisher {
    /// An order: one payment of a subscription, or one purchase of a one-time product.
    package struct Order: PlayResource {
        package var orderId: String?
        package var purchaseToken: String?
        package var state: OrderState?
        package var createTime: Date?
        package var lastEventTime: Date?
        package var buyerAddress: BuyerAddress?
        package var total: Money?
        package var tax: Money?
        package var lineItems: [OrderLineItem]?
        package var orderDetails: OrderDetails?
        package var orderHistory: OrderHistory?
        package var developerRevenueInBuyerCurrency: Money?
        package var salesChannel: String?

        package init() {}
    }

    package typealias OrderState = OpenEnum<Order>

    package struct BuyerAddress: PlayResource {
        package var buyerCountry: String?

        package init() {}
    }

    package struct OrderDetails: PlayResource {
        package var taxInclusive: Bool?

        package init() {}
    }

    package struct OrderLineItem: PlayResource {
        package var productId: String?
        package var productTitle: String?
        package var listingPrice: Money?
        package var total: Money?
        package var tax: Money?
        package var oneTimePurchaseDetails: OneTimePurchaseDetails?
        package var subscriptionDetails: SubscriptionDetails?

        package init() {}
    }

    package struct OneTimePurchaseDetails: PlayResource {
        package var purchaseOptionId: String?
        package var offerId: String?
        package var quantity: Int?

        package init() {}
    }

    package struct SubscriptionDetails: PlayResource {
        package var basePlanId: String?
        package var offerId: String?
        package var offerPhase: String?
        package var servicePeriodStartTime: Date?
        package var servicePeriodEndTime: Date?

        package init() {}
    }

    package struct OrderHistory: PlayResource {
        package var processedEvent: OrderEvent?
        package var cancellationEvent: OrderEvent?
        package var refundEvent: RefundEvent?
        package var partialRefundEvents: [PartialRefundEvent]?

        package init() {}
    }

    package struct OrderEvent: PlayResource {
        package var eventTime: Date?

        package init() {}
    }

    package struct RefundEvent: PlayResource {
        package var eventTime: Date?
        package var refundDetails: RefundDetails?
        package var refundReason: RefundReason?

        package init() {}
    }

    package typealias RefundReason = OpenEnum<RefundEvent>

    package struct PartialRefundEvent: PlayResource {
        package var createTime: Date?
        package var processTime: Date?
        package var state: String?
        package var refundDetails: RefundDetails?

        package init() {}
    }

    package struct RefundDetails: PlayResource {
        package var total: Money?
        package var tax: Money?

        package init() {}
    }

    package struct BatchGetOrdersResponse: PlayResource {
        package var orders: [Order]?

        package init() {}
    }

    /// A purchase that was cancelled, refunded or charged back.
    package struct VoidedPurchase: PlayResource {
        package var kind: String?
        package var orderId: String?
        package var purchaseToken: String?
        package var purchaseTimeMillis: Int64Text?
        package var voidedTimeMillis: Int64Text?
        /// 0 user, 1 developer, 2 Google.
        package var voidedSource: Int?
        /// 0 other, 1 remorse, 2 not received, 3 defective, 4 accidental, 5 fraud, 6 friendly fraud, 7 chargeback,
        /// 8 unacknowledged.
        package var voidedReason: Int?
        /// Present for a refund of a part of the quantity.
        package var voidedQuantity: Int?

        package init() {}

        package static let kind = "androidpublisher#voidedPurchase"
    }

    package struct VoidedPurchasesListResponse: PlayResource {
        package var voidedPurchases: [VoidedPurchase]?
        package var tokenPagination: TokenPagination?

        package init() {}
    }

    package struct TokenPagination: PlayResource {
        package var nextPageToken: String?
        package var previousPageToken: String?

        package init() {}
    }
}

extension AndroidPublisher.OrderState {
    package static var pending: Self { Self(rawValue: "PENDING") }
    package static var processed: Self { Self(rawValue: "PROCESSED") }
    package static var canceled: Self { Self(rawValue: "CANCELED") }
    package static var partiallyRefunded: Self { Self(rawValue: "PARTIALLY_REFUNDED") }
    package static var refunded: Self { Self(rawValue: "REFUNDED") }
}

extension AndroidPublisher.RefundReason {
    package static var other: Self { Self(rawValue: "OTHER") }
    package static var chargeback: Self { Self(rawValue: "CHARGEBACK") }
}
