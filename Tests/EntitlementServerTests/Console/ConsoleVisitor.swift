import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel
import Testing

@testable import EntitlementServer

/// A client that sends the requests of a browser at the console of a test server.
struct ConsoleVisitor {
    static let host = "127.0.0.1:8080"

    let bench: ServerBench
    /// The name and value of the session's cookie; `nil` without a session.
    var cookie: String?

    /// Signs in. Requires that the server accepts the key.
    static func signedIn(
        at bench: ServerBench, as role: ConsoleSession.Role = .full, of app: BundleID = ServerBench.app,
        key: String? = nil
    ) async throws -> ConsoleVisitor {
        var visitor = ConsoleVisitor(bench: bench)
        let secret = try key ?? #require(bench.keys[app]).secretKey
        let reply = try await visitor.signIn(secret, as: role)
        try #require(reply.status == 303)
        let cookie: String = try #require(reply.cookie)
        visitor.cookie = cookie
        return visitor
    }

    func signIn(_ key: String, as role: ConsoleSession.Role = .full) async throws -> ServerBench.Reply {
        try await post("/sign-in", [("key", key), ("role", role.rawValue)])
    }

    /// - Parameter upToFirstChunk: Whether only the first chunk of a stream is read.
    func get(
        _ path: String = "", headers: HTTPHeaders = [:], upToFirstChunk: Bool = false
    ) async throws -> ServerBench.Reply {
        var headers = headers
        headers.add("Host", Self.host)
        if let cookie { headers.add("Cookie", cookie) }
        guard upToFirstChunk else {
            return try await bench.send(.get, "/console" + path, as: .none, headers: headers)
        }
        let response = await bench.service.respond(
            to: HTTPRequest(method: .get, url: "/console" + path, headers: headers)
        ).response()
        guard case .stream(let stream) = response.body else {
            let bytes = try await response.body.collect(upTo: 1 << 20)
            return .init(status: response.status, headers: response.headers, bytes: bytes, wasReady: false)
        }
        let bytes = try await stream.next() ?? []
        stream.cancel()
        return .init(status: response.status, headers: response.headers, bytes: bytes, wasReady: false)
    }

    /// Sends a form as a page of the console does. `changing` replaces headers; `nil` removes one.
    func post(
        _ path: String, _ fields: [(String, String)], changing: [(String, String?)] = []
    ) async throws -> ServerBench.Reply {
        var headers: HTTPHeaders = [
            "Host": Self.host, "Origin": "http://" + Self.host, "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/x-www-form-urlencoded",
        ]
        for (name, value) in changing { headers[name] = value }
        if let cookie { headers.add("Cookie", cookie) }
        return try await bench.send(
            .post, "/console" + path, as: .none, headers: headers, body: .text(HTTPQuery(fields).encoded))
    }

    /// Sends a form with the token of the session.
    func submit(_ path: String, _ fields: [(String, String)]) async throws -> ServerBench.Reply {
        try await post(path, fields + [("form", try await formToken())])
    }

    /// Reads the token of the session's forms from a page.
    func formToken() async throws -> String {
        let page = try await get().text
        return try #require(page.firstMatch(of: /name="form" value="([^"]+)"/)).output.1.description
    }

    /// Returns the hidden fields of the form with an action on a page.
    static func form(_ action: String, in page: String) throws -> [(String, String)] {
        let start = try #require(page.range(of: "action=\"\(action)\""), "\(action)")
        let end = try #require(page.range(of: "</form>", range: start.upperBound..<page.endIndex))
        return page[start.upperBound..<end.lowerBound].matches(of: /type="hidden" name="([^"]+)" value="([^"]*)"/).map {
            (String($0.output.1), unescaped(String($0.output.2)))
        }
    }

    private static func unescaped(_ text: String) -> String {
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")].reduce(text) {
            $0.replacingOccurrences(of: $1.0, with: $1.1)
        }
    }

    /// Opens the review of an action, such as `/transfers`, and returns it with the fields of its form.
    func review(
        _ path: String, _ fields: [(String, String)]
    ) async throws -> (text: String, fields: [(String, String)]) {
        let review = try await submit(path + "/review", fields)
        try #require(review.status == 200, "\(review.text)")
        return (review.text, try Self.form(ConsoleRoute.root + path, in: review.text))
    }

    /// Reviews an action and sends the form of the review twice. Returns both responses.
    func act(_ path: String, _ fields: [(String, String)], adding more: [(String, String)] = []) async throws
        -> [ServerBench.Reply]
    {
        let form = try await review(path, fields).fields + more
        return [try await post(path, form), try await post(path, form)]
    }

    /// Returns the page of a customer.
    func customer(_ id: String = "anna", _ fields: [(String, String)] = []) async throws -> ServerBench.Reply {
        try await get("/customer?" + HTTPQuery([("id", id)] + fields).encoded)
    }
}

extension ServerBench.Reply {
    var text: String { String(decoding: bytes, as: UTF8.self) }
    /// The name and value of the cookie that the response sets.
    var cookie: String? { headers["Set-Cookie"]?.split(separator: ";").first.map(String.init) }
    var location: String? { headers["Location"] }
}

extension ServerBench {
    /// Creates a server with a console.
    static func withConsole(
        access: EntitlementService.Configuration.ConsoleAccess = .loopback, folder: Folder? = nil,
        keys: [BundleID: IssuedKeys] = [:], configure: (inout EntitlementService.Configuration) -> Void = { _ in }
    ) async throws -> ServerBench {
        try await ServerBench(folder: folder, keys: keys) { configuration in
            configuration.console = access
            configure(&configuration)
        }
    }

    /// Makes a server on which each action of the console is possible: anna has a grant, credit, a failed delivery, a
    /// purchase, and a subscription that can be refreshed from the App Store.
    ///
    /// - Returns: The server, and for some paths the fields that need other values than on most routes.
    static func withEveryAction() async throws -> (bench: ServerBench, own: [String: [(String, String)]]) {
        let store = ScriptedStatusTransport()
        var client = AppStoreServerAPIClient.Configuration(
            key: AppStoreConnectKey(
                try SigningKey.generate(), id: "KEY", issuerID: "issuer", bundleID: ServerBench.app),
            baseURL: "http://store.test")
        client.backoff = .none
        let appStore = AppStoreServerAPIClient(configuration: client, transport: store)
        let bench = try await ServerBench.withWebhook(WebhookReceiver { _, _ in 500 }) {
            $0.console = .loopback
            $0.webhookBackoff = .none
            $0.apps[0].credits = CreditTests.table
            $0.apps[0].appStore = [.sandbox: appStore]
        }
        _ = try await bench.post([bench.purchase("1"), bench.coins("2"), bench.period("7")])
        try await bench.deliver()
        let grant = try #require(try await bench.grant("more").customer().features.first { $0.name == "more" }?.grantID)
        store.answer { try bench.renewed("7") }
        let own = [
            "/console/withdrawals": [("grant", grant)], "/console/refreshes": [("purchase", "7")],
            // For figures the field `to` is a date. For a transfer it is a customer.
            "/console/figures": [("to", "")], "/console/figures.csv": [("to", "")],
        ]
        return (bench, own.merging(own.map { ($0 + "/review", $1) }) { first, _ in first })
    }

    /// Revokes all keys of a kind of an app.
    func revokeKeys(of app: BundleID = app, _ kind: KeyKind = .secret) async throws {
        let keys = APIKeys(database: database)
        for entry in try keys.list(of: app) where entry.kind == kind { try await keys.revoke(entry.id) }
    }
}
