import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

@Suite(.onBothEngines) struct GrantTests {
    @Test func `a grant is active beside purchases until it ends`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.purchase("1"))
        let until = bench.clock.now().addingTimeInterval(3600)
        let reply = try await bench.grant("pro", until: until)
        #expect(reply.status == 201)
        #expect(try reply.active() == ["pro", "tools"])
        let grant = try #require(try reply.customer().features.first { $0.source == .grant })
        #expect(grant.because == "granted: support" && grant.until == until && grant.grantID != nil)
        #expect(try reply.customer().validUntil == until)
        bench.clock.advance(to: until)
        #expect(try await bench.get().active() == ["tools"])
        await bench.close()
    }

    @Test func `a grant is withdrawn by its id, once`() async throws {
        let bench = try await ServerBench { $0.makeGrantID = { "grant-1" } }
        #expect(try await bench.grant().status == 201)
        let path = "/v1/customers/anna/grants/grant-1"
        #expect(try await bench.send(.delete, "/v1/customers/ben/grants/grant-1", as: .secret).status == 404)
        #expect(try await bench.send(.delete, path).code == "secret_key_required")
        #expect(try await bench.get().active() == ["pro"])
        let reply = try await bench.send(.delete, path, as: .secret)
        #expect(reply.status == 200)
        #expect(try reply.active() == [])
        #expect(try await bench.get().active() == [])
        #expect(try await bench.send(.delete, path, as: .secret).code == "unknown_grant")
        await bench.close()
    }

    @Test func `a public key grants nothing`() async throws {
        let bench = try await ServerBench()
        let reply = try await bench.send(
            .post, "/v1/customers/anna/grants", body: .json(["feature": "pro", "reason": "because"]))
        #expect(reply.status == 403 && reply.code == "secret_key_required")
        #expect(try bench.count("customer_grant") == 0)
        await bench.close()
    }

    @Test(arguments: [
        (#"{"reason":"x"}"#, "feature"), (#"{"feature":"pro"}"#, "reason"), (#"{"feature":7,"reason":"x"}"#, "feature"),
        (#"{"feature":"","reason":"x"}"#, "feature"), (#"{"feature":"pro","reason":""}"#, "reason"),
        (#"{"feature":"pro","reason":null}"#, "reason"),
        (#"{"feature":"pro","reason":"x","until":"tomorrow"}"#, "until"),
        (#"{"feature":"pro","reason":"x","until":"9999-12-31T23:59:59-23:59"}"#, "until"),
        (#"{"feature":"pro","reason":"x","until":"2026-01-01T00:00:00Z"}"#, "until"),
    ])
    func `an invalid grant is refused with the name of its field`(body: String, field: String) async throws {
        let bench = try await ServerBench()
        let reply = try await bench.send(.post, "/v1/customers/anna/grants", as: .secret, body: .text(body))
        #expect(reply.status == 400 && reply.field == field)
        #expect(try bench.count("customer_grant") == 0)
        await bench.close()
    }
}

@Suite struct IdempotencyTests {
    private let key: HTTPHeaders = ["Idempotency-Key": "order-7"]

    @Test func `a repeated request with its idempotency key takes effect once`() async throws {
        let bench = try await ServerBench()
        let first = try await bench.grant(headers: key)
        let second = try await bench.grant(headers: key)
        #expect(first.status == 201 && second.status == 201)
        #expect(second.bytes == first.bytes)
        #expect(try bench.count("customer_grant") == 1)
        #expect(try await bench.grant().status == 201)
        #expect(try bench.count("customer_grant") == 2)
        await bench.close()
    }

    @Test func `an idempotency key that was used for another request is refused`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.grant(headers: key)
        for reply in [
            try await bench.grant("more", headers: key), try await bench.grant(to: "ben", headers: key),
        ] {
            #expect(reply.status == 422 && reply.code == "idempotency_mismatch")
        }
        #expect(try bench.count("customer_grant") == 1)
        _ = try await bench.post(bench.purchase("1"), headers: key)
        #expect(try await bench.post(bench.purchase("2"), headers: key).code == "idempotency_mismatch")
        #expect(try bench.count("fact") == 1)
        await bench.close()
    }

    @Test func `idempotency keys of two customers with the same public key are separate`() async throws {
        let bench = try await ServerBench()
        let key: HTTPHeaders = ["Idempotency-Key": "1"]
        let signed = (anna: try bench.purchase("1"), ben: try bench.purchase("2"))
        for (customer, id, purchase) in [
            ("anna", "1", signed.anna), ("ben", "2", signed.ben), ("anna", "1", signed.anna),
        ] {
            let reply = try await bench.post(purchase, for: customer, headers: key)
            #expect(reply.status == 200 && reply.acknowledged == [id], "\(reply)")
        }
        #expect(try await bench.post(bench.purchase("3"), for: "ben", headers: key).code == "idempotency_mismatch")
        await bench.close()
    }

    @Test func `idempotency keys of an app's public and secret key are separate`() async throws {
        let bench = try await ServerBench()
        let granted = try await bench.grant(headers: key)
        let posted = try await bench.post(bench.purchase("1"), headers: key)
        #expect(posted.status == 200 && posted.acknowledged == ["1"])
        #expect(try await bench.grant(headers: key).bytes == granted.bytes)
        #expect(try bench.count("customer_grant") == 1 && bench.count("idempotency_key") == 2)
        await bench.close()
    }

    @Test func `a refusal is repeated too`() async throws {
        let bench = try await ServerBench()
        let first = try await bench.post("x", headers: key)
        let second = try await bench.post("x", headers: key)
        #expect(first.status == 422 && second.status == 422 && second.bytes == first.bytes)
        #expect(second.headers["Content-Type"] == "application/problem+json")
        #expect(try await bench.post("y", headers: key).code == "idempotency_mismatch")
        await bench.close()
    }

    @Test func `a posted transaction is answered again with the first answer`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.period()
        let first = try await bench.post(signed, headers: key)
        bench.clock.advance(by: 40 * 86400)
        #expect(try await bench.post(signed, headers: key).bytes == first.bytes)
        #expect(try await bench.post(signed).active() == [])
        await bench.close()
    }

    @Test func `an idempotency key expires after a day of real time`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.grant(headers: key)
        bench.clock.advance(by: 100 * 86400)
        bench.realClock.advance(by: 24 * 3600 - 1)
        _ = try await bench.grant(headers: key)
        #expect(try bench.count("customer_grant") == 1)
        bench.realClock.advance(by: 1)
        _ = try await bench.grant(headers: key)
        #expect(try bench.count("customer_grant") == 2)
        #expect(try bench.count("idempotency_key") == 1)
        await bench.close()
    }

    @Test func `concurrent requests with the same idempotency key wait for the first answer`() async throws {
        let gate = GateBox()
        let bench = try await ServerBench(wrapping: gate.wrap)
        let database = try #require(gate.database)
        database.shut()
        async let first = bench.grant(headers: key)
        await database.waitForWrite()
        async let second = bench.grant(headers: key)
        async let third = bench.grant(headers: key)
        await bench.realClock.waiters(atLeast: 2)
        bench.realClock.advance(by: 4)
        database.open()
        let replies = try await [first, second, third]
        #expect(replies.allSatisfy { $0.status == 201 && $0.bytes == replies[0].bytes })
        #expect(try bench.count("customer_grant") == 1)
        await bench.close()
    }

    @Test func `a ledger that another program has locked is unavailable, with and without an idempotency key`()
        async throws
    {
        let gate = GateBox()
        let bench = try await ServerBench(wrapping: gate.wrap)
        gate.database?.fail(with: SQLError(.busy, "The database is locked."))
        for headers in [key, [:]] {
            let refused = try await bench.grant(headers: headers)
            #expect(refused.status == 503 && refused.code == "unavailable", "\(refused)")
        }
        gate.database?.fail(with: nil)
        #expect(try await bench.grant(headers: key).status == 201)
        await bench.close()
    }

    @Test func `the second of two concurrent requests with one idempotency key is refused if the first takes too long`()
        async throws
    {
        let gate = GateBox()
        let bench = try await ServerBench(wrapping: gate.wrap)
        let database = try #require(gate.database)
        database.shut()
        async let first = bench.grant(headers: key)
        await database.waitForWrite()
        async let waiting = bench.grant(headers: key)
        await bench.realClock.waiters(atLeast: 1)
        bench.realClock.advance(by: 5)
        let second = try await waiting
        #expect(second.status == 409 && second.code == "idempotency_in_progress")
        #expect(second.headers["Retry-After"] == "1")
        database.open()
        #expect(try await first.status == 201)
        #expect(try await bench.grant(headers: key).status == 201)
        #expect(try bench.count("customer_grant") == 1)
        await bench.close()
    }

    @Test func `an invalid idempotency key is refused`() async throws {
        let bench = try await ServerBench()
        for value in ["", String(repeating: "x", count: 256), "a\u{0}b", "a\u{7}", "\u{85}"] {
            let reply = try await bench.grant(headers: ["Idempotency-Key": value])
            #expect(reply.status == 400 && reply.field == "Idempotency-Key")
        }
        await bench.close()
    }
}

/// Holds the gated database of a bench.
final class GateBox {
    private(set) var database: GatedDatabase?

    func wrap(_ inner: any SQLDatabase) -> any SQLDatabase {
        let gated = GatedDatabase(inner)
        database = gated
        return gated
    }
}
