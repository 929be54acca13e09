import Foundation
import PluginHub
import Testing

/// The interface has no request messages, no asynchronous queries and no answers to commands. The tests read the
/// compiled module, so that extensions and all public symbols count.
@Suite struct DiscardedOptionsTests {
    @Test func `sending and receiving is synchronous, and a command has no answer`() throws {
        // Each line compiles only if the method has exactly this type.
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

    #if os(Linux)
        @Test func `no function of a sender, a plugin or its context is asynchronous`() async throws {
            let ways = try await SymbolGraph.ofPluginHub().members(of: [
                "MessageSending", "PluginProtocol", "PluginContext",
            ])
            for title in ["send(query:payload:sender:)", "onReceive(query:payload:)", "send(_:id:as:)", "run(_:)"] {
                #expect(ways.contains { $0.names.title == title }, "\(title)")
            }
            #expect(ways.filter(\.isAsynchronous).map(\.declaration) == [])
        }

        @Test func `no command has an answer`() async throws {
            let ways = try await SymbolGraph.ofPluginHub().members(of: [
                "MessageSending", "PluginProtocol", "PluginContext",
            ])
            let commands = ways.filter { way in
                way.names.title.contains("command") || way.declaration.contains(": HubCommand")
            }
            #expect(
                Set(commands.map(\.names.title)) == [
                    "send(command:payload:sender:)", "onReceive(command:payload:)", "send(_:id:as:)",
                ])
            #expect(commands.filter { !$0.returnsNothing }.map(\.declaration) == [])
        }

        @Test func `there is no request message`() async throws {
            let symbols = try await SymbolGraph.ofPluginHub().symbols
            let requests = symbols.filter { $0.declaration.lowercased().contains("request") }
            #expect(requests.allSatisfy { $0.pathComponents.starts(with: ["Policy", "Exchange"]) })
            #expect(MessageKind.allCases.map(\.rawValue) == ["command", "query", "viewQuery", "event"])
        }

        @Test(arguments: [
            ("func send(query: Message) async throws -> JSONObject", true),
            ("func run(_ work: @escaping @Sendable () async -> Void) -> Bool", false),
            ("func ask() throws -> (Int) async -> Void", true),
            ("var answer: Int { get async }", true),
            ("func asyncish(async: Int) -> Int", false),
        ])
        func `an asynchronous function differs from one with an asynchronous parameter`(
            declaration: String, expected: Bool
        ) {
            let symbol = SymbolGraph.Symbol(
                pathComponents: [], names: .init(title: ""), declarationFragments: [.init(spelling: declaration)],
                functionSignature: nil)
            #expect(symbol.isAsynchronous == expected)
        }
    #endif
}
