import Foundation
import Primitives

extension AppStoreServerAPI {
    /// How much of a consumable was used.
    public struct ConsumptionStatus: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let undeclared = Self(rawValue: 0)
        public static let notConsumed = Self(rawValue: 1)
        public static let partiallyConsumed = Self(rawValue: 2)
        public static let fullyConsumed = Self(rawValue: 3)
    }

    /// Where a consumable was used.
    public struct Platform: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let undeclared = Self(rawValue: 0)
        public static let apple = Self(rawValue: 1)
        public static let nonApple = Self(rawValue: 2)
    }

    /// Whether the customer got what was bought; in version 2 `DeliveryStatus`.
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

    /// How old the customer's account is in the app.
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

    /// How long the customer has used the app.
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

    /// What the customer has spent in the app, everywhere. Apple spells the amounts out in the names.
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

    /// What the customer was given back in the app, everywhere. Apple spells the amounts out in the names.
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

    /// What the developer would have Apple do about a refund request; in version 2 `RefundPreference`.
    public struct RefundPreferenceV1: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let undeclared = Self(rawValue: 0)
        public static let preferGrant = Self(rawValue: 1)
        public static let preferDecline = Self(rawValue: 2)
        public static let noPreference = Self(rawValue: 3)
    }

    /// What Send Consumption Information V1 is told about a consumable whose customer asks for a refund. Apple wants
    /// every member, `undeclared` where the developer does not know.
    public struct ConsumptionRequestV1: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            customerConsented: Bool? = nil,
            consumptionStatus: ConsumptionStatus? = nil,
            platform: Platform? = nil,
            sampleContentProvided: Bool? = nil,
            deliveryStatus: DeliveryStatusV1? = nil,
            appAccountToken: UUID? = nil,
            accountTenure: AccountTenure? = nil,
            playTime: PlayTime? = nil,
            lifetimeDollarsRefunded: LifetimeDollarsRefunded? = nil,
            lifetimeDollarsPurchased: LifetimeDollarsPurchased? = nil,
            userStatus: UserStatus? = nil,
            refundPreference: RefundPreferenceV1? = nil
        ) {
            fields = [:]
            self.customerConsented = customerConsented
            self.consumptionStatus = consumptionStatus
            self.platform = platform
            self.sampleContentProvided = sampleContentProvided
            self.deliveryStatus = deliveryStatus
            self.appAccountToken = appAccountToken
            self.accountTenure = accountTenure
            self.playTime = playTime
            self.lifetimeDollarsRefunded = lifetimeDollarsRefunded
            self.lifetimeDollarsPurchased = lifetimeDollarsPurchased
            self.userStatus = userStatus
            self.refundPreference = refundPreference
        }

        /// Whether the customer agreed to this being told to Apple. Nothing may be sent without.
        public var customerConsented: Bool? {
            get { self["customerConsented"] }
            set { self["customerConsented"] = newValue }
        }

        /// How much of it was used.
        public var consumptionStatus: ConsumptionStatus? {
            get { self["consumptionStatus"] }
            set { self["consumptionStatus"] = newValue }
        }

        /// Where.
        public var platform: Platform? {
            get { self["platform"] }
            set { self["platform"] = newValue }
        }

        /// Whether the customer could try the content, or read what it does, before buying it.
        public var sampleContentProvided: Bool? {
            get { self["sampleContentProvided"] }
            set { self["sampleContentProvided"] = newValue }
        }

        /// Whether the customer got it.
        public var deliveryStatus: DeliveryStatusV1? {
            get { self["deliveryStatus"] }
            set { self["deliveryStatus"] = newValue }
        }

        /// Whom the purchase belongs to, in the app's own books. Apple takes an empty text for nobody: it reads as
        /// `nil` and stays in `fields`.
        public var appAccountToken: UUID? {
            get { self["appAccountToken"] }
            set { self["appAccountToken"] = newValue }
        }

        /// How old the customer's account is.
        public var accountTenure: AccountTenure? {
            get { self["accountTenure"] }
            set { self["accountTenure"] = newValue }
        }

        /// How long the customer has used the app.
        public var playTime: PlayTime? {
            get { self["playTime"] }
            set { self["playTime"] = newValue }
        }

        /// What the customer was given back so far.
        public var lifetimeDollarsRefunded: LifetimeDollarsRefunded? {
            get { self["lifetimeDollarsRefunded"] }
            set { self["lifetimeDollarsRefunded"] = newValue }
        }

        /// What the customer has spent so far.
        public var lifetimeDollarsPurchased: LifetimeDollarsPurchased? {
            get { self["lifetimeDollarsPurchased"] }
            set { self["lifetimeDollarsPurchased"] = newValue }
        }

        /// Whether the customer may use the app.
        public var userStatus: UserStatus? {
            get { self["userStatus"] }
            set { self["userStatus"] = newValue }
        }

        /// What the developer would have Apple do.
        public var refundPreference: RefundPreferenceV1? {
            get { self["refundPreference"] }
            set { self["refundPreference"] = newValue }
        }

        public static let schema = PayloadSchema([
            "customerConsented": .boolean,
            "consumptionStatus": .integer,
            "platform": .integer,
            "sampleContentProvided": .boolean,
            "deliveryStatus": .integer,
            "appAccountToken": .text,
            "accountTenure": .integer,
            "playTime": .integer,
            "lifetimeDollarsRefunded": .integer,
            "lifetimeDollarsPurchased": .integer,
            "userStatus": .integer,
            "refundPreference": .integer,
        ])
    }
}
