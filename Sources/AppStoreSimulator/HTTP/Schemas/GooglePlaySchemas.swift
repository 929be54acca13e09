import HTTPCore
import SimulatorControl
import StoreModel

extension WireSchema {
    static let region = text("a country or region such as US", pattern: "^[A-Z]{2}$") {
        $0.utf8.count == 2 && $0.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }.example("US")
    fileprivate static let playKind = choice(["product", "subscription"])
}

extension StoreControlWire.PlayBuy: WireModel {
    static let schemaName = "PlayBuy"
    static let schema = WireSchema.object([
        .required("productID", .product),
        .optional("basePlanID", .name.described("by default the first one of the subscription that is sold")),
        .optional("offerID", .name.described("an offer of the base plan or of the purchase option")),
        .optional("purchaseOptionID", .name.described("by default the first one")),
        .optional("quantity", .integer(1...100)),
        .optional("obfuscatedAccountID", .name.described("the account in the app, at most 64 characters")),
        .optional("obfuscatedProfileID", .name),
        .optional("regionCode", .region.described("by default that of the catalogue")),
        .optional("isPending", .flag.described("whether the purchase waits for its payment")),
        .optional("isTest", .flag.described("whether the customer is a licence tester")),
        .optional("oldPurchaseToken", .name.described("the subscription that is replaced")),
        .optional(
            "replacementMode",
            .choice([
                "WITH_TIME_PRORATION", "CHARGE_PRORATED_PRICE", "WITHOUT_PRORATION", "CHARGE_FULL_PRICE", "DEFERRED",
            ])),
    ])
}

extension StoreControlWire.SignedPlayPurchase: WireModel {
    static let schemaName = "SignedPlayPurchase"
    static let schema = WireSchema.object([
        .required("packageName", .name), .required("productId", .product), .required("purchaseToken", .name),
        .required("orderId", .name), .required("signedData", .text.described("INAPP_PURCHASE_DATA")),
        .required("signature", .text.described("the signature in base64: RSA with SHA-1")),
    ])
}

extension StoreControlWire.PlayPurchase: WireModel {
    static let schemaName = "PlayPurchase"
    static let schema = WireSchema.object([
        .required("account", .text), .required("productID", .product), .required("purchaseToken", .name),
        .required("orderID", .name.described("the latest order that was paid")),
        .required("kind", .playKind), .required("state", .text),
        .required("isAcknowledged", .flag),
        .optional("acknowledgeBy", .date.described("the refund of a purchase that is not acknowledged before")),
        .optional("quantity", .integer), .optional("refundableQuantity", .integer),
        .optional("refundReview", .of(StoreControlWire.PlayRefundReview.self)), .optional("basePlanID", .text),
        .optional("offerID", .text),
        .optional("expiryTime", .date), .optional("autoRenews", .flag),
        .optional("changesAt", .date.described("the time of the next change of the state")),
        .optional("paymentsFail", .flag),
        .optional("scheduledPause", .period.described("the pause from the end of the period on")),
        .optional("replacesAtEnd", .product.described("the product until a deferred replacement takes effect")),
        .optional("priceChange", .of(StoreControlWire.PlayPriceChange.self)),
        .optional("priceStepUp", .of(StoreControlWire.PlayPriceChange.self)), .optional("isConsumed", .flag),
    ])
}

extension StoreControlWire.PlayPriceChange: WireModel {
    static let schemaName = "PlayPriceChange"
    static let schema = WireSchema.object([
        .required("price", .of(Price.self)),
        .optional("mode", .text.described("Google's name, such as PRICE_INCREASE")),
        .required("state", .text.described("Google's name, such as OUTSTANDING")),
        .optional("at", .date.described("the first renewal at the price, or the deadline of the consent")),
    ])
}

extension StoreControlWire.PlayNewPrice: WireModel {
    static let schemaName = "PlayNewPrice"
    static let schema = WireSchema.object([
        .required("price", .price),
        .optional("isOptOut", .flag.described("whether an increase needs no consent")),
    ])
}

extension StoreControlWire.PlayPurchases: WireModel {
    static let schemaName = "PlayPurchases"
    static let schema = WireSchema.object([
        .required("purchases", .array(of: StoreControlWire.PlayPurchase.self))
    ])
}

