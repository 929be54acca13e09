import Foundation
import Primitives
import SQLStorage
import StoreModel

extension Ledger {
    /// The error of a redemption that costs more than the customer's credit.
    struct InsufficientCredit: Error {
        let balance: Int
        let cost: Int
    }

    /// Returns a customer's credit.
    func balance(of key: CustomerKey, type: String, in credit: CreditTable.Credit) async throws -> CreditBalance {
        _ = try await answer(key)
        return try database.read { connection in
            let transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.customer(named: key.customer) ?? key.customer
            let account = try transaction.account(of: customer, type: type, in: credit)
            return CreditBalance(type: type, earned: account.earned, spent: account.spent, prices: credit.prices)
        }
    }

    /// Redeems all items or none. An item that was redeemed before is free. Each item's type must have a price.
    ///
    /// Throws `InsufficientCredit`.
    func redeem(
        _ items: [RedeemRequest.Item], of key: CustomerKey, type: String, in credit: CreditTable.Credit,
        as request: IdempotentRequest?, noting note: AuditNote? = nil,
        respond: @escaping @Sendable (RedeemAnswer) throws -> KeptAnswer
    ) async throws -> KeptAnswer {
        try await write(once: request) { connection, outcome in
            var transaction = transaction(connection, on: key.ledgerID)
            try transaction.lock(holdingsOf: [key.customer])
            let customer = try transaction.register(key.customer)
            // If the customer was merged meanwhile, the purchases of the other customer count.
            if customer != key.customer { try transaction.lock(holdingsOf: [customer]) }
            try transaction.lockSpent(by: customer, type)
            let isNew =
                try note == nil
                || items.contains {
                    try transaction.itemType(of: $0.id, redeemedBy: customer, type) == nil
                }
            let response = try respond(try transaction.redeem(items, of: customer, type: type, in: credit))
            if isNew { try transaction.write(note, about: customer) }
            try computeAnswers(transaction, including: nil, &outcome)
            return response
        }
    }

    /// Gives a customer credit, and writes an event about it.
    func give(
        _ grant: CreditGrant, to key: CustomerKey, in credit: CreditTable.Credit, as request: IdempotentRequest?,
        noting note: AuditNote? = nil, respond: @escaping @Sendable (CreditBalance) throws -> KeptAnswer
    ) async throws -> KeptAnswer {
        try await write(once: request) { connection, outcome in
            var transaction = transaction(connection, on: key.ledgerID)
            try transaction.lock(holdingsOf: [key.customer])
            let customer = try transaction.register(key.customer)
            if customer != key.customer { try transaction.lock(holdingsOf: [customer]) }
            try transaction.insert(grant, of: customer)
            let account = try transaction.account(of: customer, type: grant.type, in: credit)
            let balance = CreditBalance(
                type: grant.type, earned: account.earned, spent: account.spent, prices: credit.prices)
            let body: JSONValue = [
                "customer": .string(customer.rawValue), "credit": .string(grant.type),
                "amount": .number(grant.amount), "balance": .number(balance.balance),
            ]
            try transaction.addEvent(.credited, of: customer, body.encoded())
            try transaction.write(note, about: customer)
            try computeAnswers(transaction, including: nil, &outcome)
            return try respond(balance)
        }
    }

    /// Assigns redemptions from before the migration `spending` to purchases that their customers have or presented,
    /// oldest first. The uncovered rest remains the customer's debt. The assignment can be interrupted and repeated.
    func assignOldRedemptions() async throws {
        for app in rules.apps { while try await assignSomeOldRedemptions(of: app) {} }
    }

    private func assignSomeOldRedemptions(of app: BundleID) async throws -> Bool {
        try await database.write { [self] connection in
            let rows = try connection.query(
                """
                SELECT sequence, environment, customer, credit, debt FROM redemption
                WHERE app = ?1 AND is_assigned = 0 ORDER BY sequence LIMIT 500
                """, [.text(app.rawValue)])
            for row in rows {
                let environment = StoreEnvironment(rawValue: try row["environment"])
                try transaction(connection, on: LedgerID(app: app, environment: environment)).assign(row)
            }
            return !rows.isEmpty
        }
    }
}

