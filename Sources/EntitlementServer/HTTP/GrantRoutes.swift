import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The endpoints POST `/v1/customers/{customer}/grants` and DELETE `…/grants/{id}`.
struct GrantRoutes: Sendable {
    private static let maximumBody = 64 << 10

    let ledger: Ledger
    let idempotent: IdempotentRequests
    let makeID: @Sendable () -> String

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .post, "/v1/customers/{customer}/grants", "postGrant", "Grant a customer a feature", tag: .gifts,
                body: .init(.grantRequest), status: 201, answer: .customer, refusals: [409: ["customer_erased"]],
                isIdempotent: true,
                links: .toCustomer + [
                    .init(
                        "deleteGrant", to: "deleteGrant",
                        [
                            (name: "customer", expression: "$response.body#/customer"),
                            (name: "id", expression: "$response.body#/features/0/grantID"),
                        ])
                ], handler: .authorized(.secretKey, create)),
            Endpoint(
                .delete, "/v1/customers/{customer}/grants/{id}", "deleteGrant", "Withdraw a grant", tag: .gifts,
                answer: .customer, refusals: [404: ["unknown_grant"]], links: .toCustomer,
                handler: .authorized(.secretKey, delete)),
        ]
    }

    @Sendable private func create(_ context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        return context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            return try await idempotent.respond(to: context, body: body) { idempotency in
                let grant = try Grant(
                    RequestBody.decode(GrantRequest.self, from: body), id: makeID(),
                    at: ledger.clock.now().wholeMillisecond)
                return try await ledger.add(grant, to: customer, as: idempotency) { answer in
                    KeptAnswer(status: 201, answer)
                }
            }
        }
    }

    @Sendable private func delete(_ context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        let id = context.path["id"]
        return context.later {
            guard let answer = try await ledger.withdrawGrant(id, of: customer) else { throw Refusal.unknownGrant }
            return ledger.adding(answer.revision, to: answer.response(unless: nil))
        }
    }
}

extension Grant {
    /// Creates a grant from a request. Throws 400 for an invalid field.
    init(_ asked: GrantRequest, id: String, at now: Date) throws {
        guard ProductID(rawValue: asked.feature) != nil else {
            throw Refusal.invalid("feature", "should have \(ProductID.rule)")
        }
        guard (1...1000).contains(asked.reason.utf8.count), !asked.reason.utf8.contains(0) else {
            throw Refusal.invalid("reason", "should be the reason for the grant, in 1 to 1000 bytes")
        }
        let until = asked.until?.wholeMillisecond
        if let until {
            guard until > now else { throw Refusal.invalid("until", "should be in the future") }
        }
        self.init(id: id, feature: asked.feature, from: now, until: until, reason: asked.reason)
    }
}

extension Refusal {
    fileprivate static let unknownGrant = Refusal(
        HTTPProblem(
            status: 404, code: "unknown_grant", title: "Unknown grant",
            detail: "The customer has no grant of this id, or it was withdrawn before.", field: "id"))
}
