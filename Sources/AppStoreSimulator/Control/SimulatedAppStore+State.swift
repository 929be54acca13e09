import Foundation
import Primitives
import StoreKitAdapter

/// What holds for the whole store.
extension SimulatedAppStore {
    /// Lets time run at another speed from now on.
    @discardableResult
    public func setTimeRate(_ rate: TimeRate) async throws -> StoreControlWire.ClockState {
        throw Self.unbuilt("Changing the speed of time")
    }

    /// Every setting with its value, in the order of `StoreSetting.all`.
    public func settings() throws -> [StoreControlWire.Setting] { throw Self.unbuilt("Reading settings") }

    /// Sets one, from now on. Returns it as it is kept. Throws `invalidValue` for a value that the setting does not take.
    @discardableResult
    public func set(_ setting: StoreSetting, to value: JSONValue) async throws -> StoreControlWire.Setting {
        throw Self.unbuilt("Changing settings")
    }

    // MARK: - Fixtures

    /// Everything the store knows, certificates and keys excepted: accounts, devices, purchases, settings, the clock.
    public func exportState() async throws -> JSONValue { throw Self.unbuilt("Exporting") }

    /// Replaces everything by what another store exported. Throws `invalidValue` and `otherBundle`, and changes nothing then.
    public func importState(_ state: JSONValue) async throws { throw Self.unbuilt("Importing") }
}
