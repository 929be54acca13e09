import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// The endpoint POST `/v1/customers/{customer}/transactions`: verifies and stores signed transactions, and returns the
/// customer's answer.
struct TransactionsRoute: Sendable {
    static let limit = 100

    let ledger: Ledger
    let idempotent: IdempotentRequests
    let readers: [BundleID: StoreReader]
    let maximumBody: Int
    let metrics: ServerMetrics

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .post, "/v1/customers/{customer}/transactions", "postTransactions", "Present signed transactions",
                tag: .facts, body: .init(.postTransactions), answer: .postedTransactions,
                refusals: [409: ["customer_erased"], 422: Refusal.signedDataCodes], isIdempotent: true,
                links: .toCustomer, handler: .authorized(.publicKey, respond))
        ]
    }

    @Sendable private func respond(to context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        return context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: maximumBody)
            return try await idempotent.respond(to: context, body: body) { idempotency in
                try await record(PresentedData(body), for: customer, as: idempotency)
            }
        }
    }

    private func record(
        _ presented: PresentedData, for customer: CustomerKey, as request: IdempotentRequest?
    ) async throws -> KeptAnswer {
        guard let reader = readers[customer.ledgerID.app] else { throw Refusal.appNotServed }
        let verified = try await verify(presented, with: reader)
        if let field = presented.singleField, let rejected = verified.rejected.first(where: { $0.index == 0 }) {
            guard !rejected.retryable else { throw Refusal.unavailable(rejected.detail) }
            throw Refusal.rejected(rejected, field: field)
        }
        let refused = Locked<[RejectedTransaction]>([])
        let answer = try await ledger.record(
            verified.facts, from: verified.document, of: customer.ledgerID.app, by: customer.customer,
            answering: customer.ledgerID.environment, as: request
        ) { recorded, answer in
            if let field = presented.singleField, let rejected = recorded.rejected.first(where: { $0.index == 0 }) {
                throw Refusal.rejected(rejected, field: field)
            }
            let rejected = (verified.rejected + recorded.rejected).sorted { $0.index < $1.index }
            refused.withLock { $0 = rejected }
            return KeptAnswer(
                status: 200, contentType: "application/json",
                body: Self.body(answer?.bytes ?? [], acknowledged: recorded.acknowledged, rejected: rejected),
                revision: answer?.revision)
        }
        for rejected in refused.withLock({ $0 }) { metrics.rejected.add(rejected.code) }
        return answer
    }

    fileprivate struct Verified: Sendable {
        var facts: [PresentedFact] = []
        var rejected: [RejectedTransaction] = []
        /// The document with these facts, if it is stored whole.
        var document: PresentedDocument?
    }

    /// Verifies the presented data. Throws 422 for an invalid receipt, because nothing in it can be trusted.
    private func verify(_ presented: PresentedData, with reader: StoreReader) async throws -> Verified {
        var verified = Verified()
        var count = presented.transactions.count
        if let bytes = presented.receipt {
            do {
                let receipt = try await reader.receipt(bytes)
                verified = Verified(facts: receipt.facts, rejected: receipt.rejected, document: receipt.document)
                count = receipt.receipt.inAppPurchases.count
            } catch {
                guard !error.isRetryable else { throw Refusal.unavailable(error.reason) }
                throw Refusal.rejected(RejectedTransaction(error, at: 0), field: "receipt")
            }
        }
        for (index, signed) in presented.transactions.enumerated() {
            do throws(SignedDataError) {
                verified.facts.append(try await reader.transaction(signed, at: index))
            } catch { verified.rejected.append(RejectedTransaction(error, at: index)) }
        }
        for (index, signed) in presented.renewals.enumerated() {
            do throws(SignedDataError) {
                verified.facts.append(try await reader.renewal(signed, at: count + index))
            } catch { verified.rejected.append(RejectedTransaction(error, at: count + index)) }
        }
        return verified
    }

    /// Returns the customer's stored answer with two more members.
    private static func body(
        _ customer: [UInt8], acknowledged: [TransactionID], rejected: [RejectedTransaction]
    ) -> [UInt8] {
        var more = JSONWriter()
        more.raw(",\"acknowledgedTransactionIDs\":[")
        for (index, transaction) in acknowledged.enumerated() {
            if index > 0 { more.raw(",") }
            more.write(transaction.rawValue)
        }
        more.raw("],\"rejected\":")
        more.write(
            .array(
                rejected.map {
                    [
                        "index": .number($0.index), "code": .string($0.code), "detail": .string($0.detail),
                        "retryable": .bool($0.retryable),
                    ]
                }))
        more.raw("}")
        // A slice, because `dropLast` of an array copies it element by element.
        let rest: ArraySlice<UInt8> = customer.dropLast()
        return rest + more.bytes
    }
}

extension RejectedTransaction {
    init(_ error: SignedDataError, at index: Int) {
        self.init(index: index, code: error.code.rawValue, detail: error.reason, retryable: error.isRetryable)
    }
}

/// The signed data of a request, checked for its form only: transactions or a receipt, and renewal infos. An `index` in
/// `rejected` counts all of them: first the transactions or the receipt's purchases, then the renewal infos.
struct PresentedData: Sendable {
    var transactions: [String] = []
    var receipt: [UInt8]?
    var renewals: [String] = []
    /// The field of the only transaction. If that is rejected, the whole request is refused.
    var singleField: String?

    init(_ body: [UInt8]) throws {
        let members = try RequestBody.object(body)
        let kinds = ["signedTransaction", "signedTransactions", "receipt"]
        let present = kinds.filter { members[$0].map { !$0.isNull } ?? false }
        guard present.count == 1 else {
            throw Refusal.invalid(
                present.last ?? kinds[0],
                present.isEmpty
                    ? "is missing: send signedTransaction, signedTransactions or receipt"
                    : "cannot be combined with \(present[0]): send one of the two")
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
            receipt = try Self.receipt(members["receipt"])
        }
        if let more = members["signedRenewalInfos"], !more.isNull {
            renewals = try Self.list(more, "signedRenewalInfos")
        }
    }

    /// Decodes a receipt in base64.
    static func receipt(_ value: JSONValue?) throws -> [UInt8] {
        do {
            return try ReceiptEncoding.bytes(of: Array(try text(value, "receipt").utf8))
        } catch let error as SignedDataError {
            throw Refusal.invalid("receipt", "should be an app receipt in base64: \(error.reason.dropLast())")
        }
    }

    private static func text(_ value: JSONValue?, _ field: String) throws -> String {
        guard let text = value?.stringValue, !text.isEmpty else { throw Refusal.invalid(field, "should be a string") }
        return text
    }

    private static func list(_ value: JSONValue?, _ field: String) throws -> [String] {
        guard let elements = value?.arrayValue else { throw Refusal.invalid(field, "should be an array of strings") }
        guard elements.count <= TransactionsRoute.limit else {
            throw Refusal.invalid(
                field, "has \(elements.count) elements; send at most \(TransactionsRoute.limit) at once")
        }
        return try elements.enumerated().map { try text($1, "\(field)/\($0)") }
    }
}
