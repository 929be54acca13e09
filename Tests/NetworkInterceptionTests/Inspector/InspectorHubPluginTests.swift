import BaseTestSupport
import Foundation
import HTTPCore
import NetworkInterception
import PluginHub
import Primitives
import Testing

@Suite struct InspectorHubPluginTests {
    private static let nothing = "No requests were recorded yet: "

    /// Waits until the plugin has `count` rows and no request is under way, and returns the rows.
    private func rows(_ asking: AskingPlugin, _ payload: JSONObject? = nil, count: Int) async throws -> [String] {
        var requests: [String] = []
        try await until("the plugin shows \(count) requests that have ended") {
            let rows = try asking.ask(payload).sections[0].rows.map(\.text)
            requests = rows == [Self.nothing] ? [] : rows
            return requests.count == count && !requests.contains { $0.hasSuffix("under way") }
        }
        return requests
    }

    private func hub(_ interceptor: Interceptor) throws -> (Hub, AskingPlugin) {
        let hub = Hub()
        hub.register { sender, _ in InspectorHubPlugin(messageSender: sender, interceptor: interceptor) }
        hub.register(AskingPlugin.self)
        #expect(!hub.start().hasErrors)
        return (hub, try #require(hub.plugin(named: "asking") as? AskingPlugin))
    }

    @Test func `records of before and after the start are shown newest first, each once`() async throws {
        let world = InspectorWorld()
        try await world.send("http://a.example/1")
        let (hub, asking) = try hub(world.interceptor)
        try await world.send("http://a.example/status/404")
        _ = try? await world.interceptor.transport(wrapping: BrokenTransport()).send(
            HTTPRequest(method: .post, url: "http://a.example/3"))
        let shown = try await rows(asking, count: 3)
        #expect(shown[0].hasPrefix("POST http://a.example/3: No connection could be made., "))
        #expect(shown[1].hasPrefix("GET http://a.example/status/404: 404, "))
        #expect(shown[2].hasPrefix("GET http://a.example/1: 200, ") && shown[2].hasSuffix(" ms"))
        #expect(try await rows(asking, ["count": 2], count: 2).count == 2)
        await hub.stop()
    }

    @Test func `after a removal only new records are shown`() async throws {
        let world = InspectorWorld()
        for number in 1...20 { try await world.send("http://a.example/\(number)") }
        let (hub, asking) = try hub(world.interceptor)
        for round in 1...3 {
            try await world.send("http://a.example/more")
            await world.interceptor.settled()
            _ = try await world.ask("/api/records", .delete)
            #expect(try await rows(asking, count: 0).isEmpty)
            try await world.send("http://a.example/status/\(200 + round)")
            let shown = try await rows(asking, count: 1)
            #expect(shown.first?.hasPrefix("GET http://a.example/status/\(200 + round): ") == true)
        }
        await hub.stop()
    }

    @Test func `the row of a failed request has no secret`() async throws {
        struct Failing: HTTPTransport {
            func send(_ request: HTTPRequest) async throws -> HTTPResponse {
                throw HTTPError(.connectionFailed, "Authorization: Bearer planted was refused")
            }
        }
        let world = InspectorWorld()
        let (hub, asking) = try hub(world.interceptor)
        _ = try? await world.interceptor.transport(wrapping: Failing()).send(
            HTTPRequest(method: .get, url: "http://anna:planted@a.example/?newPassword=planted"))
        let shown = try await rows(asking, count: 1)
        #expect(shown.first?.contains("was") == false && shown.first?.contains("planted") == false, "\(shown)")
        #expect(shown.first?.contains("newPassword=%5Bredacted%5D") == true)
        await hub.stop()
    }

    @Test(arguments: [["count": 0], ["count": 201], ["count": "many"]] as [JSONObject])
    func `an invalid count is refused`(payload: JSONObject) async throws {
        let (hub, asking) = try hub(Interceptor([]))
        #expect(throws: PluginError.self) { try asking.ask(payload) }
        await hub.stop()
    }

    @Test func `the plugin's policy equals its policy file`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Sources/NetworkInterception/Inspector/Hub/inspector.policy.json")
        let policy = try JSONDecoder().decode(Policy.self, from: Data(contentsOf: file))
        #expect(policy == InspectorHubPlugin.policy)
    }
}

extension ViewDocument.Row {
    fileprivate var text: String {
        guard case .text(let text) = content else { return "" }
        return "\(text.label): \(text.value ?? "")"
    }
}
