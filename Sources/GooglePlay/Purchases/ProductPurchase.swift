import Foundation
import Primitives

extension AndroidPublisher {
    /// A purchase of a one-time product, from `purchases.products.get`.
    package struct ProductPurchase: PlayResource {
        package var kind: String?
        package var orderId: String?
        package var productId: String?
        package var purchaseToken: String?
        package var purchaseTimeMillis: Int64Text?
        /// 0 purchased, 1 cancelled, 2 pending.
        package var purchaseState: Int?
        /// 0 yet to be consumed, 1 consumed.
        package var consumptionState: Int?
        /// 0 yet to be acknowledged, 1 acknowledged.
        package var acknowledgementState: Int?
        /// 0 a licence tester, 1 a promotional code, 2 a reward; absent for a usual purchase.
        package var purchaseType: Int?
        /// Absent for a quantity of 1.
        package var quantity: Int?
        package var refundableQuantity: Int?
        package var regionCode: String?
        package var developerPayload: String?
        package var obfuscatedExternalAccountId: String?
        package var obfuscatedExternalProfileId: String?

        package init() {}

        package static let kind = "androidpublisher#productPurchase"
    }

    /// A purchase of a one-time product, from `purchases.productsv2.getproductpurchasev2`.
    package struct ProductPurchaseV2: PlayResource {
        package var kind: String?
        package var orderId: String?
        package var productLineItem: [ProductLineItem]?
        package var purchaseStateContext: PurchaseStateContext?
        package var purchaseCompletionTime: Date?
        package var acknowledgementState: AcknowledgementState?
        package var regionCode: String?
        package var obfuscatedExternalAccountId: String?
        package var obfuscatedExternalProfileId: String?
        package var testPurchaseContext: TestPurchaseContext?

        package init() {}

        package static let kind = "androidpublisher#productPurchaseV2"
    }

    package struct ProductLineItem: PlayResource {
        package var productId: String?
        package var productOfferDetails: ProductOfferDetails?

        package init() {}
    }

    package struct ProductOfferDetails: PlayResource {
        package var purchaseOptionId: String?
        package var offerId: String?
        package var offerTags: [String]?
        package var quantity: Int?
        package var refundableQuantity: Int?
        package var consumptionState: ConsumptionState?

        package init() {}
    }

    package typealias ConsumptionState = OpenEnum<ProductOfferDetails>

    package struct PurchaseStateContext: PlayResource {
        package var purchaseState: PurchaseState?

        package init() {}
    }

    package typealias PurchaseState = OpenEnum<PurchaseStateContext>

    package struct TestPurchaseContext: PlayResource {
        package var fopType: String?

        package init() {}
    }
}

extension AndroidPublisher.ConsumptionState {
    package static var yetToBeConsumed: Self { Self(rawValue: "CONSUMPTION_STATE_YET_TO_BE_CONSUMED") }
    package static var consumed: Self { Self(rawValue: "CONSUMPTION_STATE_CONSUMED") }
}

extension AndroidPublisher.PurchaseState {
    package static var purchased: Self { Self(rawValue: "PURCHASED") }
    package static var cancelled: Self { Self(rawValue: "CANCELLED") }
    package static var pending: Self { Self(rawValue: "PENDING") }
}
