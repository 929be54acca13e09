import SimulatorControl
import AppStoreSimulator
import CurlTransport
import Foundation
import HTTPCore
import InAppStore
import Primitives
import SignedData
import StoreKitAdapter
import StoreModel

/// The two processes of the demonstration, with their clients.
actor DemoWorld {
    let catalogue: Catalogue
    let bundleID: BundleID
    let products: ProductList
    let customer: CustomerID = "customer-1042"
    let account = "ada"
    let clock: SimulatorClock
    nonisolated let storeURL: String
    nonisolated let serverURL: String
    nonisolated let consoleURL: String
    /// The file with the secret key, with which an operator signs in to the console.
    nonisolated let secretKeyFile: String
    let publicKey: String
    let rootFile: String
    let simulatorFolder: String
    nonisolated let demoProducts: DemoProducts
    nonisolated let content: DemoContent
    nonisolated let googlePlay: DemoGooglePlay?
    private let folder: DataFolder
    private let contentPause: Duration?
    private let secretKey: String
    private let network: any HTTPTransport
    private let inspector: DemoInspector?
    private let simulator: ChildProcess
    private var server: ChildProcess
    /// Whether a step of the scenario has killed the server and none has restarted it yet.
    private var isServerKilled = false
    private var devices: [DemoDevice] = []

    /// Starts the simulator and the server, and creates an account at the store.
    ///
    /// - Parameters:
    ///   - contentPause: see `DemoDevice.Context`.
    ///   - inspector: shows the requests of the devices and the decisions of their hubs.
    static func begin(
        _ demoProducts: DemoProducts, bundleID: BundleID, folder: DataFolder, contentPause: Duration?,
        inspector: DemoInspector? = nil
    ) async throws -> DemoWorld {
        let content = try DemoContent(in: folder)
        let simulator = try await ChildProcess.start(
            [
                "simulate", "--catalog", demoProducts.file, "--bundle-id", bundleID.rawValue, "--data",
                folder.file("store"), "--time-rate", "frozen", "--content", content.folder,
            ] + (demoProducts.playFile.map { ["--play-catalog", $0] } ?? []), named: "simulator",
            log: folder.file("simulator.log"))
        do {
            return try await DemoWorld(demoProducts, content, bundleID, folder, simulator, contentPause, inspector)
        } catch {
            await simulator.stop()
            throw error
        }
    }

    private init(
        _ demoProducts: DemoProducts, _ content: DemoContent, _ bundleID: BundleID, _ folder: DataFolder,
        _ simulator: ChildProcess, _ contentPause: Duration?, _ inspector: DemoInspector?
    ) async throws {
        let greeting = simulator.greeting
        guard let storeURL = greeting["listening"]?.stringValue, let root = greeting["rootCertificate"]?.stringValue
        else { throw Failure("the simulator's first line has no URL") }
        let products = content.added(to: demoProducts.catalogue.productList, servedAt: storeURL)
        try OutputFile.replace(folder.file("products.json"), with: products.text(pretty: true))
        let (list, findings) = ProductList.lint(products.encoded(), file: "products.json")
        guard let list else { throw Failure(findings.map(\.description).joined(separator: "; ")) }
        network = CurlTransport.platformDefault()
        clock = SimulatorClock(url: storeURL, transport: network)
        try await clock.start()
        googlePlay = try greeting["googlePlay"].map(DemoGooglePlay.init)
        let server = try await Self.startServer(
            demoProducts, bundleID, folder, port: 0, root: root, storeURL: storeURL, googlePlay)
        do {
            guard let serverURL = server.greeting["listening"]?.stringValue,
                let publicKey = server.greeting["publicKey"]?.stringValue,
                let consoleURL = server.greeting["console"]?.stringValue,
                let secretFile = server.greeting["secretKeyFile"]?.stringValue
            else { throw Failure("the server's first line has no URL or no keys") }
            self.serverURL = serverURL
            self.consoleURL = consoleURL
            secretKeyFile = secretFile
            self.publicKey = publicKey
            secretKey = try InputFile.text(secretFile)
        } catch {
            await server.stop()
            throw error
        }
        self.demoProducts = demoProducts
        self.content = content
        self.contentPause = contentPause
        self.inspector = inspector
        catalogue = demoProducts.catalogue
        self.bundleID = bundleID
        self.products = list
        rootFile = root
        simulatorFolder = folder.file("store")
        self.folder = folder
        self.simulator = simulator
        self.server = server
        self.storeURL = storeURL
        _ = try await control.ask(
            .post, "/accounts", StoreControlWire.Account(name: account), as: StoreControlWire.Account.self)
    }

    private static func startServer(
        _ demoProducts: DemoProducts, _ bundleID: BundleID, _ folder: DataFolder, port: Int, root: String,
        storeURL: String, _ googlePlay: DemoGooglePlay?
    ) async throws -> ChildProcess {
        try await ChildProcess.start(
            [
                "serve", "--database", "sqlite:\(folder.file("ledger.sqlite"))", "--bundle-id", bundleID.rawValue,
                "--environment", "sandbox", "--root", root, "--clock", storeURL, "--port", "\(port)",
                "--console",
            ] + (demoProducts.featureFile.map { ["--features", $0] } ?? []) + (googlePlay?.serverOptions ?? []),
            named: "server", log: folder.file("server.log"))
    }

    func killServer() async {
        isServerKilled = true
        await server.kill()
    }

    /// Starts the server again on the same port and the same ledger.
    func restartServer() async throws {
        let port = serverURL.split(separator: ":").last.flatMap { Int($0) } ?? 0
        server = try await Self.startServer(
            demoProducts, bundleID, folder, port: port, root: rootFile, storeURL: storeURL, googlePlay)
        isServerKilled = false
    }

    /// Throws `DemoFault` if a process that should run has ended.
    func checkProcesses() throws {
        if !simulator.isRunning { throw DemoFault("the simulator has ended\(lastLine(in: "simulator.log"))") }
        if !server.isRunning, !isServerKilled { throw DemoFault("the server has ended\(lastLine(in: "server.log"))") }
    }

    /// The last line of a log, as the end of an error message.
    private func lastLine(in log: String) -> String {
        let text = (try? String(contentsOfFile: folder.file(log), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").last.map { "; its last log line: \($0)" } ?? " without a log line"
    }

    /// Returns when either process has ended.
    func someProcessEnded() async {
        let (simulator, server) = (simulator, server)
        await withTaskGroup(of: Void.self) { group in
            for process in [simulator, server] { group.addTask { await process.ended() } }
            await group.next()
            group.cancelAll()
        }
    }

    /// Closes the devices and ends both processes.
    func end() async {
        for device in devices { await device.close() }
        await clock.stop()
        await server.stop()
        await simulator.stop()
    }

    func launchDevice(_ name: String) async throws -> DemoDevice {
        let device = try await DemoDevice.launch(
            .init(
                storeURL: storeURL, serverURL: serverURL, publicKey: publicKey, account: account,
                customer: customer.rawValue, products: products, folder: folder.file(name), clock: clock,
                network: inspector?.interceptor.transport(wrapping: network) ?? network, contentPause: contentPause))
        inspector?.follow(device)
        devices.append(device)
        return device
    }

    var control: ServiceClient { ServiceClient(url: storeURL + "/control/v1", transport: network) }
    var store: ServiceClient { ServiceClient(url: storeURL + "/store/v1", transport: network) }
    var app: ServiceClient { service(with: publicKey) }
    var backend: ServiceClient { service(with: secretKey) }

    private func service(with key: String) -> ServiceClient {
        ServiceClient(url: serverURL, headers: ["Authorization": "Bearer \(key)"], transport: network)
    }

    nonisolated var customerPath: String { "/v1/customers/customer-1042" }

    /// Returns the server's current answer about the customer.
    func customerAnswer() async throws -> Customer {
        try await app.ask(.get, customerPath, as: Customer.self)
    }

    /// Returns the number of facts about the customer in the ledger, and the ETag of the customer's answer.
    func ledgerState() async throws -> (facts: Int, tag: String?) {
        let facts = try await backend.send(.get, customerPath + "/facts?limit=100")
        let answer = try await app.send(.get, customerPath)
        return (facts.json["facts"]?.arrayValue?.count ?? 0, answer.headers["ETag"])
    }

    /// Returns the server's time. The answer about an unknown customer is always computed anew.
    private func serverTime() async throws -> Date {
        try await app.ask(.get, "/v1/customers/nobody", as: Customer.self).asOf
    }

    /// Advances virtual time to `date`, for the store, the server and the devices.
    func advance(to date: Date) async throws {
        let left = (date.timeIntervalSince(clock.now()) * 1000).rounded() / 1000
        if left > 0 {
            _ = try await control.ask(
                .post, "/clock/advance", StoreControlWire.Advance(seconds: left), as: StoreControlWire.ClockState.self)
        }
        _ = try await eventually("the server and the device follow the store's clock") {
            let server = try await serverTime()
            let reached = min(clock.now(), server)
            return date.timeIntervalSince(reached) < 0.0005 ? true : nil
        }
    }

    /// Sends the store's notifications to the server from now on.
    func sendNotifications() async throws {
        let url = JSONValue.string(serverURL + "/v1/notifications/app-store")
        _ = try await control.ask(
            .put, "/settings/notificationsURL", StoreControlWire.SettingValue(value: url),
            as: StoreControlWire.Setting.self)
    }

    /// The transactions of the account, newest last.
    func transactions() async throws -> [StoreControlWire.Transaction] {
        try await control.ask(.get, "/accounts/\(account)/transactions", as: StoreControlWire.Transactions.self)
            .transactions
    }

    /// Returns the ids of the transactions that are not finished.
    func unfinished() async throws -> Set<TransactionID> {
        let device = try await store.ask(
            .post, "/devices", StoreWire.SignIn(account: account), as: StoreWire.Device.self)
        let answer = try await store.ask(.get, "/devices/\(device.deviceID)/updates?wait=0", as: StoreWire.Updates.self)
        return Set(answer.updates.filter { $0.state == "purchased" }.compactMap { $0.transaction?.id })
    }

    /// A verifier that trusts the simulator's root and nothing else.
    func verifier() throws -> SignedDataVerifier {
        SignedDataVerifier(
            configuration: .init(
                bundleIDs: [bundleID], environments: [.sandbox],
                trustAnchors: try TrustAnchor.certificates(in: try InputFile.read(rootFile))))
    }
}
