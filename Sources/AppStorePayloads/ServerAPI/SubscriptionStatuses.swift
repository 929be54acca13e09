import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The response of Get All Subscription Statuses.
    public typealias StatusResponse = AppStorePayload<StatusResponseFields>

    /// The members of ``StatusResponse`` that Apple documents.
    public final class StatusResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(StatusResponseFields())

        /// The environment of the store that answers.
        public let environment = PayloadField<AppStoreEnvironment>("environment")
        /// The bundle identifier of the app.
        public let bundleId = PayloadField<String>("bundleId")
        /// The App Store's number of the app. Absent in the sandbox.
        public let appAppleId = PayloadField<Int>("appAppleId")
        /// The subscriptions, by group.
        public let data = PayloadField<[SubscriptionGroupIdentifierItem]>("data")
    }

    /// The subscriptions of one group.
    public typealias SubscriptionGroupIdentifierItem = AppStorePayload<SubscriptionGroupIdentifierItemFields>

    /// The members of ``SubscriptionGroupIdentifierItem`` that Apple documents.
    public final class SubscriptionGroupIdentifierItemFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(SubscriptionGroupIdentifierItemFields())

        /// The subscription group.
        public let subscriptionGroupIdentifier = PayloadField<String>("subscriptionGroupIdentifier")
        /// The latest transaction of each subscription in the group.
        public let lastTransactions = PayloadField<[LastTransactionsItem]>("lastTransactions")
    }

    /// The latest transaction of one subscription.
    public typealias LastTransactionsItem = AppStorePayload<LastTransactionsItemFields>

    /// The members of ``LastTransactionsItem`` that Apple documents.
    public final class LastTransactionsItemFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(LastTransactionsItemFields())

        /// The status of the subscription.
        public let status = PayloadField<Status>("status")
        /// The identifier of the original transaction.
        public let originalTransactionId = PayloadField<String>("originalTransactionId")
        /// The signed transaction.
        public let signedTransactionInfo = PayloadField<String>("signedTransactionInfo")
        /// The signed renewal info.
        public let signedRenewalInfo = PayloadField<String>("signedRenewalInfo")
    }
}
