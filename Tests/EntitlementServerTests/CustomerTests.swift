import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

@Suite(.onBothEngines) struct CustomerTests {
    @Test func `an unknown customer gets an empty answer`() async throws {
        let bench = try await ServerBench()
        let reply = try await bench.get("nobody")
        #expect(reply.status == 200 && reply.wasReady)
        #expect(try reply.customer() == Customer(customer: "nobody", environment: .sandbox, asOf: bench.clock.now()))
        #expect(reply.json["managementURL"] == JSONValue.null)
        #expect(try bench.count("customer") == 0)
        await bench.close()
    }

    @Test func `an unknown customer's answer has a stable ETag`() async throws {
        let bench = try await ServerBench()
        let etag = try #require(try await bench.get("nobody").headers["ETag"])
        bench.clock.advance(by: 3600)
        for condition in [etag, "\(etag.dropFirst(2))", "\"x\", \(etag)"] {
            let reply = try await bench.get("nobody", headers: ["If-None-Match": condition])
            #expect(reply.status == 304 && reply.bytes.isEmpty && reply.headers["ETag"] == etag)
        }
        #expect(try await bench.get("else", headers: ["If-None-Match": etag]).status == 200)
        _ = try await bench.post(bench.purchase("1"), for: "nobody")
        #expect(try await bench.get("nobody", headers: ["If-None-Match": etag]).status == 200)
        await bench.close()
    }

    @Test func `a UUID in any case is the same customer`() async throws {
        let bench = try await ServerBench()
        let id = "6F9619FF-8B86-D011-B42D-00CF4FC964FF"
        _ = try await bench.post(bench.purchase("1"), for: id)
        #expect(try await bench.get(id.lowercased()).active() == ["tools"])
        await bench.close()
    }

    @Test func `a client with the current answer gets a 304`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.purchase("1"))
        let first = try await bench.get()
        let etag = try #require(first.headers["ETag"])
        for condition in [etag, "W/\(etag)", "\"x\", \(etag)", "*"] {
            let reply = try await bench.get(headers: ["If-None-Match": condition])
            #expect(reply.status == 304 && reply.bytes.isEmpty && reply.headers["ETag"] == etag)
            #expect(reply.headers["Content-Length"] == String(first.bytes.count))
        }
        #expect(try await bench.get(headers: ["If-None-Match": "\"x\""]).status == 200)
        _ = try await bench.post(bench.purchase("2", product: "more"))
        let changed = try await bench.get(headers: ["If-None-Match": etag])
        #expect(changed.status == 200)
        #expect(try changed.active() == ["more", "tools"])
        await bench.close()
    }

    @Test(arguments: [0, 1 << 20]) func `a feature is inactive from its expiry on`(memory: Int)
        async throws
    {
        let bench = try await ServerBench { $0.answerMemory = memory }
        let posted = try await bench.post(bench.period()).customer()
        let expiry = try #require(posted.validUntil)
        bench.clock.advance(to: expiry.addingTimeInterval(-0.001))
        let before = try await bench.get()
        #expect(try before.wasReady && before.active() == ["pro"])
        bench.clock.advance(to: expiry)
        let after = try await bench.get()
        #expect(try after.active() == [])
        #expect(after.wasReady == (ServerBench.engine == .postgreSQL))
        #expect(try after.customer().subscriptions.first?.state == .expired)
        #expect(try after.customer().asOf == expiry)
        #expect(try await bench.get().wasReady)
        #expect(after.headers["ETag"] != before.headers["ETag"])
        await bench.close()
    }

    @Test func `the grace period begins at the expiry, as an earlier renewal info stated`() async throws {
        let bench = try await ServerBench()
        let start = bench.clock.now()
        _ = try await bench.post(
            [bench.period()],
            renewals: [
                bench.renewalInfo {
                    $0.gracePeriodExpiresDate = start.addingTimeInterval(46 * 86400)
                    $0.isInBillingRetryPeriod = true
                }
            ])
        bench.clock.advance(by: 30 * 86400)
        #expect(try await bench.get().customer().subscriptions.first?.state == .inGracePeriod)
        #expect(try await bench.get().active() == ["pro"])
        bench.clock.advance(by: 16 * 86400)
        #expect(try await bench.get().customer().subscriptions.first?.state == .inBillingRetry)
        #expect(try await bench.get().active() == [])
        await bench.close()
    }

    @Test func `a stored answer from a later time is recomputed`() async throws {
        let folder = try ServerBench.Folder()
        let later = try await ServerBench(folder: folder)
        let signed = try later.period()
        later.clock.advance(by: 40 * 86400)
        #expect(try await later.post(signed).active() == [])
        let key = try #require(later.keys[ServerBench.app]).publicKey
        await later.close()
        // The clock of this server is before the expiry, as after a restart of a simulator.
        let earlier = try await ServerBench(folder: folder)
        let reply = try await earlier.send(.get, "/v1/customers/anna", as: .other("Bearer \(key)"))
        #expect(try reply.active() == ["pro"])
        await earlier.close()
    }

    @Test func `facts are listed newest first, page by page, for the secret key`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post((1...5).map { try bench.purchase("\($0)") })
        #expect(try await bench.send(.get, "/v1/customers/anna/facts").code == "secret_key_required")
        var seen: [String] = []
        var path = "/v1/customers/anna/facts?limit=2"
        while true {
            let page = try await bench.send(.get, path, as: .secret)
            #expect(page.status == 200)
            let facts = try #require(page.json["facts"]?.arrayValue)
            #expect(facts.allSatisfy { $0["payload"]?["bundleId"]?.stringValue == ServerBench.app.rawValue })
            seen += facts.compactMap { $0["transactionID"]?.stringValue }
            guard let cursor = page.json["nextCursor"]?.stringValue else { break }
            path = "/v1/customers/anna/facts?limit=2&cursor=\(cursor)"
        }
        #expect(seen == ["5", "4", "3", "2", "1"])
        for query in ["limit=0", "limit=x", "limit=101"] {
            #expect(try await bench.send(.get, "/v1/customers/anna/facts?\(query)", as: .secret).field == "limit")
        }
        #expect(try await bench.send(.get, "/v1/customers/anna/facts?cursor=x", as: .secret).field == "cursor")
        await bench.close()
    }

    @Test func `reads during writes never go back in time`() async throws {
        let bench = try await ServerBench {
            $0.answerMemory = 1
            // The number of reads depends on the machine, and virtual time does not refill a rate limit.
            $0.apps[0].customerRateLimit = nil
        }
        let signed = try (1...40).map { try bench.purchase("\($0)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for (count, transaction) in signed.enumerated() {
                    _ = try await bench.post(transaction)
                    let answer = try await bench.get().customer()
                    #expect(answer.purchases.count >= count + 1)
                }
            }
            for reader in 0..<2 {
                group.addTask {
                    var most = 0
                    while most < signed.count {
                        let answer = try await bench.get().customer()
                        #expect(answer.purchases.count >= most)
                        most = answer.purchases.count
                        _ = try await bench.get("other-\(reader)")
                        await letOthersRun()
                    }
                }
            }
            try await group.waitForAll()
        }
        await bench.close()
    }
}
