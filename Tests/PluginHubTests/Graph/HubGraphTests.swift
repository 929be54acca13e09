import PluginHub
import Testing

/// Policies for the graph tests.
enum Drawn {
    static let journey = Policy(
        name: "Journey",
        send: .init(commands: ["info.refresh"], queries: ["info.current"], viewControllerQueries: ["store.storefront"]),
        subscribe: ["info"], subscribeAtAppLaunch: ["store.featuresChanged"])
    static let model = Policy(
        name: "Model", send: .init(commands: ["log.write"]),
        receive: .init(commands: ["info.refresh"], queries: ["info.current"]), publish: ["info"])
    static let store = Policy(
        name: "store", receive: .init(commands: ["store.restore"], viewControllerQueries: ["store.storefront"]),
        publish: ["store.featuresChanged", "info"])
    static let all = [journey, model, store]

    /// Names with a meaning in some format: markup, quotes, escapes, keywords and character references.
    static let nasty = [
        #"a"b"#, "<script>alert(1)</script>", "back\\slash\\", "end", "graph", "&amp;", "#quot;", "a|b", "a-->b",
        "%% x",
        "`code`", "{curly}", "[x]", "naïve 東京 🛒", "\u{2028}", "style x:#1;", "'; --", "a:b", "*", "$ref", "~1/", "\\N",
        "\\n",
    ]

    /// Two plugins for each special name, which exchange a message with that name.
    static var nastyPolicies: [Policy] {
        nasty.flatMap { name in
            [
                Policy(name: name, send: .init(commands: [name], queries: [name]), subscribe: [name]),
                Policy(name: "to \(name)", receive: .init(commands: [name], queries: [name]), publish: [name]),
            ]
        }
    }
}

@Suite struct HubGraphTests {
    private func described(_ graph: HubGraph) -> [String] {
        func name(_ plugin: HubGraph.Plugin.ID?) -> String { plugin.map { graph.plugins[$0].name } ?? "nobody" }
        return graph.links.map { "\($0.kind) \($0.message): \(name($0.from)) -> \(name($0.to))" }
    }

    @Test func `links run from sender to receiver and from publisher to subscriber`() {
        let graph = HubGraph(policies: Drawn.all)
        #expect(graph.plugins.map(\.name) == ["Journey", "Model", "store"])
        #expect(
            described(graph) == [
                "command info.refresh: Journey -> Model", "command log.write: Model -> nobody",
                "command store.restore: nobody -> store", "query info.current: Journey -> Model",
                "viewQuery store.storefront: Journey -> store", "event info: Model -> Journey",
                "event info: store -> Journey", "event store.featuresChanged: store -> Journey",
            ])
    }

    @Test func `the channels and texts of a graph do not depend on the order of the policies`() {
        let graph = HubGraph(policies: Drawn.all)
        let turned = HubGraph(policies: Drawn.all.reversed())
        #expect(turned.channels == graph.channels)
        #expect(turned.mermaid() == graph.mermaid())
        #expect(turned.dot() == graph.dot())
        #expect(turned.asyncAPI().text() == graph.asyncAPI().text())
    }

    @Test func `messages without a partner are not connected, and are findings`() {
        let graph = HubGraph(policies: Drawn.all)
        #expect(graph.channels.filter { !$0.isConnected }.map(\.message) == ["log.write", "store.restore"])
        #expect(graph.findings == Policy.findings(among: Drawn.all))
        #expect(graph.findings.contains { $0.message == "log.write" && $0.severity == .error })
        let part = HubGraph(policies: Drawn.all, isPartialSet: true)
        #expect(part.findings.contains { $0.message == "log.write" && $0.severity == .warning })
    }

    @Test func `the receivers of an event at launch are listed`() throws {
        let channels = HubGraph(policies: Drawn.all).channels
        #expect(try #require(channels.first { $0.message == "store.featuresChanged" }).receiversAtLaunch == [0])
        #expect(try #require(channels.first { $0.message == "info" }).receiversAtLaunch.isEmpty)
    }

    @Test func `plugins with the same name get different labels, even if a label is the name of another plugin`() {
        let names = ["A", "A", "A (2)", "A"].map { Policy(name: $0) }
        let labels = HubGraph(policies: names).plugins.map(\.label)
        #expect(labels == ["A", "A (3)", "A (4)", "A (2)"])
        #expect(Set(HubGraph(policies: Drawn.all + Drawn.all).plugins.map(\.label)).count == 6)
    }

    @Test func `two receivers and a plugin that calls itself have links, and a repeated name has one link`() {
        let graph = HubGraph(policies: [
            Policy(
                name: "A", send: .init(commands: ["x", "x"]), receive: .init(commands: ["x"]), subscribe: ["e"],
                subscribeAtAppLaunch: ["e"]),
            Policy(name: "B", receive: .init(commands: ["x"]), publish: ["e"]),
        ])
        #expect(described(graph) == ["command x: A -> A", "command x: A -> B", "event e: B -> A"])
    }

    @Test func `arrows gather the messages of one kind between two plugins`() {
        let graph = HubGraph(policies: [
            Policy(name: "A", send: .init(commands: ["b", "a"], queries: ["c"])),
            Policy(name: "B", receive: .init(commands: ["a", "b"], queries: ["c"])),
        ])
        #expect(graph.arrows.map(\.messages) == [["a", "b"], ["c"]])
        #expect(graph.arrows.map(\.kind) == [.command, .query])
    }

    @Test func `a graph without policies can be written in Mermaid, DOT and AsyncAPI`() {
        let graph = HubGraph(policies: [])
        #expect(graph.mermaid() == "flowchart LR\n")
        #expect(graph.dot().hasPrefix("digraph hub {"))
        #expect(graph.asyncAPI()["channels"] == [:])
    }

    @Test func `a hub returns its graph`() async throws {
        let hub = Hub()
        hub.register { sender, _ in ScriptedPlugin(Policy(name: "A", publish: ["e"]), sender) }
        hub.register { sender, _ in ScriptedPlugin(Policy(name: "B", subscribe: ["e"]), sender) }
        #expect(hub.graph.plugins.isEmpty)
        hub.start()
        #expect(described(hub.graph) == ["event e: A -> B"])
        await hub.deregister("B")
        #expect(described(hub.graph) == ["event e: A -> nobody"])
        await hub.stop()
    }
}
