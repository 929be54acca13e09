import Foundation
import PluginHub
import Primitives
import Testing

/// Checks the first six examples and the last of `Documentation/Formats.md`.
@Suite struct FormatsTests {
    /// The JSON blocks of the document, in order.
    private func examples() throws -> [String] {
        let text = try String(contentsOfFile: TestFiles.repository + "/Documentation/Formats.md", encoding: .utf8)
        return text.components(separatedBy: "```json\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
    }

    @Test func `the documented product list and feature map are accepted`() async throws {
        let examples = try examples()
        try #require(examples.count >= 5)
        let folder = try TemporaryFolder()
        let files = [try folder.write("list.json", examples[0]), try folder.write("features.json", examples[1])]
        let outcome = try await SoukExecutable.run(["catalog", "lint", "--json"] + files)
        #expect(outcome.status == 0)
        #expect(outcome.json?["findings"] == [])
    }

    @Test func `the documented policy is accepted`() throws {
        let policy = try Policy(json: Array(try examples()[2].utf8))
        #expect(policy.name == "checkout")
        #expect(policy.send.commands == ["store.purchase", "store.restore"])
        #expect(policy.subscribeAtAppLaunch.events == ["store.featuresChanged"])
    }

    @Test func `the documented settings can be set as they are, and no setting is missing`() async throws {
        let example = try JSONValue(parsing: try examples()[3])
        let folder = try TemporaryFolder()
        let service = try await SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"),
        ])
        let settings = try #require(example["settings"]?.arrayValue)
        for setting in settings {
            let (name, value) = try (#require(setting["name"]?.stringValue), #require(setting["value"]))
            let set = try await SoukExecutable.run([
                "store", "--url", service.url, "settings", "set", name, value.stringValue ?? value.text(), "--json",
            ])
            #expect(set.status == 0 && set.json == setting, "\(set.output) \(set.errors)")
        }
        let listed = try await SoukExecutable.run(["store", "--url", service.url, "settings", "list", "--json"])
        let all = try #require(listed.json?["settings"]?.arrayValue)
        for setting in settings { #expect(all.contains(setting), "\(setting)") }
        #expect(Set(all.compactMap { $0["name"]?.stringValue }) == (try documentedSettings()))
        #expect(await service.stop() == 0)
    }

    @Test func `the documented scenario passes, and no subject of an expectation is undocumented`() async throws {
        let folder = try TemporaryFolder()
        let file = TestFiles.repository + "/Documentation/Formats.md"
        let part = try String(contentsOfFile: file, encoding: .utf8).components(separatedBy: "## Scenario\n")[1]
            .components(separatedBy: "\n## ")[0]
        let example = try examples()[4].replacingOccurrences(of: "darkroom.storekit", with: TestFiles.darkroom)
        let scenario = try folder.write("scenario.json", example)
        let outcome = try await SoukExecutable.run(["scenario", "run", scenario])
        #expect(outcome.status == 0, "\(outcome.output) \(outcome.errors)")
        // The error for an unknown subject of an expectation lists all subjects.
        let unknown = try folder.write(
            "unknown.json",
            #"{"name": "a", "catalogue": "\#(TestFiles.darkroom)", "steps": [{"expect": {"nothing": []}}]}"#)
        let errors = try await SoukExecutable.run(["scenario", "run", unknown]).errors
        let words = try #require(errors.components(separatedBy: "cannot be expected; use one of ").last)
            .trimmingCharacters(in: .whitespacesAndNewlines).components(separatedBy: ", ")
        #expect(words.count > 10)
        for word in words { #expect(part.contains("`\(word)`"), "\(word) is not documented") }
    }

    @Test func `the documented scenario with a server passes`() async throws {
        let folder = try TemporaryFolder()
        let example = try examples()[5].replacingOccurrences(of: "darkroom.storekit", with: TestFiles.darkroom)
        #expect(example.contains(#""server""#))
        let outcome = try await SoukExecutable.run(["scenario", "run", try folder.write("scenario.json", example)])
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.output) \(outcome.errors)")
    }

    @Test func `the documented profiles are read`() async throws {
        let example = try #require(try examples().last)
        let folder = try TemporaryFolder()
        let service = try await SoukService(["simulate", "--catalog", TestFiles.darkroom])
        try FileManager.default.createDirectory(atPath: folder.file("souk"), withIntermediateDirectories: false)
        _ = try folder.write(
            "souk/profiles.json", example.replacingOccurrences(of: "http://127.0.0.1:8080", with: service.url))
        let environment = ["XDG_CONFIG_HOME": folder.path, "SOUK_STORE_URL": ""]
        let listed = try await SoukExecutable.run(["store", "products"], environment: environment)
        #expect(listed.status == 0, "\(listed)")
        let other = try await SoukExecutable.run(
            ["store", "--profile", "none", "products"], environment: environment)
        #expect(other.status == 2 && other.errors.contains("profiles.json: there is no profile"), "\(other)")
        #expect(await service.stop() == 0)
    }

    /// The names of the table, `<api>` spelled out.
    private func documentedSettings() throws -> Set<String> {
        let text = try String(contentsOfFile: TestFiles.repository + "/Documentation/Formats.md", encoding: .utf8)
        let part = try #require(text.components(separatedBy: "## Settings of the simulator").last)
            .components(separatedBy: "\n## ")[0]
        let rows = part.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let names = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
        let sentence = try #require(part.split(separator: "\n").first { $0.hasPrefix("For each `<api>`") })
        let apis = sentence.prefix { $0 != "." }.split(separator: "`").enumerated().filter { $0.offset % 2 == 1 }
            .map { String($0.element) }.filter { $0 != "<api>" }
        return Set(
            names.flatMap { name in
                name.hasSuffix("<api>") ? apis.map { name.dropLast(5) + $0 } : [name]
            })
    }
}
