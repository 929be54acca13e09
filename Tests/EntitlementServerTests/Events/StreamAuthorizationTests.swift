import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer
@testable import SQLStorage

extension ServerBench {
    /// Returns the authorization of the app's own server.
    func authorization() throws -> Authorization {
        let digest = SHA256.hash(try #require(keys[Self.app]).secretKey.utf8)
        return Authorization(
            caller: Caller(app: Self.app, kind: .secret, keyDigest: digest), token: nil,
            keys: KeyRing(database: database, clock: realClock.monotonic),
            tokens: try CustomerTokens(secrets: [:], realClock: realClock))
    }

    /// Runs SQL on a separate connection, as another process does.
    func elsewhere(_ sql: String, _ values: [SQLValue] = []) throws {
        let connection = try SQLiteConnection(path: folder.databasePath, mode: .write(.full), limits: .init(.init()))
        defer { connection.close() }
        _ = try connection.session { try $0.execute(sql, values) }
    }

    /// Creates a second secret key of the app.
    func anotherKey() async throws -> (id: String, key: String) {
        let made = try await APIKeys(database: database).create(.secret, for: Self.app)
        return (made.entry.id, made.key)
    }

    func token(for customer: String = "anna", lasts: String = "PT1H") async throws -> String {
        let reply = try await send(
            .post, "/v1/customers/\(customer)/tokens", as: .secret, body: .json(["lasts": .string(lasts)]))
        return try #require(reply.json["token"]?.stringValue)
    }
}

/// Event streams end when their authorization ends.
@Suite struct StreamAuthorizationTests {
    private let revoke = "UPDATE api_key SET revoked_at = 1 WHERE digest = ?1"

    /// Requests the next block of a stream, makes `change`, and advances the clock by a second. Returns the block, or
    /// `nil` at the end of the stream.
    private func next(
        of listener: EventListener, _ bench: ServerBench, after change: () async throws -> Void
    ) async throws -> String? {
        async let next = listener.stream.next()
        await bench.realClock.waiters(atLeast: 1)
        try await change()
        bench.realClock.advance(by: 1)
        return try await next.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `a stream ends within a second after its key was revoked`() async throws {
        let bench = try await ServerBench()
        let (id, key) = try await bench.anotherKey()
        let listener = try await EventListener(bench, by: key)
        let last = try await next(of: listener, bench) { try await APIKeys(database: bench.database).revoke(id) }
        #expect(last == nil)
        let reply = try await bench.send(.get, "/v1/events", as: .other("Bearer \(key)"))
        #expect(reply.status == 401)
        await bench.close()
    }

    @Test(.onSQLite) func `a stream ends when another process revokes, deletes or changes its key`() async throws {
        let bench = try await ServerBench()
        for change in [
            revoke, "DELETE FROM api_key WHERE digest = ?1", "UPDATE api_key SET kind = 'public' WHERE digest = ?1",
            "UPDATE api_key SET app = 'com.example.other' WHERE digest = ?1",
        ] {
            let (_, key) = try await bench.anotherKey()
            let listener = try await EventListener(bench, by: key)
            let last = try await next(of: listener, bench) {
                try bench.elsewhere(change, [.blob(SHA256.hash(key.utf8))])
            }
            #expect(last == nil, "\(change)")
        }
        await bench.close()
    }

    @Test func `an event that is committed after a revocation is not sent`() async throws {
        let bench = try await ServerBench()
        let (id, key) = try await bench.anotherKey()
        let waiting = try await EventListener(bench, by: key)
        let (slow, own) = (try await EventListener(bench, by: key), try await EventListener(bench))
        async let last = waiting.stream.next()
        await bench.realClock.waiters(atLeast: 1)
        try await APIKeys(database: bench.database).revoke(id)
        _ = try await bench.grant("pro")
        #expect(try await last == nil)
        #expect(try await slow.stream.next() == nil, "A stream that is read only after the revocation ends too.")
        #expect(try await own.events(1).count == 1, "Streams of other keys continue.")
        await bench.close()
    }

    @Test func `a valid key keeps its stream`() async throws {
        let bench = try await ServerBench()
        let listener = try await EventListener(bench)
        async let next = listener.block()
        for _ in 0..<29 {
            await bench.realClock.waiters(atLeast: 1)
            bench.realClock.advance(by: 0.5)
        }
        await bench.realClock.waiters(atLeast: 1)
        bench.realClock.advance(by: 0.5)
        #expect(try await next == ":\n\n")
        await bench.close()
    }

    @Test func `a stream ends when the customer token beside its key expires`() async throws {
        let bench = try await ServerBench()
        let listener = try await EventListener(bench, token: bench.token(lasts: "PT10M"))
        let still = try await next(of: listener, bench) { _ = try await bench.grant("pro") }
        #expect(still?.contains("customer.updated") == true)
        #expect(try await next(of: listener, bench) { bench.realClock.advance(by: 600) } == nil)
        await bench.close()
    }

    @Test func `only the events endpoint answers with a stream`() async throws {
        let bench = try await ServerBench()
        let key = try #require(bench.keys[ServerBench.app]).secretKey
        var streaming: [String] = []
        for endpoint in bench.service.endpoints {
            let path = endpoint.path.replacing(/\{[a-z]+\}/, with: "other")
            let response = await bench.service.respond(
                to: HTTPRequest(
                    method: endpoint.method, url: path, headers: ["Authorization": "Bearer \(key)"],
                    body: endpoint.method == .post ? .json([:]) : .empty)
            ).response()
            guard case .stream(let stream) = response.body else { continue }
            stream.cancel()
            streaming.append(endpoint.id)
        }
        #expect(streaming == ["streamEvents"])
        await bench.close()
    }
}
