import SimulatorControl
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel

extension StoreControlWire.ClockState: WireModel {
    static let schemaName = "ClockState"
    static let schema = WireSchema.object([
        .required("now", .date),
        .required("rate", .number(0...1e9).described("virtual seconds per real second; 0 is frozen")),
        .required("revision", .integer.described("grows with every jump and every change of rate")),
    ])
}

extension StoreControlWire.Advance: WireModel {
    static let schemaName = "Advance"
    static let schema = WireSchema.object(
        [
            .optional("period", .period), .optional("seconds", .number(0...6_307_200_000, above: true)),
            .optional("to", .date.described("the new time, later than the present one")),
        ], exactlyOne: ["period", "seconds", "to"])
}

extension StoreControlWire.ClockRate: WireModel {
    static let schemaName = "ClockRate"
    static let schema = WireSchema.object([.required("timeRate", .choice(TimeRate.names))])
}

extension StoreControlWire.Setting: WireModel {
    static let schemaName = "Setting"
    static let schema = WireSchema.object([.required("name", .text), .required("value", .scalar)])
}

extension StoreControlWire.SettingValue: WireModel {
    static let schemaName = "SettingValue"
    static let schema = WireSchema.object([.required("value", .scalar)])
}

extension StoreControlWire.Settings: WireModel {
    static let schemaName = "Settings"
    static let schema = WireSchema.object([.required("settings", .array(of: StoreControlWire.Setting.self))])
}

extension StoreControlWire.Account: WireModel {
    static let schemaName = "Account"
    static let schema = WireSchema.object(
        [.required("name", .name)] + StoreControlWire.AccountChange.members + [
            .optional("family", .text.described("the account's family; only in answers"))
        ])
}

extension StoreControlWire.Accounts: WireModel {
    static let schemaName = "Accounts"
    static let schema = WireSchema.object([.required("accounts", .array(of: StoreControlWire.Account.self))])
}

extension StoreControlWire.AccountChange: WireModel {
    static let schemaName = "AccountChange"
    static let members: [WireSchema.Member] = [
        .optional("storefront", .storefront), .optional("canMakePayments", .flag),
        .optional("askToBuy", .flag.described("every purchase waits for approval")),
        .optional("interruptedPurchases", .flag.described("every purchase stops until it is resolved")),
    ]
    static let schema = WireSchema.object(members)
}

extension StoreControlWire.Family: WireModel {
    static let schemaName = "Family"
    static let schema = WireSchema.object([
        .required("name", .text), .required("organizer", .text), .required("members", .array(.text)),
    ])
}

extension StoreControlWire.Families: WireModel {
    static let schemaName = "Families"
    static let schema = WireSchema.object([.required("families", .array(of: StoreControlWire.Family.self))])
}

extension StoreControlWire.NewFamily: WireModel {
    static let schemaName = "NewFamily"
    static let schema = WireSchema.object([.required("name", .name), .required("organizer", .name)])
}

extension StoreControlWire.AccountReference: WireModel {
    static let schemaName = "AccountReference"
    static let schema = WireSchema.object([.required("account", .name)])
}

extension StoreControlWire.Devices: WireModel {
    static let schemaName = "Devices"
    static let schema = WireSchema.object([.required("devices", .array(of: StoreWire.Device.self))])
}

extension StoreWire.Receipt: WireModel {
    static let schemaName = "Receipt"
    static let schema = WireSchema.object([.required("receipt", .text.described("base64 of PKCS #7"))])
}

extension WireModel {
    fileprivate static func billingPlan(_ text: String) -> WireSchema.Member {
        .optional("billingPlan", .choice(StoreControlWire.BillingPlan.self).described(text))
    }
}

