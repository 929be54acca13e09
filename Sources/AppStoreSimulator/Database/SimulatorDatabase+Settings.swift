import Foundation
import Primitives
import SQLStorage
import StoreModel

/// The settings of the whole store, without those that depend on a date (`RenewalConditions`).
extension SimulatorDatabase {
    /// The settings by name.
    func settings() throws -> [String: JSONValue] {
        try sql.query("SELECT name, value FROM setting").reduce(into: [:]) { settings, row in
            let text: String = try row["value"]
            settings[try row["name"]] = try JSONValue(parsing: text)
        }
    }

    func save(_ setting: StoreSetting, _ value: JSONValue) throws {
        try sql.execute(
            "INSERT OR REPLACE INTO setting (name, value) VALUES (?1, ?2)", [.text(setting.name), .text(value.text())])
    }

    /// Applies the settings of a new store's catalogue, except the time rate and the storefront.
    func save(_ values: [String: JSONValue], at now: Date) throws {
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard let setting = StoreSetting.named(name), setting != .timeRate, setting != .storefront else { continue }
            try apply(setting, value, at: now)
        }
    }

    /// Stores a setting in its table or as a condition.
    func apply(_ setting: StoreSetting, _ value: JSONValue, at now: Date) throws {
        switch setting {
        case .gracePeriod: try setGracePeriod(days: StoreSetting.days(in: value), at: now)
        case .renewalsFail: try setRenewalsFail(value.boolValue ?? false, at: now)
        case .notificationsURL:
            let wasSet = setting.isSet(in: try settings())
            try save(setting, value)
            guard setting.isSet(in: try settings()) else { return try watchNone() }
            if !wasSet { try watchAll(at: now) }
        default: try save(setting, value)
        }
    }
}

extension SimulatorDatabase.Account {
    /// The country of the account's storefront under the settings of the store; `nil` means that of the catalogue.
    func country(_ settings: [String: JSONValue]) -> String? {
        storefront ?? settings[StoreSetting.storefront.name]?.stringValue
    }
}

extension StoreSetting {
    /// Whether a flag is on.
    func isOn(in settings: [String: JSONValue]) -> Bool { settings[name]?.boolValue ?? false }

    /// The number of days: `16d` is 16, `off` is 0.
    static func days(in value: JSONValue) -> Int { value.stringValue.flatMap { Int($0.dropLast()) } ?? 0 }

    static func gracePeriod(days: Int) -> JSONValue { days == 0 ? "off" : .string("\(days)d") }
}
