import AppStorePayloads
import Foundation
import Primitives
import SQLStorage
import StoreModel

/// A stored request of a store for the developer's preference, with the server's decision and the store's: a request of
/// the App Store for consumption information, or a review of a chargeback at Google Play.
struct RefundRequest: Sendable {
    /// The state of a request, by its wire name. The set is closed.
    enum State: String, CaseIterable, Sendable {
        /// Nothing was sent yet.
        case pending
        /// The store accepted the answer.
        case sent
        /// The policy decided to send nothing.
        case silent
        /// The policy decided, and only records its decisions.
        case dryRun
        /// The store refused the answer.
        case failed
        /// The time for an answer ended before one was sent.
        case expired
    }

    /// Returns the time for an answer, in seconds from the notification.
    static func timeLimit(of source: PurchaseSource) -> TimeInterval { (source == .googlePlay ? 24 : 12) * 3600 }

    /// The SQL of the deadline in milliseconds.
    static let deadlineColumn = """
        (requested_at + CASE source WHEN 'googlePlay' THEN \(Int64(timeLimit(of: .googlePlay)) * 1000)
            ELSE \(Int64(timeLimit(of: .appStore)) * 1000) END)
        """

    static let query = "\(selection) FROM refund_request AS request"

    /// The columns of the table `request`, and the outcome.
    static let selection = """
        SELECT request.*, (
            SELECT outcome.outcome FROM refund_outcome AS outcome
            WHERE \(outcomeCondition) ORDER BY outcome.signed_at DESC, outcome.notification LIMIT 1) AS outcome, (
            SELECT max(outcome.signed_at) FROM refund_outcome AS outcome WHERE \(outcomeCondition)) AS outcome_at
        """

    /// The outcomes of a request: those after it, and before the next request for the same transaction.
    private static let outcomeCondition = """
        outcome.app = request.app AND outcome.environment = request.environment
            AND outcome.transaction_id = request.transaction_id AND outcome.signed_at >= request.requested_at
            AND NOT EXISTS (
                SELECT 1 FROM refund_request AS later
                WHERE later.app = request.app AND later.environment = request.environment
                    AND later.original_transaction_id = request.original_transaction_id
                    AND later.transaction_id = request.transaction_id
                    AND later.requested_at > request.requested_at AND later.requested_at <= outcome.signed_at)
        """

    let id: Int64
    let source: PurchaseSource
    let notification: String
    let transaction: TransactionID
    let original: TransactionID
    let product: ProductID
    let kind: ProductType
    let quantity: Int
    let purchasedAt: Date
    let isFamilyShared: Bool
    let isAdvancedCommerce: Bool
    let reason: AppStoreServerAPI.ConsumptionRequestReason?
    let requestedAt: Date
    let receivedAt: Date
    let state: State
    let attempts: Int
    let dueAt: Date
    /// Whether a server began an attempt and has not stored its result.
    let isClaimed: Bool
    let decidedBy: String?
    let decidedAt: Date?
    let rule: String?
    let silence: String?
    /// The reason that an operator gave.
    let note: String?
    let version: Int?
    /// The members of the store's request, without a credential.
    let body: JSONValue?
    /// The token of a review of Google Play, encrypted with the key of the purchase; `nil` after an erasure.
    let sealedReview: LedgerTransaction.Sealed?
    let answeredAt: Date?
    let status: Int?
    let error: String?
    let outcome: RefundOutcome?
    let outcomeAt: Date?

    /// Reads a row of `query`.
    init(_ row: SQLRow) throws {
        func date(_ column: String) throws -> Date? {
            let milliseconds: Int64? = try row[column]
            return milliseconds.map { Date(milliseconds: $0) }
        }
        let (state, reason, body, outcome): (String, String?, String?, String?) = (
            try row["state"], try row["reason"], try row["body"], try row["outcome"]
        )
        guard let state = State(rawValue: state) else {
            throw EntitlementServerError(.internalInconsistency, "A refund request in the ledger has an unknown state.")
        }
        id = try row["id"]
        source = PurchaseSource(rawValue: try row["source"])
        notification = try row["notification"]
        transaction = TransactionID(unchecked: try row["transaction_id"])
        original = TransactionID(unchecked: try row["original_transaction_id"])
        product = ProductID(unchecked: try row["product"])
        kind = ProductType(rawValue: try row["kind"])
        quantity = try row["quantity"]
        purchasedAt = Date(milliseconds: try row["purchased_at"])
        isFamilyShared = try row["is_family_shared"]
        isAdvancedCommerce = try row["is_advanced_commerce"]
        self.reason = reason.map { .init(rawValue: $0) }
        requestedAt = Date(milliseconds: try row["requested_at"])
        receivedAt = Date(milliseconds: try row["received_at"])
        self.state = state
        attempts = try row["attempts"]
        dueAt = Date(milliseconds: try row["due_at"])
        isClaimed = try row["is_claimed"]
        decidedBy = try row["decided_by"]
        decidedAt = try date("decided_at")
        rule = try row["rule"]
        silence = try row["silence"]
        note = try row["note"]
        version = try row["version"]
        self.body = try body.map { try JSONValue(parsing: $0) }
        let (key, sealed): (Int64?, [UInt8]?) = (try row["review_key"], try row["sealed_review"])
        sealedReview = key.flatMap { key in sealed.map { .init(key: key, bytes: $0) } }
        answeredAt = try date("answered_at")
        status = try row["status"]
        error = try row["error"]
        self.outcome = outcome.flatMap(RefundOutcome.init(rawValue:))
        outcomeAt = try date("outcome_at")
    }

