import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// The consumption information of an app's server about a purchase, in either version of Apple's request.
struct ConsumptionReport: Sendable, Hashable {
    /// The version of Apple's request: 1 or 2.
    let version: Int
    let members: JSONMembers

    init(_ request: AppStoreServerAPI.ConsumptionRequest) {
        version = 2
        members = request.fields
    }

    init(_ request: AppStoreServerAPI.ConsumptionRequestV1) {
        version = 1
        members = request.fields
    }

    init(version: Int, members: JSONMembers) {
        self.version = version
        self.members = members
    }

    /// Throws `ErrorCode` and `ServerRefusal` unless Apple accepts the report for a transaction of that kind.
    /// Version 1 accepts only consumables and auto-renewable subscriptions.
    func check(for kind: ProductType) throws {
        guard version == 2 || kind == .consumable || kind == .autoRenewableSubscription else {
            throw AppStoreServerAPI.ErrorCode.invalidTransactionTypeNotSupported
        }
        guard members["customerConsented"]?.boolValue == true else {
            throw AppStoreServerAPI.ErrorCode.invalidCustomerConsented
        }
        guard members["sampleContentProvided"]?.boolValue != nil else {
            throw AppStoreServerAPI.ErrorCode.invalidSampleContentProvided
        }
        if version == 1 { try checkVersion1() } else { try checkVersion2(for: kind) }
    }

    private static let numbers: [(member: String, values: ClosedRange<Int>, error: AppStoreServerAPI.ErrorCode)] = [
        ("accountTenure", 0...7, .invalidAccountTenure), ("consumptionStatus", 0...3, .invalidConsumptionStatus),
        ("deliveryStatus", 0...5, .invalidDeliveryStatus),
        ("lifetimeDollarsPurchased", 0...7, .invalidLifetimeDollarsPurchased),
        ("lifetimeDollarsRefunded", 0...7, .invalidLifetimeDollarsRefunded), ("platform", 0...2, .invalidPlatform),
        ("playTime", 0...7, .invalidPlayTime), ("userStatus", 0...4, .invalidUserStatus),
    ]

    private func checkVersion1() throws {
        for (member, values, error) in Self.numbers {
            guard let value = members[member]?.intValue, values.contains(value) else { throw error }
        }
        guard let token = members["appAccountToken"]?.stringValue, token.isEmpty || UUID(text: token) != nil
        else {
            throw AppStoreServerAPI.ErrorCode.invalidAppAccountToken
        }
        if let preference = members["refundPreference"], !(preference.intValue.map((0...3).contains) ?? false) {
            throw Self.invalidPreference
        }
    }

    private func checkVersion2(for kind: ProductType) throws {
        let request = AppStoreServerAPI.ConsumptionRequest(unchecked: members)
        let statuses: [AppStoreServerAPI.DeliveryStatus] = [
            .delivered, .undeliveredQualityIssue, .undeliveredWrongItem, .undeliveredServerOutage, .undeliveredOther,
        ]
        guard let delivery = request.deliveryStatus, statuses.contains(delivery) else {
            throw AppStoreServerAPI.ErrorCode.invalidDeliveryStatus
        }
        let preferences: [AppStoreServerAPI.RefundPreference] = [.decline, .grantFull, .grantProrated]
        guard members["refundPreference"] == nil || request.refundPreference.map(preferences.contains) ?? false else {
            throw Self.invalidPreference
        }
        try check(percentage: members["consumptionPercentage"], delivery, request.refundPreference, of: kind)
    }

    /// Checks the percentage. Apple does not document the error codes for a percentage that is out of range, or for one
    /// of an undelivered product.
    private func check(
        percentage: JSONValue?, _ delivery: AppStoreServerAPI.DeliveryStatus,
        _ preference: AppStoreServerAPI.RefundPreference?, of kind: ProductType
    ) throws {
        if kind == .autoRenewableSubscription {
            guard percentage == nil else {
                throw ServerRefusal(
                    AppStoreServerAPI.ErrorCode(rawValue: 4_000_209),
                    "The use of an auto-renewable subscription is computed; omit consumptionPercentage.")
            }
            return
        }
        let isProrated = preference == .grantProrated
        guard let percentage else {
            guard !isProrated else { throw Self.outOfRange("1 to 99999 with GRANT_PRORATED") }
            return
        }
        guard let value = percentage.intValue, (0...100_000).contains(value) else {
            throw Self.outOfRange("0 to 100000")
        }
        guard delivery == .delivered || value == 0 else {
            throw ServerRefusal(
                .generalBadRequest, "The consumptionPercentage of an undelivered product should be 0.")
        }
        guard !isProrated || (1..<100_000).contains(value) else {
            throw Self.outOfRange("1 to 99999 with GRANT_PRORATED")
        }
    }

    private static func outOfRange(_ range: String) -> ServerRefusal {
        ServerRefusal(.generalBadRequest, "The consumptionPercentage should be \(range).")
    }

    private static let invalidPreference = ServerRefusal(
        AppStoreServerAPI.ErrorCode(rawValue: 4_000_044), "Invalid refundPreference.")
}
