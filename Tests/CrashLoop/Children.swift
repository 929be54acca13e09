import SimulatorControl
import CurlTransport
import EntitlementServer
import Foundation
import HTTPCore
import HTTPListener
import Primitives
import SQLStorage
import SignedData
import StoreKitAdapter
import StoreModel

/// The entitlement server over a database with a fuse. Prints the port in its first line.
enum ServerChild {
    static func run(_ settings: Settings) async throws {
        let database = FusedDatabase(
            database: try SQLiteDatabase(path: try settings.required("database")), fuse: Fuse(settings.killAt))
        let root = try Data(contentsOf: URL(fileURLWithPath: try settings.required("root")))
        var configuration = EntitlementService.Configuration(
            database: database, apps: [.init(bundleID: "com.example.souk")], environments: [.sandbox])
        configuration.trustAnchors = try TrustAnchor.certificates(in: Array(root))
        let service = try await EntitlementService(configuration: configuration)
        let keyFile = try settings.required("keys")
        _ = try await service.createMissingKeys { keys in
            try Data("\(keys.publicKey)\n\(keys.secretKey)\n".utf8)
                .write(to: URL(fileURLWithPath: keyFile), options: .atomic)
        }
        let listener = HTTPListener(
            handler: service, configuration: .init(port: settings["port"].flatMap { Int($0) } ?? 0))
        let port = try listener.start().port
        FileHandle.standardOutput.write(Data("\(port)\n".utf8))
        await waitForEndOfInput()
    }
}

/// Waits on its own thread for the end of standard input, which comes when the driver closes it or exits.
func waitForEndOfInput() async {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            continuation.resume()
        }
    }
}

/// Sends requests to the simulated store or to a server, without a fuse.
struct StoreObserver: Sendable {
    let url: String
    let network: any HTTPTransport

    func transactions(of account: String) async throws -> [StoreControlWire.Transaction] {
        try await ask(.get, "/control/v1/accounts/\(account)/transactions", as: StoreControlWire.Transactions.self)
            .transactions
    }

    func unfinished(of account: String) async throws -> [TransactionID] {
        let device = try await ask(
            .post, "/store/v1/devices", try WireJSON.encode(StoreWire.SignIn(account: account)),
            as: StoreWire.Device.self)
        return try await ask(.get, "/store/v1/devices/\(device.deviceID)/updates?wait=0", as: StoreWire.Updates.self)
            .updates.compactMap { $0.transaction?.id }
    }

    func ask<Value: Decodable>(
        _ method: HTTPRequest.Method, _ path: String, _ body: [UInt8] = [], headers: HTTPHeaders = [:],
        as type: Value.Type
    ) async throws -> Value {
        var headers = headers
        if !body.isEmpty { headers["Content-Type"] = "application/json" }
        let response = try await network.send(
            HTTPRequest(method: method, url: url + path, headers: headers, body: .bytes(body)))
        let bytes = try await response.body.collect(upTo: 1 << 20)
        guard response.isSuccess else { throw CrashFailure("\(path) got the status \(response.status)") }
        return try WireJSON.decode(type, from: bytes)
    }
}
