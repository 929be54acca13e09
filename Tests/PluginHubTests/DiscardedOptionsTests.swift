import Foundation
import PluginHub
import Testing

/// What the seed weighed and dropped must not come back.
@Suite struct DiscardedOptionsTests {
    @Test func `sending and receiving is synchronous, and a command has no answer`() throws {
        // Each line compiles only while the method has exactly this type: no `async`, and for a command no result.
        let send: (any MessageSending) -> (Message, JSONObject?, any PluginProtocol) throws -> Void = {
            $0.send(command:payload:sender:)
        }
        let query: (any MessageSending) -> (Message, JSONObject?, any PluginProtocol) throws -> JSONObject = {
            $0.send(query:payload:sender:)
        }
        let receive: (any PluginProtocol) -> (Message, JSONObject?) throws -> Void = { $0.onReceive(command:payload:) }
        let answer: (any PluginProtocol) -> (Message, JSONObject?) throws -> JSONObject = {
            $0.onReceive(query:payload:)
        }
        _ = (send, query, receive, answer)
    }

    @Test func `the plugin protocols know no request and no asynchronous answer`() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources/PluginHub")
        let text = try String(contentsOf: sources.appendingPathComponent("PluginProtocol.swift"), encoding: .utf8)
        let declarations = text.split(separator: "\n").filter { !$0.contains("///") }
        #expect(declarations.contains { $0.contains("func onReceive(command: Message") })
        #expect(!declarations.contains { $0.contains("request") })
        // `run` takes asynchronous work; nothing else is asynchronous.
        let asynchronous = declarations.filter { $0.contains("async") && !$0.contains("func run(_ work:") }
        #expect(asynchronous.isEmpty)
        #expect(MessageKind.allCases.map(\.rawValue) == ["command", "query", "viewQuery", "event"])
    }
}
