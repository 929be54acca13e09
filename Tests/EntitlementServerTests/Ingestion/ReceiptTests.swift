import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel
import Testing

@testable import EntitlementServer

extension ServerBench {
    static let device = DeviceIdentifier(bytes: Array(repeating: 7, count: 16))

    /// Returns a purchase in a receipt, by default of `pro.monthly` for 30 days from now.
    func receiptPurchase(
        _ id: TransactionID = "1", of original: TransactionID? = nil,
        _ change: (inout AppReceipt.InAppPurchase) -> Void = { _ in }
    ) -> AppReceipt.InAppPurchase {
        let now = clock.now()
        var purchase = AppReceipt.InAppPurchase(
            quantity: 1, productID: "pro.monthly", transactionID: id, purchaseDate: now,
            originalTransactionID: original ?? id, originalPurchaseDate: now,
            productType: .autoRenewableSubscription, expiresDate: now.addingTimeInterval(30 * 86400))
        change(&purchase)
        return purchase
    }

    /// Returns a new receipt of the sandbox, in base64.
    func receipt(
        _ purchases: [AppReceipt.InAppPurchase], by chain: Result<SigningChain, any Error> = chain,
        _ change: (inout AppReceipt) -> Void = { _ in }
    ) throws -> String {
        var receipt = AppReceipt(
            receiptType: "ProductionSandbox", bundleID: Self.app, appVersion: "1", creationDate: clock.now(),
            opaqueValue: [1, 2, 3], inAppPurchases: purchases)
        change(&receipt)
        return Base64.encode(try ReceiptSigner(chain.get()).sign(receipt, for: Self.device))
    }

    func present(
        receipt: String, renewals: [String] = [], for customer: String = "anna", headers: HTTPHeaders = [:]
    ) async throws -> Reply {
        var body: JSONValue = ["receipt": .string(receipt)]
        if !renewals.isEmpty { body["signedRenewalInfos"] = .array(renewals.map { .string($0) }) }
        return try await send(
            .post, "/v1/customers/\(customer)/transactions", headers: headers, body: .json(body))
    }

    func validate(
        _ receipt: String, _ more: JSONValue = [:], headers: HTTPHeaders = [:]
    ) async throws -> Reply {
        var body = more
        body["receipt"] = .string(receipt)
        return try await send(.post, "/v1/receipts/validate", headers: headers, body: .json(body))
    }
}

extension ServerBench.Reply {
    func validation() throws -> ReceiptValidation { try WireJSON.decode(ReceiptValidation.self, from: bytes) }
}

/// Receipts that are presented as transactions.
@Suite struct PresentedReceiptTests {
    @Test func `a receipt acknowledges all its transactions and activates their features`() async throws {
        let bench = try await ServerBench()
        let tools = bench.receiptPurchase("2") { purchase in
            purchase.productID = "tools"
            purchase.productType = .nonConsumable
            purchase.expiresDate = nil
        }
        let reply = try await bench.present(receipt: bench.receipt([bench.receiptPurchase("1"), tools]))
        #expect(reply.status == 200 && reply.json["rejected"]?.arrayValue == [])
        #expect(reply.acknowledged?.sorted() == ["1", "2"])
        #expect(try reply.active() == ["pro", "tools"])
        #expect(try bench.count("fact") == 2 && bench.count("document") == 1 && bench.count("claim") == 2)
        await bench.close()
    }

    @Test func `a repeated receipt changes nothing, nor does a later one with the same purchases`()
        async throws
    {
        let bench = try await ServerBench()
        let purchases = [bench.receiptPurchase()]
        let receipt = try bench.receipt(purchases)
        _ = try await bench.present(receipt: receipt)
        let etag = try await bench.get().headers["ETag"]
        _ = try await bench.present(receipt: receipt)
        #expect(try bench.count("fact") == 1 && bench.count("document") == 1)
        bench.clock.advance(by: 60)
        _ = try await bench.present(receipt: bench.receipt(purchases))
        #expect(try await bench.get().headers["ETag"] == etag)
        await bench.close()
    }