    var deadline: Date { requestedAt.addingTimeInterval(Self.timeLimit(of: source)) }

    /// The request in its wire format.
    func json(of customers: [CustomerID]) -> JSONValue {
        var members: JSONValue = [
            "id": .string(String(id)), "source": .string(source.rawValue), "notificationUUID": .string(notification),
            "transactionID": .string(transaction.rawValue), "originalTransactionID": .string(original.rawValue),
            "productID": .string(product.rawValue), "kind": .string(kind.rawValue), "quantity": .number(quantity),
            "customers": .array(customers.map { .string($0.rawValue) }), "purchasedAt": Self.text(purchasedAt),
            "requestedAt": Self.text(requestedAt), "deadline": Self.text(deadline), "state": .string(state.rawValue),
            "attempts": .number(attempts),
        ]
        members["reason"] = reason.map { .string($0.rawValue) }
        if state == .pending, attempts > 0 { members["nextAttemptAt"] = Self.text(dueAt) }
        members["decidedBy"] = decidedBy.map { .string($0) }
        members["decidedAt"] = decidedAt.map(Self.text)
        members["rule"] = rule.map { .string($0) }
        members["silence"] = silence.map { .string($0) }
        members["note"] = note.map { .string($0) }
        members["version"] = version.map { .number($0) }
        members["request"] = body
        members["answeredAt"] = answeredAt.map(Self.text)
        members["status"] = status.map { .number($0) }
        members["error"] = error.map { .string($0) }
        members["outcome"] = outcome.map { .string($0.rawValue) }
        members["outcomeAt"] = outcome == nil ? nil : outcomeAt.map(Self.text)
        return members
    }

    private static func text(_ date: Date) -> JSONValue { .string(RFC3339.string(from: date)) }
}

/// The requests of one ledger.
extension LedgerTransaction {
    /// Stores what a notification says about a refund, once.
    func keep(_ refund: RefundNotification, of notification: PresentedDocument) throws {
        switch refund {
        case .requested(let refund):
            let transaction = refund.transaction
            try connection.perform(
                """
                INSERT INTO refund_request (app, environment, notification, transaction_id, original_transaction_id,
                    product, kind, quantity, purchased_at, is_family_shared, is_advanced_commerce, reason, requested_at,
                    received_at, state)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 'pending')
                ON CONFLICT (app, environment, notification) DO NOTHING
                """,
                values(
                    .text(notification.identity), .text(transaction.id.rawValue),
                    .text(transaction.originalID.rawValue), .text(transaction.productID.rawValue),
                    .text(transaction.kind.rawValue), .integer(Int64(transaction.quantity)),
                    .integer(transaction.purchaseDate.milliseconds), .integer(transaction.isFamilyShared ? 1 : 0),
                    .integer(refund.isAdvancedCommerce ? 1 : 0), SQLValue(refund.reason?.rawValue),
                    .integer(notification.signedAt.milliseconds), .integer(now.milliseconds)))
        case .decided(let outcome, let transaction):
            try connection.perform(
                """
                INSERT INTO refund_outcome (app, environment, transaction_id, notification, outcome, signed_at)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                ON CONFLICT (app, environment, transaction_id, notification) DO NOTHING
                """,
                values(
                    .text(transaction.rawValue), .text(notification.identity), .text(outcome.rawValue),
                    .integer(notification.signedAt.milliseconds)))
        }
    }

    /// Returns a request of this ledger.
    func refundRequest(_ id: Int64) throws -> RefundRequest? {
        try connection.first(
            "\(RefundRequest.query) WHERE request.id = ?3 AND request.app = ?1 AND request.environment = ?2",
            values(.integer(id))
        ).map(RefundRequest.init)
    }

    /// Locks and returns a request.
    func lockedRefundRequest(_ id: Int64) throws -> RefundRequest? {
        try connection.lockRows(
            "SELECT 1 FROM refund_request WHERE app = ?1 AND environment = ?2 AND id = ?3", values(.integer(id)))
        return try refundRequest(id)
    }

