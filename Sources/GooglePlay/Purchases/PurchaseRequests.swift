import Foundation
import Primitives

/// The bodies of requests to the Google Play Developer API, and the responses that are not purchases or orders.
extension AndroidPublisher {
    /// The body of `purchases.products.acknowledge` and `purchases.subscriptions.acknowledge`.
    package struct AcknowledgeRequest: PlayResource {
        package var developerPayload: String?
        /// The account of the customer, for a subscription that was not bought in the app.
        package var externalAccountIds: ExternalAccountIds?

        package init() {}
    }

    package struct ExternalAccountIds: PlayResource {
        package var obfuscatedAccountId: String?
        package var obfuscatedProfileId: String?

        package init() {}
    }

    /// The body of `orders.reviewrefund`.
    package struct ReviewRefundRequest: PlayResource {
        package var pendingRefundToken: String?
        package var refundPreference: RefundPreference?
        /// Whether the customer could try the product before the purchase.
        package var sampleContentProvided: Bool?
        /// The consumed percentage in thousandths of a percent, 0 to 100,000.
        package var consumptionPercentageMilliunits: Int?
        package var consumptionUsageEvents: [ConsumptionUsageEvent]?

        package init() {}
    }

    package typealias RefundPreference = OpenEnum<ReviewRefundRequest>

    /// A use of the product by the customer.
    package struct ConsumptionUsageEvent: PlayResource {
        package var obfuscatedAccountId: String?
        package var obfuscatedProfileId: String?
        package var consumptionTime: Date?
        package var ipAddress: String?
        package var consumptionItemDescription: String?

        package init() {}
    }

    package struct CancelRequest: PlayResource {
        package var cancellationContext: CancellationContext?

        package init() {}
    }

    package struct CancellationContext: PlayResource {
        package var cancellationType: CancellationType?

        package init() {}
    }

    package typealias CancellationType = OpenEnum<CancellationContext>

    package struct RevokeRequest: PlayResource {
        package var revocationContext: RevocationContext?

        package init() {}
    }

    /// Which part of a payment is refunded: exactly one member is present.
    package struct RevocationContext: PlayResource {
        package var fullRefund: Presence?
        package var proratedRefund: Presence?
        package var itemBasedRefund: ItemBasedRefund?

        package init() {}
    }

    package struct ItemBasedRefund: PlayResource {
        package var productId: String?

        package init() {}
    }

    /// The body of `purchases.subscriptionsv2.defer`.
    package struct DeferRequest: PlayResource {
        package var deferralContext: DeferralContext?

        package init() {}
    }

    package struct DeferralContext: PlayResource {
        package var etag: String?
        /// Seconds with the suffix `s`, such as `86400s`.
        package var deferDuration: String?
        package var validateOnly: Bool?

        package init() {}
    }

    package struct DeferResponse: PlayResource {
        package var itemExpiryTimeDetails: [ItemExpiryTime]?

        package init() {}
    }

    package struct ItemExpiryTime: PlayResource {
        package var productId: String?
        package var expiryTime: Date?

        package init() {}
    }

    /// The body of `purchases.subscriptions.defer`.
    package struct DeferRequestV1: PlayResource {
        package var deferralInfo: DeferralInfo?

        package init() {}
    }

    package struct DeferralInfo: PlayResource {
        package var expectedExpiryTimeMillis: Int64Text?
        package var desiredExpiryTimeMillis: Int64Text?

        package init() {}
    }

    package struct DeferResponseV1: PlayResource {
        package var newExpiryTimeMillis: Int64Text?

        package init() {}
    }
}

extension AndroidPublisher.CancellationType {
    package static var userRequestedStopRenewals: Self { Self(rawValue: "USER_REQUESTED_STOP_RENEWALS") }
    package static var developerRequestedStopPayments: Self { Self(rawValue: "DEVELOPER_REQUESTED_STOP_PAYMENTS") }
}

extension AndroidPublisher.RefundPreference {
    package static var decline: Self { Self(rawValue: "DECLINE") }
    package static var approve: Self { Self(rawValue: "APPROVE") }
    package static var neutral: Self { Self(rawValue: "NEUTRAL") }
}
