import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The endpoints that concern a whole customer: aliases, tokens, transfers, search, export and erasure.
struct CustomerCareRoutes: Sendable {
    private static let maximumBody = 64 << 10
    private static let longestToken: TimeInterval = 90 * 86400
    /// The header with which the tool of an operator asks for an entry in the audit log.
    private static let auditHeader = "Souk-Audit"
    private static let auditParameter = OpenAPIDocument.Parameter(
        auditHeader, in: .header, .text,
        "with any value, the audit log gets an entry, as after an action in the console")

    let ledger: Ledger
    let idempotent: IdempotentRequests
    let tokens: CustomerTokens
    let realClock: any WallClock
    /// Creates the pseudonym of an erased customer.
    let makePseudonym: @Sendable () -> String

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .get, "/v1/customers", "findCustomers", "Find customers", tag: .customers,
                parameters: [
                    .init(
                        "query", in: .query, .identifier,
                        "an id, an alias, a transaction id or an order id; all if absent")
                ] + .page, answer: .customers, handler: .authorized(.secretKey, find)),
            Endpoint(
                .post, "/v1/customers/{customer}/aliases", "postAlias", "Merge an alias into a customer",
                tag: .customers, body: .init(.aliasRequest), answer: .customer,
                refusals: [409: ["alias_taken", "customer_erased"]], isIdempotent: true, links: .toCustomer,
                handler: .authorized(.customer, alias)),
            Endpoint(
                .post, "/v1/customers/{customer}/tokens", "postToken",
                "Issue a token that lets the customer's device act for the customer", tag: .customers,
                body: .init(.tokenRequest, isOptional: true), status: 201, answer: .token,
                handler: .authorized(.secretKey, token)),
            Endpoint(
                .post, "/v1/customers/{customer}/transfer", "postTransfer", "Transfer a purchase to another customer",
                tag: .customers, body: .init(.transferRequest), answer: .customer,
                refusals: [404: ["unknown_purchase"], 409: ["customer_erased"]], isIdempotent: true,
                links: .toCustomer, handler: .authorized(.secretKey, transfer)),
            Endpoint(
                .get, "/v1/customers/{customer}/export", "getExport", "Export all data about a customer",
                tag: .customers, parameters: [Self.auditParameter], answer: .object,
                refusals: [404: ["unknown_customer"]], handler: .authorized(.secretKey, export)),
            Endpoint(
                .delete, "/v1/customers/{customer}", "deleteCustomer",
                "Erase a customer, leaving a pseudonym with products, amounts and dates", tag: .customers,
                parameters: [Self.auditParameter], answer: .erased, refusals: [404: ["unknown_customer"]],
                handler: .authorized(.secretKey, erase)),
        ]
    }

    @Sendable private func find(_ context: RequestContext) throws -> HTTPReply {
        let page = try context.page()
        let query = page.query["query"]
        if let query, CustomerID(rawValue: query) == nil {
            throw Refusal.invalid("query", "should have \(CustomerID.rule)")
        }
        let found = try ledger.customers(
            query.map(CustomerID.canonical), in: context.ledgerID, after: page.cursor ?? "", limit: page.limit)
        return .ready(try HTTPResponse(wire: found))
    }

    @Sendable private func alias(_ context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        return context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            return try await idempotent.respond(to: context, body: body) { idempotency in
                let alias = try RequestBody.decode(AliasRequest.self, from: body).alias
                // Anonymous names cannot be guessed. With another name a device could get another customer's purchases.
                guard context.caller.kind == .secret || alias.isAnonymous else {
                    throw Refusal.aliasNotAnonymous
                }
                do {
                    return try await ledger.merge(alias, into: customer, as: idempotency, respond: KeptAnswer.ok)
                } catch Ledger.CustomerRefusal.aliasTaken {
                    throw Refusal.aliasTaken
                }
            }
        }
    }

    @Sendable private func token(_ context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        return context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            let asked =
                body.isEmpty ? CustomerTokenRequest() : try RequestBody.decode(CustomerTokenRequest.self, from: body)
            let now = realClock.now()
            let end = (asked.lasts ?? SubscriptionPeriod(value: 1, unit: .hour)).end(from: now)
            guard end <= now.addingTimeInterval(Self.longestToken) else {
                throw Refusal.invalid("lasts", "should be 90 days at most")
            }
            let whole = Date(timeIntervalSince1970: end.timeIntervalSince1970.rounded(.down))
            let token = try tokens.issue(for: customer.customer, of: context.caller.app, until: whole)
            return try HTTPResponse(status: 201, wire: CustomerToken(token: token, expiresAt: whole))
        }
    }

    @Sendable private func transfer(_ context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        return context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            return try await idempotent.respond(to: context, body: body) { idempotency in
                let asked = try RequestBody.decode(TransferRequest.self, from: body)
                do {
                    return try await ledger.transfer(
                        asked.originalTransactionID, from: customer, to: asked.to, as: idempotency,
                        respond: KeptAnswer.ok)
                } catch Ledger.CustomerRefusal.unknownPurchase {
                    throw Refusal.unknownPurchase
                }
            }
        }
    }

    @Sendable private func export(_ context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        let note = note(.export, context)
        return context.later {
            guard let held = try await ledger.export(customer, noting: note) else { throw Refusal.unknownCustomer }
            return HTTPResponse(json: held)
        }
    }

    @Sendable private func erase(_ context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        let pseudonym = CustomerID(unchecked: "erased-\(makePseudonym())")
        let note = note(.erase, context)
        return context.later {
            guard let erased = try await ledger.erase(customer, leaving: pseudonym, noting: note) else {
                throw Refusal.unknownCustomer
            }
            return try HTTPResponse(wire: erased)
        }
    }

    /// Returns the note for the audit log, if the request asks for an entry.
    private func note(_ action: AuditAction, _ context: RequestContext) -> AuditNote? {
        guard context.request.headers.contains(Self.auditHeader) else { return nil }
        return AuditNote(
            action: action, keyID: APIKeys.id(of: context.caller.keyDigest), role: .full, now: realClock.now())
    }
}