    /// Returns requests before `id`, newest first.
    func refundRequests(
        _ states: [RefundRequest.State], before id: Int64, limit: Int
    ) throws -> [RefundRequest] {
        let rows = try states.flatMap { state in
            try connection.query(
                """
                \(RefundRequest.query)
                WHERE request.app = ?1 AND request.environment = ?2 AND request.state = ?3 AND request.id < ?4
                ORDER BY request.id DESC LIMIT ?5
                """, values(.text(state.rawValue), .integer(id), .integer(Int64(limit))))
        }
        return Array(try rows.map(RefundRequest.init).sorted { $0.id > $1.id }.prefix(limit))
    }

    /// Returns the requests for a customer's purchases in their wire format, oldest first.
    func refundRequests(of customer: CustomerID) throws -> [JSONValue] {
        try connection.query(
            """
            \(RefundRequest.selection) FROM holder CROSS JOIN refund_request AS request
            WHERE holder.app = ?1 AND holder.environment = ?2 AND holder.customer = ?3 AND request.app = ?1
                AND request.environment = ?2 AND request.original_transaction_id = holder.original_transaction_id
            ORDER BY request.id
            """, values(.text(customer.rawValue))
        ).map { try RefundRequest($0).json(of: [customer]) }
    }

    // MARK: - The case of a request

    /// Returns what the ledger knows about a request. An erased customer counts as one who refused the consent, because
    /// an erasure ends the use of the customer's data.
    func refundCase(of request: RefundRequest) throws -> RefundCase {
        let holders = try holders(of: request.original)
        var refund = RefundCase(
            source: request.source, product: request.product, kind: request.kind, quantity: request.quantity,
            reason: request.reason,
            isFamilyShared: request.isFamilyShared, isAdvancedCommerce: request.isAdvancedCommerce,
            purchasedAt: request.purchasedAt, requestedAt: request.requestedAt)
        let isErased = try purchase(request.original)?.isErased ?? false
        let consents = try holders.map { try self.isErased($0) ? false : consent(of: $0) }
        refund.consent =
            isErased || consents.contains(false)
            ? false : consents.isEmpty || consents.contains(nil) ? nil : true
        refund.usage = try usage(of: request.transaction)
        // Of several customers that share the purchase, the ledger does not know which one requested the refund.
        guard let customer = holders.first, holders.count == 1 else { return refund }
        let transactions = try transactions(of: customer, at: request.source)
        refund.refunds = RefundHistory(transactions.filter { $0.id != request.transaction })
        let firstPurchase = transactions.map { min($0.purchaseDate, $0.originalPurchaseDate) }.min()
        refund.customerSince = try [firstPurchase, entry(of: customer)?.firstSeenAt].compactMap(\.self).min()
        return refund
    }

    /// Returns the fact that counts of each of a customer's transactions at a store.
    private func transactions(of customer: CustomerID, at source: PurchaseSource) throws -> [TransactionFact] {
        var state = CustomerState()
        for row in try factRows(of: customer, before: .max, limit: .max) { try state.apply(factIn: row) }
        return state.countingTransactions.filter { $0.source == source }
    }

    // MARK: - Consent and usage

    /// Returns the customer's statement; `nil` if there is none.
    func consent(of customer: CustomerID) throws -> Bool? {
        try connection.first(
            "SELECT consented FROM refund_consent WHERE app = ?1 AND environment = ?2 AND customer = ?3",
            values(.text(customer.rawValue))
        ).map { try $0["consented"] }
    }

    func setConsent(_ isGiven: Bool, of customer: CustomerID) throws {
        try connection.perform(
            """
            INSERT INTO refund_consent (app, environment, customer, consented, stated_at) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (app, environment, customer) DO UPDATE
            SET consented = excluded.consented, stated_at = excluded.stated_at
            """, values(.text(customer.rawValue), .integer(isGiven ? 1 : 0), .integer(now.milliseconds)))
    }

    func usage(of transaction: TransactionID) throws -> UsageReport? {
        try connection.first(
            """
            SELECT percentage, used, delivery_status, sample_content_provided, play_time FROM usage_report
            WHERE app = ?1 AND environment = ?2 AND transaction_id = ?3
            """, values(.text(transaction.rawValue))
        ).map { row in
            let delivery: String? = try row["delivery_status"]
            return UsageReport(
                percentage: try row["percentage"], used: try row["used"],
                deliveryStatus: delivery.map { .init(rawValue: $0) },
                sampleContentProvided: try row["sample_content_provided"], playTime: try row["play_time"])
        }
    }

