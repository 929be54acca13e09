import Foundation
import Primitives
import StoreModel

extension AppStoreServerAPI {
    /// The details of a transaction through the Advanced Commerce API.
    package typealias AdvancedCommerceTransactionInfo = AppStorePayload<AdvancedCommerceTransactionInfoFields>

    /// The members of ``AdvancedCommerceTransactionInfo`` that Apple documents.
    package final class AdvancedCommerceTransactionInfoFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(AdvancedCommerceTransactionInfoFields())

        /// The texts that customers see.
        package let descriptors = PayloadField<AdvancedCommerceDescriptors>("descriptors")
        /// The tax, in thousandths of the currency unit.
        package let estimatedTax = PayloadField<Int>("estimatedTax")
        /// The items that were bought.
        package let items = PayloadField<[AdvancedCommerceTransactionItem]>("items")
        /// The subscription period, as an ISO 8601 duration.
        package let period = PayloadField<String>("period")
        /// The developer's reference of the request.
        package let requestReferenceId = PayloadField<String>("requestReferenceId")
        /// The tax category.
        package let taxCode = PayloadField<String>("taxCode")
        /// The price without tax, in thousandths of the currency unit.
        package let taxExclusivePrice = PayloadField<Int>("taxExclusivePrice")
        /// The tax rate as a decimal fraction.
        package let taxRate = PayloadField<String>("taxRate")
    }

    /// One item of a transaction.
    package typealias AdvancedCommerceTransactionItem = AppStorePayload<AdvancedCommerceTransactionItemFields>

    /// The members of ``AdvancedCommerceTransactionItem`` that Apple documents.
    package final class AdvancedCommerceTransactionItemFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(AdvancedCommerceTransactionItemFields())

        /// The identifier that the developer chose for the item.
        package let SKU = PayloadField<String>("SKU")
        /// The description that customers see.
        package let description = PayloadField<String>("description")
        /// The name that customers see.
        package let displayName = PayloadField<String>("displayName")
        /// The offer under which the item was sold.
        package let offer = PayloadField<AdvancedCommerceOffer>("offer")
        /// The price, in thousandths of the currency unit.
        package let price = PayloadField<Int>("price")
        /// The refunds of the item.
        package let refunds = PayloadField<[AdvancedCommerceRefund]>("refunds")
        /// The date on which the store revoked the item.
        package let revocationDate = PayloadField<Date>("revocationDate")
    }

    /// The details of a renewal through the Advanced Commerce API.
    package typealias AdvancedCommerceRenewalInfo = AppStorePayload<AdvancedCommerceRenewalInfoFields>

    /// The members of ``AdvancedCommerceRenewalInfo`` that Apple documents.
    package final class AdvancedCommerceRenewalInfoFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(AdvancedCommerceRenewalInfoFields())

        /// The state that a change request refers to.
        package let consistencyToken = PayloadField<String>("consistencyToken")
        /// The texts that customers see.
        package let descriptors = PayloadField<AdvancedCommerceDescriptors>("descriptors")
        /// The items that renew.
        package let items = PayloadField<[AdvancedCommerceRenewalItem]>("items")
        /// The subscription period, as an ISO 8601 duration.
        package let period = PayloadField<String>("period")
        /// The developer's reference of the request.
        package let requestReferenceId = PayloadField<String>("requestReferenceId")
        /// The tax category.
        package let taxCode = PayloadField<String>("taxCode")
    }

    /// One item of a renewal.
    package typealias AdvancedCommerceRenewalItem = AppStorePayload<AdvancedCommerceRenewalItemFields>

    /// The members of ``AdvancedCommerceRenewalItem`` that Apple documents.
    package final class AdvancedCommerceRenewalItemFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(AdvancedCommerceRenewalItemFields())

        /// The identifier that the developer chose for the item.
        package let SKU = PayloadField<String>("SKU")
        /// The description that customers see.
        package let description = PayloadField<String>("description")
        /// The name that customers see.
        package let displayName = PayloadField<String>("displayName")
        /// The offer of the next period.
        package let offer = PayloadField<AdvancedCommerceOffer>("offer")
        /// The price, in thousandths of the currency unit.
        package let price = PayloadField<Int>("price")
        /// A price increase in progress.
        package let priceIncreaseInfo = PayloadField<AdvancedCommercePriceIncreaseInfo>("priceIncreaseInfo")
    }

    /// The texts about a product of the Advanced Commerce API that customers see.
    package typealias AdvancedCommerceDescriptors = AppStorePayload<AdvancedCommerceDescriptorsFields>

    /// The members of ``AdvancedCommerceDescriptors`` that Apple documents.
    package final class AdvancedCommerceDescriptorsFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(AdvancedCommerceDescriptorsFields())

        /// The description that customers see.
        package let description = PayloadField<String>("description")
        /// The name that customers see.
        package let displayName = PayloadField<String>("displayName")
    }

    /// An offer on one item.
    package typealias AdvancedCommerceOffer = AppStorePayload<AdvancedCommerceOfferFields>

    /// The members of ``AdvancedCommerceOffer`` that Apple documents.
    package final class AdvancedCommerceOfferFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(AdvancedCommerceOfferFields())

        /// The length of one offer period, as an ISO 8601 duration.
        package let period = PayloadField<String>("period")
        /// The number of periods of the offer.
        package let periodCount = PayloadField<Int>("periodCount")
        /// The price, in thousandths of the currency unit.
        package let price = PayloadField<Int>("price")
        /// The reason of the offer.
        package let reason = PayloadField<AdvancedCommerceOfferReason>("reason")
    }

    /// The reason of an offer through the Advanced Commerce API.
    package struct AdvancedCommerceOfferReason: OpenAppStoreValue {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        package static let acquisition = Self(rawValue: "ACQUISITION")
        package static let winBack = Self(rawValue: "WIN_BACK")
        package static let retention = Self(rawValue: "RETENTION")
    }

    /// A refund of one item.
    package typealias AdvancedCommerceRefund = AppStorePayload<AdvancedCommerceRefundFields>

    /// The members of ``AdvancedCommerceRefund`` that Apple documents.
    package final class AdvancedCommerceRefundFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(AdvancedCommerceRefundFields())

        /// The refunded amount, in thousandths of the currency unit.
        package let refundAmount = PayloadField<Int>("refundAmount")
        /// The date of the refund.
        package let refundDate = PayloadField<Date>("refundDate")
        /// The reason of the refund.
        package let refundReason = PayloadField<AdvancedCommerceRefundReason>("refundReason")
        /// The part of the item that was refunded.
        package let refundType = PayloadField<AdvancedCommerceRefundType>("refundType")
    }

    /// The reason of a refund of one item.
    package struct AdvancedCommerceRefundReason: OpenAppStoreValue {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        package static let unintendedPurchase = Self(rawValue: "UNINTENDED_PURCHASE")
        package static let fulfillmentIssue = Self(rawValue: "FULFILLMENT_ISSUE")
        package static let unsatisfiedWithPurchase = Self(rawValue: "UNSATISFIED_WITH_PURCHASE")
        package static let legal = Self(rawValue: "LEGAL")
        package static let other = Self(rawValue: "OTHER")
        package static let modifyItemsRefund = Self(rawValue: "MODIFY_ITEMS_REFUND")
        package static let simulateRefundDecline = Self(rawValue: "SIMULATE_REFUND_DECLINE")
    }

    /// The part of an item that was refunded.
    package struct AdvancedCommerceRefundType: OpenAppStoreValue {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        package static let full = Self(rawValue: "FULL")
        package static let prorated = Self(rawValue: "PRORATED")
        package static let custom = Self(rawValue: "CUSTOM")
    }

    /// A price increase of one item.
    package typealias AdvancedCommercePriceIncreaseInfo = AppStorePayload<AdvancedCommercePriceIncreaseInfoFields>

    /// The members of ``AdvancedCommercePriceIncreaseInfo`` that Apple documents.
    package final class AdvancedCommercePriceIncreaseInfoFields: AppStorePayloadFields {
        package static let layout = PayloadLayout(AdvancedCommercePriceIncreaseInfoFields())

        /// The items whose price increase comes before this one.
        package let dependentSKUs = PayloadField<[String]>("dependentSKUs")
        /// The new price, in thousandths of the currency unit.
        package let price = PayloadField<Int>("price")
        /// The progress of the increase.
        package let status = PayloadField<AdvancedCommercePriceIncreaseStatus>("status")
    }

    /// The progress of a price increase of one item.
    package struct AdvancedCommercePriceIncreaseStatus: OpenAppStoreValue {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        package static let scheduled = Self(rawValue: "SCHEDULED")
        package static let pending = Self(rawValue: "PENDING")
        package static let accepted = Self(rawValue: "ACCEPTED")
    }
}