extension StoreControlWire.PlayPause: WireModel {
    static let schemaName = "PlayPause"
    static let schema = WireSchema.object([
        .required("period", .period.described("a week to three months, from the end of the period on"))
    ])
}

extension StoreControlWire.PlayRefund: WireModel {
    static let schemaName = "PlayRefund"
    static let schema = WireSchema.object([
        .optional("orderID", .name.described("by default the latest order")),
        .optional("keepsPurchase", .flag.described("whether the customer keeps the purchase; by default it ends")),
        .optional("quantity", .integer(1...100).described("the number of items that are refunded; by default all")),
    ])
}

extension StoreControlWire.PlayChargeback: WireModel {
    static let schemaName = "PlayChargeback"
    static let schema = WireSchema.object([.optional("orderID", .name.described("by default the latest order"))])
}

extension StoreControlWire.PlayRefundReview: WireModel {
    static let schemaName = "PlayRefundReview"
    static let schema = WireSchema.object([
        .required("orderID", .name), .required("deadline", .date.described("the time of the decision")),
        .optional("preference", .text.described("Google's name, such as DECLINE")), .required("isDecided", .flag),
    ])
}

extension StoreControlWire.PlayNotification: WireModel {
    static let schemaName = "PlayNotification"
    static let schema = WireSchema.object([
        .required("number", .integer), .required("at", .date),
        .required("type", .text.described("Google's name, such as SUBSCRIPTION_RENEWED")), .optional("account", .text),
        .optional("productID", .product), .optional("purchaseToken", .name),
        .optional("orderID", .name.described("the order of a voided purchase")),
        .required(
            "attempts",
            .array(
                .object([
                    .required("at", .date),
                    .optional("result", .text.described("the status of the response, or a word for a failure")),
                ]))),
        .optional("due", .date.described("the time of the next attempt")),
    ])
}

extension StoreControlWire.PlayNotifications: WireModel {
    static let schemaName = "PlayNotifications"
    static let schema = WireSchema.object([
        .required("notifications", .array(of: StoreControlWire.PlayNotification.self))
    ])
}

extension StoreControlWire.PlayProducts: WireModel {
    static let schemaName = "PlayProducts"
    static let schema = WireSchema.object([
        .required("regionCode", .region), .required("products", .array(of: StoreControlWire.PlayProduct.self)),
    ])
}

extension StoreControlWire.PlayProduct: WireModel {
    static let schemaName = "PlayProduct"
    static let schema = WireSchema.object([
        .required("productID", .product), .required("title", .text), .required("kind", .playKind),
        .optional(
            "options",
            .array(
                .object([
                    .required("purchaseOptionID", .text), .required("price", .of(Price.self)),
                    .required("allowsSeveral", .flag), .optional("offers", .array(discount)),
                ]))),
        .optional(
            "basePlans",
            .array(
                .object([
                    .required("basePlanID", .text),
                    .required("kind", .choice(["autoRenewing", "prepaid", "installments"])),
                    .required("period", .period), .required("price", .of(Price.self)),
                    .optional("committedPayments", .integer),
                ]))),
        .optional(
            "offers",
            .array(
                .object([
                    .required("offerID", .text), .required("basePlanID", .text),
                    .required("phases", .array(phase)),
                ]))),
    ])

    private static let discount = WireSchema.object([
        .required("offerID", .text), .required("price", .of(Price.self)), .optional("startTime", .date),
        .optional("endTime", .date),
    ])

    private static let phase = WireSchema.object([
        .required("duration", .period), .required("count", .integer), .required("price", .of(Price.self)),
    ])
}

extension StoreControlWire.PlayOrders: WireModel {
    static let schemaName = "PlayOrders"
    static let schema = WireSchema.object([.required("orders", .array(of: StoreControlWire.PlayOrder.self))])
}

extension StoreControlWire.PlayOrder: WireModel {
    static let schemaName = "PlayOrder"
    static let schema = WireSchema.object([
        .required("orderID", .name), .required("purchaseToken", .name), .required("productID", .product),
        .required("state", .text.described("Google's name, such as PROCESSED")), .required("at", .date),
        .required("total", .of(Price.self)), .optional("quantity", .integer),
        .optional("phase", .text.described("Google's name of the phase, such as BASE")), .optional("from", .date),
        .optional("until", .date), .optional("refundedAt", .date.described("the time of the latest refund")),
    ])
}
