import Foundation
import Primitives

extension AppStoreServerAPI {
    /// The answer of Get Refund History: up to 20 refunded transactions of a customer.
    public struct RefundHistoryResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(signedTransactions: [String]? = nil, revision: String? = nil, hasMore: Bool? = nil) {
            fields = [:]
            self.signedTransactions = signedTransactions
            self.revision = revision
            self.hasMore = hasMore
        }

        /// The page, each transaction signed; the one refunded first comes first.
        public var signedTransactions: [String]? {
            get { self["signedTransactions"] }
            set { self["signedTransactions"] = newValue }
        }

        /// Where the next page begins; worth keeping, for asking later what was refunded since.
        public var revision: String? {
            get { self["revision"] }
            set { self["revision"] = newValue }
        }

        /// Whether there is a next page.
        public var hasMore: Bool? {
            get { self["hasMore"] }
            set { self["hasMore"] = newValue }
        }

        public static let schema = PayloadSchema([
            "signedTransactions": .list(.text),
            "revision": .text,
            "hasMore": .boolean,
        ])
    }

    /// The answer of Get Refund History V1: up to 50 refunded transactions of a customer, without pages.
    public struct RefundLookupResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(signedTransactions: [String]? = nil) {
            fields = [:]
            self.signedTransactions = signedTransactions
        }

        /// The transactions last refunded, each signed; the one refunded first comes first.
        public var signedTransactions: [String]? {
            get { self["signedTransactions"] }
            set { self["signedTransactions"] = newValue }
        }

        public static let schema = PayloadSchema(["signedTransactions": .list(.text)])
    }

    /// Whether an order is one of the app's.
    public struct OrderLookupStatus: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let valid = Self(rawValue: 0)
        public static let invalid = Self(rawValue: 1)
    }

    /// The answer of Look Up Order ID.
    public struct OrderLookupResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(status: OrderLookupStatus? = nil, signedTransactions: [String]? = nil) {
            fields = [:]
            self.status = status
            self.signedTransactions = signedTransactions
        }

        /// Whether there is such an order.
        public var status: OrderLookupStatus? {
            get { self["status"] }
            set { self["status"] = newValue }
        }

        /// What was bought in it, each transaction signed; absent when the order is invalid.
        public var signedTransactions: [String]? {
            get { self["signedTransactions"] }
            set { self["signedTransactions"] = newValue }
        }

        public static let schema = PayloadSchema([
            "status": .integer,
            "signedTransactions": .list(.text),
        ])
    }

    /// The answer of Get App Transaction Info.
    public struct AppTransactionInfoResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(signedAppTransactionInfo: String? = nil) {
            fields = [:]
            self.signedAppTransactionInfo = signedAppTransactionInfo
        }

        /// The app transaction, signed.
        public var signedAppTransactionInfo: String? {
            get { self["signedAppTransactionInfo"] }
            set { self["signedAppTransactionInfo"] = newValue }
        }

        public static let schema = PayloadSchema(["signedAppTransactionInfo": .text])
    }

    /// What Set App Account Token is asked.
    public struct UpdateAppAccountTokenRequest: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(appAccountToken: UUID? = nil) {
            fields = [:]
            self.appAccountToken = appAccountToken
        }

        /// Whom the purchase belongs to, in the app's own books. A text that is no UUID reads as `nil` and stays in
        /// `fields`.
        public var appAccountToken: UUID? {
            get { self["appAccountToken"] }
            set { self["appAccountToken"] = newValue }
        }

        public static let schema = PayloadSchema(["appAccountToken": .text])
    }
}
