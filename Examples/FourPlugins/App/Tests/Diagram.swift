import Testing

/// The arrows of a Mermaid sequence diagram, as they are to be observed.
struct Diagram {
    private let arrows: [String]

    /// Each line as it is drawn, or what `words` say for it.
    init(_ mermaid: String, in words: [String: [String]]) {
        arrows = mermaid.split(separator: "\n").map(String.init).flatMap { words[$0] ?? [$0] }
    }

    private init(arrows: [String]) { self.arrows = arrows }

    static func + (first: Diagram, second: Diagram) -> Diagram { Diagram(arrows: first.arrows + second.arrows) }

    /// Plays `scene` in an app of its own and expects to see this diagram, and on the screen `seen`.
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
