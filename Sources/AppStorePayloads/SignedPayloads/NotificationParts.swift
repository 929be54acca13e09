import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The part of a notification about one purchase or one app.
    public typealias NotificationData = AppStorePayload<NotificationDataFields>

    /// The members of ``NotificationData`` that Apple documents.
    public final class NotificationDataFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(NotificationDataFields())

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
        /// The reason why the customer asks for a refund.
        public let consumptionRequestReason = PayloadField<ConsumptionRequestReason>("consumptionRequestReason")
    }

    /// The reason that a customer gives for a refund request.
    public typealias ConsumptionRequestReason = OpenEnum<NotificationDataFields>

    /// The part of a notification about a completed mass extension of renewal dates.
    public typealias NotificationSummary = AppStorePayload<NotificationSummaryFields>

    /// The members of ``NotificationSummary`` that Apple documents.
    public final class NotificationSummaryFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(NotificationSummaryFields())

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
        /// The storefronts of the request as codes of three letters. Absent for all storefronts.
        public let storefrontCountryCodes = PayloadField<[String]>("storefrontCountryCodes")
        /// The number of subscriptions that were not extended.
        public let failedCount = PayloadField<Int>("failedCount")
        /// The number of subscriptions that were extended.
        public let succeededCount = PayloadField<Int>("succeededCount")
    }

    /// A token for purchases outside the App Store that the developer has to report to Apple.
    public typealias ExternalPurchaseToken = AppStorePayload<ExternalPurchaseTokenFields>

    /// The members of ``ExternalPurchaseToken`` that Apple documents.
    public final class ExternalPurchaseTokenFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(ExternalPurchaseTokenFields())

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
    public typealias ExternalPurchaseTokenType = OpenEnum<ExternalPurchaseTokenFields>

    /// The part of a notification about an app transaction.
    public typealias NotificationAppData = AppStorePayload<NotificationAppDataFields>

    /// The members of ``NotificationAppData`` that Apple documents.
    public final class NotificationAppDataFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(NotificationAppDataFields())

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

extension AppStoreServerAPI.ConsumptionRequestReason {
    public static var unintendedPurchase: Self { Self(rawValue: "UNINTENDED_PURCHASE") }
    public static var fulfillmentIssue: Self { Self(rawValue: "FULFILLMENT_ISSUE") }
    public static var unsatisfiedWithPurchase: Self { Self(rawValue: "UNSATISFIED_WITH_PURCHASE") }
    public static var legal: Self { Self(rawValue: "LEGAL") }
    public static var other: Self { Self(rawValue: "OTHER") }
}

extension AppStoreServerAPI.ExternalPurchaseTokenType {
    public static var acquisition: Self { Self(rawValue: "ACQUISITION") }
    public static var services: Self { Self(rawValue: "SERVICES") }
    public static var inApp: Self { Self(rawValue: "IN_APP") }
    public static var linkOut: Self { Self(rawValue: "LINK_OUT") }
}
