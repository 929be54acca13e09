import Foundation
import HTTPCore
import Testing

@testable import AppStoreSimulator

/// The table of the endpoints of the App Store Server API.
struct ServerAPIEndpointTests {
    @Test func `the documentation lists every endpoint and no other`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Documentation/ServerAPI.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let rows = text.split(separator: "\n").filter { $0.contains("` `/inApps/") || $0.contains("` `/groups/") }.map {
            $0.split(separator: "|").prefix(3).map { $0.trimmingCharacters(in: .whitespaces) }
        }
        #expect(
            rows == ServerAPIEndpoints.all.map { ["`\($0.method)` `\($0.path)`", $0.summary, "\($0.handler.rate)"] })
    }

    @Test func `no two endpoints have the same name, or the same method and path`() {
        let all = ServerAPIEndpoints.all
        #expect(Set(all.map(\.id)).count == all.count)
        #expect(Set(all.map { "\($0.method) \($0.path)" }).count == all.count)
    }

    @Test func `reads respond at once, on the thread of the listener`() async throws {
        try await TestStore.withServer { test, client in
            let coins = try await test.buy("coins").transactionID
            let token = try client.serverKey.token(at: test.base.now())
            for endpoint in ServerAPIEndpoints.all where endpoint.method == .get {
                let request = HTTPRequest(
                    method: .get, url: endpoint.path { _ in "\(coins)" }, headers: ["Authorization": "Bearer \(token)"])
                guard case .ready = test.store.handler.respond(to: request) else {
                    Issue.record("\(endpoint.id) suspends its caller")
                    continue
                }
            }
        }
    }
}