    /// Stores the usage of a transaction, and replaces an earlier report. Returns `false` if the customer has no
    /// purchase with this transaction.
    func keep(_ usage: UsageReport, of transaction: TransactionID, by customer: CustomerID) throws -> Bool {
        let known = try connection.first(
            """
            SELECT 1 AS one FROM holder CROSS JOIN fact
            WHERE holder.app = ?1 AND holder.environment = ?2 AND holder.customer = ?3 AND fact.app = ?1
                AND fact.environment = ?2 AND fact.original_transaction_id = holder.original_transaction_id
                AND fact.transaction_id = ?4 LIMIT 1
            """, values(.text(customer.rawValue), .text(transaction.rawValue)))
        guard known != nil else { return false }
        try connection.perform(
            """
            INSERT INTO usage_report (app, environment, transaction_id, customer, percentage, used, delivery_status,
                sample_content_provided, play_time, reported_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
            ON CONFLICT (app, environment, transaction_id) DO UPDATE
            SET customer = excluded.customer, percentage = excluded.percentage, used = excluded.used,
                delivery_status = excluded.delivery_status,
                sample_content_provided = excluded.sample_content_provided, play_time = excluded.play_time,
                reported_at = excluded.reported_at
            """,
            values(
                .text(transaction.rawValue), .text(customer.rawValue), SQLValue(usage.percentage),
                SQLValue(usage.used), SQLValue(usage.deliveryStatus?.rawValue),
                SQLValue(usage.sampleContentProvided), SQLValue(usage.playTime), .integer(now.milliseconds)))
        return true
    }

    /// Moves consent and usage from one customer to another. The newer of two statements about the consent counts.
    func moveRefundData(from old: CustomerID, to new: CustomerID) throws {
        let names = values(.text(old.rawValue), .text(new.rawValue))
        try connection.perform(
            """
            INSERT INTO refund_consent (app, environment, customer, consented, stated_at)
            SELECT app, environment, ?4, consented, stated_at FROM refund_consent
            WHERE app = ?1 AND environment = ?2 AND customer = ?3
            ON CONFLICT (app, environment, customer) DO UPDATE
            SET consented = excluded.consented, stated_at = excluded.stated_at
            WHERE excluded.stated_at > refund_consent.stated_at
            """, names)
        try deleteConsent(of: old)
        try connection.perform(
            "UPDATE usage_report SET customer = ?4 WHERE app = ?1 AND environment = ?2 AND customer = ?3", names)
    }

    /// Deletes the consent and the usage of a customer, what operators wrote about the refund requests for the
    /// customer's purchases, and the tokens of reviews.
    func eraseRefundData(of customer: CustomerID, _ purchases: [TransactionID]) throws {
        try deleteConsent(of: customer)
        try connection.perform(
            "DELETE FROM usage_report WHERE app = ?1 AND environment = ?2 AND customer = ?3",
            values(.text(customer.rawValue)))
        for original in purchases {
            try connection.perform(
                """
                UPDATE refund_request SET note = 'erased'
                WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND note IS NOT NULL
                """, values(.text(original.rawValue)))
            try connection.perform(
                """
                UPDATE refund_request SET review_key = NULL, sealed_review = NULL
                WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND sealed_review IS NOT NULL
                """, values(.text(original.rawValue)))
        }
    }

    private func deleteConsent(of customer: CustomerID) throws {
        try connection.perform(
            "DELETE FROM refund_consent WHERE app = ?1 AND environment = ?2 AND customer = ?3",
            values(.text(customer.rawValue)))
    }
}

extension RefundHistory {
    /// Creates the history of a customer's transactions. Shares of family members are not refunds of the customer.
    init(_ transactions: [TransactionFact]) {
        for transaction in transactions where !transaction.isFamilyShared {
            let paid = Self.amount(of: transaction)
            self.paid = Self.adding(paid, transaction.price?.currency, to: self.paid)
            guard transaction.revocationDate != nil, !transaction.isUpgraded else { continue }
            count += 1
            let share = transaction.revocationPercentage.flatMap { (0...100_000).contains($0) ? $0 : nil } ?? 100_000
            amounts = Self.adding(
                paid.map { $0 * Decimal(share) / 100_000 }, transaction.price?.currency, to: amounts)
        }
    }

    /// Returns the price of all units; `nil` if it is unknown. A free trial costs nothing.
    private static func amount(of transaction: TransactionFact) -> Decimal? {
        if transaction.isTrial, transaction.price == nil { return 0 }
        return transaction.price.map { $0.amount * Decimal(transaction.quantity) }
    }

    private static func adding(
        _ amount: Decimal?, _ currency: String?, to sums: [ExactString: Decimal]?
    ) -> [ExactString: Decimal]? {
        if amount == 0 { return sums }
        guard var sums, let amount, !amount.isNaN, let currency else { return nil }
        sums[ExactString(currency), default: 0] += amount
        return sums
    }
}
