import Foundation
import Primitives
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Offers that an app's server signs for a payment.
struct SignedOfferTests {
    /// Opens a store with a device of the customer `anna`, whose subscription has expired.
    private func with(_ body: (TestStore, DeviceID, SigningKey) async throws -> Void) async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            try await test.buy("monthly")
            try await test.store.cancel("monthly", for: "anna")
            try await test.advance(.months(2))
            let pem = try Data(contentsOf: URL(fileURLWithPath: test.store.summary.serverAPI.privateKey))
            try await body(test, device, try SigningKey(Array(pem)))
        }
    }

    private func signature(
        _ key: SigningKey, _ test: TestStore, product: ProductID = "monthly", offer: String = "half",
        token: UUID? = nil, nonce: UUID = UUID(), at instant: Date? = nil, keyID: String? = nil
    ) throws -> OfferSignature {
        let signed = try PromotionalOfferSignature.sign(
            PromotionalOffer(
                bundleID: test.store.summary.bundleID, productID: product, offerID: offer, appAccountToken: token),
            key: key, keyID: keyID ?? test.store.summary.serverAPI.keyID, nonce: nonce,
            at: instant ?? test.store.clock.now())
        return OfferSignature(
            keyID: signed.keyID, nonce: signed.nonce, timestamp: signed.timestamp, signature: signed.signature)
    }

    private func jws(_ key: SigningKey, _ test: TestStore, _ request: AppStoreRequest) throws -> String {
        let api = test.store.summary.serverAPI
        return try AppStoreConnectKey(
            key, id: api.keyID, issuerID: api.issuerID, bundleID: test.store.summary.bundleID
        ).sign(request, nonce: UUID(), at: test.store.clock.now())
    }

    /// Pays with the offer. Returns the failure or the offer of the transaction.
    private func pay(
        _ test: TestStore, _ device: DeviceID, _ offer: PaymentOffer?, token: UUID? = nil,
        product: ProductID = "monthly", introductory: String? = nil
    ) async throws -> (StoreFailure.Code?, TransactionOffer?) {
        let id = PaymentID(unchecked: UUID().uuidString)
        try await test.store.add(
            Payment(
                id: id, productID: product, appAccountToken: token, offer: offer,
                introductoryOfferEligibility: introductory), from: device)
        let updates = try await test.store.updates(for: device, after: "0").updates
        let answer = try #require(updates.first { $0.paymentID == id })
        return (answer.failure?.code, answer.transaction?.offer)
    }

    @Test func `an offer signed with the store's key is sold once for each signature`() async throws {
        try await with { test, device, key in
            let token = UUID()
            let signature = try signature(key, test, token: token)
            let (failure, offer) = try await pay(test, device, .promotional("half", signature: signature), token: token)
            #expect(failure == nil && offer?.type == .promotional && offer?.id == "half")
            let again = try await pay(test, device, .promotional("half", signature: signature), token: token)
            #expect(again.0 == .invalidOfferSignature)
            #expect(try await test.payloads().count == 2)
        }
    }

    @Test func `a signature for another offer, product or token, by another key or of another day is refused`()
        async throws
    {
        try await with { test, device, key in
            let (token, stranger) = (UUID(), try SigningKey.generate())
            let now = test.store.clock.now()
            let wrong = [
                try signature(key, test, offer: "other", token: token),
                try signature(key, test, product: "pro", token: token),
                try signature(key, test), try signature(stranger, test, token: token),
                try signature(key, test, token: token, keyID: "UNKNOWN"),
                try signature(key, test, token: token, at: now.addingTimeInterval(-86401)),
                try signature(key, test, token: token, at: now.addingTimeInterval(3600)),
            ]
            for signature in wrong {
                let (failure, _) = try await pay(test, device, .promotional("half", signature: signature), token: token)
                #expect(failure == .invalidOfferSignature)
            }
            // A signature of the real time is valid too.
            let real = try signature(key, test, token: token, at: test.base.now())
            #expect(try await pay(test, device, .promotional("half", signature: real), token: token).0 == nil)
        }
    }

    @Test func `missing parameters have their own error, and an unsigned offer is sold`() async throws {
        try await with { test, device, key in
            let good = try signature(key, test)
            for missing in [
                PaymentOffer(kind: .promotional, id: "", signature: good),
                .promotional("half", signature: .init(keyID: "", nonce: UUID(), timestamp: 0, signature: [1])),
                .promotional("half", signature: .init(keyID: "K", nonce: UUID(), timestamp: 0, signature: [])),
                .promotional("half", compactJWS: ""),
            ] {
                #expect(try await pay(test, device, missing).0 == .missingOfferParameters)
            }
            let (failure, offer) = try await pay(test, device, PaymentOffer(kind: .promotional, id: "half"))
            #expect(failure == nil && offer?.id == "half")
        }
    }

    @Test func `a signature of version 2 is valid only for its customer, product and offer`() async throws {
        try await with { test, device, key in
            let own = try #require(try await test.store.transactions(of: "anna").first).transactionID
            let others = try await test.buy("coins", "berta").transactionID
            let wrong: [AppStoreRequest] = [
                .promotionalOffer("other", for: "monthly"), .promotionalOffer("half", for: "pro"),
                .promotionalOffer("half", for: "monthly", transactionID: others),
                .promotionalOffer("half", for: "monthly", transactionID: "17"),
                .introductoryOfferEligibility(true, for: "monthly", transactionID: own),
            ]
            for request in wrong {
                let offer = PaymentOffer.promotional("half", compactJWS: try jws(key, test, request))
                #expect(try await pay(test, device, offer).0 == .invalidOfferSignature)
            }
            #expect(try await pay(test, device, .promotional("half", compactJWS: "a.b.c")).0 == .invalidOfferSignature)
            let good = try jws(key, test, .promotionalOffer("half", for: "monthly", transactionID: own))
            let (failure, offer) = try await pay(test, device, .promotional("half", compactJWS: good))
            #expect(failure == nil && offer?.id == "half")
            #expect(try await pay(test, device, .promotional("half", compactJWS: good)).0 == .invalidOfferSignature)
        }
    }

    @Test func `a signed eligibility of the app's server decides on the introductory offer`() async throws {
        try await with { test, device, key in
            let app = try #require(try await test.payloads().first?.appTransactionId)
            let id = TransactionID(unchecked: app)
            let wrong = try jws(key, test, .introductoryOfferEligibility(true, for: "pro", transactionID: id))
            #expect(try await pay(test, device, nil, introductory: wrong).0 == .invalidOfferSignature)
            let allowed = try jws(key, test, .introductoryOfferEligibility(true, for: "monthly", transactionID: id))
            let (failure, offer) = try await pay(test, device, nil, introductory: allowed)
            #expect(failure == nil && offer?.type == .introductory)
            let refused = try jws(key, test, .introductoryOfferEligibility(false, for: "paygo", transactionID: id))
            let second = try await pay(test, device, nil, product: "paygo", introductory: refused)
            #expect(second.0 == nil && second.1 == nil)
        }
    }

    @Test func `the key of the catalogue's file signs offers too`() async throws {
        let key = try SigningKey.generate()
        let der = key.pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
        let text = Fixtures.catalogueText.replacingOccurrences(
            of: "\"products\": [",
            with: "\"subscriptionOffersKeyPair\": {\"id\": \"CATALOGUE1\", \"privateKey\": \"\(der)\"}, \"products\": ["
        )
        let catalogue = try Catalogue(parsing: Array(text.utf8), file: "keys.storekit")
        try await TestStore.with(change: { $0.catalogue = catalogue }) { test in
            let device = try await test.device()
            try await test.buy("monthly.alt")
            let signature = try signature(key, test, keyID: "CATALOGUE1")
            #expect(try await pay(test, device, .promotional("half", signature: signature)).0 == nil)
        }
    }
}
