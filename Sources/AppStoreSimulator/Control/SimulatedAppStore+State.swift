import SimulatorControl
import Foundation
import Primitives
import SQLStorage
import StoreKitAdapter

/// What holds for the whole store.
extension SimulatedAppStore {
    /// Lets time run at another speed from now on, until the store is opened anew.
    public func setTimeRate(_ rate: TimeRate) async throws {
        guard virtualClock.anchor.rate != rate.factor else { return }
        _ = try await moveClock { anchor, _, _ in anchor.rate = rate.factor }
    }

    // MARK: - Settings

    /// Every setting with its value, in the order of `StoreSetting.all`.
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
                default: set[setting.name] ?? setting.off
                }
            return StoreControlWire.Setting(name: setting.name, value: value)
        }
    }

    /// Sets one, from now on. Returns it as it is kept. Throws `invalidValue` for a value that the setting does not take.
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

    // MARK: - Errors and slowness

    /// Takes errors and slowness from the books. Of several who set something at once, whoever is last looks once more.
    func followSettings() throws {
        func read() throws -> [String: JSONValue] { try database.read { try SimulatorDatabase($0).settings() } }
        var known = try read()
        while true {
            faults.withLock { $0 = InjectedFaults(known) }
            serverAuthenticator.follow(ServerRules(known))
            let now = try read()
            if now == known { return }
            known = now
        }
    }

    /// Lets the answer to a device wait, or fails it, as the settings want it.
    func applyInjectedFaults(to api: InjectedFaults.API) async throws {
        let answer = faults.withLock { $0.answer(to: api) }
        if answer.delay > 0 { await pause(for: answer.delay) }
        if let failure = answer.failure { throw failure }
    }

    /// Waits so many seconds of real time, but no longer than until the store closes.
    func pause(for seconds: Double) async {
        let base = configuration.baseClock
        let deadline = base.now().addingTimeInterval(seconds)
        while base.now() < deadline, !signal.isClosed, !Task.isCancelled {
            await signal.wait(for: Self.delayed, since: signal.mark(), until: deadline, on: base)
        }
    }

    /// Nobody raises it.
    private static let delayed: Int64 = -2
}
