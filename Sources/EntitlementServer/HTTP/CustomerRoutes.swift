import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel

/// The endpoints GET `/v1/customers/{customer}` and `/v1/customers/{customer}/facts`.
struct CustomerRoutes: Sendable {
    let ledger: Ledger

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .get, "/v1/customers/{customer}", "getCustomer", "Get a customer's features and their reasons",
                tag: .customers,
                parameters: [
                    .init(
                        "If-None-Match", in: .header, .text, "the ETag of an earlier answer; 304 if it is still valid")
                ], answer: .customer, links: .toCustomer, handler: .authorized(.publicKey, customer)),
            Endpoint(
                .get, "/v1/customers/{customer}/facts", "getFacts",
                "List the facts about a customer's purchases, newest first", tag: .facts, parameters: .page,
                answer: .facts, handler: .authorized(.secretKey, facts)),
        ]
    }

    /// Returns a customer's answer. This is the hot path: a valid answer comes from memory or one row, and if the
    /// database is not shared, on the listener's thread.
    @Sendable private func customer(_ context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        guard context.request.query != nil else { throw Refusal.malformedQuery }
        let condition = context.request.headers["If-None-Match"]
        if ledger.isShared {
            let revision = try context.request.headers["Souk-Min-Revision"].map { text in
                guard let revision = Int64(digits: text) else {
                    throw Refusal.invalid("Souk-Min-Revision", "should be the Souk-Revision of an earlier answer")
                }
                return revision
            }
            return context.later {
                let found = try await ledger.find(customer, atLeast: revision)
                return ledger.adding(found.answer.revision, to: found.response(unless: condition))
            }
        }
        switch try ledger.read(customer) {
        case .answer(let answer): return .ready(answer.response(unless: condition))
        case .needsRefresh:
            return context.later { try await ledger.refresh(customer).response(unless: condition) }
        }
    }

    @Sendable private func facts(_ context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        let page = try context.page()
        let cursor = page.cursor.map { Int64(digits: $0) ?? 0 } ?? .max
        guard cursor > 0 else { throw Refusal.unknownCursor }
        return context.later {
            HTTPResponse(json: try await ledger.facts(of: customer, before: cursor, limit: page.limit))
        }
    }
}

extension RequestContext {
    /// Reads the parameters of a page: `?limit=` from 1 to 100, 50 by default, and `?cursor=`, the `nextCursor` of the
    /// previous page.
    func page() throws -> (limit: Int, cursor: String?, query: HTTPQuery) {
        guard let query = request.query else { throw Refusal.malformedQuery }
        let limit = query["limit"].map { Int64(digits: $0) ?? 0 } ?? 50
        guard (1...100).contains(limit) else { throw Refusal.invalid("limit", "should be a number from 1 to 100") }
        let cursor = query["cursor"]
        if let cursor, CustomerID(rawValue: cursor) == nil { throw Refusal.unknownCursor }
        return (Int(limit), cursor, query)
    }
}

extension Int64 {
    /// Reads decimal digits only. Swift's own initialiser also accepts a sign.
    init?(digits text: String) {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        self.init(text)
    }
}

extension Refusal {
    static let unknownCursor = invalid("cursor", "should be the nextCursor of the previous page")
    static let malformedQuery = malformed("A percent-escape in the query is incomplete or is not UTF-8.")
}

extension Ledger {
    /// Adds the revision of the customer's answer to the response. A client sends it back as `Souk-Min-Revision`. A
    /// ledger that is not shared has no standby, so its responses have no revision.
    func adding(_ revision: Int64?, to response: HTTPResponse) -> HTTPResponse {
        guard isShared, let revision else { return response }
        var response = response
        response.headers.add("Souk-Revision", String(revision))
        return response
    }
}

extension Ledger.Found {
    /// Returns the response. If the answer is the standby's, the response has its possible staleness.
    fileprivate func response(unless condition: String?) -> HTTPResponse {
        var response = answer.response(unless: condition)
        if let staleness { response.headers.add("Souk-Staleness", String(Int(staleness.rounded(.up)))) }
        return response
    }
}

