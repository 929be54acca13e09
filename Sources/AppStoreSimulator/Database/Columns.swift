import Foundation
import Primitives
import SQLStorage
import StoreModel

/// Conversions between columns and the parts of records.
extension SQLValue {
    init(_ date: Date?) { self.init(date?.microseconds) }
    init(_ id: UUID?) { self.init(id?.uuidString) }
    init(_ tokens: [SubscriptionRecord.EarlierToken]) {
        self.init(
            tokens.isEmpty
                ? nil
                : JSONValue.array(
                    tokens.map { [.number($0.before.microseconds), .string($0.token?.uuidString ?? "")] }
                ).text())
    }
    init(_ offer: AppliedOffer?) throws { self.init(try offer.map { try OfferColumn($0).text() }) }
}

extension SQLRow {
    func date(_ name: String) throws -> Date { try Self.date(try self[name]) }

    func optionalDate(_ name: String) throws -> Date? {
        let count: Int64? = try self[name]
        return try count.map(Self.date)
    }

    private static func date(_ count: Int64) throws -> Date {
        guard ColumnRange.instant.contains(count) else {
            throw SQLError(.unexpectedValue, "The simulator database has an invalid instant: \(count).")
        }
        return Date(microseconds: count)
    }

    func id(_ name: String) throws -> UUID? {
        let text: String? = try self[name]
        return text.flatMap(UUID.init(text:))
    }

    func offer(_ name: String) throws -> AppliedOffer? {
        let text: String? = try self[name]
        return try text.map { try OfferColumn($0).offer }
    }

    /// Reads pairs of an instant and a token. The token is empty where there was none.
    func earlierTokens(_ name: String) throws -> [SubscriptionRecord.EarlierToken] {
        let text: String? = try self[name]
        return try text.map { try JSONValue(parsing: $0).arrayValue ?? [] }?.compactMap { pair in
            guard let before = pair[0]?.intValue else { return nil }
            return .init(before: try Self.date(Int64(before)), token: pair[1]?.stringValue.flatMap(UUID.init(text:)))
        } ?? []
    }

    func period(_ name: String) throws -> SubscriptionPeriod {
        let text: String = try self[name]
        guard let period = SubscriptionPeriod(iso8601: text), period.isSellable else {
            throw SQLError(.unexpectedValue, "The simulator database has an invalid period: \"\(text)\".")
        }
        return period
    }

    /// Reads the columns `product`, `period`, `price`, `currency`, `priced_at`, `storefront` and `bills`, each after
    /// `prefix`.
    func plan(_ prefix: String = "") throws -> Plan {
        Plan(
            productID: ProductID(unchecked: try self[prefix + "product"]), period: try period(prefix + "period"),
            price: Price(
                milliunits: try number(prefix + "price", in: ColumnRange.price),
                currency: try self[prefix + "currency"]),
            pricedAt: try date(prefix + "priced_at"), storefront: try self[prefix + "storefront"],
            seats: try seats(prefix + "seats"),
            bills: try optionalNumber(prefix + "bills", in: ColumnRange.bills).map { Int($0) })
    }

    func seats(_ name: String) throws -> Seats? {
        let text: String? = try self[name]
        return try text.map { text in
            guard let seats = Seats(column: text) else {
                throw SQLError(.unexpectedValue, "The simulator database has an invalid number of seats: \(text).")
            }
            return seats
        }
    }

    func share() throws -> Share? {
        try optionalNumber("share_owner", in: ColumnRange.readable).map {
            Share(
                ownerOriginalID: $0, first: try number("share_first", in: ColumnRange.readable),
                from: try date("share_from"),
                until: try optionalDate("share_until"))
        }
    }
}

extension Plan {
    /// The values in the order of `SQLRow.plan`, without `bills`.
    var columns: [SQLValue] {
        [
            .text(productID.rawValue), .text(period.iso8601), .integer(price.milliunits), .text(price.currency),
            .integer(pricedAt.microseconds), SQLValue(storefront), SQLValue(seats?.column),
        ]
    }
}

extension Share? {
    /// The values in the order of `SQLRow.share`.
    var columns: [SQLValue] {
        [SQLValue(self?.ownerOriginalID), SQLValue(self?.first), SQLValue(self?.from), SQLValue(self?.until)]
    }
}

/// An offer as JSON, as the database stores it.
private struct OfferColumn: Codable {
    var kind: Int
    var id: String?
    var mode: String
    var period: SubscriptionPeriod
    var count: Int
    var price: Price?

    init(_ offer: AppliedOffer) {
        kind = offer.kind.rawValue
        id = offer.id
        mode = offer.paymentMode.rawValue
        period = offer.period
        count = offer.periodCount
        price = offer.price
    }

    init(_ text: String) throws { self = try WireJSON.decode(Self.self, from: Array(text.utf8)) }

    func text() throws -> String { String(decoding: try WireJSON.encode(self), as: UTF8.self) }

    var offer: AppliedOffer {
        get throws {
            guard let kind = AppliedOffer.Kind(rawValue: kind) else {
                throw SQLError(.unexpectedValue, "The simulator database has an unknown offer type: \(kind).")
            }
            try ColumnRange.check(Int64(count), in: ColumnRange.periods, as: "the number of an offer's periods")
            if let price {
                try ColumnRange.check(price.milliunits, in: ColumnRange.price, as: "the price of an offer")
            }
            guard period.isSellable else {
                throw SQLError(
                    .unexpectedValue, "The simulator database has an invalid offer period: \(period.iso8601).")
            }
            return AppliedOffer(
                kind: kind, id: id, paymentMode: .init(rawValue: mode), period: period, periodCount: count,
                price: price)
        }
    }
}
