import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// Sign-in, the cookie, and the end of sessions.
@Suite(.onBothEngines) struct ConsoleSessionTests {
    @Test func `a secret key opens a session, and its cookie is for this site and not for scripts`() async throws {
        let bench = try await ServerBench.withConsole()
        let secret = try #require(bench.keys[ServerBench.app]).secretKey
        let reply = try await ConsoleVisitor(bench: bench).signIn("  \(secret)\n")
        #expect(reply.status == 303 && reply.location == "/console" && reply.headers["Cache-Control"] == "no-store")
        let cookie = try #require(reply.headers["Set-Cookie"])
        #expect(cookie.hasPrefix("souk_console="))
        #expect(cookie.hasSuffix("; Path=/console; HttpOnly; SameSite=Strict; Max-Age=1800"))
        #expect(!cookie.contains(secret))
        let visitor = ConsoleVisitor(bench: bench, cookie: reply.cookie)
        let page = try await visitor.get()
        #expect(page.status == 200 && page.text.contains("full access"))
        let policy = try #require(page.headers["Content-Security-Policy"])
        #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
        let rules = policy.split(separator: "; ")
        #expect(rules.filter { $0.hasPrefix("script-src ") }.map { $0.hasPrefix("script-src 'sha256-") } == [true])
        #expect(rules.contains("connect-src 'self'") && !policy.contains("unsafe"))
        #expect(page.headers["Cache-Control"] == "no-store" && page.headers["X-Content-Type-Options"] == "nosniff")
        await bench.close()
    }

    @Test func `with TLS the cookie is bound to the host`() async throws {
        let bench = try await ServerBench.withConsole(access: .tls)
        let secret = try #require(bench.keys[ServerBench.app]).secretKey
        let fields = [("key", secret), ("role", "full")]
        let changes: [(String, String?)] = [("Host", "souk.example"), ("Origin", "https://souk.example")]
        let reply = try await ConsoleVisitor(bench: bench).post("/sign-in", fields, changing: changes)
        let cookie = try #require(reply.headers["Set-Cookie"])
        #expect(cookie.hasPrefix("__Host-souk_console="))
        #expect(cookie.hasSuffix("; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=1800"))
        let plain = try await ConsoleVisitor(bench: bench).post(
            "/sign-in", fields, changing: [("Host", "souk.example"), ("Origin", "http://souk.example")])
        #expect(plain.status == 403)
        await bench.close()
    }

