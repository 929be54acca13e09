import Foundation
import Primitives
import SQLStorage
import StoreModel

/// One database transaction on one ledger.
///
/// It collects the customers whose answers change; `computeAnswers` computes these answers once, at the end.
struct LedgerTransaction {
    let connection: any SQLConnection
    let ledgerID: LedgerID
    let rules: AppRules
    /// The epoch of the rules, see `ActiveRules`; `nil` if the database is not shared.
    var epoch: Int64? { version.epoch }
    let version: ActiveRules.Version
    /// Whether stored answers may be of replaced rules, so that they are recomputed.
    let hasFormerAnswers: Bool
    let now: Date
    var affected: Set<CustomerID> = []
    /// Customers without new facts: only time, or other rules, can change their answers.
    var continuing: Set<CustomerID> = []
    /// Customers that were merged into another one, and the former names of erased customers.
    var removed: Set<CustomerID> = []
    /// The number of new facts, by kind.
    private(set) var appended: [String: Int] = [:]
    /// New customers, with their token. Their row is written at the end, with the answer.
    var newcomers: [CustomerID: UUID] = [:]
    /// The facts of purchases that were unknown before this transaction.
    private(set) var newPurchases: [TransactionID: [PresentedFact.Content]] = [:]
    /// All purchases of the new customers.
    private(set) var heldByNewcomers: [CustomerID: Set<TransactionID>] = [:]
    /// A cache of the customers by token, valid until the customers change.
    var tokenOwners: [UUID: Attribution.TokenOwner?] = [:]
    /// The precomputed answer of the presenting customer.
    var precomputed: FirstPurchases?
    /// The locked rows; empty if transactions run one at a time.
    var locked = LockedRows()
    /// Purchases whose row was inserted only to lock it, and that have no fact yet.
    var unwritten: Set<TransactionID> = []

    init(_ connection: any SQLConnection, ledgerID: LedgerID, rules: ActiveRules.Entry, now: Date) {
        self.connection = connection
        self.ledgerID = ledgerID
        self.rules = rules.rules
        version = rules.version
        hasFormerAnswers = rules.unmarked != nil
        self.now = now
    }

