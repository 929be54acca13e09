import Foundation
import HostTestSupport
import PluginHub
import Testing

/// Graphviz draws the graphs completely.
@Suite(.outsideJudge(OutsideJudge.path(of: "dot") != nil, "Graphviz is not installed"))
struct DOTTests {
    private func drawing(of graph: HubGraph) async throws -> Drawing {
        let verdict = try await OutsideJudge.run(
            try #require(OutsideJudge.path(of: "dot")), ["-Tsvg"], input: graph.dot())
        try #require(verdict.status == 0, "\(verdict.errors)")
        return Drawing(svg: verdict.output)
    }

    /// The nodes and edges that Graphviz drew.
    private struct Drawing {
        struct Part {
            let title: String
            let texts: [String]
        }

        let nodes, edges: [Part]

        init(svg: String) {
            func parts(_ kind: String) -> [Part] {
                svg.components(separatedBy: "<g id=\"\(kind)").dropFirst().map { part in
                    let body = part.components(separatedBy: "</g>\n<!--").first ?? part
                    return Part(
                        title: Self.contents("title", body).first ?? "", texts: Self.contents("text", body))
                }
            }
            nodes = parts("node")
            edges = parts("edge")
        }

        private static func contents(_ tag: String, _ text: String) -> [String] {
            text.components(separatedBy: "<\(tag)").dropFirst().compactMap { rest in
                guard let start = rest.firstIndex(of: ">"), let end = rest.range(of: "</\(tag)>") else { return nil }
                return decoded(rest[rest.index(after: start)..<end.lowerBound])
            }
        }

        private static func decoded(_ text: Substring) -> String {
            String(text).replacing(/&(#[0-9]+|lt|gt|quot|amp);/) { match in
                let named = ["lt": "<", "gt": ">", "quot": "\"", "amp": "&"]
                if let known = named[String(match.1)] { return known }
                let scalar = UInt32(match.1.dropFirst()).flatMap(Unicode.Scalar.init)
                return scalar.map { String(Character($0)) } ?? "?"
            }.replacingOccurrences(of: "\u{A0}", with: " ")
        }
    }

    @Test(.timeLimit(.minutes(1))) func `Graphviz draws sixty plugins that each exchange messages with several others`()
        async throws
    {
        let policies = (0..<60).map { number in
            Policy(
                name: "Plugin \(number)", send: .init(commands: (1...3).map { "do.\((number * 7 + $0) % 60)" }),
                receive: .init(commands: ["do.\(number)"], queries: ["ask.\(number)"]), publish: ["did.\(number)"],
                subscribe: ["did.\((number + 1) % 60)", "did.\((number + 13) % 60)"])
        }
        let graph = HubGraph(policies: policies)
        let drawing = try await drawing(of: graph)
        #expect(drawing.edges.count == graph.arrows.count)
        #expect(graph.arrows.count > 300)
    }

    @Test func `Graphviz draws every plugin and every edge`() async throws {
        let graph = HubGraph(policies: Drawn.all)
        let drawing = try await drawing(of: graph)
        let boxes = drawing.nodes.filter { !$0.title.hasPrefix("missing") }
        #expect(boxes.map(\.title).sorted() == ["Journey", "Model", "store"])
        #expect(drawing.edges.count == graph.arrows.count)
        let connected = drawing.edges.filter { !$0.title.contains("missing") }
        #expect(
            Set(connected.map { "\($0.title) \($0.texts)" }) == [
                #"Journey->Model ["info.refresh"]"#, #"Journey->Model ["info.current"]"#,
                #"Journey->store ["store.storefront"]"#, #"Model->Journey ["info"]"#,
                #"store->Journey ["info", "store.featuresChanged"]"#,
            ])
        #expect(drawing.edges.count { $0.title.contains("missing") } == 2)
    }

    @Test func `names are drawn unchanged, whatever their meaning in Graphviz, except U+2028`() async throws {
        let graph = HubGraph(policies: Drawn.nastyPolicies)
        let drawing = try await drawing(of: graph)
        let names = Set(graph.plugins.map(\.name)).subtracting(["\u{2028}", "to \u{2028}"])
        #expect(names.subtracting(drawing.nodes.flatMap(\.texts)) == [])
        #expect(drawing.nodes.count == graph.plugins.count)
        #expect(drawing.edges.count == graph.arrows.count)
        let messages = Set(graph.channels.map(\.message)).subtracting(["\u{2028}"])
        #expect(messages.subtracting(drawing.edges.flatMap(\.texts)) == [])
    }

    @Test func `a plugin can have the name of a node for a missing plugin`() async throws {
        let graph = HubGraph(policies: [
            Policy(name: "missing 0", send: .init(commands: ["x"])), Policy(name: "missing 0'"),
        ])
        let drawing = try await drawing(of: graph)
        #expect(drawing.nodes.count == 3)
        #expect(drawing.edges.map(\.title) == ["missing 0->missing 0''"])
    }

    @Test func `a name with a line end cannot start a statement`() async throws {
        let graph = HubGraph(policies: [Policy(name: "A\"];\nx -> y;\"")])
        let drawing = try await drawing(of: graph)
        #expect(drawing.nodes.count == 1)
        #expect(drawing.edges.isEmpty)
    }
}