    @Test func `a receipt's renewals and signed transactions are one subscription`() async throws {
        let bench = try await ServerBench()
        let first = bench.receiptPurchase("1")
        _ = try await bench.post(bench.period("1"))
        bench.clock.advance(by: 29 * 86400)
        let second = bench.receiptPurchase("2", of: "1")
        let reply = try await bench.present(
            receipt: bench.receipt([first, second]), renewals: [bench.renewalInfo(renews: false)])
        let subscription = try #require(try reply.customer().subscriptions.first)
        #expect(try reply.customer().subscriptions.count == 1)
        #expect(subscription.expiresAt == second.expiresDate && subscription.autoRenews == false)
        await bench.close()
    }

    @Test func `a newer receipt ends a purchase by its cancellation, not by an earlier expiry`()
        async throws
    {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("1"))
        let kept = bench.receiptPurchase("1") { $0.expiresDate = bench.clock.now().addingTimeInterval(86400) }
        bench.clock.advance(by: 3 * 86400)
        #expect(try await bench.present(receipt: bench.receipt([kept])).active() == ["pro"])
        var cancelled = kept
        cancelled.cancellationDate = bench.clock.now()
        bench.clock.advance(by: 60)
        #expect(try await bench.present(receipt: bench.receipt([cancelled])).active() == [])
        await bench.close()
    }

    @Test func `a purchase bound to another customer is rejected by its index, the others are stored`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(
            bench.period("1") { $0.appAccountToken = CustomerID("ben").appAccountToken }, for: "ben")
        let tools = bench.receiptPurchase("2") { $0.productID = "pro.yearly" }
        let text = try bench.receipt([bench.receiptPurchase("1"), tools])
        let reply = try await bench.present(receipt: text)
        #expect(reply.status == 200 && reply.acknowledged == ["2"])
        let rejected = try #require(reply.json["rejected"]?.arrayValue)
        let receipt = try #require(Base64.decode(text))
        let places = try ReceiptVerifier(
            configuration: .init(
                bundleIDs: nil, environments: [.sandbox], trustAnchors: [TrustAnchor(ServerBench.chain.get().root)])
        ).verify(receipt).receipt.inAppPurchases.map(\.transactionID)
        #expect(rejected.map { $0["index"]?.intValue } == [places.firstIndex(of: "1")])
        #expect(rejected.map { $0["code"]?.stringValue } == ["boundToAnotherCustomer"])
        await bench.close()
    }

    @Test func `an incomplete purchase and a renewal info after it are rejected by their indexes`()
        async throws
    {
        let bench = try await ServerBench()
        let nameless = bench.receiptPurchase("1") { $0.transactionID = nil }
        let reply = try await bench.present(
            receipt: bench.receipt([nameless, bench.receiptPurchase("2")]), renewals: [bench.renewalInfo(of: "9")])
        #expect(reply.acknowledged == ["2"])
        let rejected = try #require(reply.json["rejected"]?.arrayValue)
        #expect(rejected.map { $0["index"]?.intValue } == [0, 2])
        #expect(rejected.map { $0["code"]?.stringValue } == ["payloadMalformed", "unknownTransaction"])
        #expect(rejected[0]["detail"]?.stringValue?.contains("/transactionID") == true)
        await bench.close()
    }

    @Test func `an invalid receipt is refused as a whole`() async throws {
        let bench = try await ServerBench()
        let purchases = [bench.receiptPurchase()]
        let cases: [(String, String)] = [
            (try bench.receipt(purchases, by: ServerBench.foreignChain), "untrustedRoot"),
            (try bench.receipt(purchases) { $0.bundleID = "com.example.nobody" }, "wrongBundle"),
            (try bench.receipt(purchases) { $0.receiptType = "Production" }, "environmentNotAccepted"),
            (Base64.encode([0x30, 0x03, 0x02, 0x01, 0x01]), "malformed"),
        ]
        for (receipt, code) in cases {
            let reply = try await bench.present(receipt: receipt)
            #expect(reply.status == 422 && reply.code == code && reply.field == "receipt")
        }
        let garbled = try await bench.present(receipt: "no base64 !")
        #expect(garbled.status == 400 && garbled.field == "receipt")
        #expect(try bench.count("fact") == 0 && bench.count("document") == 0 && bench.count("customer") == 0)
        await bench.close()
    }

    @Test func `a receipt without purchases is valid`() async throws {
        let bench = try await ServerBench()
        let reply = try await bench.present(receipt: bench.receipt([]))
        #expect(reply.status == 200 && reply.acknowledged == [])
        #expect(try bench.count("document") == 0)
        await bench.close()
    }

    @Test func `facts of a receipt are listed as they are in the receipt`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.present(receipt: bench.receipt([bench.receiptPurchase()]))
        let facts = try await bench.send(.get, "/v1/customers/anna/facts", as: .secret).json["facts"]?.arrayValue
        #expect(facts?.first?["payload"]?["productID"] == "pro.monthly")
        await bench.close()
    }
}

