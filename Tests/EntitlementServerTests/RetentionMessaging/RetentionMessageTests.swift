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

/// The endpoint that the App Store asks for a retention message.
@Suite(.onBothEngines) struct RetentionMessageTests {
    private static let identifier = RetentionRuleTests.message.uuidString.lowercased()
    private static let message: JSONValue = ["message": ["messageIdentifier": .string(identifier)]]
    private static let always =
        #"{"rules": [{"name": "all", "answer": {"message": {"messageIdentifier": "MESSAGE"}}}]}"#
    /// An offer for customers who have paid twice and have used no promotional offer, and a message for the others.
    private static let loyal = """
        {"rules": [
            {"name": "loyal", "when": {"paidPeriods": {"min": 2}, "usedPromotionalOffer": false},
             "answer": {"promotionalOffer": {"messageIdentifier": "MESSAGE", "offerIdentifier": "half"}}},
            {"name": "known", "when": {"daysSubscribed": {"min": 0}},
             "answer": {"alternateProduct": {"messageIdentifier": "MESSAGE", "productId": "pro.yearly"}}},
            {"name": "german", "when": {"locales": ["de"]}, "answer": "none"},
            {"name": "others", "answer": {"message": {"messageIdentifier": "MESSAGE"}}}
        ]}
        """

    @Test func `the rules choose a message by what the ledger knows`() async throws {
        let bench = try await RetentionBench(Self.loyal)
        let start = bench.server.clock.now()
        func bought(_ id: String, offer: AppStoreServerAPI.OfferType? = nil) throws -> String {
            try bench.server.period(id, of: "1") {
                $0.originalPurchaseDate = start
                $0.offerType = offer
            }
        }
        let unknown = try await bench.ask(bench.request())
        #expect(unknown.status == 200 && unknown.json == Self.message)
        #expect(unknown.headers["Content-Type"] == "application/json")
        #expect(try await bench.ask(bench.request(locale: "de-AT")).json == [:])

        _ = try await bench.server.post(bought("1"))
        let known = try await bench.ask(bench.request())
        #expect(
            known.json == [
                "alternateProduct": ["messageIdentifier": .string(Self.identifier), "productId": "pro.yearly"]
            ])
        #expect(try await bench.ask(bench.request(product: "pro.yearly")).json == Self.message)
        #expect(try await bench.ask(bench.request(of: "2")).json == Self.message)

        bench.server.clock.advance(by: 30 * 86400)
        _ = try await bench.server.post(bought("2"))
        let loyal = try await bench.ask(bench.request()).json
        #expect(loyal["promotionalOffer"]?["messageIdentifier"]?.stringValue == Self.identifier)
        #expect(loyal["promotionalOffer"]?["promotionalOfferSignatureV2"]?.stringValue != nil)

