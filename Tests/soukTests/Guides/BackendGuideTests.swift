import Foundation
import HostTestSupport
import Testing

/// The guide "Test your App Store backend in CI", its commands and its workflow.
@Suite struct BackendGuideTests {
    private static let example = TestFiles.repository + "/Examples/BackendInCI"

    private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private func blocks(_ language: String) throws -> [String] {
        try GuideBlock.all(in: "Documentation/Guides/TestYourAppStoreBackendInCI.md")
            .filter { $0.language == language }.map(\.text)
    }

    @Test func `every command, Python and YAML block of the guide is part of the example`() throws {
        let (script, backend) = (try text(Self.example + "/test.sh"), try text(Self.example + "/backend.py"))
        let commands = try blocks("sh")
        let start = try #require(commands.first).components(separatedBy: "WORK=$(mktemp -d)\n")
        #expect(start.count == 2 && start[0] == "cd Examples/BackendInCI\n")
        for block in start.dropFirst() + commands.dropFirst().dropLast() { #expect(script.contains(block), "\(block)") }
        for block in try blocks("python") { #expect(backend.contains(block), "\(block)") }
        #expect(try blocks("yaml") == [text(Self.example + "/app-store.yml")])
        let scenarios = try #require(commands.last).trimmingCharacters(in: .newlines)
            .replacingOccurrences(of: "../Scenarios", with: "souk/Examples/Scenarios")
            .replacingOccurrences(of: "\"$WORK/app-store.xml\"", with: "app-store.xml")
        #expect(try text(Self.example + "/app-store.yml").contains(scenarios))
    }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with Apple's library"))
    func `the example's test passes`() async throws {
        let outcome = try await run("test.sh")
        #expect(outcome.status == 0 && outcome.output.hasSuffix("the backend does what it should\n"), "\(outcome)")
    }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with Apple's library"))
    func `the example's test fails when the backend does not do what it should`() async throws {
        let folder = try TemporaryFolder()
        let examples = folder.file("Examples")
        try FileManager.default.createDirectory(atPath: examples, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: Self.example, toPath: examples + "/BackendInCI")
        try FileManager.default.copyItem(atPath: TestFiles.darkroom, toPath: examples + "/darkroom.storekit")
        let backend = examples + "/BackendInCI/backend.py"
        let generous = try text(backend).replacingOccurrences(
            of: "latest.status in (Status.ACTIVE, Status.BILLING_GRACE_PERIOD)", with: "True")
        try Data(generous.utf8).write(to: URL(fileURLWithPath: backend))
        let outcome = try await run("test.sh", in: examples + "/BackendInCI")
        #expect(outcome.status == 1 && outcome.errors.contains("expected \"access\": false"), "\(outcome)")
    }

    private func run(_ script: String, in folder: String = Self.example) async throws -> ChildProgram.Outcome {
        try await GuideShell.run(["bash", folder + "/" + script])
    }
}
