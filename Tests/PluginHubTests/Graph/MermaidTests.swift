import Foundation
import PluginHub
import Testing

/// A strict reader of flowcharts: every line must have one of five forms.
private struct Flowchart {
    struct Edge: Equatable {
        let from, to, arrow: String
        let messages: [String]
    }

    private(set) var nodes: [String: String] = [:]
    private(set) var missingPlugins: Set<String> = []
    private(set) var edges: [Edge] = []

    init(reading text: String) throws {
        var lines = text.components(separatedBy: "\n")
        try #require(lines.removeFirst() == "flowchart LR")
        try #require(lines.popLast() == "")
        for indented in lines {
            try #require(indented.hasPrefix("    "), "no indentation: \(indented)")
            let line = indented.dropFirst(4)
            if let match = line.wholeMatch(of: /(p[0-9]+)\["([^"]*)"\]/) {
                nodes[String(match.1)] = try Self.decoded(match.2)
            } else if let match = line.wholeMatch(of: /([io][0-9]+)\(\["nobody"\]\):::nobody/) {
                missingPlugins.insert(String(match.1))
            } else if let match = line.wholeMatch(
                of: /([pio][0-9]+) (-->|==>|==o|-\.->)\|"([^"]*)"\| ([pio][0-9]+)/)
            {
                let messages = try String(match.3).components(separatedBy: "<br/>").map { try Self.decoded($0[...]) }
                edges.append(
                    Edge(from: String(match.1), to: String(match.4), arrow: String(match.2), messages: messages))
            } else {
                try #require(line == "classDef nobody stroke-dasharray: 4 3", "a line of no known form: \(line)")
            }
        }
        for end in edges.flatMap({ [$0.from, $0.to] }) {
            try #require(nodes[end] != nil || missingPlugins.contains(end), "\(end) is no node")
        }
    }

    /// Decodes character codes. Fails if a character remains that Mermaid could interpret.
    private static func decoded(_ text: Substring) throws -> String {
        var out = ""
        var rest = text
        while let first = rest.first {
            if let match = rest.prefixMatch(of: /#([0-9]+);/) {
                out.unicodeScalars.append(try #require(UInt32(match.1).flatMap(Unicode.Scalar.init)))
                rest = rest[match.range.upperBound...]
                continue
            }
            try #require(!#""`<>{}[]()|&;#:%\*'"#.contains(first), "\(first) is not escaped in \(text)")
            out.append(first)
            rest.removeFirst()
        }
        return out
    }
}

@Suite struct MermaidTests {
    @Test func `the flowchart of a small hub has all its plugins and messages`() {
        #expect(
            HubGraph(policies: Drawn.all).mermaid() == """
                flowchart LR
                    p0["Journey"]
                    p1["Model"]
                    p2["store"]
                    o1(["nobody"]):::nobody
                    i2(["nobody"]):::nobody
                    p0 -->|"info.refresh"| p1
                    p0 ==>|"info.current"| p1
                    p0 ==o|"store.storefront"| p2
                    p1 -.->|"info"| p0
                    p1 -->|"log.write"| o1
                    p2 -.->|"info<br/>store.featuresChanged"| p0
                    i2 -->|"store.restore"| p2
                    classDef nobody stroke-dasharray: 4 3

                """)
    }

    @Test func `every plugin and message is drawn, whatever its name`() throws {
        let graph = HubGraph(policies: Drawn.nastyPolicies)
        let chart = try Flowchart(reading: graph.mermaid())
        #expect(chart.nodes == Dictionary(uniqueKeysWithValues: graph.plugins.map { ("p\($0.id)", $0.name) }))
        let expected = graph.arrows.map { arrow in
            (arrow.from.map { "p\($0)" }, arrow.to.map { "p\($0)" }, arrow.messages)
        }
        #expect(chart.edges.count == expected.count)
        for (edge, arrow) in zip(chart.edges, expected) {
            #expect((edge.from, edge.to) == (arrow.0 ?? "", arrow.1 ?? ""))
            #expect(edge.messages == arrow.2)
        }
    }

    @Test func `a name with a line end cannot start a statement`() throws {
        let graph = HubGraph(policies: [Policy(name: "A\"]\nclick p0 call x()\r\u{2028}")])
        let chart = try Flowchart(reading: graph.mermaid())
        #expect(chart.nodes.count == 1)
        #expect(graph.mermaid().split(whereSeparator: \.isNewline).count == 2)
    }
}
