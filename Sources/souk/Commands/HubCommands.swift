import PluginHub
import Primitives
import WebPages

/// `souk hub graph`.
enum HubCommands {
    private enum Format: String, CaseIterable { case mermaid, dot, svg, asyncapi, html }

    private static let formats = Format.allCases.map(\.rawValue)

    static let graph = Command(
        words: ["hub", "graph"], summary: "Draw the messages between plugins, from the policies of a hub",
        operands: ["FILE…"],
        options: [
            .init(name: "format", value: formats.joined(separator: "|"), help: "the output format"),
            .init(name: "partial", help: "the files are a part of a hub's policies"),
        ],
        details: """
            The graph goes to standard output.
              mermaid   a flowchart that GitHub draws in Markdown
              dot       Graphviz's language
              svg       an image, drawn by Graphviz's dot (Debian package graphviz)
              asyncapi  an AsyncAPI 3.0 document of all messages, as JSON
              html      an interactive page in one file
            """
    ) { arguments in
        let name = try arguments.required("format")
        guard let format = Format(rawValue: name) else {
            throw UsageError("--format is one of \(formats.joined(separator: ", ")), not \(name.quoted)")
        }
        let graph = try graph(of: arguments.operands, isPartialSet: arguments.has("partial"))
        switch format {
        case .mermaid: try Terminal.write(document: graph.mermaid())
        case .dot: try Terminal.write(document: graph.dot())
        case .svg: try Terminal.write(document: await Graphviz.svg(of: graph.dot()))
        case .asyncapi: try Terminal.print(json: graph.asyncAPI(), pretty: true)
        case .html: try Terminal.write(document: HubPage(graph).page.text)
        }
        let errors = graph.findings.filter { $0.severity == .error }.count
        if errors > 0 {
            Terminal.note("souk: these policies have findings; run souk policy lint")
        }
        return .success
    }

    /// Throws `UsageError` for the first file that is no policy, with the place in it.
    private static func graph(of paths: [String], isPartialSet: Bool) throws -> HubGraph {
        let policies = try paths.map { path in
            let file = try PolicyFile(reading: path)
            switch file.content {
            case .success(let policy): return policy
            case .failure(let finding):
                throw UsageError("\(finding.pointer.isEmpty ? path : "\(path) \(finding.pointer)"): \(finding.reason)")
            }
        }
        let placed = Policy.placedFindings(among: policies, isPartialSet: true).first {
            $0.finding.code == .invalidPolicy
        }
        if let placed { throw UsageError("\(paths[placed.index]) \(placed.pointer): \(placed.finding.sentence)") }
        return HubGraph(policies: policies, isPartialSet: isPartialSet)
    }
}