    @Test func `a public, an unknown and a revoked key open no session, with the same response`() async throws {
        let bench = try await ServerBench.withConsole()
        let keys = try #require(bench.keys[ServerBench.app])
        let visitor = ConsoleVisitor(bench: bench)
        let unknown = try await visitor.signIn("souk_secret_unknown")
        #expect(
            unknown.status == 403 && unknown.headers["Set-Cookie"] == nil && unknown.text.contains("unknown, revoked"))
        #expect(try await visitor.signIn(keys.secretKey).status == 303)
        try await bench.revokeKeys()
        for key in [keys.publicKey, keys.secretKey, ""] {
            let reply = try await visitor.signIn(key)
            #expect(reply.status == 403 && reply.headers["Set-Cookie"] == nil && reply.text == unknown.text)
        }
        #expect(try await visitor.post("/sign-in", [("key", "x"), ("role", "owner")]).status == 400)
        await bench.close()
    }

    @Test func `a session ends at the next request after its key was revoked, and other sessions continue`()
        async throws
    {
        let bench = try await ServerBench.withConsole()
        let (id, key) = try await bench.anotherKey()
        let other = try await ConsoleVisitor.signedIn(at: bench)
        let visitor = try await ConsoleVisitor.signedIn(at: bench, key: key)
        #expect(try await visitor.get().status == 200)
        let token = try await visitor.formToken()
        try await APIKeys(database: bench.database).revoke(id)
        #expect(try await visitor.get().location == "/console/sign-in")
        let fields = [("form", token), ("id", "anna"), ("feature", "pro"), ("reason", "x")]
        #expect(try await visitor.post("/grants/review", fields).status == 403)
        #expect(try await other.get().status == 200)
        await bench.close()
    }

    @Test func `an unused session ends after 30 minutes, and a used one 8 hours after the sign-in`() async throws {
        let bench = try await ServerBench.withConsole()
        var visitor = try await ConsoleVisitor.signedIn(at: bench)
        #expect(try await visitor.get().headers["Set-Cookie"] == nil)
        bench.realClock.advance(by: 30 * 60 - 1)
        let renewed = try await visitor.get()
        #expect(renewed.status == 200 && renewed.headers["Set-Cookie"]?.hasSuffix("Max-Age=1800") == true)
        bench.realClock.advance(by: 1)
        #expect(try await visitor.get().status == 303)
        visitor.cookie = renewed.cookie
        for _ in 0..<15 {
            bench.realClock.advance(by: 29 * 60)
            let reply = try await visitor.get()
            #expect(reply.status == 200)
            visitor.cookie = reply.cookie ?? visitor.cookie
        }
        // 30 + 15 × 29 = 465 minutes of 480.
        let last = try await visitor.get("/customer?id=x")
        #expect(last.status == 404)
        bench.realClock.advance(by: 15 * 60)
        #expect(try await visitor.get().status == 303)
        await bench.close()
    }

    @Test func `a changed token, and the token of another server, are refused`() async throws {
        let (bench, foreign) = (try await ServerBench.withConsole(), try await ServerBench.withConsole())
        let cookie = try #require(try await ConsoleVisitor.signedIn(at: bench).cookie)
        let other = try #require(try await ConsoleVisitor.signedIn(at: foreign).cookie)
        let parts = cookie.split(separator: "=", maxSplits: 1)[1].split(separator: ".").map(String.init)
        let claims = try JSONValue(parsing: try #require(Base64.decodeURL(parts[0])))
        var changed = claims
        changed["u"] = .number(Int64.max)
        let payload = Base64.encodeURL(changed.encoded())
        let token = try await bench.token()
        for value in [
            "\(payload).\(parts[1])", "\(parts[0]).", "\(parts[0])", "\(parts[0]).\(parts[1])A", "..", "",
            String(repeating: "a", count: 5000), token,
        ] {
            #expect(try await ConsoleVisitor(bench: bench, cookie: "souk_console=\(value)").get().status == 303)
        }
        #expect(try await ConsoleVisitor(bench: bench, cookie: other).get().status == 303)
        // Another server on this machine may have set a cookie of the same name.
        #expect(try await ConsoleVisitor(bench: bench, cookie: "souk_console=x; a=b; \(cookie)").get().status == 200)
        await bench.close()
        await foreign.close()
    }

    @Test func `signing out deletes the cookie`() async throws {
        let bench = try await ServerBench.withConsole()
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        // Also after the time from which other responses renew the cookie.
        for seconds in [0, 600.0] {
            bench.realClock.advance(by: seconds)
            let reply = try await visitor.submit("/sign-out", [])
            #expect(reply.status == 303 && reply.location == "/console/sign-in")
            let cookies = reply.headers.values("Set-Cookie")
            #expect(cookies.count == 1 && cookies[0].hasPrefix("souk_console=; Path=/console;"), "\(cookies)")
            #expect(cookies[0].hasSuffix("Max-Age=0"))
        }
        await bench.close()
    }

    @Test func `failed sign-ins are limited, sessions are not`() async throws {
        let bench = try await ServerBench.withConsole()
        let secret = try #require(bench.keys[ServerBench.app]).secretKey
        let visitor = ConsoleVisitor(bench: bench)
        let inside = try await ConsoleVisitor.signedIn(at: bench)
        for _ in 0..<30 { #expect(try await visitor.signIn(secret).status == 303) }
        for _ in 0..<20 { #expect(try await visitor.signIn("souk_secret_x").status == 403) }
        for key in ["souk_secret_x", secret] {
            let refused = try await visitor.signIn(key)
            #expect(refused.status == 429 && refused.headers["Retry-After"] == "1")
        }
        #expect(try await inside.get().status == 200)
        bench.realClock.advance(by: 2)
        #expect(try await visitor.signIn(secret).status == 303)
        await bench.close()
    }

    @Test func `requests of a session count towards the rate limit of its key`() async throws {
        let bench = try await ServerBench.withConsole {
            $0.apps[0].rateLimit = RateLimit(perSecond: 1, burst: 5)
        }
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        for _ in 0..<5 { #expect(try await visitor.get().status == 200) }
        let refused = try await visitor.get()
        #expect(refused.status == 429 && refused.headers["Retry-After"] == "1")
        #expect(try await bench.send(.get, "/v1/customers", as: .secret).status == 429)
        bench.realClock.advance(by: 1)
        #expect(try await visitor.get().status == 200)
        await bench.close()
    }

    @Test func `the sign-in leads to the page that needed a session, and never to another site`() async throws {
        let bench = try await ServerBench.withConsole()
        let secret = try #require(bench.keys[ServerBench.app]).secretKey
        let visitor = ConsoleVisitor(bench: bench)
        let target = "/console/customer?id=a%26b"
        let form = try #require(try await visitor.get("/customer?id=a%26b").location)
        #expect(form == "/console/sign-in?next=%2Fconsole%2Fcustomer%3Fid%3Da%2526b")
        #expect(try await visitor.get(String(form.dropFirst(8))).text.contains("value=\"\(target)\""))
        for (next, expected) in [
            (target, target), ("https://evil.example/console", "/console"), ("//evil.example", "/console"),
            ("/consoles", "/console"), ("/console\r\nX: y", "/console"), ("/console?query=a", "/console?query=a"),
        ] {
            let reply = try await visitor.post("/sign-in", [("key", secret), ("role", "full"), ("next", next)])
            #expect(reply.location == expected)
        }
        await bench.close()
    }

    @Test func `no key is in a page, a log or an address`() async throws {
        let lines = Locked<[String]>([])
        let bench = try await ServerBench.withConsole {
            $0.logsEveryRequest = true
            $0.log = { record in lines.withLock { $0.append(record.json.text()) } }
        }
        let keys = try #require(bench.keys[ServerBench.app])
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        _ = try await bench.grant()
        var texts = [try await visitor.get().text, try await visitor.customer().text]
        for key in [keys.publicKey, keys.secretKey + "x"] {
            let reply = try await ConsoleVisitor(bench: bench).signIn(key)
            texts += [reply.text, reply.location ?? ""]
        }
        texts += lines.withLock { $0 }
        #expect(lines.withLock { $0.count } > 5 && texts.contains { $0.contains("consoleSignIn") })
        for text in texts { #expect(!text.contains(keys.secretKey) && !text.contains(keys.publicKey)) }
        await bench.close()
    }
}

/// Two servers on one PostgreSQL.
@Suite(.enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"))
struct SharedConsoleSessionTests {
    @Test func `a session of one server is valid at the other, and a revoked key ends it at both`() async throws {
        try await ServerBench.$engine.withValue(.postgreSQL) {
            let first = try await ServerBench.withConsole()
            let second = try await ServerBench.withConsole(folder: first.folder, keys: first.keys)
            let visitor = try await ConsoleVisitor.signedIn(at: first)
            let there = ConsoleVisitor(bench: second, cookie: visitor.cookie)
            #expect(try await there.get().status == 200)
            #expect(try await there.formToken() == visitor.formToken())
            _ = try await first.grant()
            #expect(try await there.customer().text.contains("support"))
            try await second.revokeKeys()
            #expect(try await visitor.get().status == 303)
            #expect(try await there.get().status == 303)
            await first.close()
            await second.close()
        }
    }
}
