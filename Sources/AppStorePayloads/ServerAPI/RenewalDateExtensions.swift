import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The request of Extend a Subscription Renewal Date.
    public typealias ExtendRenewalDateRequest = AppStorePayload<ExtendRenewalDateRequestFields>

    /// The members of ``ExtendRenewalDateRequest`` that Apple documents.
    public final class ExtendRenewalDateRequestFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(ExtendRenewalDateRequestFields())

        /// The number of days to extend by, 1 to 90.
        public let extendByDays = PayloadField<Int>("extendByDays")
        /// The reason for the extension.
        public let extendReasonCode = PayloadField<ExtendReasonCode>("extendReasonCode")
        /// An identifier that the developer chooses, of 1 to 128 characters.
        public let requestIdentifier = PayloadField<String>("requestIdentifier")
    }

    /// The response of Extend a Subscription Renewal Date.
    public typealias ExtendRenewalDateResponse = AppStorePayload<ExtendRenewalDateResponseFields>

    /// The members of ``ExtendRenewalDateResponse`` that Apple documents.
    public final class ExtendRenewalDateResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(ExtendRenewalDateResponseFields())

        /// The original transaction of the subscription.
        public let originalTransactionId = PayloadField<String>("originalTransactionId")
        /// The identifier of the extended period.
        public let webOrderLineItemId = PayloadField<String>("webOrderLineItemId")
        /// Whether the period was extended.
        public let success = PayloadField<Bool>("success")
        /// The new renewal date.
        public let effectiveDate = PayloadField<Date>("effectiveDate")
    }

    /// The request of Extend Subscription Renewal Dates for All Active Subscribers.
    public typealias MassExtendRenewalDateRequest = AppStorePayload<MassExtendRenewalDateRequestFields>

    /// The members of ``MassExtendRenewalDateRequest`` that Apple documents.
    public final class MassExtendRenewalDateRequestFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(MassExtendRenewalDateRequestFields())

        /// The number of days to extend by, 1 to 90.
        public let extendByDays = PayloadField<Int>("extendByDays")
        /// The reason for the extension.
        public let extendReasonCode = PayloadField<ExtendReasonCode>("extendReasonCode")
        /// An identifier that the developer chooses, of 1 to 128 characters.
        public let requestIdentifier = PayloadField<String>("requestIdentifier")
        /// The storefronts as codes of three letters. Absent for all storefronts.
        public let storefrontCountryCodes = PayloadField<[String]>("storefrontCountryCodes")
        /// The product whose subscriptions are extended.
        public let productId = PayloadField<String>("productId")
    }

    /// The response of Extend Subscription Renewal Dates for All Active Subscribers, sent when the work begins.
    public typealias MassExtendRenewalDateResponse = AppStorePayload<MassExtendRenewalDateResponseFields>

    /// The members of ``MassExtendRenewalDateResponse`` that Apple documents.
    public final class MassExtendRenewalDateResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(MassExtendRenewalDateResponseFields())

        /// The identifier that the developer chose.
        public let requestIdentifier = PayloadField<String>("requestIdentifier")
    }

    /// The response of Get Status of Subscription Renewal Date Extensions.
    public typealias MassExtendRenewalDateStatusResponse = AppStorePayload<MassExtendRenewalDateStatusResponseFields>

    /// The members of ``MassExtendRenewalDateStatusResponse`` that Apple documents.
    public final class MassExtendRenewalDateStatusResponseFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(MassExtendRenewalDateStatusResponseFields())

        /// The identifier that the developer chose.
        public let requestIdentifier = PayloadField<String>("requestIdentifier")
        /// Whether the work is complete. The members below are absent until then.
        public let complete = PayloadField<Bool>("complete")
        /// The date on which the work was completed.
        public let completeDate = PayloadField<Date>("completeDate")
        /// The number of subscriptions that were extended.
        public let succeededCount = PayloadField<Int>("succeededCount")
        /// The number of subscriptions that were not extended.
        public let failedCount = PayloadField<Int>("failedCount")
    }

    /// The reason for an extension of a renewal date.
    public typealias ExtendReasonCode = OpenCode<ExtendRenewalDateRequestFields>
}

extension AppStoreServerAPI.ExtendReasonCode {
    public static var undeclared: Self { Self(rawValue: 0) }
    public static var customerSatisfaction: Self { Self(rawValue: 1) }
    public static var other: Self { Self(rawValue: 2) }
    public static var serviceIssueOrOutage: Self { Self(rawValue: 3) }
}
