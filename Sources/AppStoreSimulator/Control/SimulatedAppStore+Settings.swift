import SimulatorControl
import Foundation
import Primitives
import SQLStorage
import StoreKitAdapter

/// The settings of the whole store.
extension SimulatedAppStore {
    /// Changes the speed of virtual time, until the store is opened again.
    ///
    /// - Parameter rate: The rate.
    /// - Throws: `SQLError` if the database cannot be written.
    public func setTimeRate(_ rate: TimeRate) async throws {
        guard virtualClock.anchor.rate != rate.factor else { return }
        _ = try await moveClock { anchor, _, _ in anchor.rate = rate.factor }
    }

    /// Returns every setting with its value, in the order of ``StoreSetting/all``.
    ///
    /// - Returns: The settings.
    /// - Throws: `SQLError` if the database cannot be read.
    public func settings() throws -> [StoreControlWire.Setting] {
        let (set, conditions) = try database.read { sql in
            let db = SimulatorDatabase(sql)
            return (try db.settings(), try db.conditions())
        }
        return StoreSetting.all.map { setting in
            let value: JSONValue =
                switch setting {
                case .gracePeriod: StoreSetting.gracePeriod(days: conditions.gracePeriods.last?.value ?? 0)
                case .renewalsFail: .bool(conditions.failingPayments.last?.value ?? false)
                case .storefront: set[setting.name] ?? .string(configuration.catalogue.storefront.countryCode)
                case .timeRate: .string(TimeRate(factor: virtualClock.anchor.rate).description)
                default: set[setting.name] ?? setting.defaultValue
                }
            return StoreControlWire.Setting(name: setting.name, value: value)
        }
    }

    /// Changes a setting.
    ///
    /// - Parameters:
    ///   - setting: The setting.
    ///   - given: The new value.
    /// - Returns: The setting with the value as it is stored.
    /// - Throws: `SimulatorError` (`invalidValue`) for a value that the setting does not take.
    @discardableResult
    public func set(_ setting: StoreSetting, to given: JSONValue) async throws -> StoreControlWire.Setting {
        let value = try setting.value(of: given)
        if setting == .timeRate, let rate = value.stringValue.flatMap({ TimeRate($0) }) {
            try await setTimeRate(rate)
        } else {
            try await recordStoreEvent { db, now in try db.apply(setting, value, at: now) }
            try followSettings()
        }
        return StoreControlWire.Setting(name: setting.name, value: value)
    }

    /// Applies the settings in the database to the injected faults and to the APIs of both stores. Repeats this until
    /// the settings no longer change, because several callers can change settings at once.
    func followSettings() throws {
        func read() throws -> [String: JSONValue] { try database.read { try SimulatorDatabase($0).settings() } }
        var known = try read()
        while true {
            faults.withLock { $0 = InjectedFaults(known) }
            serverAuthenticator.follow(ServerRules(known))
            googlePlay?.follow(PlayRules(known))
            let now = try read()
            if now == known { return }
            known = now
        }
    }

    /// Delays or fails a call of a device as the settings demand.
    func applyInjectedFaults(to api: InjectedFaults.API) async throws {
        let answer = faults.withLock { $0.answer(to: api) }
        if answer.delay > 0 { await pause(for: answer.delay) }
        if let failure = answer.failure { throw failure }
    }

    /// Waits for some seconds of real time, at most until the store closes or the task is cancelled.
    func pause(for seconds: Double) async {
        let base = configuration.baseClock
        let deadline = base.now().addingTimeInterval(seconds)
        while base.now() < deadline, !signal.isClosed, !Task.isCancelled {
            await signal.wait(for: Self.delayed, since: signal.mark(), until: deadline, on: base)
        }
    }

    /// A key of `signal` that is never raised.
    private static let delayed: Int64 = -2
}