extension KeptAnswer {
    /// Returns a 200 with a customer's answer.
    static func ok(_ answer: StoredAnswer) -> KeptAnswer { KeptAnswer(status: 200, answer) }

    init(status: Int, _ answer: StoredAnswer) {
        self.init(status: status, contentType: "application/json", body: answer.bytes, revision: answer.revision)
    }

    init(status: Int = 200, wire value: some Encodable) throws {
        self.init(status: status, contentType: "application/json", body: try WireJSON.encode(value))
    }
}

extension HTTPResponse {
    /// Creates a response with a wire type as JSON.
    init(status: Int = 200, wire value: some Encodable) throws {
        self.init(
            status: status, headers: ["Content-Type": "application/json"], body: .bytes(try WireJSON.encode(value)))
    }
}

extension Refusal {
    static let unknownCustomer = Refusal(
        HTTPProblem(
            status: 404, code: "unknown_customer", title: "Unknown customer",
            detail: "The ledger has no customer with this id.", field: "customer"))

    static let customerErased = Refusal(
        HTTPProblem(
            status: 409, code: "customer_erased", title: "Customer erased",
            detail: "This is the pseudonym of an erased customer, which cannot be changed.",
            field: "customer"))

    fileprivate static let unknownPurchase = Refusal(
        HTTPProblem(
            status: 404, code: "unknown_purchase", title: "Unknown purchase",
            detail: "The customer has no purchase with this original transaction id.", field: "originalTransactionID"))

    fileprivate static let aliasTaken = Refusal(
        HTTPProblem(
            status: 409, code: "alias_taken", title: "Alias taken",
            detail: "The alias belongs to another customer; an alias belongs to one customer only.", field: "alias"))

    fileprivate static let aliasNotAnonymous = Refusal(
        HTTPProblem(
            status: 403, code: "secret_key_required", title: "Secret key required",
            detail: """
                With a customer's token only names that begin with "\(AliasRequest.anonymousPrefix)" can be merged; other \
                names require the app's secret key, from your own server.
                """, field: "alias"))
}
