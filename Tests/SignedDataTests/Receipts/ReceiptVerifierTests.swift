import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

@Suite struct ReceiptVerifierTests {
    let store: ReceiptStore

    init() throws { store = try ReceiptStore() }

    @Test func `a receipt is accepted with the signed content`() throws {
        var receipt = ReceiptStore.receipt(purchases: 4)
        receipt.inAppPurchases.sort { $0.purchaseDate ?? .distantPast < $1.purchaseDate ?? .distantPast }
        let bytes = try store.sign(receipt)
        let verified = try store.verifier.verify(bytes)
        #expect(verified.receipt == receipt)
        #expect(verified.creationDate == ReceiptStore.creationDate)
        #expect(verified.chain.certificates == store.chain.certificates)
        #expect(verified.payloadDigest == SHA256.hash(receipt.der))
        #expect(Array(verified.payloadBytes) == receipt.der)
        let unverified = try UnverifiedReceipt(unverified: bytes)
        #expect(unverified.unverifiedReceipt == receipt)
        #expect(unverified.unverifiedCertificates == store.chain.certificates)
        #expect(unverified.unverifiedPayloadBytes == verified.payloadBytes)
        #expect(PurchaseHistory(receipts: [verified]).records.count == 4)
    }

    @Test func `equal receipts have the same bytes, except the signature`() throws {
        let one = try store.sign()
        let other = try store.sign()
        let content = ReceiptStore.receipt().der
        let common = zip(one.dropFirst(40), other.dropFirst(40)).prefix { $0 == $1 }.count
        #expect(common > content.count + store.chain.certificates.reduce(0) { $0 + $1.der.count })
        var shuffled = ReceiptStore.receipt(purchases: 3)
        shuffled.inAppPurchases.reverse()
        #expect(shuffled.der == ReceiptStore.receipt(purchases: 3).der, "DER orders sets by their bytes")
    }

    @Test func `a receipt for another bundle or environment, or beyond a limit, is refused`() throws {
        let bytes = try store.sign()
        func refused(_ change: (inout ReceiptVerifier.Configuration) -> Void) -> SignedDataError.Code? {
            var configuration = store.configuration
            change(&configuration)
            return refusal { try ReceiptVerifier(configuration: configuration).verify(bytes) }
        }
        #expect(refused { $0.bundleIDs = ["com.example.other"] } == .wrongBundle)
        #expect(refused { $0.bundleIDs = nil } == nil)
        #expect(refused { $0.environments = [.production] } == .wrongEnvironment)
        #expect(refused { $0.environments = [.production, .xcode] } == .environmentNotAccepted)
        #expect(refused { $0.environments = nil } == nil)
        #expect(refused { $0.trustAnchors = [TrustAnchor(store.chain.root, for: [.production])] } == .untrustedRoot)
        #expect(refused { $0.maximumLength = bytes.count } == nil)
        #expect(refused { $0.maximumLength = bytes.count - 1 } == .tooLarge)
        #expect(refused { $0.maximumAttributes = 21 } == .tooLarge)
        #expect(refused { $0.maximumAttributes = 22 } == nil)
    }

    @Test func `a missing required attribute is an error`() throws {
        func refused(_ change: (inout AppReceipt) -> Void) throws -> SignedDataError.Code? {
            var receipt = ReceiptStore.receipt()
            change(&receipt)
            let bytes = try store.sign(receipt)
            return refusal { try store.verifier.verify(bytes) }
        }
        #expect(try refused { $0.bundleID = nil } == .payloadMalformed)
        #expect(try refused { $0.receiptType = nil } == .payloadMalformed)
        #expect(try refused { $0.creationDate = nil } == .payloadMalformed)
        #expect(try refused { $0.appVersion = nil } == nil)
        #expect(try refused { $0.receiptType = "Moon" } == .wrongEnvironment)
        #expect(try refused { $0.receiptType = "Xcode" } == .wrongEnvironment)
    }

    @Test func `the receipt type of Xcode is accepted only if configured`() throws {
        var receipt = ReceiptStore.receipt()
        receipt.receiptType = "Xcode"
        let bytes = try store.sign(receipt)
        var configuration = store.configuration
        configuration.environments = nil
        #expect(refusal { try ReceiptVerifier(configuration: configuration).verify(bytes) } == .environmentNotAccepted)
        configuration.environments = [.xcode]
        #expect(refusal { try ReceiptVerifier(configuration: configuration).verify(bytes) } == nil)
    }

    @Test func `a receipt for another device or version is refused`() throws {
        let bytes = try store.sign(for: ReceiptStore.device)
        let verifier = store.verifier
        #expect(refusal { try verifier.verify(bytes, for: ReceiptStore.device, appVersion: "42") } == nil)
        #expect(refusal { try verifier.verify(bytes, appVersion: "43") } == .wrongAppVersion)
        let other = DeviceIdentifier(bytes: [1, 2, 3, 4, 5, 6])
        #expect(refusal { try verifier.verify(bytes, for: other) } == .deviceMismatch)
        #expect(refusal { try verifier.verify(bytes).check(other) } == .deviceMismatch)
        let unbound = try store.sign()
        #expect(refusal { try verifier.verify(unbound, for: ReceiptStore.device) } == .deviceMismatch)
        #expect(refusal { try store.sign(AppReceipt(), for: other) } == .payloadMalformed)
    }

