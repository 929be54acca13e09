import EntitlementServer
import Foundation
import HTTPCore
import NetworkTestSupport
import Primitives
import Purchases
import SQLStorage
import SignedData
import Testing

/// Signed answers of a real server through a proxy that changes them, over HTTP.
@Suite(.timeLimit(.minutes(2))) struct TamperingTests {
    /// An app on a device whose network goes through the proxy.
    private struct Device {
        let proxy: TamperingProxy
        let client: EntitlementServiceClient
        let plugin: RemotePurchasePlugin

        /// Returns the names of Ada's features, from the client and from the plugin.
        func features() async throws -> [[String]] {
            [
                try await client.customer("ada").features.map(\.name),
                try await plugin.getFeatures().features.map(\.name),
            ]
        }

        /// Expects that each request about a customer fails with `untrustedAnswer` and is not repeated.
        func expectRefusals(_ what: String) async {
            for ask in [
                { _ = try await client.customer("ada") }, { _ = try await plugin.getPaidFeatures() },
                { _ = try await plugin.getSubscriptions() },
            ] as [() async throws -> Void] {
                let before = proxy.passed.count
                let error = await #expect(throws: PurchaseError.self, "\(what)") { try await ask() }
                #expect(error?.code == .untrustedAnswer && error?.isRetryable == false, "\(what)")
                #expect(proxy.passed.count == before + 1, "\(what)")
            }
        }
    }

    /// Runs `body` with a server that has granted Ada "pro" and Ben "everything".
    private func withDevice(trusting other: Ed25519.PrivateKey? = nil, _ body: (Device) async throws -> Void)
        async throws
    {
        let folder = NSTemporaryDirectory() + "souk-tampering-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let database = try SQLiteDatabase(path: folder + "/ledger.sqlite")
        let signing = try Ed25519.PrivateKey.generate()
        var configuration = EntitlementService.Configuration(
            database: database, apps: [.init(bundleID: "com.example.souk")], environments: [.sandbox])
        configuration.signingKeys = [AnswerSigningKey(signing, id: "2026")]
        let service = try await EntitlementService(configuration: configuration)
        let keys = try #require(try await service.createMissingKeys().first)
        try await withLoopbackServer(service) { serverURL in
            for (customer, feature) in [("ada", "pro"), ("ben", "everything")] {
                let answer = try await loopbackTransport().send(
                    HTTPRequest(
                        method: .post, url: "\(serverURL)/v1/customers/\(customer)/grants",
                        headers: ["Authorization": "Bearer \(keys.secretKey)"],
                        json: ["feature": .string(feature), "reason": "test"]))
                #expect(answer.status == 201)
            }
            let proxy = TamperingProxy(to: serverURL)
            try await withLoopbackServer(proxy) { proxyURL in
                let verifier = Ed25519AnswerVerifier(keys: ["2026": (other ?? signing).publicKey])
                var client = EntitlementServiceClient.Configuration(baseURL: proxyURL, key: APIKey(keys.publicKey))
                client.answerVerifier = verifier
                var remote = RemotePurchasePlugin.Configuration(baseURL: proxyURL, key: APIKey(keys.publicKey))
                remote.answerVerifier = verifier
                remote.freshness = .none
                remote.sleep = { _ in }
                let plugin = RemotePurchasePlugin(configuration: remote, transport: loopbackTransport())
                try await plugin.logIn(appUserId: .string("ada"))
                try await body(
                    Device(
                        proxy: proxy,
                        client: EntitlementServiceClient(configuration: client, transport: loopbackTransport()),
                        plugin: plugin))
            }
        }
        await database.close()
    }

    @Test func `an unchanged answer is used, also a 304`() async throws {
        try await withDevice { device in
            for _ in 0..<2 {
                let found = try await device.features()
                #expect(found == [["pro"], ["pro"]])
            }
            #expect(device.proxy.passed.map(\.status) == [200, 200, 304, 200])
        }
    }

    @Test func `an answer that was changed on the way is refused`() async throws {
        let changes: [(String, @Sendable (inout HTTPResponse) -> Void)] = [
            ("a byte of the body", { $0.body = .bytes(($0.body.buffered ?? []) + [0x20]) }),
            ("another body", { $0.body = .json(["features": [], "subscriptions": []]) }),
            ("no signature", { $0.headers[SignedAnswer.signatureField] = nil }),
            ("no date", { $0.headers[SignedAnswer.dateField] = nil }),
            ("another date", { $0.headers[SignedAnswer.dateField] = RFC3339.string(from: Date() + 1) }),
            ("another ETag", { $0.headers["ETag"] = "\"mine\"" }),
            ("another key", { $0.rename(key: "2025") }),
            ("a refusal", { $0.status = 403 }),
            ("a failure that keeps the signature", { $0.status = 503 }),
            ("the status 304", { ($0.status, $0.body) = (304, .empty) }),
        ]
        for (what, change) in changes {
            try await withDevice { device in
                device.proxy.tamper(change)
                await device.expectRefusals(what)
            }
        }
    }

    @Test func `a replayed earlier answer is refused`() async throws {
        try await withDevice { device in
            _ = try await device.features()
            _ = try await device.plugin.getSubscriptions()
            let recorded = device.proxy.passed
            let customer = try #require(recorded.first), features = recorded[1], subscriptions = recorded[2]
            for (earlier, question) in [
                (customer, { _ = try await device.client.customer("ada") }),
                (features, { _ = try await device.plugin.getFeatures() }),
                (subscriptions, { _ = try await device.plugin.getSubscriptions() }),
            ] as [(HTTPResponse, () async throws -> Void)] {
                device.proxy.tamper { $0 = earlier }
                await #expect(throws: PurchaseError(.untrustedAnswer)) { try await question() }
            }
        }
    }

    @Test func `the answer about another customer, or for another nonce, is refused`() async throws {
        try await withDevice { device in
            device.proxy.replace { $0.url = $0.url.replacingOccurrences(of: "/ada?", with: "/ben?") }
            await #expect(throws: PurchaseError(.untrustedAnswer)) { try await device.client.customer("ada") }
            device.proxy.replace { $0.url = $0.url.replacingOccurrences(of: "nonce=", with: "nonce=0") }
            await device.expectRefusals("another nonce")
        }
    }

    @Test func `the answer to a request that was changed on the way is refused`() async throws {
        try await withDevice { device in
            device.proxy.replace { request in
                let text = String(decoding: request.body.buffered ?? [], as: UTF8.self)
                request.body = .text(text.replacingOccurrences(of: "\"ada\"", with: "\"ben\""))
            }
            let error = await #expect(throws: PurchaseError.self) { try await device.plugin.getFeatures() }
            #expect(error?.code == .validationError && error?.reason.contains("changed on the way") == true)
            device.proxy.replace { $0.headers["Souk-Environment"] = "sandbox" }
            await #expect(throws: PurchaseError(.validationError)) { try await device.plugin.getFeatures() }
            await #expect(throws: PurchaseError(.validationError)) { try await device.client.customer("ada") }
        }
    }

    @Test func `the signature of a key that the app does not have is refused`() async throws {
        try await withDevice(trusting: .generate()) { device in await device.expectRefusals("another server") }
    }

    @Test func `a signed refusal has its reason, and one with a changed status is refused`() async throws {
        try await withDevice { device in
            try await device.plugin.logIn(appUserId: .string(String(repeating: "x", count: 300)))
            await #expect(throws: PurchaseError(.validationError)) { try await device.plugin.getFeatures() }
            device.proxy.tamper { $0.status = 200 }
            await #expect(throws: PurchaseError(.untrustedAnswer)) { try await device.plugin.getFeatures() }
        }
    }

    @Test func `a proxy that cannot reach its server is an outage, not an untrusted answer`() async throws {
        try await withDevice { device in
            device.proxy.tamper { $0 = HTTPResponse(status: 502, body: .text("<html>Bad gateway</html>")) }
            let error = await #expect(throws: PurchaseError.self) { try await device.plugin.getFeatures() }
            #expect(error?.code == .serverError && error?.isRetryable == true)
        }
    }
}

