import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The response of Get Transaction History.
    public struct HistoryResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }
        public static let layout = PayloadLayout(Fields())

        /// The members that Apple documents.
        public struct Fields: Sendable {
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
    }

    /// The response of Get Transaction Info.
    public struct TransactionInfoResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }
        public static let layout = PayloadLayout(Fields())

        /// The members that Apple documents.
        public struct Fields: Sendable {
            /// The signed transaction.
            public let signedTransactionInfo = PayloadField<String>("signedTransactionInfo")
        }
    }

    /// The response of Get App Transaction Info.
    public struct AppTransactionInfoResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }
        public static let layout = PayloadLayout(Fields())

        /// The members that Apple documents.
        public struct Fields: Sendable {
            /// The signed app transaction.
            public let signedAppTransactionInfo = PayloadField<String>("signedAppTransactionInfo")
        }
    }

    /// The response of Get Refund History: up to 20 refunded transactions of a customer.
    public struct RefundHistoryResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }
        public static let layout = PayloadLayout(Fields())

        /// The members that Apple documents.
        public struct Fields: Sendable {
            /// The signed transactions of this page, in the order of their refunds.
            public let signedTransactions = PayloadField<[String]>("signedTransactions")
            /// The token of the next page. Keep it to ask later for refunds since.
            public let revision = PayloadField<String>("revision")
            /// Whether there is a next page.
            public let hasMore = PayloadField<Bool>("hasMore")
        }
    }

    /// The response of Get Refund History V1: up to 50 refunded transactions of a customer, without pages.
    public struct RefundLookupResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }
        public static let layout = PayloadLayout(Fields())

        /// The members that Apple documents.
        public struct Fields: Sendable {
            /// The signed transactions that were refunded last, in the order of their refunds.
            public let signedTransactions = PayloadField<[String]>("signedTransactions")
        }
    }

    /// The response of Look Up Order ID.
    public struct OrderLookupResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }
        public static let layout = PayloadLayout(Fields())

        /// The members that Apple documents.
        public struct Fields: Sendable {
            /// Whether the order exists.
            public let status = PayloadField<OrderLookupStatus>("status")
            /// The signed transactions of the order. Absent when the order is invalid.
            public let signedTransactions = PayloadField<[String]>("signedTransactions")
        }
    }

    /// Whether an order belongs to the app.
    public struct OrderLookupStatus: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let valid = Self(rawValue: 0)
        public static let invalid = Self(rawValue: 1)
    }

    /// The request of Set App Account Token.
    package struct UpdateAppAccountTokenRequest: AppStorePayload {
        package var fields: JSONMembers
        package init(unchecked fields: JSONMembers) { self.fields = fields }
        package static let layout = PayloadLayout(Fields())

        /// The members that Apple documents.
        package struct Fields: Sendable {
            /// The customer as the app named them. A string that is no UUID reads as `nil` and stays in `fields`.
            package let appAccountToken = PayloadField<UUID>("appAccountToken")
        }
    }
}
