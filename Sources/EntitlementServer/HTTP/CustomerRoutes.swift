import Foundation
import HTTPCore
import Primitives
import StoreModel

/// GET `/v1/customers/{customer}` and its facts.
struct CustomerRoutes: Sendable {
    let gate: Gate
    let ledger: Ledger

    /// The hot path: a valid answer is sent from memory or one row, on the listener's own thread.
    @Sendable func customer(_ request: HTTPRequest, _ path: PathParameters) -> HTTPReply {
        gate.admit(request) { visit in
            let customer = try visit.customer(path)
            if request.url.utf8.contains(UInt8(ascii: "?")) {
                guard let query = request.query else { throw Refusal.malformedQuery }
                if query["nonce"] != nil { throw Refusal.unsupported("Signing answers") }
            }
            let condition = request.headers["If-None-Match"]
            switch try ledger.read(customer) {
            case .answer(let answer): return .ready(answer.response(unless: condition))
            case .needsRefresh:
                return visit.later { try await ledger.refresh(customer).response(unless: condition) }
            }
        }
    }

    /// What the store said about a customer's purchases, newest first.
    @Sendable func facts(_ request: HTTPRequest, _ path: PathParameters) -> HTTPReply {
        gate.admit(request, needing: .secret) { visit in
            let customer = try visit.customer(path)
            guard let query = request.query else { throw Refusal.malformedQuery }
            let limit = query["limit"].map { Int($0) ?? 0 } ?? 50
            guard (1...100).contains(limit) else { throw Refusal.invalid("limit", "should be a number from 1 to 100") }
            let cursor = query["cursor"].map { Int64($0) ?? 0 } ?? .max
            guard cursor > 0 else {
                throw Refusal.invalid("cursor", "should be the nextCursor of the answer before")
            }
            return .ready(HTTPResponse(json: try ledger.facts(of: customer, before: cursor, limit: limit)))
        }
    }
}

extension Refusal {
    static let malformedQuery = malformed("A percent-escape in the query is incomplete or is not UTF-8.")
}

extension StoredAnswer {
    /// 200 with the answer, or 304 for who has it already (RFC 9110 section 13.1.2).
    func response(unless condition: String?) -> HTTPResponse {
        let headers: HTTPHeaders = [
            "Content-Type": "application/json", "ETag": etag, "Cache-Control": "private, no-cache",
        ]
        guard let condition, matches(condition) else {
            return HTTPResponse(status: 200, headers: headers, body: .bytes(bytes))
        }
        // The length of the 200, which keeps the connection open.
        return HTTPResponse(
            status: 304,
            headers: ["ETag": etag, "Cache-Control": "private, no-cache", "Content-Length": String(bytes.count)])
    }

    /// Compared weakly, as this condition is (RFC 9110 section 13.1.2).
    private func matches(_ condition: String) -> Bool {
        guard condition != etag else { return true }
        let opaque = Self.opaqueTag(etag)
        return condition.split(separator: ",").contains { element in
            let tag = element.trimmingCharacters(in: .whitespaces)
            return tag == "*" || Self.opaqueTag(tag) == opaque
        }
    }

    private static func opaqueTag(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
}

extension Ledger {
    /// A page of the facts behind a customer's answer, as `{"facts": […], "nextCursor"?}`.
    func facts(of key: CustomerKey, before cursor: Int64, limit: Int) throws -> JSONValue {
        let rows = try database.read { connection in
            try connection.query(
                """
                SELECT fact.sequence AS sequence, fact.source AS source, fact.kind AS kind,
                    fact.transaction_id AS transaction_id, fact.original_transaction_id AS original_transaction_id,
                    fact.signed_at AS signed_at, fact.received_at AS received_at, fact.payload AS payload
                FROM purchase CROSS JOIN fact
                WHERE purchase.app = ?1 AND purchase.environment = ?2 AND purchase.owner = ?3 AND fact.app = ?1
                    AND fact.environment = ?2 AND fact.original_transaction_id = purchase.original_transaction_id
                    AND fact.sequence < ?4
                ORDER BY fact.sequence DESC LIMIT ?5
                """,
                [
                    .text(key.book.app.rawValue), .text(key.book.environment.rawValue), .text(key.customer.rawValue),
                    .integer(cursor), .integer(Int64(limit) + 1),
                ])
        }
        let page = rows.prefix(limit)
        var answer: JSONValue = [
            "facts": .array(
                try page.map { row in
                    var fact: JSONValue = ["kind": .string(try row["kind"]), "source": .string(try row["source"])]
                    let transactionID: String? = try row["transaction_id"]
                    fact["transactionID"] = transactionID.map { .string($0) }
                    fact["originalTransactionID"] = .string(try row["original_transaction_id"])
                    fact["signedAt"] = .string(RFC3339.string(from: Date(milliseconds: try row["signed_at"])))
                    fact["receivedAt"] = .string(RFC3339.string(from: Date(milliseconds: try row["received_at"])))
                    fact["payload"] = try JSONValue(parsing: try row["payload"] as [UInt8])
                    return fact
                })
        ]
        if rows.count > limit, let last = page.last {
            let sequence: Int64 = try last["sequence"]
            answer["nextCursor"] = .string(String(sequence))
        }
        return answer
    }
}
