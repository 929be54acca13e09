import Foundation
import PluginHub
import Testing

/// What Documentation/Guides says of the hub, done as it says. That the Swift of the guides stands in this folder is
/// checked by Scripts/check-docs.
@Suite struct GuideTests {
    private static let guides = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Documentation/Guides")

    /// The fenced blocks of a guide in `language`.
    private func blocks(_ language: String, of guide: String) throws -> [String] {
        let text = try String(contentsOf: Self.guides.appendingPathComponent(guide), encoding: .utf8)
        return text.components(separatedBy: "```\(language)\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    }

    /// The policy of the guide, as a file.
    private func withPolicyFile<Value>(_ body: (String) throws -> Value) throws -> Value {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try Data(blocks("json", of: "WritingAPolicy.md")[0].utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try body(path)
    }

    private func withHub(_ body: (Hub, EditorPlugin, Screen) async throws -> Void) async throws {
        let screen = Screen()
        func start(_ policyPath: String) -> Hub {
            let hub = Hub()
            hub.register(NotesPlugin.self, configurationFiles: ["policy": policyPath])
            hub.register { sender, _ in EditorPlugin(messageSender: sender, screen: screen) }
            let report = hub.start()
            for finding in report.findings { print(finding) }
            return hub
        }
        let hub = try withPolicyFile(start)
        #expect(hub.report.findings.isEmpty)
        #expect(hub.report.running == ["Notes", "Editor"])
        try await body(hub, try #require(hub.plugin(named: "Editor") as? EditorPlugin), screen)
        await hub.stop()
    }

    @Test func `a saved note is answered, counted and shown`() async throws {
        try await withHub { _, editor, screen in
            #expect(try await editor.save("Milk") == 1)
            #expect(try await editor.saveUntyped("Bread") == ["number": 2])
            try editor.show()
            #expect(screen.shown == ["2\nNotes\n=====\n\n  1  Milk\n  2  Bread\n"])
        }
    }

    @Test func `what is wrong at once is thrown, what goes wrong later is an output`() async throws {
        try await withHub { hub, editor, screen in
            await #expect(throws: PluginError(.invalidField, "")) { try await editor.save("") }
            try editor.showWhatIsSaved()
            try editor.saveAndForget("Milk")
            await #expect(throws: (any Error).self) { try await editor.save(String(repeating: "long ", count: 30)) }
            #expect(screen.shown.contains { $0.hasPrefix("Not saved") })
        }
    }

    @Test func `two commands at once have their own answers`() async throws {
        try await withHub { _, editor, _ in
            async let milk = editor.save("Milk")
            async let bread = editor.save("Bread")
            let numbers = try await [milk, bread]
            #expect(numbers.sorted() == [1, 2])
        }
    }

    @Test func `the trace shows who said what`() async throws {
        try await withHub { hub, editor, _ in
            let (entries, others) = (hub.trace.values(), hub.trace.values())
            _ = try await editor.save("Milk")
            entries.cancel()
            others.cancel()
            for await entry in entries {
                print(entry.sender ?? "-", entry.kind, entry.message, entry.verdict, entry.duration)
            }
            var seen: [String] = []
            for await entry in others { seen.append("\(entry.sender ?? "-") \(entry.kind) \(entry.message.name)") }
            #expect(seen == ["Editor event notes.saved", "Editor command notes.save"])
        }
    }

    @Test func `policies are reviewed without a hub`() throws {
        try withPolicyFile { policyPath in
            let policies = [try Policy(contentsOfFile: policyPath), EditorPlugin.policy]
            #expect(Policy.findings(among: policies).isEmpty)
        }
    }
}
