import Foundation
import HTTPCore
import PluginHub
import Primitives
import Testing
import WebPages

// The code of Documentation/Guides/HubGraph.md.

/// Offers a screen and sends the action that is chosen there.
private final class DeskPlugin: PluginProtocol {
    let messageSender: any MessageSending
    let policy = Policy(name: "Desk", send: .init(commands: ["notes.clear"]))
    let screen = ViewDocument(title: "Notes", sections: [.init(actions: [.init("notes.clear", values: ["all": true])])])

    init(messageSender: any MessageSending, configurationFiles: [String: String]) { self.messageSender = messageSender }

    func respond(to request: HTTPRequest) async throws -> HTTPResponse {
        let form = ViewDocumentForm(screen, postingTo: "/notes")
        guard request.method == "POST" else { return HTTPResponse(page: form.page) }
        let body = String(decoding: try await request.body.collect(upTo: 10_000), as: UTF8.self)
        let action = try form.action(posted: HTTPQuery(parsing: body) ?? HTTPQuery())
        try messageSender.send(command: action.command(), payload: action.values, sender: self)
        return HTTPResponse(status: 303, headers: ["Location": "/notes"])
    }
}

private final class NotesPlugin: PluginProtocol {
    let policy = Policy(name: "Notes", receive: .init(commands: ["notes.clear"]))
    let received = Locked<[JSONObject?]>([])

    init(messageSender: any MessageSending, configurationFiles: [String: String]) {}

    func onReceive(command: Message, payload: JSONObject?) throws { received.withLock { $0.append(payload) } }
}

@Suite struct GuideTests {
    private func hub() -> Hub {
        let hub = Hub()
        hub.register(DeskPlugin.self)
        hub.register(NotesPlugin.self)
        hub.start()
        return hub
    }

    @Test func `a program draws and documents its own hub`() async throws {
        let hub = hub()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("souk-guide-\(UUID().uuidString).html")
        defer { try? FileManager.default.removeItem(at: file) }
        let graph = hub.graph
        let document = graph.asyncAPI(title: "Notes", version: "2.1.0")
        let texts = [graph.mermaid(), graph.dot(), document.text(pretty: true)]
        try Data(HubPage(graph, title: "Notes").page.text.utf8).write(to: file)
        #expect(texts.allSatisfy { $0.contains("notes.clear") })
        #expect(try String(contentsOf: file, encoding: .utf8).contains("notes.clear"))
        await hub.stop()
    }

    @Test func `a posted form is sent as the command of its action`() async throws {
        let hub = hub()
        let desk = try #require(hub.plugin(named: "Desk") as? DeskPlugin)
        let notes = try #require(hub.plugin(named: "Notes") as? NotesPlugin)
        let page = try await desk.respond(to: HTTPRequest(method: "GET", url: "/notes"))
        #expect(page.status == 200)
        let fields = HTTPQuery([("action", "notes.clear"), ("values", #"{"all":true}"#)])
        let posted = try await desk.respond(to: HTTPRequest(method: "POST", url: "/notes", body: .text(fields.encoded)))
        #expect(posted.status == 303)
        #expect(notes.received.withLock { $0 } == [["all": true]])
        await hub.stop()
    }
}
