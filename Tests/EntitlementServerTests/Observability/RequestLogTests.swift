import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

@Suite struct RequestLogTests {
    private let records = Locked<[RequestRecord]>([])
    private let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    private func bench(all: Bool = false) async throws -> ServerBench {
        try await ServerBench { [records] in
            $0.log = { record in records.withLock { $0.append(record) } }
            $0.logsEveryRequest = all
        }
    }

    @Test func `refusals are logged with their request id`() async throws {
        let bench = try await bench()
        _ = try await bench.get()
        let refused = try await bench.send(
            .get, "/v1/customers/anna/facts", headers: ["traceparent": trace, "Souk-Request-Id": "forged"])
        let record = try #require(records.withLock { $0 }.first)
        #expect(records.withLock { $0.count } == 1)
        #expect(record.requestID == refused.headers["Souk-Request-Id"])
        #expect(record.endpoint == "getFacts" && record.status == 403 && record.code == "secret_key_required")
        #expect(record.app == ServerBench.app && record.traceID == "0af7651916cd43dd8448eb211c80319c")
        let key = try #require(
            try APIKeys(database: bench.database).list(of: ServerBench.app).first { $0.kind == .public })
        #expect(record.keyID == key.id && record.json["keyID"] == .string(key.id))
        let line = record.json
        #expect(line["level"] == "warning" && line["endpoint"] == "getFacts" && line["app"] == "com.example.darkroom")
        #expect(line["time"] == .string(RFC3339.string(from: bench.realClock.now())))
        await bench.close()
    }

    @Test func `every request is logged if configured`() async throws {
        let bench = try await bench(all: true)
        _ = try await bench.get()
        _ = try await bench.post(bench.purchase("1"))
        _ = try await bench.send(.get, "/nowhere")
        let records = records.withLock { $0 }
        #expect(records.map(\.endpoint) == ["getCustomer", "postTransactions", "none"])
        #expect(records.map { $0.json["level"]?.stringValue } == ["info", "info", "warning"])
        #expect(records.map(\.app) == [ServerBench.app, ServerBench.app, nil])
        #expect(records.map { $0.keyID != nil } == [true, true, false])
        await bench.close()
    }

    @Test func `a failure of the server is logged as an error with its code`() async throws {
        let bench = try await bench()
        await bench.close()
        _ = try await bench.get()
        let record = try #require(records.withLock { $0 }.last)
        #expect(record.status == 503 && record.json["level"] == "error" && record.code == "unavailable")
    }

    @Test func `no log line contains keys, customers or bodies`() async throws {
        let bench = try await bench(all: true)
        let customer = "customer-of-the-test"
        let signed = try bench.purchase("1")
        _ = try await bench.post([signed, signed + "x"], for: customer)
        _ = try await bench.send(.get, "/v1/customers/\(customer)", as: .other("Bearer made-up-key"))
        try await bench.revokeKeys()
        _ = try await bench.send(.get, "/v1/customers/\(customer)/facts", as: .secret)
        #expect(records.withLock { $0.map { $0.keyID != nil } } == [true, false, false])
        _ = try await bench.send(.get, "/v1/\(customer)?x=made-up-key", headers: ["traceparent": "made-up-key"])
        let text = records.withLock { $0.map { "\($0.json)\($0)" } }.joined()
        let key = try #require(bench.keys[ServerBench.app]).publicKey
        for secret in [customer, "made-up-key", key, String(signed.suffix(40))] {
            #expect(!text.contains(secret), "\(secret)")
        }
        await bench.close()
    }

    @Test(arguments: [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true),
        ("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", true),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", false),
        ("00-00000000000000000000000000000000-b7ad6b7169203331-01", false),
        ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false),
        ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
        ("00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331", false), ("", false),
    ])
    func `a traceparent is accepted only in W3C's format`(text: String, isValid: Bool) {
        #expect((Traceparent(text) != nil) == isValid)
    }
}
