import CurlTransport
import Foundation
import HTTPCore
import InAppStore
import Primitives
import Purchases
import SignedData
import StoreKitAdapter
import StoreModel

/// What goes wrong between a plugin and its server.
enum Outage: String, CaseIterable, Sendable {
    case down = "down at start"
    case slow = "slow"
    case failing = "500"
    case unauthorised = "401"
    case garbage = "garbage"
    case truncated = "truncated"
    case forged = "wrong signature"
    case skewed = "clock skew"
}

/// A simulated App Store and two entitlement servers as processes: the one that judges what the store sold, and one of a
/// web shop. Both sign their answers.
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
    let judge: Server
    let shop: Server
    let network = CurlTransport.platformDefault()

    init() async throws {
        let folder = try TemporaryFolder()
        self.folder = folder
        simulator = try SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"), "--time-rate", "frozen",
        ])
        let root = simulator.greeting["rootCertificate"]?.stringValue ?? ""
        judge = try await Self.server("judge", folder, network, ["--root", root, "--clock", simulator.url])
        shop = try await Self.server("shop", folder, network, [])
    }

    private static func server(
        _ name: String, _ folder: TemporaryFolder, _ network: any HTTPTransport, _ options: [String]
    ) async throws -> Server {
        let signing = folder.file("\(name).pem")
        guard try await SoukExecutable.run(["keys", "create", "--signing", signing]).status == 0 else {
            throw OutageFault(sentence: "no signing key")
        }
        let process = try SoukService(
            [
                "serve", "--database", "sqlite:\(folder.file("\(name).sqlite"))", "--bundle-id", bundle,
                "--environment", "sandbox", "--signing-key", signing, "--features",
                TestFiles.repository + "/Examples/darkroom.features.json",
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

    /// A customer with an account at the store, to whom the web shop has granted a magazine.
    func newcomer(_ name: String) async throws {
        let created = try await SoukExecutable.run(["store", "--url", simulator.url, "account", "create", name])
        guard created.status == 0 else { throw OutageFault(sentence: created.errors) }
        let grant = HTTPRequest(
            method: .post, url: "\(shop.process.url)/v1/customers/\(name)/grants",
            headers: ["Authorization": "Bearer \(shop.secretKey)", "Content-Type": "application/json"],
            body: .json(["feature": "magazine", "reason": "a subscription on paper"]))
        let answer = try await network.send(grant)
        guard answer.status == 201 else { throw OutageFault(sentence: "no grant: \(answer.status)") }
    }

    func stop() {
        _ = (simulator.stop(), judge.process.stop(), shop.process.stop())
    }
}

struct OutageFault: Error { let sentence: String }

/// The network of one plugin, on which one thing goes wrong, from the start or from when a test says so.
final class OutageLine: HTTPTransport {
    private let inner: any HTTPTransport
    private let outage: Locked<Outage?>
    private let hole: DeafPort

    init(_ inner: any HTTPTransport, _ outage: Outage?, hole: DeafPort) {
        (self.inner, self.outage, self.hole) = (inner, Locked(outage), hole)
    }

    func begin(_ outage: Outage) { self.outage.withLock { $0 = outage } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let outage = outage.withLock { $0 }
        var request = request
        switch outage {
        case .down: request.url = elsewhere(request.url, port: 1)
        case .slow: request.url = elsewhere(request.url, port: hole.port)
        case .failing: return HTTPResponse(status: 500)
        case .unauthorised:
            for name in ["Authorization", "x-api-key"] where request.headers[name] != nil {
                request.headers[name] = name == "Authorization" ? "Bearer pk_nobody" : "pk_nobody"
            }
        case .garbage, .truncated, .forged, .skewed, nil: break
        }
        var response = try await inner.send(request)
        switch outage {
        case .garbage: response.body = .text("{\"half\": ")
        case .truncated: throw HTTPError(.connectionLost, "The connection ended in the middle of the answer.")
        case .forged:
            // One space more is the same JSON to whoever does not look at the signature.
            let bytes = try await response.body.collect(upTo: 1 << 20)
            response.body = .bytes(bytes.first == UInt8(ascii: "{") ? [0x7B, 0x20] + bytes.dropFirst() : bytes)
        default: break
        }
        return response
    }

    private func elsewhere(_ url: String, port: Int) -> String {
        let path = url.split(separator: "/", maxSplits: 2)[1].drop { $0 != "/" }
        return "http://127.0.0.1:\(port)\(path)"
    }
}

/// A port that takes connections and says nothing.
final class DeafPort: Sendable {
    let port: Int
    private let socket: Int32

    init() {
        #if canImport(Darwin)
            let socket = Foundation.socket(AF_INET, SOCK_STREAM, 0)
        #else
            let socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = bind(socket, address, length)
                _ = listen(socket, 128)
                _ = getsockname(socket, address, &length)
            }
        }
        self.socket = socket
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(socket) }
}
