import Foundation
import Primitives
import Testing

@testable import AppStoreSimulator

/// Scenarios with the catalogue of the fixtures, and the shipped ones.
enum Scenarios {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Examples/Scenarios").path

    /// The shipped scenarios without a server. `ScenarioCommandTests` runs the others.
    static let shipped: [String] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix(".json") && !hasServer($0) }.sorted()
    }()

    private static func hasServer(_ name: String) -> Bool {
        let bytes = (try? Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))).map(Array.init) ?? []
        return (try? JSONValue(parsing: bytes))?["server"] != nil
    }

    /// Returns the text of a scenario with these steps and `Fixtures.catalogue`.
    static func text(_ steps: String, _ more: String = "") -> String {
        #"{"name": "a test", "catalogue": \#(Fixtures.catalogueText), \#(more) "steps": [\#(steps)]}"#
    }

    static func scenario(_ steps: String, _ more: String = "") throws -> Scenario {
        try Scenario(parsing: Array(text(steps, more).utf8), file: "test.json", folder: "")
    }

    static func run(_ steps: String, _ more: String = "") async throws -> Scenario.Report {
        try await scenario(steps, more).run()
    }
}

extension Scenario.Report {
    /// The differences, by the pointer of the expected value.
    var differences: [String: [String]] {
        var all: [String: [String]] = [:]
        for step in steps {
            guard case .failed(let differences) = step.outcome else { continue }
            for difference in differences { all[difference.pointer] = difference.text }
        }
        return all
    }
}
