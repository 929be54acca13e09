import Foundation
import HTTPCore
import HostTestSupport
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The receipt and the app transaction of a device, and the fields that bind them to it.
struct DeviceDocumentTests {
    private func verifier(_ test: TestStore) throws -> ReceiptVerifier {
        let root = try Data(contentsOf: URL(fileURLWithPath: test.store.summary.rootCertificate))
        return ReceiptVerifier(
            configuration: .init(
                bundleIDs: [test.store.configuration.bundleID], environments: [.sandbox],
                trustAnchors: try TrustAnchor.certificates(in: Array(root))))
    }

    private func receipt(_ test: TestStore, _ device: DeviceID) async throws -> AppReceipt {
        let bytes = try await test.store.receipt(of: device)
        return sorted(try verifier(test).verify(bytes, for: DeviceIdentifier(device.rawValue)).receipt)
    }

    /// Returns the receipt with sorted purchases. Their order in a receipt has no meaning.
    private func sorted(_ receipt: AppReceipt) -> AppReceipt {
        var receipt = receipt
        receipt.inAppPurchases.sort { ($0.transactionID?.rawValue ?? "") < ($1.transactionID?.rawValue ?? "") }
        return receipt
    }

    @Test func `a receipt lists the purchases and is bound to its device`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            let empty = try await receipt(test, device)
            #expect(empty.receiptType == "ProductionSandbox" && empty.bundleID == "com.example.souk")
            #expect(empty.appVersion == "1.0" && empty.originalAppVersion == "1.0" && empty.expirationDate == nil)
            #expect(empty.creationDate == Fixtures.start && empty.inAppPurchases.isEmpty)
            #expect(empty.opaqueValue?.count == 16 && empty.sha1Hash?.count == 20)
            #expect(empty.appItemID == 0 && empty.downloadID == 0 && empty.versionExternalID == 0)
            #expect(empty.originalPurchaseDate == Fixtures.start && empty.requestDate == Fixtures.start)

