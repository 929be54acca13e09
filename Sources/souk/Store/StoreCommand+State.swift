import AppStoreSimulator
import SimulatorControl
import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

extension StoreCommand {
    private static let settingNames = StoreSetting.all.map(\.name)

    static let store = [
        action("clock", "Show the store's virtual time") { client, _ in
            try await client.ask(.get, "/clock", as: StoreControlWire.ClockState.self, StoreText.clock)
        },
        action("clock rate RATE", "Change the speed of time: real, frozen, 30s, …", choices: TimeRate.names) {
            client, arguments in
            try await client.ask(
                .put, "/clock/rate", StoreControlWire.ClockRate(timeRate: arguments.operands[0]),
                as: StoreControlWire.ClockState.self, StoreText.clock)
        },
        action("advance DURATION", "Advance virtual time by 90s, 6h, 40d or P1M, or to 2026-11-20T14:40:00Z") {
            client, arguments in
            let advance = try advance(arguments.operands[0])
            return try await client.ask(
                .post, "/clock/advance", advance, as: StoreControlWire.ClockState.self, doing: "letting time pass"
            ) { "it is now \(RFC3339.string(from: $0.now))" }
        },
        action("settings list", "List all settings with their values") { client, _ in
            try await client.ask(.get, "/settings", as: StoreControlWire.Settings.self) {
                StoreText.table(["setting", "value"], $0.settings.map { [$0.name, StoreText.value($0)] })
            }.withoutUserInfo
        },
        action("settings get NAME", "Show a setting", choices: settingNames) { client, arguments in
            try await client.ask(
                .get, "/settings/\(arguments.operands[0])", as: StoreControlWire.Setting.self
            ) { "\(StoreText.value($0))" }.withoutUserInfo
        },
        action(
            "settings set NAME VALUE", "Change a setting; see Documentation/Formats.md", choices: settingNames
        ) { client, arguments in
            try await client.ask(
                .put, "/settings/\(arguments.operands[0])",
                StoreControlWire.SettingValue(value: .string(arguments.operands[1])), as: StoreControlWire.Setting.self
            ) { "\($0.name) is \(StoreText.value($0))" }.withoutUserInfo
        },
        action("export FILE", "Write the store's whole state to a file") { client, arguments in
            let state = try await client.json(.get, "/state", doing: "exporting")
            let file = arguments.operands[0]
            guard file != "-" else { return StoreReport(json: state, text: .json(state.text(pretty: true))) }
            try OutputFile.replace(file, with: state.text(pretty: true) + "\n")
            return StoreReport(json: ["file": .string(InputFile.absolute(file))], text: "exported to \(file)")
        },
        action("import FILE", "Replace the store's state by an exported one") { client, arguments in
            let file = arguments.operands[0]
            let bytes = try InputFile.read(file, limit: 256 << 20)
            let state: JSONValue
            do { state = try JSONValue(parsing: bytes) } catch { throw UsageError("\(file): not JSON: \(error)") }
            return StoreReport(
                json: try await client.json(.put, "/state", state, doing: "importing"), text: "imported \(file)")
        },
    ]
}

extension StoreCommand {
    private static func advance(_ text: String) throws -> StoreControlWire.Advance {
        guard let advance = StoreControlWire.Advance(text) else {
            throw UsageError(
                "a duration is written 90s, 15m, 6h, 40d, 1y or P1M, an instant 2026-11-20T14:40:00Z, not \(text.quoted)"
            )
        }
        return advance
    }
}
