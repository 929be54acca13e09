import Foundation
import Primitives
import SQLStorage
import StoreModel

/// One transaction on one book: everything that happens between the first statement and the commit.
///
/// Collects the customers whose answer changes; `settle` computes those answers once, at the end.
struct LedgerTransaction {
    let connection: any SQLConnection
    let ledgerID: LedgerID
    let rules: AppRules
    /// Of the rules; `nil` where one server alone has the database.
    let epoch: Int64?
    let now: Date
    var affected: Set<CustomerID> = []
    /// Customers of whom nothing new is known, so that their answer changes by the passing of time alone.
    var continuing: Set<CustomerID> = []
    /// Customers that are none any more: merged into another one, or erased.
    var departed: Set<CustomerID> = []
    /// How many facts were new, by kind.
    private(set) var appended: [String: Int] = [:]
    /// Customers whose row is not written yet, because it is only whole with their answer, and the token of their purchases.
    var newcomers: [CustomerID: UUID] = [:]
    /// Every fact about the purchases of which nothing was known before this transaction.
    private(set) var newPurchases: [TransactionID: [PresentedFact.Content]] = [:]
    /// What was given to newcomers: all that they hold.
    private(set) var heldByNewcomers: [CustomerID: Set<TransactionID>] = [:]
    /// Whom tokens belong to, as far as somebody asked since the customers changed last.
    var bearers: [UUID: Attribution.Bearer?] = [:]
    /// What was worked out before for whoever presents here.
    var foreseen: FirstPurchases?
    /// Empty where transactions run one at a time.
    var locked = LockedRows()
    /// Purchases that have a row for the lock alone: nothing of them is in the book yet.
    var unwritten: Set<TransactionID> = []

    init(_ connection: any SQLConnection, ledgerID: LedgerID, rules: ActiveRules.Entry, now: Date) {
        self.connection = connection
        self.ledgerID = ledgerID
        self.rules = rules.rules
        epoch = rules.epoch
        self.now = now
    }