extension LedgerTransaction {
    /// Locks the purchases that paid for a customer's redemptions. They count for the balance even if another customer
    /// has them now.
    fileprivate mutating func lockSpent(by customer: CustomerID, _ type: String) throws {
        guard connection.isConcurrent else { return }
        try lock(purchases: Set(spending(of: customer, type).keys))
    }

    fileprivate func account(
        of customer: CustomerID, type: String, in credit: CreditTable.Credit
    ) throws -> CreditAccount {
        let answer = rules.reducer.customer(customer, in: ledgerID.environment, try state(of: customer), at: now)
        var spent: [TransactionID: Int] = [:]
        try connection.each(
            """
            SELECT spending.original_transaction_id AS original, CAST(SUM(spending.amount) AS BIGINT) AS spent
            FROM holder CROSS JOIN spending
            WHERE holder.app = ?1 AND holder.environment = ?2 AND holder.customer = ?3 AND spending.app = ?1
                AND spending.environment = ?2 AND spending.original_transaction_id = holder.original_transaction_id
                AND spending.credit = ?4
            GROUP BY spending.original_transaction_id
            """, values(.text(customer.rawValue), .text(type))
        ) { spent[TransactionID(unchecked: try $0["original"])] = try $0["spent"] }
        let own = try spending(of: customer, type)
        let held = Set(answer.purchases.map(\.originalTransactionID))
        let row = try connection.first(
            """
            SELECT CAST(COALESCE(SUM(debt), 0) AS BIGINT) AS debt, CAST(COALESCE(SUM(granted), 0) AS BIGINT) AS granted_spent
            FROM redemption WHERE app = ?1 AND environment = ?2 AND customer = ?3 AND credit = ?4
            """, values(.text(customer.rawValue), .text(type)))
        let grants = try connection.first(
            """
            SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS granted FROM granted_credit
            WHERE app = ?1 AND environment = ?2 AND customer = ?3 AND credit = ?4
            """, values(.text(customer.rawValue), .text(type)))
        var debt: Int = try row?["debt"] ?? 0
        for (original, amount) in own where !held.contains(original) {
            let (sum, isTooLarge) = debt.addingReportingOverflow(
                try self.debt(for: original, spentBy: customer, amount, type, in: credit))
            debt = isTooLarge ? .max : sum
        }
        return CreditAccount(
            of: answer.purchases, in: credit, spent: spent, own: own, debt: debt, granted: try grants?["granted"] ?? 0,
            grantedSpent: try row?["granted_spent"] ?? 0)
    }

    /// Returns the units that a customer's redemptions took, by purchase.
    private func spending(of customer: CustomerID, _ type: String) throws -> [TransactionID: Int] {
        var own: [TransactionID: Int] = [:]
        try connection.each(
            """
            SELECT spending.original_transaction_id AS original, CAST(SUM(spending.amount) AS BIGINT) AS own
            FROM redemption CROSS JOIN spending
            WHERE redemption.app = ?1 AND redemption.environment = ?2 AND redemption.customer = ?3
                AND redemption.credit = ?4 AND spending.redemption = redemption.sequence
            GROUP BY spending.original_transaction_id
            """, values(.text(customer.rawValue), .text(type))
        ) { own[TransactionID(unchecked: try $0["original"])] = try $0["own"] }
        return own
    }

    /// Returns the debt of a customer who spent units of another customer's purchase; 0 unless a refund caused a debt.
    private func debt(
        for original: TransactionID, spentBy customer: CustomerID, _ own: Int, _ type: String,
        in credit: CreditTable.Credit
    ) throws -> Int {
        var state = CustomerState()
        try fold(original, into: &state)
        let purchases = rules.reducer.customer(customer, in: ledgerID.environment, state, at: now).purchases
        let account = CreditAccount(
            of: purchases, in: credit, spent: [original: try spent(of: original, type)], own: [original: own])
        return max(0, -account.balance)
    }

    private func spent(of original: TransactionID, _ type: String) throws -> Int {
        let row = try connection.first(
            """
            SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) AS spent FROM spending
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND credit = ?4
            """, values(.text(original.rawValue), .text(type)))
        return try row?["spent"] ?? 0
    }

