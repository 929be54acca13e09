import Foundation
import PluginHub
import Testing

/// The examples of `Documentation/Formats.md` are what they say.
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
        try #require(examples.count == 3)
        let folder = try TemporaryFolder()
        let files = [try folder.write("list.json", examples[0]), try folder.write("features.json", examples[1])]
        let outcome = try await SoukExecutable.run(["catalog", "lint", "--json"] + files)
        #expect(outcome.status == 0)
        #expect(outcome.json?["findings"] == [])
    }

    @Test func `the documented policy is a policy`() throws {
        let policy = try Policy(json: Array(try examples()[2].utf8))
        #expect(policy.name == "checkout")
        #expect(policy.send.commands == ["store.purchase", "store.restore"])
        #expect(policy.subscribeAtAppLaunch.events == ["store.featuresChanged"])
    }
}
