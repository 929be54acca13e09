import Foundation
import HostTestSupport
import Testing

/// The guide "Test your App Store backend in CI", its commands and its workflow.
@Suite struct BackendGuideTests {
    private static let example = TestFiles.repository + "/Examples/BackendInCI"

    private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private func blocks(_ language: String) throws -> [String] {
        try text(TestFiles.repository + "/Documentation/Guides/TestYourAppStoreBackendInCI.md")
            .components(separatedBy: "```\(language)\n").dropFirst().compactMap {
                $0.components(separatedBy: "```").first
            }
    }

    @Test func `the guide quotes the example, and nothing else`() throws {
        let (script, backend) = (try text(Self.example + "/test.sh"), try text(Self.example + "/backend.py"))
        let commands = try blocks("sh")
        for block in commands.dropLast() { #expect(script.contains(block), "\(block)") }
        for block in try blocks("python") { #expect(backend.contains(block), "\(block)") }
        #expect(try blocks("yaml") == [text(Self.example + "/app-store.yml")])
        // The scenarios are run from the root of the repository in the guide, and from that of a backend in the workflow.
        #expect(
            try text(Self.example + "/app-store.yml").contains(
                try #require(commands.last).trimmingCharacters(in: .newlines)
                    .replacingOccurrences(of: "Examples/", with: "souk/Examples/")))
    }

    @Test func `the example's test passes`() async throws {
        let outcome = try await run("test.sh")
        #expect(outcome.status == 0 && outcome.output.hasSuffix("the backend does what it should\n"), "\(outcome)")
    }

    @Test func `the example's test fails when the backend does not do what it should`() async throws {
        let folder = try TemporaryFolder()
        let examples = folder.file("Examples")
        try FileManager.default.createDirectory(atPath: examples, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: Self.example, toPath: examples + "/BackendInCI")
        try FileManager.default.copyItem(atPath: TestFiles.darkroom, toPath: examples + "/darkroom.storekit")
        let backend = examples + "/BackendInCI/backend.py"
        // Access for ever to whoever paid once.
        let generous = try text(backend).replacingOccurrences(
            of: "latest.status in (Status.ACTIVE, Status.BILLING_GRACE_PERIOD)", with: "True")
        try Data(generous.utf8).write(to: URL(fileURLWithPath: backend))
        let outcome = try await run("test.sh", in: examples + "/BackendInCI")
        #expect(outcome.status == 1 && outcome.errors.contains("expected \"access\": false"), "\(outcome)")
    }

    @Test func `the guide's scenarios are played as it says`() async throws {
        let folder = try TemporaryFolder()
        let command = try #require(try blocks("sh").last)
        let outcome = try await OutsideJudge.run(
            "/usr/bin/env", ["PATH=\(GuideShell.path)", "bash", "-euo", "pipefail", "-s"],
            input: "cd '\(folder.path)'\nln -s '\(TestFiles.repository)/Examples' Examples\n\(command)")
        #expect(outcome.status == 0, "\(outcome)")
        #expect(try folder.text("app-store.xml").hasPrefix("<?xml"))
    }

    private func run(_ script: String, in folder: String = Self.example) async throws -> OutsideJudge.Verdict {
        let (store, backend) = (try ReservedPort(), try ReservedPort())
        defer { withExtendedLifetime((store, backend)) {} }
        return try await GuideShell.run(
            ["bash", folder + "/" + script],
            environment: ["STORE_PORT=\(store.number)", "BACKEND_PORT=\(backend.number)"])
    }
}
