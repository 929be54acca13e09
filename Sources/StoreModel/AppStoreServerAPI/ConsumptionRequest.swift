import Foundation
import Primitives

extension AppStoreServerAPI {
    /// Whether the customer got what was bought.
    public struct DeliveryStatus: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let delivered = Self(rawValue: "DELIVERED")
        public static let undeliveredQualityIssue = Self(rawValue: "UNDELIVERED_QUALITY_ISSUE")
        public static let undeliveredWrongItem = Self(rawValue: "UNDELIVERED_WRONG_ITEM")
        public static let undeliveredServerOutage = Self(rawValue: "UNDELIVERED_SERVER_OUTAGE")
        public static let undeliveredOther = Self(rawValue: "UNDELIVERED_OTHER")
    }

    /// What the developer would have Apple do about a refund request.
    public struct RefundPreference: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let decline = Self(rawValue: "DECLINE")
        public static let grantFull = Self(rawValue: "GRANT_FULL")
        public static let grantProrated = Self(rawValue: "GRANT_PRORATED")
    }

    /// What Send Consumption Information is told about a purchase whose customer asks for a refund.
    public struct ConsumptionRequest: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            customerConsented: Bool? = nil,
            consumptionPercentage: Int? = nil,
            deliveryStatus: DeliveryStatus? = nil,
            refundPreference: RefundPreference? = nil,
            sampleContentProvided: Bool? = nil
        ) {
            fields = [:]
            self.customerConsented = customerConsented
            self.consumptionPercentage = consumptionPercentage
            self.deliveryStatus = deliveryStatus
            self.refundPreference = refundPreference
            self.sampleContentProvided = sampleContentProvided
        }

        /// Whether the customer agreed to this being told to Apple. Nothing may be sent without.
        public var customerConsented: Bool? {
            get { self["customerConsented"] }
            set { self["customerConsented"] = newValue }
        }

        /// How much of the purchase was used, in thousandths of a percent: 0 to 100000.
        public var consumptionPercentage: Int? {
            get { self["consumptionPercentage"] }
            set { self["consumptionPercentage"] = newValue }
        }

        /// Whether the customer got it.
        public var deliveryStatus: DeliveryStatus? {
            get { self["deliveryStatus"] }
            set { self["deliveryStatus"] = newValue }
        }

        /// What the developer would have Apple do.
        public var refundPreference: RefundPreference? {
            get { self["refundPreference"] }
            set { self["refundPreference"] = newValue }
        }

        /// Whether the customer could try the content, or read what it does, before buying it.
        public var sampleContentProvided: Bool? {
            get { self["sampleContentProvided"] }
            set { self["sampleContentProvided"] = newValue }
        }

        public static let schema = PayloadSchema([
            "customerConsented": .boolean,
            "consumptionPercentage": .integer,
            "deliveryStatus": .text,
            "refundPreference": .text,
            "sampleContentProvided": .boolean,
        ])
    }
}
