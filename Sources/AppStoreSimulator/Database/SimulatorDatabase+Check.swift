import AppStorePayloads
import Foundation
import Primitives
import SQLStorage
import StoreModel

/// The validation of an imported state.
extension SimulatorDatabase {
    /// Checks all numbers, strings, counters and settings, and reads most rows as the store reads them later.
    ///
    /// Throws `SQLError`, `JSONError`, `DecodingError` or `AppStorePayloadError` for a row that the store would not
    /// have written.
    func check(at now: Date) throws {
        for (table, columns) in ColumnRange.all.sorted(by: { $0.key < $1.key }) {
            try checkNumbers(of: columns.sorted { $0.key < $1.key }, in: table)
        }
        try checkStrings()
        try checkCounters()
        let conditions = try conditions()
        try checkSettings()
        _ = try (accounts(), families(), numbers(), clock(), heldOrders())
        try sql.each("SELECT * FROM purchase", []) { _ = try purchase($0, at: now) }
        try eachSubscription { record in
            guard let last = record.runs.last,
                record.runs.dropLast().reduce(last.periods(until: now), { $0 + $1.soldPeriods }) <= Self.longestHistory
            else {
                throw SQLError(.unexpectedValue, "The subscription \(record.originalID) has too many periods.")
            }
            _ = SubscriptionState(of: record, under: conditions, at: now)
        }
        try sql.each("SELECT * FROM news", []) { _ = try Self.storedUpdate($0) }
        try sql.each("SELECT * FROM notification", []) { _ = try Self.notification($0) }
        try sql.each("SELECT body FROM consumption", []) { _ = try JSONValue(parsing: $0["body"] as String) }
        try checkRetentionMessaging()
        guard try sql.first(Self.purchaseWithoutPeriod) == nil else {
            throw SQLError(
                .unexpectedValue, "The simulator database has a purchase of a subscription without a period.")
        }
        try checkOfferCodes()
    }

    /// Checks that no code was redeemed more often than its limit, and reads the offers.
    private func checkOfferCodes() throws {
        guard
            try sql.first(
                """
                SELECT 1 FROM offer_code JOIN code_batch ON code_batch.id = offer_code.batch
                WHERE redeemed > code_limit OR (is_custom = 0 AND code_limit <> 1) LIMIT 1
                """) == nil
        else {
            throw SQLError(
                .unexpectedValue, "The simulator database has an offer code with more redemptions than its limit.")
        }
        try sql.each("SELECT * FROM purchase_offer", []) { _ = try Self.purchaseOffer($0) }
    }

    /// A subscription is sold in periods. Only seats that were added to a period are a purchase.
    private static let purchaseWithoutPeriod = """
        SELECT 1 FROM purchase
        WHERE (kind = '\(ProductType.autoRenewableSubscription.rawValue)') <> (addition_of IS NOT NULL) LIMIT 1
        """

    /// Checks the messages and their images as an upload does, and reads what customers saw.
    private func checkRetentionMessaging() throws {
        let sizes = Dictionary(try retentionImages().map { ($0.id, $0.size) }) { first, _ in first }
        let messages = try retentionMessages()
        guard sizes.count <= UploadedImage.limit, messages.count <= UploadedMessage.limit else {
            throw SQLError(.unexpectedValue, "The simulator database has too many images or messages.")
        }
        for message in messages {
            do {
                try message.body.check { sizes[$0] }
            } catch {
                throw SQLError(
                    .unexpectedValue, "The simulator database has an invalid message: \(message.id.lowercased).")
            }
        }
        try sql.each("SELECT * FROM shown_message", []) { row in
            let shown = try Self.shownMessage(row)
            guard shown.number == (try row["id"] as Int64), shown.at.microseconds == (try row["at"] as Int64) else {
                throw SQLError(.unexpectedValue, "The simulator database has an invalid shown message.")
            }
        }
        try sql.each("SELECT body FROM performance_test", []) { row in
            _ = try AppStoreServerAPI.PerformanceTestResultResponse(json: JSONValue(parsing: row["body"] as String))
        }
    }

    /// The maximum number of periods of an imported subscription: one each day for five centuries.
    private static let longestHistory = 200_000.0

    /// Checks the minimum and maximum of each column, in one pass over the table.
    private func checkNumbers(of columns: [(key: String, value: ClosedRange<Int64>)], in table: String) throws {
        guard !columns.isEmpty else { return }
        let ends = columns.map { "min(\($0.key)) AS least_\($0.key), max(\($0.key)) AS most_\($0.key)" }
        guard let row = try sql.first("SELECT \(ends.joined(separator: ", ")) FROM \(table)") else { return }
        for (column, range) in columns {
            let found: [Int64?] = try [row["least_\(column)"], row["most_\(column)"]]
            for number in found.compactMap(\.self) {
                try ColumnRange.check(number, in: range, as: "\(column) of the table \(table)")
            }
        }
    }

    /// Checks that no counter is behind the numbers that were taken from it.
    private func checkCounters() throws {
        let behind = [
            ("next_device", "SELECT 1 FROM store, device WHERE number > next_device LIMIT 1"),
            (
                "next_sale",
                """
                SELECT 1 FROM store WHERE next_sale <= max(
                    coalesce((SELECT max(id) FROM purchase), 0), coalesce((SELECT max(base) FROM run), 0),
                    coalesce((SELECT max(original) FROM subscription), 0),
                    coalesce((SELECT max(number) FROM held), 0)) / \(TransactionNumber.span)
                """
            ),
            (
                "attempts",
                """
                SELECT 1 FROM attempt JOIN notification ON notification.id = attempt.notification
                WHERE attempt.number > notification.attempts LIMIT 1
                """
            ),
            (
                "attempts",
                """
                SELECT 1 FROM play_attempt JOIN play_notification ON play_notification.id = play_attempt.notification
                WHERE play_attempt.number > play_notification.attempts LIMIT 1
                """
            ),
        ]
        for (name, statement) in behind {
            guard try sql.first(statement) == nil else {
                throw SQLError(
                    .unexpectedValue,
                    "The counter \(name) of the simulator database is lower than a number that was taken from it.")
            }
        }
    }

    /// Checks the names and values of settings. The value of a secret is stored as a hash and is not checked.
    private func checkSettings() throws {
        for (name, value) in try settings() {
            guard let setting = StoreSetting.named(name) else {
                throw SQLError(.unexpectedValue, "The simulator database has an unknown setting: \(name).")
            }
            guard setting.kind == .secret || (try? setting.value(of: value)) == value else {
                throw SQLError(.unexpectedValue, "The simulator database has an invalid value of the setting \(name).")
            }
        }
    }
}

extension Run {
    fileprivate var soldPeriods: Double { Double(offset) + Double(count) }

    /// A rough estimate of the number of periods sold until `now`.
    fileprivate func periods(until now: Date) -> Double {
        let length = plan.period.end(from: Date(timeIntervalSince1970: 0)).timeIntervalSince1970
        return soldPeriods + max(0, now.timeIntervalSince(anchor)) / length
    }
}