    fileprivate func redeem(
        _ items: [RedeemRequest.Item], of customer: CustomerID, type: String, in credit: CreditTable.Credit
    ) throws -> RedeemAnswer {
        var account = try account(of: customer, type: type, in: credit)
        let balance = account.balance
        var redeemed: [RedeemAnswer.Item] = []
        var isShort = false
        for item in items {
            let price = credit.prices[exactly: item.type] ?? 0
            let row = try connection.first(
                """
                INSERT INTO redemption (app, environment, customer, credit, item, type, cost, redeemed_at)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (app, environment, customer, credit, item) DO NOTHING
                RETURNING sequence
                """,
                values(
                    .text(customer.rawValue), .text(type), .text(item.id), .text(item.type), .integer(Int64(price)),
                    .integer(now.milliseconds)))
            guard let row else {
                let earlierType = try itemType(of: item.id, redeemedBy: customer, type)
                redeemed.append(.init(id: item.id, type: earlierType ?? item.type, cost: 0))
                continue
            }
            redeemed.append(.init(id: item.id, type: item.type, cost: price))
            if let portions = account.spend(price) {
                try insert(portions, of: try row["sequence"], in: type)
                let paidByGrants = price - portions.reduce(0) { $0 + $1.amount }
                if paidByGrants > 0 {
                    try connection.perform(
                        "UPDATE redemption SET granted = ?2 WHERE sequence = ?1",
                        [.integer(try row["sequence"]), .integer(Int64(paidByGrants))])
                }
            } else {
                isShort = true
            }
        }
        guard !isShort else {
            throw Ledger.InsufficientCredit(balance: balance, cost: redeemed.reduce(0) { $0 + $1.cost })
        }
        return RedeemAnswer(type: type, balance: account.balance, items: redeemed)
    }

    /// Returns the type under which an item was redeemed.
    fileprivate func itemType(of item: String, redeemedBy customer: CustomerID, _ credit: String) throws -> String? {
        try connection.first(
            """
            SELECT type FROM redemption
            WHERE app = ?1 AND environment = ?2 AND customer = ?3 AND credit = ?4 AND item = ?5
            """, values(.text(customer.rawValue), .text(credit), .text(item))
        ).map { try $0["type"] }
    }

    private func insert(_ portions: [CreditAccount.Portion], of redemption: Int64, in type: String) throws {
        for portion in portions {
            try connection.perform(
                """
                INSERT INTO spending (app, environment, original_transaction_id, credit, redemption, amount, given)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                """,
                values(
                    .text(portion.source.original.rawValue), .text(type), .integer(redemption),
                    .integer(Int64(portion.amount)), .integer(Int64(portion.source.given))))
        }
    }

    /// Moves all redemptions and all credit grants to another customer. An item that both redeemed keeps one redemption
    /// with both costs, so that a merge never returns credit.
    func moveRedemptions(from old: CustomerID, to new: CustomerID) throws {
        let names = values(.text(old.rawValue), .text(new.rawValue))
        let duplicates = try connection.query(
            """
            SELECT old.sequence AS old, new.sequence AS new FROM redemption AS old CROSS JOIN redemption AS new
            WHERE old.app = ?1 AND old.environment = ?2 AND old.customer = ?3 AND new.app = ?1 AND new.environment = ?2
                AND new.customer = ?4 AND new.credit = old.credit AND new.item = old.item
            """, names)
        for row in duplicates {
            let both: [SQLValue] = [.integer(try row["old"]), .integer(try row["new"])]
            try connection.perform(
                """
                INSERT INTO spending (app, environment, original_transaction_id, credit, redemption, amount, given)
                SELECT app, environment, original_transaction_id, credit, ?2, amount, given FROM spending
                WHERE redemption = ?1
                ON CONFLICT (app, environment, original_transaction_id, credit, redemption) DO UPDATE
                SET amount = spending.amount + excluded.amount,
                    given = CASE WHEN spending.given < excluded.given THEN excluded.given ELSE spending.given END
                """, both)
            try connection.perform("DELETE FROM spending WHERE redemption = ?1", [both[0]])
            try connection.perform(
                """
                UPDATE redemption SET cost = redemption.cost + old.cost, debt = redemption.debt + old.debt,
                    granted = redemption.granted + old.granted, is_assigned = redemption.is_assigned * old.is_assigned
                FROM (SELECT cost, debt, granted, is_assigned FROM redemption WHERE sequence = ?1) AS old
                WHERE redemption.sequence = ?2
                """, both)
            try connection.perform("DELETE FROM redemption WHERE sequence = ?1", [both[0]])
        }
        try connection.perform(
            "UPDATE redemption SET customer = ?4 WHERE app = ?1 AND environment = ?2 AND customer = ?3", names)
        try connection.perform(
            "UPDATE granted_credit SET customer = ?4 WHERE app = ?1 AND environment = ?2 AND customer = ?3", names)
    }

