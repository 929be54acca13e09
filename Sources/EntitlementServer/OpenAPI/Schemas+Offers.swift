import HTTPCore

extension WireSchema {
    static let offerSignatureRequest = named("OfferSignatureRequest") {
        .object([
            .required("productID", .identifier), .required("offerID", .text),
            .nullable("nonce", WireSchema.uuid.described("for one purchase; the server chooses one if absent")),
        ])
    }

    static let signedOffer = named("SignedOffer") {
        .object([
            .required("productID", .identifier), .required("offerID", .text),
            .optional("appAccountToken", .uuid.described("the token that the payment must have; absent for none")),
            .required("keyID", .text), .required("nonce", .uuid.described("in lower case, as it is signed")),
            .required("timestamp", .integer.described("milliseconds since 1970; stores accept it for a day")),
            .required("signature", .base64.described("version 1: ECDSA in DER")),
            .required("compactJWS", .text.described("version 2: a JWS in compact serialization")),
        ])
    }

    private static let eligibilityMembers: [Member] = [
        .required("isEligible", .flag),
        .optional("reason", .text.described("neverSubscribed, alreadyUsed or conditionNotMet; more may come")),
    ]

    static let offerEligibility = named("OfferEligibility") {
        .object([
            .required("customer", .identifier), .required("environment", .text), .required("asOf", .date),
            .required(
                "products",
                .array(
                    .object([
                        .required("productID", .identifier), .required("groupID", .text),
                        .required("introductoryOffer", .object(eligibilityMembers)),
                        .required(
                            "promotionalOffers",
                            .array(.object([.required("offerID", .text)] + eligibilityMembers))),
                    ]))),
        ])
    }
}