            let coins = try await test.buy("coins", quantity: 3)
            let pack = try await test.buy("pack")
            try await test.buy("pass")
            let trial = try await test.buy("monthly")
            try await test.advance(.days(8))
            let full = try await receipt(test, device)
            #expect(
                full.inAppPurchases.map(\.productID) == ["coins", "pack", "pass", "monthly", "monthly"])
            let purchases = full.inAppPurchases
            #expect(purchases.map(\.quantity) == [3, 1, 1, 1, 1])
            #expect(
                purchases.map(\.productType) == [
                    .consumable, .nonConsumable, .nonRenewingSubscription, .autoRenewableSubscription,
                    .autoRenewableSubscription,
                ])
            #expect(purchases.map(\.isTrialPeriod) == [false, false, false, true, false])
            #expect(purchases.allSatisfy { $0.isInIntroOfferPeriod == false && $0.cancellationDate == nil })
            #expect(purchases[1].transactionID == pack.transactionID && purchases[1].expiresDate == nil)
            #expect(purchases[3].transactionID == trial.transactionID)
            #expect(purchases[4].originalTransactionID == trial.transactionID)
            #expect(purchases[4].purchaseDate == purchases[3].expiresDate)
            #expect(purchases[3].webOrderLineItemID != purchases[4].webOrderLineItemID)
            #expect(purchases[0].webOrderLineItemID == "0")

            // Finished consumables are omitted. Revoked and upgraded purchases have a cancellation date.
            try await test.store.finish(coins.transactionID, from: device)
            try await test.store.refund(pack.transactionID)
            try await test.buy("pro")
            let later = try await receipt(test, device)
            #expect(later.inAppPurchases.map(\.productID) == ["pack", "pass", "monthly", "monthly", "pro"])
            #expect(later.inAppPurchases.map { $0.cancellationDate != nil } == [true, false, false, true, false])

            let other = try await test.device()
            let bytes = try await test.store.receipt(of: device)
            #expect(throws: SignedDataError.self) {
                try verifier(test).verify(bytes, for: DeviceIdentifier(other.rawValue))
            }
            let connection = RemoteStoreConnection(
                configuration: .init(
                    url: "http://store.test", account: "anna", transport: InProcessTransport(test.store.handler)))
            let remote = try #require(try await connection.receipt())
            #expect(sorted(try verifier(test).verify(remote).receipt).inAppPurchases == later.inAppPurchases)
            let app = try await connection.appTransaction()
            #expect(try test.verifier().appTransaction(app).payload.bundleId == "com.example.souk")
            await connection.close()
        }
    }

    @Test func `periods of offers are marked in a receipt`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            try await test.buy("paygo")
            try await test.advance(.months(3))
            #expect(
                try await receipt(test, device).inAppPurchases.map(\.isInIntroOfferPeriod)
                    == [true, true, true, false])
            try await test.buy("monthly.alt")
            try await test.buy("monthly", offer: "half")
            let offered = try #require(try await receipt(test, device).inAppPurchases.last)
            #expect(offered.promotionalOfferID == "half" && offered.isInIntroOfferPeriod == false)
        }
    }

    @Test func `stores with the same seed give receipts with the same content`() async throws {
        var receipts: [AppReceipt] = []
        for seed in [7, 7, 8] as [UInt64] {
            try await TestStore.with(seed: seed) { test in
                let device = try await test.device()
                try await test.buy("pack")
                receipts.append(try await receipt(test, device))
            }
        }
        #expect(receipts[0] == receipts[1] && receipts[0].opaqueValue != receipts[2].opaqueValue)
    }

    @Test(.outsideJudge(OutsideJudge.path(of: "openssl") != nil, "OpenSSL's command is not installed"))
    func `OpenSSL accepts a receipt and reads its content`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            try await test.buy("monthly")
            let path = test.folder.path + "/receipt.der"
            try Data(try await test.store.receipt(of: device)).write(to: URL(fileURLWithPath: path))
            let root = test.folder.path + "/root.pem"
            let openssl = try #require(OutsideJudge.path(of: "openssl"))
            let pem = try await OutsideJudge.run(
                openssl, ["x509", "-inform", "DER", "-in", test.store.summary.rootCertificate, "-out", root], input: "")
            #expect(pem.status == 0)
            let verdict = try await OutsideJudge.run(
                openssl,
                [
                    "cms", "-verify", "-inform", "DER", "-in", path, "-CAfile", root, "-purpose", "any", "-binary",
                    "-out", test.folder.path + "/payload",
                ], input: "")
            #expect(verdict.status == 0, "\(verdict.errors)")
            let payload = try Data(contentsOf: URL(fileURLWithPath: test.folder.path + "/payload"))
            #expect(payload.range(of: Data("com.example.souk".utf8)) != nil)
            #expect(payload.range(of: Data("monthly".utf8)) != nil)
        }
    }

    @Test func `documents for a device are bound to it, and documents of the control API are not`() async throws {
        var nonces: [String?] = []
        for _ in 0..<2 {
            try await TestStore.with(seed: 5) { test in
                let store = test.store
                let devices = [try await test.device(), try await test.device()]
                let bought = try await test.buy("monthly")
                let verifier = try test.verifier()
                for device in devices {
                    let id = try #require(UUID(uuidString: device.rawValue))
                    func isBound(_ verification: String?, _ nonce: String?) throws -> Bool {
                        let text = try #require(nonce)
                        let nonce = try #require(UUID(uuidString: text))
                        nonces.append(text)
                        return try DeviceVerification.value(nonce: nonce, deviceVerificationID: id) == verification
                            && text == text.lowercased()
                    }
                    let reported = try #require(
                        try await store.updates(for: device, after: nil).updates.first?.transaction)
                    let transaction = try verifier.transaction(reported.signedTransaction).payload
                    #expect(try isBound(transaction.deviceVerification, transaction.deviceVerificationNonce))
                    let info = try verifier.renewalInfo(try #require(reported.signedRenewalInfo)).payload
                    #expect(try isBound(info.deviceVerification, info.deviceVerificationNonce))
                    let app = try verifier.appTransaction(try store.appTransaction(of: device)).payload
                    #expect(try isBound(app.deviceVerification, app.deviceVerificationNonce))
                    #expect(app.receiptType == .sandbox && app.originalPurchaseDate == Fixtures.start)
                    #expect(app.appTransactionId == transaction.appTransactionId && app.originalPlatform == .iOS)
                    #expect(app.applicationVersion == "1.0" && app.originalApplicationVersion == "1.0")
                }
                let control = try verifier.transaction(bought.signedTransaction).payload
                #expect(control.deviceVerification == nil && control.deviceVerificationNonce == nil)
            }
        }
        #expect(nonces.count == 12 && Set(nonces).count == 6 && nonces[..<6] == nonces[6...])
    }

    @Test func `the verification value is the documented hash, nonce first`() throws {
        // From OpenSSL: printf '%s%s' NONCE ID | openssl dgst -sha384 -binary | base64
        let nonce = try #require(UUID(uuidString: "0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F0"))
        let id = try #require(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"))
        #expect(
            try DeviceVerification.value(nonce: nonce, deviceVerificationID: id)
                == "T16bNj9A9iXakGCOdeS0iNQet4+4CgCOA4OWNnG3HFeR9WvRDCEgFXCjBJ6aI8rB")
    }
}
