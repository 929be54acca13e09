import Foundation
import Primitives
import StoreModel

/// A story that a simulated store lives through, and what is expected of it: a file of steps (Documentation/Formats.md).
///
///     let scenario = try Scenario(contentsOf: "Examples/Scenarios/free-trial.json")
///     let report = try await scenario.run()
///     #expect(report.holds, "\(report)")
///
/// Each run has a store of its own in a temporary folder, a clock that stands still unless the file lets it run, and a
/// receiver of notifications in this process. Nothing is asked of the network.
public struct Scenario: Sendable {
    /// The file as the caller named it.
    public let file: String
    /// What the story is about, in a few words.
    public let name: String
    /// More about it; may be empty.
    public let description: String

    let catalogue: Catalogue
    let bundleID: BundleID
    /// When it begins.
    let start: Date
    let seed: UInt64
    let settings: [Setting]
    let steps: [ScenarioStep]

    struct Setting: Sendable {
        let setting: StoreSetting
        let value: JSONValue
    }

    /// Reads a file, and the catalogue that it names. Throws an error that describes the file, the place and the fault.
    public init(contentsOf file: String) throws {
        let bytes = try ScenarioFile.read(file, for: file)
        try self.init(parsing: bytes, file: file, folder: (file as NSString).deletingLastPathComponent)
    }

    /// From bytes. `file` is how errors name them, `folder` is where the path of the catalogue begins. Throws
    /// an error that describes the place and the fault.
    public init(parsing bytes: [UInt8], file: String, folder: String) throws {
        self = try ScenarioReader(file: file, folder: folder).read(bytes)
    }

    init(
        file: String, name: String, description: String, catalogue: Catalogue, bundleID: BundleID, start: Date,
        seed: UInt64, settings: [Setting], steps: [ScenarioStep]
    ) {
        self.file = file
        self.name = name
        self.description = description
        self.catalogue = catalogue
        self.bundleID = bundleID
        self.start = start
        self.seed = seed
        self.settings = settings
        self.steps = steps
    }
}

/// Why a file is no scenario, or cannot be run.
package struct ScenarioError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file as the caller named it; the catalogue's where that is the one at fault.
    package let file: String
    /// Where in the file (RFC 6901); empty for the whole.
    package let pointer: String
    /// What is wrong and what should stand there.
    package let reason: String

    package init(file: String, pointer: String, reason: String) {
        self.file = file
        self.pointer = pointer
        self.reason = reason
    }

    package var description: String { "\(file)\(pointer.isEmpty ? "" : " at \(pointer)"): \(reason)" }
}

/// What is wrong at one place of a scenario's file.
struct ScenarioFinding: Error {
    let pointer: String
    let reason: String
}

/// How a scenario's files are read.
enum ScenarioFile {
    /// Throws `ScenarioError`, which names `culprit` and `pointer`, where the file was named.
    static func read(
        _ path: String, limit: Int = ScenarioReader.byteLimit, for culprit: String, at pointer: String = ""
    ) throws -> [UInt8] {
        func fault(_ reason: String) -> ScenarioError {
            ScenarioError(file: culprit, pointer: pointer, reason: reason)
        }
        let name = pointer.isEmpty ? "the file" : path
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: limit + 1) ?? Data()
        else { throw fault("\(name) is not there, or cannot be read") }
        guard data.count <= limit else { throw fault("\(name) holds more than \(limit) bytes") }
        return Array(data)
    }
}
