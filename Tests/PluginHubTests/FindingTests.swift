import Foundation
import Testing

@testable import PluginHub

/// The findings of a registration and their severities. The hub reads the policy of a plugin once.
@Suite struct FindingTests {
    private let journal = Journal<String>()

    /// Reads its policy from the file "policy", with `Policy` or by itself.
    private final class FilePlugin: PluginProtocol {
        let policy: Policy
        init(messageSender: any MessageSending, configurationFiles: [String: String]) throws {
            let path = configurationFiles["policy"] ?? ""
            if configurationFiles["by"] == "itself" {
                policy = try Policy(json: Data(contentsOf: URL(fileURLWithPath: path)))
            } else {
                policy = try Policy(contentsOfFile: path)
            }
        }

        func onReceive(command: Message, payload: JSONObject?) throws {}
    }

    private func withFile(_ text: String, _ body: (URL) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).policy.json")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await body(file)
    }

    @Test func `the table of findings in the guide equals the rules in the code`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let guide = try String(
            contentsOf: root.appendingPathComponent("Documentation/Guides/WritingAPolicy.md"), encoding: .utf8)
        let section = try #require(guide.components(separatedBy: "| finding | code |").last)
        let rows = section.split(separator: "\n", omittingEmptySubsequences: false).dropFirst(2)
            .prefix { $0.hasPrefix("|") }
            .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
        let expected = FindingRule.allCases.map { rule in
            [
                rule.code.map { "`\($0.rawValue)`" } ?? "the code of the thrown error", rule.severity.rawValue,
                rule.partialSeverity?.rawValue ?? "–",
            ]
        }
        #expect(rows.map { Array($0[1...3]) } == expected)
    }

    @Test(arguments: ["by Policy", "itself"])
    func `a configuration file that cannot be read is a finding of its own, and the other plugins run`(reader: String)
        throws
    {
        let hub = Hub()
        hub.register(FilePlugin.self, configurationFiles: ["policy": "/nowhere/a.policy.json", "by": reader])
        hub.register(Policy(name: "Other"))
        let report = hub.start()
        #expect(report.findings.map(\.code) == [.unreadableConfiguration])
        #expect(report.findings.map(\.severity) == [.error])
        #expect(report.findings[0].plugin == "FilePlugin")
        #expect(report.running == ["Other"])
    }

    @Test func `an invalid configuration file, or another file that cannot be read, is a failed initialization`()
        async throws
    {
        try await withFile("{}") { file in
            let hub = Hub()
            hub.register(FilePlugin.self, configurationFiles: ["policy": file.path])
            hub.register { _, _ in
                _ = try Data(contentsOf: URL(fileURLWithPath: "/nowhere/else"))
                return ScriptedPlugin(Policy(name: "Never"), Hub.unconnectedSender)
            }
            #expect(hub.start().findings.map(\.code) == [.initializationFailed, .initializationFailed])
        }
    }

    @Test func `a policy file that changes has no effect before the plugin is registered again`() async throws {
        try await withFile(#"{"name": "File", "receive": {"commands": ["a"]}}"#) { file in
            let hub = Hub(configuration: .init(isPartialSet: true))
            hub.register(FilePlugin.self, configurationFiles: ["policy": file.path])
            hub.register(.sending("Client", .command, "a", "b"))
            hub.start()
            let client = try hub.scripted("Client")
            try Data(#"{"name": "File", "receive": {"commands": ["b"]}}"#.utf8).write(to: file)
            try client.send(command: "a")
            #expect(throws: PluginError(.noReceiver, "")) { try client.send(command: "b") }
            hub.register(Policy(name: "Other"))
            try client.send(command: "a")
            await hub.deregister("File")
            hub.register(FilePlugin.self, configurationFiles: ["policy": file.path])
            try client.send(command: "b")
            #expect(throws: PluginError(.noReceiver, "")) { try client.send(command: "a") }
            try FileManager.default.removeItem(at: file)
            try client.send(command: "b")
        }
    }

    @Test func `a policy that changes after registration has no effect`() throws {
        final class Greedy: PluginProtocol {
            let sender: any MessageSending
            let answers = Journal<Int>()
            init(messageSender: any MessageSending, configurationFiles: [String: String]) { sender = messageSender }
            var policy: Policy {
                answers.note(1)
                return Policy(name: "Greedy", send: .init(commands: answers.entries.count > 1 ? ["a"] : []))
            }
        }
        let hub = Hub()
        hub.register(Greedy.self)
        hub.register(.taking("Server", .command, "a"), answering(journal))
        hub.start()
        let greedy = try #require(hub.plugin(named: "Greedy") as? Greedy)
        #expect(greedy.policy.send.commands == ["a"])
        hub.register(Policy(name: "Other"))
        #expect(throws: PluginError(.notAllowed, "")) {
            try greedy.sender.send(command: "a", payload: nil, sender: greedy)
        }
        #expect(journal.entries.isEmpty)
    }

    @Test func `an event without a subscriber is a warning in complete sets, until a plugin subscribes`() async {
        for isPartialSet in [false, true] {
            let hub = Hub(configuration: .init(isPartialSet: isPartialSet))
            hub.register(.taking("Source", .event, "heard", "unheard", "launched"), answering(journal))
            hub.register(Policy(name: "Reader", subscribe: ["heard"], subscribeAtAppLaunch: ["launched"]))
            let report = hub.start()
            #expect(report.running == ["Source", "Reader"])
            #expect(report.findings.map(\.message) == (isPartialSet ? [] : ["unheard"]))
            #expect(report.findings.allSatisfy { $0.code == .nobodyListens && $0.severity == .warning })
            #expect(!report.hasErrors)
            await hub.deregister("Reader")
            #expect(hub.report.findings.map(\.message) == (isPartialSet ? [] : ["heard", "unheard", "launched"]))
            await hub.stop()
        }
    }

    @Test(arguments: [MessageKind.command, .query, .viewQuery])
    func `a message that is received and never sent is not a finding`(kind: MessageKind) {
        #expect(Policy.findings(among: [.taking("Server", kind, "a")]).isEmpty)
    }
}

extension Hub {
    /// The sender of a plugin that is not in a hub.
    fileprivate static let unconnectedSender: any MessageSending = PluginChannel(
        configuration: .init(), trace: TraceReaders())
}
