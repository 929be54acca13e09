import Testing

/// The arrows of a Mermaid sequence diagram that must be observed.
struct Diagram {
    private let arrows: [String]

    /// Parses a diagram, and replaces the lines that are keys of `replacements`.
    init(_ mermaid: String, replacing replacements: [String: [String]]) {
        arrows = mermaid.split(separator: "\n").map(String.init).flatMap { replacements[$0] ?? [$0] }
    }

    private init(arrows: [String]) { self.arrows = arrows }

    static func + (first: Diagram, second: Diagram) -> Diagram { Diagram(arrows: first.arrows + second.arrows) }

    /// Plays `scene` in a new app and expects this diagram, and the text `seen` on the screen.
    func isPlayed(
        by scene: Scene, showing seen: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let app = try await App.launch()
        let played = try await app.play(scene)
        await app.close()
        #expect(played.arrows.map(\.mermaid) == arrows, sourceLocation: sourceLocation)
        #expect(played.seen == seen, sourceLocation: sourceLocation)
    }
}
