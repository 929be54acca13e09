import AppStorePayloads
import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import SignedData
import StoreModel
import Testing

@testable import EntitlementServer

/// The endpoint that signs promotional offers.
@Suite(.onBothEngines) struct OfferSignatureTests {
    @Test func `a subscriber gets a signature of both versions for this product and offer`() async throws {
        let bench = try await OfferBench()
        bench.server.realClock.advance(by: 86400 * 365)
        _ = try await bench.server.post(bench.server.period("7"))
        let nonce = UUID()
        let reply = try await bench.ask(nonce: nonce.uuidString)
        let json = reply.json
        #expect(reply.status == 200)
        #expect(
            json.objectValue?.keys.sorted() == [
                "appAccountToken", "compactJWS", "keyID", "nonce", "offerID", "productID", "signature", "timestamp",
            ])
        #expect(json["nonce"]?.stringValue == nonce.uuidString.lowercased())
        #expect(json["keyID"]?.stringValue == OfferBench.keyID)
        let signed = try WireJSON.decode(SignedOffer.self, from: reply.bytes)
        // The signatures have the real time, not the store's.
        let now = bench.server.realClock.now()
        #expect(signed.signature.nonce == nonce && signed.signature.timestamp == now.milliseconds)
        #expect(signed.appAccountToken == CustomerID(unchecked: "anna").appAccountToken)
        try signed.signature.verify(
            for: bench.subject("pro.monthly", "half", "anna"), key: bench.key.verificationKey, at: now)
        let request = try bench.verifier.verify(signed.compactJWS, at: now)
        #expect(request.request == .promotionalOffer("half", for: "pro.monthly", transactionID: "7"))
        #expect(request.nonce == nonce)
        await bench.close()
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `a signature is valid for exactly its customer, product and offer`(seed: UInt64) async throws {
        var numbers = SeededNumbers(state: seed)
        let products: [ProductID] = ["pro.monthly", "pro.yearly"]
        let offers = ["half", "halF", "Half", "half\u{301}", "free", "\u{C5}"]
        let uuid = UUID().uuidString
        let customers = ["anna", "Anna", "cafe\u{301}", "caf\u{E9}", uuid, "anonymous-\(uuid.lowercased())"]
        let list = products.flatMap { product in
            offers.map { JSONValue.object(["productId": .string(product.rawValue), "offerIdentifier": .string($0)]) }
        }
        let rules: JSONValue = ["groups": ["group": ["pro.monthly", "pro.yearly"]], "offers": .array(list)]
        let bench = try await OfferBench(rules.text())
        for (index, customer) in customers.enumerated() {
            _ = try await bench.server.post(
                bench.server.period("\(index + 1)"), for: PercentEncoding.encode(customer))
        }
        func token(_ customer: String) -> UUID? {
            customer.hasPrefix("anonymous-") ? nil : CustomerID(rawValue: customer)?.appAccountToken
        }
        for _ in 0..<6 {
            let (customer, product, offer) = (
                try #require(customers.randomElement(using: &numbers)),
                try #require(products.randomElement(using: &numbers)),
                try #require(offers.randomElement(using: &numbers))
            )
            let signed = try await bench.sign(product.rawValue, offer, for: PercentEncoding.encode(customer))
            for other in customers {
                for otherProduct in products {
                    for otherOffer in offers {
                        let subject = PromotionalOffer(
                            bundleID: ServerBench.app, productID: otherProduct, offerID: otherOffer,
                            appAccountToken: token(other))
                        let isSame =
                            other.hasSameBytes(as: customer) && otherProduct == product
                            && otherOffer.hasSameBytes(as: offer)
                        #expect(signed.signature.isValid(for: subject, key: bench.key.verificationKey) == isSame)
                    }
                }
            }
            let request = try bench.verifier.verify(signed.compactJWS, at: bench.server.realClock.now()).request
            let own = try #require(customers.firstIndex { $0.hasSameBytes(as: customer) })
            #expect(
                request == .promotionalOffer(offer, for: product, transactionID: TransactionID(unchecked: "\(own + 1)"))
            )
            #expect(request.offerID?.hasSameBytes(as: offer) == true)
        }
        await bench.close()
    }

    // MARK: - Eligibility

    @Test func `a customer who never subscribed in the group is refused with the reason`() async throws {
        let bench = try await OfferBench()
        let server = bench.server
        _ = try await server.post(
            server.period("1") {
                $0.subscriptionGroupIdentifier = "else"; $0.productId = "x"
            })
        _ = try await server.post(server.purchase("2", product: "pro.monthly"))
        _ = try await server.post(server.period("3") { $0.inAppOwnershipType = .familyShared })
        _ = try await server.grant("pro")
        for customer in ["anna", "nobody"] {
            let refused = try await bench.ask(for: customer)
            #expect(refused.status == 409 && refused.code == "not_eligible")
            #expect(refused.json["detail"]?.stringValue?.hasPrefix("neverSubscribed: ") == true)
        }
        #expect(try await server.get("nobody").json["features"] == [])
        // A subscription of the group under a product that the rules do not list.
        _ = try await server.post(server.period("4", product: "pro.old"))
        #expect(try await bench.ask().status == 200)
        #expect(try await bench.ask("tools.monthly").code == "not_eligible")
        await bench.close()
    }

    @Test func `the state of the subscription decides if the offer names one`() async throws {
        let bench = try await OfferBench()
        _ = try await bench.server.post(bench.server.period("1"))
        let refused = try await bench.ask("pro.monthly", "back")
        #expect(refused.status == 409 && refused.json["detail"]?.stringValue?.contains("\"states\"") == true)
        bench.server.clock.advance(by: 31 * 86400)
        #expect(try await bench.ask("pro.monthly", "back").status == 200)
        await bench.close()
    }

    @Test func `an offer that the ledger knows as used is not signed again if it is once per customer`() async throws {
        let bench = try await OfferBench()
        let server = bench.server
        _ = try await server.post(server.period("1"))
        server.clock.advance(by: 31 * 86400)
        _ = try await server.post(
            server.period("2", of: "1") {
                $0.offerType = .promotional
                $0.offerIdentifier = "back"
            })
        server.clock.advance(by: 31 * 86400)
        let refused = try await bench.ask("pro.monthly", "back")
        #expect(refused.status == 409 && refused.json["detail"]?.stringValue?.hasPrefix("alreadyUsed: ") == true)
        #expect(try await bench.ask().status == 200)
        await bench.close()
    }

    @Test func `the past under an alias counts, and the signature is for the name in the request`() async throws {
        let bench = try await OfferBench()
        _ = try await bench.server.post(bench.server.period("1"), for: "anonymous-1")
        _ = try await bench.server.send(
            .post, "/v1/customers/anna/aliases", as: .secret, body: .json(["alias": "anonymous-1"]))
        let signed = try await bench.sign()
        #expect(signed.appAccountToken == CustomerID(unchecked: "anna").appAccountToken)
        let anonymous = try await bench.sign(for: "anonymous-1")
        #expect(anonymous.appAccountToken == nil)
        #expect(
            anonymous.signature.isValid(for: bench.subject("pro.monthly", "half", nil), key: bench.key.verificationKey))
        await bench.close()
    }

    @Test func `facts of another environment do not count`() async throws {
        let bench = try await OfferBench(environments: [.sandbox, .production])
        _ = try await bench.server.post(bench.server.period("1") { $0.environment = .production })
        #expect(try await bench.ask().code == "not_eligible")
        #expect(try await bench.ask(headers: ["Souk-Environment": "production"]).status == 200)
        await bench.close()
    }

    // MARK: - Attacks

    @Test func `a nonce is signed for one customer, product and offer`() async throws {
        let bench = try await OfferBench()
        for customer in ["anna", "ben"] {
            _ = try await bench.server.post(bench.server.period(customer == "anna" ? "1" : "2"), for: customer)
        }
        let nonce = UUID()
        let first = try await bench.sign(nonce: nonce.uuidString)
        for text in [nonce.uuidString, nonce.uuidString.lowercased()] {
            #expect(try await bench.ask(for: "ben", nonce: text).code == "nonce_used")
            #expect(try await bench.ask("pro.yearly", nonce: text).code == "nonce_used")
        }
        // A repetition has the same nonce and time, so it extends nothing.
        bench.server.realClock.advance(by: 3600)
        let again = try await bench.sign(nonce: nonce.uuidString.lowercased())
        #expect(again.signature.nonce == nonce && again.signature.timestamp == first.signature.timestamp)
        // A nonce that the server chose cannot be signed for another customer either.
        let own = try await bench.sign().signature.nonce
        #expect(own != nonce)
        #expect(try await bench.ask(for: "ben", nonce: own.uuidString).code == "nonce_used")
        // The first signature is no longer valid.
        bench.server.realClock.advance(by: 86_400 - 3600)
        #expect(try await bench.ask(for: "ben", nonce: nonce.uuidString).status == 200)
        await bench.close()
    }

    @Test func `an offer for one use has one valid signature at a time`() async throws {
        let bench = try await OfferBench()
        _ = try await bench.server.post(bench.server.period("1"))
        bench.server.clock.advance(by: 31 * 86400)
        let nonces = try await withThrowingTaskGroup(of: UUID.self) { group in
            for _ in 0..<8 {
                group.addTask { try await bench.sign("pro.monthly", "back").signature.nonce }
            }
            return try await group.reduce(into: Set<UUID>()) { $0.insert($1) }
        }
        let nonce = try #require(nonces.first)
        #expect(nonces.count == 1)
        let other = try await bench.ask("pro.monthly", "back", nonce: UUID().uuidString)
        #expect(other.status == 409 && other.code == "offer_signed" && other.field == "nonce")
        #expect(try await bench.sign("pro.monthly", "back", nonce: nonce.uuidString).signature.nonce == nonce)
        // Another name of the customer does not help.
        _ = try await bench.server.send(
            .post, "/v1/customers/anna/aliases", as: .secret, body: .json(["alias": "anonymous-1"]))
        #expect(try await bench.ask("pro.monthly", "back", for: "anonymous-1").code == "offer_signed")
        bench.server.realClock.advance(by: 86_400)
        #expect(try await bench.sign("pro.monthly", "back").signature.nonce != nonce)
        await bench.close()
    }

    @Test func `a request that is refused reserves nothing`() async throws {
        let bench = try await OfferBench()
        let nonce = UUID().uuidString
        #expect(try await bench.ask(for: "ben", nonce: nonce).code == "not_eligible")
        #expect(try await bench.ask("pro.monthly", "none", for: "ben", nonce: nonce).code == "unknown_offer")
        #expect(try bench.server.count("idempotency_key") == 0 && bench.server.count("customer") == 0)
        _ = try await bench.server.post(bench.server.period("1"))
        #expect(try await bench.ask(nonce: nonce).status == 200)
        await bench.close()
    }

    @Test func `the public key needs the customer's own token`() async throws {
        let bench = try await OfferBench()
        _ = try await bench.server.post(bench.server.period("1"))
        let token = try await bench.server.token()
        let body: HTTPBody = .json(["productID": "pro.monthly", "offerID": "half"])
        func ask(_ customer: String, _ headers: HTTPHeaders) async throws -> ServerBench.Reply {
            try await bench.server.send(
                .post, "/v1/customers/\(customer)/offer-signatures", headers: headers, body: body)
        }
        #expect(try await ask("anna", [:]).code == "missing_customer_token")
        #expect(try await ask("anna", ["Souk-Customer-Token": token]).status == 200)
        #expect(try await ask("ben", ["Souk-Customer-Token": token]).code == "another_customer")
        await bench.close()
    }

    @Test func `a request with an idempotency key gets the same signature`() async throws {
        let bench = try await OfferBench()
        _ = try await bench.server.post(bench.server.period("1"))
        let first = try await bench.ask(headers: ["Idempotency-Key": "k"])
        let again = try await bench.ask(headers: ["Idempotency-Key": "k"])
        #expect(first.status == 200 && first.bytes == again.bytes)
        let other = try await bench.ask("pro.yearly", headers: ["Idempotency-Key": "k"])
        #expect(other.code == "idempotency_mismatch")
        await bench.close()
    }

    @Test func `a malformed request is refused with the name of its field`() async throws {
        let bench = try await OfferBench()
        _ = try await bench.server.post(bench.server.period("1"))
        for nonce in ["", "1", "{\(UUID().uuidString)}", UUID().uuidString + " ", UUID().uuidString.dropLast() + "g"] {
            let refused = try await bench.ask(nonce: String(nonce))
            #expect(refused.status == 400 && refused.field == "nonce", "\(refused.json.text())")
        }
        #expect(try await bench.ask("", "half").field == "productID")
        for offer in ["", "HALF", "half\u{2063}", "half\0", String(repeating: "a", count: 10_000)] {
            let refused = try await bench.ask("pro.monthly", offer)
            #expect(refused.status == 404 && refused.code == "unknown_offer")
        }
        #expect(try await bench.ask("unknown", "half").code == "unknown_offer")
        #expect(bench.server.failures.withLock { $0 } == [])
        await bench.close()
    }

    @Test func `an erased customer's signatures are forgotten, and the pseudonym gets none`() async throws {
        let bench = try await OfferBench()
        _ = try await bench.server.post(bench.server.period("1"))
        _ = try await bench.sign()
        let erased = try await bench.server.send(.delete, "/v1/customers/anna", as: .secret)
        let pseudonym = try #require(erased.json["pseudonym"]?.stringValue)
        #expect(try bench.server.count("idempotency_key") == 0)
        #expect(try await bench.ask(for: pseudonym).code == "customer_erased")
        await bench.close()
    }

    @Test(.onSQLite) func `without rules nothing is signed, and rules with an offer need a key`() async throws {
        let bench = try await OfferBench { $0.apps[0].offers = nil }
        let refused = try await bench.ask()
        #expect(refused.status == 501 && refused.code == "unsupported")
        #expect(try await bench.server.send(.get, "/v1/customers/anna/offer-eligibility").code == "unsupported")
        await bench.close()
        let unsigned = PromotionalOffers(try OfferBench.rules(OfferBench.rules))
        let error = await #expect(throws: EntitlementServerError.self) {
            _ = try await ServerBench { $0.apps[0].offers = unsigned }
        }
        #expect(error?.code == .invalidConfiguration && error?.reason.contains("--app-store-key") == true)
    }

    @Test func `the key does not appear in records or responses`() async throws {
        let records = Locked<[RequestRecord]>([])
        let bench = try await OfferBench {
            $0.log = { record in records.withLock { $0.append(record) } }
            $0.logsEveryRequest = true
        }
        _ = try await bench.server.post(bench.server.period("1"))
        let reply = try await bench.ask()
        let signature = try #require(reply.json["signature"]?.stringValue)
        let lines = records.withLock { $0.map { $0.json.text() } }.joined()
        #expect(lines.contains("postOfferSignature") && !lines.contains(signature))
        await bench.close()
    }
}

