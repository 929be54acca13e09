import Foundation
import SQLStorage
import StoreModel

extension SimulatorDatabase {
    func save(_ record: SubscriptionRecord) throws {
        let renewal = record.renewal
        try sql.execute(
            """
            INSERT INTO subscription (
                original, account, group_id, token, started_at, changed_at, used_introductory, next_product, next_period,
                next_price, next_currency, next_priced_at, next_storefront, next_seats, next_offer, off_since,
                fails_from, fails_until, consented_at, share_owner, share_first, share_from, share_until,
                earlier_tokens, share_assigned, next_bills, ends_commitment)
            VALUES (
                ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
                ?23, ?24, ?25, ?26, ?27)
            ON CONFLICT (original) DO UPDATE SET
                token = ?4, started_at = ?5, changed_at = ?6, used_introductory = ?7, next_product = ?8,
                next_period = ?9, next_price = ?10, next_currency = ?11, next_priced_at = ?12, next_storefront = ?13,
                next_seats = ?14, next_offer = ?15, off_since = ?16, fails_from = ?17, fails_until = ?18,
                consented_at = ?19, share_owner = ?20, share_first = ?21, share_from = ?22, share_until = ?23,
                earlier_tokens = ?24, share_assigned = ?25, next_bills = ?26, ends_commitment = ?27
            """,
            [
                .integer(record.originalID), .integer(record.accountID), .text(record.groupID),
                SQLValue(record.appAccountToken), .integer(record.startedAt.microseconds),
                .integer(record.changedAt.microseconds), SQLValue(record.hasUsedIntroductoryOffer),
            ] + renewal.plan.columns + [
                try SQLValue(renewal.offer), SQLValue(renewal.offSince), SQLValue(renewal.failsFrom),
                SQLValue(renewal.failsUntil), SQLValue(renewal.consentedAt),
            ] + record.share.columns + [
                SQLValue(record.earlierTokens), SQLValue(record.share?.isAssigned ?? false),
                SQLValue(renewal.plan.bills), SQLValue(renewal.endsCommitment),
            ])
        // A share is computed from its owner's periods.
        guard record.share == nil else { return }
        for (place, run) in record.runs.enumerated() { try save(run, at: place, of: record.originalID) }
    }

    /// Saves a run. Of an existing run, an event changes only the number of periods, the upgrade and the end.
    private func save(_ run: Run, at place: Int, of original: Int64) throws {
        try sql.execute(
            """
            INSERT INTO run (
                original, place, base, first, anchor, offset, sold_at, product, period, price, currency, priced_at,
                storefront, seats, offer, count, is_renewal, upgraded_at, ends_at, bills, billed)
            VALUES (
                ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
            ON CONFLICT (original, place) DO UPDATE SET count = ?16, upgraded_at = ?18, ends_at = ?19
            """,
            [
                .integer(original), .integer(Int64(place)), .integer(run.base), .integer(Int64(run.first)),
                .integer(run.anchor.microseconds), .integer(Int64(run.offset)), .integer(run.soldAt.microseconds),
            ] + run.plan.columns + [
                try SQLValue(run.offer), .integer(Int64(run.count)), SQLValue(run.isRenewal),
                SQLValue(run.upgradedAt), SQLValue(run.endsAt), SQLValue(run.plan.bills), .integer(Int64(run.billed)),
            ])
    }

    func subscription(_ originalID: Int64) throws -> SubscriptionRecord? {
        try sql.first("SELECT * FROM subscription WHERE original = ?1", [.integer(originalID)]).map(subscription)
    }

    /// The account's own subscription in a group, without shares.
    func subscription(in group: String, of account: Int64) throws -> SubscriptionRecord? {
        try sql.first(
            "SELECT * FROM subscription WHERE account = ?1 AND group_id = ?2 AND share_owner IS NULL",
            [.integer(account), .text(group)]
        ).map(subscription)
    }

    /// The subscriptions in a group that others share or have shared with an account.
    func shares(in group: String, with account: Int64) throws -> [SubscriptionRecord] {
        try sql.query(
            """
            SELECT * FROM subscription WHERE account = ?1 AND group_id = ?2 AND share_owner IS NOT NULL
            ORDER BY original
            """, [.integer(account), .text(group)]
        ).map(subscription)
    }

    func subscriptions(of account: Int64) throws -> [SubscriptionRecord] {
        try sql.query("SELECT * FROM subscription WHERE account = ?1 ORDER BY original", [.integer(account)])
            .map(subscription)
    }

    /// The shares that family members have of a subscription.
    func shares(of originalID: Int64) throws -> [SubscriptionRecord] {
        try sql.query("SELECT * FROM subscription WHERE share_owner = ?1 ORDER BY original", [.integer(originalID)])
            .map(subscription)
    }

