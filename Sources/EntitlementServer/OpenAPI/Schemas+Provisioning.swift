import HTTPCore
import Primitives
import StoreModel

extension WireSchema {
    private static let user = named("UserId") {
        let kinds: [(String, WireSchema)] = [("merchant-str", .identifier), ("merchant-uuid", .uuid)]
        let forms = kinds.map { type, value in
            WireSchema.object([.required("type", .choice([type])), .required("value", value)])
        }
        return WireSchema(["oneOf": .array(forms.map(\.json))], "a user of type merchant-str or merchant-uuid") {
            value in
            forms.contains { $0.violation(value) == nil }
        }
    }
    static let getFeatures = named("GetFeaturesRequest") { .object([.required("customerId", user)]) }
    static let features = named("FeaturesResponse") {
        .object([
            .required(
                "features",
                .array(
                    .object([
                        .required("quantity", .integer), .required("actualFrom", .date), .optional("actualTill", .date),
                        .required("feature", .text), .optional("lastSubscriptionId", .uuid),
                    ])))
        ])
    }

    static let getSubscriptions = named("GetSubscriptionsRequest") {
        .object([.required("customerId", user), .nullable("onlyIds", .array(.uuid))])
    }
    static let subscriptions = named("SubscriptionsResponse") {
        .object([
            .required(
                "subscriptions",
                .array(
                    .object([
                        .required("id", .uuid), .required("state", .text), .required("createdAt", .date),
                        .optional("canceledAt", .date), .required("currentPeriodStartAt", .date),
                        .required("currentPeriodEndAt", .date), .optional("nextSubscriptionId", .uuid),
                        .required("tags", .array(.text)),
                        .required(
                            "pricePoint",
                            .object(
                                [
                                    .required("ident", .text),
                                    .required("services", .array(.object([.required("featureIdent", .text)]))),
                                    .required("currencyCode", .text), .required("introTotalPrice", .amount),
                                ] + periods)),
                    ])))
        ])
    }

    static let getPricePoints = named("GetPricePointsRequest") {
        .object([.required("customerId", user), .required("ident", .array(.text))])
    }
    static let pricePoints = named("PricePointsResponse") {
        .object([
            .required(
                "pricePoints",
                .array(
                    .object(
                        [
                            .required("ident", .text), .required("name", .text), .required("currencyCode", .text),
                            .required("type", .text.described("intro, intro_next, lifetime or freebie")),
                            .optional("introTotalPrice", .amount),
                        ] + periods)))
        ])
    }

    /// The members of the introductory and the next period.
    private static let periods: [Member] = [
        .optional("introPeriodValue", .integer), .optional("introPeriodType", .text),
        .optional("nextTotalPrice", .amount), .optional("nextPeriodValue", .integer),
        .optional("nextPeriodType", .text),
    ]
}