/// POST `/v1/receipts/validate`.
@Suite struct ReceiptValidationTests {
    @Test func `the validation of a receipt returns its content and the latest state`() async throws {
        let bench = try await ServerBench()
        let receipt = try bench.receipt([bench.receiptPurchase("1")])
        _ = try await bench.post(bench.period("1"))
        bench.clock.advance(by: 29 * 86400)
        _ = try await bench.post(bench.period("2", of: "1"))
        bench.clock.advance(by: 5 * 86400)
        let reply = try await bench.validate(receipt)
        let validation = try reply.validation()
        #expect(reply.status == 200 && validation.isValid && validation.error == nil)
        #expect(validation.validatedAt == bench.clock.now())
        #expect(validation.requestID == reply.headers["Souk-Request-Id"])
        #expect(validation.receipt?["inAppPurchases"]?.arrayValue?.count == 1)
        #expect(validation.customer?.customer == "anna")
        #expect(try await bench.get().customer() == validation.customer)
        #expect(validation.customer?.features.map(\.isActive) == [true])
        await bench.close()
    }

    @Test func `a receipt whose purchases have no customer is validated without a claim to them`() async throws {
        let bench = try await ServerBench()
        let validation = try await bench.validate(bench.receipt([bench.receiptPurchase("1")])).validation()
        #expect(validation.customer?.customer == "unclaimed")
        #expect(validation.customer?.features.map(\.name) == ["pro"])
        #expect(try bench.count("holder") == 0 && bench.count("customer") == 0 && bench.count("fact") == 1)
        await bench.close()
    }