    /// Returns the values of a statement: `?1` is the app, `?2` the environment, and `more` follows.
    func values(_ more: SQLValue...) -> [SQLValue] {
        [.text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue)] + more
    }

    // MARK: - Facts

    /// The row of a purchase.
    struct Purchase {
        let dataKey: Int64?
        let isErased: Bool
    }

    /// Returns a purchase; `nil` if the ledger has no fact, claim or holder of it.
    func purchase(_ original: TransactionID) throws -> Purchase? {
        guard !unwritten.contains(original) else { return nil }
        return try connection.first(
            """
            SELECT data_key, is_erased FROM purchase
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, values(.text(original.rawValue))
        ).map { Purchase(dataKey: try $0["data_key"], isErased: try $0["is_erased"] as Int64 == 1) }
    }

    /// Appends a fact unless it exists, and adds the claim of its presenter.
    mutating func append(_ fact: PresentedFact, claimedBy claimant: Claimant? = nil) throws {
        let row = fact.row
        let purchase = try claimant.map(\.purchase) ?? purchase(row.original)
        let isNew = try insert(fact, row, of: purchase, presentedBy: claimant)
        let claims = try claimant.flatMap { try claim(row.original, by: $0) }
        let isAttributed = claims != nil || isNew && row.kind == FactRow.transaction
        let holders =
            isAttributed
            ? try attribute(row.original, by: claims ?? claimant?.earlierClaims, first: purchase == nil ? row : nil)
            : isNew ? try holders(of: row.original) : []
        if isNew { affected.formUnion(holders) }
    }

    /// Adds the claim of a customer on a purchase, without a new fact.
    mutating func addClaim(of claimant: Claimant, on original: TransactionID) throws {
        if let claims = try claim(original, by: claimant) { try attribute(original, by: claims) }
    }

    /// Returns whether an erasure deleted the presenter's own token from the purchase, so that a fact must restore it.
    func lacksToken(_ row: FactRow, presentedBy claimant: Claimant?) throws -> Bool {
        guard let claimant, claimant.purchase?.isErased == true, let token = row.token,
            self.token(of: claimant.presenter) == token
        else { return false }
        return try newestToken(of: row.original) != token
    }

    private static let insertion = """
        INSERT INTO fact (app, environment, source, digest, kind, format, transaction_id, original_transaction_id,
            order_id, app_account_token, signed_at, received_at, summary, data_key, source_bytes,
            header)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
        """
    private static let insertionOfNew =
        "\(insertion) ON CONFLICT (app, environment, original_transaction_id, source, digest) DO NOTHING"

    /// Inserts a fact; `false` if it exists.
    private mutating func insert(
        _ fact: PresentedFact, _ row: FactRow, of purchase: Purchase?, presentedBy claimant: Claimant?
    ) throws -> Bool {
        // If transactions run one at a time, looks for the fact first: a query is cheaper than encrypting the source.
        // If they are concurrent, a query for a missing row would conflict with other inserts, so the insertion itself
        // finds an existing fact. If the purchase has no key, looks first, because an existing fact needs no new key.
        if let purchase, !connection.isConcurrent || purchase.dataKey == nil {
            if let existing = try existingRow(row) {
                try restoreToken(row, existing, presentedBy: claimant)
                return false
            }
        }
        let header = try headerNumber(of: fact)
        let kept = try keptToken(of: row, in: purchase, presentedBy: claimant)
        let awaited = claimant.map { token(of: $0.presenter) } == row.token ? nil : kept
        let sealed = try seal(
            fact.sourceBehindHeader, of: row, in: purchase, awaiting: awaited, or: fact.sealedSource)
        let columns = values(
            .text(row.source.rawValue), .blob(row.digest), .text(row.kind), .text(fact.format.rawValue),
            SQLValue(row.transactionID), .text(row.original.rawValue),
            SQLValue(sealed == nil ? nil : fact.orderID),
            SQLValue(kept?.wireText), .integer(row.signedAt.milliseconds),
            .integer(now.milliseconds), .text(row.summary), SQLValue(sealed?.key), .blob(sealed?.bytes ?? []),
            SQLValue(sealed == nil ? nil : header))
        if purchase == nil {
            try connection.perform(Self.insertion, columns)
        } else {
            guard try connection.execute(Self.insertionOfNew, columns) > 0 else {
                if let existing = try existingRow(row) { try restoreToken(row, existing, presentedBy: claimant) }
                return false
            }
        }
        unwritten.remove(row.original)
        if purchase == nil {
            newPurchases[row.original] = [fact.content]
        } else {
            newPurchases[row.original]?.append(fact.content)
        }
        appended[row.kind, default: 0] += 1
        return true
    }

    /// Returns the token that a new fact stores. If the source is not stored, only the presenter's own token is stored.
    ///
    /// The token of an erased customer is not stored for a purchase that is older than the erasure, because the
    /// customer's pseudonym would get the purchase. If a transfer of the purchase exists, the pseudonym's token is
    /// stored instead, so that the transfer remains valid.
    private func keptToken(
        of row: FactRow, in purchase: Purchase?, presentedBy claimant: Claimant?
    ) throws -> UUID? {
        guard let token = row.token else { return nil }
        if let claimant, self.token(of: claimant.presenter) == token { return token }
        guard let purchase else { return token }
        guard !purchase.isErased else { return nil }
        guard let erased = try erasure(withToken: token) else { return token }
        if try claims(of: row.original).contains(where: { $0.claim.kind == .transferred }) {
            return erased.pseudonym.appAccountToken
        }
        let first = try connection.first(
            """
            SELECT MIN(received_at) AS first FROM fact
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, values(.text(row.original.rawValue)))
        let firstReceivedAt: Int64? = try first?["first"]
        return firstReceivedAt.map { $0 > erased.at.milliseconds } ?? true ? token : nil
    }

    /// Returns the row of an existing fact, with its `sequence` and token.
    private func existingRow(_ row: FactRow) throws -> SQLRow? {
        try connection.first(
            """
            SELECT sequence, app_account_token FROM fact
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND source = ?4 AND digest = ?5
            """, values(.text(row.original.rawValue), .text(row.source.rawValue), .blob(row.digest)))
    }

    /// Restores the token of an existing fact if the presenter has that token: the erasure of the customer deleted it,
    /// and the customer has returned. Without the token, another customer could get the purchase by a receipt, which
    /// contains no token.
    private func restoreToken(_ row: FactRow, _ existing: SQLRow, presentedBy claimant: Claimant?) throws {
        guard let claimant, let token = row.token, self.token(of: claimant.presenter) == token else { return }
        let stored: String? = try existing["app_account_token"]
        guard stored != token.wireText else { return }
        try connection.perform(
            "UPDATE fact SET app_account_token = ?2 WHERE sequence = ?1",
            [.integer(try existing["sequence"]), .text(token.wireText)])
    }

    /// Returns whether the transaction exists under another original transaction. Then its units would count twice.
    func isOfAnotherPurchase(_ fact: TransactionFact) throws -> Bool {
        let transaction = SQLValue.text(fact.id.rawValue)
        if fact.id != fact.originalID {
            let purchase = try connection.first(
                """
                SELECT 1 AS one FROM fact WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
                    AND transaction_id = ?3
                """, values(transaction))
            if purchase != nil { return true }
        }
        return try connection.first(
            """
            SELECT 1 AS one FROM fact WHERE app = ?1 AND environment = ?2 AND transaction_id = ?3
                AND transaction_id <> original_transaction_id AND original_transaction_id <> ?4
            """, values(transaction, .text(fact.originalID.rawValue))) != nil
    }

    // MARK: - Claims and holders

    /// An accepted claim, with the name of its presenter.
    typealias StatedClaim = (presenter: CustomerID, claim: Attribution.Claim)

    /// The customer that presents a purchase, and the earlier claims on it.
    struct Claimant {
        /// The name in the request, which can be an alias.
        let presenter: CustomerID
        let customer: CustomerID
        /// The row of the purchase; `nil` for a new one.
        let purchase: Purchase?
        /// The claims on the purchase, oldest first.
        let earlierClaims: [StatedClaim]
    }

    func claimant(_ presenter: CustomerID, for customer: CustomerID, of original: TransactionID) throws -> Claimant {
        let purchase = try purchase(original)
        return Claimant(
            presenter: presenter, customer: customer, purchase: purchase,
            earlierClaims: try purchase == nil ? [] : claims(of: original))
    }

    /// Returns whether the claimant may not present a transaction, because the purchase is bound to another customer or
    /// the transfer mode leaves it with its holders.
    mutating func refuses(_ fact: TransactionFact, presentedBy claimant: Claimant) throws -> Bool {
        let token =
            try claimant.purchase == nil ? fact.appAccountToken : newestToken(of: fact.originalID, with: fact)
        let tokenOwner = try token.flatMap { try customer(bearing: $0) }
        let isExcluded = Attribution.excludes(
            claimant.customer, as: claimant.presenter, token: token,
            claims: try withoutTransfersToErased(claimant.earlierClaims).map(\.claim),
            tokenOwner: try tokenOwner.flatMap { tokenOwner in
                try tokenOwner.customer != claimant.customer && isErased(tokenOwner.customer) ? nil : tokenOwner
            })
        if let isExcluded { return isExcluded }
        guard rules.transferMode != .transfer, rules.transferMode != .share else { return false }
        let accepted = try Attribution.accepts(
            claimant.customer, holders: try withoutErased(holders(of: fact.originalID)), mode: rules.transferMode,
            isActive: { try isActive(fact.originalID) })
        return !accepted
    }

    /// Stores a claim. Returns all claims on the purchase; `nil` if an earlier claim already gives the purchase to the
    /// claimant.
    private func claim(_ original: TransactionID, by claimant: Claimant) throws -> [StatedClaim]? {
        let presenter = claimant.presenter
        guard claimant.earlierClaims.last?.presenter != presenter else { return nil }
        let kind: Attribution.Claim.Kind = rules.transferMode == .share ? .shared : .presented
        let sharing = claimant.earlierClaims[(claimant.earlierClaims.lastIndex { $0.claim.kind != .shared } ?? 0)...]
        let isSharer = sharing.contains { $0.presenter == presenter && $0.claim.kind == .shared }
        guard kind == .presented || !isSharer else { return nil }
        var others = try withoutTransfersToErased(claimant.earlierClaims)
        if others.count < claimant.earlierClaims.count {
            try deleteTransfers(claimant.earlierClaims, except: others, of: original)
        }
        if kind == .shared { others = try withoutFirstSharers(others, for: presenter, on: original) }
        try add(kind, on: original, by: presenter, isErased: claimant.purchase?.isErased ?? false)
        if kind == .presented { try deleteSupersededClaims(claimant, on: original) }
        let claim = Attribution.Claim(by: claimant.customer, as: presenter, token: token(of: presenter), kind)
        return others + [(presenter, claim)]
    }

    /// Returns the claims without transfers to customers that were erased since. Such a transfer leaves the purchase
    /// with the pseudonym, but other customers may present the purchase.
    private func withoutTransfersToErased(_ claims: [StatedClaim]) throws -> [StatedClaim] {
        guard claims.contains(where: { $0.claim.kind == .transferred }) else { return claims }
        return try claims.filter { try $0.claim.kind != .transferred || !isErased($0.claim.customer) }
    }

    private func deleteTransfers(
        _ claims: [StatedClaim], except others: [StatedClaim], of original: TransactionID
    ) throws {
        let remaining = Set(others.filter { $0.claim.kind == .transferred }.map(\.presenter))
        for presenter in Set(claims.filter { $0.claim.kind == .transferred }.map(\.presenter)).subtracting(remaining) {
            try connection.perform(
                """
                DELETE FROM claim WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND customer = ?4
                    AND kind = ?5
                """,
                values(
                    .text(original.rawValue), .text(presenter.rawValue),
                    .text(Attribution.Claim.Kind.transferred.rawValue)))
        }
    }

    /// The largest number of customers that share a purchase. It is limited because each new fact changes the answers
    /// of all of them.
    static var maximumSharers: Int { 100 }

    /// Removes the oldest sharers of a purchase, so that one more customer can share it. Returns the remaining claims.
    private func withoutFirstSharers(
        _ claims: [StatedClaim], for presenter: CustomerID, on original: TransactionID
    ) throws -> [StatedClaim] {
        let shared = claims.filter { $0.claim.kind == .shared }.map(\.presenter)
        let leaving = Set(shared.dropLast(Self.maximumSharers - 1) + shared.filter { $0 == presenter })
        for sharer in leaving {
            try connection.perform(
                """
                DELETE FROM claim WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND customer = ?4
                    AND kind = ?5
                """,
                values(
                    .text(original.rawValue), .text(sharer.rawValue), .text(Attribution.Claim.Kind.shared.rawValue)))
        }
        return claims.filter { $0.claim.kind != .shared || !leaving.contains($0.presenter) }
    }

    /// Deletes the claims that a new one supersedes. Otherwise the claims would grow without limit when two customers
    /// present a purchase in turn, and each claim reads all others.
    ///
    /// Keeps the claims that bind the purchase: transfers, and the last claim of each presenter that has the purchase's
    /// token.
    private func deleteSupersededClaims(_ claimant: Claimant, on original: TransactionID) throws {
        guard !claimant.earlierClaims.isEmpty else { return }
        let token = try newestToken(of: original)
        var checked: Set<CustomerID> = []
        for (presenter, claim) in claimant.earlierClaims where checked.insert(presenter).inserted {
            let bindsPurchase = claim.token == token && presenter != claimant.presenter
            try connection.perform(
                """
                DELETE FROM claim WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND customer = ?4
                    AND kind <> ?5 AND sequence < (SELECT MAX(sequence) FROM claim
                        WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3\(bindsPurchase ? " AND customer = ?4" : ""))
                """,
                values(
                    .text(original.rawValue), .text(presenter.rawValue),
                    .text(Attribution.Claim.Kind.transferred.rawValue)))
        }
    }

    /// Transfers a purchase to `customer`, regardless of which customers presented it.
    mutating func transfer(_ original: TransactionID, to customer: CustomerID) throws {
        try add(.transferred, on: original, by: customer, isErased: try purchase(original)?.isErased ?? false)
        try attribute(original)
    }

    private func add(
        _ kind: Attribution.Claim.Kind, on original: TransactionID, by customer: CustomerID, isErased: Bool
    ) throws {
        try connection.perform(
            """
            INSERT INTO claim (app, environment, original_transaction_id, customer, kind, claimed_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """,
            values(
                .text(original.rawValue), .text(customer.rawValue), .text(kind.rawValue), .integer(now.milliseconds)))
        guard isErased else { return }
        try connection.perform(
            """
            UPDATE purchase SET is_erased = 2
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, values(.text(original.rawValue)))
    }

    /// Computes the holders of a purchase from its claims and its newest token, without storing them.
    func computedHolders(of original: TransactionID) throws -> [CustomerID] {
        let token = try newestToken(of: original)
        return Attribution.holders(
            token: token, claims: try claims(of: original).map(\.claim), tokenOwner: try token.flatMap(tokenOwner(of:)))
    }

    /// Returns the token of a purchase, if a new customer with this token would get the purchase. Returns `nil` if a
    /// transfer or a claim of the token's customer binds the purchase, or if that customer was erased.
    func awaitedToken(of original: TransactionID) throws -> UUID? {
        guard let token = try newestToken(of: original) else { return nil }
        guard Attribution.bound(token: token, claims: try claims(of: original).map(\.claim), tokenOwner: nil) == nil,
            try tokenOwner(of: token).map({ try !isErased($0.customer) }) ?? true
        else { return nil }
        return token
    }

    /// Determines the holders of a purchase from its claims and its token. Stores and returns them.
    ///
    /// - Parameter first: The only fact of the purchase, if it is new.
    @discardableResult
    mutating func attribute(
        _ original: TransactionID, by claims: [StatedClaim]? = nil, first: FactRow? = nil
    ) throws -> [CustomerID] {
        let before = try first == nil ? holders(of: original) : []
        let token = try first == nil ? newestToken(of: original) : first?.token
        let claims = try claims ?? (first == nil ? self.claims(of: original) : [])
        let after = Attribution.holders(
            token: token, claims: claims.map(\.claim), tokenOwner: try token.flatMap { try customer(bearing: $0) })
        if let token, first == nil {
            // A claim with that token, or a transfer, binds the purchase. Then no later customer gets it by the token.
            let isAwaited = Attribution.bound(token: token, claims: claims.map(\.claim), tokenOwner: nil) == nil
            try connection.perform(
                """
                UPDATE purchase SET app_account_token = ?4
                WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
                    AND app_account_token IS DISTINCT FROM ?4
                """, values(.text(original.rawValue), SQLValue(isAwaited ? token.wireText : nil)))
            if isAwaited { locked.usedTokens.insert(token) }
        }
        for customer in before where !after.contains(customer) {
            try connection.perform(
                """
                DELETE FROM holder WHERE app = ?1 AND environment = ?2 AND customer = ?3
                    AND original_transaction_id = ?4
                """, values(.text(customer.rawValue), .text(original.rawValue)))
            affected.insert(customer)
        }
        for customer in after where !before.contains(customer) {
            try connection.perform(
                "INSERT INTO holder (app, environment, customer, original_transaction_id) VALUES (?1, ?2, ?3, ?4)",
                values(.text(customer.rawValue), .text(original.rawValue)))
            affected.insert(customer)
            if newcomers[customer] != nil { heldByNewcomers[customer, default: []].insert(original) }
        }
        return after
    }

    func holders(of original: TransactionID) throws -> [CustomerID] {
        try connection.query(
            """
            SELECT customer FROM holder WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            ORDER BY customer
            """, values(.text(original.rawValue))
        ).map { CustomerID(unchecked: try $0["customer"]) }
    }

    /// Returns the customers that were not erased. Erased ones do not prevent other customers from claiming a purchase.
    func withoutErased(_ customers: [CustomerID]) throws -> [CustomerID] {
        try customers.filter { customer in
            try connection.first(
                """
                SELECT 1 AS one FROM customer WHERE app = ?1 AND environment = ?2 AND id = ?3
                    AND erased_at IS NOT NULL
                """, values(.text(customer.rawValue))) == nil
        }
    }

    /// Returns the accepted claims on a purchase, oldest first.
    func claims(of original: TransactionID) throws -> [StatedClaim] {
        try connection.query(
            """
            SELECT claim.customer AS presenter, alias.customer AS customer, claim.kind AS kind
            FROM claim LEFT JOIN alias ON alias.app = ?1 AND alias.environment = ?2 AND alias.alias = claim.customer
            WHERE claim.app = ?1 AND claim.environment = ?2 AND claim.original_transaction_id = ?3
            ORDER BY claim.sequence
            """, values(.text(original.rawValue))
        ).map { row in
            let presenter = CustomerID(unchecked: try row["presenter"])
            let merged: String? = try row["customer"]
            guard let kind = Attribution.Claim.Kind(rawValue: try row["kind"]) else {
                throw EntitlementServerError(.internalInconsistency, "A claim in the ledger has an unknown kind.")
            }
            let customer = merged.map { CustomerID(unchecked: $0) } ?? presenter
            return (presenter, Attribution.Claim(by: customer, as: presenter, kind))
        }
    }

    /// Returns the newest token that the store stated for the purchase, including a transaction that is presented now.
    private func newestToken(of original: TransactionID, with presented: TransactionFact? = nil) throws -> UUID? {
        var newest: (signedAt: Int64, digest: [UInt8], token: String)?
        if let presented, let token = presented.appAccountToken {
            newest = (presented.signedDate.milliseconds, presented.digest, token.wireText)
        }
        try connection.each(
            """
            SELECT signed_at, digest, app_account_token FROM fact
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND app_account_token IS NOT NULL
            """, values(.text(original.rawValue))
        ) { row in
            let (signedAt, digest): (Int64, [UInt8]) = (try row["signed_at"], try row["digest"])
            if let newest {
                guard signedAt >= newest.signedAt else { return }
                guard signedAt > newest.signedAt || newest.digest.lexicographicallyPrecedes(digest) else { return }
            }
            newest = (signedAt, digest, try row["app_account_token"])
        }
        return newest.flatMap { UUID(text: $0.token) }
    }

    /// Returns whether a purchase gives access now.
    private func isActive(_ original: TransactionID) throws -> Bool {
        var state = CustomerState()
        try fold(original, into: &state)
        return rules.reducer.customer("anybody", in: ledgerID.environment, state, at: now).features.contains(
            where: \.isActive)
    }

    /// Applies all facts of a purchase to a state.
    func fold(_ original: TransactionID, into state: inout CustomerState) throws {
        try connection.each(
            """
            SELECT source, kind, digest, original_transaction_id, signed_at, summary FROM fact
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, values(.text(original.rawValue))
        ) { try state.apply(factIn: $0) }
    }
}

/// The configured rules of an app: features, credits and transfer mode.
struct AppRules: Sendable {
    var reducer = EntitlementReducer()
    var transferMode = TransferMode.transfer
    var credits = CreditTable()

    static func of(_ apps: [EntitlementService.Configuration.App]) -> [BundleID: AppRules] {
        Dictionary(uniqueKeysWithValues: apps.map { ($0.bundleID, AppRules($0)) })
    }
}

extension UUID {
    /// The UUID in lower case, as in the App Store's data.
    var wireText: String {
        withUnsafeBytes(of: uuid) { bytes in
            String(unsafeUninitializedCapacity: 36) { text in
                var place = 0
                for (index, byte) in bytes.enumerated() {
                    if [4, 6, 8, 10].contains(index) {
                        text[place] = UInt8(ascii: "-")
                        place += 1
                    }
                    for digit in [byte >> 4, byte & 15] {
                        text[place] = digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
                        place += 1
                    }
                }
                return place
            }
        }
    }
}
