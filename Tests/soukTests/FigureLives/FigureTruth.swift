import Foundation
import Primitives
import StoreModel

@testable import AppStoreSimulator

/// The books of the store, from which the expected figures follow: its transactions, and the state of each subscription
/// at the end of each day. They do not depend on signed data, notifications or facts of the server.
struct FigureTruth {
    /// The state of a subscription from a day on, until the day of the next observation.
    private struct Observation: Equatable {
        var transaction: Int64
        var hasAccess: Bool
        var isRevoked: Bool
    }

    private var observations: [Int64: [(day: Int, value: Observation)]] = [:]
    /// The last day at whose end each transaction gave access in a grace period.
    private var graceDays: [Int64: Int] = [:]
    private var records: [Int64: [SubscriptionRecord]] = [:]

    /// Notes the state of every subscription that its account pays for.
    ///
    /// - Parameters:
    ///   - day: The number of days since `FigureLife.start`.
    ///   - changed: The accounts with events since the last call; the records of the others are the same.
    mutating func observe(_ day: Int, _ changed: Set<Int64>, at now: Date, in store: SimulatedAppStore) throws {
        let (conditions, fresh) = try store.database.read { sql in
            let db = SimulatorDatabase(sql)
            return (try db.conditions(), try changed.map { ($0, try db.subscriptions(of: $0)) })
        }
        for (account, records) in fresh { self.records[account] = records.filter { $0.share == nil } }
        for record in records.values.joined() {
            let state = SubscriptionState(of: record, under: conditions, at: now)
            let value = Observation(
                transaction: state.latest.id, hasAccess: state.isActive, isRevoked: state.status == .revoked)
            if state.status == .gracePeriod { graceDays[state.latest.id] = day }
            if observations[record.originalID]?.last?.value != value {
                observations[record.originalID, default: []].append((day, value))
            }
        }
    }

    /// Returns the books as JSON for `figure_truth.py`.
    func json(of store: SimulatedAppStore, accounts: [Int64], at now: Date) throws -> JSONValue {
        let sold = try store.database.read { sql in
            let db = SimulatorDatabase(sql)
            return try accounts.flatMap { try db.transactions(of: $0, at: now).map(\.0) }
        }
        let periods = store.configuration.catalogue.items.compactMap { item in
            item.subscription.map { (item.id.rawValue, JSONValue.string($0.period.iso8601)) }
        }
        return [
            "periods": .object(JSONMembers(periods)),
            "transactions": .array(sold.filter { !$0.isShared }.map(Self.json)),
            "graceDays": .array(graceDays.map { [.string("\($0)"), .number($1)] }),
            "observations": .array(
                observations.map { original, list in
                    [
                        .string("\(original)"),
                        .array(
                            list.map {
                                [
                                    .number($0.day), .string("\($0.value.transaction)"), .bool($0.value.hasAccess),
                                    .bool($0.value.isRevoked),
                                ]
                            }),
                    ]
                }),
        ]
    }

    private static func json(_ sale: TransactionRecord) -> JSONValue {
        func instant(_ date: Date?) -> JSONValue {
            date.map { .number(Int64(($0.wholeMilliseconds.timeIntervalSince1970 * 1000).rounded())) } ?? .null
        }
        var json: JSONValue = [
            "id": .string("\(sale.id)"), "original": .string("\(sale.originalID)"),
            "product": .string(sale.productID.rawValue), "renews": .bool(sale.kind == .autoRenewableSubscription),
            "purchased": instant(sale.purchaseDate), "expires": instant(sale.expiresDate),
            "milliunits": .number(sale.price.milliunits * Int64(sale.quantity)),
            "currency": .string(sale.price.currency), "country": .string(sale.storefront ?? "USA"),
            "revoked": instant(sale.revocation?.at),
            "share": sale.revocation?.percentage.map { .number($0) } ?? .null,
        ]
        if sale.commitment != nil { json["period"] = "P1M" }
        if let offer = sale.offer {
            json["offer"] = [
                "kind": .number(offer.kind.rawValue), "id": offer.id.map { .string($0) } ?? .null,
                "isFree": .bool(offer.paymentMode == .freeTrial), "period": .string(offer.period.iso8601),
                "count": .number(offer.paymentMode == .payAsYouGo ? 1 : offer.periodCount),
            ]
        }
        return json
    }
}
