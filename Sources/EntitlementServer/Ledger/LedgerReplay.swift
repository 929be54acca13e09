import Foundation
import Primitives
import SQLStorage
import StoreModel

/// Verifies a ledger: recomputes its state from the facts, and compares it with the stored state. It compares facts
/// with their signed sources, holders with claims and tokens, and answers with facts.
///
///     let report = try LedgerReplay(database: database, apps: apps).run()
///     print(report.differences)
///
/// It changes nothing. A server can use the ledger meanwhile, because each customer is checked in one snapshot.
package struct LedgerReplay: Sendable {
    /// A stored value that does not follow from the facts, or that differs from what was written.
    package struct Difference: Sendable, Hashable, CustomStringConvertible {
        package let app: BundleID
        package let environment: StoreEnvironment
        /// The customer, purchase or other row, for example `fact 12`.
        package let subject: String
        package let reason: String

        package var description: String { "\(app), \(environment): \(subject) \(reason)" }
    }

    /// The units that a customer redeemed, and that no purchase and no credit of operators paid.
    package struct Debt: Sendable, Hashable, CustomStringConvertible {
        package let app: BundleID
        package let environment: StoreEnvironment
        package let customer: CustomerID
        /// The type of credit.
        package let credit: String
        /// The uncovered units.
        package let amount: Int

        package var description: String {
            "\(app), \(environment): customer \(customer) spent \(amount) \(credit) more than was bought; early versions allowed this"
        }
    }

    package struct Report: Sendable {
        package var facts = 0
        package var purchases = 0
        package var customers = 0
        /// The number of facts whose source was erased; their summary remains.
        package var factsWithoutSource = 0
        /// The number of answers that the server recomputes before it sends them, mostly because its rules changed.
        package var staleAnswers = 0
        /// The first hundred debts. Early versions allowed customers to redeem more than their purchases gave. A debt
        /// is not a difference: it is subtracted from the credit of later purchases and credit grants.
        package var debts: [Debt] = []
        package var debtCount = 0
        /// The first hundred differences.
        package var differences: [Difference] = []
        package var differenceCount = 0

        mutating func add(_ difference: Difference) {
            differenceCount += 1
            if differences.count < 100 { differences.append(difference) }
        }

        mutating func add(_ debt: Debt) {
            debtCount += 1
            if debts.count < 100 { debts.append(debt) }
        }
    }

    private static let pageSize: Int64 = 500

    let database: any SQLDatabase
    private let ledger: Ledger
    private let apps: [EntitlementService.Configuration.App]

    /// - Parameters:
    ///   - apps: The apps, with the feature maps of the server.
    ///   - clock: The clock of the server.
    package init(
        database: any SQLDatabase, apps: [EntitlementService.Configuration.App], clock: any WallClock = SystemClock()
    ) {
        self.database = database
        self.apps = apps
        ledger = Ledger(
            database: database, clock: clock, cache: AnswerCache(bytes: 0), metrics: ServerMetrics(),
            changes: ChangeSignal(clock: SystemClock()),
            rules: ActiveRules(AppRules.of(apps)))
    }

    /// Returns the apps of a ledger.
    package static func apps(in database: any SQLDatabase) throws -> [BundleID] {
        try database.read { connection in
            try connection.query("SELECT bundle_id FROM app ORDER BY bundle_id").map {
                BundleID(unchecked: try $0["bundle_id"])
            }
        }
    }

    /// Returns the number of rows in the tables whose rows `run` reports to `progress`.
    package func size() throws -> Int {
        try database.read { connection in
            try ["fact", "purchase", "customer", "redemption"].reduce(0) { sum, table in
                let row = try connection.first("SELECT COUNT(*) AS rows FROM \(table)")
                return sum + (try row.map { try $0["rows"] } ?? 0)
            }
        }
    }

    /// Checks the whole ledger. `progress` receives the number of checked rows, of those that `size` counts.
    ///
    /// Throws `EntitlementServerError` with `invalidConfiguration` if the stored answers were computed with other
    /// feature maps than those of `apps`, or for an app that is not among them.
    package func run(progress: (Int) -> Void = { _ in }) throws -> Report {
        let formerApps = try appsWithFormerAnswers()
        var report = Report()
        var checkedRows = 0
        try pages(of: "fact", by: ["sequence"], from: [.integer(-1)]) { connection, row in
            try check(fact: row, connection, &report)
            checkedRows += 1
            progress(checkedRows)
        }
        try checkOrphans(&report)
        try checkCustomers(&report)
        try checkErasures(&report)
        try checkAliases(&report)
        try checkPromotions(&report)
        try checkSpending(&report)
        try checkGrantedCredit(&report)
        try pages(of: "document", by: ["sequence"], from: [.integer(-1)]) { connection, row in
            try check(document: row, connection, &report)
        }
        try pages(of: "event", by: ["sequence"], from: [.integer(.min)]) { connection, row in
            let transaction = try transaction(connection, row)
            let event = try LedgerEvent(row, in: transaction.ledgerID)
            if !event.isIntact {
                report.add(transaction.difference("event \(event.id)", "differs from what was written"))
            }
        }
        let start: [SQLValue] = [.text(""), .text(""), .text("")]
        try pages(of: "purchase", by: ["app", "environment", "original_transaction_id"], from: start) {
            connection, row in
            try check(purchase: row, connection, &report)
            checkedRows += 1
            progress(checkedRows)
        }
        try pages(of: "customer", by: ["app", "environment", "id"], from: start) { connection, row in
            try check(
                customer: row, isFormer: formerApps.contains(BundleID(unchecked: try row["app"])), connection, &report)
            checkedRows += 1
            progress(checkedRows)
        }
        try pages(of: "redemption", by: ["sequence"], from: [.integer(-1)]) { connection, row in
            try check(redemption: row, connection, &report)
            checkedRows += 1
            progress(checkedRows)
        }
        return report
    }

    /// Checks the feature maps. Returns the apps whose answers an earlier version computed, which the server computes
    /// again when it starts.
    private func appsWithFormerAnswers() throws -> Set<BundleID> {
        var former: Set<BundleID> = []
        let rows = try database.read { try $0.query("SELECT bundle_id, rules_digest FROM app") }
        for row in rows {
            let name = BundleID(unchecked: try row["bundle_id"])
            guard let app = apps.first(where: { $0.bundleID == name }) else {
                throw EntitlementServerError(
                    .invalidConfiguration, "The ledger also has the app \(name): add it with its feature map.")
            }
            let digest: [UInt8] = try row["rules_digest"]
            if digest == EntitlementService.rulesDigest(app.features) { continue }
            let isFormer = (1..<AppRules.reducerNumber).contains {
                digest == EntitlementService.rulesDigest(app.features, reducer: $0)
            }
            guard isFormer else {
                throw EntitlementServerError(
                    .invalidConfiguration,
                    "The answers for \(name) were computed with another feature map: use the feature map of the server."
                )
            }
            former.insert(name)
        }
        return former
    }

    /// Calls `body` with each row of a table, in the order of its key, one page per snapshot.
    private func pages(
        of table: String, by columns: [String], from start: [SQLValue],
        _ body: (any SQLConnection, SQLRow) throws -> Void
    ) throws {
        let names = columns.joined(separator: ", ")
        let placeholders = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        var next: [SQLValue]? = start
        while let key = next {
            next = try database.read { connection in
                let rows = try connection.query(
                    """
                    SELECT * FROM \(table) WHERE (\(names)) > (\(placeholders)) ORDER BY \(names) LIMIT ?\(columns.count + 1)
                    """, key + [.integer(Self.pageSize)])
                for row in rows { try body(connection, row) }
                guard rows.count == Int(Self.pageSize), let end = rows.last else { return nil }
                if columns == ["sequence"] { return [.integer(try end["sequence"])] }
                return try columns.map { .text(try end[$0]) }
            }
        }
    }

    func transaction(_ connection: any SQLConnection, _ row: SQLRow) throws -> LedgerTransaction {
        let ledgerID = LedgerID(
            app: BundleID(unchecked: try row["app"]), environment: StoreEnvironment(rawValue: try row["environment"]))
        return ledger.transaction(connection, on: ledgerID)
    }

    private func check(purchase row: SQLRow, _ connection: any SQLConnection, _ report: inout Report) throws {
        let transaction = try transaction(connection, row)
        report.purchases += 1
        let original = TransactionID(unchecked: try row["original_transaction_id"])
        if Set(try transaction.holders(of: original)) != Set(try transaction.computedHolders(of: original)) {
            report.add(
                transaction.difference("purchase \(original)", "has other holders than its claims and tokens determine")
            )
        }
        if try row["app_account_token"] != transaction.awaitedToken(of: original)?.wireText {
            report.add(
                transaction.difference(
                    "purchase \(original)", "waits for a customer with a token that its facts do not have"))
        }
        let overspent = try connection.query(
            """
            SELECT credit, CAST(SUM(amount) AS BIGINT) AS spent, MAX(given) AS given FROM spending
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            GROUP BY credit HAVING SUM(amount) > MAX(given)
            """, transaction.values(.text(original.rawValue)))
        for row in overspent {
            let (credit, spent, given): (String, Int64, Int64) = (try row["credit"], try row["spent"], try row["given"])
            report.add(
                transaction.difference("purchase \(original)", "gave \(given) \(credit), and \(spent) were spent"))
        }
    }

    private func check(redemption row: SQLRow, _ connection: any SQLConnection, _ report: inout Report) throws {
        let transaction = try transaction(connection, row)
        let (sequence, cost, debt): (Int64, Int64, Int64) = (try row["sequence"], try row["cost"], try row["debt"])
        let granted: Int64 = try row["granted"]
        let paid = try connection.first(
            """
            SELECT CAST(COALESCE(SUM(spending.amount), 0) AS BIGINT) AS paid FROM spending JOIN purchase
                ON purchase.app = spending.app AND purchase.environment = spending.environment
                    AND purchase.original_transaction_id = spending.original_transaction_id
            WHERE spending.redemption = ?1 AND spending.app = ?2 AND spending.environment = ?3 AND spending.credit = ?4
            """,
            [
                .integer(sequence), .text(transaction.ledgerID.app.rawValue),
                .text(transaction.ledgerID.environment.rawValue),
                .text(try row["credit"]),
            ])
        let customer = CustomerID(unchecked: try row["customer"])
        if try !transaction.isKnown(customer) {
            report.add(transaction.difference("redemption \(sequence)", "belongs to a customer without a row"))
        }
        let (part, isPartTooMuch) = debt.addingReportingOverflow(granted)
        let (sum, isTooMuch) = part.addingReportingOverflow(try paid?["paid"] ?? 0)
        if isPartTooMuch || isTooMuch || sum != cost || debt < 0 || granted < 0 {
            report.add(
                transaction.difference(
                    "redemption \(sequence)", "costs \(cost), but purchases and operators paid another amount"))
        } else if debt > 0 {
            report.add(
                Debt(
                    app: transaction.ledgerID.app, environment: transaction.ledgerID.environment,
                    customer: customer, credit: try row["credit"], amount: Int(debt)))
        }
    }

    /// Returns whether an answer in a shared database was computed with rules that were replaced since. In SQLite, such
    /// an answer is marked as expired instead.
    private func hasFormerRules(_ row: SQLRow, _ connection: any SQLConnection) throws -> Bool {
        guard database.dialect != .sqlite else { return false }
        let app = try connection.first(
            "SELECT rules_epoch FROM app WHERE bundle_id = ?1", [.text(try row["app"])])
        return try app.map { try $0["rules_epoch"] as Int64 != row["rules_epoch"] } ?? false
    }

    private func check(
        customer row: SQLRow, isFormer: Bool, _ connection: any SQLConnection, _ report: inout Report
    ) throws {
        let transaction = try transaction(connection, row)
        report.customers += 1
        let customer = CustomerID(unchecked: try row["id"])
        if try row["app_account_token"] != customer.appAccountToken.wireText {
            report.add(transaction.difference("customer \(customer)", "has a token that is not the token of its name"))
        }
        let erasedAt: Int64? = try row["erased_at"]
        if erasedAt != nil, !customer.rawValue.hasPrefix("erased-") {
            report.add(transaction.difference("customer \(customer)", "is marked as erased, and has no pseudonym"))
        }
        guard let (stored, isIntact) = try transaction.written(customer) else { return }
        guard stored.revision > 0 else {
            let digest: [UInt8] = try row["content_digest"]
            if stored != StoredAnswer.none || !digest.isEmpty {
                report.add(
                    transaction.difference(
                        "customer \(customer)", "has an answer, but the revision of an unknown customer"))
            }
            return
        }
        if try isFormer || stored.validUntil == Date(milliseconds: 0) || hasFormerRules(row, connection) {
            report.staleAnswers += 1
            return
        }
        guard isIntact else {
            report.add(
                transaction.difference("customer \(customer)", "has a stored answer that differs from what was written")
            )
            return
        }
        let lastValidInstant =
            stored.isValid(at: transaction.now)
            ? transaction.now
            : max(
                stored.validFrom, min(transaction.now, stored.validUntil?.addingTimeInterval(-0.001) ?? .distantFuture))
        let state: CustomerState
        do { state = try transaction.state(of: customer) } catch let error where Self.isAboutContent(error) {
            report.add(transaction.difference("customer \(customer)", "has a fact whose summary cannot be read"))
            return
        }
        let answer = transaction.rules.reducer.customer(
            customer, in: transaction.ledgerID.environment, state, at: lastValidInstant)
        if try row["content_digest"] != answer.contentDigest {
            report.add(
                transaction.difference("customer \(customer)", "has an answer that does not follow from its facts"))
        } else if stored.validUntil?.milliseconds != answer.validUntil?.milliseconds {
            report.add(
                transaction.difference("customer \(customer)", "has an answer whose validity ends at a wrong time"))
        }
        let recorded = LedgerTransaction.pairs(in: try row["double_payments"])
        let payments = transaction.rules.reducer.doublePayments(in: state, at: lastValidInstant)
        if payments.contains(where: { $0.isPresent && !recorded.contains($0.pair) }) {
            report.add(transaction.difference("customer \(customer)", "pays twice, and has no event about it"))
        }
    }
}

extension LedgerTransaction {
    func difference(_ subject: String, _ reason: String) -> LedgerReplay.Difference {
        .init(app: ledgerID.app, environment: ledgerID.environment, subject: subject, reason: reason)
    }
}
