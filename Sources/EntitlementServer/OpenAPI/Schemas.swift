import GooglePlay
import HTTPCore
import Primitives
import StoreModel

extension WireSchema {
    /// An id of a customer, product or transaction. JSON Schema counts characters; the server counts bytes.
    static let identifier = text(
        TransactionID.rule, pattern: #"^[^\u0000-\u001F\u007F-\u009F]+$"#, length: 1...255, TransactionID.isValid)
    static let source = text.described("appStore, web, grant or googlePlay; more may come")
    static let period = text(
        "one component of ISO 8601 such as \"P1M\"", pattern: "^P([1-9][0-9]{0,3}[DWMY]|T[1-9][0-9]{0,3}[HMS])$"
    ) { SubscriptionPeriod(iso8601: $0) != nil }.example("P1M")
    static let cursor = text.described("the ?cursor= of the next page; absent on the last one")
    private static let count = integer(0...Int(Int32.max))

    static let price = named("Price") {
        .object([.required("amount", .amount), .required("currency", .text.described("ISO 4217"))])
    }

    // MARK: - Customers

    static let customerMembers: [Member] = [
        .required("customer", .identifier), .required("environment", .text),
        .required("asOf", .date.described("the time for which the answer is valid")),
        .optional(
            "validUntil", .date.described("the next time at which the answer changes by itself; absent if it does not")),
        .required("features", .array(.feature)), .required("subscriptions", .array(.subscription)),
        .required("purchases", .array(.purchase)), .required("managementURL", WireSchema.text.orNull),
    ]

    package static let customer = named("Customer") { .object(customerMembers) }

    private static let feature = named("Feature") {
        .object([
            .required("name", .identifier), .required("isActive", .flag), .required("from", .date),
            .optional("until", .date.described("the end of the store's own period, exclusive")),
            .optional("effectiveUntil", .date.described("the end of access, the store's grace included; exclusive")),
            .required("source", .source), .optional("productID", .identifier),
            .optional("originalTransactionID", .identifier),
            .required("because", .text.described("the reason as a sentence")),
            .optional("grantID", .text.described("for a grant: the id that withdraws it")),
        ])
    }

    private static let subscription = named("Subscription") {
        .object([
            .required("productID", .identifier), .required("originalTransactionID", .identifier),
            .optional("groupID", .text),
            .required("state", .text.described("active, inGracePeriod, inBillingRetry, expired, revoked or paused")),
            .required("startedAt", .date), .required("expiresAt", .date), .required("effectiveUntil", .date),
            .optional("autoRenews", .flag), .optional("renewsTo", .identifier), .required("isTrial", .flag),
            .required("isIntroductory", .flag), .required("gracePeriodUntil", WireSchema.date.orNull),
            .required("cancelledAt", WireSchema.date.orNull), .required("revokedAt", WireSchema.date.orNull),
            .optional("price", .price), .required("source", .source),
            .optional("managementURL", .text.described("the store's page about the subscription")),
        ])
    }

    private static let purchase = named("Purchase") {
        .object([
            .required("productID", .identifier), .required("transactionID", .identifier),
            .required("originalTransactionID", .identifier), .required("kind", .text), .required("purchasedAt", .date),
            .required("quantity", .integer),
            .optional("refundedQuantity", .integer.described("units that were refunded while the others remain")),
            .required("revokedAt", WireSchema.date.orNull), .required("source", .source),
        ])
    }

    static let customers = named("CustomerList") {
        .object([
            .required(
                "customers",
                .array(
                    .object([
                        .required("customer", .identifier), .required("aliases", .array(.identifier)),
                        .required("firstSeenAt", .date), .optional("erasedAt", .date),
                    ]))), .optional("nextCursor", .cursor),
        ])
    }

    static let aliasRequest = named("AliasRequest") { .object([.required("alias", .identifier)]) }
    static let tokenRequest = named("CustomerTokenRequest") {
        .object([.nullable("lasts", .period.described("an hour if absent, 90 days at most"))])
    }
    static let token = named("CustomerToken") { .object([.required("token", .text), .required("expiresAt", .date)]) }
    static let transferRequest = named("TransferRequest") {
        .object([.required("to", .identifier), .required("originalTransactionID", .identifier)])
    }
    static let erased = named("ErasedCustomer") {
        .object([.required("pseudonym", .identifier), .required("erasedPurchases", count)])
    }

    // MARK: - Facts

    static let postTransactions = named("PostTransactionsRequest") {
        .object(
            [
                .nullable("signedTransaction", .signed),
                .nullable("signedTransactions", .array(.signed, count: 1...TransactionsRoute.limit)),
                .nullable("receipt", .receipt),
                .nullable("signedRenewalInfos", .array(.signed, count: 0...TransactionsRoute.limit)),
            ], exactlyOne: ["signedTransaction", "signedTransactions", "receipt"])
    }

    static let postedTransactions = named("PostTransactionsAnswer") {
        .object(
            customerMembers + [
                .required(
                    "acknowledgedTransactionIDs",
                    .array(.identifier).described("the stored transactions, which the device may finish")),
                .required("rejected", .array(.rejected)),
            ])
    }

    private static let signed = text("a signed document", length: 1...(1 << 20)) { !$0.isEmpty }
    private static let receipt = WireSchema(
        ["type": "string", "format": "byte", "minLength": 1, "description": "an app receipt in base64"], "base64"
    ) { $0.stringValue?.isEmpty == false }
    private static let rejected = named("RejectedTransaction") {
        .object([
            .required("index", count.described("its place in the request, from 0")), .required("code", .text),
            .required("detail", .text), .required("retryable", .flag),
        ])
    }

    static let facts = named("FactList") {
        .object([
            .required(
                "facts",
                .array(
                    .object([
                        .required("kind", .text), .required("source", .text), .optional("transactionID", .text),
                        .required("originalTransactionID", .text), .required("signedAt", .date),
                        .required("receivedAt", .date),
                        .optional("payload", .object.described("the signed data; absent after an erasure")),
                    ]))), .optional("nextCursor", .cursor),
        ])
    }

    static let notification = named("NotificationRequest") { .object([.required("signedPayload", .signed)]) }
    static let notified = named("NotificationAnswer") { .object([.required("notificationUUID", .text)]) }

    static let postPlayPurchase = named("PostPlayPurchaseRequest") {
        .object([
            .required(
                "packageName",
                text(PackageName.rule, pattern: "^[A-Za-z0-9_.]+$", length: 1...155, PackageName.isValid)),
            .required("productId", .identifier),
            .required(
                "purchaseToken",
                text(PurchaseToken.rule, pattern: "^[!-~]+$", length: 1...1024, PurchaseToken.isValid)),
            .nullable("signedData", .text.described("INAPP_PURCHASE_DATA, as Google Play gave it to the app")),
            .nullable("signature", .text.described("INAPP_DATA_SIGNATURE, in base64")),
        ])
    }

    static let postedPlayPurchase = named("PostPlayPurchaseAnswer") {
        .object(
            customerMembers + [
                .required(
                    "acknowledgedPurchaseTokens", .array(.text).described("the stored purchase")),
                .required("rejected", .array(.rejected)),
            ])
    }

    static let playNotification = named("PlayNotificationRequest") {
        .object([
            .required(
                "message",
                .object([
                    .required("data", .base64.described("a developer notification")),
                    .required(
                        "messageId",
                        text("1 to 255 visible characters of ASCII", pattern: "^[!-~]+$", length: 1...255) { text in
                            PlayNotificationsRoute.isMessageID(text)
                        }),
                    .optional("publishTime", .date),
                ])), .optional("subscription", .text),
        ])
    }
    static let playNotified = named("PlayNotificationAnswer") { .object([.required("messageId", .text)]) }

    static let realtimeRequest = named("RealtimeRequestBody") { .object([.required("signedPayload", .signed)]) }
    static let realtimeResponse = named("RealtimeResponseBody") {
        .object([
            .optional("message", .object([.required("messageIdentifier", .uuid)])),
            .optional(
                "alternateProduct",
                .object([.required("messageIdentifier", .uuid), .required("productId", .identifier)])),
            .optional(
                "promotionalOffer",
                .object([
                    .required("messageIdentifier", .uuid), .optional("promotionalOfferSignatureV2", .text),
                    .optional(
                        "promotionalOfferSignatureV1",
                        .object([
                            .required("encodedSignature", .base64), .required("productId", .identifier),
                            .required("nonce", .uuid), .required("timestamp", .integer), .required("keyId", .text),
                            .required("offerIdentifier", .text),
                        ])),
                ])),
        ])
    }

    static let validateReceipt = named("ValidateReceiptRequest") {
        .object([
            .required("receipt", .receipt), .nullable("bundleID", .text.described("the app of the key")),
            .nullable("deviceID", .text.described("a UUID with hyphens, a MAC address with colons, or base64")),
        ])
    }

    static let receiptValidation = named("ReceiptValidation") {
        .object([
            .required("isValid", .flag),
            .optional(
                "error",
                .object([.required("code", .text), .required("detail", .text), .required("retryable", .flag)])),
            .required("validatedAt", .date), .required("requestID", .text),
            .optional("receipt", .object.described("the receipt, as printed by souk receipt verify")),
            .optional("customer", .customer),
        ])
    }

    static let webPurchase = named("WebPurchase") {
        .object([
            .required("customer", .identifier), .required("transactionID", .identifier),
            .nullable("originalTransactionID", .identifier), .required("productID", .identifier),
            .required("kind", .text), .required("purchasedAt", .date), .nullable("expiresAt", .date),
            .nullable("revokedAt", .date), .nullable("quantity", .integer(TransactionFact.quantities)),
            .nullable("price", .price),
            .nullable("isTrial", .flag), .nullable("autoRenews", .flag),
            .required("occurredAt", .date.described("the time of this state; the newest counts")),
        ])
    }
    static let acknowledged = named("AcknowledgedTransactions") {
        .object([.required("acknowledgedTransactionIDs", .array(.identifier))])
    }

    // MARK: - Grants, credits and promotions

    static let grantRequest = named("GrantRequest") {
        .object([
            .required("feature", .identifier), .nullable("until", .date.described("in the future")),
            .required(
                "reason",
                text("1 to 250 characters", pattern: #"^[^\u0000]+$"#, length: 1...250) { !$0.isEmpty }),
        ])
    }

    static let balance = named("CreditBalance") {
        .object([
            .required("type", .text), .required("balance", .integer), .required("earned", .integer),
            .required("spent", .integer), .required("prices", .dictionary(of: .integer)),
        ])
    }
    static let creditGrantRequest = named("CreditGrantRequest") {
        .object([
            .required("amount", .integer(1...CreditGrant.maximum)),
            .required(
                "reason",
                text("1 to 250 characters", pattern: #"^[^\u0000]+$"#, length: 1...250) { !$0.isEmpty }),
        ])
    }
    static let redeemRequest = named("RedeemRequest") {
        .object([
            .required(
                "items",
                .array(
                    .object([
                        .required("id", .identifier), .required("type", .text.described("an item type with a price")),
                    ]),
                    count: 1...100))
        ])
    }
    static let redeemed = named("RedeemAnswer") {
        .object([
            .required("type", .text), .required("balance", .integer),
            .required(
                "items",
                .array(
                    .object([.required("id", .identifier), .required("type", .text), .required("cost", count)]))),
        ])
    }

    private static let code = text(
        "4 to 64 letters, digits and hyphens", pattern: "^[A-Za-z0-9-]{4,64}$", length: 4...64
    ) { _ in true }
    private static let promotionMembers: [Member] = [
        .nullable("code", code),
        .required("feature", .identifier), .nullable("lasts", .period.described("cannot be combined with until")),
        .nullable("until", .date.described("in the future")),
        .nullable("redeemableUntil", .date.described("in the future; exclusive")),
        .nullable("limit", .integer(1...1_000_000_000)),
    ]
    static let promotionRequest = named("PromotionRequest") { .object(promotionMembers) }
    static let promotion = named("Promotion") {
        .object(promotionMembers + [.optional("redemptions", count.described("the number of redemptions"))])
    }
    static let promotions = named("PromotionList") {
        .object([.required("promotions", .array(.promotion)), .optional("nextCursor", .cursor)])
    }
    static let promotionCode = named("PromotionCodeRequest") { .object([.required("code", code)]) }

    // MARK: - Events

    static let delivery = named("WebhookDelivery") {
        .object([
            .required("id", .text), .required("webhook", .text), .required("eventID", .text),
            .required("customer", .identifier), .required("state", .choice(["pending", "delivered", "dead"])),
            .required("attempts", count), .required("createdAt", .date), .optional("type", .text),
            .optional("nextAttemptAt", .date), .optional("finishedAt", .date), .optional("lastStatus", .integer),
            .optional("lastError", .text),
        ])
    }
    static let deliveries = named("WebhookDeliveryList") {
        .object([.required("deliveries", .array(.delivery)), .optional("nextCursor", .cursor)])
    }
    static let replayed = named("ReplayedDeliveries") { .object([.required("replayed", count)]) }

    // MARK: - About the server

    static let status = named("Status") { .object([.required("status", .text)]) }
    static let readiness = named("Readiness") {
        .object([.required("status", .text), .required("reads", .flag), .required("writes", .flag)])
    }
    static let index = named("Index") {
        .object([
            .required("name", .text), .required("description", .text), .optional("version", .text),
            .required(
                "links",
                .array(
                    .object([
                        .required("path", .text), .required("summary", .text.described("what is there")),
                    ]))),
        ])
    }
    static let signingKeys = named("SigningKeys") {
        .object([
            .required(
                "keys",
                .array(
                    .object([
                        .required("id", .text), .required("algorithm", .text), .required("publicKey", .base64),
                    ])))
        ])
    }
    static let document = named("OpenAPI") {
        .object([.required("openapi", .text), .required("info", .object), .required("paths", .object)])
    }
}

extension WireSchema.Member {
    /// A member of a request, in which `null` means absent.
    static func nullable(_ name: String, _ schema: WireSchema) -> Self { .optional(name, schema.orNull) }
}
