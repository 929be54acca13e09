import HTTPCore
import Primitives

extension SimulatedAppStore {
    /// Runs a scenario in a store of its own; this store stays as it is.
    ///
    /// Reads no file: if the scenario names a file as its catalogue, it gets the catalogue of this store. One scenario
    /// runs at a time.
    ///
    /// - Parameter document: The JSON of the scenario (Documentation/Formats.md).
    /// - Returns: The results of all steps.
    /// - Throws: `SimulatorError` (`invalidValue` for a document that is not a scenario, `notNow` while another
    ///   scenario runs), and the errors of `Scenario.run()`.
    func run(scenario document: JSONValue) async throws -> Scenario.Report {
        guard isRunningScenario.withLock({ isRunning in !isRunning.exchange(with: true) }) else {
            throw SimulatorError(.notNow, "Another scenario is running; try again when it has ended.")
        }
        defer { isRunningScenario.withLock { $0 = false } }
        let scenario: Scenario
        do {
            scenario = try ScenarioReader(
                file: "scenario", folder: "", defaultCatalogue: configuration.catalogue,
                defaultPlayCatalogue: configuration.playCatalogue
            ).read(document.encoded())
        } catch let error as ScenarioError {
            throw SimulatorError(.invalidValue, "The document is not a scenario. \(error)")
        }
        return try await scenario.run()
    }
}

extension Bool {
    /// Sets a new value and returns the former one.
    fileprivate mutating func exchange(with value: Bool) -> Bool {
        defer { self = value }
        return self
    }
}

/// The body of a request that runs a scenario.
struct ScenarioDocument: Codable, Sendable, WireModel {
    static let schemaName = "Scenario"
    static let schema = WireSchema.object.described(
        "a scenario as in Documentation/Formats.md; if it names a catalogue file, the catalogue of this store is used")

    let value: JSONValue

    init(from decoder: any Decoder) throws { value = try JSONValue(from: decoder) }

    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

extension Scenario.Report: Encodable, WireModel {
    static let schemaName = "ScenarioReport"
    static let schema = WireSchema.object([
        .required("file", .text), .required("name", .text),
        .required("ok", .flag.described("whether all steps had the expected results")),
        .required("seconds", .number(0...1e9).described("the real time of the run")),
        .required("steps", .array(step)),
    ])

    private static let step = WireSchema.object([
        .required("pointer", .text.described("the JSON pointer of the step (RFC 6901)")), .required("title", .text),
        .required("ok", .flag), .required("skipped", .flag.described("true after an action that failed")),
        .required("seconds", .number(0...1e9)), .optional("note", .text),
        .optional("differences", .array(difference)),
    ])

    private static let difference = WireSchema.object([
        .required("pointer", .text), .required("subject", .text), .required("expected", .array(.text)),
        .required("actual", .array(.text)), .required("same", .array(.text)),
    ])

    public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
