import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// The access rules: every endpoint of the server with every kind of credential.
@Suite struct AuthorizationTests {
    private enum Access { case open, publicKey, customer, secretKey }

    /// The endpoints that callers without a secret key may use, as the wire contract defines. All others need a secret
    /// key.
    private static let contract: [String: Access] = [
        "POST /v1/customers/{customer}/transactions": .publicKey,
        "POST /v1/customers/{customer}/play-purchases": .publicKey,
        "GET /v1/customers/{customer}": .publicKey,
        "GET /v1/customers/{customer}/offer-eligibility": .publicKey,
        "POST /v1/receipts/validate": .publicKey,
        "POST /feature-provisioner/get-features": .publicKey,
        "POST /subscriptions-tracker/get-subscriptions": .publicKey,
        "POST /showcase/get-price-points": .publicKey,
        "POST /v1/customers/{customer}/aliases": .customer,
        "GET /v1/customers/{customer}/credits/{type}": .customer,
        "POST /v1/customers/{customer}/credits/{type}/redeem": .customer,
        "POST /v1/customers/{customer}/promotions": .customer,
        "POST /v1/customers/{customer}/offer-signatures": .customer,
        "POST /v1/customers/{customer}/refund-consent": .customer,
        "POST /v1/notifications/app-store": .open,
        "POST /v1/notifications/google-play": .open,
        "POST /v1/retention-messages/app-store": .open,
        "POST /v1/webhooks/{source}": .open,
        "GET /v1/signing-keys": .open,
        "GET /healthz": .open,
        "GET /readyz": .open,
        "GET /": .open,
        "GET /metrics": .open,
        "GET /openapi.json": .open,
        "GET /openapi.yaml": .open,
    ]

    private static func access(_ endpoint: Endpoint<ServerHandler>) -> Access {
        contract["\(endpoint.method) \(endpoint.path)"] ?? .secretKey
    }

    /// Sends a request about a customer to an endpoint, and returns the status and the headers of the response,
    /// without the request id.
    private static func ask(
        _ endpoint: Endpoint<ServerHandler>, about customer: String = "anna", at bench: ServerBench, key: String?,
        token: String? = nil
    ) async throws -> (status: Int, headers: [String]) {
        let path = endpoint.path.replacingOccurrences(of: "{customer}", with: customer)
            .replacing(/\{[a-z]+\}/, with: "other")
        var headers: HTTPHeaders = [:]
        if let key { headers.add("Authorization", "Bearer \(key)") }
        if let token { headers.add("Souk-Customer-Token", token) }
        let body: HTTPBody = endpoint.method == .post ? .json([:]) : .empty
        let response = await bench.service.respond(
            to: HTTPRequest(method: endpoint.method, url: path, headers: headers, body: body)
        ).response()
        let visible = response.headers.fields.map { "\($0.name): \($0.value)" }.filter {
            !$0.hasPrefix("Souk-Request-Id")
        }
        return (response.status, visible)
    }

    private static let refusals: Set<Int> = [401, 403]

    @Test(.onSQLite) func `every endpoint admits the callers of the contract, and changes nothing for others`()
        async throws
    {
        let bench = try await ServerBench()
        let keys = try #require(bench.keys[ServerBench.app])
        _ = try await bench.post([bench.period("1"), bench.purchase("2")])
        let before = try bench.contents()
        let endpoints = bench.service.endpoints
        #expect(endpoints.count > 25)
        for endpoint in endpoints {
            let access = Self.access(endpoint)
            let (none, unknown) = (
                try await Self.ask(endpoint, at: bench, key: nil),
                try await Self.ask(endpoint, at: bench, key: "souk_secret_unknown")
            )
            let isRefused = access != .open
            #expect((none.status == 401) == isRefused && (unknown.status == 401) == isRefused, "\(endpoint.id)")
            if access == .secretKey || access == .customer {
                let visitor = try await Self.ask(endpoint, at: bench, key: keys.publicKey)
                #expect(visitor.status == (access == .secretKey ? 403 : 401), "\(endpoint.id)")
            }
        }
        #expect(try bench.contents() == before)
        for endpoint in endpoints {
            let secret = try await Self.ask(endpoint, about: "somebody", at: bench, key: keys.secretKey)
            #expect(!Self.refusals.contains(secret.status), "\(endpoint.id)")
            guard Self.access(endpoint) == .publicKey else { continue }
            let visitor = try await Self.ask(endpoint, about: "somebody", at: bench, key: keys.publicKey)
            #expect(!Self.refusals.contains(visitor.status), "\(endpoint.id)")
        }
        await bench.close()
    }