    @Test func `a receipt of several customers is answered without their other purchases`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("1"), for: "anna")
        _ = try await bench.post([bench.period("2"), bench.purchase("3")], for: "ben")
        let validation = try await bench.validate(
            bench.receipt([bench.receiptPurchase("1"), bench.receiptPurchase("2")])
        ).validation()
        #expect(validation.customer?.customer == "unclaimed")
        #expect(validation.customer?.subscriptions.count == 2 && validation.customer?.purchases == [])
        await bench.close()
    }

    @Test func `the validation of an invalid receipt returns the reason`() async throws {
        let bench = try await ServerBench()
        let purchases = [bench.receiptPurchase()]
        let other = DeviceIdentifier(bytes: [9])
        let cases: [(String, JSONValue, String)] = [
            (try bench.receipt(purchases, by: ServerBench.foreignChain), [:], "untrustedRoot"),
            (try bench.receipt(purchases), ["deviceID": .string(Base64.encode(other.bytes))], "deviceMismatch"),
            (try bench.receipt(purchases) { $0.receiptType = "Production" }, [:], "environmentNotAccepted"),
            (Base64.encode(Array(#"{ "signature" = "x"; "purchase-info" = "y"; }"#.utf8)), [:], "legacyReceipt"),
        ]
        for (receipt, more, code) in cases {
            let reply = try await bench.validate(receipt, more)
            let validation = try reply.validation()
            #expect(reply.status == 200 && !validation.isValid && validation.error?.code == code)
            #expect(validation.receipt == nil && validation.customer == nil && validation.error?.retryable == false)
        }
        #expect(try bench.count("fact") == 0)
        await bench.close()
    }

    @Test func `a validation request can state the device, and must not state another app`() async throws {
        let bench = try await ServerBench()
        let receipt = try bench.receipt([bench.receiptPurchase()])
        let device = JSONValue.string(Base64.encode(ServerBench.device.bytes))
        let right = try await bench.validate(
            receipt, ["deviceID": device, "bundleID": .string(ServerBench.app.rawValue)])
        #expect(try right.validation().isValid)
        let garbled = try await bench.validate(receipt, ["deviceID": "not-a-uuid"])
        #expect(garbled.status == 400 && garbled.field == "deviceID")
        let otherApp = try await bench.validate(receipt, ["bundleID": "com.example.nobody"])
        #expect(otherApp.status == 400 && otherApp.field == "bundleID")
        await bench.close()
    }

    @Test func `a string that is not a receipt in base64 is refused`() async throws {
        let bench = try await ServerBench()
        for receipt in ["", "no base64 !", "AAA"] {
            let reply = try await bench.validate(receipt)
            #expect(reply.status == 400 && reply.field == "receipt")
        }
        let missing = try await bench.send(.post, "/v1/receipts/validate", body: .json([:]))
        #expect(missing.status == 400 && missing.field == "receipt")
        await bench.close()
    }

    @Test func `a repeated request gets the first answer`() async throws {
        let bench = try await ServerBench()
        let receipt = try bench.receipt([bench.receiptPurchase()])
        let first = try await bench.validate(receipt, headers: ["Idempotency-Key": "k"])
        bench.clock.advance(by: 60)
        #expect(try await bench.validate(receipt, headers: ["Idempotency-Key": "k"]).bytes == first.bytes)
        let wrong = try await bench.validate("AAAA", headers: ["Idempotency-Key": "k"])
        #expect(wrong.status == 422 && wrong.code == "idempotency_mismatch")
        let forged = try bench.receipt([bench.receiptPurchase()], by: ServerBench.foreignChain)
        let refused = try await bench.validate(forged, headers: ["Idempotency-Key": "f"])
        bench.clock.advance(by: 60)
        #expect(try await bench.validate(forged, headers: ["Idempotency-Key": "f"]).bytes == refused.bytes)
        await bench.close()
    }

    @Test func `a customer's token shows only that customer`() async throws {
        let bench = try await ServerBench(configure: { $0.apps[0].requiresCustomerTokens = true })
        let receipt = try bench.receipt([bench.receiptPurchase("1")])
        #expect(try await bench.validate(receipt).status == 401)
        let signed = try bench.period("1")
        _ = try await bench.send(
            .post, "/v1/customers/ben/transactions", as: .secret, body: .json(["signedTransaction": .string(signed)]))
        let secret: [UInt8] = try bench.database.read { connection in
            let row = try connection.first(
                "SELECT token_secret FROM app WHERE bundle_id = ?1", [.text(ServerBench.app.rawValue)])
            return try #require(row)["token_secret"]
        }
        let tokens = try CustomerTokens(secrets: [ServerBench.app: secret], realClock: bench.realClock)
        for (requester, shown) in [("ben", "ben"), ("anna", "unclaimed")] {
            let token = try tokens.issue(
                for: CustomerID(unchecked: requester), of: ServerBench.app, until: bench.realClock.now() + 60)
            let reply = try await bench.validate(receipt, headers: ["Souk-Customer-Token": token])
            #expect(try reply.validation().customer?.customer.rawValue == shown)
        }
        await bench.close()
    }
}
