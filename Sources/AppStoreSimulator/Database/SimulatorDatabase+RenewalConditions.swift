import Foundation
import Primitives
import SQLStorage
import StoreModel

/// The renewal conditions of the whole store, by name and date. The name of a price increase or a withdrawal includes
/// the product.
extension SimulatorDatabase {
    func conditions() throws -> RenewalConditions {
        var conditions = RenewalConditions()
        try sql.each("SELECT at, name, value FROM condition ORDER BY at, name", []) { row in
            let name: String = try row["name"]
            let at = try row.date("at")
            let text: String = try row["value"]
            let value = try JSONValue(parsing: Array(text.utf8))
            switch name.split(separator: " ", maxSplits: 1).first.map(String.init) {
            case "gracePeriod":
                let days = try Self.number(value, in: ColumnRange.graceDays, as: name)
                conditions.gracePeriods.append(.init(at: at, value: Int(days)))
            case "renewalsFail": conditions.failingPayments.append(.init(at: at, value: value.boolValue ?? false))
            case "withdrawn":
                conditions.withdrawals[Self.product(in: name), default: []].append(
                    .init(at: at, value: value.boolValue ?? false))
            case "price", "monthlyPrice":
                conditions.priceIncreases.append(
                    .init(
                        productID: Self.product(in: name),
                        billingPlan: name.hasPrefix("monthlyPrice ") ? .monthly : .upFront, at: at,
                        price: Price(
                            milliunits: try Self.number(value["price"], in: ColumnRange.price, as: name),
                            currency: value["currency"]?.stringValue ?? ""),
                        needsConsent: value["needsConsent"]?.boolValue ?? false))
            case "winBack":
                conditions.winBackConditions[Self.product(in: name)] =
                    try WireJSON.decode([WinBackConditions].self, from: value).map { try $0.checked() }
            default: throw SQLError(.unexpectedValue, "The simulator database has an unknown condition: \(name).")
            }
        }
        return conditions
    }

    private static func number(
        _ value: JSONValue?, in range: ClosedRange<Int64>, as name: String
    ) throws(SQLError) -> Int64 {
        guard let number = value?.intValue else {
            throw SQLError(
                .unexpectedValue, "The value of the condition \(name) in the simulator database should be a number.")
        }
        try ColumnRange.check(Int64(number), in: range, as: name)
        return Int64(number)
    }

    private static func product(in name: String) -> ProductID {
        ProductID(unchecked: String(name.drop { $0 != " " }.dropFirst()))
    }

    func setGracePeriod(days: Int, at now: Date) throws { try set("gracePeriod", .number(days), at: now) }

    func setRenewalsFail(_ fail: Bool, at now: Date) throws { try set("renewalsFail", .bool(fail), at: now) }

    func setWithdrawn(_ isWithdrawn: Bool, _ product: ProductID, at now: Date) throws {
        try set("withdrawn \(product)", .bool(isWithdrawn), at: now)
    }

    func add(_ increase: RenewalConditions.PriceIncrease) throws {
        try set(
            "\(increase.billingPlan == .monthly ? "monthlyPrice" : "price") \(increase.productID)",
            [
                "price": .number(increase.price.milliunits), "currency": .string(increase.price.currency),
                "needsConsent": .bool(increase.needsConsent),
            ], at: increase.at)
    }

    /// Sets the conditions of all win-back offers of a product.
    func set(_ conditions: [WinBackConditions], ofWinBackOffersOf product: ProductID, at now: Date) throws {
        try set("winBack \(product)", try WireJSON.document(conditions), at: now)
    }

    /// Sets a condition. Every running subscription is then checked as soon as possible, because the condition can
    /// affect its renewals.
    private func set(_ name: String, _ value: JSONValue, at now: Date) throws {
        try sql.execute(
            "INSERT OR REPLACE INTO condition (at, name, value) VALUES (?1, ?2, ?3)",
            [.integer(now.microseconds), .text(name), .text("\(value)")])
        try setAllDue()
    }
}
