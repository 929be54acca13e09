import Foundation
import Primitives
import SQLStorage
import StoreModel

/// A seat that the app's server claimed for a member.
struct SeatClaim: Sendable, Hashable {
    var id: UUID
    var original: Int64
    /// The identifier that the server chose for its request.
    var request: UUID
    var at: Date
    var appTransactionID: String?
    var endedAt: Date?
}

/// Seats of subscriptions: additions, refunds, claims and holders.
extension SimulatorDatabase {
    func insert(_ addition: SeatAddition, to record: SubscriptionRecord) throws {
        try sql.execute(
            """
            INSERT INTO purchase (
                id, account, product, kind, purchased_at, quantity, price, currency, storefront, addition_of,
                addition_to)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
            """,
            [
                .integer(addition.id), .integer(record.accountID),
                .text(record.runs[record.runs.count - 1].plan.productID.rawValue),
                .text(ProductType.autoRenewableSubscription.rawValue), .integer(addition.at.microseconds),
                .integer(Int64(addition.count)), .integer(addition.price.milliunits), .text(addition.price.currency),
                SQLValue(record.runs[record.runs.count - 1].plan.storefront), .integer(record.originalID),
                .integer(addition.period),
            ])
    }

    func seatAdditions(to original: Int64) throws -> [SeatAddition] {
        try sql.query("SELECT * FROM purchase WHERE addition_of = ?1 ORDER BY id", [.integer(original)]).map { row in
            let id = try row.number("id", in: ColumnRange.readable)
            let revocation = try revocations(of: id)[id]
            return SeatAddition(
                id: id, period: try row.number("addition_to", in: ColumnRange.readable),
                at: try row.date("purchased_at"), count: Int(try row.number("quantity", in: ColumnRange.seats)),
                price: Price(
                    milliunits: try row.number("price", in: ColumnRange.price), currency: try row["currency"]),
                revocation: revocation.flatMap { $0.reversedAt == nil ? $0 : nil },
                restoredAt: revocation?.reversedAt)
        }
    }

    /// Reads a purchase that added seats to a period; `nil` for every other purchase.
    func seatAddition(_ row: SQLRow, at now: Date) throws -> TransactionRecord? {
        guard let original = try row.optionalNumber("addition_of", in: ColumnRange.readable) else { return nil }
        let id = try row.number("id", in: ColumnRange.readable)
        guard let record = try subscription(original), let addition = record.additions.first(where: { $0.id == id }),
            let added = SubscriptionState(of: record, under: try conditions(), at: max(now, record.changedAt))
                .transaction(of: addition)
        else {
            throw SQLError(.unexpectedValue, "The simulator database has no period of the added seats \(id).")
        }
        return added
    }

    func refundedSeats(of original: Int64) throws -> [Int64: Int] {
        try sql.query("SELECT id, count FROM seat_refund WHERE original = ?1", [.integer(original)]).reduce(into: [:]) {
            $0[try $1["id"]] = Int(try $1.number("count", in: ColumnRange.seats))
        }
    }

    /// Sets the number of refunded seats of a transaction.
    func set(refundedSeats count: Int, of id: Int64, original: Int64, at now: Date) throws {
        try sql.execute(
            "INSERT OR REPLACE INTO seat_refund (id, original, at, count) VALUES (?1, ?2, ?3, ?4)",
            [.integer(id), .integer(original), .integer(now.microseconds), .integer(Int64(count))])
    }

    // MARK: - Claims

    func insert(_ claim: SeatClaim) throws {
        try sql.execute(
            "INSERT INTO seat_claim (id, original, request, at, app_transaction) VALUES (?1, ?2, ?3, ?4, ?5)",
            [
                .text(claim.id.lowercased), .integer(claim.original), .text(claim.request.lowercased),
                .integer(claim.at.microseconds), SQLValue(claim.appTransactionID),
            ])
    }

    /// The claim of a request, even if it has ended.
    func seatClaim(request: UUID, of original: Int64) throws -> SeatClaim? {
        try sql.first(
            "SELECT * FROM seat_claim WHERE original = ?1 AND request = ?2",
            [.integer(original), .text(request.lowercased)]
        ).map(Self.seatClaim)
    }

    /// The claims that have not ended, oldest first. Those of an earlier, ended subscription do not count.
    func seatClaims(of record: SubscriptionRecord) throws -> [SeatClaim] {
        try sql.query(
            "SELECT * FROM seat_claim WHERE original = ?1 AND ended_at IS NULL AND at >= ?2 ORDER BY at, id",
            [.integer(record.originalID), .integer(record.startedAt.microseconds)]
        ).map(Self.seatClaim)
    }

    /// The claims that were associated with an app transaction and have not ended.
    func seatClaims(by appTransactionID: String) throws -> [SeatClaim] {
        try sql.query(
            "SELECT * FROM seat_claim WHERE app_transaction = ?1 AND ended_at IS NULL ORDER BY at, id",
            [.text(appTransactionID)]
        ).map(Self.seatClaim)
    }

    func associate(_ claim: UUID, with appTransactionID: String) throws {
        try sql.execute(
            "UPDATE seat_claim SET app_transaction = ?2 WHERE id = ?1",
            [.text(claim.lowercased), .text(appTransactionID)])
    }

    func end(_ claim: UUID, at now: Date) throws {
        try sql.execute(
            "UPDATE seat_claim SET ended_at = ?2 WHERE id = ?1", [.text(claim.lowercased), .integer(now.microseconds)])
    }

    private static func seatClaim(_ row: SQLRow) throws -> SeatClaim {
        guard let id = try row.id("id"), let request = try row.id("request") else {
            throw SQLError(.unexpectedValue, "The simulator database has an invalid seat claim.")
        }
        return SeatClaim(
            id: id, original: try row["original"], request: request, at: try row.date("at"),
            appTransactionID: try row["app_transaction"], endedAt: try row.optionalDate("ended_at"))
    }

    // MARK: - Holders

    /// The accounts that have a seat of a subscription of this account.
    func seatHolders(of account: Int64) throws -> [Account] {
        try sql.query(
            """
            SELECT DISTINCT seat.account FROM subscription seat
            JOIN subscription owned ON owned.original = seat.share_owner
            WHERE owned.account = ?1 AND seat.share_assigned = 1 AND seat.share_until IS NULL ORDER BY seat.account
            """, [.integer(account)]
        ).compactMap { try self.account($0["account"] as Int64) }
    }

    /// The seats of a subscription that members have, oldest first.
    func assignedSeats(of original: Int64) throws -> [SubscriptionRecord] {
        try shares(of: original).filter { $0.share?.isAssigned == true && $0.share?.until == nil }
    }
}
