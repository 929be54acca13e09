import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel

extension StoreWire.SignIn: WireModel {
    static let schemaName = "SignIn"
    static let schema = WireSchema.object([.required("account", .name)])
}

extension StoreWire.Device: WireModel {
    static let schemaName = "Device"
    static let schema = WireSchema.object([
        .required("deviceID", .name), .required("account", .name), .required("storefront", .of(Storefront.self)),
        .required("canMakePayments", .flag),
    ])
}

extension Storefront: WireModel {
    static let schemaName = "Storefront"
    static let schema = WireSchema.object([
        .required("countryCode", .storefront), .required("id", .text.described("Apple's number of the storefront")),
        .required("locale", .text), .required("currency", .text.described("ISO 4217")),
    ])
}

extension Payment: WireModel {
    static let schemaName = "Payment"
    static let schema = WireSchema.object([
        .required("id", .name.described("chosen by the caller; a repeated id buys nothing")),
        .required("productID", .product),
        .optional(
            "quantity", .integer(1...1_000_000).described("the store refuses more than 10 at once; 1 by default")),
        .optional("appAccountToken", .uuid), .optional("offer", .of(PaymentOffer.self)),
        .optional("offerID", .text.described("the id of a promotional offer without a signature")),
        .optional("introductoryOfferEligibility", .text.described("a JWS of the app's server")),
        .optional("simulatesAskToBuy", .flag),
    ])
}

extension PaymentOffer: WireModel {
    static let schemaName = "PaymentOffer"
    static let schema = WireSchema.object([
        .required("kind", .text.described("promotional or winBack")), .required("id", .text),
        .optional("signature", .of(OfferSignature.self)), .optional("compactJWS", .text),
    ])
}

extension OfferSignature: WireModel {
    static let schemaName = "OfferSignature"
    static let schema = WireSchema.object([
        .required("keyID", .text), .required("nonce", .uuid),
        .required("timestamp", .integer.described("milliseconds since 1970")),
        .required("signature", .base64.described("ECDSA in DER")),
    ])
}

extension StoreWire.Accepted: WireModel {
    static let schemaName = "Accepted"
    static let schema = WireSchema.object([.required("paymentID", .name)])
}

extension OfferCodeRedemption: WireModel {
    static let schemaName = "OfferCodeRedemption"
    static let schema = WireSchema.object([.required("code", .name), .optional("appAccountToken", .uuid)])
}

extension StoreWire.Updates: WireModel {
    static let schemaName = "Updates"
    static let schema = WireSchema.object([
        .required("updates", .array(of: StoreWire.Update.self)),
        .required("cursor", .text.described("the value of after for the next request")),
        .optional("storefront", .of(Storefront.self)), .optional("messages", .array(of: StoreMessage.self)),
        .optional("promotedPurchases", .array(of: PromotedPurchase.self)),
    ])
}

extension PromotedPurchase: WireModel {
    static let schemaName = "PromotedPurchase"
    static let schema = WireSchema.object([
        .required("productID", .product), .optional("offer", .of(PaymentOffer.self)),
    ])
}

extension StoreWire.Update: WireModel {
    static let schemaName = "Update"
    static let schema = WireSchema.object([
        .optional("paymentID", .name), .required("productID", .product),
        .required("state", .choice(["purchased", "deferred", "failed", "revoked", "renewalChanged"])),
        .optional("transaction", .of(StoreTransaction.self)), .optional("alreadyOwned", .flag),
        .optional("failure", .of(StoreFailure.self)),
    ])
}

extension StoreFailure: WireModel {
    static let schemaName = "StoreFailure"
    static let schema = WireSchema.object([.required("code", .text), .required("reason", .text)])
}

extension StoreMessage: WireModel {
    static let schemaName = "StoreMessage"
    static let schema = WireSchema.object([
        .required("id", .text), .required("reason", .text), .optional("productID", .product),
    ])
}

extension StoreWire.MessageAnswer: WireModel {
    static let schemaName = "MessageAnswer"
    static let schema = WireSchema.object([
        .required("answer", .choice(["show", "accept", "decline"]))
    ])
}

