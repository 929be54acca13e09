import Foundation
import Primitives

/// Kills an app, its server, or the simulated store, at points of a run. Checks after the restart that no answered
/// request is lost, and none has an effect twice.
///
///     CrashLoop all [EVERY]       purchases, devices and stores, at every point or at each EVERY-th.
///     CrashLoop purchases [EVERY] the app and its server, at each request and SQL statement.
///     CrashLoop devices [EVERY]   the app with content, at each disk and network operation; then with failing disks.
///     CrashLoop stores [EVERY]    the simulated store, at each SQL statement and notification.
///     CrashLoop chaos [KILLS]     souk serve, at any moment, with concurrent requests of customers and the store.
///
/// The commands `CrashLoop app …`, `CrashLoop server …` and `CrashLoop store …` are the children that it starts.
@main
enum CrashLoop {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch arguments.first {
            case "app": try await AppChild.run(Settings(arguments))
            case "server": try await ServerChild.run(Settings(arguments))
            case "store": try await StoreChild.run(Settings(arguments))
            case "all", "purchases", "devices", "stores":
                let every = max(1, arguments.dropFirst().first.flatMap { Int($0) } ?? 1)
                func isAsked(_ part: String) -> Bool { ["all", part].contains(arguments.first) }
                if isAsked("purchases") { try await CrashDriver.run(every: every) }
                if isAsked("devices") { try await DeviceCrash.run(every: every) }
                if isAsked("stores") { try await CrashDriver.runStores(every: every) }
            case "chaos":
                try await Chaos.run(kills: max(1, arguments.dropFirst().first.flatMap { Int($0) } ?? 200))
            default: throw CrashFailure("usage: CrashLoop all|purchases|devices|stores|chaos [NUMBER]")
            }
            exit(0)
        } catch {
            FileHandle.standardError.write(Data("crash loop: \(error)\n".utf8))
            exit(1)
        }
    }
}

struct CrashFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// The settings of a child, as `name=value` arguments.
struct Settings {
    private let values: [String: String]

    init(_ arguments: [String]) {
        values = Dictionary(
            arguments.compactMap { word in
                let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
                return parts.count == 2 ? (parts[0], parts[1]) : nil
            }, uniquingKeysWith: { $1 })
    }

    subscript(name: String) -> String? { values[name] }

    func required(_ name: String) throws -> String {
        guard let value = values[name] else { throw CrashFailure("\(name)= is missing") }
        return value
    }

    /// The operation at which the process is killed; `nil` for never.
    var killAt: Int? { values["kill-at"].flatMap { Int($0) } }
}
