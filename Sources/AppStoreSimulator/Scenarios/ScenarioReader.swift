import Foundation
import Primitives
import StoreModel

/// Reads the file of a scenario. Throws the first fault.
struct ScenarioReader {
    static let byteLimit = 1 << 20
    static let stepLimit = 1000

    let file: String
    let folder: String
    /// The server for a scenario that has one; `nil` refuses these scenarios.
    var server: (any ScenarioServer.Type)? = nil
    /// The catalogue to use instead of a file that the scenario names; `nil` reads the file.
    var defaultCatalogue: Catalogue? = nil
    /// The catalogue of Google Play to use instead of a file, if `defaultCatalogue` is set.
    var defaultPlayCatalogue: PlayCatalogue? = nil

    /// The default start of a scenario: 2026-01-01T00:00:00Z.
    private static let start = Date(timeIntervalSince1970: 1_767_225_600)
    private static let members = [
        "name", "description", "catalogue", "playCatalogue", "server", "bundleID", "start", "seed", "settings", "steps",
    ]

    /// Throws `ScenarioError`.
    func read(_ bytes: [UInt8]) throws -> Scenario {
        do {
            return try scenario(try document(bytes))
        } catch let finding as ScenarioFinding {
            throw ScenarioError(file: file, pointer: finding.pointer, reason: finding.reason)
        }
    }

    private func document(_ bytes: [UInt8]) throws -> JSONPlace {
        let root: JSONPlace
        guard bytes.count <= Self.byteLimit else {
            throw ScenarioFinding(pointer: "", reason: "a scenario can have at most \(Self.byteLimit) bytes")
        }
        do {
            root = JSONPlace(value: try JSONValue(parsing: bytes), pointer: "")
        } catch {
            throw ScenarioFinding(pointer: "", reason: "this is not JSON: \(error)")
        }
        try root.checkMembers(Self.members, of: "a scenario")
        return root
    }

    private func scenario(_ root: JSONPlace) throws -> Scenario {
        let name = try root.require("name").text(1...200).printable
        let description = try root["description"]?.text(0...4000) ?? ""
        let bundle = try root["bundleID"]?.identifier(BundleID.self) ?? "com.example.souk"
        let start = try root["start"]?.date() ?? Self.start
        let seed = try root["seed"].map { place in
            guard let seed = place.value.intValue, seed >= 0 else {
                throw place.finding("the seed should be a whole number, 0 or more")
            }
            return UInt64(seed)
        }
        let settings = try root["settings"].map(Self.settings) ?? []
        let server = try root["server"].map(server)
        return Scenario(
            file: file, name: name, description: description,
            catalogue: try catalogue(try root.require("catalogue")),
            playCatalogue: try root["playCatalogue"].map(playCatalogue), server: server, bundleID: bundle,
            start: start, seed: seed ?? 1, settings: settings, steps: try steps(try root.require("steps"), server))
    }

    /// Reads the settings of the server, under the names of the configuration file of `souk serve`.
    private func server(_ place: JSONPlace) throws -> Scenario.Server {
        guard let type = server else {
            throw place.finding("this scenario needs an entitlement server; run the file with souk scenario run")
        }
        try place.checkMembers(["features", "transferMode", "playConsumable"], of: "server")
        var settings = Scenario.ServerSettings()
        if let features = place["features"] {
            let rule = "a feature map should be the path of a file, or the JSON of one"
            (settings.features, settings.credits) = try read(features, rule) { bytes, _ in
                let json = try JSONValue(parsing: bytes)
                return (try FeatureMap(json: json), try CreditTable(json: json))
            }
        }
        if let mode = place["transferMode"] {
            guard let known = mode.value.stringValue.flatMap(TransferMode.init) else {
                let all = TransferMode.allCases.map(\.rawValue).joined(separator: ", ")
                throw mode.finding("this should be one of \(all)")
            }
            settings.transferMode = known
        }
        if let products = place["playConsumable"] {
            settings.playConsumables = Set(
                try (products.elements ?? [products]).map { try $0.identifier(ProductID.self) })
        }
        return Scenario.Server(settings: settings, type: type)
    }

    /// Reads settings by name, in their order.
    static func settings(_ place: JSONPlace) throws -> [Scenario.Setting] {
        var settings: [Scenario.Setting] = []
        for (name, value) in try place.object() {
            let here = place.member(name)
            guard let setting = StoreSetting.named(name) else {
                let all = StoreSetting.all.map(\.name).joined(separator: ", ")
                throw here.finding("there is no setting \"\(name)\"; there are \(all)")
            }
            do {
                settings.append(.init(setting: setting, value: try setting.value(of: value)))
            } catch {
                throw here.finding("the setting \(name) takes \(setting.rule)")
            }
        }
        return settings
    }

