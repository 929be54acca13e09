import HTTPCore
import StoreModel

/// What the document says of an endpoint beyond its table row: what goes in, what comes out, what it refuses.
struct EndpointDescription: Sendable {
    var tag: Tag
    var query: [OpenAPIDocument.Parameter] = []
    var headers: [OpenAPIDocument.Parameter] = []
    var body: OpenAPIDocument.Body?
    var status = 200
    /// Absent for an answer without a body.
    var answer: WireSchema?
    var type = "application/json"
    /// Codes beyond those that the path, the body and the key bring along.
    var refusals: [Int: [String]] = [:]
    /// Whether `Idempotency-Key` works.
    var isIdempotent = false
    var links: [OpenAPIDocument.Link] = []

    enum Tag: String, CaseIterable {
        case customers, facts, gifts, news, provisioning, server

        var summary: String {
            switch self {
            case .customers: "who uses the apps, and what they may use"
            case .facts: "what stores and shops say happened"
            case .gifts: "grants, credits and promotional codes"
            case .news: "what changes, told as it happens"
            case .provisioning: "the formats of Palta: feature provisioner, subscriptions tracker, showcase"
            case .server: "about the server"
            }
        }
    }
}

extension EndpointDescription {
    /// By the endpoint's id.
    static let all: [String: EndpointDescription] = [customers, facts, gifts, news, provisioning, server]
        .reduce(into: [:]) { $0.merge($1) { first, _ in first } }

    private static let page: [OpenAPIDocument.Parameter] = [
        .init("limit", in: .query, .integer(1...100), "how many at most; 50 when absent"),
        .init("cursor", in: .query, .identifier, "the nextCursor of the page before"),
    ]

    private static let toCustomer: [OpenAPIDocument.Link] = [
        .init("customer", to: "getCustomer", [(name: "customer", expression: "$response.body#/customer")]),
        .init("facts", to: "getFacts", [(name: "customer", expression: "$response.body#/customer")]),
        .init("export", to: "getExport", [(name: "customer", expression: "$response.body#/customer")]),
    ]

    private static let customers: [String: EndpointDescription] = [
        "getCustomer": .init(
            tag: .customers,
            headers: [
                .init("If-None-Match", in: .header, .text, "the ETag of an answer one has; 304 if it is true still")
            ],
            answer: .customer, links: toCustomer),
        "findCustomers": .init(
            tag: .customers,
            query: [
                .init(
                    "query", in: .query, .identifier,
                    "an id, an alias, a transaction id or an order id; all when absent")
            ] + page, answer: .customers),
        "postAlias": .init(
            tag: .customers, body: .init(.aliasRequest), answer: .customer,
            refusals: [409: ["alias_taken", "customer_erased"]], isIdempotent: true, links: toCustomer),
        "postToken": .init(
            tag: .customers, body: .init(.tokenRequest, isOptional: true), status: 201, answer: .token),
        "postTransfer": .init(
            tag: .customers, body: .init(.transferRequest), answer: .customer,
            refusals: [404: ["unknown_purchase"], 409: ["customer_erased"]], isIdempotent: true, links: toCustomer),
        "getExport": .init(tag: .customers, answer: .object, refusals: [404: ["unknown_customer"]]),
        "deleteCustomer": .init(tag: .customers, answer: .erased, refusals: [404: ["unknown_customer"]]),
    ]

    private static let notTrue = ["any code of refused signed data"]

    private static let facts: [String: EndpointDescription] = [
        "postTransactions": .init(
            tag: .facts, body: .init(.postTransactions), answer: .postedTransactions,
            refusals: [409: ["customer_erased"], 422: notTrue], isIdempotent: true, links: toCustomer),
        "getFacts": .init(tag: .facts, query: page, answer: .facts),
        "validateReceipt": .init(
            tag: .facts, body: .init(.validateReceipt), answer: .receiptValidation, isIdempotent: true),
        "postNotification": .init(
            tag: .facts, body: .init(.notification), answer: .notified, refusals: [422: notTrue]),
        "postWebPurchase": .init(
            tag: .facts,
            headers: [
                .init(
                    WebhookSignature.field, in: .header, .text,
                    "t=<unix seconds>,v1=<hexadecimal HMAC-SHA256 of t.body>")
            ], body: .init(.webPurchase), answer: .acknowledged,
            refusals: [
                401: ["missing_signature", "malformed_signature", "signature_invalid", "signature_not_current"],
                404: ["unknown_source"], 409: ["customer_erased"], 422: notTrue,
            ]),
    ]

