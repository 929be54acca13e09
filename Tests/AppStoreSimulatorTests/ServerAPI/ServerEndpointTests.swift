import Foundation
import HTTPCore
import Testing

@testable import AppStoreSimulator

/// The table of endpoints as a whole.
struct ServerEndpointTests {
    @Test func `the documentation lists every endpoint and no other`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Documentation/ServerAPI.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let rows = text.split(separator: "\n").filter { $0.contains("` `/inApps/") }.map {
            $0.split(separator: "|").prefix(3).map { $0.trimmingCharacters(in: .whitespaces) }
        }
        #expect(rows == ServerEndpoint.all.map { ["`\($0.method)` `\($0.path)`", $0.name, "\($0.rate)"] })
    }

    @Test func `no two endpoints share a name or a path with its method`() {
        let all = ServerEndpoint.all
        #expect(Set(all.map(\.name)).count == all.count)
        #expect(Set(all.map { "\($0.method) \($0.path)" }).count == all.count)
    }

    @Test func `reads are answered at once, on the listener's own thread`() async throws {
        try await TestStore.withServer { test, client in
            let coins = try await test.buy("coins").transactionID
            let token = try client.serverKey.token(at: test.base.now())
            for endpoint in ServerEndpoint.all where endpoint.method == .get {
                let path = endpoint.path.split(separator: "/").map { $0.hasPrefix("{") ? "\(coins)" : $0 }
                let request = HTTPRequest(
                    method: .get, url: "/" + path.joined(separator: "/"), headers: ["Authorization": "Bearer \(token)"])
                guard case .ready = test.store.handler.respond(to: request) else {
                    Issue.record("\(endpoint.name) makes its caller wait")
                    continue
                }
            }
        }
    }
}
