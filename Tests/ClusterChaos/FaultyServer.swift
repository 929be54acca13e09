import CurlTransport
import EntitlementServer
import Foundation
import HTTPListener
import HostTestSupport
import PostgresStorage
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// An entitlement server over PostgreSQL with a fault of `SteeredDatabase`, to show that a checker detects it.
///
/// Settings: `database`, `isolation`, `fault` (none if absent), `app`, `root` (a file with a certificate), `features` (a
/// file with credits), `mode` (a transfer mode), `webhook` (its URL), and `secret` (a file with its secret). With
/// `rules=remove`, the constraints that would prevent the fault are removed. Prints its URL in its first line, as
/// `souk serve` does, and ends at the end of its input.
struct FaultyServer {
    private let settings: [String: String]

    init(_ settings: [String: String]) { self.settings = settings }

    func run() async throws {
        let fault = try settings["fault"].map { name in
            guard let fault = SteeredDatabase.Fault(rawValue: name) else {
                throw ClusterChaosFailure("fault= is one of \(SteeredDatabase.Fault.allCases.map(\.rawValue))")
            }
            return fault
        }
        var postgres = PostgresDatabase.Configuration()
        postgres.isolation = settings["isolation"] == "serializable" ? .serializable : .readCommitted
        let database = SteeredDatabase(
            try PostgresDatabase(url: try required("database"), configuration: postgres), fault: fault)
        let service = try await EntitlementService(configuration: try configuration(database))
        if settings["rules"] == "remove" { try await database.removeConstraints() }
        let app = try required("app")
        _ = try await service.createMissingKeys { keys in
            try Data("\(keys.secretKey)\n".utf8)
                .write(to: URL(fileURLWithPath: "souk.\(app).secret-key"), options: .atomic)
        }
        let listener = HTTPListener(handler: service)
        let line: JSONValue = ["listening": .string(try listener.start().url)]
        FileHandle.standardOutput.write(Data("\(line.text())\n".utf8))
        let backgroundJobs = Task { try await service.run() }
        await Self.waitForEndOfInput()
        backgroundJobs.cancel()
    }

    private func configuration(_ database: SteeredDatabase) throws -> EntitlementService.Configuration {
        let bundleID = BundleID(unchecked: try required("app"))
        var app = EntitlementService.Configuration.App(bundleID: bundleID)
        app.credits = try CreditTable(json: try JSONValue(parsing: try bytes("features")))
        app.transferMode = settings["mode"].flatMap(TransferMode.init(rawValue:)) ?? .transfer
        app.customerRateLimit = nil
        var configuration = EntitlementService.Configuration(
            database: database, apps: [app], environments: [.sandbox])
        configuration.trustAnchors = try TrustAnchor.certificates(in: try bytes("root"))
        let secret = String(decoding: try bytes("secret"), as: UTF8.self).trimmingCharacters(in: .newlines)
        configuration.webhooks = [
            Webhook(name: "crm", app: bundleID, url: try required("webhook"), secrets: [try WebhookSecret(secret)])
        ]
        configuration.webhookTransport = CurlTransport.platformDefault()
        return configuration
    }

    private func required(_ name: String) throws -> String {
        guard let value = settings[name] else { throw ClusterChaosFailure("\(name)= is missing") }
        return value
    }

    private func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: try required(name))))
    }

    /// Waits on its own thread until the parent closes its input or ends.
    private static func waitForEndOfInput() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                while !FileHandle.standardInput.availableData.isEmpty {}
                continuation.resume()
            }
        }
    }
}
