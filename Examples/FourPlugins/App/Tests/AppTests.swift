import Foundation
import PluginHub
import Testing

@Suite(.timeLimit(.minutes(2)))
struct AppTests {
    private func withApp(_ body: (App) async throws -> Void) async throws {
        let app = try await App.launch()
        do {
            try await body(app)
        } catch {
            await app.close()
            throw error
        }
        await app.close()
    }

    @Test func `at launch the hub passes the publishers of subscribeAtAppLaunch to the plugins`() async throws {
        try await withApp { app in
            #expect(
                app.launch.map(\.mermaid) == [
                    "JourneyPlugin->>store: getPublisher(forEvent:store.purchaseResult, payload?) throws",
                    "store->>JourneyPlugin: Store.purchaseResultPublisher: EventPublisher",
                    "DomainModel->>Network: getPublisher(forEvent:infoFetched, payload?) throws",
                    "Network->>DomainModel: InfoFetchedPublisher: EventPublisher",
                ])
        }
    }

    @Test func `the only findings are warnings about the store's plugin, and all plugins run`() async throws {
        try await withApp { app in
            #expect(app.findings.allSatisfy { $0.severity == .warning && $0.plugin == "store" })
            #expect(app.hub.report.running == ["Recorder", "JourneyPlugin", "DomainModel", "Network", "store"])
        }
    }

    @Test func `a purchase goes through the store's own plugin`() async throws {
        try await withApp { app in
            let played = try await app.play(.purchase)
            #expect(
                played.arrows.map(\.mermaid) == [
                    "JourneyPlugin->>store: command(store.purchase, id: `def`) throws",
                    "store-->>JourneyPlugin: Store.purchaseResultPublisher-> EventOutput(Result(success: JSONObject(store.purchaseResult)), correlationId: `def`)",
                    "JourneyPlugin->>store: query(store.allowedProducts) throws", "store->>JourneyPlugin: JSONObject",
                    "JourneyPlugin->>JourneyPlugin: updateUI(purchase)",
                ])
            #expect(played.seen == "com.example.harbour.tides: purchased. Yours: com.example.harbour.tides")
        }
    }

    @Test func `all scenes can be played one after another in one app`() async throws {
        try await withApp { app in
            for scene in Scene.all {
                let played = try await app.play(scene)
                #expect(!played.arrows.isEmpty)
            }
            #expect(Scene.all.count == 5)
        }
    }

    @Test func `the guide has the diagram that the example prints`() async throws {
        let root = (1...5).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let guide = try String(
            contentsOf: root.appendingPathComponent("Documentation/Guides/PluginHub.md"), encoding: .utf8)
        let picture = try #require(guide.components(separatedBy: "sequenceDiagram\n").dropFirst().first)
            .components(separatedBy: "```")[0].split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        try await withApp { app in
            let played = try await app.play(.asyncSuccess)
            #expect(played.arrows.map(\.mermaid) == picture)
        }
    }

    @Test func `only the sender of a command sees its failure, and every subscriber sees an info`() async throws {
        try await withApp { app in
            app.hub.register { sender, _ in Neighbour(messageSender: sender, configurationFiles: [:]) }
            let neighbour = try #require(app.hub.plugin(named: "Neighbour") as? Neighbour)
            try app.journey.open("Lisbon")
            app.server.isBroken = true
            await #expect(throws: PluginError(.serverFailed, "")) { try await neighbour.refresh("Lisbon", id: "one") }
            app.server.isBroken = false
            #expect(try await neighbour.refresh("Lisbon", id: "two").text == "high water at 14:05")
            #expect(try await app.nextScreen() == "Lisbon: high water at 14:05")
        }
    }
}

private final class Neighbour: PluginProtocol {
    let policy = Policy(name: "Neighbour", send: .init(commands: ["refreshInfo"]), subscribe: ["info"])
    private let hub: any MessageSending

    init(messageSender: any MessageSending, configurationFiles: [String: String]) { hub = messageSender }

    func refresh(_ place: String, id: MessageID) async throws -> InfoChanged {
        let answers = try hub.events(InfoChanged.self, with: .init(place: place), as: self)
            .filter(correlationId: id).values()
        try hub.send(RefreshInfo(place: place), id: id, as: self)
        for await answer in answers { return try answer.value() }
        throw Scene.Fault(description: "the app ended")
    }
}