    // MARK: - Credit of operators

    fileprivate func insert(_ grant: CreditGrant, of customer: CustomerID) throws {
        try connection.perform(
            """
            INSERT INTO granted_credit (app, environment, customer, id, credit, amount, reason, granted_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            """,
            values(
                .text(customer.rawValue), .text(grant.id), .text(grant.type), .integer(Int64(grant.amount)),
                .text(grant.reason), .integer(now.milliseconds)))
    }

    /// Returns the credit grants of a customer, newest first, at most `limit`.
    func creditGrants(of customer: CustomerID, limit: Int) throws -> [(grant: CreditGrant, at: Date)] {
        try connection.query(
            """
            SELECT id, credit, amount, reason, granted_at FROM granted_credit
            WHERE app = ?1 AND environment = ?2 AND customer = ?3 ORDER BY granted_at DESC, id LIMIT ?4
            """, values(.text(customer.rawValue), .integer(Int64(limit)))
        ).map { row in
            let grant = CreditGrant(
                id: try row["id"], type: try row["credit"], amount: try row["amount"], reason: try row["reason"])
            return (grant, Date(milliseconds: try row["granted_at"]))
        }
    }

    /// Returns a customer's credit of each type, ordered by the name of the type.
    func accounts(of customer: CustomerID) throws -> [(type: String, account: CreditAccount)] {
        let types = rules.credits.credits.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        return try types.map { ($0.key, try account(of: customer, type: $0.key, in: $0.value)) }
    }

    /// Assigns the debt of one old redemption to purchases. The row has its sequence, customer, credit and debt.
    fileprivate func assign(_ row: SQLRow) throws {
        let sequence: Int64 = try row["sequence"]
        let type: String = try row["credit"]
        let debt: Int = try row["debt"]
        var portions: [CreditAccount.Portion] = []
        if let credit = rules.credits.credits[exactly: type] {
            var account = try accountOfPresented(by: CustomerID(unchecked: try row["customer"]), type, in: credit)
            portions = account.settle(debt)
        }
        try insert(portions, of: sequence, in: type)
        let assigned = portions.reduce(0) { $0 + $1.amount }
        try connection.perform(
            "UPDATE redemption SET debt = ?2, is_assigned = 1 WHERE sequence = ?1",
            [.integer(sequence), .integer(Int64(debt - assigned))])
    }

    /// Returns the credit account of all purchases that a customer has or once presented.
    private func accountOfPresented(
        by customer: CustomerID, _ type: String, in credit: CreditTable.Credit
    ) throws -> CreditAccount {
        var originals = try connection.query(
            "SELECT original_transaction_id FROM holder WHERE app = ?1 AND environment = ?2 AND customer = ?3",
            values(.text(customer.rawValue)))
        for name in [customer] + (try aliases(of: customer)) {
            originals += try connection.query(
                "SELECT original_transaction_id FROM claim WHERE app = ?1 AND environment = ?2 AND customer = ?3",
                values(.text(name.rawValue)))
        }
        var state = CustomerState()
        var spent: [TransactionID: Int] = [:]
        for original in Set(try originals.map { TransactionID(unchecked: try $0["original_transaction_id"]) }) {
            try fold(original, into: &state)
            spent[original] = try self.spent(of: original, type)
        }
        let answer = rules.reducer.customer(customer, in: ledgerID.environment, state, at: now)
        return CreditAccount(of: answer.purchases, in: credit, spent: spent)
    }
}

/// Credit that an operator gives a customer.
struct CreditGrant: Sendable {
    /// The largest number of units of one grant.
    static let maximum = 1_000_000_000

    let id: String
    /// The kind of credit.
    let type: String
    let amount: Int
    let reason: String

    init(id: String, type: String, amount: Int, reason: String) {
        self.id = id
        self.type = type
        self.amount = amount
        self.reason = reason
    }

