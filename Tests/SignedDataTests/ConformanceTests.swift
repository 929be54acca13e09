import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Documents that another store signed, in the folder `SOUK_CONFORMANCE`.
@Suite(.enabled(if: Conformance.folder != nil, "SOUK_CONFORMANCE names no folder of conformance data"))
struct ConformanceTests {
    private func verifier(
        bundleIDs: Set<BundleID>? = ["com.example"], environments: Set<AppStoreEnvironment>? = [.sandbox]
    ) throws -> SignedDataVerifier {
        let roots = try TrustAnchor.certificates(in: Conformance.bytes("apple-jws/testCA.der"))
        return SignedDataVerifier(
            configuration: .init(bundleIDs: bundleIDs, environments: environments, trustAnchors: roots))
    }

    @Test func `the signed transaction is accepted`() throws {
        let verified = try verifier().transaction(Conformance.text("apple-jws/transactionInfo"))
        #expect(verified.payload.bundleId == "com.example")
        #expect(verified.payload.environment == .sandbox)
        #expect(verified.signedDate == Date(timeIntervalSince1970: 1_672_956_154))
        #expect(
            verified.chain.root != verified.chain.anchor, "the root in the chain is another certificate of the same key"
        )
    }

    @Test func `the signed notification is accepted`() throws {
        let verified = try verifier().notification(Conformance.text("apple-jws/testNotification"))
        #expect(verified.payload.notificationType == .test)
        #expect(verified.payload.notificationUUID == "9ad56bd2-0bc6-42e0-af24-fd996d87a1e6")
        #expect(verified.transaction == nil)
    }

    @Test func `another bundle, environment, date or trust anchor is refused`() throws {
        let jws = try Conformance.text("apple-jws/transactionInfo")
        #expect(refusal { try verifier(bundleIDs: ["com.example.other"]).transaction(jws) } == .wrongBundle)
        #expect(refusal { try verifier(environments: [.production]).transaction(jws) } == .wrongEnvironment)
        var configuration = try verifier().configuration
        configuration.chainDate = Date(timeIntervalSince1970: 2_000_000_000)
        #expect(
            refusal { try SignedDataVerifier(configuration: configuration).transaction(jws) } == .certificateExpired)
        let apple = SignedDataVerifier(configuration: .init(bundleIDs: nil, environments: nil))
        #expect(refusal { try apple.transaction(jws) } == .untrustedRoot)
        #expect(refusal { try verifier().appTransaction(jws) } == .payloadMalformed)
    }

    @Test func `flipped bits are detected`() throws {
        let verifier = try verifier()
        let jws = Array(try Conformance.text("apple-jws/transactionInfo").utf8)
        for position in stride(from: 0, to: jws.count, by: 13) {
            var flipped = jws
            flipped[position] ^= 1 << UInt8(position % 7)
            #expect(refusal { try verifier.transaction(String(decoding: flipped, as: UTF8.self)) } != nil)
        }
    }
}

enum Conformance {
    static var folder: URL? {
        ProcessInfo.processInfo.environment["SOUK_CONFORMANCE"].map { URL(fileURLWithPath: $0, isDirectory: true) }
    }

    static func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: try #require(folder).appendingPathComponent(path)))
    }

    /// Reads a text file without its last line feed.
    static func text(_ path: String) throws -> String {
        String(decoding: try bytes(path), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
