import SQLStorage
import StoreModel

/// Checks of rows that are not reached from purchases, customers or facts.
extension LedgerReplay {
    /// Finds rows about a purchase that has no row in `purchase`. The row in `purchase` is written first, and is not
    /// deleted once the purchase has a fact.
    func checkOrphans(_ report: inout Report) throws {
        for table in ["fact", "claim", "holder", "spending", "play_purchase"] {
            try database.read { connection in
                try connection.each(
                    """
                    SELECT DISTINCT app, environment, original_transaction_id FROM \(table)
                    WHERE NOT EXISTS (
                        SELECT 1 FROM purchase WHERE purchase.app = \(table).app
                            AND purchase.environment = \(table).environment
                            AND purchase.original_transaction_id = \(table).original_transaction_id)
                    """
                ) { row in
                    let original: String = try row["original_transaction_id"]
                    report.add(
                        try Difference(
                            of: row, "purchase \(original)",
                            "has rows in the table \(table), and none in the table purchase"))
                }
            }
        }
    }

    /// Finds purchases, grants, credit grants, entries of the audit log, consent and usage whose customer has no row.
    func checkCustomers(_ report: inout Report) throws {
        for table in [
            "holder", "customer_grant", "granted_credit", "audit_entry", "refund_consent", "usage_report",
        ] {
            try database.read { connection in
                try connection.each(
                    """
                    SELECT DISTINCT app, environment, customer FROM \(table)
                    WHERE customer IS NOT NULL AND NOT EXISTS (
                        SELECT 1 FROM customer WHERE customer.app = \(table).app
                            AND customer.environment = \(table).environment AND customer.id = \(table).customer)
                    """
                ) { row in
                    let customer: String = try row["customer"]
                    report.add(
                        try Difference(
                            of: row, "customer \(customer)",
                            "has rows in the table \(table), and none in the table customer"))
                }
            }
        }
    }

    /// Finds erased customers whose row is not marked as erased.
    func checkErasures(_ report: inout Report) throws {
        try database.read { connection in
            try connection.each(
                """
                SELECT DISTINCT customer.app AS app, customer.environment AS environment, customer.id AS id
                FROM erased_name JOIN customer ON customer.app = erased_name.app
                    AND customer.environment = erased_name.environment AND customer.id = erased_name.pseudonym
                WHERE customer.erased_at IS NULL
                """
            ) { row in
                let customer: String = try row["id"]
                report.add(try Difference(of: row, "customer \(customer)", "was erased, and is not marked as erased"))
            }
        }
    }

    /// Finds aliases of customers without a row, and aliases whose token is not that of their name.
    func checkAliases(_ report: inout Report) throws {
        try database.read { connection in
            try connection.each("SELECT app, environment, alias, app_account_token FROM alias") { row in
                let alias = CustomerID(unchecked: try row["alias"])
                guard try row["app_account_token"] != alias.appAccountToken.wireText else { return }
                report.add(try Difference(of: row, "alias \(alias)", "has a token that is not the token of its name"))
            }
            try connection.each(
                """
                SELECT app, environment, alias, customer FROM alias
                WHERE NOT EXISTS (
                    SELECT 1 FROM customer WHERE customer.app = alias.app AND customer.environment = alias.environment
                        AND customer.id = alias.customer)
                """
            ) { row in
                let (alias, customer): (String, String) = (try row["alias"], try row["customer"])
                report.add(
                    try Difference(of: row, "alias \(alias)", "is a name of \(customer), which has no row"))
            }
        }
    }

