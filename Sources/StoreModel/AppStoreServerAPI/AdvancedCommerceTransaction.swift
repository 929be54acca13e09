import Foundation
import Primitives

extension AppStoreServerAPI {
    /// Why an offer was made through the Advanced Commerce API.
    public struct AdvancedCommerceOfferReason: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let acquisition = Self(rawValue: "ACQUISITION")
        public static let winBack = Self(rawValue: "WIN_BACK")
        public static let retention = Self(rawValue: "RETENTION")
    }

    /// Why an item was refunded.
    public struct AdvancedCommerceRefundReason: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let unintendedPurchase = Self(rawValue: "UNINTENDED_PURCHASE")
        public static let fulfillmentIssue = Self(rawValue: "FULFILLMENT_ISSUE")
        public static let unsatisfiedWithPurchase = Self(rawValue: "UNSATISFIED_WITH_PURCHASE")
        public static let legal = Self(rawValue: "LEGAL")
        public static let other = Self(rawValue: "OTHER")
        public static let modifyItemsRefund = Self(rawValue: "MODIFY_ITEMS_REFUND")
        public static let simulateRefundDecline = Self(rawValue: "SIMULATE_REFUND_DECLINE")
    }

    /// How much of an item was refunded.
    public struct AdvancedCommerceRefundType: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let full = Self(rawValue: "FULL")
        public static let prorated = Self(rawValue: "PRORATED")
        public static let custom = Self(rawValue: "CUSTOM")
    }

    /// What the customer reads about a product sold through the Advanced Commerce API.
    public struct AdvancedCommerceDescriptors: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            description: String? = nil,
            displayName: String? = nil
        ) {
            fields = [:]
            self.description = description
            self.displayName = displayName
        }

        /// The description.
        public var description: String? {
            get { self["description"] }
            set { self["description"] = newValue }
        }

        /// The name.
        public var displayName: String? {
            get { self["displayName"] }
            set { self["displayName"] = newValue }
        }

        public static let schema = PayloadSchema([
            "description": .text,
            "displayName": .text,
        ])
    }

    /// An offer on one item.
    public struct AdvancedCommerceOffer: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            period: String? = nil,
            periodCount: Int? = nil,
            price: Int? = nil,
            reason: AdvancedCommerceOfferReason? = nil
        ) {
            fields = [:]
            self.period = period
            self.periodCount = periodCount
            self.price = price
            self.reason = reason
        }

        /// The length of one offer period, ISO 8601.
        public var period: String? {
            get { self["period"] }
            set { self["period"] = newValue }
        }

        /// How many periods the offer lasts.
        public var periodCount: Int? {
            get { self["periodCount"] }
            set { self["periodCount"] = newValue }
        }

        /// The price in thousandths of the currency unit.
        public var price: Int? {
            get { self["price"] }
            set { self["price"] = newValue }
        }

        /// Why it was offered.
        public var reason: AdvancedCommerceOfferReason? {
            get { self["reason"] }
            set { self["reason"] = newValue }
        }

        public static let schema = PayloadSchema([
            "period": .text,
            "periodCount": .integer,
            "price": .integer,
            "reason": .text,
        ])
    }

    /// A refund of one item.
    public struct AdvancedCommerceRefund: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            refundAmount: Int? = nil,
            refundDate: Date? = nil,
            refundReason: AdvancedCommerceRefundReason? = nil,
            refundType: AdvancedCommerceRefundType? = nil
        ) {
            fields = [:]
            self.refundAmount = refundAmount
            self.refundDate = refundDate
            self.refundReason = refundReason
            self.refundType = refundType
        }

        /// The amount in thousandths of the currency unit.
        public var refundAmount: Int? {
            get { self["refundAmount"] }
            set { self["refundAmount"] = newValue }
        }

        /// When it was refunded.
        public var refundDate: Date? {
            get { self["refundDate"] }
            set { self["refundDate"] = newValue }
        }

        /// Why.
        public var refundReason: AdvancedCommerceRefundReason? {
            get { self["refundReason"] }
            set { self["refundReason"] = newValue }
        }

        /// How much of it.
        public var refundType: AdvancedCommerceRefundType? {
            get { self["refundType"] }
            set { self["refundType"] = newValue }
        }

        public static let schema = PayloadSchema([
            "refundAmount": .integer,
            "refundDate": .date,
            "refundReason": .text,
            "refundType": .text,
        ])
    }

    /// One item of a transaction.
    public struct AdvancedCommerceTransactionItem: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            SKU: String? = nil,
            description: String? = nil,
            displayName: String? = nil,
            offer: AdvancedCommerceOffer? = nil,
            price: Int? = nil,
            refunds: [AdvancedCommerceRefund]? = nil,
            revocationDate: Date? = nil
        ) {
            fields = [:]
            self.SKU = SKU
            self.description = description
            self.displayName = displayName
            self.offer = offer
            self.price = price
            self.refunds = refunds
            self.revocationDate = revocationDate
        }

        /// The item's identifier, chosen by the developer.
        public var SKU: String? {
            get { self["SKU"] }
            set { self["SKU"] = newValue }
        }

        /// What the customer reads about it.
        public var description: String? {
            get { self["description"] }
            set { self["description"] = newValue }
        }

        /// Its name.
        public var displayName: String? {
            get { self["displayName"] }
            set { self["displayName"] = newValue }
        }

        /// The offer it was sold under.
        public var offer: AdvancedCommerceOffer? {
            get { self["offer"] }
            set { self["offer"] = newValue }
        }

        /// The price in thousandths of the currency unit.
        public var price: Int? {
            get { self["price"] }
            set { self["price"] = newValue }
        }

        /// What was paid back.
        public var refunds: [AdvancedCommerceRefund]? {
            get { self["refunds"] }
            set { self["refunds"] = newValue }
        }

        /// When the item was taken back.
        public var revocationDate: Date? {
            get { self["revocationDate"] }
            set { self["revocationDate"] = newValue }
        }

        public static let schema = PayloadSchema([
            "SKU": .text,
            "description": .text,
            "displayName": .text,
            "offer": .object(AdvancedCommerceOffer.schema),
            "price": .integer,
            "refunds": .list(.object(AdvancedCommerceRefund.schema)),
            "revocationDate": .date,
        ])
    }

    /// What a transaction made through the Advanced Commerce API adds.
    public struct AdvancedCommerceTransactionInfo: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            descriptors: AdvancedCommerceDescriptors? = nil,
            estimatedTax: Int? = nil,
            items: [AdvancedCommerceTransactionItem]? = nil,
            period: String? = nil,
            requestReferenceId: String? = nil,
            taxCode: String? = nil,
            taxExclusivePrice: Int? = nil,
            taxRate: String? = nil
        ) {
            fields = [:]
            self.descriptors = descriptors
            self.estimatedTax = estimatedTax
            self.items = items
            self.period = period
            self.requestReferenceId = requestReferenceId
            self.taxCode = taxCode
            self.taxExclusivePrice = taxExclusivePrice
            self.taxRate = taxRate
        }

        /// What the customer reads.
        public var descriptors: AdvancedCommerceDescriptors? {
            get { self["descriptors"] }
            set { self["descriptors"] = newValue }
        }

        /// The tax, in thousandths of the currency unit.
        public var estimatedTax: Int? {
            get { self["estimatedTax"] }
            set { self["estimatedTax"] = newValue }
        }

        /// What was bought.
        public var items: [AdvancedCommerceTransactionItem]? {
            get { self["items"] }
            set { self["items"] = newValue }
        }

        /// The subscription period, ISO 8601.
        public var period: String? {
            get { self["period"] }
            set { self["period"] = newValue }
        }

        /// The developer's reference of the request.
        public var requestReferenceId: String? {
            get { self["requestReferenceId"] }
            set { self["requestReferenceId"] = newValue }
        }

        /// The tax category.
        public var taxCode: String? {
            get { self["taxCode"] }
            set { self["taxCode"] = newValue }
        }

        /// The price without tax, in thousandths of the currency unit.
        public var taxExclusivePrice: Int? {
            get { self["taxExclusivePrice"] }
            set { self["taxExclusivePrice"] = newValue }
        }

        /// The tax rate as a decimal fraction.
        public var taxRate: String? {
            get { self["taxRate"] }
            set { self["taxRate"] = newValue }
        }

        public static let schema = PayloadSchema([
            "descriptors": .object(AdvancedCommerceDescriptors.schema),
            "estimatedTax": .integer,
            "items": .list(.object(AdvancedCommerceTransactionItem.schema)),
            "period": .text,
            "requestReferenceId": .text,
            "taxCode": .text,
            "taxExclusivePrice": .integer,
            "taxRate": .text,
        ])
    }
}
