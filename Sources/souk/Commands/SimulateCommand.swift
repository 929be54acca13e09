import AppStoreSimulator
import CurlTransport
import Foundation
import HTTPCore
import HTTPListener
import Primitives
import SQLStorage
import StoreModel

/// `souk simulate`: runs an App Store simulator.
enum SimulateCommand {
    static let command = Command(
        words: ["simulate"], summary: "Run an App Store simulator",
        options: [
            .init(name: "catalog", value: "F.storekit", help: "the products: an Xcode StoreKit configuration file"),
            .init(name: "bundle-id", value: "B", help: "the app (com.example.souk)"),
            .init(
                name: "port", value: "N", help: "the port on 127.0.0.1; 0, the default, lets the system choose"),
            .init(
                name: "host-name", value: "NAME", repeats: true,
                help: "also accept this host name, besides localhost and 127.0.0.1, such as ci.example"),
            .init(
                name: "data", value: "DIR", help: "the folder for the database and certificates (a temporary folder)"),
            .init(
                name: "time-rate", value: "R",
                help: "the speed of virtual time: \(TimeRate.names.joined(separator: ", "))", choices: TimeRate.names),
            .init(
                name: "seed", value: "N",
                help: "a number from which a new store derives its ids, so that they are repeatable"),
            .init(name: "content", value: "DIR", help: "serve the files of this folder below /content/"),
            .init(
                name: "notifications-url", value: "U",
                help: "send App Store Server Notifications to this URL; saved in the data folder"),
            .init(
                name: "play-catalog", value: "F",
                help: "also simulate Google Play, with the products of this file (Documentation/GooglePlay.md)"),
            .init(
                name: "play-rtdn-url", value: "U",
                help: "push real-time developer notifications of Google Play to this URL; saved in the data folder"),
            .stopWithParent,
        ],
        details: """
            The first line of standard output is one JSON object: the simulator's URL, root certificate and keys. Stops on
            SIGTERM and SIGINT. souk store controls the simulator; /openapi.yaml describes its API. Requests that name
            another host, or come from a web page of another site, are refused.
            """
    ) { arguments in
        let catalogue = try CatalogueCommands.catalogue(in: try arguments.required("catalog"))
        for warning in catalogue.warnings { Terminal.note("warning: \(warning)") }
        let folder = DataFolder(arguments.text("data"))
        defer { folder.removeIfTemporary() }
        var configuration = SimulatedAppStore.Configuration(
            catalogue: catalogue, bundleID: try arguments.identifier("bundle-id") ?? "com.example.souk",
            dataDirectory: folder.path)
        if let name = arguments.text("time-rate") {
            guard let rate = TimeRate(name) else {
                throw UsageError("--time-rate is one of \(TimeRate.names.joined(separator: ", ")), not \(name.quoted)")
            }
            configuration.timeRate = rate
        }
        if let path = arguments.text("content") {
            do {
                configuration.content = try ContentFolder(path)
            } catch let error as SimulatorError {
                throw UsageError("--content: \(error.reason)")
            }
        }
        if let path = arguments.text("play-catalog") {
            let play = try CatalogueCommands.playCatalogue(in: path)
            for warning in play.warnings { Terminal.note("warning: \(warning)") }
            configuration.playCatalogue = play
        }
        configuration.playNotificationsURL = arguments.text("play-rtdn-url")
        if configuration.playNotificationsURL != nil, configuration.playCatalogue == nil {
            throw UsageError("--play-rtdn-url needs --play-catalog")
        }
        configuration.hostNames = try arguments.hostNames()
        configuration.notificationsURL = arguments.text("notifications-url")
        configuration.notificationTransport = CurlTransport.platformDefault()
        configuration.seed = try arguments.integer("seed", in: 0...Int.max).map(UInt64.init)
        let stop = try StopSignal(alsoAtEndOfInput: arguments.has("stop-with-parent"))
        var listening = HTTPListener.Configuration(port: try arguments.integer("port", in: 0...65535) ?? 0)
        // For the import of a state; the other endpoints have lower limits of their own.
        listening.maximumBodyBytes = 256 << 20
        let listener = try ServiceListener(listening)
        let store = try await listener.whileStarting {
            try folder.make()
            do {
                return try await SimulatedAppStore.open(configuration)
            } catch let error as SimulatorError {
                throw UsageError(error.description)
            } catch let error as SQLError {
                throw UsageError(error.description)
            }
        }
        try listener.open(to: store.handler)
        let announcement: JSONValue
        do {
            announcement = try store.announcement(listeningAt: listener.url)
        } catch let error as SimulatorError {
            store.endWaiting()
            await listener.close()
            await store.close()
            throw UsageError(error.description)
        }
        let announced = Terminal.announce(announcement)
        if announced.isWritten { await stop.wait() }
        store.endWaiting()
        await listener.close()
        await store.close()
        try announced.check()
        return .success
    }
}

extension Arguments {
    /// The values of `--host-name`. Throws `UsageError` for a value that is no host name.
    func hostNames() throws -> [String] {
        let names = texts("host-name")
        if let wrong = names.first(where: { !LocalRequestGate.isHostName($0) }) {
            throw UsageError("--host-name is a name such as ci.example, without scheme and port, not \(wrong.quoted)")
        }
        return names
    }
}

extension Command.Option {
    /// Stops the command when standard input ends. Used by programs that start a service, such as `souk demo`.
    static let stopWithParent = Command.Option(name: "stop-with-parent", help: "", isHidden: true)
}

/// The folder of a command's files: the named one, or a temporary one that is removed at the end.
struct DataFolder: Sendable {
    /// The absolute path.
    let path: String
    private let isTemporary: Bool

    init(_ named: String?) {
        isTemporary = named == nil
        path =
            named.map(InputFile.absolute)
            ?? FileManager.default.temporaryDirectory.appendingPathComponent("souk-\(UUID().uuidString.lowercased())")
            .path
    }

    /// Throws `UsageError` when the folder cannot be created.
    func make() throws {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw UsageError("\(path): the folder cannot be created; name another with --data")
        }
    }

    func file(_ name: String) -> String { path + "/" + name }

    func removeIfTemporary() {
        if isTemporary { try? FileManager.default.removeItem(atPath: path) }
    }
}
