import AppStorePayloads
import Foundation
import Primitives
import SQLStorage
import StoreModel

/// Export and import of the store's state, so that many tests can begin with the same state.
extension SimulatedAppStore {
    /// Exports the state, such as accounts, purchases, notifications, settings and the clock, without certificates and
    /// keys.
    ///
    /// - Returns: The state as JSON.
    /// - Throws: `SQLError` if the database cannot be read.
    public func exportState() async throws -> JSONValue {
        let now = virtualClock.now()
        let tables = try database.read { sql in
            JSONMembers(
                try sql.tableNames().map { table in
                    let rows = try sql.query("SELECT * FROM \(table)")
                    return (table, JSONValue.array(rows.map(\.json)))
                })
        }
        return [
            "format": .string(StoreFixture.format), "schema": .string(SimulatorSchema.version),
            "bundleID": .string(configuration.bundleID.rawValue), "now": .string(RFC3339.string(from: now)),
            "tables": .object(tables),
        ]
    }

    /// Replaces the state by one that another store exported.
    ///
    /// The clock continues from the exported time at this store's speed. Transactions are signed with this store's
    /// certificates.
    ///
    /// - Parameter state: The exported state.
    /// - Throws: `SimulatorError` (`invalidValue` for an invalid state, `otherBundle` for the state of another app). If
    ///   it throws, nothing changes.
    public func importState(_ state: JSONValue) async throws {
        let fixture = try StoreFixture(state)
        // The document and the table `store` each name the bundle. The store could not open again with another bundle.
        for bundle in [fixture.bundleID, fixture.rows["store"]?.first?["bundle"]?.stringValue].compactMap(\.self) {
            guard bundle.hasSameBytes(as: configuration.bundleID.rawValue) else {
                throw SimulatorError(
                    .otherBundle,
                    "The state belongs to the bundle id \(bundle), but this store belongs to \(configuration.bundleID)."
                )
            }
        }
        let base = configuration.baseClock
        let (anchor, last) = try await database.write { [virtualClock] sql in
            let db = SimulatorDatabase(sql)
            var anchor = try db.clock()
            let revision = max(anchor.revision, virtualClock.anchor.revision)
            do {
                let tables = try sql.tableNames()
                guard Set(fixture.rows.keys).isSubset(of: tables) else { throw StoreFixture.malformed }
                for table in tables.reversed() { try sql.execute("DELETE FROM \(table)") }
                for table in tables { try sql.insert(fixture.rows[table] ?? [], into: table) }
                try db.endLostAttempts()
                try db.endLostPerformanceTests()
                try db.forgetSignatures()
                anchor.base = base.now().wholeMilliseconds
                anchor.reading = max(fixture.now, try db.clock().reading).wholeMilliseconds
                try ColumnRange.check(anchor.reading.microseconds, in: ColumnRange.event, as: "the time")
                anchor.revision = revision + 1
                try db.save(anchor)
                try db.check(at: anchor.reading)
                return (anchor, try db.lastEvent())
            } catch let error as SQLError where error.code != .closed {
                throw SimulatorError(
                    .invalidValue, "The state is invalid: \(error.message)", underlying: error)
            } catch let error where error is JSONError || error is DecodingError || error is AppStorePayloadError {
                throw SimulatorError(
                    .invalidValue, "The state is invalid: \(error)", underlying: error)
            }
        }
        timestamps.forget(floor: max(anchor.reading, last))
        virtualClock.moveIfNewer(to: anchor)
        try followSettings()
        signal.raiseAll()
    }
}

/// An exported state, with the checks that need no database.
private struct StoreFixture: Sendable {
    static let format = "souk-store"

    let bundleID: String
    let now: Date
    let rows: [String: [JSONMembers]]

    init(_ state: JSONValue) throws {
        guard state["format"]?.stringValue == Self.format, let tables = state["tables"]?.objectValue,
            let bundleID = state["bundleID"]?.stringValue,
            let now = state["now"]?.stringValue.flatMap(RFC3339.date)
        else {
            throw SimulatorError(.invalidValue, "This is not the state of a store; export one with souk store export.")
        }
        guard state["schema"]?.stringValue == SimulatorSchema.version else {
            throw SimulatorError(
                .invalidValue,
                "The state was exported by another version of the simulator; this one reads "
                    + "\"\(SimulatorSchema.version)\".")
        }
        self.bundleID = bundleID
        self.now = now
        rows = try tables.mapValues { table in
            guard case .array(let rows) = table else { throw Self.malformed }
            return try rows.map {
                guard case .object(let row) = $0 else { throw Self.malformed }
                return row
            }
        }
        guard rows["store"]?.count == 1 else { throw Self.malformed }
    }

    static let malformed = SimulatorError(
        .invalidValue, "The tables of the state are not those of a store; export it anew.")
}

extension SQLRow {
    /// The columns that are not NULL.
    fileprivate var json: JSONValue {
        .object(
            JSONMembers(
                zip(columns, values).compactMap { name, value in
                    switch value {
                    case .null: nil
                    case .integer(let number): (name, .number(number))
                    case .real(let number): (name, .number(number))
                    case .text(let text): (name, .string(text))
                    case .blob(let bytes): (name, .string(Hex.encode(bytes)))
                    }
                }))
    }
}

extension SQLConnection {
    /// The tables of the database, in an order in which references point to earlier tables.
    fileprivate func tableNames() throws -> [String] {
        try query(
            """
            SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
            AND name <> 'schema_migrations' ORDER BY rowid
            """
        ).map { try $0["name"] }
    }

    /// Inserts rows. Only columns of the table are valid names.
    fileprivate func insert(_ rows: [JSONMembers], into table: String) throws {
        let columns = try query("SELECT name, type FROM pragma_table_info(?1)", [.text(table)])
        let types = Dictionary(
            uniqueKeysWithValues: try columns.map { (try $0["name"] as String, try $0["type"] as String) })
        for row in rows {
            guard !row.isEmpty else {
                throw SimulatorError(.invalidValue, "A row of \(table) in the state has no columns.")
            }
            let values = try row.map { name, value in
                guard let type = types[name] else {
                    throw SimulatorError(.invalidValue, "A row of \(table) in the state has unknown columns.")
                }
                guard let value = SQLValue(fixture: value, type: type) else {
                    throw SimulatorError(
                        .invalidValue,
                        "The column \(name) of the table \(table) in the state should be of the type \(type).")
                }
                return value
            }
            let places = (1...row.count).map { "?\($0)" }.joined(separator: ", ")
            try execute("INSERT INTO \(table) (\(row.keys.joined(separator: ", "))) VALUES (\(places))", values)
        }
    }
}

extension SQLValue {
    /// Converts a JSON value to the type of a column; `nil` for another JSON type.
    ///
    /// SQLite would convert between numbers and texts of digits, so that the stored value could differ from the checked
    /// one.
    fileprivate init?(fixture value: JSONValue, type: String) {
        switch (type, value) {
        case ("TEXT", .string(let text)):
            self = .text(text)
        case ("INTEGER", .number(let number)), ("REAL", .number(let number)):
            if let integer = Int64(number.text) {
                self = .integer(integer)
            } else if let real = number.double, real.isFinite {
                self = .real(real)
            } else {
                return nil
            }
        default: return nil
        }
    }
}