    /// The two placeholders every statement begins with, `?1` and `?2`.
    func values(_ more: SQLValue...) -> [SQLValue] {
        [.text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue)] + more
    }

    // MARK: - Facts

    /// What is kept of a purchase as a whole.
    struct Purchase {
        let dataKey: Int64?
        let isErased: Bool
    }

    /// `nil` for a purchase of which nothing is in the book: no fact, no claim, and so no holder.
    func purchase(_ original: TransactionID) throws -> Purchase? {
        guard !unwritten.contains(original) else { return nil }
        return try connection.first(
            """
            SELECT data_key, is_erased FROM purchase
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, values(.text(original.rawValue))
        ).map { Purchase(dataKey: try $0["data_key"], isErased: try $0["is_erased"] as Int64 == 1) }
    }

    /// Appends a fact unless the same one is there already, and notes who presents its purchase beside those who did.
    mutating func append(_ fact: PresentedFact, claimedBy claimant: Claimant? = nil) throws {
        let row = fact.row
        let purchase = try claimant.map(\.purchase) ?? purchase(row.original)
        let isNew = try insert(fact, row, of: purchase, presentedBy: claimant)
        let claims = try claimant.flatMap { try claim(row.original, by: $0) }
        let isAttributed = claims != nil || isNew && row.kind == FactRow.transaction
        let holders =
            isAttributed
            ? try attribute(row.original, by: claims ?? claimant?.others, first: purchase == nil ? row : nil)
            : isNew ? try holders(of: row.original) : []
        if isNew { affected.formUnion(holders) }
    }

    private static let insertion = """
        INSERT INTO fact (app, environment, source, digest, kind, format, transaction_id, original_transaction_id,
            order_id, app_account_token, signed_at, received_at, summary, data_key, source_bytes,
            header)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
        """
    private static let insertionOfNew =
        "\(insertion) ON CONFLICT (app, environment, original_transaction_id, source, digest) DO NOTHING"

    /// Writes a fact down; `false` for one that is there already.
    private mutating func insert(
        _ fact: PresentedFact, _ row: FactRow, of purchase: Purchase?, presentedBy claimant: Claimant?
    ) throws -> Bool {
        // One transaction at a time: to look costs less than to seal. Otherwise the insertion decides, since to look for
        // what is not there makes a conflict with those who insert beside it; but a key is not made for nothing.
        if let purchase, !connection.isConcurrent || purchase.dataKey == nil {
            if let known = try known(row) {
                try bringBack(row, known, presentedBy: claimant)
                return false
            }
        }
        let header = try number(ofHeaderOf: fact)
        // Who presents what bears their own token claims it for good.
        let kept = try keptToken(of: row, in: purchase, presentedBy: claimant)
        let awaited = claimant.map { token(of: $0.asked) } == row.token ? nil : kept
        let sealed = try seal(
            fact.sourceBehindHeader, of: row, in: purchase, awaiting: awaited, or: fact.sealedSource)
        let columns = values(
            .text(row.source.rawValue), .blob(row.digest), .text(row.kind), .text(fact.format.rawValue),
            SQLValue(row.transactionID), .text(row.original.rawValue),
            SQLValue(sealed == nil ? nil : fact.orderID),
            SQLValue(kept?.wireText), .integer(row.signedAt.milliseconds),
            .integer(now.milliseconds), .text(row.summary), SQLValue(sealed?.key), .blob(sealed?.bytes ?? []),
            SQLValue(sealed == nil ? nil : header))
        // Of a purchase that is new, none is there: the count is not asked for.
        if purchase == nil {
            try connection.perform(Self.insertion, columns)
        } else {
            guard try connection.execute(Self.insertionOfNew, columns) > 0 else {
                if let known = try known(row) { try bringBack(row, known, presentedBy: claimant) }
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

    /// The token that a new fact keeps. Beside a source that is not kept, only the token of who presents it is. The token of
    /// an erased customer is not kept in a purchase that was in the ledger before the erasure: who has it now would lose it
    /// to the pseudonym. Where it was given by hand, the pseudonym's token takes its place, so that the gift still binds it.
    private func keptToken(
        of row: FactRow, in purchase: Purchase?, presentedBy claimant: Claimant?
    ) throws -> UUID? {
        guard let token = row.token else { return nil }
        if let claimant, self.token(of: claimant.asked) == token { return token }
        guard let purchase else { return token }
        guard !purchase.isErased else { return nil }
        guard let erased = try erasure(ofBearing: token) else { return token }
        if try claims(of: row.original).contains(where: { $0.claim.kind == .transferred }) {
            return erased.pseudonym.appAccountToken
        }
        let first = try connection.first(
            """
            SELECT MIN(received_at) AS first FROM fact
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, values(.text(row.original.rawValue)))
        let begun: Int64? = try first?["first"]
        return begun.map { $0 > erased.at.milliseconds } ?? true ? token : nil
    }

    /// The row of a fact that is there already, with its number and token.
    private func known(_ row: FactRow) throws -> SQLRow? {
        try connection.first(
            """
            SELECT sequence, app_account_token FROM fact
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND source = ?4 AND digest = ?5
            """, values(.text(row.original.rawValue), .text(row.source.rawValue), .blob(row.digest)))
    }

    /// Gives a known fact its token again, which went with its customer, when that customer came back and presents it.
    /// Otherwise a receipt about the purchase, which has no token, would take it from them.
    private func bringBack(_ row: FactRow, _ known: SQLRow, presentedBy claimant: Claimant?) throws {
        guard let claimant, let token = row.token, self.token(of: claimant.asked) == token else { return }
        let stored: String? = try known["app_account_token"]
        guard stored != token.wireText else { return }
        try connection.perform(
            "UPDATE fact SET app_account_token = ?2 WHERE sequence = ?1",
            [.integer(try known["sequence"]), .text(token.wireText)])
    }

    /// Whether the transaction is known under another original transaction. Its units would count once for each.
    func isOfAnotherPurchase(_ fact: TransactionFact) throws -> Bool {
        let transaction = SQLValue.text(fact.id.rawValue)
        if fact.id != fact.originalID {
            let known = try connection.first(
                """
                SELECT 1 AS one FROM fact WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
                    AND transaction_id = ?3
                """, values(transaction))
            if known != nil { return true }
        }
        return try connection.first(
            """
            SELECT 1 AS one FROM fact WHERE app = ?1 AND environment = ?2 AND transaction_id = ?3
                AND transaction_id <> original_transaction_id AND original_transaction_id <> ?4
            """, values(transaction, .text(fact.originalID.rawValue))) != nil
    }

    // MARK: - Whose a purchase is

    /// A claim that was accepted, with the name its presenter was called by.
    typealias StatedClaim = (presenter: CustomerID, claim: Attribution.Claim)

    /// Who presents a purchase, by the name they were called by, and what was known of it before.
    struct Claimant {
        let asked: CustomerID
        let customer: CustomerID
        let purchase: Purchase?
        /// The claims on it, oldest first.
        let others: [StatedClaim]
    }

    func claimant(_ asked: CustomerID, for customer: CustomerID, of original: TransactionID) throws -> Claimant {
        let purchase = try purchase(original)
        return Claimant(
            asked: asked, customer: customer, purchase: purchase,
            others: try purchase == nil ? [] : claims(of: original))
    }

    /// Whether a transaction may not be presented by the claimant, because it is bound to somebody else or others keep it.
    mutating func refuses(_ fact: TransactionFact, presentedBy claimant: Claimant) throws -> Bool {
        let token =
            try claimant.purchase == nil ? fact.appAccountToken : newestToken(of: fact.originalID, with: fact)
        let bearer = try token.flatMap { try customer(bearing: $0) }
        let isExcluded = Attribution.excludes(
            claimant.customer, as: claimant.asked, token: token,
            claims: try withoutGiftsToErased(claimant.others).map(\.claim),
            bearer: try bearer.flatMap { bearer in
                // Who presents is not erased, and costs no question.
                try bearer.customer != claimant.customer && isErased(bearer.customer) ? nil : bearer
            })
        if let isExcluded { return isExcluded }
        // Where every claim is accepted, nobody needs to be asked.
        guard rules.transferMode != .transfer, rules.transferMode != .share else { return false }
        let accepted = try Attribution.accepts(
            claimant.customer, holders: try living(holders(of: fact.originalID)), mode: rules.transferMode,
            isActive: { try isActive(fact.originalID) })
        return !accepted
    }

    /// Notes that a purchase was presented. Returns the claims on it with this one, `nil` when the claimant has it by their
    /// own claim already.
    private func claim(_ original: TransactionID, by claimant: Claimant) throws -> [StatedClaim]? {
        let asked = claimant.asked
        guard claimant.others.last?.presenter != asked else { return nil }
        let kind: Attribution.Claim.Kind = rules.transferMode == .share ? .shared : .presented
        // A claim that was not shared took the place of those before it.
        let joined = claimant.others[(claimant.others.lastIndex { $0.claim.kind != .shared } ?? 0)...]
        let isKnown = joined.contains { $0.presenter == asked && $0.claim.kind == .shared }
        guard kind == .presented || !isKnown else { return nil }
        var others = try withoutGiftsToErased(claimant.others)
        if others.count < claimant.others.count { try forgetGifts(claimant.others, except: others, of: original) }
        if kind == .shared { others = try withoutFirstSharers(others, for: asked, on: original) }
        try add(kind, on: original, by: asked, isErased: claimant.purchase?.isErased ?? false)
        if kind == .presented { try forgetOvertaken(claimant, on: original) }
        let claim = Attribution.Claim(by: claimant.customer, as: asked, token: token(of: asked), kind)
        return others + [(asked, claim)]
    }

    /// Claims without what was given by hand to customers who were erased since: it keeps a purchase with their pseudonym,
    /// and keeps no customer from presenting it.
    private func withoutGiftsToErased(_ claims: [StatedClaim]) throws -> [StatedClaim] {
        guard claims.contains(where: { $0.claim.kind == .transferred }) else { return claims }
        return try claims.filter { try $0.claim.kind != .transferred || !isErased($0.claim.customer) }
    }

    private func forgetGifts(
        _ claims: [StatedClaim], except others: [StatedClaim], of original: TransactionID
    ) throws {
        let left = Set(others.filter { $0.claim.kind == .transferred }.map(\.presenter))
        for presenter in Set(claims.filter { $0.claim.kind == .transferred }.map(\.presenter)).subtracting(left) {
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

    /// How many customers share a purchase at most: each new fact about it changes the answers of all of them.
    static var maximumSharers: Int { 100 }

    /// Makes room for one more who shares a purchase: those who presented it first lose it. Returns the other claims.
    private func withoutFirstSharers(
        _ claims: [StatedClaim], for asked: CustomerID, on original: TransactionID
    ) throws -> [StatedClaim] {
        // Each has one claim: an earlier one of the same presenter goes too.
        let shared = claims.filter { $0.claim.kind == .shared }.map(\.presenter)
        let leaving = Set(shared.dropLast(Self.maximumSharers - 1) + shared.filter { $0 == asked })
        for presenter in leaving {
            try connection.perform(
                """
                DELETE FROM claim WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND customer = ?4
                    AND kind = ?5
                """,
                values(
                    .text(original.rawValue), .text(presenter.rawValue), .text(Attribution.Claim.Kind.shared.rawValue)))
        }
        return claims.filter { $0.claim.kind != .shared || !leaving.contains($0.presenter) }
    }

    /// Forgets the claims that a new one takes the place of. Otherwise two customers who present a purchase in turn would make
    /// its claims grow without end, and each claim reads all others.
    ///
    /// What was given by hand stays, and the last claim of each name that bears the purchase's token: they bind it.
    private func forgetOvertaken(_ claimant: Claimant, on original: TransactionID) throws {
        guard !claimant.others.isEmpty else { return }
        let token = try newestToken(of: original)
        var known: Set<CustomerID> = []
        for (presenter, claim) in claimant.others where known.insert(presenter).inserted {
            let bindsIt = claim.token == token && presenter != claimant.asked
            try connection.perform(
                """
                DELETE FROM claim WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3 AND customer = ?4
                    AND kind <> ?5 AND sequence < (SELECT MAX(sequence) FROM claim
                        WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3\(bindsIt ? " AND customer = ?4" : ""))
                """,
                values(
                    .text(original.rawValue), .text(presenter.rawValue),
                    .text(Attribution.Claim.Kind.transferred.rawValue)))
        }
    }

    /// Gives a purchase to `customer`, whoever presented it or will.
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
        // What is claimed again after its customer was erased is somebody's again, and so are its next facts.
        try connection.perform(
            """
            UPDATE purchase SET is_erased = 2
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, values(.text(original.rawValue)))
    }

    /// Whose a purchase is by its claims and its token, the one the store stated last.
    func attributed(_ original: TransactionID) throws -> [CustomerID] {
        let token = try newestToken(of: original)
        return Attribution.holders(
            token: token, claims: try claims(of: original).map(\.claim), bearer: try token.flatMap(bearer(of:)))
    }

    /// The token whose customer a purchase waits for: `nil` where a claim of that customer binds it, or a transfer by hand,
    /// and where that customer was erased.
    func awaitedToken(of original: TransactionID) throws -> UUID? {
        guard let token = try newestToken(of: original) else { return nil }
        guard Attribution.bound(token: token, claims: try claims(of: original).map(\.claim), bearer: nil) == nil,
            try bearer(of: token).map({ try !isErased($0.customer) }) ?? true
        else { return nil }
        return token
    }

    /// Decides anew whose a purchase is, by its `claims` where they are known. Returns its holders.
    ///
    /// - Parameter first: the one fact about the purchase, where there was none before this.
    @discardableResult
    mutating func attribute(
        _ original: TransactionID, by claims: [StatedClaim]? = nil, first: FactRow? = nil
    ) throws -> [CustomerID] {
        let before = try first == nil ? holders(of: original) : []
        let token = try first == nil ? newestToken(of: original) : first?.token
        let claims = try claims ?? (first == nil ? self.claims(of: original) : [])
        let after = Attribution.holders(
            token: token, claims: claims.map(\.claim), bearer: try token.flatMap { try customer(bearing: $0) })
        if let token, first == nil {
            // Once somebody claims it under that token, or is given it, it no longer matters who bears the token.
            let isAwaited = Attribution.bound(token: token, claims: claims.map(\.claim), bearer: nil) == nil
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

    /// Without those who were erased: what they leave behind keeps nobody else out.
    func living(_ customers: [CustomerID]) throws -> [CustomerID] {
        try customers.filter { customer in
            try connection.first(
                """
                SELECT 1 AS one FROM customer WHERE app = ?1 AND environment = ?2 AND id = ?3
                    AND erased_at IS NOT NULL
                """, values(.text(customer.rawValue))) == nil
        }
    }

    /// The accepted claims on a purchase, oldest first.
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
                throw EntitlementServerError(.internalInconsistency, "A claim in the ledger is of no known kind.")
            }
            let customer = merged.map { CustomerID(unchecked: $0) } ?? presenter
            return (presenter, Attribution.Claim(by: customer, as: presenter, kind))
        }
    }

    /// The token the store stated last for any transaction of the purchase, or for one that is presented now.
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

    /// Whether a purchase gives access to anything now.
    private func isActive(_ original: TransactionID) throws -> Bool {
        var state = CustomerState()
        try fold(original, into: &state)
        return rules.reducer.customer("anybody", in: ledgerID.environment, state, at: now).features.contains(
            where: \.isActive)
    }

    /// Folds all that was said about a purchase.
    func fold(_ original: TransactionID, into state: inout CustomerState) throws {
        try connection.each(
            """
            SELECT source, kind, digest, original_transaction_id, signed_at, summary FROM fact
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, values(.text(original.rawValue))
        ) { try state.apply(factIn: $0) }
    }
}

/// What an app decided about its customers.
struct AppRules: Sendable {
    var reducer = EntitlementReducer()
    var transferMode = TransferMode.transfer
    var credits = CreditTable()

    static func of(_ apps: [EntitlementService.Configuration.App]) -> [BundleID: AppRules] {
        Dictionary(uniqueKeysWithValues: apps.map { ($0.bundleID, AppRules($0)) })
    }
}

extension UUID {
    /// As the App Store writes UUIDs.
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
