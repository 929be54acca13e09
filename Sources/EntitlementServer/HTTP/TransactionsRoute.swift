import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// POST `/v1/customers/{customer}/transactions`: verify what the store signed, write it down, answer with what follows.
struct TransactionsRoute: Sendable {
    static let limit = 100

    let ledger: Ledger
    let idempotent: IdempotentRequests
    let verifiers: [BundleID: SignedDataVerifier]
    let maximumBody: Int
    let metrics: ServerMetrics

    var endpoints: [Endpoint] {
        [
            Endpoint(
                .post, "/v1/customers/{customer}/transactions", .publicKey, "postTransactions",
                "Present what the store signed", respond)
        ]
    }

    @Sendable private func respond(to visit: Visit) throws -> HTTPReply {
        let customer = try visit.customer()
        return visit.later {
            let body = try await RequestBody.bytes(of: visit.request, upTo: maximumBody)
            return try await idempotent.respond(to: visit, body: body) { idempotency in
                try await record(PresentedData(body), for: customer, as: idempotency)
            }
        }
    }

    private func record(
        _ presented: PresentedData, for customer: CustomerKey, as request: IdempotentRequest?
    ) async throws -> KeptAnswer {
        guard let verifier = verifiers[customer.book.app] else { throw Refusal.appNotServed }
        let verified = verify(presented, with: verifier)
        if let field = presented.singleField, let rejected = verified.rejected.first(where: { $0.index == 0 }) {
            throw Refusal.notTrue(rejected, field: field)
        }
        let refused = Locked<[RejectedTransaction]>([])
        let answer = try await ledger.record(
            verified.facts, of: customer.book.app, by: customer.customer, answering: customer.book.environment,
            as: request
        ) { recorded, answer in
            if let field = presented.singleField, let rejected = recorded.rejected.first(where: { $0.index == 0 }) {
                throw Refusal.notTrue(rejected, field: field)
            }
            let rejected = (verified.rejected + recorded.rejected).sorted { $0.index < $1.index }
            refused.withLock { $0 = rejected }
            return KeptAnswer(
                status: 200, contentType: "application/json",
                body: Self.body(answer?.bytes ?? [], acknowledged: recorded.acknowledged, rejected: rejected))
        }
        for rejected in refused.withLock({ $0 }) { metrics.rejected.add(rejected.code) }
        return answer
    }

    // MARK: - Verifying

    private struct Verified: Sendable {
        var facts: [PresentedFact] = []
        var rejected: [RejectedTransaction] = []
    }

    private func verify(_ presented: PresentedData, with verifier: SignedDataVerifier) -> Verified {
        var verified = Verified()
        for (index, signed) in presented.all.enumerated() {
            do {
                verified.facts.append(
                    index < presented.transactions.count
                        ? try transaction(signed, at: index, with: verifier)
                        : try renewal(signed, at: index, with: verifier))
            } catch {
                // One server has one word for an environment it was not configured for, however many it has.
                let code = error.code == .wrongEnvironment ? SignedDataError.Code.environmentNotAccepted : error.code
                verified.rejected.append(
                    RejectedTransaction(
                        index: index, code: code.rawValue, detail: error.reason, retryable: error.isRetryable))
            }
        }
        return verified
    }

    private func transaction(
        _ signed: String, at index: Int, with verifier: SignedDataVerifier
    ) throws(SignedDataError) -> PresentedFact {
        let verified = try verifier.transaction(signed)
        do {
            return PresentedFact(
                content: .transaction(try TransactionFact(verified.payload, digest: verified.payloadDigest)),
                environment: Self.environment(verified.payload.environment), source: Array(signed.utf8),
                orderID: verified.payload.webOrderLineItemId, index: index)
        } catch {
            throw SignedDataError(.payloadMalformed, "In the transaction, \(error).", underlying: error)
        }
    }

    private func renewal(
        _ signed: String, at index: Int, with verifier: SignedDataVerifier
    ) throws(SignedDataError) -> PresentedFact {
        let verified = try verifier.renewalInfo(signed)
        do {
            return PresentedFact(
                content: .renewal(try RenewalFact(verified.payload, digest: verified.payloadDigest)),
                environment: Self.environment(verified.payload.environment), source: Array(signed.utf8),
                index: index)
        } catch {
            throw SignedDataError(.payloadMalformed, "In the renewal info, \(error).", underlying: error)
        }
    }

    /// The verifier accepts configured environments only, so there is one.
    private static func environment(_ said: AppStoreEnvironment?) -> StoreEnvironment {
        StoreEnvironment(apple: said?.rawValue ?? "")
    }

    // MARK: - Answering

    /// The customer's stored answer with two members more.
    private static func body(
        _ customer: [UInt8], acknowledged: [TransactionID], rejected: [RejectedTransaction]
    ) -> [UInt8] {
        let more: JSONValue = [
            "acknowledgedTransactionIDs": .array(acknowledged.map { .string($0.rawValue) }),
            "rejected": .array(
                rejected.map {
                    [
                        "index": .number($0.index), "code": .string($0.code), "detail": .string($0.detail),
                        "retryable": .bool($0.retryable),
                    ]
                }),
        ]
        return customer.dropLast() + [UInt8(ascii: ",")] + more.encoded().dropFirst()
    }
}

/// What a request presents, checked for its form and for nothing else.
struct PresentedData: Sendable {
    var transactions: [String]
    var renewals: [String] = []
    /// The field of the only transaction: one that is not true is then the whole answer.
    var singleField: String?

    /// Transactions, then renewal infos: a place in this list is what `rejected` calls an index.
    var all: [String] { transactions + renewals }

    init(_ body: [UInt8]) throws {
        let members = try RequestBody.object(body)
        let kinds = ["signedTransaction", "signedTransactions", "receipt"]
        let present = kinds.filter { members[$0].map { !$0.isNull } ?? false }
        guard present.count == 1 else {
            throw Refusal.invalid(
                present.last ?? kinds[0],
                present.isEmpty
                    ? "is missing: send signedTransaction, signedTransactions or receipt"
                    : "cannot stand beside \(present[0]): send one of the two")
        }
        switch present[0] {
        case "signedTransaction":
            transactions = [try Self.text(members["signedTransaction"], "signedTransaction")]
            singleField = "signedTransaction"
        case "signedTransactions":
            transactions = try Self.list(members["signedTransactions"], "signedTransactions")
            guard !transactions.isEmpty else {
                throw Refusal.invalid("signedTransactions", "is empty: send 1 to \(TransactionsRoute.limit)")
            }
            if transactions.count == 1 { singleField = "signedTransactions/0" }
        default:
            _ = try Self.text(members["receipt"], "receipt")
            throw Refusal.unsupported("Presenting an app receipt")
        }
        if let more = members["signedRenewalInfos"], !more.isNull {
            renewals = try Self.list(more, "signedRenewalInfos")
        }
    }

    private static func text(_ value: JSONValue?, _ field: String) throws -> String {
        guard let text = value?.stringValue, !text.isEmpty else { throw Refusal.invalid(field, "should be a text") }
        return text
    }

    private static func list(_ value: JSONValue?, _ field: String) throws -> [String] {
        guard let elements = value?.arrayValue else { throw Refusal.invalid(field, "should be a list of texts") }
        guard elements.count <= TransactionsRoute.limit else {
            throw Refusal.invalid(
                field, "has \(elements.count) elements; at most \(TransactionsRoute.limit) are taken at once")
        }
        return try elements.enumerated().map { try text($1, "\(field)/\($0)") }
    }
}