    private static let gifts: [String: EndpointDescription] = [
        "postGrant": .init(
            tag: .gifts, body: .init(.grantRequest), status: 201, answer: .customer,
            refusals: [409: ["customer_erased"]], isIdempotent: true,
            links: toCustomer + [
                .init(
                    "deleteGrant", to: "deleteGrant",
                    [
                        (name: "customer", expression: "$response.body#/customer"),
                        (name: "id", expression: "$response.body#/features/0/grantID"),
                    ])
            ]),
        "deleteGrant": .init(tag: .gifts, answer: .customer, refusals: [404: ["unknown_grant"]], links: toCustomer),
        "getCredit": .init(tag: .gifts, answer: .balance, refusals: [404: ["unknown_credit"]]),
        "redeemCredit": .init(
            tag: .gifts, body: .init(.redeemRequest), answer: .redeemed,
            refusals: [404: ["unknown_credit"], 409: ["insufficient_credit", "customer_erased"]], isIdempotent: true),
        "postPromotion": .init(
            tag: .gifts, body: .init(.promotionRequest), status: 201, answer: .promotion,
            refusals: [409: ["code_taken"]], isIdempotent: true,
            links: [
                .init("end", to: "deletePromotion", [(name: "code", expression: "$response.body#/code")])
            ]),
        "getPromotions": .init(tag: .gifts, query: page, answer: .promotions),
        "deletePromotion": .init(tag: .gifts, status: 204, refusals: [404: ["unknown_code"]]),
        "redeemPromotion": .init(
            tag: .gifts, body: .init(.promotionCode), answer: .customer,
            refusals: [404: ["unknown_code"], 409: ["code_not_redeemable", "customer_erased"]], isIdempotent: true,
            links: toCustomer),
    ]

    private static let news: [String: EndpointDescription] = [
        "streamEvents": .init(
            tag: .news,
            headers: [
                .init("Last-Event-ID", in: .header, .text, "the last event one has; 0 for all that are kept")
            ], answer: .text, type: "text/event-stream"),
        "getWebhookDeliveries": .init(
            tag: .news,
            query: [.init("state", in: .query, .choice(["pending", "delivered", "dead"]), "only these")] + page,
            answer: .deliveries),
        "replayWebhookDelivery": .init(
            tag: .news, answer: .delivery, refusals: [404: ["no_such_delivery"], 409: ["delivery_pending"]],
            isIdempotent: true),
        "replayDeadWebhookDeliveries": .init(tag: .news, answer: .replayed, isIdempotent: true),
    ]

    private static let provisioning: [String: EndpointDescription] = [
        "getFeatures": .init(tag: .provisioning, body: .init(.getFeatures), answer: .features),
        "getSubscriptions": .init(tag: .provisioning, body: .init(.getSubscriptions), answer: .subscriptions),
        "getPricePoints": .init(tag: .provisioning, body: .init(.getPricePoints), answer: .pricePoints),
    ]

    private static let server: [String: EndpointDescription] = [
        "getSigningKeys": .init(tag: .server, answer: .signingKeys),
        "getMetrics": .init(tag: .server, answer: .text, type: "text/plain"),
        "getHealth": .init(tag: .server, answer: .status),
        "getReadiness": .init(
            tag: .server,
            query: [
                .init("for", in: .query, .choice(OpenRoutes.Need.allCases.map(\.rawValue)), "what must work; reads")
            ], answer: .readiness),
        "getIndex": .init(tag: .server, answer: .index),
        "getDocument": .init(tag: .server, answer: .document),
        "getDocumentYAML": .init(tag: .server, answer: .document, type: "application/yaml"),
    ]
}
