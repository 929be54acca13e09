import Foundation
import Primitives
import StoreModel

/// A file of steps for a simulated store and their expected results (Documentation/Formats.md).
///
///     let scenario = try Scenario(contentsOf: "Examples/Scenarios/free-trial.json")
///     let report = try await scenario.run()
///     #expect(report.holds, "\(report)")
///
/// Each run has its own store in a temporary folder, a clock that is stopped unless the file sets a rate, and a
/// receiver of notifications in this process. A run does not use the network.
public struct Scenario: Sendable {
    /// The file name that the caller passed.
    public let file: String
    /// The name of the scenario.
    public let name: String
    /// The description of the scenario; can be empty.
    public let description: String

    let catalogue: Catalogue
    /// The products of Google Play; `nil` without a Google Play.
    let playCatalogue: PlayCatalogue?
    /// The app's server; `nil` without one.
    let server: Server?
    let bundleID: BundleID
    /// The virtual time of the first step.
    let start: Date
    let seed: UInt64
    let settings: [Setting]
    let steps: [ScenarioStep]

    struct Setting: Sendable {
        let setting: StoreSetting
        let value: JSONValue
    }

    /// Reads a scenario from a file, and its catalogue.
    ///
    /// - Parameter file: The path of the file.
    /// - Throws: An error that describes the file, the JSON Pointer and the fault.
    public init(contentsOf file: String) throws { try self.init(contentsOf: file, server: nil) }

    /// Reads a scenario from a file, and the files that it names. A scenario with a server gets one of the type `server`.
    package init(contentsOf file: String, server: (any ScenarioServer.Type)?) throws {
        let bytes = try ScenarioFile.read(file, for: file)
        try self.init(
            parsing: bytes, file: file, folder: (file as NSString).deletingLastPathComponent, server: server)
    }

    /// Parses a scenario, and reads its catalogue.
    ///
    /// - Parameters:
    ///   - bytes: The JSON document.
    ///   - file: The file name for errors and reports.
    ///   - folder: The folder that the path of the catalogue is relative to.
    /// - Throws: An error that describes the JSON Pointer and the fault.
    public init(parsing bytes: [UInt8], file: String, folder: String) throws {
        try self.init(parsing: bytes, file: file, folder: folder, server: nil)
    }

    /// Parses a scenario, and reads the files that it names. A scenario with a server gets one of the type `server`.
    package init(parsing bytes: [UInt8], file: String, folder: String, server: (any ScenarioServer.Type)?) throws {
        self = try ScenarioReader(file: file, folder: folder, server: server).read(bytes)
    }

    init(
        file: String, name: String, description: String, catalogue: Catalogue, playCatalogue: PlayCatalogue?,
        server: Server?, bundleID: BundleID, start: Date, seed: UInt64, settings: [Setting], steps: [ScenarioStep]
    ) {
        self.file = file
        self.name = name
        self.description = description
        self.catalogue = catalogue
        self.playCatalogue = playCatalogue
        self.server = server
        self.bundleID = bundleID
        self.start = start
        self.seed = seed
        self.settings = settings
        self.steps = steps
    }
}

/// An error in the file of a scenario or in its catalogue.
package struct ScenarioError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file name that the caller passed, or the path of a faulty catalogue.
    package let file: String
    /// The JSON Pointer of the fault (RFC 6901); empty for the whole document.
    package let pointer: String
    /// The fault, and the expected value.
    package let reason: String

    package init(file: String, pointer: String, reason: String) {
        self.file = file
        self.pointer = pointer
        self.reason = reason
    }

    package var description: String { "\(file)\(pointer.isEmpty ? "" : " at \(pointer)"): \(reason)" }
}

/// A fault at one place of a scenario's file.
struct ScenarioFinding: Error {
    let pointer: String
    let reason: String
}

/// Reads the files of scenarios.
enum ScenarioFile {
    /// Reads a file. A `ScenarioError` is about the file `referrer`, which refers to `path` at `pointer`.
    static func read(
        _ path: String, limit: Int = ScenarioReader.byteLimit, for referrer: String, at pointer: String = ""
    ) throws -> [UInt8] {
        func fault(_ reason: String) -> ScenarioError {
            ScenarioError(file: referrer, pointer: pointer, reason: reason)
        }
        let name = pointer.isEmpty ? "the file" : path
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: limit + 1) ?? Data()
        else { throw fault("\(name) is not there, or cannot be read") }
        guard data.count <= limit else { throw fault("\(name) is larger than \(limit) bytes") }
        return Array(data)
    }
}
