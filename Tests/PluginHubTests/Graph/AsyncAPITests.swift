import BaseTestSupport
import PluginHub
import Testing

@Suite struct AsyncAPITests {
    private let document = HubGraph(policies: Drawn.all).asyncAPI(title: "Shop", version: "2.1.0")

    @Test func `channels are messages, and say their names`() {
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

    @Test func `a query has a reply, a command and an event have none`() {
        let operations = document["operations"]
        let reply = operations?["Journey-send-query-info-current"]?["reply"]
        #expect(reply?["channel"]?["$ref"] == "#/channels/query-info-current-reply")
        #expect(document["channels"]?["query-info-current-reply"]?["address"]?.isNull == true)
        #expect(operations?["Journey-send-command-info-refresh"]?["reply"] == nil)
        #expect(operations?["Model-send-event-info"]?["reply"] == nil)
        let screen = document["components"]?["messages"]?["viewQuery-store-storefront-reply"]
        #expect(screen?["payload"]?["$ref"] == "#/components/schemas/viewDocument")
    }

    @Test func `plugins are tags, launch and loose ends are marked, the id is a header`() {
        let operations = document["operations"]
        #expect(
            operations?["Journey-receive-event-store-featuresChanged"]?["tags"] == [
                ["$ref": "#/components/tags/Journey"]
            ])
        #expect(operations?["Journey-receive-event-store-featuresChanged"]?["x-hub-at-launch"] == true)
        #expect(operations?["Journey-receive-event-info"]?["x-hub-at-launch"] == nil)
        #expect(document["channels"]?["command-log-write"]?["x-hub-unconnected"] == "nobody receives it")
        #expect(document["channels"]?["command-store-restore"]?["x-hub-unconnected"] == "nobody sends it")
        #expect(document["channels"]?["command-info-refresh"]?["x-hub-unconnected"] == nil)
        #expect(
            document["components"]?["correlationIds"]?["correlationId"]?["location"] == "$message.header#/correlationId"
        )
    }

    @Test func `names that look alike as keys keep channels of their own`() {
        let names = ["a b", "a/b", "a.b", "a-b", "a_b", "東", "京"]
        let graph = HubGraph(policies: [Policy(name: "A", send: .init(commands: names))])
        let channels = graph.asyncAPI()["channels"]?.objectValue ?? [:]
        #expect(Set(channels.values.compactMap { $0["address"]?.stringValue }) == Set(names))
    }
}

/// A PyPI package that knows AsyncAPI 3.0 judges the document, and a script what that package does not see.
@Suite(.enabled(if: OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with asyncapi3"))
struct AsyncAPIJudgeTests {
    private func problems(_ document: JSONValue, views: [ViewDocument] = []) async throws -> [String] {
        let request: JSONValue = [
            "document": document, "views": .array(try views.map { try JSONValue(parsing: $0.json()) }),
        ]
        let verdict = try await OutsideJudge.judge("asyncapi.py", request)
        let found = try #require(verdict.json?["problems"]?.arrayValue, "\(verdict.errors)")
        #expect(verdict.status == (found.isEmpty ? 0 : 1))
        return found.compactMap(\.stringValue)
    }

    @Test(arguments: [Drawn.all, [], Drawn.nastyPolicies, Drawn.all + Drawn.all])
    func `the judge finds nothing`(policies: [Policy]) async throws {
        #expect(try await problems(HubGraph(policies: policies).asyncAPI()) == [])
    }

    @Test func `a view document fits its schema`() async throws {
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
        #expect(try await problems(HubGraph(policies: Drawn.all).asyncAPI(), views: [view]) == [])
    }

    @Test(arguments: [
        ("a wrong action", ["operations", "Journey-send-command-info-refresh", "action"], "publish"),
        ("no info", ["info"], nil),
        ("no title", ["info", "title"], nil),
        ("another version", ["asyncapi"], "2.6.0"),
        ("a dangling channel", ["operations", "Model-send-event-info", "channel", "$ref"], "#/channels/none"),
        ("an unknown member", ["channels", "event-info", "colour"], "red"),
        ("no channel", ["operations", "Model-send-event-info", "channel"], nil),
        ("no location", ["components", "correlationIds", "correlationId", "location"], nil),
        ("an impossible schema", ["components", "schemas", "payload", "type"], "thing"),
    ])
    func `the judge sees a planted fault`(what: String, path: [String], value: JSONValue?) async throws {
        func planted(_ document: JSONValue, _ path: ArraySlice<String>) -> JSONValue {
            guard let first = path.first else { return value ?? .null }
            var document = document
            document[first] = path.count == 1 ? value : planted(document[first] ?? [:], path.dropFirst())
            return document
        }
        let whole = HubGraph(policies: Drawn.all).asyncAPI()
        #expect(try await problems(planted(whole, path[...])) != [], "\(what)")
    }

    @Test func `the judge sees a view that does not fit`() async throws {
        let request: JSONValue = [
            "document": HubGraph(policies: Drawn.all).asyncAPI(),
            "views": [["title": "x", "sections": [["rows": [["type": "toggle", "label": "l", "id": "i"]]]]]],
        ]
        #expect(try await OutsideJudge.judge("asyncapi.py", request).status == 1)
    }
}
