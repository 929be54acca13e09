import Foundation
import Primitives
import SignedData
import StoreModel

/// Verification of a signed transaction, warm and cold, beside OpenSSL's own P-256 verification of the same signature.
enum SignatureBenchmark {
    static func run() throws -> [Figure] {
        let chain = try SigningChain.generate()
        let signer = JWSSigner(chain)
        let documents = try (0..<64).map { number in
            try signer.sign(
                JWSTransactionDecodedPayload(
                    transactionId: "\(number)", originalTransactionId: "1", bundleId: "com.example.souk",
                    productId: "com.example.souk.pro.monthly", subscriptionGroupIdentifier: "21500000",
                    purchaseDate: Date(timeIntervalSince1970: 1_763_000_000),
                    originalPurchaseDate: Date(timeIntervalSince1970: 1_763_000_000),
                    expiresDate: Date(timeIntervalSince1970: 1_765_592_000), quantity: 1,
                    type: .init(rawValue: "Auto-Renewable Subscription"), inAppOwnershipType: .purchased,
                    signedDate: Date(timeIntervalSince1970: 1_763_000_000), environment: .sandbox,
                    transactionReason: .purchase, storefront: "USA", storefrontId: "143441", price: 4990,
                    currency: "USD"))
        }
        let key = chain.leafKey.verificationKey
        let pieces = documents.map { document -> (message: [UInt8], signature: [UInt8]) in
            let dot = document.lastIndex(of: ".") ?? document.endIndex
            return (
                Array(document[..<dot].utf8), Base64.decodeURL(String(document[document.index(after: dot)...])) ?? []
            )
        }
        func reference(_ index: Int) {
            precondition(key.isValid(signature: pieces[index].signature, of: pieces[index].message))
        }
        return [
            try figure("JWS verify, chain seen before", "≤ 1.4 ×", documents, rememberedDocuments: 0, reference),
            try figure("JWS verify, same bytes again", "≤ 5 µs", documents, rememberedDocuments: 1024, reference),
            try cold(documents, chain, reference),
        ]
    }

    private static func configuration(_ chain: SigningChain?) -> SignedDataVerifier.Configuration {
        .init(
            bundleIDs: ["com.example.souk"], environments: [.sandbox],
            trustAnchors: chain.map { [TrustAnchor($0.root)] } ?? [])
    }

    private static func figure(
        _ name: String, _ budget: String, _ documents: [String], rememberedDocuments: Int,
        _ reference: (Int) -> Void
    ) throws -> Figure {
        var configuration = SignedDataVerifier.Configuration(bundleIDs: ["com.example.souk"], environments: [.sandbox])
        configuration.trustAnchors = try anchors(of: documents[0])
        configuration.rememberedDocuments = rememberedDocuments
        let verifier = SignedDataVerifier(configuration: configuration)
        var index = 0
        var other = 0
        let times = try paired(iterations: 256) {
            _ = try verifier.transaction(documents[index % documents.count])
            index += 1
        } reference: {
            reference(other % documents.count)
            other += 1
        }
        return Figure(
            name: name, reference: "OpenSSL P-256 verify", nanoseconds: times.operation,
            referenceNanoseconds: times.reference, budget: budget)
    }

    /// A verifier that has seen nothing: three certificates parsed, two of their signatures and the document's checked.
    private static func cold(
        _ documents: [String], _ chain: SigningChain, _ reference: (Int) -> Void
    ) throws -> Figure {
        let configuration = configuration(chain)
        var index = 0
        let times = try paired(iterations: 32) {
            _ = try SignedDataVerifier(configuration: configuration).transaction(documents[index % documents.count])
            index += 1
        } reference: {
            reference(index % documents.count)
        }
        return Figure(
            name: "JWS verify, cold", reference: "OpenSSL P-256 verify", nanoseconds: times.operation,
            referenceNanoseconds: times.reference, budget: "–")
    }

    private static func anchors(of document: String) throws -> [TrustAnchor] {
        let certificates = try UnverifiedJWS(unverified: document).unverifiedCertificates
        return certificates.last.map { [TrustAnchor($0)] } ?? []
    }
}