extension StoredAnswer {
    /// Returns a 200 with the answer, or a 304 if the client has it already (RFC 9110 section 13.1.2).
    func response(unless condition: String?) -> HTTPResponse {
        var headers = HTTPHeaders()
        headers.fields.reserveCapacity(8)
        headers.add("ETag", etag)
        headers.add("Cache-Control", "private, no-cache")
        guard let condition, matches(condition) else {
            headers.add("Content-Type", "application/json")
            return HTTPResponse(status: 200, headers: headers, body: .bytes(bytes))
        }
        // Without a length the listener would close the connection, so the 304 has the length of the 200.
        headers.add("Content-Length", String(bytes.count))
        return HTTPResponse(status: 304, headers: headers)
    }

    /// Compares entity tags weakly, as RFC 9110 section 13.1.2 requires.
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
    /// Returns a page of the facts behind a customer's answer: `{"facts": […], "nextCursor"?}`. Erased facts have no
    /// payload.
    func facts(of key: CustomerKey, before cursor: Int64, limit: Int) async throws -> JSONValue {
        _ = try await answer(key)
        return try database.read { connection in
            let transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.customer(named: key.customer) ?? key.customer
            let rows = try transaction.factRows(of: customer, before: cursor, limit: limit + 1)
            var answer: JSONValue = ["facts": .array(try rows.prefix(limit).map(transaction.fact(in:)))]
            if rows.count > limit, let last = rows.prefix(limit).last {
                let sequence: Int64 = try last["sequence"]
                answer["nextCursor"] = .string(String(sequence))
            }
            return answer
        }
    }
}

extension LedgerTransaction {
    /// Returns facts of the customer's purchases, or of one of them, newest first.
    func factRows(
        of customer: CustomerID, before sequence: Int64, limit: Int, in purchase: TransactionID? = nil
    ) throws -> [SQLRow] {
        let ofPurchase = purchase == nil ? "" : " AND holder.original_transaction_id = ?6"
        return try connection.query(
            """
            SELECT fact.sequence AS sequence, fact.source AS source, fact.kind AS kind, fact.format AS format,
                fact.digest AS digest, fact.transaction_id AS transaction_id,
                fact.original_transaction_id AS original_transaction_id, fact.signed_at AS signed_at,
                fact.received_at AS received_at, fact.data_key AS data_key, fact.header AS header,
                fact.source_bytes AS source_bytes, fact.summary AS summary
            FROM holder CROSS JOIN fact
            WHERE holder.app = ?1 AND holder.environment = ?2 AND holder.customer = ?3\(ofPurchase) AND fact.app = ?1
                AND fact.environment = ?2 AND fact.original_transaction_id = holder.original_transaction_id
                AND fact.sequence < ?4
            ORDER BY fact.sequence DESC LIMIT ?5
            """,
            values(.text(customer.rawValue), .integer(sequence), .integer(Int64(limit)))
                + (purchase.map { [.text($0.rawValue)] } ?? []))
    }

    /// Returns one fact in its wire format.
    func fact(in row: SQLRow) throws -> JSONValue {
        var fact: JSONValue = ["kind": .string(try row["kind"]), "source": .string(try row["source"])]
        let transactionID: String? = try row["transaction_id"]
        fact["transactionID"] = transactionID.map { .string($0) }
        fact["originalTransactionID"] = .string(try row["original_transaction_id"])
        fact["signedAt"] = .string(RFC3339.string(from: Date(milliseconds: try row["signed_at"])))
        fact["receivedAt"] = .string(RFC3339.string(from: Date(milliseconds: try row["received_at"])))
        if let source = try source(in: row), let format = FactFormat(rawValue: try row["format"]) {
            fact["payload"] = try JSONValue(parsing: try format.payload(of: source))
        }
        return fact
    }
}
