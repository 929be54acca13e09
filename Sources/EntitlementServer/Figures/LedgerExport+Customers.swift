import Foundation
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// The exports of answers and of events. They name customers by pseudonyms.
extension LedgerExport {
    /// The columns of `states`.
    static let stateColumns =
        ["app", "environment", "customer", "revision", "asOf", "validUntil", "kind"] + itemColumns.map(\.name)
        + ["price", "currency"]

    /// The columns of `events`.
    static let eventColumns = [
        "sequence", "app", "environment", "type", "createdAt", "customer", "alias", "asOf", "validUntil",
        "activeFeatures",
    ]

    /// The columns of a feature, a subscription or a purchase. Each has the first of `members` that the item has. None
    /// identifies a person.
    private static let itemColumns: [(name: String, members: [String])] = [
        ("feature", ["name"]), ("productId", ["productID"]), ("transactionId", ["transactionID"]),
        ("originalTransactionId", ["originalTransactionID"]), ("source", ["source"]), ("state", ["state"]),
        ("isActive", ["isActive"]), ("from", ["from", "startedAt", "purchasedAt"]), ("until", ["until", "expiresAt"]),
        ("effectiveUntil", ["effectiveUntil"]), ("gracePeriodUntil", ["gracePeriodUntil"]),
        ("autoRenews", ["autoRenews"]), ("renewsTo", ["renewsTo"]), ("isTrial", ["isTrial"]),
        ("isIntroductory", ["isIntroductory"]), ("cancelledAt", ["cancelledAt"]), ("revokedAt", ["revokedAt"]),
        ("type", ["kind"]), ("quantity", ["quantity"]),
    ]

    /// The lists of an answer, and the kind of their rows.
    private static let lists = [
        ("features", "feature"), ("subscriptions", "subscription"), ("purchases", "purchase"),
    ]

    // MARK: - Answers

    /// Writes a row for each feature, subscription and purchase of each stored answer, or one row for an empty answer.
    ///
    /// - Returns: The number of the last event before the answers. An export of events can continue after it.
    static func exportStates(of database: any SQLDatabase, _ body: ([JSONValue]) throws -> Void) throws -> Int64 {
        let (cursor, pseudonyms) = try database.read { connection in
            let last = try connection.first(
                "SELECT sequence FROM event WHERE sequence > 0 ORDER BY sequence DESC LIMIT 1", [])
            return (try last.map { try $0["sequence"] as Int64 } ?? 0, try CustomerPseudonyms(connection))
        }
        var place = (app: "", environment: "", id: "")
        while true {
            let rows = try database.read { connection in
                try connection.query(
                    """
                    SELECT app, environment, id, revision, answer, valid_until FROM customer
                    WHERE (app, environment, id) > (?1, ?2, ?3) ORDER BY app, environment, id LIMIT ?4
                    """, [.text(place.app), .text(place.environment), .text(place.id), .integer(Int64(pageSize))])
            }
            for row in rows {
                place = (try row["app"], try row["environment"], try row["id"])
                try states(in: row, pseudonyms).forEach(body)
            }
            guard rows.count == pageSize else { return cursor }
        }
    }

    private static func states(in row: SQLRow, _ pseudonyms: CustomerPseudonyms) throws -> [[JSONValue]] {
        let (app, environment, id): (String, String, String) = (try row["app"], try row["environment"], try row["id"])
        let (revision, answer, validUntil): (Int64, [UInt8], Int64?) = (
            try row["revision"], try row["answer"], try row["valid_until"]
        )
        // An answer that cannot be read has no values; `souk ledger replay` reports it.
        let json = (try? JSONValue(parsing: answer)) ?? [:]
        let first: [JSONValue] = [
            .string(app), .string(environment), .string(try pseudonyms.pseudonym(of: id, in: app)), .number(revision),
            json["asOf"] ?? .null, validUntil.map(date) ?? .null,
        ]
        var rows: [[JSONValue]] = []
        for (list, kind) in lists {
            for item in json[list]?.arrayValue ?? [] { rows.append(first + [.string(kind)] + values(ofItem: item)) }
        }
        let absent: [JSONValue] = Array(repeating: .null, count: stateColumns.count - first.count)
        return rows.isEmpty ? [first + absent] : rows
    }

    private static func values(ofItem item: JSONValue) -> [JSONValue] {
        var values: [JSONValue] = []
        for (_, members) in itemColumns { values.append(members.lazy.compactMap { item[$0] }.first ?? .null) }
        values.append(item["price"]?["amount"] ?? .null)
        values.append(item["price"]?["currency"] ?? .null)
        return values
    }

