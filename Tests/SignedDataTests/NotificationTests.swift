import AppStorePayloads
import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

@Suite struct NotificationTests {
    let store: TestStore

    init() throws { store = try TestStore() }

    private func data(
        transaction: JWSTransactionDecodedPayload = TestStore.transaction(),
        renewal: JWSRenewalInfoDecodedPayload = TestStore.renewalInfo()
    ) throws -> AppStoreServerAPI.NotificationData {
        try .init {
            $0.bundleId = "com.example"
            $0.environment = .sandbox
            $0.signedTransactionInfo = try store.signer.sign(transaction)
            $0.signedRenewalInfo = try store.signer.sign(renewal)
            $0.status = .active
        }
    }

    private func judge(_ data: AppStoreServerAPI.NotificationData) throws -> VerifiedNotification {
        try store.verifier.notification(store.signer.sign(TestStore.notification(data)))
    }

    @Test func `documents inside a notification are verified too`() throws {
        let verified = try judge(data())
        #expect(verified.payload.notificationType == .didRenew)
        #expect(verified.transaction?.payload == TestStore.transaction())
        #expect(verified.renewalInfo?.payload == TestStore.renewalInfo())
        #expect(verified.appTransaction == nil)
    }

    @Test func `a notification without anything signed inside is accepted`() throws {
        let verified = try judge(
            .init {
                $0.bundleId = "com.example"
                $0.environment = .sandbox
            })
        #expect(verified.transaction == nil && verified.renewalInfo == nil)
    }

    @Test func `a notification with a forged part is refused`() throws {
        var spoilt = try data()
        spoilt.signedTransactionInfo = try TestStore().signer.sign(TestStore.transaction())
        #expect(refusal { try judge(spoilt) } == .untrustedRoot)
        spoilt = try data()
        spoilt.signedRenewalInfo = try store.signed(signature: { _ in [UInt8](repeating: 1, count: 64) })
        #expect(refusal { try judge(spoilt) } == .signatureInvalid)
        spoilt.signedRenewalInfo = "signed_renewal_info_value"
        #expect(refusal { try judge(spoilt) } == .malformed)
    }

    @Test func `parts for another bundle or environment are refused`() throws {
        let both = SignedDataVerifier(
            configuration: .init(
                bundleIDs: ["com.example", "com.example.two"], environments: [.sandbox, .production],
                trustAnchors: [TrustAnchor(store.chain.root)]))
        var transaction = TestStore.transaction()
        transaction.bundleId = "com.example.two"
        var jws = try store.signer.sign(TestStore.notification(data(transaction: transaction)))
        #expect(refusal { try both.notification(jws) } == .wrongBundle)
        var renewal = TestStore.renewalInfo()
        renewal.environment = .production
        jws = try store.signer.sign(TestStore.notification(data(renewal: renewal)))
        #expect(refusal { try both.notification(jws) } == .wrongEnvironment)
    }

    @Test func `a summary, a token and an app transaction have an audience`() throws {
        var notification = TestStore.notification(.init())
        notification.data = nil
        notification.summary = .init {
            $0.bundleId = "com.example"
            $0.environment = .sandbox
            $0.succeededCount = 3
        }
        #expect(try judgement(notification) == nil)
        notification.summary?.bundleId = "com.example.other"
        #expect(try judgement(notification) == .wrongBundle)

        notification.summary = nil
        #expect(try judgement(notification) == .payloadMalformed)

        notification.externalPurchaseToken = .init {
            $0.externalPurchaseId = "SANDBOX_1"
            $0.bundleId = "com.example"
        }
        #expect(try judgement(notification) == nil)
        notification.externalPurchaseToken?.externalPurchaseId = "1"
        #expect(try judgement(notification) == .wrongEnvironment)

        notification.externalPurchaseToken = nil
        notification.appData = try .init {
            $0.bundleId = "com.example"
            $0.environment = .sandbox
            $0.signedAppTransactionInfo = try store.signer.sign(TestStore.appTransaction())
        }
        #expect(try judgement(notification) == nil)
        let verified = try store.verifier.notification(store.signer.sign(notification))
        #expect(verified.appTransaction?.payload.originalPlatform == .iOS)
    }

    private func judgement(_ notification: ResponseBodyV2DecodedPayload) throws -> SignedDataError.Code? {
        let jws = try store.signer.sign(notification)
        return refusal { try store.verifier.notification(jws) }
    }
}
