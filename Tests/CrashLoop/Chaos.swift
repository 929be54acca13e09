import SimulatorControl
import AppStoreSimulator
import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HTTPListener
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

/// Customers buy, get refunds and renew at a simulated store, and present transactions to `souk serve`, concurrently
/// and partly twice. The store's notifications arrive shuffled and repeated, and the server is killed at any moment. At
/// the end, all acknowledged data must be stored exactly once, and the answers must agree with the store.
struct Chaos: Sendable {
    private static let customers = 8

    let kills: Int
    let store: StoreObserver
    let server: ChaosServer
    let notifications: NotificationRelay
    let client = ChaosClient()

    static func run(kills: Int) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/souk-chaos-\(UUID().uuidString.lowercased())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let network = CurlTransport.platformDefault()
        let notifications = try NotificationRelay()
        var configuration = SimulatedAppStore.Configuration(
            catalogue: try Catalogue(parsing: Array(StoreChild.catalogue.utf8), file: "catalogue"),
            dataDirectory: folder + "/store")
        configuration.timeRate = .frozen
        configuration.notificationsURL = notifications.url
        configuration.notificationTransport = network
        let store = try await SimulatedAppStore.open(configuration)
        let listener = HTTPListener(handler: store.handler)
        let url = try listener.start().url
        let settings = ChaosServer.Settings(folder: folder, store: url, root: store.summary.rootCertificate)
        let chaos = Chaos(
            kills: kills, store: StoreObserver(url: url, network: network),
            server: try await ChaosServer.start(settings, name: "ledger", network: network),
            notifications: notifications)
        let clock = ContinuousClock()
        let start = clock.now
        try await chaos.runAll()
        let elapsed = clock.now - start
        let check = ChaosCheck(chaos: chaos, settings: settings, network: network)
        let facts = try await check.run(customers: (0..<Self.customers).map(Self.name))
        await chaos.server.kill()
        await store.close()
        await listener.stop()
        await notifications.stop()
        chaos.client.report(kills: kills, facts: facts, customers: Self.customers, elapsed: elapsed)
    }

    private static func name(_ number: Int) -> String { "customer-\(number)" }

    /// Returns when the server was killed `kills` times and all requests were answered.
    private func runAll() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let isOver = Locked(false)
            let isRunning: @Sendable () -> Bool = { isOver.withLock { !$0 } }
            for number in 0..<Self.customers {
                group.addTask {
                    let customer = ChaosCustomer(name: Self.name(number), chaos: self)
                    try await customer.act(while: isRunning)
                }
            }
            group.addTask { try await letTimePass(while: isRunning) }
            group.addTask {
                try await notifications.forward(to: server, client)
            }
            group.addTask {
                for number in 1...kills {
                    await client.wait(forRequests: Int.random(in: 0...50))
                    try await server.killAndStart()
                    FileHandle.standardError.write(Data("\rkilled \(number) of \(kills) times ".utf8))
                }
                FileHandle.standardError.write(Data("\n".utf8))
                isOver.withLock { $0 = true }
                notifications.end()
                client.endWaiting()
            }
            try await group.waitForAll()
        }
        try await deliver()
        try await notifications.forward(to: server, client)
    }

    /// Advances ten days at a time: each subscription renews once a month at most, and the store notifies each renewal.
    private func letTimePass(while isRunning: () -> Bool) async throws {
        while isRunning() {
            await client.wait(forRequests: 300)
            try await store.request("/control/v1/clock/advance", StoreControlWire.Advance(period: .days(10)))
        }
    }

    private func deliver() async throws {
        let sent = try await store.ask(
            .post, "/control/v1/notifications/deliver", as: StoreControlWire.Deliveries.self)
        guard sent.waiting == 0 else { throw CrashFailure("\(sent.waiting) notifications were not sent") }
    }
}

/// The acknowledged data, and the number of requests.
final class ChaosClient: Sendable {
    struct State {
        /// The acknowledged transactions, by customer.
        var acknowledged: [String: Set<TransactionID>] = [:]
        /// The presented transactions, by customer.
        var presented: [String: Set<String>] = [:]
        var requests = 0
        var broken = 0
        var unavailable = 0
    }

    let state = Locked(State())
    /// The number of requests that were sent.
    private let sent = Broadcast<Int>(replaysLast: true)

    /// Returns after `count` more requests, or at the end of the run.
    func wait(forRequests count: Int) async {
        let enough = state.withLock { $0.requests } + count
        for await requests in sent.stream(keeping: 1) where requests >= enough { return }
    }

    func endWaiting() { sent.finish() }

    /// Repeats a request until it succeeds, and returns the response.
    func sendUntilSuccess(
        _ method: HTTPRequest.Method, _ path: String, of server: ChaosServer, key: String? = nil,
        headers: HTTPHeaders = [:], body: JSONValue? = nil
    ) async throws -> [UInt8] {
        var headers = headers
        if let key { headers.add("Authorization", "Bearer \(key)") }
        if body != nil { headers.add("Content-Type", "application/json") }
        let request = HTTPRequest(
            method: method, url: server.url + path, headers: headers, body: .bytes(body?.encoded() ?? []))
        var answer: [UInt8] = []
        try await until("\(path) is answered") {
            guard let success = try await send(request, path, server.network) else { return false }
            answer = success
            return true
        }
        return answer
    }

    /// Returns the response of a success; `nil` to repeat the request.
    private func send(_ request: HTTPRequest, _ path: String, _ network: any HTTPTransport) async throws -> [UInt8]? {
        let count = state.withLock { state in
            state.requests += 1
            return state.requests
        }
        sent.send(count)
        guard let response = try? await network.send(request),
            let bytes = try? await response.body.collect(upTo: 4 << 20)
        else {
            state.withLock { $0.broken += 1 }
            return nil
        }
        if response.isSuccess { return bytes }
        // 409: another request with the same idempotency key is in progress.
        guard response.status == 503 || response.status == 409 else {
            throw CrashFailure("\(path) got the status \(response.status): \(String(decoding: bytes, as: UTF8.self))")
        }
        state.withLock { $0.unavailable += 1 }
        return nil
    }

    func report(kills: Int, facts: Int, customers: Int, elapsed: Duration) {
        let state = state.withLock { $0 }
        let acknowledged = state.acknowledged.values.reduce(0) { $0 + $1.count }
        print(
            """
            killed the server \(kills) times in \(elapsed.components.seconds) s: \
            \(state.requests) requests of \(customers) customers and of the store, \(state.broken) of them broken off and \
            \(state.unavailable) put off; \(acknowledged) transactions acknowledged, \(facts) facts in the ledger, \
            every one once, every answer as the store says
            """)
    }
}

extension StoreObserver {
    /// Sends a control request; returns `false` when the store refuses it.
    @discardableResult
    func request(_ path: String, _ body: (any Encodable & Sendable)? = nil) async throws -> Bool {
        let bytes = try body.map { try WireJSON.encode($0) } ?? Array("{}".utf8)
        let response = try await network.send(
            HTTPRequest(
                method: .post, url: url + path, headers: ["Content-Type": "application/json"], body: .bytes(bytes)))
        guard !response.isSuccess else { return true }
        guard [404, 409, 422].contains(response.status) else {
            throw CrashFailure("\(path) got the status \(response.status)")
        }
        return false
    }
}
