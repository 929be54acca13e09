import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The request of Send Consumption Information V1, about a consumable whose customer asks for a refund. Apple wants
    /// every member, `undeclared` where the developer does not know.
    public typealias ConsumptionRequestV1 = AppStorePayload<ConsumptionRequestV1Fields>

    /// The members that Apple documents of ``ConsumptionRequestV1``.
    public struct ConsumptionRequestV1Fields: AppStorePayloadFields {
        public static let layout = PayloadLayout(Self())

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
        /// The customer as the app named them. Apple accepts an empty string, which reads as `nil` and stays in
        /// `fields`.
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

    /// The part of a consumable that was used.
    public struct ConsumptionStatus: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let undeclared = Self(rawValue: 0)
        public static let notConsumed = Self(rawValue: 1)
        public static let partiallyConsumed = Self(rawValue: 2)
        public static let fullyConsumed = Self(rawValue: 3)
    }

    /// The platform on which a consumable was used.
    public struct Platform: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let undeclared = Self(rawValue: 0)
        public static let apple = Self(rawValue: 1)
        public static let nonApple = Self(rawValue: 2)
    }

    /// Whether the app delivered the purchase. Version 2 has `DeliveryStatus`.
    public struct DeliveryStatusV1: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let deliveredAndWorkingProperly = Self(rawValue: 0)
        public static let didNotDeliverDueToQualityIssue = Self(rawValue: 1)
        public static let deliveredWrongItem = Self(rawValue: 2)
        public static let didNotDeliverDueToServerOutage = Self(rawValue: 3)
        public static let didNotDeliverDueToInGameCurrencyChange = Self(rawValue: 4)
        public static let didNotDeliverForOtherReason = Self(rawValue: 5)
    }

    /// The age of the customer's account in the app.
    public struct AccountTenure: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let undeclared = Self(rawValue: 0)
        public static let zeroToThreeDays = Self(rawValue: 1)
        public static let threeDaysToTenDays = Self(rawValue: 2)
        public static let tenDaysToThirtyDays = Self(rawValue: 3)
        public static let thirtyDaysToNinetyDays = Self(rawValue: 4)
        public static let ninetyDaysToOneHundredEightyDays = Self(rawValue: 5)
        public static let oneHundredEightyDaysToThreeHundredSixtyFiveDays = Self(rawValue: 6)
        public static let greaterThanThreeHundredSixtyFiveDays = Self(rawValue: 7)
    }

    /// The time for which the customer has used the app.
    public struct PlayTime: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let undeclared = Self(rawValue: 0)
        public static let zeroToFiveMinutes = Self(rawValue: 1)
        public static let fiveToSixtyMinutes = Self(rawValue: 2)
        public static let oneToSixHours = Self(rawValue: 3)
        public static let sixHoursToTwentyFourHours = Self(rawValue: 4)
        public static let oneDayToFourDays = Self(rawValue: 5)
        public static let fourDaysToSixteenDays = Self(rawValue: 6)
        public static let overSixteenDays = Self(rawValue: 7)
    }

    /// The amount that the customer has spent in the app, on all platforms. Apple's names spell the amounts out.
    public struct LifetimeDollarsPurchased: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let undeclared = Self(rawValue: 0)
        /// 0 USD.
        public static let none = Self(rawValue: 1)
        /// 0.01 to 49.99 USD.
        public static let under50 = Self(rawValue: 2)
        /// 50 to 99.99 USD.
        public static let under100 = Self(rawValue: 3)
        /// 100 to 499.99 USD.
        public static let under500 = Self(rawValue: 4)
        /// 500 to 999.99 USD.
        public static let under1000 = Self(rawValue: 5)
        /// 1000 to 1999.99 USD.
        public static let under2000 = Self(rawValue: 6)
        /// 2000 USD and more.
        public static let over2000 = Self(rawValue: 7)
    }

    /// The amount that the customer was refunded in the app, on all platforms. Apple's names spell the amounts out.
    public struct LifetimeDollarsRefunded: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let undeclared = Self(rawValue: 0)
        /// 0 USD.
        public static let none = Self(rawValue: 1)
        /// 0.01 to 49.99 USD.
        public static let under50 = Self(rawValue: 2)
        /// 50 to 99.99 USD.
        public static let under100 = Self(rawValue: 3)
        /// 100 to 499.99 USD.
        public static let under500 = Self(rawValue: 4)
        /// 500 to 999.99 USD.
        public static let under1000 = Self(rawValue: 5)
        /// 1000 to 1999.99 USD.
        public static let under2000 = Self(rawValue: 6)
        /// 2000 USD and more.
        public static let over2000 = Self(rawValue: 7)
    }

    /// Whether the customer may use the app.
    public struct UserStatus: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let undeclared = Self(rawValue: 0)
        public static let active = Self(rawValue: 1)
        public static let suspended = Self(rawValue: 2)
        public static let terminated = Self(rawValue: 3)
        public static let limitedAccess = Self(rawValue: 4)
    }

    /// The outcome of a refund request that the developer prefers. Version 2 has `RefundPreference`.
    public struct RefundPreferenceV1: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let undeclared = Self(rawValue: 0)
        public static let preferGrant = Self(rawValue: 1)
        public static let preferDecline = Self(rawValue: 2)
        public static let noPreference = Self(rawValue: 3)
    }
}