    @Test func `every endpoint that takes a key checks a customer token, with either kind of key`() async throws {
        let bench = try await ServerBench()
        let keys = try #require(bench.keys[ServerBench.app])
        let (own, short) = (try await bench.token(), try await bench.token(lasts: "PT1M"))
        bench.realClock.advance(by: 61)
        let bad = [short, "", "x.y", String(own.dropLast(2)), own + "AA", "a" + own]
        for endpoint in bench.service.endpoints where Self.access(endpoint) != .open {
            for token in bad {
                for key in [keys.publicKey, keys.secretKey] {
                    let reply = try await Self.ask(endpoint, at: bench, key: key, token: token)
                    #expect(reply.status == 401, "\(endpoint.id) \(token.prefix(3))")
                }
            }
            let secret = try await Self.ask(endpoint, about: "somebody", at: bench, key: keys.secretKey, token: own)
            #expect(!Self.refusals.contains(secret.status), "\(endpoint.id)")
        }
        // A token restricts the public key even if the app requires none.
        #expect(try await bench.get("anna", headers: ["Souk-Customer-Token": own]).status == 200)
        let other = try await bench.get("ben", headers: ["Souk-Customer-Token": own])
        #expect(other.status == 403 && other.code == "another_customer")
        await bench.close()
    }

    @Test func `a revoked key gets the same response as an unknown key`() async throws {
        let bench = try await ServerBench()
        let keys = try #require(bench.keys[ServerBench.app])
        let ring = APIKeys(database: bench.database)
        for entry in try ring.list(of: ServerBench.app) { _ = try await ring.revoke(entry.id) }
        bench.realClock.advance(by: 2)
        for endpoint in bench.service.endpoints where Self.access(endpoint) != .open {
            let unknown = try await Self.ask(endpoint, at: bench, key: "souk_secret_unknown")
            #expect(unknown.status == 401)
            for key in [keys.publicKey, keys.secretKey] {
                let revoked = try await Self.ask(endpoint, at: bench, key: key)
                #expect(revoked.status == 401 && revoked.headers == unknown.headers, "\(endpoint.id)")
            }
        }
        await bench.close()
    }

    @Test(.onSQLite) func `another app's keys see and change nothing`() async throws {
        let bench = try await ServerBench()
        let other = try #require(bench.keys[ServerBench.otherApp])
        _ = try await bench.post([bench.period("1"), bench.purchase("2")])
        let (answer, before) = (try await bench.get().bytes, try bench.contents(of: ServerBench.app))
        for endpoint in bench.service.endpoints {
            for key in [other.publicKey, other.secretKey] {
                _ = try await Self.ask(endpoint, at: bench, key: key)
            }
        }
        #expect(try bench.contents(of: ServerBench.app) == before)
        #expect(try await bench.get().bytes == answer)
        let seen = try await bench.send(.get, "/v1/customers/anna", as: .secret, of: ServerBench.otherApp)
        #expect(try seen.customer().features.isEmpty && seen.customer().purchases.isEmpty)
        await bench.close()
    }

    @Test(.onSQLite) func `a customer token is valid only for its customer, in its app, until its expiry`() async throws
    {
        let bench = try await ServerBench(configure: { $0.apps[0].requiresCustomerTokens = true })
        let key = try #require(bench.keys[ServerBench.app]).publicKey
        func token(_ customer: String, _ app: BundleID) async throws -> String {
            let reply = try await bench.send(
                .post, "/v1/customers/\(customer)/tokens", as: .secret, of: app, body: .json([:]))
            return try #require(reply.json["token"]?.stringValue)
        }
        let own = try await token("anna", ServerBench.app)
        let wrong = [try await token("ben", ServerBench.app), try await token("anna", ServerBench.otherApp), "x.y"]
        _ = try await bench.send(.get, "/v1/customers/anna", as: .secret)
        let before = try bench.contents()
        let guarded = bench.service.endpoints.filter {
            [.publicKey, .customer].contains(Self.access($0)) && $0.path.contains("{customer}")
        }
        #expect(guarded.count >= 6)
        for endpoint in guarded {
            #expect(try await Self.ask(endpoint, at: bench, key: key).status == 401, "\(endpoint.id)")
            for token in wrong {
                let reply = try await Self.ask(endpoint, at: bench, key: key, token: token)
                #expect(Self.refusals.contains(reply.status), "\(endpoint.id)")
            }
            let reply = try await Self.ask(endpoint, at: bench, key: key, token: own)
            #expect(!Self.refusals.contains(reply.status), "\(endpoint.id)")
        }
        #expect(try bench.contents() == before)
        bench.realClock.advance(by: 400 * 86400)
        for endpoint in guarded {
            #expect(try await Self.ask(endpoint, at: bench, key: key, token: own).status == 401, "\(endpoint.id)")
        }
        await bench.close()
    }
}

extension ServerBench {
    /// Returns the rows of all tables. With an app, tables with an `app` column are limited to its rows.
    func contents(of app: BundleID? = nil) throws -> [String: [SQLRow]] {
        try database.read { connection in
            var contents: [String: [SQLRow]] = [:]
            let tables = try connection.query(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'", [])
            for table in tables {
                let name: String = try table["name"]
                contents[name] = try connection.query("SELECT * FROM \"\(name)\"", []).filter { row in
                    guard let app, row.columns.contains("app") else { return true }
                    return try row["app"] == app.rawValue
                }
            }
            return contents
        }
    }
}