/// Apple's own Python library signs the same offers. `SOUK_PYTHON` is an interpreter with the package
/// `app-store-server-library`.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with Apple's library"))
struct AppleOfferTests {
    @Test func `our signatures have the message and the claims of Apple's library`() async throws {
        let bench = try await OfferBench()
        _ = try await bench.server.post(bench.server.period("2000000000000001"))
        let signed = try await bench.sign()
        let token = CustomerID(unchecked: "anna").appAccountToken.uuidString
        func judge(_ offer: String, _ token: String) async throws -> JSONValue {
            let verdict = try await OutsideJudge.judge(
                "apple_signer.py",
                [
                    "privateKey": .string(bench.key.pem), "keyID": .string(OfferBench.keyID),
                    "issuerID": .string(OfferBench.issuerID), "bundleID": .string(ServerBench.app.rawValue),
                    "productID": "pro.monthly", "offerID": .string(offer), "transactionID": "2000000000000001",
                    "applicationUsername": .string(token.lowercased()),
                    "nonce": .string(signed.signature.nonce.uuidString),
                    "timestamp": .number(Double(signed.signature.timestamp)),
                    "offer": .string(signed.signature.base64),
                    "requests": [["audience": "promotional-offer", "jws": .string(signed.compactJWS)]],
                ])
            #expect(verdict.status == 0, "\(verdict.errors)")
            return try #require(verdict.json)
        }
        let verdict = try await judge("half", token)
        #expect(verdict["offer"] == true)
        let claims = try #require(verdict["requests"]?[0]?["claims"])
        #expect(claims["offerIdentifier"] == "half" && claims["productId"] == "pro.monthly")
        #expect(claims["transactionId"] == "2000000000000001" && claims["bid"]?.stringValue == ServerBench.app.rawValue)
        #expect(claims["nonce"]?.stringValue == signed.signature.nonce.uuidString.lowercased())
        #expect(try await judge("half", UUID().uuidString)["offer"] != true)
        #expect(try await judge("other", token)["offer"] != true)
        await bench.close()
    }
}
