import Foundation
import Primitives

extension AppStoreServerAPI {
    /// How far a price increase of an item has come.
    public struct AdvancedCommercePriceIncreaseStatus: OpenAppStoreValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let scheduled = Self(rawValue: "SCHEDULED")
        public static let pending = Self(rawValue: "PENDING")
        public static let accepted = Self(rawValue: "ACCEPTED")
    }

    /// A price increase of one item.
    public struct AdvancedCommercePriceIncreaseInfo: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            dependentSKUs: [String]? = nil,
            price: Int? = nil,
            status: AdvancedCommercePriceIncreaseStatus? = nil
        ) {
            fields = [:]
            self.dependentSKUs = dependentSKUs
            self.price = price
            self.status = status
        }

        /// Other items whose increase this one waits for.
        public var dependentSKUs: [String]? {
            get { self["dependentSKUs"] }
            set { self["dependentSKUs"] = newValue }
        }

        /// The new price in thousandths of the currency unit.
        public var price: Int? {
            get { self["price"] }
            set { self["price"] = newValue }
        }

        /// How far it has come.
        public var status: AdvancedCommercePriceIncreaseStatus? {
            get { self["status"] }
            set { self["status"] = newValue }
        }

        public static let schema = PayloadSchema([
            "dependentSKUs": .list(.text),
            "price": .integer,
            "status": .text,
        ])
    }

    /// One item of a renewal.
    public struct AdvancedCommerceRenewalItem: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            SKU: String? = nil,
            description: String? = nil,
            displayName: String? = nil,
            offer: AdvancedCommerceOffer? = nil,
            price: Int? = nil,
            priceIncreaseInfo: AdvancedCommercePriceIncreaseInfo? = nil
        ) {
            fields = [:]
            self.SKU = SKU
            self.description = description
            self.displayName = displayName
            self.offer = offer
            self.price = price
            self.priceIncreaseInfo = priceIncreaseInfo
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

        /// The offer of the next period.
        public var offer: AdvancedCommerceOffer? {
            get { self["offer"] }
            set { self["offer"] = newValue }
        }

        /// The price in thousandths of the currency unit.
        public var price: Int? {
            get { self["price"] }
            set { self["price"] = newValue }
        }

        /// A price increase under way.
        public var priceIncreaseInfo: AdvancedCommercePriceIncreaseInfo? {
            get { self["priceIncreaseInfo"] }
            set { self["priceIncreaseInfo"] = newValue }
        }

        public static let schema = PayloadSchema([
            "SKU": .text,
            "description": .text,
            "displayName": .text,
            "offer": .object(AdvancedCommerceOffer.schema),
            "price": .integer,
            "priceIncreaseInfo": .object(AdvancedCommercePriceIncreaseInfo.schema),
        ])
    }

    /// What a renewal of a subscription sold through the Advanced Commerce API adds.
    public struct AdvancedCommerceRenewalInfo: AppStorePayload {
        public var fields: JSONMembers
        public init(unchecked fields: JSONMembers) { self.fields = fields }

        /// Every argument left out is absent from the JSON.
        public init(
            consistencyToken: String? = nil,
            descriptors: AdvancedCommerceDescriptors? = nil,
            items: [AdvancedCommerceRenewalItem]? = nil,
            period: String? = nil,
            requestReferenceId: String? = nil,
            taxCode: String? = nil
        ) {
            fields = [:]
            self.consistencyToken = consistencyToken
            self.descriptors = descriptors
            self.items = items
            self.period = period
            self.requestReferenceId = requestReferenceId
            self.taxCode = taxCode
        }

        /// Names the state that a change request refers to.
        public var consistencyToken: String? {
            get { self["consistencyToken"] }
            set { self["consistencyToken"] = newValue }
        }

        /// What the customer reads.
        public var descriptors: AdvancedCommerceDescriptors? {
            get { self["descriptors"] }
            set { self["descriptors"] = newValue }
        }

        /// What renews.
        public var items: [AdvancedCommerceRenewalItem]? {
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

        public static let schema = PayloadSchema([
            "consistencyToken": .text,
            "descriptors": .object(AdvancedCommerceDescriptors.schema),
            "items": .list(.object(AdvancedCommerceRenewalItem.schema)),
            "period": .text,
            "requestReferenceId": .text,
            "taxCode": .text,
        ])
    }
}
