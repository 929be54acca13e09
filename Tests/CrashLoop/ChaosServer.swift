import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import StoreModel

/// `souk serve` on one file and one port, which is killed and restarted.
actor ChaosServer {
    struct Settings: Sendable {
        let folder: String
        let store: String
        let root: String
        let bundleID: BundleID = "com.example.souk"
    }

    private let arguments: [String]
    private let port: ReservedPort
    private var child: Child
    nonisolated let url: String
    nonisolated let network: any HTTPTransport
    nonisolated let publicKey: String
    nonisolated let secretKey: String
    nonisolated let database: String

    static func start(
        _ settings: Settings, name: String, network: any HTTPTransport
    ) async throws -> ChaosServer {
        let database = "\(settings.folder)/\(name).sqlite"
        let port = try ReservedPort()
        let arguments = [
            "serve", "--database", "sqlite:\(database)", "--bundle-id", settings.bundleID.rawValue, "--environment",
            "sandbox",
            "--root", settings.root, "--clock", settings.store, "--port", String(port.number),
            "--stop-with-parent",
        ]
        let child = try Child(arguments, program: "souk")
        let url = try await announcedURL(of: child)
        func key(_ kind: String) throws -> String {
            try String(contentsOfFile: "\(database).\(settings.bundleID).\(kind)-key", encoding: .utf8)
                .trimmingCharacters(in: .newlines)
        }
        return ChaosServer(
            arguments: arguments, port: port, child: child, url: url, network: network, publicKey: try key("public"),
            secretKey: try key("secret"), database: database)
    }

    private init(
        arguments: [String], port: ReservedPort, child: Child, url: String, network: any HTTPTransport,
        publicKey: String,
        secretKey: String, database: String
    ) {
        (self.arguments, self.port, self.child, self.url, self.network) = (arguments, port, child, url, network)
        (self.publicKey, self.secretKey, self.database) = (publicKey, secretKey, database)
    }

    private static func announcedURL(of child: Child) async throws -> String {
        guard let line = await child.firstLine(), let url = try JSONValue(parsing: line)["listening"]?.stringValue
        else {
            await child.kill()
            throw CrashFailure("the server did not start: \(child.errorOutput)")
        }
        return url
    }

    func killAndStart() async throws {
        await child.kill()
        child = try Child(arguments, program: "souk")
        guard try await Self.announcedURL(of: child) == url else { throw CrashFailure("the port of \(url) is lost") }
    }

    func kill() async { await child.kill() }
}