    // MARK: - Events

    /// Returns events after `cursor` in the order of the feed. If events after `cursor` were deleted, the row
    /// `events.expired` is at the position of the last of them, once for each app and environment; with the cursor 0
    /// there is none. A damaged event becomes such a row, too.
    static func events(of database: any SQLDatabase, after cursor: Int64) throws -> [Row] {
        try database.read { connection in
            let pseudonyms = try CustomerPseudonyms(connection)
            return try EventLog.entries(after: cursor, limit: pageSize, connection).map { entry in
                Row(position: entry.sequence, values: try values(of: entry, pseudonyms))
            }
        }
    }

    private static func values(of entry: EventLog.Entry, _ pseudonyms: CustomerPseudonyms) throws -> [JSONValue] {
        if let event = entry.event { return try values(of: event, pseudonyms) }
        let names: [JSONValue] = [
            .number(entry.sequence), .string(entry.ledgerID.app.rawValue),
            .string(entry.ledgerID.environment.rawValue), .string(LedgerEvent.expiredType),
        ]
        return names + Array(repeating: .null, count: eventColumns.count - names.count)
    }

    private static func values(of event: LedgerEvent, _ pseudonyms: CustomerPseudonyms) throws -> [JSONValue] {
        let app = event.ledgerID.app.rawValue
        let first: [JSONValue] = [
            .number(event.sequence), .string(app), .string(event.ledgerID.environment.rawValue),
        ]
        guard event.isIntact, let json = try? JSONValue(parsing: event.body) else {
            let absent: [JSONValue] = Array(repeating: .null, count: eventColumns.count - first.count - 2)
            return first + [.string(LedgerEvent.expiredType), date(event.createdAt.milliseconds)] + absent
        }
        let alias = try json["alias"]?.stringValue.map { try pseudonyms.pseudonym(of: $0, in: app) }
        // The features of an answer are objects; those of `customer.paidTwice` are names.
        let active = json["features"]?.arrayValue?.compactMap { feature in
            feature.stringValue == nil ? (feature["isActive"] == true ? feature["name"] : nil) : feature
        }
        let customer = try pseudonyms.pseudonym(of: event.customer.rawValue, in: app)
        let rest: [JSONValue] = [
            .string(event.type), date(event.createdAt.milliseconds), .string(customer),
            alias.map { JSONValue.string($0) } ?? .null, json["asOf"] ?? .null, json["validUntil"] ?? .null,
            active.map { JSONValue.array($0) } ?? .null,
        ]
        return first + rest
    }

    // MARK: - Feed

    /// The columns of `feed`: the members of an event.
    static let feedColumns = ["id", "type", "app", "environment", "createdAt", "data"]

    /// Returns events after `cursor` as `GET /v1/events` sends them.
    static func feed(of database: any SQLDatabase, after cursor: Int64, clock: any WallClock) throws -> [Row] {
        try database.read { connection in
            try EventLog.entries(after: cursor, limit: pageSize, connection).map { entry in
                let members = try JSONValue(parsing: entry.wire(at: clock.now()))
                return Row(position: entry.sequence, values: feedColumns.map { members[$0] ?? .null })
            }
        }
    }
}

/// The pseudonyms of customer ids and aliases in exports: an HMAC with a secret of the app that stays in the ledger. A
/// customer has the same pseudonym in every export.
struct CustomerPseudonyms {
    private let secrets: [BundleID: HMACSHA256]

    init(_ connection: any SQLConnection) throws {
        var secrets: [BundleID: HMACSHA256] = [:]
        for row in try connection.query("SELECT bundle_id, token_secret FROM app", []) {
            guard let secret: [UInt8] = try row["token_secret"] else { continue }
            // No customer token has this code: a token's code is the HMAC of base64url text, which has no spaces.
            let code = try HMACSHA256(key: secret).code(for: Array("souk export customer".utf8))
            secrets[BundleID(unchecked: try row["bundle_id"])] = try HMACSHA256(key: code)
        }
        self.secrets = secrets
    }

    /// Returns 32 hexadecimal digits.
    func pseudonym(of customer: String, in app: String) throws -> String {
        guard let secret = secrets[BundleID(unchecked: app)] else {
            throw EntitlementServerError(
                .internalInconsistency,
                "The ledger has no secret for \(app), which makes pseudonyms: start souk serve once with this app.")
        }
        return Hex.encode(Array(secret.code(for: Array(customer.utf8)).prefix(16)))
    }
}