    /// Passes every subscription to `body`, one at a time, in the order of the original transactions.
    func eachSubscription(_ body: (SubscriptionRecord) throws -> Void) throws {
        try sql.each("SELECT * FROM subscription ORDER BY original", []) { try body(try subscription($0)) }
    }

    /// Reads a subscription. A share has the periods of the owner's own subscription, because a share is not shared
    /// again. It has the owner's revocations and those for this member alone.
    private func subscription(_ row: SQLRow) throws -> SubscriptionRecord {
        let original = try row.number("original", in: ColumnRange.readable)
        var share = try row.share()
        share?.isAssigned = try row["share_assigned"]
        var record = SubscriptionRecord(
            originalID: original, accountID: try row["account"], groupID: try row["group_id"],
            appAccountToken: try row.id("token"), earlierTokens: try row.earlierTokens("earlier_tokens"), runs: [],
            renewal: .init(
                plan: try row.plan("next_"), offer: try row.offer("next_offer"),
                offSince: try row.optionalDate("off_since"), endsCommitment: try row["ends_commitment"],
                failsFrom: try row.optionalDate("fails_from"),
                failsUntil: try row.optionalDate("fails_until"), consentedAt: try row.optionalDate("consented_at")),
            hasUsedIntroductoryOffer: try row["used_introductory"], startedAt: try row.date("started_at"),
            changedAt: try row.date("changed_at"), share: share)
        if let share {
            let row = try sql.first(
                "SELECT * FROM subscription WHERE original = ?1 AND share_owner IS NULL",
                [.integer(share.ownerOriginalID)])
            guard let owner = try row.map(subscription) else { throw Self.empty }
            record.takeShare(of: owner)
            record.revocations.merge(try revocations(of: original)) { _, own in own }
        } else {
            record.runs = try runs(of: original)
            record.revocations = try revocations(of: original)
            if record.runs.contains(where: { $0.plan.seats != nil }) {
                record.additions = try seatAdditions(to: original)
                record.refundedSeats = try refundedSeats(of: original)
            }
        }
        guard !record.runs.isEmpty else {
            throw SQLError(.unexpectedValue, "The simulator database has no period of the subscription \(original).")
        }
        return record
    }

    private func runs(of original: Int64) throws -> [Run] {
        let rows = try sql.query("SELECT * FROM run WHERE original = ?1 ORDER BY place", [.integer(original)])
        return try rows.enumerated().map { index, row in
            guard try row["place"] == index else {
                throw SQLError(.unexpectedValue, "The simulator database has a gap in the subscription \(original).")
            }
            let first = Int(try row.number("first", in: ColumnRange.place))
            let offset = Int(try row.number("offset", in: ColumnRange.place))
            let count = Int(try row.number("count", in: ColumnRange.count))
            guard max(offset, first) + count <= Int(TransactionNumber.span) else {
                throw SQLError(
                    .unexpectedValue, "The simulator database has an invalid number of periods of one sale: \(count).")
            }
            return Run(
                base: try row.number("base", in: ColumnRange.readable), first: first, anchor: try row.date("anchor"),
                offset: offset, soldAt: try row.date("sold_at"), plan: try row.plan(),
                offer: try row.offer("offer"), count: count,
                billed: Int(try row.number("billed", in: ColumnRange.billed)), isRenewal: try row["is_renewal"],
                upgradedAt: try row.optionalDate("upgraded_at"), endsAt: try row.optionalDate("ends_at"))
        }
    }

    func save(_ revocation: Revocation, of id: Int64, original: Int64) throws {
        try sql.execute(
            """
            INSERT OR REPLACE INTO revocation (id, original, at, kind, reason, percentage, reversed_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """,
            [
                .integer(id), .integer(original), .integer(revocation.at.microseconds),
                .text(revocation.kind.rawValue), SQLValue(revocation.reason), SQLValue(revocation.percentage),
                SQLValue(revocation.reversedAt),
            ])
    }

    func revocations(of original: Int64) throws -> [Int64: Revocation] {
        try sql.query("SELECT * FROM revocation WHERE original = ?1", [.integer(original)]).reduce(into: [:]) {
            let kind: String = try $1["kind"]
            guard let kind = Revocation.Kind(rawValue: kind) else {
                throw SQLError(.unexpectedValue, "The simulator database has an unknown revocation type: \(kind).")
            }
            $0[try $1["id"]] = Revocation(
                at: try $1.date("at"), kind: kind, reason: try $1["reason"], percentage: try $1["percentage"],
                reversedAt: try $1.optionalDate("reversed_at"))
        }
    }
}