    /// Finds spending for a redemption without a row, and redeemed codes without a customer or grant.
    func checkSpending(_ report: inout Report) throws {
        try database.read { connection in
            try connection.each(
                """
                SELECT app, environment, original_transaction_id, redemption FROM spending
                WHERE NOT EXISTS (SELECT 1 FROM redemption WHERE redemption.sequence = spending.redemption)
                """
            ) { row in
                let (original, redemption): (String, Int64) = (
                    try row["original_transaction_id"], try row["redemption"]
                )
                report.add(
                    try Difference(
                        of: row, "purchase \(original)", "paid for redemption \(redemption), which has no row"))
            }
            try connection.each(
                """
                SELECT app, environment, code, customer FROM promotion_redemption
                WHERE NOT EXISTS (
                    SELECT 1 FROM customer WHERE customer.app = promotion_redemption.app
                        AND customer.environment = promotion_redemption.environment
                        AND customer.id = promotion_redemption.customer)
                """
            ) { row in
                let (code, customer): (String, String) = (try row["code"], try row["customer"])
                report.add(
                    try Difference(of: row, "promotion \(code)", "was redeemed by \(customer), which has no row"))
            }
            try connection.each(
                """
                SELECT app, environment, code, customer FROM promotion_redemption
                WHERE NOT EXISTS (
                    SELECT 1 FROM customer_grant WHERE customer_grant.app = promotion_redemption.app
                        AND customer_grant.environment = promotion_redemption.environment
                        AND customer_grant.customer = promotion_redemption.customer
                        AND customer_grant.id = promotion_redemption.grant_id)
                """
            ) { row in
                let (code, customer): (String, String) = (try row["code"], try row["customer"])
                report.add(try Difference(of: row, "promotion \(code)", "gave \(customer) a grant that has no row"))
            }
        }
    }

    /// Finds customers who spent more credit of operators than operators gave them.
    func checkGrantedCredit(_ report: inout Report) throws {
        try database.read { connection in
            try connection.each(
                """
                SELECT spent.app AS app, spent.environment AS environment, spent.customer AS customer,
                    spent.credit AS credit, spent.number AS spent, CAST(COALESCE(given.number, 0) AS BIGINT) AS given
                FROM (SELECT app, environment, customer, credit, CAST(SUM(granted) AS BIGINT) AS number FROM redemption
                    WHERE granted <> 0 GROUP BY app, environment, customer, credit) AS spent
                LEFT JOIN (SELECT app, environment, customer, credit, CAST(SUM(amount) AS BIGINT) AS number
                    FROM granted_credit GROUP BY app, environment, customer, credit) AS given
                    ON given.app = spent.app AND given.environment = spent.environment
                        AND given.customer = spent.customer AND given.credit = spent.credit
                WHERE spent.number > COALESCE(given.number, 0)
                """
            ) { row in
                let (customer, credit): (String, String) = (try row["customer"], try row["credit"])
                let (spent, given): (Int64, Int64) = (try row["spent"], try row["given"])
                report.add(
                    try Difference(
                        of: row, "customer \(customer)",
                        "got \(given) \(credit) from operators, and \(spent) were spent"))
            }
        }
    }

    /// Reports a document that cannot be decrypted.
    func check(document row: SQLRow, _ connection: any SQLConnection, _ report: inout Report) throws {
        let transaction = try transaction(connection, row)
        do {
            _ = try transaction.source(ofDocument: row)
        } catch let error where Self.isAboutContent(error) {
            let sequence: Int64 = try row["sequence"]
            report.add(transaction.difference("document \(sequence)", "has a source that cannot be decrypted"))
        }
    }

    /// Finds codes with more redemptions than counted. A count may be larger than the number of redemptions, because a
    /// merge deletes one of two redemptions of a code and keeps the count.
    func checkPromotions(_ report: inout Report) throws {
        try database.read { connection in
            try connection.each(
                """
                SELECT redeemed.app AS app, redeemed.environment AS environment, redeemed.code AS code,
                    redeemed.number AS number, promotion.redemptions AS counted
                FROM (SELECT app, environment, code, COUNT(*) AS number FROM promotion_redemption
                    GROUP BY app, environment, code) AS redeemed
                LEFT JOIN promotion ON promotion.app = redeemed.app AND promotion.environment = redeemed.environment
                    AND promotion.code = redeemed.code
                WHERE promotion.redemptions IS NULL OR promotion.redemptions < redeemed.number
                """
            ) { row in
                let (code, number, counted): (String, Int64, Int64?) = (
                    try row["code"], try row["number"], try row["counted"]
                )
                let reason = counted.map { "counts \($0) redemptions, and" } ?? "has no row in the table promotion, and"
                report.add(
                    try Difference(
                        of: row, "promotion \(code)", "\(reason) promotion_redemption has \(number)"))
            }
        }
    }
}

extension LedgerReplay.Difference {
    fileprivate init(of row: SQLRow, _ subject: String, _ reason: String) throws {
        self.init(
            app: BundleID(unchecked: try row["app"]), environment: StoreEnvironment(rawValue: try row["environment"]),
            subject: subject, reason: reason)
    }
}
