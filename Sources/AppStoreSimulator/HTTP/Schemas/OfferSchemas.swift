import HTTPCore
import SimulatorControl
import StoreKitAdapter
import StoreModel

extension StoreWire.IntroductoryOfferEligibility: WireModel {
    static let schemaName = "IntroductoryOfferEligibility"
    static let schema = WireSchema.object([.required("isEligible", .flag)])
}

extension StoreControlWire.NewOfferCodes: WireModel {
    static let schemaName = "NewOfferCodes"
    static let schema = WireSchema.object(
        [
            .required("productID", .product),
            .required(
                "offerID", .name.described("an offer that codes redeem; a new one of another product is declared")),
            .optional("code", .text(CodeBatch.rule, pattern: "^[A-Za-z0-9]{1,64}$", CodeBatch.isValid)),
            .optional("limit", .integer(CodeBatch.limits).described("the accounts that can redeem the custom code")),
            .optional("count", .integer(CodeBatch.counts).described("the number of one-time codes")),
            .optional("expiresAt", .date.described("in at most six months for one-time codes")),
            .optional("price", .price.described("of a new offer of a product that does not renew; 0 is free")),
            .optional(
                "customers",
                .array(.choice(StoreControlWire.PurchaseCustomer.self)).described(
                    "of a new offer of a product that does not renew; all by default")),
        ], exactlyOne: ["code", "count"])
}

extension StoreControlWire.OfferCodeBatch: WireModel {
    static let schemaName = "OfferCodeBatch"
    static let schema = WireSchema.object([
        .required("batch", .name), .required("kind", .choice(Kind.self)), .required("productID", .product),
        .required("offerID", .text), .optional("code", .text.described("the custom code")),
        .required("limit", .integer.described("the redemptions that the codes allow together")),
        .required("redeemed", .integer), .required("createdAt", .date), .optional("expiresAt", .date),
        .optional("deactivatedAt", .date),
        .optional("codes", .array(of: Code.self).described("in an answer about one batch")),
        .optional(
            "state",
            .choice(StoreControlWire.OfferCode.State.self).described(
                "for the account of the request; absent without an account")),
        .optional("reason", .text.described("why the account cannot redeem a code")),
    ])
}

extension StoreControlWire.OfferCodeBatch.Code: WireModel {
    static let schemaName = "IssuedOfferCode"
    static let schema = WireSchema.object([
        .required("code", .text), .required("redeemed", .integer.described("the number of redemptions")),
    ])
}

extension StoreControlWire.OfferCodeBatches: WireModel {
    static let schemaName = "OfferCodeBatches"
    static let schema = WireSchema.object([
        .required("offerCodeBatches", .array(of: StoreControlWire.OfferCodeBatch.self))
    ])
}

extension StoreControlWire.WinBackConditions: WireModel {
    static let schemaName = "WinBackConditions"
    static let schema = WireSchema.object([
        .required("offerID", .text.described("a win-back offer of the product")),
        .optional("paidMonths", .integer(paidRange).described("the months that the customer has paid for")),
        .optional("minimumMonthsSinceEnd", .integer(sinceEndRange)),
        .optional("maximumMonthsSinceEnd", .integer(sinceEndRange)),
        .optional(
            "monthsBetweenOffers",
            .integer(betweenOffersRange).described("since the customer last redeemed a win-back offer of the group")),
    ])
}

extension StoreControlWire.WinBackOffer: WireModel {
    static let schemaName = "WinBackOffer"
    static let schema = WireSchema.object([
        .required("productID", .product), .required("offer", .of(Offer.self)),
        .required("conditions", .of(StoreControlWire.WinBackConditions.self)),
        .optional("isEligible", .flag.described("for the account of the request; absent without an account")),
        .optional("reason", .text.described("why the account cannot redeem it")),
    ])
}

extension StoreControlWire.WinBackOffers: WireModel {
    static let schemaName = "WinBackOffers"
    static let schema = WireSchema.object([
        .required("winBackOffers", .array(of: StoreControlWire.WinBackOffer.self))
    ])
}
