import Foundation
import HTTPCore
import NetworkTestSupport
import Primitives
import Testing

@testable import AppStoreSimulator

/// Requests that a browser on the same machine sends for web pages of other sites are refused.
@Suite struct StoreGateTests {
    private func response(
        _ test: TestStore, _ method: HTTPRequest.Method, _ path: String, _ headers: HTTPHeaders = [:],
        _ body: String = ""
    ) async -> HTTPResponse {
        var headers = headers
        if !headers.contains("Host") { headers["Host"] = "127.0.0.1:8081" }
        let request = HTTPRequest(method: method, url: path, headers: headers, body: .text(body))
        return await test.store.handler.respond(to: request).response()
    }

    /// Requests such as another site's forms, scripts and images send them.
    @Test func `a web page of another site buys nothing`() async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            let pages: [HTTPHeaders] = [
                ["Content-Type": "text/plain", "Origin": "https://evil.example"],
                ["Content-Type": "text/plain", "Origin": "null"],
                ["Content-Type": "text/plain", "Sec-Fetch-Site": "cross-site"],
                ["Content-Type": "application/json", "Origin": "http://127.0.0.1:3000"],
                ["Content-Type": "application/json", "Origin": "http://localhost:8081"],
            ]
            for page in pages {
                let answer = await response(
                    test, .post, "/control/v1/accounts/anna/buy", page, #"{"productID":"monthly"}"#)
                #expect(answer.status == 403, "\(page)")
                #expect(answer.headers["Content-Type"] == "application/problem+json")
            }
            // An old browser sends no headers about the page that makes the request.
            let old = await response(
                test, .post, "/control/v1/accounts/anna/buy", ["Content-Type": "text/plain"],
                #"{"productID":"monthly"}"#)
            #expect(old.status == 415)
            #expect(try await test.store.transactions(of: "anna").isEmpty)
            let own = await response(
                test, .post, "/control/v1/accounts/anna/buy",
                ["Content-Type": "application/json", "Origin": "http://127.0.0.1:8081"], #"{"productID":"monthly"}"#)
            #expect(own.status == 200)
        }
    }

    @Test func `a request for another host name reads nothing, on any path`() async throws {
        let folder = try ScratchFolder()
        try Data("content".utf8).write(to: URL(fileURLWithPath: folder.path + "/file"))
        let content = try ContentFolder(folder.path)
        try await TestStore.with(change: { $0.content = content }) { test in
            try await test.buy("monthly")
            let paths =
                StoreEndpoints.all.filter { $0.method == .get }.map(\.path) + [
                    "/control/v1/accounts/anna/transactions", "/openapi.yaml", "/", "/content/file", "/verifyReceipt",
                    "/inApps/v1/transactions/1", "/nothing",
                ]
            for path in paths {
                let answer = await response(test, .get, path, ["Host": "evil.example:8081"])
                #expect(answer.status == 403, "\(path)")
                let body = try await answer.body.json()
                #expect(body["code"] == "foreign_host")
            }
            for host in ["localhost:8081", "127.0.0.1:8081", "[::1]:8081", "store.test"] {
                #expect(await response(test, .get, "/control/v1/accounts", ["Host": host]).status == 200)
            }
        }
    }

    @Test func `every endpoint refuses a body that is not declared as JSON`() async throws {
        try await TestStore.with { test in
            for endpoint in StoreEndpoints.all {
                let path = endpoint.path.replacing("{", with: "").replacing("}", with: "")
                for type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", nil]
                {
                    var headers: HTTPHeaders = [:]
                    headers["Content-Type"] = type
                    let answer = await response(test, endpoint.method, path, headers, "{}")
                    #expect(answer.status == 415, "\(endpoint.id) takes \(type ?? "nothing")")
                    let problem = try await answer.body.json()
                    #expect(problem["code"] == "unsupported_media_type")
                }
                let answer = await response(
                    test, endpoint.method, path, ["Content-Type": "application/json; charset=utf-8"], "{}")
                #expect(answer.status != 415, "\(endpoint.id)")
            }
        }
    }

    @Test func `a receipt can come as a form, as many of Apple's clients send it, but not from a web page`()
        async throws
    {
        try await TestStore.with { test in
            for type in ["application/json", "application/x-www-form-urlencoded", nil] {
                var headers: HTTPHeaders = [:]
                headers["Content-Type"] = type
                let answer = await response(test, .post, "/verifyReceipt", headers, #"{"receipt-data":"AAAA"}"#)
                #expect(answer.status == 200)
                headers["Origin"] = "https://evil.example"
                #expect(await response(test, .post, "/verifyReceipt", headers, "{}").status == 403)
            }
        }
    }

    @Test func `a store answers over a socket only for its own host names`() async throws {
        try await TestStore.with { test in
            try await withLoopbackServer(test.store.handler) { url in
                let transport = loopbackTransport()
                func status(_ headers: HTTPHeaders) async throws -> Int {
                    try await transport.send(
                        HTTPRequest(method: .get, url: url + "/control/v1/accounts", headers: headers)
                    ).status
                }
                let statuses = try await [
                    status([:]), status(["Host": "evil.example"]), status(["Host": "store.test:80"]),
                ]
                #expect(statuses == [200, 403, 200])
            }
        }
    }
}

/// The index at `/`.
@Suite struct StoreIndexTests {
    private static let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

    private func get(_ test: TestStore, _ path: String, _ accept: String?) async -> HTTPResponse {
        var headers: HTTPHeaders = ["Host": "localhost"]
        headers["Accept"] = accept
        return await test.store.handler.respond(to: HTTPRequest(method: .get, url: path, headers: headers)).response()
    }

    @Test func `the index names the store and its APIs`() async throws {
        try await TestStore.with { test in
            for accept in [nil, "*/*", "application/json"] {
                let answer = await get(test, "/", accept)
                #expect(answer.status == 200 && answer.headers["Content-Type"] == "application/json")
                let index = try await answer.body.json()
                #expect(index["name"] == "App Store simulator" && index["bundleID"] == "com.example.souk")
                let links = try #require(index["links"]?.arrayValue?.compactMap { $0["path"]?.stringValue })
                #expect(links.contains("/openapi.yaml"))
                for link in links { #expect(await get(test, link, nil).status == 200, "\(link)") }
            }
        }
    }

    @Test func `a browser shows a page with the same links`() async throws {
        try await TestStore.with { test in
            let answer = await get(test, "/", Self.browser)
            #expect(answer.status == 200 && answer.headers["Content-Type"] == "text/html; charset=utf-8")
            #expect(answer.headers["Content-Security-Policy"]?.contains("default-src 'none'") == true)
            let page = String(decoding: try await answer.body.collect(upTo: 1 << 18), as: UTF8.self)
            #expect(page.contains("<a href=\"/openapi.yaml\">") && page.contains("Simulator.md"))
            #expect(page.contains("<code>com.example.souk</code>") && page.contains("Apple's"))
        }
    }

    @Test func `the OpenAPI document is plain text for a browser and YAML for a program`() async throws {
        try await TestStore.with { test in
            let shown = await get(test, "/openapi.yaml", Self.browser)
            #expect(shown.headers["Content-Type"] == "text/plain; charset=utf-8")
            #expect(shown.headers["Content-Disposition"] == "inline")
            let read = await get(test, "/openapi.yaml", nil)
            #expect(read.headers["Content-Type"] == "application/yaml")
            let text = String(decoding: try await read.body.collect(upTo: 1 << 20), as: UTF8.self)
            #expect(text.hasPrefix("openapi: \"3.1.0\"\n") && text.contains("/control/v1/state"))
        }
    }
}
