import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The request of Send Consumption Information, about a purchase whose customer asks for a refund.
    public typealias ConsumptionRequest = AppStorePayload<ConsumptionRequestFields>

    /// The members of ``ConsumptionRequest`` that Apple documents.
    public final class ConsumptionRequestFields: AppStorePayloadFields {
        public static let layout = PayloadLayout(ConsumptionRequestFields())

        /// Whether the customer consented to sending this to Apple. Apple refuses the request without consent.
        public let customerConsented = PayloadField<Bool>("customerConsented")
        /// The part of the purchase that was used, in thousandths of a percent: 0 to 100000.
        public let consumptionPercentage = PayloadField<Int>("consumptionPercentage")
        /// Whether the app delivered the purchase.
        public let deliveryStatus = PayloadField<DeliveryStatus>("deliveryStatus")
        /// The outcome that the developer prefers.
        public let refundPreference = PayloadField<RefundPreference>("refundPreference")
        /// Whether the customer could try the content, or read a description of it, before the purchase.
        public let sampleContentProvided = PayloadField<Bool>("sampleContentProvided")
    }

    /// Whether the app delivered the purchase.
    public typealias DeliveryStatus = OpenEnum<ConsumptionRequestFields>

    /// The outcome of a refund request that the developer prefers.
    public struct RefundPreference: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let decline = Self(rawValue: "DECLINE")
        public static let grantFull = Self(rawValue: "GRANT_FULL")
        public static let grantProrated = Self(rawValue: "GRANT_PRORATED")
    }
}

extension AppStoreServerAPI.DeliveryStatus {
    public static var delivered: Self { Self(rawValue: "DELIVERED") }
    public static var undeliveredQualityIssue: Self { Self(rawValue: "UNDELIVERED_QUALITY_ISSUE") }
    public static var undeliveredWrongItem: Self { Self(rawValue: "UNDELIVERED_WRONG_ITEM") }
    public static var undeliveredServerOutage: Self { Self(rawValue: "UNDELIVERED_SERVER_OUTAGE") }
    public static var undeliveredOther: Self { Self(rawValue: "UNDELIVERED_OTHER") }
}
