import AppStorePayloads
import COpenSSL
import Foundation
import Primitives
import SignedData
import StoreModel

/// Verifies signed transactions: with a cached certificate chain, with cached documents, and without a cache. The
/// reference is OpenSSL's P-256 verification of the same signature.
enum SignatureBenchmark {
    static func run() throws -> [BenchmarkResult] {
        let chain = try SigningChain.generate()
        let signer = JWSSigner(chain)
        let documents = try (0..<64).map { number in
            try signer.sign(
                JWSTransactionDecodedPayload {
                    $0.transactionId = "\(number)"
                    $0.originalTransactionId = "1"
                    $0.bundleId = "com.example.souk"
                    $0.productId = "com.example.souk.pro.monthly"
                    $0.subscriptionGroupIdentifier = "21500000"
                    $0.purchaseDate = Date(timeIntervalSince1970: 1_763_000_000)
                    $0.originalPurchaseDate = Date(timeIntervalSince1970: 1_763_000_000)
                    $0.expiresDate = Date(timeIntervalSince1970: 1_765_592_000)
                    $0.quantity = 1
                    $0.type = .autoRenewableSubscription
                    $0.inAppOwnershipType = .purchased
                    $0.signedDate = Date(timeIntervalSince1970: 1_763_000_000)
                    $0.environment = .sandbox
                    $0.transactionReason = .purchase
                    $0.storefront = "USA"
                    $0.storefrontId = "143441"
                    $0.price = 4990
                    $0.currency = "USD"
                })
        }
        let references = [try OpenSSLVerifier(documents, chain), try OpenSSLVerifier(documents, chain)]
        return try known(
            "JWS verify, chain seen before", .ratio(1.2), documents, chain, documentCacheCapacity: 0, references)
            + known("JWS verify, same bytes again", .each(4), documents, chain, documentCacheCapacity: 1024, references)
            + [try cold(documents, chain, references[0]), try decoding(documents, references[0])]
    }

    private static func configuration(_ chain: SigningChain) -> SignedDataVerifier.Configuration {
        .init(bundleIDs: ["com.example.souk"], environments: [.sandbox], trustAnchors: [TrustAnchor(chain.root)])
    }

    private static func known(
        _ name: String, _ budget: Budget, _ documents: [String], _ chain: SigningChain, documentCacheCapacity: Int,
        _ references: [OpenSSLVerifier]
    ) throws -> [BenchmarkResult] {
        var configuration = configuration(chain)
        configuration.documentCacheCapacity = documentCacheCapacity
        let verifier = SignedDataVerifier(configuration: configuration)
        let cycles = [DocumentCycle(of: documents), DocumentCycle(of: documents)]
        return try Workers.results(
            name, reference: "OpenSSL P-256 verify", budget: budget, iterations: 256,
            more: [("bytes", .number(documents[0].utf8.count))]
        ) { worker in
            _ = try verifier.transaction(cycles[worker].next())
        } against: { worker in
            references[worker].verifyNext()
        }
    }

    /// A verifier with an empty cache: it parses three certificates, and checks two of their signatures and that of the
    /// document.
    private static func cold(_ documents: [String], _ chain: SigningChain, _ reference: OpenSSLVerifier) throws
        -> BenchmarkResult
    {
        let configuration = configuration(chain)
        let cycle = DocumentCycle(of: documents)
        let times = try paired(iterations: 32) {
            _ = try SignedDataVerifier(configuration: configuration).transaction(cycle.next())
        } reference: {
            reference.verifyNext()
        }
        return BenchmarkResult(
            name: "JWS verify, cold", reference: "OpenSSL P-256 verify", rounds: times)
    }

    private static func decoding(_ documents: [String], _ reference: OpenSSLVerifier) throws -> BenchmarkResult {
        let cycle = DocumentCycle(of: documents)
        let times = try paired(iterations: 64) {
            _ = try UnverifiedJWS(unverified: cycle.next())
        } reference: {
            reference.verifyNext()
        }
        return BenchmarkResult(
            name: "JWS decoded with its certificates, not verified", reference: "OpenSSL P-256 verify", rounds: times)
    }
}

/// Returns the documents one after another, and begins again after the last.
private final class DocumentCycle: @unchecked Sendable {
    // Sendable: each thread has its own instance.
    private let documents: [String]
    private var position = 0

    init(of documents: [String]) { self.documents = documents }

    func next() -> String {
        position = (position + 1) % documents.count
        return documents[position]
    }
}

/// OpenSSL alone. Key, texts and signatures are prepared; each call computes the SHA-256 and checks the signature.
private final class OpenSSLVerifier: @unchecked Sendable {
    // Sendable: each thread has its own instance.
    private let key: OpaquePointer
    private let context: OpaquePointer
    private let pieces: [(message: [UInt8], signature: [UInt8])]
    private var position = 0

    init(_ documents: [String], _ chain: SigningChain) throws {
        let der = chain.leafKey.verificationKey.der
        let key = der.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            return d2i_PUBKEY(nil, &cursor, bytes.count)
        }
        guard let key, let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil), EVP_PKEY_verify_init(context) == 1
        else { throw BenchmarkFailure("OpenSSL rejects the key") }
        (self.key, self.context) = (key, context)
        pieces = try documents.map { document in
            let dot = document.lastIndex(of: ".") ?? document.startIndex
            guard let raw = Base64.decodeURL(String(document[document.index(after: dot)...])), raw.count == 64 else {
                throw BenchmarkFailure("the signature does not have 64 bytes")
            }
            return (Array(document[..<dot].utf8), Self.der(raw))
        }
    }

    deinit {
        EVP_PKEY_CTX_free(context)
        EVP_PKEY_free(key)
    }

    func verifyNext() {
        position = (position + 1) % pieces.count
        let piece = pieces[position]
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_Digest(piece.message, piece.message.count, &digest, nil, EVP_sha256(), nil)
        precondition(EVP_PKEY_verify(context, piece.signature, piece.signature.count, digest, 32) == 1)
    }

    /// Returns the two integers of a signature in DER (RFC 3279 section 2.2.3), as OpenSSL requires.
    private static func der(_ raw: [UInt8]) -> [UInt8] {
        let integers = [raw.prefix(32), raw.suffix(32)].flatMap { half -> [UInt8] in
            var digits = Array(half.drop { $0 == 0 })
            if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
            return [0x02, UInt8(digits.count)] + digits
        }
        return [0x30, UInt8(integers.count)] + integers
    }
}
