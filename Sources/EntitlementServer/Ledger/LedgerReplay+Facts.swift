import AppStorePayloads
import Foundation
import Primitives
import SQLStorage
import SignedData
import StoreModel

extension LedgerReplay {
    /// Reports a fact that differs from its source, that has no source although its purchase was never erased, or whose
    /// source or summary cannot be read.
    func check(fact row: SQLRow, _ connection: any SQLConnection, _ report: inout Report) throws {
        let transaction = try transaction(connection, row)
        report.facts += 1
        let sequence: Int64 = try row["sequence"]
        let subject = "fact \(sequence)"
        let source: [UInt8]?
        do { source = try transaction.source(in: row) } catch let error where Self.isAboutContent(error) {
            report.add(transaction.difference(subject, "has a source that cannot be decrypted"))
            return
        }
        do {
            guard let source else {
                report.factsWithoutSource += 1
                let original = TransactionID(unchecked: try row["original_transaction_id"])
                if try !transaction.wasErased(original) {
                    report.add(transaction.difference(subject, "has no source, and its purchase was never erased"))
                }
                var state = CustomerState()
                try state.apply(factIn: row)
                return
            }
            if let reason = try transaction.mismatch(of: row, with: source) {
                report.add(transaction.difference(subject, reason))
            }
        } catch let error where Self.isAboutContent(error) {
            let part = source == nil ? "summary" : "source"
            report.add(transaction.difference(subject, "has a \(part) that cannot be read"))
        }
    }

    /// Returns whether an error is about the content of a row. Other errors are about reading the database.
    static func isAboutContent(_ error: any Error) -> Bool {
        guard let error = error as? SQLError else { return true }
        return error.code == .unexpectedValue
    }
}

extension LedgerTransaction {
    /// Returns the difference between a fact's row and its source, in words; `nil` if there is none.
    fileprivate func mismatch(of row: SQLRow, with source: [UInt8]) throws -> String? {
        let readings = try PresentedFact.readings(of: source, in: row, of: ledgerID)
        guard let fact = readings.first, try row["digest"] == fact.row.digest else {
            return "differs from the signed data"
        }
        var columns: [String] = []
        func compare(_ column: String, _ expected: String?) throws {
            let stored: String? = try row[column]
            if !Self.isSame(stored, expected) { columns.append(column) }
        }
        try compare("kind", fact.row.kind)
        try compare("source", fact.row.source.rawValue)
        try compare("environment", fact.environment.rawValue)
        try compare("transaction_id", fact.row.transactionID)
        try compare("original_transaction_id", fact.row.original.rawValue)
        let order: String? = try row["order_id"]
        if order != nil { try compare("order_id", fact.orderID) }
        if try !hasToken(row, fact.row.token) { columns.append("app_account_token") }
        if try !isSigned(fact, as: row) { columns.append("signed_at") }
        guard columns.isEmpty else {
            return "differs from the signed data in \(columns.joined(separator: ", "))"
        }
        let summary: String? = try row["summary"]
        let isSummary = readings.contains { reading in
            if Self.isSame(summary, reading.row.summary) { return true }
            return FactSummary.formerTexts(of: reading.content).contains { Self.isSame(summary, $0) }
        }
        return isSummary ? nil : "has a summary that differs from the signed data"
    }

    /// Returns whether a purchase was erased with a customer, even if another customer has the purchase now.
    fileprivate func wasErased(_ original: TransactionID) throws -> Bool {
        try connection.first(
            """
            SELECT 1 AS one FROM purchase
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND is_erased > 0
            """, values(.text(original.rawValue))) != nil
    }

    private static func isSame(_ stored: String?, _ expected: String?) -> Bool {
        guard let expected else { return stored == nil }
        return stored.hasSameBytes(as: expected)
    }

    /// Returns whether a row has the signed token. In purchases of other customers, the token of an erased customer is
    /// deleted or replaced by the pseudonym's.
    private func hasToken(_ row: SQLRow, _ expected: UUID?) throws -> Bool {
        let stored: String? = try row["app_account_token"]
        guard let expected else { return stored == nil }
        guard stored.flatMap({ UUID(text: $0) }) != expected else { return true }
        guard let stored else { return try lastErasure(withToken: expected) != nil }
        // After a restore there may be no customer with the pseudonym.
        if try lastErasure(withToken: expected)?.pseudonym.appAccountToken.wireText == stored { return true }
        return try connection.first(
            """
            SELECT 1 AS one FROM customer
            WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3 AND erased_at IS NOT NULL
            """, values(.text(stored))) != nil
    }

    /// Returns whether a fact has the date of its signature. A purchase in a receipt has no date of its own, so it must
    /// have the date of a stored receipt about it, if there is one.
    private func isSigned(_ fact: PresentedFact, as row: SQLRow) throws -> Bool {
        let signedAt: Int64 = try row["signed_at"]
        guard fact.format == .receipt else { return signedAt == fact.row.signedAt.milliseconds }
        let receipts = try connection.query(
            """
            SELECT document.signed_at AS signed_at FROM document_purchase CROSS JOIN document
            WHERE document_purchase.app = ?1 AND document_purchase.environment = ?2
                AND document_purchase.original_transaction_id = ?3
                AND document.sequence = document_purchase.document AND document.kind = 'receipt'
            """, values(.text(fact.row.original.rawValue)))
        return try receipts.isEmpty || receipts.contains { try $0["signed_at"] == signedAt }
    }
}

