import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The response of Get Transaction History.
    public typealias HistoryResponse = AppStorePayload<HistoryResponseFields>

    /// The members of ``HistoryResponse`` that Apple documents.
    public final class HistoryResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(HistoryResponseFields())

        /// The token of the next page.
        public let revision = PayloadField<String>("revision")
        /// Whether there is a next page.
        public let hasMore = PayloadField<Bool>("hasMore")
        /// The bundle identifier of the app.
        public let bundleId = PayloadField<String>("bundleId")
        /// The App Store's number of the app. Absent in the sandbox.
        public let appAppleId = PayloadField<Int>("appAppleId")
        /// The environment of the store that answers.
        public let environment = PayloadField<AppStoreEnvironment>("environment")
        /// The signed transactions of this page.
        public let signedTransactions = PayloadField<[String]>("signedTransactions")
    }

    /// The response of Get Transaction Info.
    public typealias TransactionInfoResponse = AppStorePayload<TransactionInfoResponseFields>

    /// The members of ``TransactionInfoResponse`` that Apple documents.
    public final class TransactionInfoResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(TransactionInfoResponseFields())

        /// The signed transaction.
        public let signedTransactionInfo = PayloadField<String>("signedTransactionInfo")
    }

    /// The response of Get App Transaction Info.
    public typealias AppTransactionInfoResponse = AppStorePayload<AppTransactionInfoResponseFields>

    /// The members of ``AppTransactionInfoResponse`` that Apple documents.
    public final class AppTransactionInfoResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(AppTransactionInfoResponseFields())

        /// The signed app transaction.
        public let signedAppTransactionInfo = PayloadField<String>("signedAppTransactionInfo")
    }

    /// The response of Get Refund History: up to 20 refunded transactions of a customer.
    public typealias RefundHistoryResponse = AppStorePayload<RefundHistoryResponseFields>

    /// The members of ``RefundHistoryResponse`` that Apple documents.
    public final class RefundHistoryResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(RefundHistoryResponseFields())

        /// The signed transactions of this page, in the order of their refunds.
        public let signedTransactions = PayloadField<[String]>("signedTransactions")
        /// The token of the next page. Store it to request later refunds.
        public let revision = PayloadField<String>("revision")
        /// Whether there is a next page.
        public let hasMore = PayloadField<Bool>("hasMore")
    }

    /// The response of Get Refund History V1: up to 50 refunded transactions of a customer, without pages.
    public typealias RefundLookupResponse = AppStorePayload<RefundLookupResponseFields>

    /// The members of ``RefundLookupResponse`` that Apple documents.
    public final class RefundLookupResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(RefundLookupResponseFields())

        /// The signed transactions that were refunded last, in the order of their refunds.
        public let signedTransactions = PayloadField<[String]>("signedTransactions")
    }

    /// The response of Look Up Order ID.
    public typealias OrderLookupResponse = AppStorePayload<OrderLookupResponseFields>

    /// The members of ``OrderLookupResponse`` that Apple documents.
    public final class OrderLookupResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(OrderLookupResponseFields())

        /// Whether the order id is valid for the app.
        public let status = PayloadField<OrderLookupStatus>("status")
        /// The signed transactions of the order. Absent when the order is invalid.
        public let signedTransactions = PayloadField<[String]>("signedTransactions")
    }

    /// Whether an order id is valid for the app.
    public typealias OrderLookupStatus = OpenCode<OrderLookupResponseFields>

    /// The request of Set App Account Token.
    package typealias UpdateAppAccountTokenRequest = AppStorePayload<UpdateAppAccountTokenRequestFields>

    /// The members of ``UpdateAppAccountTokenRequest`` that Apple documents.
    package final class UpdateAppAccountTokenRequestFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(UpdateAppAccountTokenRequestFields())

        /// The UUID with which the app named the customer. For a string that is not a UUID, this is `nil`, and `fields`
        /// has the string.
        package let appAccountToken = PayloadField<UUID>("appAccountToken")
    }
}

extension AppStoreServerAPI.OrderLookupStatus {
    public static var valid: Self { Self(rawValue: 0) }
    public static var invalid: Self { Self(rawValue: 1) }
}