    /// Reads a catalogue from a path or from the JSON itself.
    private func catalogue(_ place: JSONPlace) throws -> Catalogue {
        if place.value.stringValue != nil, let defaultCatalogue { return defaultCatalogue }
        return try read(place, "a catalogue should be the path of a .storekit file, or the JSON of one") {
            try Catalogue(parsing: $0, file: $1)
        }
    }

    /// Reads a catalogue of Google Play from a path or from the JSON itself.
    private func playCatalogue(_ place: JSONPlace) throws -> PlayCatalogue {
        if place.value.stringValue != nil, defaultCatalogue != nil {
            guard let defaultPlayCatalogue else { throw place.finding("this store has no Google Play") }
            return defaultPlayCatalogue
        }
        return try read(place, "a catalogue of Google Play should be the path of a file, or the JSON of one") {
            try PlayCatalogue(parsing: $0, file: $1)
        }
    }

    private func read<Value>(
        _ place: JSONPlace, _ rule: String, _ parse: ([UInt8], _ file: String) throws -> Value
    ) throws -> Value {
        let (bytes, name, prefix): ([UInt8], String, String)
        if let path = place.value.stringValue {
            name = path.hasPrefix("/") || folder.isEmpty ? path : folder + "/" + path
            bytes = try ScenarioFile.read(name, limit: CatalogueReader.byteLimit, for: file, at: place.pointer)
            prefix = ""
        } else {
            _ = try place.object(or: rule)
            (bytes, name, prefix) = (place.value.encoded(), file, place.pointer)
        }
        do {
            return try parse(bytes, name)
        } catch let error as CatalogueError {
            let first = error.errors.first
            throw ScenarioError(
                file: name, pointer: prefix + (first?.pointer ?? ""), reason: first?.reason ?? error.description)
        } catch let error as FeatureMapError {
            throw ScenarioError(file: name, pointer: prefix + error.pointer, reason: "this \(error.reason)")
        } catch let error as JSONError {
            throw ScenarioError(file: name, pointer: prefix, reason: "this is not JSON: \(error)")
        }
    }

    private func steps(_ place: JSONPlace, _ server: Scenario.Server?) throws -> [ScenarioStep] {
        guard let elements = place.elements else { throw place.finding("the steps should be a list") }
        guard (1...Self.stepLimit).contains(elements.count) else {
            throw place.finding("a scenario should have 1 to \(Self.stepLimit) steps")
        }
        var context = ScenarioContext(answer: server?.type.answer)
        var steps: [ScenarioStep] = []
        for element in elements { steps.append(try ScenarioStep(element, &context)) }
        guard steps.contains(where: \.isExpectation) else {
            throw place.finding("nothing is expected; add a step with \"expect\" or \"refused\"")
        }
        return steps
    }
}

/// Reads the members of a scenario.
extension JSONPlace {
    /// Creates a finding. The reason is cut and made printable, because it can quote the file.
    func finding(_ reason: String) -> ScenarioFinding {
        ScenarioFinding(pointer: pointer, reason: String(reason.prefix(1000)).printable)
    }

    /// Returns a member; its value is null if it is absent.
    func member(_ name: String) -> JSONPlace {
        JSONPlace(value: value[name] ?? .null, pointer: "\(pointer)/\(JSONPointer.escaped(name))")
    }

    func require(_ name: String) throws -> JSONPlace {
        guard let member = self[name] else { throw member(name).finding("\(name) is missing") }
        return member
    }

    func object(or rule: String = "this should be a JSON object") throws -> JSONMembers {
        guard case .object(let members) = value else { throw finding(rule) }
        return members
    }

    /// Throws for a member that is not in `known`.
    func checkMembers(_ known: [String], of what: String) throws {
        for name in try object(or: "\(what) should be a JSON object").keys where !known.contains(name) {
            throw member(name).finding(
                "\(what) has no member \"\(name)\"; it has \(known.joined(separator: ", "))")
        }
    }

    func text(_ length: ClosedRange<Int>) throws -> String {
        guard let text = value.stringValue, length.contains(text.count) else {
            throw finding("this should be a string of \(length.lowerBound) to \(length.upperBound) characters")
        }
        return text
    }

    func date() throws -> Date {
        guard let date = value.stringValue.flatMap(RFC3339.date) else {
            throw finding("this should be an instant such as \"2026-11-20T14:40:00Z\"")
        }
        return date
    }

    func identifier<ID: Identifier>(_ type: ID.Type) throws -> ID {
        guard let id = value.stringValue.flatMap(ID.init(rawValue:)) else {
            throw finding("this should have \(ID.rule)")
        }
        return id
    }
}

extension String {
    /// The string with U+FFFD for control characters, which could move the cursor of a terminal.
    var printable: String {
        let isControl = CharacterSet.controlCharacters.contains
        return unicodeScalars.map { String(isControl($0) ? "\u{FFFD}" : $0) }.joined()
    }
}
