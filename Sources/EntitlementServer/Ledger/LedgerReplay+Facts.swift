import AppStorePayloads
import Foundation
import Primitives
import SQLStorage
import SignedData
import StoreModel

extension LedgerReplay {
    func check(fact row: SQLRow, _ connection: any SQLConnection, _ report: inout Report) throws {
        let transaction = try transaction(connection, row)
        report.facts += 1
        let sequence: Int64 = try row["sequence"]
        let subject = "fact \(sequence)"
        let source: [UInt8]?
        do { source = try transaction.source(in: row) } catch let error where Self.isAboutContent(error) {
            report.add(transaction.difference(subject, "has a source that cannot be opened"))
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
            if let reason = try transaction.fault(of: row, sealing: source) {
                report.add(transaction.difference(subject, reason))
            }
        } catch let error where Self.isAboutContent(error) {
            let part = source == nil ? "summary" : "source"
            report.add(transaction.difference(subject, "has a \(part) that cannot be read"))
        }
    }

    /// Returns whether an error is about what a row holds. Other errors are about reading the database.
    static func isAboutContent(_ error: any Error) -> Bool {
        guard let error = error as? SQLError else { return true }
        return error.code == .unexpectedValue
    }
}

extension LedgerTransaction {
    /// Returns in what a row of facts differs from what its source says. `nil` if it does not differ.
    fileprivate func fault(of row: SQLRow, sealing source: [UInt8]) throws -> String? {
        let readings = try PresentedFact.readings(of: source, in: row, of: ledgerID)
        guard let fact = readings.first, try row["digest"] == fact.row.digest else { return "is not what was signed" }
        var columns: [String] = []
        func compare(_ column: String, _ said: String?) throws {
            let stored: String? = try row[column]
            if !Self.isSame(stored, said) { columns.append(column) }
        }
        try compare("kind", fact.row.kind)
        try compare("source", fact.row.source.rawValue)
        try compare("environment", fact.environment.rawValue)
        try compare("transaction_id", fact.row.transactionID)
        try compare("original_transaction_id", fact.row.original.rawValue)
        // The first ledgers did not keep the order.
        let order: String? = try row["order_id"]
        if order != nil { try compare("order_id", fact.orderID) }
        if try !bears(row, fact.row.token) { columns.append("app_account_token") }
        if try !isSigned(fact, as: row) { columns.append("signed_at") }
        guard columns.isEmpty else {
            return "has another \(columns.joined(separator: ", ")) than was signed"
        }
        let summary: String? = try row["summary"]
        let isSummary = readings.contains { Self.isSame(summary, $0.row.summary) }
        return isSummary ? nil : "is summed up otherwise than it was signed"
    }

    /// Returns whether a customer of a purchase was erased, even if another customer has it now.
    fileprivate func wasErased(_ original: TransactionID) throws -> Bool {
        try connection.first(
            """
            SELECT 1 AS one FROM purchase
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND is_erased > 0
            """, values(.text(original.rawValue))) != nil
    }

    private static func isSame(_ stored: String?, _ said: String?) -> Bool {
        guard let said else { return stored == nil }
        return stored.hasSameBytes(as: said)
    }

    /// Returns whether a fact has the token that was signed. In a purchase that others have, the token of an erased customer
    /// is not kept, or the pseudonym's is in its place.
    private func bears(_ row: SQLRow, _ said: UUID?) throws -> Bool {
        let stored: String? = try row["app_account_token"]
        guard let said else { return stored == nil }
        guard stored.flatMap({ UUID(text: $0) }) != said else { return true }
        guard let stored else { return try lastErasure(ofBearing: said) != nil }
        // After a restore the pseudonym may be no customer.
        if try lastErasure(ofBearing: said)?.pseudonym.appAccountToken.wireText == stored { return true }
        return try connection.first(
            """
            SELECT 1 AS one FROM customer
            WHERE app = ?1 AND environment = ?2 AND app_account_token = ?3 AND erased_at IS NOT NULL
            """, values(.text(stored))) != nil
    }

    /// Returns whether a fact is dated as it was signed. One purchase of a receipt has no date of its own, and so must have
    /// that of a receipt about it.
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
    /// Reads a source as `StoreReader` and `WebPurchaseRoute` read it. Any of the readings may have been written:
    /// the first ledgers also took names that are not in Unicode's form NFC.
    ///
    /// Throws for a source that cannot be read in the format of its row.
    fileprivate static func readings(of source: [UInt8], in row: SQLRow, of ledgerID: LedgerID) throws
        -> [PresentedFact]
    {
        guard let format = FactFormat(rawValue: try row["format"]) else { throw unreadable }
        let isTransaction = try row["kind"] == FactRow.transaction
        switch format {
        case .jws: return try signed(source, isTransaction, of: ledgerID)
        case .web: return try web(source, isTransaction, of: ledgerID)
        case .receipt:
            guard isTransaction else { throw unreadable }
            let purchase = try AppReceipt.InAppPurchase(readFrom: JSONValue(parsing: source))
            // The digest is that of a place in a receipt, and so is bound to the source by its seal only.
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

    /// A name that any rule allows, in the place of one that today's rules refuse.
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
            let said = JWSTransactionDecodedPayload(unchecked: members)
            var fact = try TransactionFact(said, digest: digest)
            if let product { fact.productID = ProductID(unchecked: product) }
            return [
                PresentedFact(
                    content: .transaction(fact), environment: storeEnvironment(said.environment, of: ledgerID),
                    source: source, orderID: said.webOrderLineItemId, index: 0)
            ]
        }
        let said = JWSRenewalInfoDecodedPayload(unchecked: members)
        let fact = try RenewalFact(said, digest: digest)
        var former = fact
        former.renewsTo = said.autoRenewProductId.map { ProductID(unchecked: $0) }
        return [fact, former].map {
            PresentedFact(
                content: .renewal($0), environment: storeEnvironment(said.environment, of: ledgerID), source: source,
                index: 0)
        }
    }

    private static func storeEnvironment(_ said: AppStoreEnvironment?, of ledgerID: LedgerID) -> StoreEnvironment {
        said.map { StoreEnvironment(apple: $0.rawValue) } ?? ledgerID.environment
    }

    private static func web(_ source: [UInt8], _ isTransaction: Bool, of ledgerID: LedgerID) throws -> [PresentedFact] {
        let readings = try webPurchase(source).facts(source, in: ledgerID.environment).filter { fact in
            if case .transaction = fact.content { isTransaction } else { !isTransaction }
        }
        guard !readings.isEmpty else { throw unreadable }
        return readings
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
    /// From what `json` wrote. Attributes without a member of their own are left out.
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
