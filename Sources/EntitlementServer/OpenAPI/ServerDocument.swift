import HTTPCore
import Primitives
import StoreModel

extension OpenAPIDocument {
    /// What a server that has these endpoints, and accepts facts of these environments, answers.
    init(_ endpoints: [Endpoint], _ environments: [StoreEnvironment]) {
        let environment = WireSchema.choice(environments.map(\.rawValue))
        self.init(
            title: "Souk entitlement server", version: "1",
            description: """
                Facts in, answers out. JSON in UTF-8, dates of RFC 3339, money as decimal texts. Members that are not \
                known are passed over; what is absent is left out, never null, except where null is allowed here.
                """,
            tags: EndpointDescription.Tag.allCases.map { .init($0.rawValue, $0.summary) },
            security: Self.schemes,
            operations: endpoints.map { Operation($0, environment) })
    }

    private static let schemes: [Security] = [
        .init("key", ["type": "http", "scheme": "bearer", "description": "a public or a secret key of an app"]),
        .init("secretKey", ["type": "http", "scheme": "bearer", "description": "a secret key of an app"]),
        .init(
            "customerToken",
            [
                "type": "apiKey", "in": "header", "name": .string(Gate.customerToken),
                "description": "the customer's own token, beside a public key",
            ]),
        .init("apiKey", ["type": "apiKey", "in": "header", "name": "x-api-key", "description": "the same keys"]),
    ]
}

extension OpenAPIDocument.Operation {
    fileprivate init(_ endpoint: Endpoint, _ environment: WireSchema) {
        let description = EndpointDescription.all[endpoint.id] ?? .init(tag: .server)
        let names = endpoint.path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
            String($0.dropFirst().dropLast())
        }
        self.init(
            endpoint.method, endpoint.path, id: endpoint.id, summary: endpoint.summary,
            tag: description.tag.rawValue,
            parameters: names.map(Self.pathParameter) + description.query
                + Self.headers(of: endpoint, description, environment),
            body: description.body,
            responses: Self.responses(of: endpoint, description, environment, isNamed: !names.isEmpty),
            security: Self.security(of: endpoint))
    }

    private static let path = [
        "customer": "the app's own name for a customer; a UUID in any case is the same customer",
        "type": "a kind of credit", "code": "a promotional code, in any case", "source": "a shop on the web",
        "id": "as answers name it",
    ]

    private static func pathParameter(_ name: String) -> OpenAPIDocument.Parameter {
        .init(name, in: .path, .identifier, path[name] ?? name)
    }

    private static func headers(
        of endpoint: Endpoint, _ description: EndpointDescription, _ environment: WireSchema
    ) -> [OpenAPIDocument.Parameter] {
        var parameters = description.headers
        if case .admitted = endpoint.action {
            parameters.append(
                .init(Gate.environmentHeader, in: .header, environment, "which facts; the server's first when absent"))
        }
        if description.isIdempotent {
            parameters.append(
                .init(
                    "Idempotency-Key", in: .header, .text("1 to 255 characters", length: 1...255) { !$0.isEmpty },
                    "the first answer is kept for a day and given again"))
        }
        return parameters
    }

    /// `nil` for what anybody may ask.
    private static func security(of endpoint: Endpoint) -> [[String]]? {
        guard case .admitted(let access, let credential, _) = endpoint.action else { return nil }
        switch (access, credential) {
        case (.secretKey, _): return [["secretKey"]]
        case (.customer, _): return [["secretKey"], ["key", "customerToken"]]
        case (.publicKey, .bearer): return [["key"], ["key", "customerToken"]]
        case (.publicKey, .apiKeyOrBearer): return [["apiKey"], ["key"], ["key", "customerToken"]]
        }
    }

    // MARK: - Answers

    private static func responses(
        of endpoint: Endpoint, _ description: EndpointDescription, _ environment: WireSchema, isNamed: Bool
    ) -> [Int: OpenAPIDocument.Response] {
        var headers: [OpenAPIDocument.Header] = [.init(Gate.requestID, .text, "names the case")]
        if case .admitted = endpoint.action {
            headers.append(.init(Gate.environmentHeader, environment, "which facts this is about"))
        }
        var responses = [
            description.status: OpenAPIDocument.Response(
                endpoint.summary, description.answer, type: description.type, headers: headers,
                links: description.links)
        ]
        if endpoint.id == "getCustomer" {
            let etag = OpenAPIDocument.Header("ETag", .text, "changes with the answer")
            responses[description.status]?.headers.append(etag)
            responses[304] = .init("The answer of If-None-Match is true still", headers: headers + [etag])
        }
        for (status, codes) in refusals(of: endpoint, description, isNamed: isNamed) {
            responses[status] = .init(
                codes.joined(separator: ", "), .problem, type: "application/problem+json",
                headers: [.init(Gate.requestID, .text, "names the case")]
                    + ([429, 503].contains(status) ? [.init("Retry-After", .integer(0...86_400), "in seconds")] : []))
        }
        return responses
    }

    /// The codes of an endpoint's refusals, by status.
    static func refusals(
        of endpoint: Endpoint, _ description: EndpointDescription, isNamed: Bool
    ) -> [Int: [String]] {
        var codes = description.refusals
        func add(_ status: Int, _ more: String...) { codes[status, default: []] += more }
        // Every answer may be asked for signed.
        add(400, "invalid_field")
        add(501, "no_signing_key")
        add(503, "unavailable")
        if isNamed { add(400, "malformed_path") }
        if description.body != nil || !description.query.isEmpty { add(400, "malformed") }
        if description.body != nil {
            add(413, "body_too_large")
            add(415, "unsupported_encoding")
        }
        if description.isIdempotent {
            add(409, "idempotency_in_progress")
            add(422, "idempotency_mismatch")
        }
        guard case .admitted(let access, _, _) = endpoint.action else { return codes }
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
