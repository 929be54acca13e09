import SimulatorControl
import AppStoreSimulator
import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HTTPListener
import HostTestSupport
import Primitives
import StoreKitAdapter
import StoreModel

/// Repeats a run with kills. Each kill comes `every` operations later than the one before, until a run ends without a
/// kill.
struct CrashDriver {
    private static let catalogue = #"""
        {
          "identifier" : "9D1E3A70", "version" : { "major" : 4, "minor" : 0 }, "subscriptionGroups" : [],
          "nonRenewingSubscriptions" : [], "settings" : { "_storefront" : "USA", "_locale" : "en_US" },
          "products" : [
            {
              "displayPrice" : "4.99", "familyShareable" : false, "internalID" : "1",
              "localizations" : [ { "description" : "", "displayName" : "Unlock", "locale" : "en_US" } ],
              "productID" : "com.example.unlock", "referenceName" : "Unlock", "type" : "NonConsumable"
            }
          ]
        }
        """#
    static let product = "com.example.unlock"
    private static let maximumPoints = 5000

    let folder: String
    private let network: any HTTPTransport
    private let observer: StoreObserver
    private let root: String

    var storeURL: String { observer.url }

    /// Runs `body` with a store in this process that sells a product with content.
    static func withStore(_ body: (CrashDriver, ContentShop) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/souk-crash-\(UUID().uuidString.lowercased())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let shop = try ContentShop(folder: folder + "/content")
        var configuration = SimulatedAppStore.Configuration(
            catalogue: try Catalogue(parsing: Array(catalogue.utf8), file: "catalogue"),
            dataDirectory: folder + "/store")
        configuration.content = try ContentFolder(folder + "/content")
        let store = try await SimulatedAppStore.open(configuration)
        shop.open(store)
        let listener = HTTPListener(handler: shop)
        let url = try listener.start().url
        let network = CurlTransport.platformDefault()
        let driver = CrashDriver(
            folder: folder, network: network, observer: StoreObserver(url: url, network: network),
            root: store.summary.rootCertificate)
        try await body(driver, shop)
        await store.close()
        await listener.stop()
    }

    /// Kills the app and its server during purchases.
    static func run(every: Int) async throws {
        try await withStore { driver, _ in
            let app = try await loop("app", every: every) { try await driver.killApp(at: $0) }
            let server = try await loop("server", every: every) { try await driver.killServer(at: $0) }
            print(
                "killed the app \(app) times and the server \(server) times: each purchase acknowledged and finished once"
            )
        }
    }

    /// Kills the simulated store.
    static func runStores(every: Int) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/souk-crash-\(UUID().uuidString.lowercased())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let network = CurlTransport.platformDefault()
        let count = try await loop("store", every: every) {
            try await StoreCrash.attempt($0, in: folder, over: network)
        }
        print(
            "killed the store \(count) times: each answered request had its effect once, and every notification arrived"
        )
    }

    /// Calls `attempt` with the points 1, 1 + `every` and so on until it returns `false`. Returns the number of points
    /// at which it returned `true`, and throws if there is none.
    static func loop(
        _ side: String, every: Int, verb: String = "killed", _ attempt: (Int) async throws -> Bool
    ) async throws -> Int {
        var failures = 0
        var point = 1
        while try await attempt(point) {
            failures += 1
            FileHandle.standardError.write(Data("\r\(side) \(verb) at point \(point)  ".utf8))
            point += every
            guard point < maximumPoints else { throw CrashFailure("the \(side) is still killed at point \(point)") }
        }
        FileHandle.standardError.write(Data("\n".utf8))
        guard failures > 0 else { throw CrashFailure("the \(side) was never killed: nothing was tested") }
        return failures
    }

    // MARK: - App and server

    private func killApp(at point: Int) async throws -> Bool {
        let server = try Child(["server"] + serverSettings("app-side"))
        guard let port = await server.firstLine() else { throw CrashFailure("the server did not start") }
        let account = "app-\(point)"
        try await createAccount(account)
        let settings = try appSettings(account, port: port, keys: "app-side")
        let killed = try await endsByKill(try Child(["app"] + settings + ["kill-at=\(point)"]))
        if killed, try await endsByKill(try Child(["app"] + settings)) {
            throw CrashFailure("\(account): the restarted app was killed")
        }
        try await check(account, port: port, keys: "app-side")
        await server.kill()
        return killed
    }

    private func killServer(at point: Int) async throws -> Bool {
        let name = "server-\(point)"
        try await createAccount(name)
        let reserved = try ReservedPort()
        let settings = ["server"] + serverSettings(name) + ["port=\(reserved.number)"]
        var server = try Child(settings + ["kill-at=\(point)"])
        var wasKilled = false
        var port = await server.firstLine()
        if port == nil {
            await server.waitForEnd()
            wasKilled = true
            server = try Child(settings)
            port = await server.firstLine()
        }
        guard let port else { throw CrashFailure("\(name): the restarted server did not start") }
        let app = try Child(["app"] + appSettings(name, port: port, keys: name))
        while app.isRunning {
            await Child.waitForFirstEnd(of: app, server)
            if !server.isRunning {
                guard !wasKilled else { throw CrashFailure("\(name): the restarted server died") }
                wasKilled = true
                server = try Child(settings)
                guard await server.firstLine() == port else { throw CrashFailure("\(name): port \(port) is lost") }
            }
        }
        withExtendedLifetime(reserved) {}
        guard await app.waitForEnd() == 0 else { throw CrashFailure("\(name): the app failed: \(app.errorOutput)") }
        // The check must not touch the fuse, so another server on the same ledger does it.
        await server.kill()
        server = try Child(["server"] + serverSettings(name))
        guard let port = await server.firstLine() else { throw CrashFailure("\(name): the server did not start") }
        try await check(name, port: port, keys: name)
        await server.kill()
        return wasKilled
    }

    func createAccount(_ name: String) async throws {
        _ = try await observer.ask(
            .post, "/control/v1/accounts", try WireJSON.encode(StoreControlWire.Account(name: name)),
            as: StoreControlWire.Account.self)
    }

    func serverSettings(_ name: String) -> [String] {
        ["database=\(folder)/\(name).sqlite", "root=\(root)", "keys=\(folder)/\(name).keys"]
    }

    func appSettings(_ account: String, port: String, keys: String) throws -> [String] {
        [
            "store=\(observer.url)", "server=http://127.0.0.1:\(port)", "account=\(account)",
            "product=\(Self.product)", "folder=\(folder)/\(account)", "key=\(try key(0, of: keys))",
        ]
    }

    private func key(_ index: Int, of name: String) throws -> String {
        let lines = try String(contentsOfFile: "\(folder)/\(name).keys", encoding: .utf8).split(separator: "\n")
        guard lines.indices.contains(index) else { throw CrashFailure("\(name): the keys are not written") }
        return String(lines[index])
    }

    /// Returns whether the app was killed; throws when it failed otherwise.
    func endsByKill(_ app: Child) async throws -> Bool {
        let status = await app.waitForEnd()
        guard status == 0 || status == SIGKILL + 128 else {
            throw CrashFailure("the app ended with \(status): \(app.errorOutput)")
        }
        return status != 0
    }

    /// Checks that the purchase was made once, is finished, and is once in the ledger and among the purchases.
    func check(_ account: String, port: String, keys: String) async throws {
        let bought = try await observer.transactions(of: account)
        guard bought.count == 1 else { throw CrashFailure("\(account) was sold \(bought.count) transactions") }
        let unfinished = try await observer.unfinished(of: account)
        guard unfinished.isEmpty else { throw CrashFailure("\(account) has unfinished transactions") }
        let server = StoreObserver(url: "http://127.0.0.1:\(port)", network: network)
        let headers: HTTPHeaders = ["Authorization": "Bearer \(try key(1, of: keys))"]
        let customer = try await server.ask(.get, "/v1/customers/\(account)", headers: headers, as: Customer.self)
        guard customer.purchases.map(\.transactionID) == bought.map(\.transactionID) else {
            throw CrashFailure("\(account): the server lists \(customer.purchases.count) purchases")
        }
        let facts = try await server.ask(
            .get, "/v1/customers/\(account)/facts", headers: headers, as: JSONValue.self)
        // A restarted app is another device, for which the store signs the transaction anew.
        let transactions = facts["facts"]?.arrayValue?.compactMap { $0["transactionID"]?.stringValue } ?? []
        guard Set(transactions) == Set(bought.map(\.transactionID.rawValue)) else {
            throw CrashFailure("\(account): the ledger has facts of \(Set(transactions).count) transactions")
        }
    }
}
