import SimulatorControl
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel

extension StoreEndpoints {
    /// The maximum size of an imported state.
    private static let stateLimit = 256 << 20

    static let state: [Endpoint<StoreHandler>] = [
        endpoint(.get, "/control/v1/settings", "settings", "Every setting with its value") { call in
            StoreControlWire.Settings(settings: try call.store.settings())
        },
        endpoint(.get, "/control/v1/settings/{setting}", "setting", "One setting") { call in
            let wanted = try setting(call)
            return StoreControlWire.Setting(
                name: wanted.name, value: try call.store.settings().first { $0.name == wanted.name }?.value ?? .null)
        },
        endpoint(
            .put, "/control/v1/settings/{setting}", "set", "Change a setting",
            taking: StoreControlWire.SettingValue.self, refusals: [.invalidValue]
        ) { call, body in
            let wanted = try setting(call)
            return try await call.store.set(wanted, to: try wanted.value(of: body.value))
        },
        endpoint(
            .get, "/control/v1/state", "exportState", "Export the state of the store"
        ) {
            call in
            StoreState(value: try await call.store.exportState())
        },
        endpoint(
            .put, "/control/v1/state", "importState", "Replace the state by an exported one",
            taking: StoreState.self, limit: stateLimit, refusals: [.otherBundle, .invalidValue]
        ) { call, state in
            try await call.store.importState(state.value)
            return Nothing()
        },
        endpoint(
            .post, "/control/v1/scenarios/run", "runScenario", "Run a scenario in a store of its own",
            taking: ScenarioDocument.self, limit: ScenarioReader.byteLimit, refusals: [.invalidValue, .notNow]
        ) { call, scenario in
            try await call.store.run(scenario: scenario.value)
        },
    ]

    private static func setting(_ call: StoreCall) throws -> StoreSetting {
        let name = call.path["setting"]
        guard let setting = StoreSetting.named(name) else {
            throw SimulatorError(
                .unknownSetting,
                "There is no setting \(name); there are \(StoreSetting.all.map(\.name).joined(separator: ", ")).")
        }
        return setting
    }

    static let documents: [Endpoint<StoreHandler>] = [
        endpoint(.get, "/", "index", "Get the app and the APIs of the store, as JSON or as a page for browsers") {
            call in
            StoreIndex(bundleID: call.store.configuration.bundleID)
        },
        endpoint(.get, "/openapi.json", "openapi", "This document (OpenAPI 3.1)") { _ in
            StoreOpenAPIDocument(StoreEndpoints.all)
        },
    ]
}