    @Test func `the device hash is SHA-1 over device, opaque value and bundle id attribute`() throws {
        let bytes = try store.sign(for: ReceiptStore.device)
        let hash = try store.verifier.verify(bytes).receipt.sha1Hash
        // Computed with Python over 01…10, 00…0f and 0c0b636f6d2e6578616d706c65.
        #expect(hash.map { Hex.encode($0) } == "f6125657a49a143f8e476699aa08968a90bfb802")
    }

    @Test func `devices are read from UUIDs, MAC addresses and base64`() throws {
        #expect(try DeviceIdentifier("01020304-0506-0708-090A-0B0C0D0E0F10") == ReceiptStore.device)
        #expect(try DeviceIdentifier("a4:83:E7:01:02:03").bytes == [0xA4, 0x83, 0xE7, 1, 2, 3])
        #expect(try DeviceIdentifier("AQI=").bytes == [1, 2])
        for text in ["", "-", "1-2", "a4:83:e7:01:02", "a4:83:e7:01:02:0", "a4:83:e7:01:02:+3", "AQI", "A Q I ="] {
            #expect(refusal { try DeviceIdentifier(text) } == .malformed, "\(text)")
        }
        #expect("\(ReceiptStore.device)" == "device of 16 bytes")
        #expect(Mirror(reflecting: ReceiptStore.device).children.isEmpty)
    }

    @Test func `the dates of certificates are checked for each receipt`() throws {
        var early = CertificateTemplate.leaf
        early.notBefore = "20231101000000Z"
        early.notAfter = "20231201000000Z"
        let store = ReceiptStore(try TestStore(leaf: early))
        let verifier = store.verifier
        func sign(_ date: String) throws -> [UInt8] {
            var receipt = ReceiptStore.receipt()
            receipt.creationDate = RFC3339.date(from: date)
            return try store.sign(receipt)
        }
        for _ in 0..<2 {
            #expect(refusal { try verifier.verify(try sign("2023-11-01T00:00:00Z")) } == nil)
            #expect(refusal { try verifier.verify(try sign("2023-10-31T23:59:59Z")) } == .certificateExpired)
            #expect(refusal { try verifier.verify(try sign("2023-11-30T23:59:59Z")) } == nil)
            #expect(refusal { try verifier.verify(try sign("2023-12-01T00:00:01Z")) } == .certificateExpired)
        }
        var configuration = store.configuration
        configuration.chainDate = Date(timeIntervalSince1970: 1_900_000_000)
        let today = ReceiptVerifier(configuration: configuration)
        #expect(refusal { try today.verify(try sign("2023-11-02T00:00:00Z")) } == .certificateExpired)
    }

    @Test func `receipts are read out of DER, base64 and base64 with line breaks`() throws {
        let bytes = try store.sign()
        let text = Base64.encode(bytes)
        let lines = stride(from: 0, to: text.count, by: 64).map { text.dropFirst($0).prefix(64) + "\r\n" }.joined()
        #expect(try ReceiptEncoding.bytes(of: bytes) == bytes)
        #expect(try ReceiptEncoding.bytes(of: Array(text.utf8)) == bytes)
        #expect(try ReceiptEncoding.bytes(of: Array(" \n\(lines)\n".utf8)) == bytes)
        for text in ["", " \n", "not base64!", String(text.dropLast())] {
            #expect(refusal { try ReceiptEncoding.bytes(of: Array(text.utf8)) } == .malformed)
        }
        #expect(refusal { try ReceiptEncoding.bytes(of: [UInt8](repeating: 65, count: 17 << 20)) } == .tooLarge)
    }

    @Test func `a transaction receipt from before iOS 7 is refused as legacyReceipt`() throws {
        let legacy = """
            {
            \t"signature" = "AkTNqLLwBxSh+VdvLj9VJt1xCOQQPvS2dTzTYRHLHpa4";
            \t"purchase-info" = "ewoJIm9yaWdpbmFsLXB1cmNoYXNlLWRhdGUi";
            \t"environment" = "Sandbox";
            \t"pod" = "100";
            \t"signing-status" = "0";
            }
            """
        for bytes in [Array(legacy.utf8), try ReceiptEncoding.bytes(of: Array(Base64.encode(legacy.utf8).utf8))] {
            #expect(try ReceiptEncoding.bytes(of: bytes) == bytes)
            #expect(refusal { try store.verifier.verify(bytes) } == .legacyReceipt)
            #expect(refusal { try UnverifiedReceipt(unverified: bytes) } == .legacyReceipt)
        }
        for text in ["{}", "{\"a\":1}", "[", "plain text", ""] {
            #expect(refusal { try store.verifier.verify(Array(text.utf8)) } == .malformed)
        }
    }

    @Test func `several threads share a verifier`() async throws {
        let verifier = store.verifier
        let receipts = try (0..<8).map { try store.sign(ReceiptStore.receipt(purchases: $0)) }
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for receipt in receipts + receipts + receipts {
                group.addTask { try verifier.verify(receipt).receipt.inAppPurchases.count }
            }
            return try await group.reduce(0, +)
        }
        #expect(counts == 3 * 28)
    }
}
