import HTTPCore
import Primitives
import StoreModel

extension OpenAPIDocument {
    /// Creates the document of a server with these endpoints and environments.
    init(_ endpoints: [Endpoint<ServerHandler>], _ environments: [StoreEnvironment]) {
        let environment = WireSchema.choice(environments.map(\.rawValue))
        self.init(
            title: "Souk entitlement server", version: "1",
            description: """
                JSON in UTF-8, with RFC 3339 dates and money as decimal strings. Unknown members are ignored. Absent \
                values are left out and never null, except where this document allows null.
                """,
            tags: [
                .customers, .facts, .retention, .offers, .gifts, .refunds, .changes, .figures, .provisioning, .server,
            ],
            security: Self.schemes,
            operations: endpoints.map { Operation($0, environment) })
    }

    private static let schemes: [Security] = [
        .init("key", ["type": "http", "scheme": "bearer", "description": "a public or a secret key of an app"]),
        .init("secretKey", ["type": "http", "scheme": "bearer", "description": "a secret key of an app"]),
        .init(
            "customerToken",
            [
                "type": "apiKey", "in": "header", "name": .string(Authenticator.customerToken),
                "description": "the customer's own token, beside a public key",
            ]),
        .init(
            "apiKey",
            [
                "type": "apiKey", "in": "header", "name": "x-api-key",
                "description": "a public or a secret key of an app",
            ]),
    ]
}

extension OpenAPIDocument.Tag {
    static let customers = Self("customers", "customers, their features and their identity")
    static let facts = Self("facts", "facts from stores and web shops")
    static let retention = Self("retention", "messages for customers who may cancel a subscription")
    static let offers = Self("offers", "promotional and introductory offers of subscriptions")
    static let gifts = Self("gifts", "grants, credits and promotional codes")
    static let refunds = Self("refunds", "refund requests, and what the app reports for them")
    static let changes = Self("news", "events and webhook deliveries")
    static let figures = Self("figures", "figures of the ledger, such as revenue and churn")
    static let provisioning = Self(
        "provisioning", "the formats of Palta: feature provisioner, subscriptions tracker, showcase")
    static let server = Self("server", "about the server")
}

extension [OpenAPIDocument.Parameter] {
    /// The parameters of a list that is returned in pages.
    static var page: Self {
        [
            .init("limit", in: .query, .integer(1...100), "the maximum number of items; 50 if absent"),
            .init("cursor", in: .query, .identifier, "the nextCursor of the previous page"),
        ]
    }
}

extension [OpenAPIDocument.Link] {
    /// The links from a response that contains a customer.
    static var toCustomer: Self {
        [("customer", "getCustomer"), ("facts", "getFacts"), ("export", "getExport")].map { name, operation in
            .init(name, to: operation, [(name: "customer", expression: "$response.body#/customer")])
        }
    }
}

extension Refusal {
    /// The codes of an endpoint that verifies signed data.
    static let signedDataCodes = ["any code of refused signed data"]
}

extension OpenAPIDocument.Operation {
    fileprivate init(_ endpoint: Endpoint<ServerHandler>, _ environment: WireSchema) {
        self.init(endpoint, refusals: Self.refusals(of: endpoint)) { name in
            .init(name, in: .path, .identifier, Self.path[name] ?? name)
        }
        var headers: [OpenAPIDocument.Header] = [
            .init(Authenticator.requestID, .text, "the id of the request, also in the log")
        ]
        for status in responses.keys {
            responses[status]?.headers = headers
            if [429, 503].contains(status) {
                responses[status]?.headers.append(.init("Retry-After", .integer(0...86_400), "in seconds"))
            }
        }
        if case .authorized(let access, let credential, _) = endpoint.handler {
            security = Self.security(access, credential)
            parameters.append(
                .init(
                    Authenticator.environmentHeader, in: .header, environment,
                    "the environment; the server's first if absent"))
            headers.append(.init(Authenticator.environmentHeader, environment, "the environment of the answer"))
        }
        if endpoint.isIdempotent {
            parameters.append(
                .init(
                    "Idempotency-Key", in: .header, .text("1 to 255 characters", length: 1...255) { !$0.isEmpty },
                    "a repeated request with this key gets the first answer, for a day"))
        }
        if endpoint.parameters.contains(where: { $0.name == "If-None-Match" }) {
            headers.append(.init("ETag", .text, "changes with the answer"))
            responses[304] = .init("The answer with the ETag of If-None-Match is still valid", headers: headers)
        }
        responses[endpoint.status]?.headers = headers
    }

    private static let path = [
        "customer": "the app's id of a customer; a UUID in any case is the same customer",
        "type": "a type of credit", "code": "a promotional code, in any case", "source": "a web shop",
        "id": "the id from an answer", "name": "the name of a figure, from the list",
    ]

    private static func security(
        _ access: ServerHandler.Access, _ credential: ServerHandler.Credential
    ) -> [[String]] {
        switch (access, credential) {
        case (.secretKey, _): [["secretKey"]]
        case (.customer, _): [["secretKey"], ["key", "customerToken"]]
        case (.publicKey, .bearer): [["key"], ["key", "customerToken"]]
        case (.publicKey, .apiKeyOrBearer): [["apiKey"], ["key"], ["key", "customerToken"]]
        }
    }

    /// Returns the codes of an endpoint's refusals, by status.
    private static func refusals(of endpoint: Endpoint<ServerHandler>) -> [Int: [String]] {
        var codes = endpoint.refusals
        func add(_ status: Int, _ more: String...) { codes[status, default: []] += more }
        add(400, "invalid_field")
        add(501, "no_signing_key")
        add(503, "unavailable")
        if !endpoint.pathParameters.isEmpty { add(400, "malformed_path") }
        if endpoint.body != nil || !endpoint.query.isEmpty { add(400, "malformed") }
        if endpoint.body != nil {
            add(413, "body_too_large")
            add(415, "unsupported_encoding")
        }
        if endpoint.isIdempotent {
            add(409, "idempotency_in_progress")
            add(422, "idempotency_mismatch")
        }
        guard case .authorized(let access, _, _) = endpoint.handler else { return codes }
        if !codes[400, default: []].contains("malformed") { add(400, "malformed") }
        add(401, "missing_key", "unknown_key")
        add(403, "app_not_served")
        add(429, "rate_limited")
        switch access {
        case .secretKey: add(403, "secret_key_required")
        case .publicKey, .customer:
            add(401, "missing_customer_token", "unknown_customer_token", "customer_token_expired")
            add(403, "another_customer")
            if endpoint.id == "postAlias" { add(403, "secret_key_required") }
        }
        return codes
    }
}