extension StoreWire.AppTransaction: WireModel {
    static let schemaName = "AppTransaction"
    static let schema = WireSchema.object([
        .required("signedAppTransaction", .text.described("a JWS of Apple's app transaction"))
    ])
}

extension StoreWire.Transactions: WireModel {
    static let schemaName = "Transactions"
    static let schema = WireSchema.object([.required("transactions", .array(of: StoreTransaction.self))])
}

extension StoreTransaction: WireModel {
    static let schemaName = "Transaction"
    static let schema = WireSchema.object([
        .required("id", .name), .required("originalID", .name), .required("productID", .product),
        .required("kind", .text), .required("purchaseDate", .date), .optional("expiresDate", .date),
        .optional("revocationDate", .date), .required("quantity", .integer(1...10)),
        .optional("appAccountToken", .uuid), .optional("originalPurchaseDate", .date), .optional("reason", .text),
        .optional("ownership", .text), .optional("isUpgraded", .flag), .optional("revocationReason", .integer),
        .optional("subscriptionGroupID", .text), .optional("offer", .of(TransactionOffer.self)),
        .required("signedTransaction", .text), .optional("signedRenewalInfo", .text),
    ])
}

extension TransactionOffer: WireModel {
    static let schemaName = "TransactionOffer"
    static let schema = WireSchema.object([
        .required("type", .integer), .optional("id", .text), .optional("paymentMode", .text),
        .optional("period", .period),
    ])
}

extension ProductAnswer: WireModel {
    static let schemaName = "ProductAnswer"
    static let schema = WireSchema.object([
        .required("products", .array(of: StoreProduct.self)), .required("invalidProductIDs", .array(.name)),
    ])
}

extension StoreProduct: WireModel {
    static let schemaName = "Product"
    static let schema = WireSchema.object([
        .required("id", .name), .required("kind", .text), .required("price", .of(Price.self)),
        .required("displayPrice", .text), .required("displayName", .text), .required("description", .text),
        .required("isFamilyShareable", .flag), .optional("subscription", .of(SubscriptionTerms.self)),
    ])
}

extension Price: WireModel {
    static let schemaName = "Price"
    static let schema = WireSchema.object([
        .required("amount", .amount), .required("currency", .text.described("ISO 4217")),
    ])
}

extension SubscriptionTerms: WireModel {
    static let schemaName = "SubscriptionTerms"
    static let schema = WireSchema.object([
        .required("groupID", .text), .optional("groupDisplayName", .text),
        .required("level", .integer.described("1 is the highest service of the group")), .required("period", .period),
        .optional("introductoryOffer", .of(Offer.self)), .required("promotionalOffers", .array(of: Offer.self)),
        .optional("winBackOffers", .array(of: Offer.self)), .optional("monthlyPlan", .of(MonthlyPlan.self)),
    ])
}

extension SubscriptionTerms.MonthlyPlan: WireModel {
    static let schemaName = "MonthlyPlan"
    static let schema = WireSchema.object([
        .required("price", .of(Price.self)), .required("billCount", .integer),
        .optional("introductoryOffer", .of(Offer.self)), .required("promotionalOffers", .array(of: Offer.self)),
        .required("winBackOffers", .array(of: Offer.self)),
    ])
}

extension Offer: WireModel {
    static let schemaName = "Offer"
    static let schema = WireSchema.object([
        .optional("id", .text), .required("paymentMode", .text), .required("period", .period),
        .required("periodCount", .integer), .optional("price", .of(Price.self)),
    ])
}

/// The JSON object `{}`.
struct Nothing: Encodable, Sendable, WireModel {
    static let schemaName = "Nothing"
    static let schema = WireSchema.object
}

/// The state of a store, as `SimulatedAppStore.exportState` writes it.
struct StoreState: Codable, Sendable, WireModel {
    static let schemaName = "StoreState"
    static let schema = WireSchema.object.described("the response of GET /control/v1/state; its members are internal")

    let value: JSONValue

    init(value: JSONValue) { self.value = value }

    init(from decoder: any Decoder) throws { value = try JSONValue(from: decoder) }

    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}
