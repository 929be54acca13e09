import Foundation
import Primitives

extension AppStoreServerAPI {
    /// What a notification about one purchase or one app carries.
    public struct NotificationData: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            appAppleId: Int? = nil,
            bundleId: String? = nil,
            bundleVersion: String? = nil,
            environment: AppStoreEnvironment? = nil,
            signedTransactionInfo: String? = nil,
            signedRenewalInfo: String? = nil,
            status: Status? = nil,
            consumptionRequestReason: ConsumptionRequestReason? = nil
        ) {
            fields = [:]
            self.appAppleId = appAppleId
            self.bundleId = bundleId
            self.bundleVersion = bundleVersion
            self.environment = environment
            self.signedTransactionInfo = signedTransactionInfo
            self.signedRenewalInfo = signedRenewalInfo
            self.status = status
            self.consumptionRequestReason = consumptionRequestReason
        }

        /// The App Store's number of the app; absent in the sandbox.
        public var appAppleId: Int? {
            get { self["appAppleId"] }
            set { self["appAppleId"] = newValue }
        }

        /// The app.
        public var bundleId: String? {
            get { self["bundleId"] }
            set { self["bundleId"] = newValue }
        }

        /// The app's version.
        public var bundleVersion: String? {
            get { self["bundleVersion"] }
            set { self["bundleVersion"] = newValue }
        }

        /// The store that signed.
        public var environment: AppStoreEnvironment? {
            get { self["environment"] }
            set { self["environment"] = newValue }
        }

        /// The transaction, signed by itself.
        public var signedTransactionInfo: String? {
            get { self["signedTransactionInfo"] }
            set { self["signedTransactionInfo"] = newValue }
        }

        /// The renewal info, signed by itself.
        public var signedRenewalInfo: String? {
            get { self["signedRenewalInfo"] }
            set { self["signedRenewalInfo"] = newValue }
        }

        /// The subscription's state.
        public var status: Status? {
            get { self["status"] }
            set { self["status"] = newValue }
        }

        /// Why the customer asks for a refund.
        public var consumptionRequestReason: ConsumptionRequestReason? {
            get { self["consumptionRequestReason"] }
            set { self["consumptionRequestReason"] = newValue }
        }

        public static let schema = PayloadSchema([
            "appAppleId": .integer,
            "bundleId": .text,
            "bundleVersion": .text,
            "environment": .text,
            "signedTransactionInfo": .text,
            "signedRenewalInfo": .text,
            "status": .integer,
            "consumptionRequestReason": .text,
        ])
    }

    /// What a notification about a finished mass extension of renewal dates carries.
    public struct NotificationSummary: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            requestIdentifier: String? = nil,
            appAppleId: Int? = nil,
            bundleId: String? = nil,
            productId: String? = nil,
            environment: AppStoreEnvironment? = nil,
            storefrontCountryCodes: [String]? = nil,
            failedCount: Int? = nil,
            succeededCount: Int? = nil
        ) {
            fields = [:]
            self.requestIdentifier = requestIdentifier
            self.appAppleId = appAppleId
            self.bundleId = bundleId
            self.productId = productId
            self.environment = environment
            self.storefrontCountryCodes = storefrontCountryCodes
            self.failedCount = failedCount
            self.succeededCount = succeededCount
        }

        /// The identifier the developer gave the request.
        public var requestIdentifier: String? {
            get { self["requestIdentifier"] }
            set { self["requestIdentifier"] = newValue }
        }

        /// The App Store's number of the app; absent in the sandbox.
        public var appAppleId: Int? {
            get { self["appAppleId"] }
            set { self["appAppleId"] = newValue }
        }

        /// The app.
        public var bundleId: String? {
            get { self["bundleId"] }
            set { self["bundleId"] = newValue }
        }

        /// The product extended.
        public var productId: String? {
            get { self["productId"] }
            set { self["productId"] = newValue }
        }

        /// The store that signed.
        public var environment: AppStoreEnvironment? {
            get { self["environment"] }
            set { self["environment"] = newValue }
        }

        /// The storefronts asked for, three letters each; absent means all.
        public var storefrontCountryCodes: [String]? {
            get { self["storefrontCountryCodes"] }
            set { self["storefrontCountryCodes"] = newValue }
        }

        /// How many subscriptions were not extended.
        public var failedCount: Int? {
            get { self["failedCount"] }
            set { self["failedCount"] = newValue }
        }

        /// How many were.
        public var succeededCount: Int? {
            get { self["succeededCount"] }
            set { self["succeededCount"] = newValue }
        }

        public static let schema = PayloadSchema([
            "requestIdentifier": .text,
            "appAppleId": .integer,
            "bundleId": .text,
            "productId": .text,
            "environment": .text,
            "storefrontCountryCodes": .list(.text),
            "failedCount": .integer,
            "succeededCount": .integer,
        ])
    }

    /// What a token of a purchase outside the App Store is for.
    public struct ExternalPurchaseTokenType: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let acquisition = Self(rawValue: "ACQUISITION")
        public static let services = Self(rawValue: "SERVICES")
        public static let inApp = Self(rawValue: "IN_APP")
        public static let linkOut = Self(rawValue: "LINK_OUT")
    }

    /// A token of a purchase outside the App Store that awaits its report.
    public struct ExternalPurchaseToken: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            externalPurchaseId: String? = nil,
            tokenCreationDate: Date? = nil,
            appAppleId: Int? = nil,
            bundleId: String? = nil,
            tokenType: ExternalPurchaseTokenType? = nil,
            tokenExpirationDate: Date? = nil
        ) {
            fields = [:]
            self.externalPurchaseId = externalPurchaseId
            self.tokenCreationDate = tokenCreationDate
            self.appAppleId = appAppleId
            self.bundleId = bundleId
            self.tokenType = tokenType
            self.tokenExpirationDate = tokenExpirationDate
        }

        /// The token's identifier; in the sandbox it begins with `SANDBOX`.
        public var externalPurchaseId: String? {
            get { self["externalPurchaseId"] }
            set { self["externalPurchaseId"] = newValue }
        }

        /// When it was made.
        public var tokenCreationDate: Date? {
            get { self["tokenCreationDate"] }
            set { self["tokenCreationDate"] = newValue }
        }

        /// The App Store's number of the app.
        public var appAppleId: Int? {
            get { self["appAppleId"] }
            set { self["appAppleId"] = newValue }
        }

        /// The app.
        public var bundleId: String? {
            get { self["bundleId"] }
            set { self["bundleId"] = newValue }
        }

        /// What the token is for; only tokens of custom links say so.
        public var tokenType: ExternalPurchaseTokenType? {
            get { self["tokenType"] }
            set { self["tokenType"] = newValue }
        }

        /// When a token of a custom link ends.
        public var tokenExpirationDate: Date? {
            get { self["tokenExpirationDate"] }
            set { self["tokenExpirationDate"] = newValue }
        }

        public static let schema = PayloadSchema([
            "externalPurchaseId": .text,
            "tokenCreationDate": .date,
            "appAppleId": .integer,
            "bundleId": .text,
            "tokenType": .text,
            "tokenExpirationDate": .date,
        ])
    }

    /// What a notification about an app transaction carries.
    public struct NotificationAppData: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            appAppleId: Int? = nil,
            bundleId: String? = nil,
            environment: AppStoreEnvironment? = nil,
            signedAppTransactionInfo: String? = nil
        ) {
            fields = [:]
            self.appAppleId = appAppleId
            self.bundleId = bundleId
            self.environment = environment
            self.signedAppTransactionInfo = signedAppTransactionInfo
        }

        /// The App Store's number of the app; absent in the sandbox.
        public var appAppleId: Int? {
            get { self["appAppleId"] }
            set { self["appAppleId"] = newValue }
        }

        /// The app.
        public var bundleId: String? {
            get { self["bundleId"] }
            set { self["bundleId"] = newValue }
        }

        /// The store that signed.
        public var environment: AppStoreEnvironment? {
            get { self["environment"] }
            set { self["environment"] = newValue }
        }

        /// The app transaction, signed by itself.
        public var signedAppTransactionInfo: String? {
            get { self["signedAppTransactionInfo"] }
            set { self["signedAppTransactionInfo"] = newValue }
        }

        public static let schema = PayloadSchema([
            "appAppleId": .integer,
            "bundleId": .text,
            "environment": .text,
            "signedAppTransactionInfo": .text,
        ])
    }
}
