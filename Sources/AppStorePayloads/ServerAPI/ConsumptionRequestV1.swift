import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The request of Send Consumption Information V1, about a consumable or an auto-renewable subscription whose
    /// customer requests a refund. Apple requires every member except `refundPreference`. For an unknown value it takes
    /// `undeclared`.
    public typealias ConsumptionRequestV1 = AppStorePayload<ConsumptionRequestV1Fields>

    /// The members of ``ConsumptionRequestV1`` that Apple documents.
    public final class ConsumptionRequestV1Fields: AppStorePayloadFields {
        public static let layout = PayloadLayout(ConsumptionRequestV1Fields())

        /// Whether the customer consented to sending this to Apple. Apple refuses the request without consent.
        public let customerConsented = PayloadField<Bool>("customerConsented")
        /// The part of the consumable that was used.
        public let consumptionStatus = PayloadField<ConsumptionStatus>("consumptionStatus")
        /// The platform on which the consumable was used.
        public let platform = PayloadField<Platform>("platform")
        /// Whether the customer could try the content, or read a description of it, before the purchase.
        public let sampleContentProvided = PayloadField<Bool>("sampleContentProvided")
        /// Whether the app delivered the purchase.
        public let deliveryStatus = PayloadField<DeliveryStatusV1>("deliveryStatus")
        /// The app account token, which names the customer. Apple accepts an empty string, which reads as `nil` and
        /// stays in `fields`.
        public let appAccountToken = PayloadField<UUID>("appAccountToken")
        /// The age of the customer's account.
        public let accountTenure = PayloadField<AccountTenure>("accountTenure")
        /// The time for which the customer has used the app.
        public let playTime = PayloadField<PlayTime>("playTime")
        /// The amount that the customer was refunded so far.
        public let lifetimeDollarsRefunded = PayloadField<LifetimeDollarsRefunded>("lifetimeDollarsRefunded")
        /// The amount that the customer has spent so far.
        public let lifetimeDollarsPurchased = PayloadField<LifetimeDollarsPurchased>("lifetimeDollarsPurchased")
        /// Whether the customer may use the app.
        public let userStatus = PayloadField<UserStatus>("userStatus")
        /// The outcome that the developer prefers.
        public let refundPreference = PayloadField<RefundPreferenceV1>("refundPreference")
    }

    /// A code in a ``ConsumptionRequestV1``: a small number, whose meaning depends on the member. `undeclared`, 0, is
    /// an unknown value, except in `deliveryStatus`, where 0 means delivered.
    public typealias ConsumptionCode = OpenCode<ConsumptionRequestV1Fields>

    /// The part of a consumable that was used.
    public typealias ConsumptionStatus = ConsumptionCode

    /// The platform on which a consumable was used.
    public typealias Platform = ConsumptionCode

    /// Whether the app delivered the purchase. Version 2 has `DeliveryStatus`.
    public typealias DeliveryStatusV1 = ConsumptionCode

    /// The age of the customer's account in the app.
    public typealias AccountTenure = ConsumptionCode

    /// The time for which the customer has used the app.
    public typealias PlayTime = ConsumptionCode

    /// The amount that the customer has spent in the app, on all platforms. The names of the values are shorter than
    /// Apple's, which contain the amounts in words.
    public typealias LifetimeDollarsPurchased = ConsumptionCode

    /// The amount that the customer was refunded in the app, on all platforms. It has the values of
    /// `LifetimeDollarsPurchased`.
    public typealias LifetimeDollarsRefunded = ConsumptionCode

    /// Whether the customer may use the app.
    public typealias UserStatus = ConsumptionCode

    /// The outcome of a refund request that the developer prefers. Version 2 has `RefundPreference`.
    public typealias RefundPreferenceV1 = ConsumptionCode
}

extension AppStoreServerAPI.ConsumptionStatus {
    public static var undeclared: Self { Self(rawValue: 0) }
    public static var notConsumed: Self { Self(rawValue: 1) }
    public static var partiallyConsumed: Self { Self(rawValue: 2) }
    public static var fullyConsumed: Self { Self(rawValue: 3) }
}

extension AppStoreServerAPI.Platform {
    public static var apple: Self { Self(rawValue: 1) }
    public static var nonApple: Self { Self(rawValue: 2) }
}

extension AppStoreServerAPI.DeliveryStatusV1 {
    public static var deliveredAndWorkingProperly: Self { Self(rawValue: 0) }
    public static var didNotDeliverDueToQualityIssue: Self { Self(rawValue: 1) }
    public static var deliveredWrongItem: Self { Self(rawValue: 2) }
    public static var didNotDeliverDueToServerOutage: Self { Self(rawValue: 3) }
    public static var didNotDeliverDueToInGameCurrencyChange: Self { Self(rawValue: 4) }
    public static var didNotDeliverForOtherReason: Self { Self(rawValue: 5) }
}

extension AppStoreServerAPI.AccountTenure {
    public static var zeroToThreeDays: Self { Self(rawValue: 1) }
    public static var threeDaysToTenDays: Self { Self(rawValue: 2) }
    public static var tenDaysToThirtyDays: Self { Self(rawValue: 3) }
    public static var thirtyDaysToNinetyDays: Self { Self(rawValue: 4) }
    public static var ninetyDaysToOneHundredEightyDays: Self { Self(rawValue: 5) }
    public static var oneHundredEightyDaysToThreeHundredSixtyFiveDays: Self { Self(rawValue: 6) }
    public static var greaterThanThreeHundredSixtyFiveDays: Self { Self(rawValue: 7) }
}

extension AppStoreServerAPI.PlayTime {
    public static var zeroToFiveMinutes: Self { Self(rawValue: 1) }
    public static var fiveToSixtyMinutes: Self { Self(rawValue: 2) }
    public static var oneToSixHours: Self { Self(rawValue: 3) }
    public static var sixHoursToTwentyFourHours: Self { Self(rawValue: 4) }
    public static var oneDayToFourDays: Self { Self(rawValue: 5) }
    public static var fourDaysToSixteenDays: Self { Self(rawValue: 6) }
    public static var overSixteenDays: Self { Self(rawValue: 7) }
}

extension AppStoreServerAPI.LifetimeDollarsPurchased {
    /// 0 USD.
    public static var none: Self { Self(rawValue: 1) }
    /// 0.01 to 49.99 USD.
    public static var under50: Self { Self(rawValue: 2) }
    /// 50 to 99.99 USD.
    public static var under100: Self { Self(rawValue: 3) }
    /// 100 to 499.99 USD.
    public static var under500: Self { Self(rawValue: 4) }
    /// 500 to 999.99 USD.
    public static var under1000: Self { Self(rawValue: 5) }
    /// 1000 to 1999.99 USD.
    public static var under2000: Self { Self(rawValue: 6) }
    /// 2000 USD and more.
    public static var over2000: Self { Self(rawValue: 7) }
}

extension AppStoreServerAPI.UserStatus {
    public static var active: Self { Self(rawValue: 1) }
    public static var suspended: Self { Self(rawValue: 2) }
    public static var terminated: Self { Self(rawValue: 3) }
    public static var limitedAccess: Self { Self(rawValue: 4) }
}

extension AppStoreServerAPI.RefundPreferenceV1 {
    public static var preferGrant: Self { Self(rawValue: 1) }
    public static var preferDecline: Self { Self(rawValue: 2) }
    public static var noPreference: Self { Self(rawValue: 3) }
}
