import Foundation
import Primitives

extension AppStoreServerAPI {
    /// Why a renewal date is extended.
    public struct ExtendReasonCode: OpenAppStoreValue {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let undeclared = Self(rawValue: 0)
        public static let customerSatisfaction = Self(rawValue: 1)
        public static let other = Self(rawValue: 2)
        public static let serviceIssueOrOutage = Self(rawValue: 3)
    }

    /// What Extend a Subscription Renewal Date is asked.
    public struct ExtendRenewalDateRequest: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            extendByDays: Int? = nil,
            extendReasonCode: ExtendReasonCode? = nil,
            requestIdentifier: String? = nil
        ) {
            fields = [:]
            self.extendByDays = extendByDays
            self.extendReasonCode = extendReasonCode
            self.requestIdentifier = requestIdentifier
        }

        /// By how many days, 1 to 90.
        public var extendByDays: Int? {
            get { self["extendByDays"] }
            set { self["extendByDays"] = newValue }
        }

        /// Why.
        public var extendReasonCode: ExtendReasonCode? {
            get { self["extendReasonCode"] }
            set { self["extendReasonCode"] = newValue }
        }

        /// What the developer calls this request; 1 to 128 characters.
        public var requestIdentifier: String? {
            get { self["requestIdentifier"] }
            set { self["requestIdentifier"] = newValue }
        }

        public static let schema = PayloadSchema([
            "extendByDays": .integer,
            "extendReasonCode": .integer,
            "requestIdentifier": .text,
        ])
    }

    /// The answer of Extend a Subscription Renewal Date.
    public struct ExtendRenewalDateResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            originalTransactionId: String? = nil,
            webOrderLineItemId: String? = nil,
            success: Bool? = nil,
            effectiveDate: Date? = nil
        ) {
            fields = [:]
            self.originalTransactionId = originalTransactionId
            self.webOrderLineItemId = webOrderLineItemId
            self.success = success
            self.effectiveDate = effectiveDate
        }

        /// The subscription.
        public var originalTransactionId: String? {
            get { self["originalTransactionId"] }
            set { self["originalTransactionId"] = newValue }
        }

        /// The period that is longer now.
        public var webOrderLineItemId: String? {
            get { self["webOrderLineItemId"] }
            set { self["webOrderLineItemId"] = newValue }
        }

        /// Whether it was extended.
        public var success: Bool? {
            get { self["success"] }
            set { self["success"] = newValue }
        }

        /// When it renews now.
        public var effectiveDate: Date? {
            get { self["effectiveDate"] }
            set { self["effectiveDate"] = newValue }
        }

        public static let schema = PayloadSchema([
            "originalTransactionId": .text,
            "webOrderLineItemId": .text,
            "success": .boolean,
            "effectiveDate": .date,
        ])
    }

    /// What Extend Subscription Renewal Dates for All Active Subscribers is asked.
    public struct MassExtendRenewalDateRequest: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            extendByDays: Int? = nil,
            extendReasonCode: ExtendReasonCode? = nil,
            requestIdentifier: String? = nil,
            storefrontCountryCodes: [String]? = nil,
            productId: String? = nil
        ) {
            fields = [:]
            self.extendByDays = extendByDays
            self.extendReasonCode = extendReasonCode
            self.requestIdentifier = requestIdentifier
            self.storefrontCountryCodes = storefrontCountryCodes
            self.productId = productId
        }

        /// By how many days, 1 to 90.
        public var extendByDays: Int? {
            get { self["extendByDays"] }
            set { self["extendByDays"] = newValue }
        }

        /// Why.
        public var extendReasonCode: ExtendReasonCode? {
            get { self["extendReasonCode"] }
            set { self["extendReasonCode"] = newValue }
        }

        /// What the developer calls this request; 1 to 128 characters.
        public var requestIdentifier: String? {
            get { self["requestIdentifier"] }
            set { self["requestIdentifier"] = newValue }
        }

        /// Only in these storefronts, three letters each; absent means all.
        public var storefrontCountryCodes: [String]? {
            get { self["storefrontCountryCodes"] }
            set { self["storefrontCountryCodes"] = newValue }
        }

        /// Whose subscribers.
        public var productId: String? {
            get { self["productId"] }
            set { self["productId"] = newValue }
        }

        public static let schema = PayloadSchema([
            "extendByDays": .integer,
            "extendReasonCode": .integer,
            "requestIdentifier": .text,
            "storefrontCountryCodes": .list(.text),
            "productId": .text,
        ])
    }

    /// The answer of Extend Subscription Renewal Dates for All Active Subscribers: the work has begun.
    public struct MassExtendRenewalDateResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(requestIdentifier: String? = nil) {
            fields = [:]
            self.requestIdentifier = requestIdentifier
        }

        /// What the developer called the request.
        public var requestIdentifier: String? {
            get { self["requestIdentifier"] }
            set { self["requestIdentifier"] = newValue }
        }

        public static let schema = PayloadSchema(["requestIdentifier": .text])
    }

    /// The answer of Get Status of Subscription Renewal Date Extensions.
    public struct MassExtendRenewalDateStatusResponse: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            requestIdentifier: String? = nil,
            complete: Bool? = nil,
            completeDate: Date? = nil,
            succeededCount: Int? = nil,
            failedCount: Int? = nil
        ) {
            fields = [:]
            self.requestIdentifier = requestIdentifier
            self.complete = complete
            self.completeDate = completeDate
            self.succeededCount = succeededCount
            self.failedCount = failedCount
        }

        /// What the developer called the request.
        public var requestIdentifier: String? {
            get { self["requestIdentifier"] }
            set { self["requestIdentifier"] = newValue }
        }

        /// Whether the work is done. The members below are absent until then.
        public var complete: Bool? {
            get { self["complete"] }
            set { self["complete"] = newValue }
        }

        /// When it was.
        public var completeDate: Date? {
            get { self["completeDate"] }
            set { self["completeDate"] = newValue }
        }

        /// How many subscriptions were extended.
        public var succeededCount: Int? {
            get { self["succeededCount"] }
            set { self["succeededCount"] = newValue }
        }

        /// How many were not.
        public var failedCount: Int? {
            get { self["failedCount"] }
            set { self["failedCount"] = newValue }
        }

        public static let schema = PayloadSchema([
            "requestIdentifier": .text,
            "complete": .boolean,
            "completeDate": .date,
            "succeededCount": .integer,
            "failedCount": .integer,
        ])
    }
}
