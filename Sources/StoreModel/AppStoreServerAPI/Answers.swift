import Foundation
import Primitives

extension AppStoreServerAPI {
    /// The newest transaction of one subscription.
    public struct LastTransactionsItem: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            status: Status? = nil,
            originalTransactionId: String? = nil,
            signedTransactionInfo: String? = nil,
            signedRenewalInfo: String? = nil
        ) {
            fields = [:]
            self.status = status
            self.originalTransactionId = originalTransactionId
            self.signedTransactionInfo = signedTransactionInfo
            self.signedRenewalInfo = signedRenewalInfo
        }

        /// The subscription's state.
        public var status: Status? {
            get { self["status"] }
            set { self["status"] = newValue }
        }

        /// The purchase.
        public var originalTransactionId: String? {
            get { self["originalTransactionId"] }
            set { self["originalTransactionId"] = newValue }
        }

        /// The transaction, signed.
        public var signedTransactionInfo: String? {
            get { self["signedTransactionInfo"] }
            set { self["signedTransactionInfo"] = newValue }
        }

        /// The renewal info, signed.
        public var signedRenewalInfo: String? {
            get { self["signedRenewalInfo"] }
            set { self["signedRenewalInfo"] = newValue }
        }

        public static let schema = PayloadSchema([
            "status": .integer,
            "originalTransactionId": .text,
            "signedTransactionInfo": .text,
            "signedRenewalInfo": .text,
        ])
    }

    /// The subscriptions of one group.
    public struct SubscriptionGroupIdentifierItem: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            subscriptionGroupIdentifier: String? = nil,
            lastTransactions: [LastTransactionsItem]? = nil
        ) {
            fields = [:]
            self.subscriptionGroupIdentifier = subscriptionGroupIdentifier
            self.lastTransactions = lastTransactions
        }

        /// The group.
        public var subscriptionGroupIdentifier: String? {
            get { self["subscriptionGroupIdentifier"] }
            set { self["subscriptionGroupIdentifier"] = newValue }
        }

        /// One for each purchase in it.
        public var lastTransactions: [LastTransactionsItem]? {
            get { self["lastTransactions"] }
            set { self["lastTransactions"] = newValue }
        }

        public static let schema = PayloadSchema([
            "subscriptionGroupIdentifier": .text,
            "lastTransactions": .list(.object(LastTransactionsItem.schema)),
        ])
    }

    /// The answer of Get All Subscription Statuses.
    public struct StatusResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            environment: AppStoreEnvironment? = nil,
            bundleId: String? = nil,
            appAppleId: Int? = nil,
            data: [SubscriptionGroupIdentifierItem]? = nil
        ) {
            fields = [:]
            self.environment = environment
            self.bundleId = bundleId
            self.appAppleId = appAppleId
            self.data = data
        }

        /// The store that answers.
        public var environment: AppStoreEnvironment? {
            get { self["environment"] }
            set { self["environment"] = newValue }
        }

        /// The app.
        public var bundleId: String? {
            get { self["bundleId"] }
            set { self["bundleId"] = newValue }
        }

        /// The App Store's number of the app; absent in the sandbox.
        public var appAppleId: Int? {
            get { self["appAppleId"] }
            set { self["appAppleId"] = newValue }
        }

        /// One for each group.
        public var data: [SubscriptionGroupIdentifierItem]? {
            get { self["data"] }
            set { self["data"] = newValue }
        }

        public static let schema = PayloadSchema([
            "environment": .text,
            "bundleId": .text,
            "appAppleId": .integer,
            "data": .list(.object(SubscriptionGroupIdentifierItem.schema)),
        ])
    }

    /// The answer of Get Transaction History.
    public struct HistoryResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            revision: String? = nil,
            hasMore: Bool? = nil,
            bundleId: String? = nil,
            appAppleId: Int? = nil,
            environment: AppStoreEnvironment? = nil,
            signedTransactions: [String]? = nil
        ) {
            fields = [:]
            self.revision = revision
            self.hasMore = hasMore
            self.bundleId = bundleId
            self.appAppleId = appAppleId
            self.environment = environment
            self.signedTransactions = signedTransactions
        }

        /// Where the next page begins.
        public var revision: String? {
            get { self["revision"] }
            set { self["revision"] = newValue }
        }

        /// Whether there is a next page.
        public var hasMore: Bool? {
            get { self["hasMore"] }
            set { self["hasMore"] = newValue }
        }

        /// The app.
        public var bundleId: String? {
            get { self["bundleId"] }
            set { self["bundleId"] = newValue }
        }

        /// The App Store's number of the app; absent in the sandbox.
        public var appAppleId: Int? {
            get { self["appAppleId"] }
            set { self["appAppleId"] = newValue }
        }

        /// The store that answers.
        public var environment: AppStoreEnvironment? {
            get { self["environment"] }
            set { self["environment"] = newValue }
        }

        /// The page, each transaction signed.
        public var signedTransactions: [String]? {
            get { self["signedTransactions"] }
            set { self["signedTransactions"] = newValue }
        }

        public static let schema = PayloadSchema([
            "revision": .text,
            "hasMore": .boolean,
            "bundleId": .text,
            "appAppleId": .integer,
            "environment": .text,
            "signedTransactions": .list(.text),
        ])
    }

    /// The answer of Get Transaction Info.
    public struct TransactionInfoResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            signedTransactionInfo: String? = nil
        ) {
            fields = [:]
            self.signedTransactionInfo = signedTransactionInfo
        }

        /// The transaction, signed.
        public var signedTransactionInfo: String? {
            get { self["signedTransactionInfo"] }
            set { self["signedTransactionInfo"] = newValue }
        }

        public static let schema = PayloadSchema([
            "signedTransactionInfo": .text
        ])
    }

    /// A refusal of the App Store Server API.
    public struct ErrorResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            errorCode: Int? = nil,
            errorMessage: String? = nil
        ) {
            fields = [:]
            self.errorCode = errorCode
            self.errorMessage = errorMessage
        }

        /// Apple's number of the error.
        public var errorCode: Int? {
            get { self["errorCode"] }
            set { self["errorCode"] = newValue }
        }

        /// What it means.
        public var errorMessage: String? {
            get { self["errorMessage"] }
            set { self["errorMessage"] = newValue }
        }

        public static let schema = PayloadSchema([
            "errorCode": .integer,
            "errorMessage": .text,
        ])
    }
}
