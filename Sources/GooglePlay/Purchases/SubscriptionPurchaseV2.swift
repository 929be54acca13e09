import Foundation
import Primitives

extension AndroidPublisher {
    /// The state of a subscription that was bought, from `purchases.subscriptionsv2.get`.
    package struct SubscriptionPurchaseV2: PlayResource {
        package var kind: String?
        package var etag: String?
        package var regionCode: String?
        package var startTime: Date?
        package var subscriptionState: SubscriptionState?
        package var acknowledgementState: AcknowledgementState?
        /// The token of the subscription that this one replaced.
        package var linkedPurchaseToken: String?
        package var lineItems: [SubscriptionLineItem]?
        package var canceledStateContext: CanceledStateContext?
        package var pausedStateContext: PausedStateContext?
        package var inGracePeriodStateContext: DeclinedStateContext?
        package var onHoldStateContext: DeclinedStateContext?
        package var externalAccountIdentifiers: ExternalAccountIdentifiers?
        package var outOfAppPurchaseContext: OutOfAppPurchaseContext?
        package var testPurchase: Presence?

        package init() {}

        package static let kind = "androidpublisher#subscriptionPurchaseV2"
    }

    package typealias SubscriptionState = OpenEnum<SubscriptionPurchaseV2>

    /// A product of a subscription.
    package struct SubscriptionLineItem: PlayResource {
        package var productId: String?
        /// The end of the access, unless it is extended.
        package var expiryTime: Date?
        package var latestSuccessfulOrderId: String?
        package var autoRenewingPlan: AutoRenewingPlan?
        package var prepaidPlan: PrepaidPlan?
        package var offerDetails: OfferDetails?
        package var offerPhase: OfferPhase?
        package var itemReplacement: ItemReplacement?
        package var deferredItemReplacement: DeferredItemReplacement?

        package init() {}
    }

    package struct AutoRenewingPlan: PlayResource {
        package var autoRenewEnabled: Bool?
        package var recurringPrice: Money?
        package var priceChangeDetails: PriceChangeDetails?
        package var priceStepUpConsentDetails: PriceStepUpConsentDetails?
        package var installmentDetails: InstallmentPlan?

        package init() {}
    }

    package struct PriceChangeDetails: PlayResource {
        package var newPrice: Money?
        package var priceChangeMode: PriceChangeMode?
        package var priceChangeState: PriceChangeState?
        package var expectedNewPriceChargeTime: Date?

        package init() {}

        package enum Mode {}
    }

    /// The consent to a higher price that follows an offer, where the law demands one.
    package struct PriceStepUpConsentDetails: PlayResource {
        package var newPrice: Money?
        /// Without a consent until then, the subscription is cancelled.
        package var consentDeadlineTime: Date?
        package var state: PriceStepUpState?

        package init() {}
    }

    package typealias PriceStepUpState = OpenEnum<PriceStepUpConsentDetails>
    package typealias PriceChangeState = OpenEnum<PriceChangeDetails>
    package typealias PriceChangeMode = OpenEnum<PriceChangeDetails.Mode>

    package struct InstallmentPlan: PlayResource {
        package var initialCommittedPaymentsCount: Int?
        package var subsequentCommittedPaymentsCount: Int?
        package var remainingCommittedPaymentsCount: Int?
        package var pendingCancellation: Presence?

        package init() {}
    }

    package struct PrepaidPlan: PlayResource {
        /// The instant from which a top-up is allowed; absent if it never is.
        package var allowExtendAfterTime: Date?

        package init() {}
    }

    package struct OfferDetails: PlayResource {
        package var basePlanId: String?
        package var offerId: String?
        package var offerTags: [String]?

        package init() {}
    }

    /// The phase of an offer: exactly one member is present.
    package struct OfferPhase: PlayResource {
        package var basePrice: Presence?
        package var freeTrial: Presence?
        package var introductoryPrice: Presence?
        package var prorationPeriod: ProrationPeriod?

        package init() {}
    }

    package struct ProrationPeriod: PlayResource {
        package var originalOfferPhaseType: String?

        package init() {}
    }

    package struct ItemReplacement: PlayResource {
        package var productId: String?
        package var basePlanId: String?
        package var offerId: String?
        package var replacementMode: ReplacementMode?

        package init() {}
    }

    package typealias ReplacementMode = OpenEnum<ItemReplacement>