extension HTTPResponse {
    fileprivate mutating func rename(key: String) {
        headers[SignedAnswer.signatureField] = headers[SignedAnswer.signatureField]?
            .replacingOccurrences(of: "2026", with: key)
    }
}

/// Forwards requests to a server and changes its responses as the test requires.
private final class TamperingProxy: HTTPHandler {
    private struct State {
        var tamper: @Sendable (inout HTTPResponse) -> Void = { _ in }
        var replace: @Sendable (inout HTTPRequest) -> Void = { _ in }
        var passed: [HTTPResponse] = []
    }

    private let server: String
    private let transport = loopbackTransport()
    private let state = Locked(State())

    init(to server: String) { self.server = server }

    func tamper(_ change: @escaping @Sendable (inout HTTPResponse) -> Void) { state.withLock { $0.tamper = change } }
    func replace(_ change: @escaping @Sendable (inout HTTPRequest) -> Void) { state.withLock { $0.replace = change } }

    /// The server's responses before the change.
    var passed: [HTTPResponse] { state.withLock { $0.passed } }

    func respond(to request: HTTPRequest) -> HTTPReply {
        .suspended { [self] in
            var onward = request
            state.withLock { $0.replace }(&onward)
            onward.url = server + onward.url
            for name in ["Host", "Content-Length", "Connection"] { onward.headers[name] = nil }
            do {
                var answer = try await transport.send(onward)
                answer.body = .bytes(try await answer.body.collect(upTo: 1 << 20))
                for name in ["Content-Length", "Connection", "Date"] { answer.headers[name] = nil }
                let (original, tamper) = (answer, state.withLock { $0.tamper })
                state.withLock { $0.passed.append(original) }
                tamper(&answer)
                return answer
            } catch {
                return HTTPResponse(status: 502)
            }
        }
    }
}