    /// Creates a credit grant from a request. Throws 400 for an invalid field.
    init(_ asked: CreditGrantRequest, id: String, type: String) throws {
        guard (1...Self.maximum).contains(asked.amount) else {
            throw Refusal.invalid("amount", "should be a number from 1 to \(Self.maximum)")
        }
        guard (1...1000).contains(asked.reason.utf8.count), !asked.reason.utf8.contains(0) else {
            throw Refusal.invalid("reason", "should be the reason for the credit, in 1 to 1000 bytes")
        }
        self.init(id: id, type: type, amount: asked.amount, reason: asked.reason)
    }
}

extension Schema {
    /// The purchases that paid for each redemption. The `cost` of a redemption is the sum of its `spending`, its `debt`
    /// and, since `grantedCredit`, its `granted`. `given` is the number of units that the purchase had given when it
    /// paid.
    ///
    /// Earlier redemptions start as debts, which `Ledger.assignOldRedemptions` assigns when the ledger is opened.
    static let spending = SQLMigration(
        "0008 spending",
        [
            .sqlite: """
            CREATE TABLE assigned_redemption (
                sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                customer TEXT NOT NULL,
                credit TEXT NOT NULL,
                item TEXT NOT NULL,
                type TEXT NOT NULL,
                cost INTEGER NOT NULL,
                debt INTEGER NOT NULL DEFAULT 0,
                is_assigned INTEGER NOT NULL DEFAULT 1,
                redeemed_at INTEGER NOT NULL,
                UNIQUE (app, environment, customer, credit, item)
            ) STRICT;
            INSERT INTO assigned_redemption (app, environment, customer, credit, item, type, cost, debt, is_assigned,
                redeemed_at)
            SELECT app, environment, customer, credit, item, type, cost, cost, cost = 0, redeemed_at FROM redemption
                ORDER BY redeemed_at, rowid;
            DROP TABLE redemption;
            ALTER TABLE assigned_redemption RENAME TO redemption;
            CREATE INDEX redemption_to_assign ON redemption (app, sequence) WHERE is_assigned = 0;

            CREATE TABLE spending (
                app TEXT NOT NULL,
                environment TEXT NOT NULL,
                original_transaction_id TEXT NOT NULL,
                credit TEXT NOT NULL,
                redemption INTEGER NOT NULL,
                amount INTEGER NOT NULL CHECK (amount > 0),
                given INTEGER NOT NULL,
                PRIMARY KEY (app, environment, original_transaction_id, credit, redemption)
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX spending_of_redemption ON spending (redemption);
            """
        ])
    /// The credit that operators gave. A redemption's `granted` is the part of its cost that this credit paid: the cost
    /// is the sum of `granted`, `debt` and the `spending`.
    ///
    /// On PostgreSQL, servers of an earlier release can use the database without knowing the table. The foreign key
    /// makes their merge fail if the merged customer has such credit, so that no credit is lost. It also makes their
    /// erasure rename the customer here. The key is checked at the commit.
    static let grantedCredit = SQLMigration(
        "0023 granted credit",
        [
            .sqlite: """
            CREATE TABLE granted_credit (
                app TEXT NOT NULL REFERENCES app (bundle_id),
                environment TEXT NOT NULL,
                customer TEXT NOT NULL,
                id TEXT NOT NULL,
                credit TEXT NOT NULL,
                amount INTEGER NOT NULL CHECK (amount > 0),
                reason TEXT NOT NULL,
                granted_at INTEGER NOT NULL,
                PRIMARY KEY (app, environment, customer, id)
            ) STRICT, WITHOUT ROWID;
            ALTER TABLE redemption ADD COLUMN granted INTEGER NOT NULL DEFAULT 0;
            """,
            .postgreSQL: """
            CREATE TABLE granted_credit (
                app TEXT COLLATE "C" NOT NULL REFERENCES app (bundle_id),
                environment TEXT COLLATE "C" NOT NULL,
                customer TEXT COLLATE "C" NOT NULL,
                id TEXT COLLATE "C" NOT NULL,
                credit TEXT COLLATE "C" NOT NULL,
                amount BIGINT NOT NULL CHECK (amount > 0),
                reason TEXT COLLATE "C" NOT NULL,
                granted_at BIGINT NOT NULL,
                PRIMARY KEY (app, environment, customer, id),
                FOREIGN KEY (app, environment, customer) REFERENCES customer (app, environment, id)
                    ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED
            );
            ALTER TABLE redemption ADD COLUMN granted BIGINT NOT NULL DEFAULT 0;
            """,
        ],
        minimumProgram: programs.name)
}
