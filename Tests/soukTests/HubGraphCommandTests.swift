import Foundation
import HostTestSupport
import Testing

@Suite struct HubGraphCommandTests {
    private let folder: TemporaryFolder
    private let files: [String]

    init() throws {
        folder = try TemporaryFolder()
        files = [
            try folder.write("screen.json", #"{"name": "Screen <1>", "send": {"commands": ["a.go"]}}"#),
            try folder.write("worker.json", #"{"name": "Worker", "receive": {"commands": ["a.go"]}}"#),
        ]
    }

    @Test(arguments: [
        ("mermaid", "flowchart LR\n", "p0 -->|\"a.go\"| p1"),
        ("dot", "digraph hub {", "\"Screen <1>\" -> \"Worker\" [label=\"a.go\""),
        ("asyncapi", "{\n  \"asyncapi\": \"3.0.0\"", "\"address\": \"a.go\""),
        ("html", "<!doctype html>", "Screen &lt;1&gt;"),
    ])
    func `hub graph prints the graph in each format but SVG`(format: String, start: String, part: String) async throws {
        let outcome = try await SoukExecutable.run(["hub", "graph", "--format", format] + files)
        #expect(outcome.status == 0)
        #expect(outcome.output.hasPrefix(start))
        #expect(outcome.output.contains(part))
        #expect(outcome.output.hasSuffix("\n"))
        #expect(outcome.errors.isEmpty)
    }

    @Test(.outsideJudge(FileManager.default.isExecutableFile(atPath: "/usr/bin/dot"), "Graphviz is not installed"))
    func `--format svg prints the picture that Graphviz draws`() async throws {
        let outcome = try await SoukExecutable.run(["hub", "graph"] + files + ["--format=svg"])
        #expect(outcome.status == 0)
        #expect(outcome.output.contains("<svg") && outcome.output.contains("Screen &lt;1&gt;"))
        #expect(outcome.output.hasSuffix("</svg>\n"))
    }

    @Test func `without Graphviz, the error names the package to install`() async throws {
        let outcome = try await SoukExecutable.run(
            ["hub", "graph", "--format", "svg"] + files, environment: ["PATH": folder.path])
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains("package graphviz"))
        #expect(outcome.output.isEmpty)
    }

    @Test func `the error contains the message of a failed Graphviz`() async throws {
        let dot = try folder.write("dot", "#!/bin/sh\nread line\necho 'first' >&2\necho 'no fonts' >&2\nexit 3\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: dot)
        let outcome = try await SoukExecutable.run(
            ["hub", "graph", "--format", "svg"] + files, environment: ["PATH": folder.path])
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("no fonts"))
        #expect(outcome.output.isEmpty)
    }

    @Test func `an unknown format is a usage error and names the formats`() async throws {
        let outcome = try await SoukExecutable.run(["hub", "graph", "--format", "png"] + files)
        #expect(outcome.status == 2)
        #expect(outcome.errors == "souk: --format is one of mermaid, dot, svg, asyncapi, html, not \"png\"\n")
        let none = try await SoukExecutable.run(["hub", "graph"] + files)
        #expect(none.status == 2)
        #expect(none.errors == "souk: souk hub graph needs --format mermaid|dot|svg|asyncapi|html\n")
    }

    @Test(arguments: [
        ("{", "bad.json: this is not JSON"),
        (#"{"name": "A", "send": {"commands": [1]}}"#, "bad.json /send/commands/0: "),
        (#"{"name": "A\nB"}"#, "bad.json /name: "),
        (#"{"name": "A", "publish": {"events": ["x\ny"]}}"#, "bad.json /publish/events/0: "),
    ])
    func `an invalid policy file is a usage error and is named with the place`(text: String, place: String)
        async throws
    {
        let bad = try folder.write("bad.json", text)
        let outcome = try await SoukExecutable.run(["hub", "graph", "--format", "dot"] + files + [bad])
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains(place), "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
    }

    @Test func `a hub with an error is drawn, with a message on standard error`() async throws {
        let outcome = try await SoukExecutable.run(["hub", "graph", "--format", "mermaid", files[0]])
        #expect(outcome.status == 0)
        #expect(outcome.output.contains("nobody"))
        #expect(outcome.errors.contains("souk policy lint"))
        let part = try await SoukExecutable.run(["hub", "graph", "--format", "mermaid", "--partial", files[0]])
        #expect(part.errors.isEmpty)
        #expect(part.output == outcome.output)
    }
}

@Suite struct HubGraphGuideTests {
    @Test func `the guide shows the diagram that the command draws of the example's hub`() async throws {
        let guide = try String(
            contentsOfFile: TestFiles.repository + "/Documentation/Guides/HubGraph.md", encoding: .utf8)
        let shown = try #require(
            guide.components(separatedBy: "```mermaid\n").last?.components(separatedBy: "```").first)
        let plugins = ["journey", "domain-model", "network"].map {
            "\(TestFiles.repository)/Examples/FourPlugins/App/Plugins/\($0).policy.json"
        }
        let store = TestFiles.repository + "/Sources/InAppStore/Hub/store.policy.json"
        let outcome = try await SoukExecutable.run(["hub", "graph", "--format", "mermaid", store] + plugins)
        #expect(outcome.output == shown)
    }
}