        bench.server.clock.advance(by: 30 * 86400)
        _ = try await bench.server.post(bought("3", offer: .promotional))
        #expect(try await bench.ask(bench.request()).json["alternateProduct"] != nil)
        await bench.close()
    }

    @Test func `a request writes nothing, and a repetition gets the same answer`() async throws {
        let bench = try await RetentionBench(Self.loyal)
        _ = try await bench.server.post(bench.server.period("1"))
        let before = try bench.rows()
        let signed = try bench.request()
        let first = try await bench.ask(signed)
        let second = try await bench.ask(signed)
        #expect(first.status == 200 && first.bytes == second.bytes)
        #expect(try bench.rows() == before)
        await bench.close()
    }

    @Test func `an erased customer's subscription keeps its past`() async throws {
        let bench = try await RetentionBench(Self.loyal)
        _ = try await bench.server.post(bench.server.period("1"))
        #expect(try await bench.server.send(.delete, "/v1/customers/anna", as: .secret).status == 200)
        #expect(try await bench.ask(bench.request()).json["alternateProduct"] != nil)
        await bench.close()
    }

    @Test func `facts of the other environment do not count`() async throws {
        let bench = try await RetentionBench(Self.loyal, environments: [.sandbox, .production])
        _ = try await bench.server.post(bench.server.period("1") { $0.environment = .production })
        #expect(try await bench.ask(bench.request()).json == Self.message)
        #expect(
            try await bench.ask(bench.request { $0.environment = .production }).json["alternateProduct"] != nil)
        await bench.close()
    }

    @Test func `the name of the rule is logged and the kind of the answer is counted`() async throws {
        let records = Locked<[RequestRecord]>([])
        let bench = try await RetentionBench(Self.loyal) {
            $0.log = { record in records.withLock { $0.append(record) } }
            $0.logsEveryRequest = true
        }
        _ = try await bench.ask(bench.request())
        _ = try await bench.ask(bench.request(locale: "de"))
        _ = try await bench.ask(bench.request(by: ServerBench.foreignChain))
        let found = records.withLock { $0 }
        #expect(found.map(\.rule) == ["others", "german", nil])
        #expect(found.map(\.endpoint) == Array(repeating: "getRetentionMessage", count: 3))
        #expect(found.first?.json["rule"] == "others" && found.last?.code == "untrustedRoot")
        let metrics = String(decoding: try await bench.server.send(.get, "/metrics", as: .none).bytes, as: UTF8.self)
        #expect(metrics.contains(#"souk_retention_messages_total{answer="message"} 1"#))
        #expect(metrics.contains(#"souk_retention_messages_total{answer="none"} 1"#))
        await bench.close()
    }

    @Test func `without rules the answer to a genuine request is empty`() async throws {
        let bench = try await RetentionBench(Self.always) { $0.apps[0].retentionMessages = nil }
        let reply = try await bench.ask(bench.request())
        #expect(reply.status == 200 && reply.json == [:])
        await bench.close()
    }

    // MARK: - Attacks

    @Test func `a request that the App Store did not sign for this app is refused`() async throws {
        let bench = try await RetentionBench(Self.always)
        let genuine = try bench.request()
        let parts = genuine.split(separator: ".").map(String.init)
        let other = try bench.request(product: "pro.yearly").split(separator: ".").map(String.init)
        let cases: [(String, String)] = [
            (try bench.request(by: ServerBench.foreignChain), "untrustedRoot"),
            ([parts[0], other[1], parts[2]].joined(separator: "."), "signatureInvalid"),
            (parts[0] + "." + parts[1], "malformed"), ("x", "malformed"),
            (try bench.request { $0.appAppleId = 1 }, "wrongAppID"),
            (try bench.request { $0.appAppleId = nil }, "wrongAppID"),
            (try bench.request { $0.environment = .production }, "environmentNotAccepted"),
            (try bench.request { $0.environment = nil }, "payloadMalformed"),
            (try bench.request { $0.signedDate = $0.signedDate?.addingTimeInterval(-86_401) }, "notCurrent"),
            (try bench.request { $0.signedDate = $0.signedDate?.addingTimeInterval(86_401) }, "notCurrent"),
            (try bench.request { $0.originalTransactionId = nil }, "payloadMalformed"),
            (try bench.request { $0.originalTransactionId = "" }, "payloadMalformed"),
            (try bench.request { $0.productId = "cafe\u{301}" }, "payloadMalformed"),
            (try bench.request { $0.userLocale = nil }, "payloadMalformed"),
            (try bench.server.period("1"), "payloadMalformed"),
            (try bench.server.notification(), "payloadMalformed"),
            (String(repeating: "a", count: 60_000), "malformed"),
        ]
        for (signed, code) in cases {
            let reply = try await bench.ask(signed)
            #expect(reply.status == 422 && reply.code == code, "\(code): \(reply.json.text())")
        }
        for seconds in [-86_400.0, 86_400] {
            let signed = try bench.request { $0.signedDate = $0.signedDate?.addingTimeInterval(seconds) }
            #expect(try await bench.ask(signed).status == 200)
        }
        #expect(bench.server.failures.withLock { $0 } == [])
        await bench.close()
    }

    @Test func `a body that is no request is refused, whatever it is`() async throws {
        let bench = try await RetentionBench(Self.always)
        let bodies: [(HTTPBody, Int)] = [
            (.empty, 400), (.text("{"), 400), (.text("[]"), 400), (.text("{}"), 400),
            (.json(["signedPayload": 1]), 400), (.json(["signedPayload": ""]), 400),
            (.json(["signedPayload": .string(String(repeating: "a", count: 65_536))]), 413),
            (.bytes([UInt8](repeating: 0xFF, count: 1000)), 400),
        ]
        for (body, status) in bodies {
            let reply = try await bench.server.send(
                .post, "/v1/retention-messages/app-store", as: .none, body: body)
            #expect(reply.status == status, "\(reply.json.text())")
        }
        await bench.close()
    }

    @Test func `a request for another app of the server gets the answer of that app's rules`() async throws {
        let bench = try await RetentionBench(Self.always) { $0.apps[1].appAppleID = 77 }
        #expect(try await bench.ask(bench.request { $0.appAppleId = 77 }).json == [:])
        #expect(try await bench.ask(bench.request()).json == Self.message)
        await bench.close()
    }

    @Test func `an app without a number answers no request`() async throws {
        let bench = try await RetentionBench(Self.always) {
            $0.apps[0].retentionMessages = nil
            $0.apps[0].appAppleID = nil
        }
        #expect(try await bench.ask(bench.request()).code == "wrongAppID")
        await bench.close()
    }

    // MARK: - Configuration

    @Test(.onSQLite) func `rules need the app's number, and offers need a key`() async throws {
        let key = try SigningKey.generate()
        let offer = #"{"promotionalOffer": {"messageIdentifier": "MESSAGE", "offerIdentifier": "half"}}"#
        let rules = #"{"rules": [{"name": "half price", "answer": \#(offer)}]}"#
        let signed = try RetentionBench.messages(rules, key: key)
        let unsigned = RetentionMessages(try RetentionRuleTests.rules(rules))
        func refusal(_ messages: RetentionMessages, _ number: Int?, _ other: Int? = nil) async throws -> String? {
            do {
                let bench = try await ServerBench {
                    $0.apps[0].appAppleID = number
                    $0.apps[1].appAppleID = other
                    $0.apps[0].retentionMessages = messages
                }
                await bench.close()
                return nil
            } catch let error as EntitlementServerError {
                #expect(error.code == .invalidConfiguration)
                return error.reason
            }
        }
        #expect(try await refusal(signed, 1, 2) == nil)
        #expect(try await refusal(signed, nil)?.contains("--app-apple-id") == true)
        #expect(try await refusal(unsigned, 1)?.contains("\"half price\"") == true)
        #expect(try await refusal(signed, 1, 1)?.contains("same Apple ID") == true)
    }

    // MARK: - Signatures

    private static func offer(_ version: String) -> String {
        """
        {"rules": [{"name": "offer", "answer": {"promotionalOffer":
            {"messageIdentifier": "MESSAGE", "offerIdentifier": "half", "signature": "\(version)"}}}]}
        """
    }

    @Test func `each answer has a signature of its own for the product and transaction of its request`() async throws {
        let bench = try await RetentionBench(Self.offer("V2"))
        bench.server.realClock.advance(by: 86400 * 365)
        let verifier = AppStoreRequestVerifier(
            keys: [RetentionBench.keyID: bench.key.verificationKey], issuerID: RetentionBench.issuerID,
            bundleID: ServerBench.app)
        var nonces: Set<UUID> = []
        let request = try bench.request(of: "2000000001")
        for signed in [request, request] {
            let answer = try await bench.ask(signed).json
            let jws = try #require(answer["promotionalOffer"]?["promotionalOfferSignatureV2"]?.stringValue)
            // The signature has the real time, not the store's.
            let found = try verifier.verify(jws, at: bench.server.realClock.now())
            #expect(found.request == .promotionalOffer("half", for: "pro.monthly", transactionID: "2000000001"))
            nonces.insert(found.nonce)
        }
        #expect(nonces.count == 2)
        await bench.close()
    }

    @Test func `a signature of version 1 is valid for its product and offer only`() async throws {
        let bench = try await RetentionBench(Self.offer("V1"))
        let answer = try await bench.ask(bench.request()).json
        let offer = try #require(answer["promotionalOffer"]?["promotionalOfferSignatureV1"])
        let signature = PromotionalOfferSignature(
            keyID: try #require(offer["keyId"]?.stringValue),
            nonce: try #require(offer["nonce"]?.stringValue.flatMap(UUID.init(text:))),
            timestamp: Int64(try #require(offer["timestamp"]?.intValue)),
            signature: try #require(offer["encodedSignature"]?.stringValue.flatMap { Base64.decode($0) }))
        let (key, now) = (bench.key.verificationKey, bench.server.realClock.now())
        func subject(_ product: ProductID, _ offer: String) -> PromotionalOffer {
            PromotionalOffer(bundleID: ServerBench.app, productID: product, offerID: offer)
        }
        try signature.verify(for: subject("pro.monthly", "half"), key: key, at: now)
        #expect(!signature.isValid(for: subject("pro.yearly", "half"), key: key))
        #expect(!signature.isValid(for: subject("pro.monthly", "free"), key: key))
        #expect(offer["offerIdentifier"] == "half" && offer["productId"] == "pro.monthly")
        #expect(offer["nonce"]?.stringValue == signature.nonce.uuidString.lowercased())
        await bench.close()
    }
}

/// Apple's own Python library reads our answers. `SOUK_PYTHON` is an interpreter with the package
/// `app-store-server-library`.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with Apple's library"))
struct RetentionJudgeTests {
    @Test func `Apple's model decodes each answer, and the signatures are those of Apple's library`() async throws {
        let answers: [(rule: String, kind: String)] = [
            (#""none""#, "none"), (#"{"message": {"messageIdentifier": "MESSAGE"}}"#, "message"),
            (#"{"alternateProduct": {"messageIdentifier": "MESSAGE", "productId": "pro.yearly"}}"#, "alternateProduct"),
            (#"{"promotionalOffer": {"messageIdentifier": "MESSAGE", "offerIdentifier": "half"}}"#, "V2"),
            (
                #"{"promotionalOffer": {"messageIdentifier": "MESSAGE", "offerIdentifier": "half", "signature": "V1"}}"#,
                "V1"
            ),
        ]
        for (rule, kind) in answers {
            let bench = try await RetentionBench(#"{"rules": [{"name": "a", "answer": \#(rule)}]}"#)
            let reply = try await bench.ask(bench.request(of: "2000000000000001"))
            let verdict = try await OutsideJudge.judge(
                "apple_realtime.py",
                [
                    "privateKey": .string(bench.key.pem), "keyID": .string(RetentionBench.keyID),
                    "issuerID": .string(RetentionBench.issuerID), "bundleID": .string(ServerBench.app.rawValue),
                    "productID": "pro.monthly", "offerID": "half", "transactionID": "2000000000000001",
                    "answer": .string(String(decoding: reply.bytes, as: UTF8.self)),
                ])
            #expect(verdict.status == 0 && verdict.json?["kind"]?.stringValue == kind, "\(verdict.errors)")
            await bench.close()
        }
    }

    @Test func `the judge refuses an answer with another signature or with two choices`() async throws {
        let bench = try await RetentionBench(
            #"{"rules": [{"name": "a", "answer": {"promotionalOffer": {"messageIdentifier": "MESSAGE", "offerIdentifier": "half"}}}]}"#
        )
        let answer = try await bench.ask(bench.request(of: "2")).json
        var both = answer
        both["message"] = answer["promotionalOffer"]
        for (answer, transaction) in [(answer, "3"), (both, "2")] {
            let verdict = try await OutsideJudge.judge(
                "apple_realtime.py",
                [
                    "privateKey": .string(bench.key.pem), "keyID": .string(RetentionBench.keyID),
                    "issuerID": .string(RetentionBench.issuerID), "bundleID": .string(ServerBench.app.rawValue),
                    "productID": "pro.monthly", "offerID": "half", "transactionID": .string(transaction),
                    "answer": .string(answer.text()),
                ])
            #expect(verdict.status == 1, "\(verdict.output)")
        }
        await bench.close()
    }
}