extension StoreControlWire.Buy: WireModel {
    static let schemaName = "Buy"
    static let schema = WireSchema.object([
        .required("productID", .product),
        .optional("quantity", .integer(1...1_000_000).described("at most 10 at once, or the seats of a subscription")),
        .optional("offerID", .text),
        .optional(
            "offerKind",
            .choice(["promotional", "winBack"]).described(
                "by default the promotional or else the win-back offer with this id")),
        billingPlan("the billing plan of a subscription; upFront by default"),
        .optional(
            "allowsIntroductoryOffer",
            .flag.described("an eligible customer gets the introductory offer; true by default")),
        .optional("appAccountToken", .uuid), .optional("simulatesAskToBuy", .flag),
        .optional("deviceID", .name.described("the device of the account that pays")),
    ])
}

extension StoreControlWire.Promotion: WireModel {
    static let schemaName = "Promotion"
    static let schema = WireSchema.object([
        .required("productID", .product), .optional("offerID", .text.described("a win-back offer of the product")),
    ])
}

extension StoreControlWire.Redeem: WireModel {
    static let schemaName = "Redeem"
    static let schema = WireSchema.object([
        .required("code", .name.described("the identifier of an offer in the catalogue's codeOffers")),
        .optional("productID", .product), .optional("appAccountToken", .uuid),
    ])
}

extension StoreControlWire.OfferCode: WireModel {
    static let schemaName = "OfferCode"
    static let schema = WireSchema.object([
        .required("code", .text.described("what redeems the offer: its identifier, or PRODUCT:OFFER")),
        .required("productID", .product), .required("offer", .of(Offer.self)),
        .required("eligibility", .array(.text).described("the customers who can redeem it: existing, expired, new")),
        .required("isStackable", .flag.described("an eligible customer gets the introductory offer before it")),
        .optional("state", .choice(State.self).described("for the account of the request; absent without an account")),
        .optional("reason", .text.described("why the account cannot redeem it")),
    ])
}

extension StoreControlWire.OfferCodes: WireModel {
    static let schemaName = "OfferCodes"
    static let schema = WireSchema.object([.required("offerCodes", .array(of: StoreControlWire.OfferCode.self))])
}

extension StoreControlWire.PromotedPurchase: WireModel {
    static let schemaName = "ControlPromotedPurchase"
    static let schema = WireSchema.object([
        .required("account", .name), .required("productID", .product),
        .optional("offerID", .text.described("a win-back offer of the product")), .required("begunAt", .date),
    ])
}

extension StoreControlWire.PromotedPurchases: WireModel {
    static let schemaName = "PromotedPurchases"
    static let schema = WireSchema.object([
        .required("promotedPurchases", .array(of: StoreControlWire.PromotedPurchase.self))
    ])
}

extension StoreControlWire.OfProduct: WireModel {
    static let schemaName = "OfProduct"
    static let schema = WireSchema.object([.required("productID", .product)])
}

extension StoreControlWire.Resume: WireModel {
    static let schemaName = "Resume"
    static let schema = WireSchema.object([
        .required("productID", .product), .optional("renewsTo", .product),
        billingPlan("the billing plan of the next period"),
    ])
}

extension StoreControlWire.RefundRequest: WireModel {
    static let schemaName = "RefundRequest"
    static let schema = WireSchema.object([
        .optional("reason", .choice(Reason.self).described("other by default"))
    ])
}

extension StoreControlWire.Refund: WireModel {
    static let schemaName = "Refund"
    static let schema = WireSchema.object([
        .optional("reason", .choice(Reason.self).described("other by default")),
        .optional(
            "percentage",
            .number(0...100, above: true).described(
                "the refunded percentage, rounded to three decimals; the full price by default")),
        .optional("seats", .seats.described("the refunded seats of a subscription with several seats")),
    ])
}

extension StoreControlWire.AskToBuy: WireModel {
    static let schemaName = "AskToBuy"
    static let schema = WireSchema.object([.required("decision", .choice(Decision.self))])
}

extension StoreControlWire.Transaction: WireModel {
    static let schemaName = "ControlTransaction"
    static let schema = WireSchema.object([
        .required("transactionID", .name), .required("originalTransactionID", .name), .required("productID", .product),
        .required(
            "state", .choice(["purchased", "expired", "revoked", "deferred", "interrupted", "declined"])),
        .required("signedTransaction", .text.described("empty for an order that was not sold")),
        .optional("signedRenewalInfo", .text), .optional("purchaseDate", .date), .optional("expiresDate", .date),
        .optional("revocationDate", .date),
        .optional(
            "orderID", .text.described("the id for Look Up Order ID; absent for an unsold order and for a share")),
        .optional("retentionMessage", .of(StoreControlWire.RetentionMessage.self)),
    ])
}

