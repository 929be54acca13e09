import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// The access rules of the console: every route, with and without a session of each role.
@Suite struct ConsoleAccessTests {
    private enum Access { case open, readOnly, full }

    private static let contract: [String: Access] = [
        "GET /console": .readOnly, "GET /console/customer": .readOnly, "GET /console/fact": .readOnly,
        "GET /console/figures": .readOnly, "GET /console/figures.csv": .readOnly,
        "GET /console/audit": .readOnly, "GET /console/operations": .readOnly, "GET /console/updates": .readOnly,
        "POST /console/deliveries/replay/review": .full, "POST /console/deliveries/replay": .full,
        "GET /console/": .open, "GET /console/sign-in": .open,
        "POST /console/sign-in": .open,
        "POST /console/sign-out": .readOnly,
        "POST /console/grants/review": .full, "POST /console/grants": .full,
        "POST /console/withdrawals/review": .full, "POST /console/withdrawals": .full,
        "POST /console/transfers/review": .full, "POST /console/transfers": .full,
        "POST /console/merges/review": .full, "POST /console/merges": .full,
        "POST /console/redemptions/review": .full, "POST /console/redemptions": .full,
        "POST /console/credits/review": .full, "POST /console/credits": .full,
        "POST /console/exports/review": .full, "POST /console/exports": .full,
        "POST /console/refreshes/review": .full, "POST /console/refreshes": .full,
        "POST /console/erasures/review": .full, "POST /console/erasures": .full,
    ]

    private static let fields = [
        ("id", "anna"), ("feature", "extra"), ("reason", "test"), ("grant", "unknown"), ("sequence", "1"),
        ("figure", "mrr"), ("purchase", "1"), ("to", "ben"), ("alias", "anonymous-9"), ("credit", "coins"),
        ("type", "filter"), ("item", "cat"), ("delivery", "1"), ("confirm", "anna"), ("amount", "9"),
    ]

    /// Sends a request to a route; a form contains the token `form`. `fields` replace the common fields with the same
    /// names.
    private static func send(
        _ route: ConsoleRoute, _ visitor: ConsoleVisitor, form: String?, fields own: [(String, String)] = [],
        changing: [(String, String?)] = []
    ) async throws -> ServerBench.Reply {
        let path = String(route.path.dropFirst(ConsoleRoute.root.count))
        let fields = own + fields.filter { field in !own.contains { $0.0 == field.0 } } + [("request", path)]
        if route.path == "/console/updates", visitor.cookie != nil {
            // The response is a stream without an end, unless the session is over.
            return try await visitor.get(path + "?" + HTTPQuery(fields).encoded, upToFirstChunk: true)
        }
        guard route.method == .post else { return try await visitor.get(path + "?" + HTTPQuery(fields).encoded) }
        return try await visitor.post(path, fields + (form.map { [("form", $0)] } ?? []), changing: changing)
    }

    @Test func `without configuration, the paths of the console respond as unknown paths do`() async throws {
        let bench = try await ServerBench()
        #expect(bench.service.consoleRoutes.isEmpty)
        let unknown = try await bench.send(.get, "/unknown", as: .none)
        for path in ["/console", "/console/sign-in", "/console/customer?id=anna"] {
            for method in [HTTPRequest.Method.get, .post] {
                let reply = try await bench.send(method, path, as: .none)
                #expect(reply.status == 404 && reply.bytes == unknown.bytes, "\(path)")
            }
        }
        #expect(!(try await bench.send(.get, "/", as: .none).text.contains("console")))
        await bench.close()
    }

