import Foundation
import PluginHub
import Testing

// The code of Documentation/Guides/PluginHub.md, compiled and run. The last test holds the two together.

final class NotesPlugin: PluginProtocol {
    private let messageSender: any MessageSending
    private let saved = EventSubject()
    let policy: Policy

    init(messageSender: any MessageSending, configurationFiles: [String: String]) throws {
        self.messageSender = messageSender
        policy = try Policy(contentsOfFile: configurationFiles["policy"] ?? "notes.policy.json")
    }

    func onReceive(command: Message, payload: JSONObject?) throws {
        switch command.name {
        case "notes.save":
            let text = try payload.require("text", as: String.self)
            messageSender.context?.run { [saved] in
                do {
                    let number = try await Self.store(text)
                    saved.send(.success(["number": .number(number)], correlationId: command.id))
                } catch {
                    saved.send(.failure(error, correlationId: command.id))
                }
            }
        default: throw unsupported(.command, command)
        }
    }

    func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher {
        saved.publisher
    }

    private static func store(_ text: String) async throws -> Int { text.count }
}

private final class EditorPlugin: PluginProtocol {
    private let messageSender: any MessageSending

    init(messageSender: any MessageSending, screen: String) { self.messageSender = messageSender }

    init(messageSender: any MessageSending, configurationFiles: [String: String]) {
        self.messageSender = messageSender
    }

    var policy: Policy {
        Policy(name: "Editor", send: .init(commands: ["notes.save"]), subscribe: ["notes.saved"])
    }

    func save() async throws -> JSONObject? {
        let id = MessageID.unique()
        let answers = try messageSender.publisher(forEvent: "notes.saved", payload: nil, subscriber: self)
            .filter(correlationId: id).values()
        try messageSender.send(command: Message("notes.save", id: id), payload: ["text": "Milk"], sender: self)
        for await answer in answers { return try answer.payload() }
        return nil
    }
}

@Suite struct GuideTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private func blocks(_ language: String) throws -> [String] {
        let file = Self.root.appendingPathComponent("Documentation/Guides/PluginHub.md")
        let guide = try String(contentsOf: file, encoding: .utf8)
        return guide.components(separatedBy: "```\(language)\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
    }

    @Test func `the guide's plugins save a note`() async throws {
        let policyPath = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try Data(blocks("json")[0].utf8).write(to: URL(fileURLWithPath: policyPath))
        defer { try? FileManager.default.removeItem(atPath: policyPath) }
        let screen = "screen"
        func start() -> (Hub, Hub.Report) {
            let hub = Hub()
            hub.register(NotesPlugin.self, configurationFiles: ["policy": policyPath])
            hub.register { sender, _ in EditorPlugin(messageSender: sender, screen: screen) }
            let report = hub.start()
            for finding in report.findings { print(finding) }
            return (hub, report)
        }
        let (hub, report) = start()
        #expect(report.findings.isEmpty)
        #expect(report.running == ["Notes", "Editor"])
        let editor = try #require(hub.plugin(named: "Editor") as? EditorPlugin)
        let tracing = Task {
            for await entry in hub.trace {
                print(entry.sender ?? "-", entry.kind, entry.message, entry.verdict, entry.duration)
            }
        }
        #expect(try await editor.save() == ["number": 4])
        tracing.cancel()
        await tracing.value
        await hub.stop()
    }

    @Test func `every line of Swift in the guide stands in this file`() throws {
        func lines(_ text: String) -> [String] {
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let compiled = Set(lines(try String(contentsOfFile: #filePath, encoding: .utf8)))
        let blocks = try blocks("swift")
        #expect(blocks.count == 4)
        for line in blocks.flatMap(lines) { #expect(compiled.contains(line)) }
    }
}
