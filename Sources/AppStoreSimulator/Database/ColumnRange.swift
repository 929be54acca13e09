import SQLStorage

/// The valid ranges of the numbers in an imported state. An import with a number outside them is refused before its
/// commit.
///
/// The store continues counting from imported numbers. So rows that it reads later are checked against wider ranges:
/// `readable` and `instant`. In these ranges no sum of two instants, of a transaction number and a count, or of a
/// counter and 1 overflows.
enum ColumnRange {
    static let flag: ClosedRange<Int64> = 0...1
    static let counter: ClosedRange<Int64> = 0...(1 << 53)
    /// The primary key of a row.
    static let key: ClosedRange<Int64> = 1...(1 << 53)
    /// The range of a counter or a transaction's number when it is read.
    static let readable: ClosedRange<Int64> = 0...Int64.max / 2
    static let readableSale: ClosedRange<Int64> = 1...readable.upperBound / TransactionNumber.span
    /// Microseconds since 1970, from `distantPast` to the end of the year 9999.
    static let instant: ClosedRange<Int64> = -62_135_769_600_000_000...253_402_300_799_999_999
    /// The instant of a past event: at most a day after `AnchoredClock.endOfTime`.
    static let event: ClosedRange<Int64> = instant.lowerBound...221_845_478_400_000_000
    /// An instant that can be in the future: at most a century after `AnchoredClock.endOfTime`.
    static let planned: ClosedRange<Int64> = instant.lowerBound...225_001_065_600_000_000
    /// The counter of sales; times `TransactionNumber.span` it is the number of the sale's first transaction. Each sale
    /// has `TransactionNumber.span` numbers for its transactions.
    static let sale: ClosedRange<Int64> = 1...4_000_000_000_000
    static let transaction: ClosedRange<Int64> = 1...(sale.upperBound + 1) * TransactionNumber.span
    /// The position of a transaction within its sale.
    static let place: ClosedRange<Int64> = 0...TransactionNumber.span
    static let count: ClosedRange<Int64> = 1...TransactionNumber.span
    /// Prices in milliunits.
    static let price: ClosedRange<Int64> = 0...1_000_000_000_000
    static let quantity: ClosedRange<Int64> = 1...seats.upperBound
    static let seats: ClosedRange<Int64> = 1...Int64(Seats.counts.upperBound)
    /// The number of periods of an offer.
    static let periods: ClosedRange<Int64> = 1...1000
    static let graceDays: ClosedRange<Int64> = 0...28
    /// The number of bills of a commitment.
    static let bills: ClosedRange<Int64> = 12...12
    static let billed: ClosedRange<Int64> = 0...11
    /// The limit of an offer code's redemptions.
    static let redemptions: ClosedRange<Int64> = 1...Int64(CodeBatch.limits.upperBound)

    private static let any = Int64.min ... .max
    private static let plan = ["price": price, "priced_at": event, "bills": bills]
    private static let share = [
        "share_owner": transaction, "share_first": transaction, "share_from": event, "share_until": planned,
    ]

