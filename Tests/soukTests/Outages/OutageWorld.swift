import SimulatorControl
import CurlTransport
import Foundation
import HTTPCore
import Primitives
import Purchases
import SignedData
import StoreKitAdapter
import StoreModel

/// A simulated App Store, two entitlement servers and the backend of promotional codes, each in a process. One server
/// verifies store purchases, the other belongs to a web shop. Both sign their answers.
final class OutageWorld: Sendable {
    static let bundle = "com.example.souk"

    struct Server: Sendable {
        let process: SoukService
        let publicKey: String
        let secretKey: String
        let verifier: Ed25519AnswerVerifier
    }

    let folder: TemporaryFolder
    let simulator: SoukService
    let entitlementServer: Server
    let shop: Server
    let codes: SoukService
    let network = CurlTransport.platformDefault()

    private init() async throws {
        let folder = try TemporaryFolder()
        self.folder = folder
        simulator = try await SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"), "--time-rate", "frozen",
        ])
        let root = simulator.greeting["rootCertificate"]?.stringValue ?? ""
        entitlementServer = try await Self.server(
            "judge", folder, network,
            [
                "--root", root, "--clock", simulator.url, "--features",
                TestFiles.repository + "/Examples/darkroom.features.json",
            ])
        shop = try await Self.server(
            "shop", folder, network, ["--catalog", try folder.write("web.storekit", Self.onTheWeb)])
        codes = try await SoukService(program: "PromoCodes", ["serve"])
    }

    /// The products of the web shop.
    private static let onTheWeb = """
        {"products": [{"productID": "com.example.magazine.issue", "type": "NonConsumable", "displayPrice": "2.99",
        "internalID": "1", "referenceName": "Issue", "localizations": []}], "settings": {"_storefront": "USA"},
        "subscriptionGroups": [], "version": {"major": 3, "minor": 0}}
        """

    private static func server(
        _ name: String, _ folder: TemporaryFolder, _ network: any HTTPTransport, _ options: [String]
    ) async throws -> Server {
        let signing = folder.file("\(name).pem")
        guard try await SoukExecutable.run(["keys", "create", "--signing", signing]).status == 0 else {
            throw OutageFault(sentence: "no signing key")
        }
        let process = try await SoukService(
            [
                "serve", "--database", "sqlite:\(folder.file("\(name).sqlite"))", "--bundle-id", bundle,
                "--environment", "sandbox", "--signing-key", signing,
            ] + options)
        let answer = try await network.send(HTTPRequest(method: .get, url: process.url + "/v1/signing-keys"))
        let listed = try JSONValue(parsing: try await answer.body.collect(upTo: 1 << 20))
        var keys: [String: Ed25519.PublicKey] = [:]
        for key in listed["keys"]?.arrayValue ?? [] {
            guard let id = key["id"]?.stringValue, let text = key["publicKey"]?.stringValue,
                let bytes = Data(base64Encoded: text)
            else { continue }
            keys[id] = try Ed25519.PublicKey(raw: Array(bytes))
        }
        let secretFile = process.greeting["secretKeyFile"]?.stringValue ?? ""
        return Server(
            process: process, publicKey: process.greeting["publicKey"]?.stringValue ?? "",
            secretKey: try String(contentsOfFile: secretFile, encoding: .utf8).trimmingCharacters(in: .newlines),
            verifier: Ed25519AnswerVerifier(keys: keys))
    }

    /// Creates a customer with an account at the store, and with a grant of the web shop.
    func createCustomer(_ name: String) async throws {
        try await ask(simulator.url + "/control/v1/accounts", StoreControlWire.Account(name: name))
        try await ask(
            "\(shop.process.url)/v1/customers/\(name)/grants",
            JSONValue.object(["feature": "magazine", "reason": "a subscription on paper"]), key: shop.secretKey)
    }

    /// Begins a promoted purchase of the customer.
    func promote(_ product: ProductID, to customer: String) async throws {
        try await ask(
            "\(simulator.url)/control/v1/accounts/\(customer)/promote", StoreControlWire.Promotion(productID: product))
    }

    private func ask(_ url: String, _ body: some Encodable, key: String? = nil) async throws {
        var request = HTTPRequest(
            method: .post, url: url, headers: ["Content-Type": "application/json"],
            body: .bytes(try WireJSON.encode(body)))
        if let key { request.headers["Authorization"] = "Bearer \(key)" }
        let answer = try await network.send(request)
        guard (200..<300).contains(answer.status) else { throw OutageFault(sentence: "\(url): \(answer.status)") }
    }

    /// Runs `body` with a world, and ends its processes.
    static func during(_ body: (OutageWorld) async throws -> Void) async throws {
        let world = try await OutageWorld()
        try await body(world)
        for process in [world.simulator, world.entitlementServer.process, world.shop.process, world.codes] {
            _ = await process.stop()
        }
    }
}

struct OutageFault: Error { let sentence: String }
