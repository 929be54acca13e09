import Foundation

@main
enum FourPlugins {
    static let help = """
        usage: swift run FourPlugins [--mermaid]

        An app of four plugins (a journey, a domain model, the network, a store) that exchange only messages of the
        hub. It plays the four sequence diagrams of the hub's version Alpha.9 and a purchase, and prints the messages:
        calls from the hub's trace, events as they were sent, and the requests to the server. A solid arrow is a call,
        its result or an action of a plugin. A dotted arrow is an event or a response of the server.

          --mermaid   print Mermaid sequence diagrams
          --help      print this text
        """

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.contains("--help") || arguments.contains("-h") { return print(help) }
        guard arguments.allSatisfy({ $0 == "--mermaid" }) else {
            FileHandle.standardError.write(Data((help + "\n").utf8))
            exit(2)
        }
        let inMermaid = !arguments.isEmpty
        let app = try await App.launch()
        show("Launch", app.launch, inMermaid)
        if !inMermaid { for finding in app.findings { print("  \(finding)") } }
        for scene in Scene.all {
            let (seen, arrows) = try await app.play(scene)
            show(scene.title, arrows, inMermaid)
            if !inMermaid { print("  The user sees: \(seen)") }
        }
        await app.close()
    }

    private static func show(_ title: String, _ arrows: [Arrow], _ inMermaid: Bool) {
        if inMermaid {
            print("\n%% \(title)\nsequenceDiagram")
            for arrow in arrows { print("    \(arrow.mermaid)") }
        } else {
            print("\n\(title)\n")
            for arrow in arrows { print("  \(arrow.text)") }
            print()
        }
    }
}
