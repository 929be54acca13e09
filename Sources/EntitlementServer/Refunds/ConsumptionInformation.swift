import AppStorePayloads
import Foundation
import GooglePlay
import Primitives
import StoreModel

/// The consumption information about one purchase, which the server sends in either version of Apple's request, or as
/// the answer to a review of Google Play.
///
/// Version 1 has codes for ranges of values. Version 1 and Google Play have no prorated refund.
struct ConsumptionInformation: Hashable, Sendable {
    /// 100 percent, in thousandths of a percent.
    static let whole = 100_000

    /// The version of Apple's request: 1 or 2; `nil` for Google Play.
    let version: Int?
    let kind: ProductType
    let preference: AppStoreServerAPI.RefundPreference?
    let deliveryStatus: AppStoreServerAPI.DeliveryStatus
    let sampleContentProvided: Bool
    /// The used part in thousandths of a percent, as version 2 states it.
    let percentage: Int?
    /// The used part in thousandths of a percent, from which version 1 takes its code.
    let usage: Int?
    /// The age of the customer in whole days.
    let tenure: Int?
    /// The time for which the customer used the app, in seconds.
    let playTime: Int?
    /// The refunded amount in USD.
    let refunded: Decimal?
    /// The paid amount in USD.
    let paid: Decimal?

    /// Whether the App Store accepts the information. It refuses a prorated refund of a one-time purchase without the
    /// used part, or with a part of 0 or 100 percent.
    var isAcceptable: Bool {
        guard preference == .grantProrated else { return true }
        guard version == 2 else { return false }
        return kind == .autoRenewableSubscription || percentage.map { (1..<Self.whole).contains($0) } ?? false
    }

    /// The body of the request.
    var body: JSONValue {
        switch version {
        case nil: review
        case 1?: version1.json
        default: version2.json
        }
    }

    /// The body of `orders.reviewrefund`, without the token of the review.
    private var review: JSONValue {
        let preference: AndroidPublisher.RefundPreference =
            switch preference {
            case .decline?: .decline
            case .grantFull?: .approve
            default: .neutral
            }
        var body: JSONValue = [
            "refundPreference": .string(preference.rawValue), "sampleContentProvided": .bool(sampleContentProvided),
        ]
        body["consumptionPercentageMilliunits"] = percentage.map { .number($0) }
        return body
    }

    private var version2: AppStoreServerAPI.ConsumptionRequest {
        AppStoreServerAPI.ConsumptionRequest {
            $0.customerConsented = true
            $0.sampleContentProvided = sampleContentProvided
            $0.deliveryStatus = deliveryStatus
            $0.consumptionPercentage = percentage
            $0.refundPreference = preference
        }
    }

    /// The request of version 1. It does not contain the app account token, which identifies the customer, and Apple
    /// does not need it.
    private var version1: AppStoreServerAPI.ConsumptionRequestV1 {
        var request = AppStoreServerAPI.ConsumptionRequestV1 {
            $0.customerConsented = true
            $0.sampleContentProvided = sampleContentProvided
            $0.deliveryStatus = deliveryCode
            $0.consumptionStatus = consumptionCode
            $0.platform = .undeclared
            $0.accountTenure = Self.code(tenure, [3, 10, 30, 90, 180, 365])
            $0.playTime = Self.code(playTime, [300, 3600, 6 * 3600, 86_400, 4 * 86_400, 16 * 86_400])
            $0.lifetimeDollarsRefunded = Self.dollars(refunded)
            $0.lifetimeDollarsPurchased = Self.dollars(paid)
            $0.userStatus = .undeclared
            $0.refundPreference =
                preference == .decline ? .preferDecline : preference == .grantFull ? .preferGrant : .noPreference
        }
        request.fields["appAccountToken"] = ""
        return request
    }

    private var deliveryCode: AppStoreServerAPI.DeliveryStatusV1 {
        switch deliveryStatus {
        case .delivered: .deliveredAndWorkingProperly
        case .undeliveredQualityIssue: .didNotDeliverDueToQualityIssue
        case .undeliveredWrongItem: .deliveredWrongItem
        case .undeliveredServerOutage: .didNotDeliverDueToServerOutage
        default: .didNotDeliverForOtherReason
        }
    }

    private var consumptionCode: AppStoreServerAPI.ConsumptionStatus {
        guard let usage else { return .undeclared }
        return usage <= 0 ? .notConsumed : usage < Self.whole ? .partiallyConsumed : .fullyConsumed
    }

    /// Returns Apple's code of a value: 1 below the first end, 2 below the second, and so on; 0 for an unknown value.
    private static func code<Value: Comparable>(_ value: Value?, _ ends: [Value]) -> AppStoreServerAPI.ConsumptionCode {
        guard let value else { return .undeclared }
        return .init(rawValue: 1 + (ends.firstIndex { value < $0 } ?? ends.count))
    }

    private static func dollars(_ amount: Decimal?) -> AppStoreServerAPI.ConsumptionCode {
        guard let amount else { return .undeclared }
        return amount <= 0 ? .none : code(amount, [0, 50, 100, 500, 1000, 2000])
    }
}
