import Foundation
import HTTPCore
import NetworkInterception
import PluginHub
import Primitives
import Testing

/// The live updates of the page.
@Suite struct InspectorUpdatesTests {
    /// The events of `api/updates`, one after the other.
    private struct Events {
        struct Event {
            let name, id: String
            let data: JSONValue
        }

        private let stream: HTTPBodyStream
        private var rest = ""

        init(_ world: InspectorWorld, _ query: String = "", lastID: String? = nil) async throws {
            var headers: HTTPHeaders = [:]
            headers["Last-Event-ID"] = lastID
            let answer = try await world.ask("/api/updates?" + query, headers: headers)
            #expect(answer.headers["Content-Type"] == "text/event-stream")
            guard case .stream(let stream) = answer.body else { throw HTTPError(.protocolError, "This is no stream.") }
            self.stream = stream
        }

        /// The next event; `nil` when the stream has ended.
        mutating func next() async throws -> Event? {
            while true {
                if let end = rest.range(of: "\n\n") {
                    let lines = rest[..<end.lowerBound].split(separator: "\n")
                    rest = String(rest[end.upperBound...])
                    func field(_ name: String) -> String? {
                        lines.first { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
                    }
                    guard let name = field("event") else { continue }
                    return Event(
                        name: name, id: field("id") ?? "", data: try JSONValue(parsing: field("data") ?? "null"))
                }
                guard let chunk = try await stream.next() else { return nil }
                rest += String(decoding: chunk, as: UTF8.self)
            }
        }

        /// Reads events until the record of this path has a response.
        mutating func untilAnswered(_ path: String) async throws -> Event {
            while let event = try await next() {
                let records = event.data["records"]?.arrayValue ?? []
                if records.contains(where: { $0["path"]?.stringValue == path && $0["state"] == "answered" }) {
                    return event
                }
            }
            throw HTTPError(.bodyFailed, "The stream ended before \(path) was answered.")
        }
    }

    private func position(_ world: InspectorWorld) async throws -> String {
        try #require(try await world.ask("/api/records").body.json()["position"]?.stringValue)
    }

    @Test func `changes are sent at once, and missed changes after a reconnection`() async throws {
        let world = InspectorWorld()
        var events = try await Events(world, "since=" + position(world))
        try await world.send("http://a.example/1")
        let seen = try await events.untilAnswered("/1")
        try await world.send("http://a.example/2")
        var again = try await Events(world, "since=nonsense", lastID: seen.id)
        #expect(try await again.untilAnswered("/2").data["records"]?.arrayValue?.isEmpty == false)
    }

    @Test(arguments: ["abc", "", "9223372036854775808", "x-y", "x-18446744073709551616"])
    func `a malformed position is refused`(_ since: String) async throws {
        let answer = try await InspectorWorld().ask("/api/updates?since=\(since)")
        #expect(answer.status == 422)
        #expect(try await answer.body.json()["detail"]?.stringValue?.hasPrefix("since is a position") == true)
    }

    @Test func `an unavailable position causes a reset`() async throws {
        let world = InspectorWorld()
        var events = try await Events(world, lastID: "another-1")
        #expect(try await events.next()?.name == "reset")
    }

    @Test(arguments: [1, 4, 8, 9, 12, 17, 40])
    func `a page receives the events that it missed, and is reset if it missed more than are kept`(
        _ missed: Int
    ) async throws {
        let world = InspectorWorld { $0.eventLimit = 8 }
        for _ in 0..<20 { _ = try await world.ask("/api/state", .post, json: ["isRunning": true]) }
        let place = try await position(world)
        for _ in 0..<missed { _ = try await world.ask("/api/state", .post, json: ["isRunning": true]) }
        var events = try await Events(world, lastID: place)
        let event = try #require(try await events.next())
        switch missed {
        case ...8: #expect(event.name != "reset" && event.data["isStateChanged"] == true)
        case ...16: break  // Between the limit and its double, both are right.
        default: #expect(event.name == "reset")
        }
        #expect(event.id == (try await position(world)), "the page continues from the present position in each case")
    }

    @Test func `4096 events are kept by default`() {
        #expect(InspectorPage.Configuration().eventLimit == 4096)
    }

    @Test func `records that do not match the filter are sent as ids only`() async throws {
        let world = InspectorWorld()
        var events = try await Events(world, "status=4xx&since=" + position(world))
        try await world.send("http://a.example/status/200")
        let id = try await world.newest().id
        let event = try #require(try await events.next())
        #expect(event.data["records"] == [] && event.data["gone"] == [.string(id.uuidString)])
        try await world.send("http://a.example/status/404")
        _ = try await events.untilAnswered("/status/404")
    }

    @Test func `enabling a floret and removing the records are sent as events`() async throws {
        let world = InspectorWorld()
        var events = try await Events(world, "since=" + position(world))
        _ = try await world.ask("/api/florets/0", .post, json: ["isEnabled": true])
        #expect(try await events.next()?.data["isStateChanged"] == true)
        _ = try await world.ask("/api/records", .delete)
        #expect(try await events.next()?.data["isCleared"] == true)
    }

    @Test func `hub messages are sent beside the records`() async throws {
        let world = InspectorWorld()
        let hub = Hub()
        hub.register { sender, _ in InspectorHubPlugin(messageSender: sender, interceptor: world.interceptor) }
        hub.register(AskingPlugin.self)
        #expect(!hub.start().hasErrors)
        #expect(try await world.ask("/api/state").body.json()["hasTrace"] == false)
        world.page.follow(hub.trace)
        #expect(try await world.ask("/api/state").body.json()["hasTrace"] == true)
        var events = try await Events(world, "since=" + position(world))
        _ = try (hub.plugin(named: "asking") as? AskingPlugin)?.ask()
        var entry: JSONValue?
        while entry == nil, let event = try await events.next() { entry = event.data["trace"]?[0] }
        #expect(entry?["message"] == "inspector.records" && entry?["verdict"] == "delivered")
        #expect(try await world.ask("/api/trace").body.json()["entries"]?.arrayValue?.count == 1)
        await hub.stop()
    }

    @Test func `closing the page ends its updates`() async throws {
        let world = InspectorWorld()
        var events = try await Events(world, "since=" + position(world))
        world.page.close()
        #expect(try await events.next() == nil)
    }
}

/// Queries the newest records, as its policy permits.
final class AskingPlugin: PluginProtocol {
    let policy = Policy(name: "asking", send: .init(viewControllerQueries: ["inspector.records"]))
    private let sender: any MessageSending

    init(messageSender: any MessageSending, configurationFiles: [String: String]) { sender = messageSender }

    func ask(_ payload: JSONObject? = nil) throws -> ViewDocument {
        try sender.send(viewQuery: Message("inspector.records"), payload: payload, sender: self)
    }
}