extension StoreControlWire.Consumption: WireModel {
    static let schemaName = "Consumption"
    static let schema = WireSchema.object([
        .required("transactionID", .name), .optional("sentAt", .date),
        .optional("version", .integer(1...2).described("the version of Apple's Send Consumption Information")),
        .optional("information", .object.described("the information, unchanged")),
    ])
}

extension StoreControlWire.Transactions: WireModel {
    static let schemaName = "ControlTransactions"
    static let schema = WireSchema.object([.required("transactions", .array(of: StoreControlWire.Transaction.self))])
}

extension StoreControlWire.PendingOrder: WireModel {
    static let schemaName = "PendingOrder"
    static let schema = WireSchema.object([
        .required("transactionID", .name.described("the id that its transaction will have")),
        .required("account", .name), .required("productID", .product), .required("quantity", .seats),
        .required("state", .choice(["deferred", "interrupted"])), .required("orderedAt", .date),
    ])
}

extension StoreControlWire.PendingOrders: WireModel {
    static let schemaName = "PendingOrders"
    static let schema = WireSchema.object([.required("orders", .array(of: StoreControlWire.PendingOrder.self))])
}

extension StoreControlWire.Subscription: WireModel {
    static let schemaName = "Subscription"
    static let schema = WireSchema.object([
        .required("originalTransactionID", .name),
        .required("transactionID", .name.described("the latest transaction")),
        .required("productID", .product), .required("groupID", .text), .required("status", .choice(Status.self)),
        .required("startedAt", .date), .required("expiresAt", .date), .required("autoRenews", .flag),
        .required("renewsTo", .product), .optional("commitment", .of(Commitment.self)),
        .optional("gracePeriodUntil", .date), .optional("billingRetryUntil", .date),
        .optional("revokedAt", .date), .optional("expirationIntent", .integer(1...5)),
        .optional("priceIncrease", .choice(["pending", "agreed"])), .optional("sharedBy", .text),
        .required("signedTransaction", .text), .required("signedRenewalInfo", .text),
    ])
}

extension StoreControlWire.Subscription.Commitment: WireModel {
    static let schemaName = "Commitment"
    static let schema = WireSchema.object([
        .required("bill", .integer(1...12).described("the number of the latest bill")),
        .required("billCount", .integer(1...12)), .required("endsAt", .date),
        .required("renews", .flag.described("whether another period follows the commitment")),
    ])
}

extension StoreControlWire.Subscriptions: WireModel {
    static let schemaName = "Subscriptions"
    static let schema = WireSchema.object([
        .required("subscriptions", .array(of: StoreControlWire.Subscription.self))
    ])
}

extension StoreControlWire.NewPrice: WireModel {
    static let schemaName = "NewPrice"
    static let schema = WireSchema.object([
        .required("price", .price),
        .optional(
            "needsConsent",
            .flag.described("whether a subscription ends if its customer does not consent; true by default")),
        billingPlan("the billing plan whose price rises; upFront by default"),
    ])
}

extension StoreControlWire.PriceIncrease: WireModel {
    static let schemaName = "PriceIncrease"
    static let schema = WireSchema.object([
        .required("productID", .product), .required("at", .date), .required("price", .of(Price.self)),
        .required("needsConsent", .flag), billingPlan("absent for the plan that is paid up front"),
    ])
}

extension StoreControlWire.PriceIncreases: WireModel {
    static let schemaName = "PriceIncreases"
    static let schema = WireSchema.object([
        .required("priceIncreases", .array(of: StoreControlWire.PriceIncrease.self))
    ])
}

extension StoreControlWire.PriceConsent: WireModel {
    static let schemaName = "PriceConsent"
    static let schema = WireSchema.object([.required("productID", .product), .required("agrees", .flag)])
}
