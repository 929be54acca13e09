import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The part of a notification about one purchase or one app.
    public typealias NotificationData = AppStorePayload<NotificationDataFields>

    /// The members that Apple documents of ``NotificationData``.
    public struct NotificationDataFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(Self())

        /// The App Store's number of the app. Absent in the sandbox.
        public let appAppleId = PayloadField<Int>("appAppleId")
        /// The bundle identifier of the app.
        public let bundleId = PayloadField<String>("bundleId")
        /// The version of the app.
        public let bundleVersion = PayloadField<String>("bundleVersion")
        /// The environment of the store that signed.
        public let environment = PayloadField<AppStoreEnvironment>("environment")
        /// The signed transaction.
        public let signedTransactionInfo = PayloadField<String>("signedTransactionInfo")
        /// The signed renewal info.
        public let signedRenewalInfo = PayloadField<String>("signedRenewalInfo")
        /// The status of the subscription.
        public let status = PayloadField<Status>("status")
        /// The reason for which the customer asks for a refund.
        public let consumptionRequestReason = PayloadField<ConsumptionRequestReason>("consumptionRequestReason")
    }

    /// The reason that a customer gives for a refund request.
    public struct ConsumptionRequestReason: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let unintendedPurchase = Self(rawValue: "UNINTENDED_PURCHASE")
        public static let fulfillmentIssue = Self(rawValue: "FULFILLMENT_ISSUE")
        public static let unsatisfiedWithPurchase = Self(rawValue: "UNSATISFIED_WITH_PURCHASE")
        public static let legal = Self(rawValue: "LEGAL")
        public static let other = Self(rawValue: "OTHER")
    }

    /// The part of a notification about a completed mass extension of renewal dates.
    public typealias NotificationSummary = AppStorePayload<NotificationSummaryFields>

    /// The members that Apple documents of ``NotificationSummary``.
    public struct NotificationSummaryFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(Self())

        /// The identifier that the developer chose for the request.
        public let requestIdentifier = PayloadField<String>("requestIdentifier")
        /// The App Store's number of the app. Absent in the sandbox.
        public let appAppleId = PayloadField<Int>("appAppleId")
        /// The bundle identifier of the app.
        public let bundleId = PayloadField<String>("bundleId")
        /// The product whose subscriptions were extended.
        public let productId = PayloadField<String>("productId")
        /// The environment of the store that signed.
        public let environment = PayloadField<AppStoreEnvironment>("environment")
        /// The storefronts of the request, three letters each. Absent for all.
        public let storefrontCountryCodes = PayloadField<[String]>("storefrontCountryCodes")
        /// The number of subscriptions that were not extended.
        public let failedCount = PayloadField<Int>("failedCount")
        /// The number of subscriptions that were extended.
        public let succeededCount = PayloadField<Int>("succeededCount")
    }

    /// A token of a purchase outside the App Store that awaits its report.
    public typealias ExternalPurchaseToken = AppStorePayload<ExternalPurchaseTokenFields>

    /// The members that Apple documents of ``ExternalPurchaseToken``.
    public struct ExternalPurchaseTokenFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(Self())

        /// The identifier of the token. In the sandbox it begins with `SANDBOX`.
        public let externalPurchaseId = PayloadField<String>("externalPurchaseId")
        /// The date on which the token was made.
        public let tokenCreationDate = PayloadField<Date>("tokenCreationDate")
        /// The App Store's number of the app.
        public let appAppleId = PayloadField<Int>("appAppleId")
        /// The bundle identifier of the app.
        public let bundleId = PayloadField<String>("bundleId")
        /// The purpose of the token. Only tokens of custom links have it.
        public let tokenType = PayloadField<ExternalPurchaseTokenType>("tokenType")
        /// The expiry of a token of a custom link.
        public let tokenExpirationDate = PayloadField<Date>("tokenExpirationDate")
    }

    /// The purpose of a token of a purchase outside the App Store.
    public struct ExternalPurchaseTokenType: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let acquisition = Self(rawValue: "ACQUISITION")
        public static let services = Self(rawValue: "SERVICES")
        public static let inApp = Self(rawValue: "IN_APP")
        public static let linkOut = Self(rawValue: "LINK_OUT")
    }

    /// The part of a notification about an app transaction.
    public typealias NotificationAppData = AppStorePayload<NotificationAppDataFields>

    /// The members that Apple documents of ``NotificationAppData``.
    public struct NotificationAppDataFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(Self())

        /// The App Store's number of the app. Absent in the sandbox.
        public let appAppleId = PayloadField<Int>("appAppleId")
        /// The bundle identifier of the app.
        public let bundleId = PayloadField<String>("bundleId")
        /// The environment of the store that signed.
        public let environment = PayloadField<AppStoreEnvironment>("environment")
        /// The signed app transaction.
        public let signedAppTransactionInfo = PayloadField<String>("signedAppTransactionInfo")
    }
}
