import Foundation
import PluginHub

@main
enum HubOnly {
    static func main() throws {
        let hub = Hub()
        hub.register(Darkroom.self)
        hub.register(Gallery.self)
        let report = hub.start()
        guard !report.hasErrors, let gallery = hub.plugin(named: "Gallery") as? Gallery else {
            report.findings.forEach { print($0.sentence) }
            exit(1)
        }
        print("developed:", try gallery.develop("meadow") ?? "nothing")
        do {
            try gallery.overstep()
            exit(1)
        } catch let error as PluginError where error.code == .notAllowed {
            print("refused:", error)
        }
    }
}
