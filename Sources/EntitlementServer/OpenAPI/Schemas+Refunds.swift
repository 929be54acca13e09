import HTTPCore
import Primitives
import StoreModel

extension WireSchema {
    private static let percentage = number(0...100).described("a percentage with at most three decimals")
    private static let count = integer(0...1_000_000_000)
    private static let deliveryStatus = choice(ConsumptionAnswer.deliveryNames)

    static let refundConsentRequest = named("RefundConsentRequest") { .object([.required("consented", .flag)]) }
    static let refundConsent = named("RefundConsent") {
        .object([.required("customer", .identifier), .required("consented", .flag), .required("statedAt", .date)])
    }

    static let usageReport = named("UsageReport") {
        .object([
            .required("transactionID", .identifier),
            .optional("percentage", percentage.described("the used part; cannot be combined with used")),
            .optional("used", count.described("the used units; the refund policy has the units of a product")),
            .optional("deliveryStatus", deliveryStatus), .optional("sampleContentProvided", .flag),
            .optional("playTime", count.described("the seconds for which the customer used the app")),
        ])
    }

    private static let answer: WireSchema = {
        let none = WireSchema.choice(["none"])
        let stated = WireSchema.object([
            .optional("preference", .choice(ConsumptionAnswer.preferenceNames)),
            .optional("deliveryStatus", deliveryStatus), .optional("sampleContentProvided", .flag),
            .optional("percentage", percentage.described("the used part, instead of the reported one")),
        ])
        return WireSchema(["oneOf": [none.json, stated.json]], "an object, or \"none\" to send nothing") { value in
            none.violation(value) == nil || stated.violation(value) == nil
        }
    }()

    static let refundAnswerRequest = named("RefundAnswerRequest") {
        .object([
            .required("answer", answer),
            .optional("customerConsented", flag.described("whether you have the consent of the customer")),
            .required(
                "reason",
                text("1 to 250 characters", pattern: #"^[^\u0000]+$"#, length: 1...250) { !$0.isEmpty }),
        ])
    }

    static let refundOrderRequest = named("RefundOrderRequest") {
        .object([
            .required("transactionID", identifier.described("the id of an order at Google Play")),
            .optional("revoke", flag.described("whether the purchase ends at once; otherwise the customer keeps it")),
        ])
    }

    static let refundRequest = named("RefundRequest") {
        .object([
            .required("id", .text), .required("source", .source), .required("notificationUUID", .text),
            .required("transactionID", .identifier),
            .required("originalTransactionID", .identifier), .required("productID", .identifier),
            .required("kind", .text), .required("quantity", .integer), .required("customers", .array(.identifier)),
            .required("purchasedAt", .date),
            .optional("reason", .text.described("the customer's reason, by Apple's name")),
            .required("requestedAt", .date),
            .required("deadline", .date.described("the end of the time in which the store takes an answer")),
            .required("state", .choice(RefundRequest.State.self)), .required("attempts", .integer),
            .optional("nextAttemptAt", .date), .optional("decidedBy", .text.described("policy or operator")),
            .optional("decidedAt", .date), .optional("rule", .text.described("the rule of the policy that decided")),
            .optional("silence", .text.described("why nothing is sent")),
            .optional("note", .text.described("the reason that the operator gave")),
            .optional("version", .integer.described("the version of Apple's request; absent for Google Play")),
            .optional("request", .object.described("the body of the store's request, without credentials")),
            .optional("answeredAt", .date),
            .optional("status", .integer.described("the status of the store's last response")),
            .optional("error", .text),
            .optional("outcome", .text.described("what the store decided: refunded, declined or reversed")),
            .optional("outcomeAt", .date),
        ])
    }
    static let refundRequests = named("RefundRequestList") {
        .object([.required("refundRequests", .array(.refundRequest)), .optional("nextCursor", .cursor)])
    }
}
