import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreModel
import Testing

@testable import EntitlementServer

extension ServerBench {
    /// Returns a signed notification of the sandbox after `change`.
    func notification(
        _ id: String = "n-1", _ type: AppStoreServerAPI.NotificationType = .didRenew, transaction: String? = nil,
        renewal: String? = nil, by chain: Result<SigningChain, any Error> = chain,
        _ change: (inout ResponseBodyV2DecodedPayload) -> Void = { _ in }
    ) throws -> String {
        var payload = ResponseBodyV2DecodedPayload {
            $0.notificationType = type
            $0.notificationUUID = id
            $0.data = .init {
                $0.bundleId = Self.app.rawValue
                $0.environment = .sandbox
                $0.signedTransactionInfo = transaction
                $0.signedRenewalInfo = renewal
            }
            $0.version = "2.0"
            $0.signedDate = clock.now()
        }
        change(&payload)
        return try sign(payload, by: chain)
    }

    func notify(_ signed: String) async throws -> Reply {
        try await send(
            .post, "/v1/notifications/app-store", as: .none, body: .json(["signedPayload": .string(signed)]))
    }
}

@Suite(.onBothEngines) struct NotificationTests {
    @Test func `a notification about a known purchase changes the next answer`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("1"))
        bench.clock.advance(by: 29 * 86400)
        let renewed = try bench.period("2", of: "1", days: 31)
        let reply = try await bench.notify(
            bench.notification(transaction: renewed, renewal: bench.renewalInfo(renews: false)))
        #expect(reply.status == 200 && reply.json["notificationUUID"] == "n-1")
        bench.clock.advance(by: 10 * 86400)
        let answer = try await bench.get().customer()
        #expect(answer.features.first?.because == "active subscription, does not renew")
        #expect(try bench.count("fact") == 3 && bench.count("document") == 1)
        await bench.close()
    }

    @Test func `a refund changes an answer that was stored before`() async throws {
        let bench = try await ServerBench()
        let bought = bench.purchasePayload("1")
        let etag = try await bench.post(bench.sign(bought)).headers["ETag"]
        bench.clock.advance(by: 60)
        var refunded = bought
        refunded.signedDate = bench.clock.now()
        refunded.revocationDate = bench.clock.now()
        _ = try await bench.notify(bench.notification("r", .refund, transaction: bench.sign(refunded)))
        let reply = try await bench.get()
        #expect(try reply.active() == [] && reply.headers["ETag"] != etag)
        await bench.close()
    }

    @Test func `a notification that is sent several times counts once`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.notification(transaction: bench.period("1"))
        for _ in 0..<3 { #expect(try await bench.notify(signed).status == 200) }
        #expect(try bench.count("fact") == 1 && bench.count("document") == 1)
        await bench.close()
    }

    @Test func `a repeated notification with a newer signature is not lost`() async throws {
        let bench = try await ServerBench()
        let bought = bench.purchasePayload("1")
        _ = try await bench.post(bench.sign(bought))
        _ = try await bench.notify(bench.notification("n", .refund, transaction: bench.sign(bought)))
        bench.clock.advance(by: 60)
        var refunded = bought
        refunded.signedDate = bench.clock.now()
        refunded.revocationDate = bench.clock.now()
        _ = try await bench.notify(bench.notification("n", .refund, transaction: bench.sign(refunded)))
        #expect(try await bench.get().active() == [])
        #expect(try bench.count("document") == 1)
        await bench.close()
    }

    @Test func `the order of notifications does not matter`() async throws {
        let bench = try await ServerBench()
        var signed: [String] = []
        for month in 0..<4 {
            let renews = month < 3
            signed.append(
                try bench.notification(
                    "n-\(month)", transaction: bench.period("\(month)", of: "0"),
                    renewal: bench.renewalInfo(of: "0", renews: renews)))
            bench.clock.advance(by: renews ? 30 * 86400 : 29 * 86400)
        }
        let now = bench.clock.now()
        var answers: [Customer] = []
        for order in [signed, signed.reversed(), [signed[2], signed[0], signed[3], signed[2], signed[1]]] {
            let other = try await ServerBench()
            other.clock.advance(by: now.timeIntervalSince(other.clock.now()))
            for notification in order { #expect(try await other.notify(notification).status == 200) }
            answers.append(try await other.post(bench.period("0", of: "0") { $0.signedDate = now }).customer())
            await other.close()
        }
        #expect(answers[0].subscriptions.first?.autoRenews == false)
        #expect(answers[1] == answers[0] && answers[2] == answers[0])
        await bench.close()
    }

    @Test func `a purchase without a claim is stored, and belongs to its first claimant`() async throws {
        let bench = try await ServerBench()
        let first = try bench.period("1")
        bench.clock.advance(by: 29 * 86400)
        let renewed = try bench.period("2", of: "1", days: 31)
        _ = try await bench.notify(bench.notification(transaction: renewed, renewal: bench.renewalInfo()))
        #expect(try bench.count("customer") == 0 && bench.count("holder") == 0)
        bench.clock.advance(by: 5 * 86400)
        let answer = try await bench.post(first)
        #expect(try answer.active() == ["pro"])
        #expect(try answer.customer().subscriptions.first?.autoRenews == true)
        await bench.close()
    }

    @Test func `a purchase with the token of an unknown customer waits for that customer`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.period("1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        _ = try await bench.notify(bench.notification(transaction: signed))
        #expect(try await bench.get("anna").active() == ["pro"])
        #expect(try await bench.get("ben").active() == [])
        await bench.close()
    }

    @Test func `a purchase waits for the customer of its token until it is claimed under that token`() async throws {
        let bench = try await ServerBench()
        func waiting() throws -> Int { try bench.count("purchase WHERE app_account_token IS NOT NULL") }
        func signed(_ id: String, for customer: CustomerID) throws -> String {
            try bench.period(id) { $0.appAccountToken = customer.appAccountToken }
        }
        _ = try await bench.post(signed("1", for: "anna"), for: "anna")
        #expect(try waiting() == 0)
        _ = try await bench.notify(bench.notification(transaction: signed("2", for: "ben")))
        #expect(try waiting() == 1)
        _ = try await bench.post(signed("2", for: "ben"), for: "ben")
        #expect(try waiting() == 0)
        // dora is unknown, so her purchase belongs to its presenter until a request about her.
        #expect(try await bench.post(signed("3", for: "dora"), for: "carl").active() == ["pro"])
        #expect(try waiting() == 1)
        #expect(try await bench.get("dora").active() == ["pro"])
        #expect(try await bench.get("carl").active() == [])
        await bench.close()
    }

    @Test func `a renewal info without its transaction waits for it`() async throws {
        let bench = try await ServerBench()
        let first = try bench.period("1")
        _ = try await bench.notify(
            bench.notification(renewal: bench.renewalInfo(of: "1", renews: false)))
        #expect(try bench.count("fact") == 1)
        let answer = try await bench.post(first)
        #expect(try answer.customer().subscriptions.first?.autoRenews == false)
        await bench.close()
    }

    @Test func `a notification without a purchase is stored`() async throws {
        let bench = try await ServerBench()
        let test = try bench.notification("t", .test)
        let summary = try bench.notification("s", .renewalExtension) { payload in
            payload.data = nil
            payload.subtype = .summary
            payload.summary = .init {
                $0.requestIdentifier = "r"
                $0.bundleId = ServerBench.app.rawValue
                $0.productId = "pro.monthly"
                $0.environment = .sandbox
                $0.failedCount = 1
                $0.succeededCount = 2
            }
        }
        let token = try bench.notification("e", .externalPurchaseToken) { payload in
            payload.data = nil
            payload.externalPurchaseToken = .init {
                $0.externalPurchaseId = "SANDBOX_1"
                $0.bundleId = ServerBench.app.rawValue
            }
        }
        for signed in [test, summary, token] { #expect(try await bench.notify(signed).status == 200) }
        let kept: [String] = try bench.database.read { connection in
            try connection.query("SELECT about FROM document ORDER BY sequence").map { try $0["about"] }
        }
        #expect(kept == ["TEST", "RENEWAL_EXTENSION.SUMMARY", "EXTERNAL_PURCHASE_TOKEN"])
        await bench.close()
    }

    @Test func `each app and environment has its own notifications`() async throws {
        let bench = try await ServerBench(environments: [.production, .sandbox])
        let other = try bench.notification("n") { $0.data?.bundleId = ServerBench.otherApp.rawValue }
        let real = try bench.notification("n") { $0.data?.environment = .production }
        for signed in [try bench.notification("n"), other, real] {
            #expect(try await bench.notify(signed).status == 200)
        }
        let ledgerIDs: [String] = try bench.database.read { connection in
            try connection.query("SELECT app, environment FROM document ORDER BY sequence").map {
                "\(try $0["app"] as String) \(try $0["environment"] as String)"
            }
        }
        #expect(
            ledgerIDs == [
                "com.example.darkroom sandbox", "com.example.other sandbox", "com.example.darkroom production",
            ])
        await bench.close()
    }

    @Test func `data that the store did not sign for an app of this server changes nothing`() async throws {
        let bench = try await ServerBench()
        let transaction = try bench.period("1")
        let foreign = try bench.notification(transaction: transaction, by: ServerBench.foreignChain)
        let good = try bench.notification(transaction: transaction)
        let inner = try bench.notification(
            transaction: bench.sign(bench.purchasePayload("1"), by: ServerBench.foreignChain))
        let otherBundle = try bench.notification { $0.data?.bundleId = "com.example.nobody" }
        let cases: [(String, String)] = [
            (foreign, "untrustedRoot"), (inner, "untrustedRoot"), (good.dropLast(6) + "AAAAAA", "signatureInvalid"),
            ("no.jws", "malformed"), (otherBundle, "wrongBundle"), (transaction, "payloadMalformed"),
            (try bench.notification { $0.data?.environment = .production }, "environmentNotAccepted"),
            (try bench.notification { $0.notificationUUID = nil }, "payloadMalformed"),
        ]
        for (signed, code) in cases {
            let reply = try await bench.notify(signed)
            #expect(reply.status == 422 && reply.code == code && reply.field == "signedPayload")
        }
        #expect(try bench.count("fact") == 0 && bench.count("document") == 0)
        #expect(bench.failures.withLock { $0 } == [])
        await bench.close()
    }

    @Test func `a malformed or too large body is refused`() async throws {
        let bench = try await ServerBench()
        for body in [HTTPBody.text("{"), .text("{}"), .text(#"{"signedPayload":7}"#)] {
            let reply = try await bench.send(.post, "/v1/notifications/app-store", as: .none, body: body)
            #expect(reply.status == 400)
        }
        let long = HTTPBody.json(["signedPayload": .string(String(repeating: "x", count: 600 << 10))])
        #expect(try await bench.send(.post, "/v1/notifications/app-store", as: .none, body: long).status == 413)
        await bench.close()
    }

    @Test func `a failed write stores nothing, and its answer requests the notification again`() async throws {
        let refusing = RefusingWrites()
        let bench = try await ServerBench(wrapping: refusing.wrap)
        let signed = try bench.notification(transaction: bench.period("1"))
        refusing.isRefusing.withLock { $0 = true }
        let reply = try await bench.notify(signed)
        #expect(reply.status == 503 && reply.headers["Retry-After"] != nil)
        refusing.isRefusing.withLock { $0 = false }
        #expect(try bench.count("fact") == 0 && bench.count("document") == 0)
        #expect(try await bench.notify(signed).status == 200)
        await bench.close()
    }

    @Test func `a notification is encrypted, exported and erased with its customer`() async throws {
        let bench = try await ServerBench()
        let transaction = try bench.period("1")
        let signed = try bench.notification(transaction: transaction)
        _ = try await bench.notify(signed)
        _ = try await bench.notify(bench.notification("t", .test))
        _ = try await bench.post(transaction)
        let stored: [UInt8] = try bench.database.read { connection in
            try #require(try connection.first("SELECT source_bytes FROM document"))["source_bytes"]
        }
        #expect(!String(decoding: stored, as: UTF8.self).contains(signed.prefix(40)))
        let export = try await bench.send(.get, "/v1/customers/anna/export", as: .secret).json
        #expect(export["documents"]?.arrayValue?.compactMap { $0["sourceBytes"]?.stringValue } == [signed])
        #expect(try bench.count("data_key") == 3)
        _ = try await bench.send(.delete, "/v1/customers/anna", as: .secret)
        #expect(try bench.count("data_key") == 1 && bench.count("document") == 2)
        _ = try await bench.notify(signed)
        _ = try await bench.notify(bench.notification("later", transaction: transaction))
        #expect(try bench.count("data_key") == 1 && bench.count("document") == 3)
        await bench.close()
    }
}

/// A database whose writes fail on demand, as on a full disk.
private final class RefusingWrites: Sendable {
    let isRefusing = Locked(false)

    func wrap(_ inner: any SQLDatabase) -> any SQLDatabase { Database(inner: inner, isRefusing: isRefusing) }

    private struct Database: SQLDatabase {
        let inner: any SQLDatabase
        let isRefusing: Locked<Bool>

        var dialect: SQLDialect { inner.dialect }
        func migrate(_ migrations: [SQLMigration]) throws { try inner.migrate(migrations) }
        func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T { try inner.read(body) }
        func close() async { await inner.close() }

        func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T {
            try await inner.write { [isRefusing] connection in
                let value = try body(connection)
                if isRefusing.withLock({ $0 }) { throw SQLError(.storageFull, "The disk is full.") }
                return value
            }
        }
    }
}