    /// The ranges by table and column. Contains every integer column.
    static let all: [String: [String: ClosedRange<Int64>]] = [
        "store": [
            "id": 1...1, "seed": any, "next_sale": sale, "next_device": counter, "clock_base": event,
            "clock_reading": event, "clock_revision": counter,
        ],
        "condition": ["at": event],
        "setting": [:],
        "account": [
            "id": key, "created_at": event, "last_at": event, "can_pay": flag, "asks_to_buy": flag,
            "is_interrupted": flag,
        ],
        "family": ["organizer": key],
        "device": ["number": counter, "account": key, "seen": event],
        "purchase": [
            "id": transaction, "account": key, "purchased_at": event, "quantity": quantity, "price": price,
            "is_finished": flag, "addition_of": transaction, "addition_to": transaction,
        ].adding(share),
        "subscription": [
            "original": transaction, "account": key, "started_at": event, "changed_at": event,
            "used_introductory": flag, "next_price": price, "next_priced_at": event, "off_since": planned,
            "fails_from": planned, "fails_until": planned, "consented_at": event, "next_bills": bills,
            "ends_commitment": flag, "share_assigned": flag,
        ].adding(share),
        "run": [
            "original": transaction, "place": place, "base": transaction, "first": place, "anchor": event,
            "offset": place, "sold_at": event, "count": count, "is_renewal": flag, "upgraded_at": event,
            "ends_at": planned, "billed": billed,
        ].adding(plan),
        "revocation": [
            "id": transaction, "original": transaction, "at": event, "reason": 0...1, "percentage": 0...100_000,
            "reversed_at": event,
        ],
        "finished": ["original": transaction, "id": transaction],
        "held": [
            "number": transaction, "account": key, "at": event, "quantity": quantity, "offer_kind": 1...4,
            "allows_introductory": flag,
        ],
        "payment": ["account": key, "news": key],
        "nonce": [:],
        "news": ["id": key, "account": key, "at": event, "purchase": transaction, "is_already_owned": flag],
        "answered_message": ["account": key, "at": event],
        "notification": [
            "id": key, "at": event, "account": key, "original": transaction, "purchase": transaction, "due": planned,
            "attempts": counter,
        ],
        "attempt": ["notification": key, "number": counter, "at": event],
        "watch": ["original": transaction, "told": planned, "due": planned],
        "extension": ["id": key, "original": transaction, "at": event, "days": 1...90],
        "mass_extension": ["at": event, "succeeded": counter, "failed": counter],
        "refund_request": ["purchase": transaction, "at": event, "declined_at": event],
        "consumption": ["purchase": transaction, "at": event, "version": 1...2],
        "promoted_purchase": ["account": key, "at": event],
        "retention_image": ["at": event, "width": 1...3840, "height": 1...2160],
        "retention_message": ["at": event],
        "default_message": [:],
        "shown_message": ["id": key, "account": key, "at": event],
        "performance_test": ["at": event, "is_running": flag],
        "purchase_offer": ["price": price],
        "code_batch": [
            "id": key, "at": event, "is_custom": flag, "code_limit": redemptions, "expires_at": planned,
            "deactivated_at": event,
        ],
        "offer_code": ["batch": key, "place": 0...25_000, "redeemed": 0...redemptions.upperBound],
        "redemption": ["account": key, "at": event],
        "seat_refund": ["id": transaction, "original": transaction, "at": event, "count": seats],
        "play_purchase": ["number": key, "account": key, "changed_at": event, "due": planned],
        "play_order": ["at": event],
        "play_voided": ["id": key, "at": event, "is_subscription": flag, "is_partial": flag],
        "play_notification": ["id": key, "at": event, "due": planned, "attempts": counter],
        "play_attempt": ["notification": key, "number": counter, "at": event],
        "seat_claim": ["original": transaction, "at": event, "ended_at": event],
    ]

    /// Throws `unexpectedValue` for a number outside `range`.
    static func check(_ number: Int64, in range: ClosedRange<Int64>, as name: String) throws(SQLError) {
        guard !range.contains(number) else { return }
        throw SQLError(
            .unexpectedValue,
            "The simulator database has \(number) as \(name); it should be \(range.lowerBound) to \(range.upperBound).")
    }
}

extension [String: ClosedRange<Int64>] {
    fileprivate func adding(_ others: Self) -> Self { merging(others) { own, _ in own } }
}

extension SQLRow {
    /// Reads an integer column and checks its range. Throws `unexpectedValue` for a number outside it.
    func number(_ name: String, in range: ClosedRange<Int64>) throws -> Int64 {
        let number: Int64 = try self[name]
        try ColumnRange.check(number, in: range, as: name)
        return number
    }

    /// Reads an integer column that can be NULL, and checks its range. Throws `unexpectedValue` for a number outside
    /// it.
    func optionalNumber(_ name: String, in range: ClosedRange<Int64>) throws -> Int64? {
        let number: Int64? = try self[name]
        if let number { try ColumnRange.check(number, in: range, as: name) }
        return number
    }
}