extension PresentedFact {
    /// Parses a source as `StoreReader` and `WebPurchaseRoute` do. Returns all facts that any version may have written for
    /// it: early versions also accepted names that are not in Unicode's form NFC.
    ///
    /// Throws if the source cannot be read in the format of its row.
    fileprivate static func readings(of source: [UInt8], in row: SQLRow, of ledgerID: LedgerID) throws
        -> [PresentedFact]
    {
        guard let format = FactFormat(rawValue: try row["format"]) else { throw unreadable }
        let isTransaction = try row["kind"] == FactRow.transaction
        switch format {
        case .jws: return try signed(source, isTransaction, of: ledgerID)
        case .web: return try web(source, isTransaction, of: ledgerID)
        case .googlePlay: return try fetched(source, isTransaction, of: ledgerID)
        case .receipt:
            guard isTransaction else { throw unreadable }
            let purchase = try AppReceipt.InAppPurchase(readFrom: JSONValue(parsing: source))
            // The digest covers the position too, so it cannot be recomputed. The encryption binds it to the source.
            let fact = try TransactionFact(
                purchase, creationDate: Date(milliseconds: try row["signed_at"]), digest: try row["digest"])
            return [
                PresentedFact(
                    content: .transaction(fact), environment: ledgerID.environment, format: .receipt, source: source,
                    orderID: purchase.webOrderLineItemID, index: 0)
            ]
        }
    }

    private static let unreadable = EntitlementServerError(
        .internalInconsistency, "The source of a fact in the ledger cannot be read.")

    /// A valid name, in place of one that the current rules refuse.
    private static let anyName = "product"

    private static func signed(_ source: [UInt8], _ isTransaction: Bool, of ledgerID: LedgerID) throws
        -> [PresentedFact]
    {
        let payload = try FactFormat.jws.payload(of: source)
        let digest = SHA256.hash(payload)
        var json = try JSONValue(parsing: payload)
        let product = json["productId"]?.stringValue
        if isTransaction, product != nil { json["productId"] = .string(anyName) }
        guard case .object(let members) = json else { throw unreadable }
        if isTransaction || json["transactionId"] != nil {
            let expected = JWSTransactionDecodedPayload(unchecked: members)
            var fact = try TransactionFact(expected, digest: digest)
            if let product { fact.productID = ProductID(unchecked: product) }
            return [
                PresentedFact(
                    content: .transaction(fact), environment: storeEnvironment(expected.environment, of: ledgerID),
                    source: source, orderID: expected.webOrderLineItemId, index: 0)
            ]
        }
        let expected = JWSRenewalInfoDecodedPayload(unchecked: members)
        let fact = try RenewalFact(expected, digest: digest)
        var former = fact
        former.renewsTo = expected.autoRenewProductId.map { ProductID(unchecked: $0) }
        return [fact, former].map {
            PresentedFact(
                content: .renewal($0), environment: storeEnvironment(expected.environment, of: ledgerID),
                source: source,
                index: 0)
        }
    }

    private static func storeEnvironment(_ expected: AppStoreEnvironment?, of ledgerID: LedgerID) -> StoreEnvironment {
        expected.map { StoreEnvironment(apple: $0.rawValue) } ?? ledgerID.environment
    }

    private static func web(_ source: [UInt8], _ isTransaction: Bool, of ledgerID: LedgerID) throws -> [PresentedFact] {
        let readings = try webPurchase(source).facts(source, in: ledgerID.environment).filter { fact in
            if case .transaction = fact.content { isTransaction } else { !isTransaction }
        }
        guard !readings.isEmpty else { throw unreadable }
        return readings
    }

    private static func fetched(
        _ source: [UInt8], _ isTransaction: Bool, of ledgerID: LedgerID
    ) throws -> [PresentedFact] {
        let fetch = try PlayFetch(source: source)
        guard fetch.source == source, case .purchased(let purchase) = try fetch.reading() else { throw unreadable }
        return fetch.facts(of: purchase, in: ledgerID.environment).filter { fact in
            if case .transaction = fact.content { isTransaction } else { !isTransaction }
        }
    }

    private static func webPurchase(_ body: [UInt8]) throws -> WebPurchase {
        var json = try JSONValue(parsing: body)
        do {
            return try WireJSON.decode(WebPurchase.self, from: json)
        } catch is DecodingError {
            guard let product = json["productID"]?.stringValue else { throw unreadable }
            json["productID"] = .string(anyName)
            var purchase = try WireJSON.decode(WebPurchase.self, from: json)
            purchase.productID = ProductID(unchecked: product)
            return purchase
        }
    }
}

extension AppReceipt.InAppPurchase {
    /// Parses the output of `json`. Omits attributes that have no member there.
    fileprivate init(readFrom json: JSONValue) {
        func text(_ name: String) -> String? { json[name]?.stringValue }
        func date(_ name: String) -> Date? { text(name).flatMap { RFC3339.date(from: $0) } }
        self.init(
            quantity: json["quantity"]?.intValue, productID: text("productID").map { ProductID(unchecked: $0) },
            transactionID: text("transactionID").map { TransactionID(unchecked: $0) },
            purchaseDate: date("purchaseDate"),
            originalTransactionID: text("originalTransactionID").map { TransactionID(unchecked: $0) },
            originalPurchaseDate: date("originalPurchaseDate"),
            productType: json["productType"]?.intValue.map { ProductType(receiptNumber: $0) },
            expiresDate: date("expiresDate"), webOrderLineItemID: text("webOrderLineItemID"),
            cancellationDate: date("cancellationDate"), isTrialPeriod: json["isTrialPeriod"]?.boolValue,
            isInIntroOfferPeriod: json["isInIntroOfferPeriod"]?.boolValue)
    }
}
