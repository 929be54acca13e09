import HostTestSupport
import PluginHub
import Testing

@Suite struct AsyncAPITests {
    private let document = HubGraph(policies: Drawn.all).asyncAPI(title: "Shop", version: "2.1.0")

    @Test func `channels are messages and have their names`() {
        #expect(document["asyncapi"] == "3.0.0")
        #expect(document["info"]?["title"] == "Shop")
        #expect(document["info"]?["version"] == "2.1.0")
        #expect(document["channels"]?["command-info-refresh"]?["address"] == "info.refresh")
        #expect(document["channels"]?["event-info"]?["address"] == "info")
        #expect(document["components"]?["messages"]?["event-info"]?["name"] == "info")
    }

    @Test func `senders and publishers send, receivers and subscribers receive`() {
        let operations = document["operations"]?.objectValue?.mapValues { $0["action"] ?? .null }
        #expect(
            operations == [
                "Journey-send-command-info-refresh": "send", "Model-receive-command-info-refresh": "receive",
                "Model-send-command-log-write": "send", "store-receive-command-store-restore": "receive",
                "Journey-send-query-info-current": "send", "Model-receive-query-info-current": "receive",
                "Journey-send-viewQuery-store-storefront": "send",
                "store-receive-viewQuery-store-storefront": "receive", "Model-send-event-info": "send",
                "store-send-event-info": "send", "Journey-receive-event-info": "receive",
                "store-send-event-store-featuresChanged": "send",
                "Journey-receive-event-store-featuresChanged": "receive",
            ])
    }

    @Test func `a query has a reply, and a command and an event have none`() {
        let operations = document["operations"]
        let reply = operations?["Journey-send-query-info-current"]?["reply"]
        #expect(reply?["channel"]?["$ref"] == "#/channels/query-info-current-reply")
        #expect(document["channels"]?["query-info-current-reply"]?["address"]?.isNull == true)
        #expect(operations?["Journey-send-command-info-refresh"]?["reply"] == nil)
        #expect(operations?["Model-send-event-info"]?["reply"] == nil)
        let screen = document["components"]?["messages"]?["viewQuery-store-storefront-reply"]
        #expect(screen?["payload"]?["$ref"] == "#/components/schemas/viewDocument")
    }

    @Test func `plugins are tags, launch events and missing partners are marked, the correlation id is a header`() {
        let operations = document["operations"]
        #expect(
            operations?["Journey-receive-event-store-featuresChanged"]?["tags"] == [
                ["$ref": "#/components/tags/Journey"]
            ])
        #expect(operations?["Journey-receive-event-store-featuresChanged"]?["x-hub-at-launch"] == true)
        #expect(operations?["Journey-receive-event-info"]?["x-hub-at-launch"] == nil)
        #expect(document["channels"]?["command-log-write"]?["x-hub-unconnected"] == "no plugin receives it")
        #expect(document["channels"]?["command-store-restore"]?["x-hub-unconnected"] == "no plugin sends it")
        #expect(document["channels"]?["command-info-refresh"]?["x-hub-unconnected"] == nil)
        #expect(
            document["components"]?["correlationIds"]?["correlationId"]?["location"] == "$message.header#/correlationId"
        )
    }

    @Test func `names with equal keys have separate channels`() {
        let names = ["a b", "a/b", "a.b", "a-b", "a_b", "東", "京"]
        let graph = HubGraph(policies: [Policy(name: "A", send: .init(commands: names))])
        let channels = graph.asyncAPI()["channels"]?.objectValue ?? [:]
        #expect(Set(channels.values.compactMap { $0["address"]?.stringValue }) == Set(names))
    }
}

/// A PyPI package for AsyncAPI 3.0 validates the documents, and a script checks the rest. One process validates all of
/// them, because its start takes seconds.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with asyncapi3"))
struct AsyncAPIJudgeTests {
    private struct Example {
        let name: String
        var document: JSONValue
        var views: [JSONValue] = []
    }

    /// Returns the validator's problems with each document, in order.
    private func problems(_ examples: [Example]) async throws -> [[String]] {
        let requests = examples.map { example -> JSONValue in
            ["document": example.document, "views": .array(example.views)]
        }
        let verdict = try await OutsideJudge.judge("asyncapi.py", .array(requests))
        let found = try #require(verdict.json?.arrayValue, "\(verdict.errors)")
        try #require(found.count == examples.count)
        let problems = try found.map { try #require($0["problems"]?.arrayValue).compactMap(\.stringValue) }
        #expect(verdict.status == (problems.allSatisfy(\.isEmpty) ? 0 : 1))
        return problems
    }

    private static let whole = HubGraph(policies: Drawn.all).asyncAPI()

    @Test func `the validator accepts the documents of hubs, and their views fit the schema`() async throws {
        let view = ViewDocument(
            title: "All",
            sections: [
                .init(
                    title: "S",
                    rows: [
                        .text("T"), .text("T", "v", id: "t", action: .init("a", label: "A", values: ["n": 1])),
                        .toggle(id: "g", label: "G", isOn: true), .field(id: "f", label: "F", placeholder: "p"),
                        .choice(id: "c", label: "C", options: [.init("x")], selected: "x"),
                    ], actions: [.init("b")])
            ])
        let examples = [
            Example(name: "all", document: Self.whole, views: [try JSONValue(parsing: view.json())]),
            Example(name: "no plugin", document: HubGraph(policies: []).asyncAPI()),
            Example(name: "nasty names", document: HubGraph(policies: Drawn.nastyPolicies).asyncAPI()),
            Example(name: "twice", document: HubGraph(policies: Drawn.all + Drawn.all).asyncAPI()),
        ]
        for (example, problems) in zip(examples, try await problems(examples)) {
            #expect(problems == [], "\(example.name)")
        }
    }

    private static func planted(_ value: JSONValue?, at path: String..., in document: JSONValue = whole) -> JSONValue {
        func changed(_ document: JSONValue, _ path: ArraySlice<String>) -> JSONValue {
            guard let first = path.first else { return value ?? .null }
            var document = document
            document[first] = path.count == 1 ? value : changed(document[first] ?? [:], path.dropFirst())
            return document
        }
        return changed(document, path[...])
    }

    @Test func `the validator reports every planted fault`() async throws {
        let send = "Journey-send-command-info-refresh"
        let examples = [
            Example(name: "a wrong action", document: Self.planted("publish", at: "operations", send, "action")),
            Example(name: "no info", document: Self.planted(nil, at: "info")),
            Example(name: "no title", document: Self.planted(nil, at: "info", "title")),
            Example(name: "another version", document: Self.planted("2.6.0", at: "asyncapi")),
            Example(
                name: "a dangling channel",
                document: Self.planted("#/channels/none", at: "operations", "Model-send-event-info", "channel", "$ref")),
            Example(
                name: "an unknown member", document: Self.planted("red", at: "channels", "event-info", "colour")),
            Example(
                name: "no channel", document: Self.planted(nil, at: "operations", "Model-send-event-info", "channel")),
            Example(
                name: "no location",
                document: Self.planted(nil, at: "components", "correlationIds", "correlationId", "location")),
            Example(
                name: "an impossible schema",
                document: Self.planted("thing", at: "components", "schemas", "payload", "type")),
            Example(
                name: "a view that does not fit", document: Self.whole,
                views: [["title": "x", "sections": [["rows": [["type": "toggle", "label": "l", "id": "i"]]]]]]),
        ]
        for (example, problems) in zip(examples, try await problems(examples)) {
            #expect(problems != [], "\(example.name)")
        }
    }
}
