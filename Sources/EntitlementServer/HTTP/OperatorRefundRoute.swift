import Foundation
import GooglePlay
import HTTPCore
import Primitives
import StoreModel

/// The endpoint POST `/v1/customers/{customer}/refunds`: refunds an order at Google Play, and returns the customer's
/// answer. Only Apple refunds purchases of the App Store.
///
/// The audit log has an entry before Google is asked, so no refund is without one. The entry also makes a repetition
/// recognizable: if the answer to the first request was lost, the order is refunded already, and the repetition only
/// fetches the purchase.
struct OperatorRefundRoute: Sendable {
    private static let maximumBody = 64 << 10

    let ledger: Ledger
    let idempotent: IdempotentRequests
    let readers: [BundleID: PlayReader]
    let realClock: any WallClock
    let report: @Sendable (_ context: String, _ error: any Error) -> Void

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .post, "/v1/customers/{customer}/refunds", "postRefund", "Refund an order at Google Play",
                tag: .refunds, body: .init(.refundOrderRequest), answer: .customer,
                refusals: [
                    404: ["unknown_purchase", "unknown_order"],
                    409: ["customer_erased", "already_refunded", "order_not_refundable"], 501: ["unsupported"],
                ], isIdempotent: true, links: .toCustomer, handler: .authorized(.secretKey, respond))
        ]
    }

    /// The order to refund.
    private struct Order: Sendable {
        let id: TransactionID
        let revokes: Bool
        let keyID: String

        /// Identifies the refund in the audit log.
        var request: String { "refund \(id)" }

        /// Throws 400 for an invalid body.
        init(_ members: JSONMembers, keyID: String) throws {
            let text = members["transactionID"]?.stringValue
            guard let id = text.flatMap({ TransactionID(rawValue: $0) }) else {
                throw Refusal.invalid("transactionID", "should be a string with \(TransactionID.rule)")
            }
            guard let revokes = (members["revoke"] ?? false).boolValue else {
                throw Refusal.invalid("revoke", "should be true or false")
            }
            (self.id, self.revokes, self.keyID) = (id, revokes, keyID)
        }

        func note(at now: Date) -> AuditNote {
            AuditNote(
                action: .refund, keyID: keyID, role: .full, request: request,
                detail: ["transactionID": .string(id.rawValue), "revoke": .bool(revokes)], now: now)
        }
    }

    @Sendable private func respond(to context: RequestContext) throws -> HTTPReply {
        let key = try context.customer()
        return context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            return try await idempotent.respond(to: context, body: body) { idempotency in
                let order = try Order(
                    RequestBody.object(body), keyID: APIKeys.id(of: context.caller.keyDigest))
                try await refund(order, of: key)
                return try await ledger.currentAnswer(of: key, as: idempotency)
            }
        }
    }

    private func refund(_ order: Order, of key: CustomerKey) async throws {
        guard let owned = try ledger.ownedTransaction(order.id, of: key) else { throw Refusal.unknownOwnTransaction }
        guard owned.source == .googlePlay else {
            throw owned.source == .appStore ? Refusal.appleRefunds : Refusal.sourceWithoutRefunds
        }
        guard let reader = readers[key.ledgerID.app] else { throw Refusal.noGooglePlayForRefunds }
        let owner = CustomerKey(ledgerID: key.ledgerID, customer: owned.customer)
        do {
            let known = try await reader.order(order.id)
            guard PlayFetch.original(known.token, of: reader.source.packageName) == owned.original else {
                throw Refusal.unknownOrder
            }
            let earlier = try ledger.auditEntry(of: order.request, in: key.ledgerID)
            switch known.state {
            case .refunded:
                // Refunded by an earlier request whose answer was lost, or by someone else.
                guard earlier?.detail["revoke"]?.boolValue == order.revokes, earlier?.customer == owner.customer
                else { throw Refusal.alreadyRefunded }
            case .processed, .partiallyRefunded:
                if earlier == nil {
                    try await ledger.record(order.note(at: realClock.now()), of: key.ledgerID.app, about: owner)
                }
                try await send(order, with: reader)
            default: throw Refusal.orderNotRefundable()
            }
            try await fetch(known, order, owned.original, with: reader)
        } catch is PlayReader.Rejection {
            throw Refusal.unknownOrder
        } catch let failure as GooglePlayFailure {
            report("Google Play", failure)
            throw Refusal.unavailable(failure)
        }
    }

    /// Refunds the order. The call can be repeated after a lost answer, and is then refused because the order was
    /// refunded: that is a success.
    private func send(_ order: Order, with reader: PlayReader) async throws {
        do {
            try await reader.source.client.refund(order.id.rawValue, revokes: order.revokes)
        } catch let failure as GooglePlayFailure where failure.kind != .unavailable {
            guard try await reader.order(order.id).state == .refunded else {
                report("Google Play", failure)
                throw Refusal.orderNotRefundable(failure.error?.message)
            }
        }
    }

    /// Fetches the purchase, so that the answer follows the refund. Google does not document that the state of a
    /// one-time product shows each refund, so the revocation is stored with the fetch.
    private func fetch(
        _ known: PlayReader.KnownOrder, _ order: Order, _ original: TransactionID, with reader: PlayReader
    ) async throws {
        var presented = try await reader.fetch(known.token)
        if order.revokes, presented.fetch.kind == .product {
            presented.fetch.voidedAt = ledger.clock.now().wholeMillisecond
        }
        try await ledger.record(
            presented, of: reader.app, by: nil, answering: presented.environment, as: nil
        ) { _, _ in KeptAnswer(status: 200, contentType: "application/json", body: []) }
    }
}

