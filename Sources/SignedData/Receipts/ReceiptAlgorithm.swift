import COpenSSL

/// Object identifiers in DER, without tag and length (X.690 section 8.19).
enum CMSIdentifier {
    /// 1.2.840.113549.1.7.1, id-data.
    static let data: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
    /// 1.2.840.113549.1.7.2, id-signedData.
    static let signedData: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
    /// 1.2.840.113549.1.9.3, id-contentType.
    static let contentType: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x03]
    /// 1.2.840.113549.1.9.4, id-messageDigest.
    static let messageDigest: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x04]
    /// 1.3.14.3.2.26.
    static let sha1: [UInt8] = [0x2B, 0x0E, 0x03, 0x02, 0x1A]
    /// 2.16.840.1.101.3.4.2.1.
    static let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
    /// 1.2.840.113549.1.1.1.
    static let rsaEncryption: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
    /// 1.2.840.113549.1.1.5.
    static let sha1WithRSA: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x05]
    /// 1.2.840.113549.1.1.11.
    static let sha256WithRSA: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0B]
    /// 1.2.840.10045.4.1.
    static let ecdsaWithSHA1: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x01]
    /// 1.2.840.10045.4.3.2.
    static let ecdsaWithSHA256: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]
}

/// The algorithms of a receipt's signature: SHA-1 until 2023 and SHA-256 since then (Apple: TN3138), with RSA or, in
/// Xcode and simulators, ECDSA.
struct ReceiptAlgorithm: Hashable {
    let digest: ReceiptDigest
    let isRSA: Bool

    /// Parses the two AlgorithmIdentifiers of a signer (RFC 3370 sections 2.1, 3.2; RFC 5754 sections 2, 3). Parameters
    /// are NULL or absent for digests, NULL for RSA, and absent for ECDSA. A digest in the signature's algorithm must
    /// be the same digest.
    init(digest digestReader: BERReader, signature signatureReader: BERReader) throws {
        var (digestReader, signatureReader) = (digestReader, signatureReader)
        let digestIdentifier = try digestReader.read(BERTag.objectIdentifier)
        if !digestReader.isAtEnd { try digestReader.readNull() }
        let digest = ReceiptDigest.allCases.first {
            digestReader.content(of: digestIdentifier, equals: $0.objectIdentifier)
        }
        guard let digest else {
            throw SignedDataError(.unsupportedAlgorithm, "The receipt's digest is neither SHA-1 nor SHA-256.")
        }
        let signatureIdentifier = try signatureReader.read(BERTag.objectIdentifier)
        if [CMSIdentifier.rsaEncryption, digest.withRSA].contains(where: {
            signatureReader.content(of: signatureIdentifier, equals: $0)
        }) {
            try signatureReader.readNull()
            isRSA = true
        } else if signatureReader.content(of: signatureIdentifier, equals: digest.withECDSA) {
            try signatureReader.requireEnd()
            isRSA = false
        } else {
            throw SignedDataError(
                .unsupportedAlgorithm, "The receipt's signature is neither RSA nor ECDSA over its digest.")
        }
        self.digest = digest
    }
}

extension BERReader {
    fileprivate mutating func readNull() throws(BERError) {
        let null = try read(BERTag.null)
        guard null.content.isEmpty else { throw BERError(position: null.start, problem: "a NULL has content") }
        try requireEnd()
    }
}

/// The digests of receipts.
enum ReceiptDigest: CaseIterable {
    case sha1
    case sha256

    var objectIdentifier: [UInt8] { self == .sha1 ? CMSIdentifier.sha1 : CMSIdentifier.sha256 }
    var withRSA: [UInt8] { self == .sha1 ? CMSIdentifier.sha1WithRSA : CMSIdentifier.sha256WithRSA }
    var withECDSA: [UInt8] { self == .sha1 ? CMSIdentifier.ecdsaWithSHA1 : CMSIdentifier.ecdsaWithSHA256 }
    var count: Int { self == .sha1 ? 20 : 32 }

    // Unsafe: OpenSSL's algorithm objects do not change, and all threads may use them.
    nonisolated(unsafe) private static let algorithms = (
        sha1: EVP_MD_fetch(nil, "SHA1", nil), sha256: EVP_MD_fetch(nil, "SHA256", nil)
    )

    /// OpenSSL's algorithm object.
    var algorithm: OpaquePointer? { self == .sha1 ? Self.algorithms.sha1 : Self.algorithms.sha256 }

    /// Returns the digest of all pieces together.
    func hash(_ pieces: [UnsafeRawBufferPointer]) throws(SignedDataError) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: count)
        if pieces.count == 1 {
            guard EVP_Digest(pieces[0].baseAddress, pieces[0].count, &digest, nil, algorithm, nil) == 1 else {
                throw OpenSSL.failed("compute a digest")
            }
            return digest
        }
        guard let context = EVP_MD_CTX_new() else { throw OpenSSL.failed("compute a digest") }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestInit_ex2(context, algorithm, nil) == 1,
            pieces.allSatisfy({ EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1 }),
            EVP_DigestFinal_ex(context, &digest, nil) == 1
        else { throw OpenSSL.failed("compute a digest") }
        return digest
    }

    func hash(_ bytes: [UInt8]) throws(SignedDataError) -> [UInt8] {
        let result: Result<[UInt8], SignedDataError> = bytes.withUnsafeBytes { bytes in
            Result { () throws(SignedDataError) in try hash([bytes]) }
        }
        return try result.get()
    }
}
