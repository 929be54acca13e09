import AppStorePayloads
import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// The checks of a document's audience: bundle, environment, the App Store's number and the kind of document.
@Suite struct AudienceTests {
    let store: TestStore

    init() throws { store = try TestStore() }

    @Test func `a transaction for another bundle is refused`() throws {
        var payload = TestStore.transaction()
        for bundle in ["com.example.other", "com.Example", "com.example\u{0}", ""] {
            payload.bundleId = bundle
            let jws = try store.signer.sign(payload)
            #expect(refusal { try store.verifier.transaction(jws) } == .wrongBundle)
        }
    }

    @Test func `the error is wrongEnvironment if one environment is accepted, otherwise environmentNotAccepted`() throws
    {
        var payload = TestStore.transaction()
        payload.environment = .production
        let jws = try store.signer.sign(payload)
        #expect(refusal { try store.verifier.transaction(jws) } == .wrongEnvironment)
        var configuration = store.configuration
        configuration.environments = [.sandbox, .xcode]
        #expect(
            refusal { try SignedDataVerifier(configuration: configuration).transaction(jws) } == .environmentNotAccepted
        )
        configuration.environments = [.sandbox, .production]
        #expect(refusal { try SignedDataVerifier(configuration: configuration).transaction(jws) } == nil)
        configuration.environments = []
        #expect(
            refusal { try SignedDataVerifier(configuration: configuration).transaction(jws) } == .environmentNotAccepted
        )
    }

    @Test func `a document of production must have the configured number of the app, and one of the sandbox need not`()
        throws
    {
        var configuration = store.configuration
        configuration.environments = [.sandbox, .production]
        configuration.appAppleID = 41_234
        let verifier = SignedDataVerifier(configuration: configuration)
        let cases: [(AppStoreEnvironment, Int?, SignedDataError.Code?)] = [
            (.production, 41_234, nil), (.production, 1, .wrongAppID), (.production, nil, .wrongAppID),
            (.sandbox, nil, nil), (.sandbox, 1, nil),
        ]
        for (environment, number, code) in cases {
            var transaction = TestStore.appTransaction()
            transaction.receiptType = environment
            transaction.appAppleId = number
            let jws = try store.signer.sign(transaction)
            #expect(refusal { try verifier.appTransaction(jws) } == code)

            let data = AppStoreServerAPI.NotificationData {
                $0.appAppleId = number
                $0.bundleId = "com.example"
                $0.environment = environment
            }
            let notification = try store.signer.sign(TestStore.notification(data))
            #expect(refusal { try verifier.notification(notification) } == code)
        }
    }

    @Test func `a document of one kind is refused as another, although its signature is valid`() throws {
        let verifier = SignedDataVerifier(
            configuration: .init(bundleIDs: nil, environments: nil, trustAnchors: [TrustAnchor(store.chain.root)]))
        let data = AppStoreServerAPI.NotificationData {
            $0.bundleId = "com.example"
            $0.environment = .sandbox
        }
        let documents = [
            try store.signer.sign(TestStore.transaction()), try store.signer.sign(TestStore.renewalInfo()),
            try store.signer.sign(TestStore.notification(data)), try store.signer.sign(TestStore.appTransaction()),
            try store.signer.sign(TestStore.realtimeRequest()),
        ]
        let readers: [(String) throws -> Void] = [
            { _ = try verifier.transaction($0) }, { _ = try verifier.renewalInfo($0) },
            { _ = try verifier.notification($0) }, { _ = try verifier.appTransaction($0) },
            { _ = try verifier.realtimeRequest($0) },
        ]
        for (kind, document) in documents.enumerated() {
            for (reader, read) in readers.enumerated() {
                let expected: SignedDataError.Code? = kind == reader ? nil : .payloadMalformed
                #expect(refusal { try read(document) } == expected, "document \(kind) read as \(reader)")
            }
        }
    }

    @Test func `a realtime request must have the configured number of the app, in every accepted environment`() throws {
        var configuration = store.configuration
        configuration.environments = [.sandbox, .production]
        let unasked = SignedDataVerifier(configuration: configuration)
        configuration.appAppleID = 41_234
        let one = SignedDataVerifier(configuration: configuration)
        configuration.appAppleID = nil
        configuration.appAppleIDs = ["com.example": 1, "com.example.two": 41_234]
        let several = SignedDataVerifier(configuration: configuration)
        let cases: [(AppStoreEnvironment, Int?, SignedDataError.Code?)] = [
            (.production, 41_234, nil), (.production, 7, .wrongAppID), (.sandbox, 7, .wrongAppID),
            (.sandbox, nil, .wrongAppID), (.sandbox, 41_234, nil), (.xcode, 41_234, .environmentNotAccepted),
        ]
        for (environment, number, code) in cases {
            var request = TestStore.realtimeRequest()
            request.environment = environment
            request.appAppleId = number
            let jws = try store.signer.sign(request)
            #expect(refusal { try one.realtimeRequest(jws) } == code)
            #expect(refusal { try several.realtimeRequest(jws) } == code)
            #expect(refusal { try unasked.realtimeRequest(jws) } == (code == .wrongAppID ? nil : code))
        }
        let jws = try store.signer.sign(TestStore.realtimeRequest())
        #expect(try one.realtimeRequest(jws).payload == TestStore.realtimeRequest())
    }

    @Test func `a realtime request must have the members of its kind`() throws {
        for member in ["requestIdentifier", "userLocale"] {
            var request = TestStore.realtimeRequest()
            request.fields[member] = nil
            let jws = try store.signer.sign(request)
            #expect(refusal { try store.verifier.realtimeRequest(jws) } == .payloadMalformed)
        }
    }

    @Test func `an error quotes the document in one short printable line`() throws {
        var payload = TestStore.transaction()
        payload.bundleId = String(repeating: "x", count: 500) + "\u{1B}[31m\n"
        let jws = try store.signer.sign(payload)
        #expect {
            try store.verifier.transaction(jws)
        } throws: { error in
            let reason = (error as? SignedDataError)?.reason ?? ""
            return reason.count < 200 && !reason.contains("\u{1B}") && !reason.contains("\n")
        }
    }
}
