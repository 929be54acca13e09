import CurlTransport
import Foundation
import InAppStore
import PluginHub

/// The composition of the app: it registers the plugins, which do not know each other.
struct App: Sendable {
    let hub: Hub
    let journey: JourneyPlugin
    let server: InfoServer
    let recorder: SequenceRecorder
    /// The launch as arrows of a sequence diagram.
    let launch: [Arrow]
    let findings: [Hub.Finding]
    private let shop: Shop

    static func launch() async throws -> App {
        let shop = try await Shop.open(catalogue: try file("harbour", "storekit"))
        let server = try InfoServer()
        let recorder = SequenceRecorder()
        let hub = Hub(configuration: .init(elapsed: recorder.elapsed))

        hub.register(configurationFiles: try policy("recorder")) { sender, files in
            try RecorderPlugin(messageSender: sender, configurationFiles: files, recorder: recorder)
        }
        hub.register(configurationFiles: try policy("journey")) { sender, files in
            try JourneyPlugin(
                messageSender: sender, configurationFiles: files, log: recorder.log(of: "JourneyPlugin"))
        }
        hub.register(configurationFiles: try policy("domain-model")) { sender, files in
            try DomainModelPlugin(
                messageSender: sender, configurationFiles: files, log: recorder.log(of: "DomainModel"))
        }
        hub.register(configurationFiles: try policy("network")) { sender, files in
            let network = RecordingTransport(
                base: CurlTransport.platformDefault(), recorder: recorder, client: "Network")
            return try NetworkPlugin(
                messageSender: sender, configurationFiles: files, server: server.url, transport: network)
        }
        hub.register { sender, _ in
            StoreHubPlugin(messageSender: sender, store: shop.store, client: shop.client)
        }

        let (report, launch) = await recorder.arrows(in: hub) { hub.start() }
        guard !report.hasErrors, let journey = hub.plugin(named: "JourneyPlugin") as? JourneyPlugin else {
            throw Scene.Fault(description: report.findings.map(\.description).joined(separator: "\n"))
        }
        return App(
            hub: hub, journey: journey, server: server, recorder: recorder, launch: launch, findings: report.findings,
            shop: shop)
    }

    /// Plays `scene`. Returns the final text of the screen or the error of the refused call, and all arrows.
    func play(_ scene: Scene) async throws -> (seen: String, arrows: [Arrow]) {
        defer { journey.close() }
        let (seen, arrows) = try await recorder.arrows(in: hub) { try await scene.play(self) }
        return (seen, arrows)
    }

    /// Returns the screen's text after its next change; waits for the change if necessary.
    func nextScreen() async throws -> String {
        for await screen in journey.screen { return screen }
        throw Scene.Fault(description: "the app ended before the screen changed")
    }

    func close() async {
        await hub.stop()
        await shop.close()
        await server.stop()
    }

    private static func policy(_ plugin: String) throws -> [String: String] {
        ["policy": try file("\(plugin).policy", "json")]
    }

    private static func file(_ name: String, _ type: String) throws -> String {
        guard let path = Bundle.module.path(forResource: name, ofType: type) else {
            throw Scene.Fault(description: "\(name).\(type) was not built into the app")
        }
        return path
    }
}