extension Ledger {
    /// A transaction of a customer, with the purchase and the store that it belongs to.
    fileprivate struct OwnedTransaction: Sendable {
        let customer: CustomerID
        let original: TransactionID
        let source: PurchaseSource
    }

    /// Returns `nil` if the customer has no purchase with this transaction. Throws `CustomerRefusal.erased` for the
    /// pseudonym of an erased customer.
    fileprivate func ownedTransaction(_ id: TransactionID, of key: CustomerKey) throws -> OwnedTransaction? {
        try database.read { connection in
            let transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.customer(named: key.customer) ?? key.customer
            guard try !transaction.isErased(customer) else { throw CustomerRefusal.erased }
            return try connection.first(
                """
                SELECT fact.original_transaction_id AS original, fact.source AS source FROM holder CROSS JOIN fact
                WHERE holder.app = ?1 AND holder.environment = ?2 AND holder.customer = ?3 AND fact.app = ?1
                    AND fact.environment = ?2 AND fact.original_transaction_id = holder.original_transaction_id
                    AND fact.transaction_id = ?4 LIMIT 1
                """, transaction.values(.text(customer.rawValue), .text(id.rawValue))
            ).map { row in
                OwnedTransaction(
                    customer: customer, original: TransactionID(unchecked: try row["original"]),
                    source: PurchaseSource(rawValue: try row["source"]))
            }
        }
    }

    /// Returns the present answer of a customer, and stores it for repetitions of the request.
    fileprivate func currentAnswer(
        of key: CustomerKey, as request: IdempotentRequest?
    ) async throws -> KeptAnswer {
        try await write(once: request) { connection, outcome in
            var transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.lockedCustomer(named: key.customer)
            try computeAnswers(transaction, including: customer, &outcome)
            let answer = outcome.answers[CustomerKey(ledgerID: key.ledgerID, customer: customer)]
            guard let answer else { throw Refusal.unknownCustomer }
            return KeptAnswer(status: 200, answer)
        }
    }
}

extension Refusal {
    private static func unsupportedRefund(_ detail: String) -> Refusal {
        Refusal(HTTPProblem(status: 501, code: "unsupported", title: "Not supported", detail: detail))
    }

    fileprivate static let appleRefunds = unsupportedRefund(
        "Only Apple refunds purchases of the App Store: the customer requests it from Apple.")
    fileprivate static let sourceWithoutRefunds = unsupportedRefund(
        "The server refunds only purchases of Google Play: refund this one where it was sold.")
    fileprivate static let noGooglePlayForRefunds = unsupportedRefund(
        "This server has no Google Play for the app; start it with --play-package.")

    fileprivate static let unknownOwnTransaction = Refusal(
        HTTPProblem(
            status: 404, code: "unknown_purchase", title: "Unknown purchase",
            detail: "The customer has no purchase with this transaction.", field: "transactionID"))

    fileprivate static let unknownOrder = Refusal(
        HTTPProblem(
            status: 404, code: "unknown_order", title: "Unknown order",
            detail: "Google Play knows no order of this purchase with the id.", field: "transactionID"))

    fileprivate static let alreadyRefunded = Refusal(
        HTTPProblem(
            status: 409, code: "already_refunded", title: "Already refunded",
            detail: "The order was refunded before.", field: "transactionID"))

    fileprivate static func orderNotRefundable(_ words: String? = nil) -> Refusal {
        Refusal(
            HTTPProblem(
                status: 409, code: "order_not_refundable", title: "Not refundable",
                detail: words.map { "Google Play refused: \($0)" } ?? "The order is not paid, or was cancelled.",
                field: "transactionID"))
    }
}
