import HTTPCore
import Primitives
import Testing

@testable import EntitlementServer

/// The index at GET `/`.
@Suite struct IndexRouteTests {
    @Test func `a program gets the index as JSON, and every link works`() async throws {
        let bench = try await ServerBench { $0.version = "1.2.3" }
        for accept in [nil, "*/*", "application/json"] {
            var headers: HTTPHeaders = [:]
            headers["Accept"] = accept
            let answer = try await bench.send(.get, "/", as: .none, headers: headers)
            #expect(answer.status == 200 && answer.headers["Content-Type"] == "application/json")
            let index = answer.json
            #expect(index["name"] == "Souk entitlement server" && index["version"] == "1.2.3")
            let links = try #require(index["links"]?.arrayValue?.compactMap { $0["path"]?.stringValue })
            #expect(links.contains("/openapi.yaml"))
            for link in links { #expect(try await bench.send(.get, link, as: .none).status == 200, "\(link)") }
        }
        await bench.close()
    }

    @Test func `a browser is shown a page with the same links`() async throws {
        let bench = try await ServerBench { $0.version = "<1>" }
        let answer = try await bench.send(.get, "/", as: .none, headers: ["Accept": "text/html,*/*;q=0.8"])
        #expect(answer.status == 200 && answer.headers["Content-Type"] == "text/html; charset=utf-8")
        #expect(answer.headers["Content-Security-Policy"]?.contains("default-src 'none'") == true)
        let page = String(decoding: answer.bytes, as: UTF8.self)
        #expect(page.contains("<a href=\"/openapi.yaml\">") && page.contains("Entitlements.md"))
        #expect(page.contains("<code>&lt;1&gt;</code>"))
        await bench.close()
    }
}