    package struct DeferredItemReplacement: PlayResource {
        package var productId: String?

        package init() {}
    }

    /// Why a subscription was cancelled: exactly one member is present.
    package struct CanceledStateContext: PlayResource {
        package var userInitiatedCancellation: UserCancellation?
        package var systemInitiatedCancellation: Presence?
        package var developerInitiatedCancellation: Presence?
        package var replacementCancellation: Presence?

        package init() {}
    }

    package struct UserCancellation: PlayResource {
        package var cancelTime: Date?
        package var cancelSurveyResult: CancelSurveyResult?

        package init() {}
    }

    package struct CancelSurveyResult: PlayResource {
        package var reason: String?
        package var reasonUserInput: String?

        package init() {}
    }

    package struct PausedStateContext: PlayResource {
        package var autoResumeTime: Date?

        package init() {}
    }

    /// The order whose payment failed, in a grace period or an account hold.
    package struct DeclinedStateContext: PlayResource {
        package var renewalDeclined: RenewalDeclined?

        package init() {}
    }

    package struct RenewalDeclined: PlayResource {
        package var pendingOrderId: String?

        package init() {}
    }

    package struct ExternalAccountIdentifiers: PlayResource {
        package var externalAccountId: String?
        package var obfuscatedExternalAccountId: String?
        package var obfuscatedExternalProfileId: String?

        package init() {}
    }

    package struct OutOfAppPurchaseContext: PlayResource {
        package var expiredExternalAccountIdentifiers: ExternalAccountIdentifiers?
        package var expiredPurchaseToken: String?

        package init() {}
    }

    package enum Acknowledgement {}
    package typealias AcknowledgementState = OpenEnum<Acknowledgement>
}

extension AndroidPublisher.SubscriptionState {
    package static var pending: Self { Self(rawValue: "SUBSCRIPTION_STATE_PENDING") }
    package static var active: Self { Self(rawValue: "SUBSCRIPTION_STATE_ACTIVE") }
    package static var paused: Self { Self(rawValue: "SUBSCRIPTION_STATE_PAUSED") }
    package static var inGracePeriod: Self { Self(rawValue: "SUBSCRIPTION_STATE_IN_GRACE_PERIOD") }
    package static var onHold: Self { Self(rawValue: "SUBSCRIPTION_STATE_ON_HOLD") }
    package static var canceled: Self { Self(rawValue: "SUBSCRIPTION_STATE_CANCELED") }
    package static var expired: Self { Self(rawValue: "SUBSCRIPTION_STATE_EXPIRED") }
    package static var pendingPurchaseCanceled: Self { Self(rawValue: "SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED") }
}

extension AndroidPublisher.AcknowledgementState {
    package static var pending: Self { Self(rawValue: "ACKNOWLEDGEMENT_STATE_PENDING") }
    package static var acknowledged: Self { Self(rawValue: "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED") }
}

extension AndroidPublisher.PriceChangeState {
    package static var outstanding: Self { Self(rawValue: "OUTSTANDING") }
    package static var confirmed: Self { Self(rawValue: "CONFIRMED") }
    package static var applied: Self { Self(rawValue: "APPLIED") }
    package static var canceled: Self { Self(rawValue: "CANCELED") }
}

extension AndroidPublisher.PriceChangeMode {
    package static var decrease: Self { Self(rawValue: "PRICE_DECREASE") }
    package static var increase: Self { Self(rawValue: "PRICE_INCREASE") }
    package static var optOutIncrease: Self { Self(rawValue: "OPT_OUT_PRICE_INCREASE") }
}

extension AndroidPublisher.ReplacementMode {
    package static var withTimeProration: Self { Self(rawValue: "WITH_TIME_PRORATION") }
    package static var chargeProratedPrice: Self { Self(rawValue: "CHARGE_PRORATED_PRICE") }
    package static var withoutProration: Self { Self(rawValue: "WITHOUT_PRORATION") }
    package static var chargeFullPrice: Self { Self(rawValue: "CHARGE_FULL_PRICE") }
    package static var deferred: Self { Self(rawValue: "DEFERRED") }
}

extension AndroidPublisher.PriceStepUpState {
    package static var pending: Self { Self(rawValue: "PENDING") }
    package static var confirmed: Self { Self(rawValue: "CONFIRMED") }
    package static var completed: Self { Self(rawValue: "COMPLETED") }
}