    @Test func `the index names the console if it is configured`() async throws {
        let bench = try await ServerBench.withConsole()
        #expect(try await bench.send(.get, "/", as: .none).text.contains("\"/console\""))
        #expect(try await bench.send(.get, "/console/unknown", as: .none).status == 404)
        #expect(
            try await bench.send(.get, "/console/", as: .none, headers: ["Host": "localhost"]).location == "/console")
        await bench.close()
    }

    @Test(.onSQLite) func `every route admits the roles of the table, and changes nothing for others`() async throws {
        let (bench, own) = try await ServerBench.withEveryAction()
        let (keyID, key) = try await bench.anotherKey()
        let revoked = try await ConsoleVisitor.signedIn(at: bench, key: key)
        let token = try await revoked.formToken()
        let visitors = (
            none: ConsoleVisitor(bench: bench), reader: try await ConsoleVisitor.signedIn(at: bench, as: .readOnly),
            full: try await ConsoleVisitor.signedIn(at: bench),
            other: try await ConsoleVisitor.signedIn(at: bench, of: ServerBench.otherApp)
        )
        try await APIKeys(database: bench.database).revoke(keyID)
        // The erasure comes last, because the other actions need the customer.
        let all = bench.service.consoleRoutes
        let routes = all.filter { $0.path != "/console/erasures" } + all.filter { $0.path == "/console/erasures" }
        #expect(Set(routes.map { "\($0.method) \($0.path)" }) == Set(Self.contract.keys))
        let before = try bench.contents()
        for route in routes {
            let name = "\(route.method) \(route.path)"
            let access = try #require(Self.contract[name])
            guard access != .open else { continue }
            let fields = own[route.path] ?? []
            let none = try await Self.send(route, visitors.none, form: nil, fields: fields)
            #expect(none.status == (route.method == .post ? 403 : 303), "\(name)")
            let late = try await Self.send(route, revoked, form: token, fields: fields)
            #expect(late.status == (route.method == .post ? 403 : 303) && !late.text.contains("anna"), "\(name)")
            if route.method == .get { #expect(late.location?.hasPrefix("/console/sign-in") == true, "\(name)") }
            let reader = try await Self.send(
                route, visitors.reader, form: visitors.reader.formToken(), fields: fields)
            #expect((reader.status == 403) == (access == .full), "\(name): \(reader.status)")
            if access == .full { #expect(reader.text.contains("Read-only session"), "\(name)") }
            // The customer, the purchases and the delivery belong to another app.
            let other = try await Self.send(route, visitors.other, form: visitors.other.formToken(), fields: fields)
            let isOfApp = [
                "/console", "/console/sign-out", "/console/operations", "/console/figures", "/console/figures.csv",
                "/console/updates",
            ].contains(route.path)
            if !isOfApp { #expect(other.status == 404, "\(name)") }
            #expect(!other.text.contains("anna"), "\(name)")
        }
        #expect(try bench.contents() == before)
        for route in routes where route.path != "/console/sign-out" {
            let name = "\(route.method) \(route.path)"
            guard Self.contract[name] != .open else { continue }
            let reply = try await Self.send(
                route, visitors.full, form: visitors.full.formToken(), fields: own[route.path] ?? [])
            let sendsPage =
                route.method == .get || route.path.hasSuffix("/review") || route.path == "/console/exports"
            #expect(reply.status == (sendsPage ? 200 : 303), "\(name): \(reply.status)")
        }
        let done = try await visitors.full.get("/audit").text
        let actions = try bench.database.read { connection in
            try connection.query("SELECT DISTINCT action FROM audit_entry").map { try $0["action"] as String }
        }
        // The console has no form for a refund.
        let forms = AuditAction.allCases.filter { $0 != .refund }
        #expect(Set(actions) == Set(forms.map(\.rawValue)) && !done.contains("anna"))
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test(.onSQLite) func `a form of another site or session changes nothing`() async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.purchase("1"))
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let (own, other) = (
            try await visitor.formToken(), try await ConsoleVisitor.signedIn(at: bench).formToken()
        )
        #expect(own != other)
        let before = try bench.contents()
        for route in bench.service.consoleRoutes where route.method == .post {
            for changes in [
                [("Origin", "http://evil.example")], [("Origin", "null")], [("Origin", nil)],
                [("Origin", "http://127.0.0.1:9")], [("Origin", "https://127.0.0.1:8080")],
                [("Sec-Fetch-Site", "cross-site")], [("Sec-Fetch-Site", "same-site")],
                [("Host", "evil.example"), ("Origin", "http://evil.example")],
            ] as [[(String, String?)]] {
                let reply = try await Self.send(route, visitor, form: own, changing: changes)
                #expect(reply.status == 403 && reply.headers["Set-Cookie"] == nil, "\(route.path) \(changes)")
            }
            guard route.path != "/console/sign-in" else { continue }
            for token in [nil, "", other, own + "A", String(own.dropLast())] {
                let reply = try await Self.send(route, visitor, form: token)
                #expect(reply.status == 403 && reply.text.contains("Form expired"), "\(route.path)")
            }
            let typed = try await Self.send(
                route, visitor, form: own, changing: [("Content-Type", "text/plain")])
            #expect(typed.status == 415)
        }
        #expect(try bench.contents() == before)
        let foreign = try await visitor.get(headers: [:])
        #expect(foreign.status == 200)
        await bench.close()
    }

    @Test func `without TLS the Host must be localhost or a loopback address`() async throws {
        let bench = try await ServerBench.withConsole()
        let cookie = try #require(try await ConsoleVisitor.signedIn(at: bench).cookie)
        for (host, status) in [("evil.example", 403), ("localhost:8080", 200), ("[::1]:8080", 200)] {
            let reply = try await bench.send(
                .get, "/console", as: .none, headers: ["Host": host, "Cookie": cookie])
            #expect(reply.status == status, "\(host)")
        }
        await bench.close()
    }

    @Test func `a session is found after up to three cookies of the same name, and under no other name`() async throws {
        let bench = try await ServerBench.withConsole()
        let own = try #require(try await ConsoleVisitor.signedIn(at: bench).cookie)
        let value = own.split(separator: "=", maxSplits: 1)[1]
        for (cookies, status) in [
            ("other=1; \(own)", 200), ("souk_console=x; \(own)", 200),
            ("souk_console=1; souk_console=2; souk_console=3; \(own)", 200),
            ("souk_console=1; souk_console=2; souk_console=3; souk_console=4; \(own)", 303),
            ("xsouk_console=\(value)", 303), ("__Host-souk_console=\(value)", 303), ("souk_console", 303),
        ] {
            let page = try await bench.send(
                .get, "/console", as: .none, headers: ["Host": "localhost", "Cookie": cookies])
            #expect(page.status == status, "\(cookies.prefix(40))")
        }
        await bench.close()
    }

    @Test func `behind a proxy, Host and Origin must match the configured origin exactly`() async throws {
        let bench = try await ServerBench.withConsole(access: .behindProxy(at: "https://console.example.com"))
        let secret = try #require(bench.keys[ServerBench.app]).secretKey
        let visitor = ConsoleVisitor(bench: bench)
        func signIn(_ host: String, _ origin: String, _ more: [(String, String?)] = []) async throws
            -> ServerBench.Reply
        {
            try await visitor.post(
                "/sign-in", [("key", secret), ("role", "full")],
                changing: [("Host", host), ("Origin", origin)] + more)
        }
        let (host, origin) = ("console.example.com", "https://console.example.com")
        let reply = try await signIn(host, origin, [("X-Forwarded-Proto", "https")])
        let cookie = try #require(reply.headers["Set-Cookie"])
        #expect(reply.status == 303 && cookie.hasPrefix("__Host-souk_console="))
        #expect(cookie.hasSuffix("; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=1800"))
        for (host, origin, scheme) in [
            ("127.0.0.1:8080", origin, nil), (host, "http://console.example.com", nil),
            (host, "https://console.example.com:8443", nil), (host, "https://console.example.com.", nil),
            (host, "https://evil.example", nil), (host, "null", nil), (host, "https://Console.example.com", nil),
            ("console.example.com:443", origin, nil), ("Console.example.com", origin, nil),
            ("evil.example", "https://evil.example", nil), (host, origin, "http"), (host, origin, "https, http"),
        ] as [(String, String, String?)] {
            let reply = try await signIn(host, origin, [("X-Forwarded-Proto", scheme)])
            #expect(reply.status == 403 && reply.headers["Set-Cookie"] == nil, "\(host) \(origin)")
        }
        let pair = try #require(reply.cookie)
        for (host, status) in [("console.example.com", 200), ("127.0.0.1", 403), ("localhost", 403), ("", 403)] {
            let page = try await bench.send(.get, "/console", as: .none, headers: ["Host": host, "Cookie": pair])
            #expect(page.status == status, "\(host)")
        }
        let twice: HTTPHeaders = {
            var headers: HTTPHeaders = ["Host": "console.example.com", "Cookie": pair]
            headers.add("Host", "evil.example")
            return headers
        }()
        #expect(try await bench.send(.get, "/console", as: .none, headers: twice).status == 403)
        // A second Origin, and an absolute address with another host.
        var two: HTTPHeaders = [
            "Host": host, "Origin": origin, "Content-Type": "application/x-www-form-urlencoded",
        ]
        two.add("Origin", "https://evil.example")
        let form = HTTPBody.text(HTTPQuery([("key", secret), ("role", "full")]).encoded)
        #expect(try await bench.send(.post, "/console/sign-in", as: .none, headers: two, body: form).status == 403)
        for (address, status) in [("https://evil.example/console", 403), ("https://\(host)/console", 200)] {
            let page = try await bench.send(.get, address, as: .none, headers: ["Host": host, "Cookie": pair])
            #expect(page.status == status, "\(address)")
        }
        // The HTTP API is not affected.
        #expect(try await bench.get().status == 200)
        await bench.close()
    }

    @Test(arguments: [
        ("https://console.example.com", true), ("https://console.example.com:8443", true), ("https://[fd00::1]", true),
        ("https://10.0.0.1", true), ("http://console.example.com", false), ("https://console.example.com/", false),
        ("https://console.example.com:443", false), ("https://console.example.com:0", false),
        ("https://console.example.com:65536", false), ("https://Console.example.com", false), ("https://", false),
        ("https://a@console.example.com", false), ("https://console.example.com?x", false), ("console", false),
        ("https://-a", false), ("https://.a", false), ("https://a b", false), ("https://ä.example", false), ("", false),
    ])
    func `the origin of a proxy must be in the form that browsers send`(origin: String, isAccepted: Bool) throws {
        if isAccepted {
            let access = try EntitlementService.Configuration.ConsoleAccess.behindProxy(at: origin)
            #expect("https://" + (access.proxyAuthority ?? "") == origin && access.isSecure)
        } else {
            let error = #expect(throws: EntitlementServerError.self) {
                try EntitlementService.Configuration.ConsoleAccess.behindProxy(at: origin)
            }
            #expect(error?.code == .invalidConfiguration)
        }
    }
}
