import Foundation
import PluginHub
import Testing

/// The examples of Documentation/Guides about the hub. Scripts/check-docs checks that the Swift code of the guides is
/// in a file of Examples or Tests, such as those in this folder.
@Suite struct GuideTests {
    private static let guides = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Documentation/Guides")

    /// Returns the fenced blocks of a guide in `language`.
    private func blocks(_ language: String, of guide: String) throws -> [String] {
        let text = try String(contentsOf: Self.guides.appendingPathComponent(guide), encoding: .utf8)
        return text.components(separatedBy: "```\(language)\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    }

    /// Creates a folder with the policy of the guide.
    private func withFolder<Value>(_ body: (_ folder: String, _ policyPath: String) async throws -> Value) async throws
        -> Value
    {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let policy = folder.appendingPathComponent("notes.policy.json")
        try Data(blocks("json", of: "WritingAPolicy.md")[0].utf8).write(to: policy)
        return try await body(folder.path, policy.path)
    }

    private func withHub(_ body: (Hub, EditorPlugin, Screen, _ folder: String) async throws -> Void) async throws {
        try await withFolder { folder, policyPath in
            let screen = Screen()
            func start() -> Hub {
                let hub = Hub()
                hub.register(NotesPlugin.self, configurationFiles: ["policy": policyPath, "notes": folder])
                hub.register { sender, _ in EditorPlugin(messageSender: sender, screen: screen) }
                let report = hub.start()
                for finding in report.findings { print(finding) }
                return hub
            }
            let hub = start()
            #expect(hub.report.findings.isEmpty)
            #expect(hub.report.running == ["Notes", "Editor"])
            try await body(hub, try #require(hub.plugin(named: "Editor") as? EditorPlugin), screen, folder)
            await hub.stop()
        }
    }

    @Test func `a saved note is answered, counted and shown`() async throws {
        try await withHub { _, editor, screen, _ in
            #expect(try await editor.save("Milk") == 1)
            #expect(try await editor.saveUntyped("Bread") == ["number": 2])
            try editor.show()
            #expect(screen.shown == ["2\nNotes\n=====\n\n  1  Milk\n  2  Bread\n"])
        }
    }

    @Test func `an immediate error is thrown, a later one is an output`() async throws {
        try await withHub { _, editor, screen, folder in
            await #expect(throws: PluginError(.invalidField, "")) { try await editor.save("") }
            try editor.showWhatIsSaved()
            #expect(try await editor.save("Milk") == 1)
            try FileManager.default.removeItem(atPath: folder)
            await #expect(throws: CocoaError.self) { try await editor.save("Bread") }
            #expect(screen.shown.count == 2)
            #expect(screen.shown.first == "Saved note 1.")
            #expect(screen.shown.last?.hasPrefix("Not saved: ") == true)
        }
    }

    @Test func `two commands at once have their own answers`() async throws {
        try await withHub { _, editor, _, _ in
            async let milk = editor.save("Milk")
            async let bread = editor.save("Bread")
            let numbers = try await [milk, bread]
            #expect(numbers.sorted() == [1, 2])
        }
    }

    @Test func `the trace shows each message with its sender`() async throws {
        try await withHub { hub, editor, _, _ in
            let (entries, others) = (hub.trace.values(), hub.trace.values())
            _ = try await editor.save("Milk")
            var seen: Set<String> = []
            for await entry in others {
                seen.insert("\(entry.sender ?? "-") \(entry.kind) \(entry.message.name) \(entry.verdict)")
                if seen.count == 3 { break }
            }
            entries.cancel()
            for await entry in entries {
                print(entry.sender ?? "-", entry.kind, entry.message, entry.verdict, entry.duration)
            }
            #expect(
                seen == [
                    "Editor event notes.saved subscribed", "Editor command notes.save delivered",
                    "Notes event notes.saved delivered",
                ])
        }
    }

    @Test func `policies are reviewed without a hub`() async throws {
        try await withFolder { _, policyPath in
            let policies = [try Policy(contentsOfFile: policyPath), EditorPlugin.policy]
            #expect(Policy.findings(among: policies).isEmpty)
        }
    }
}
