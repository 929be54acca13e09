import COpenSSL
import Foundation

/// The root, intermediate and leaf certificates of a simulated store, with their keys. The simulator signs with them.
///
///     let chain = try SigningChain.open(in: folder)              // the first call creates it
///     let signer = JWSSigner(chain)
///     let anchors = [TrustAnchor(chain.root)]
public struct SigningChain: Sendable {
    package let root: Certificate
    package let intermediate: Certificate
    package let leaf: Certificate
    /// The key that signs transactions.
    public let leafKey: SigningKey
    let intermediateKey: SigningKey
    let rootKey: SigningKey

    /// The certificates in the order of the `x5c` header: leaf, intermediate, root.
    package var certificates: [Certificate] { [leaf, intermediate, root] }

    /// Creates new keys and certificates, valid from 1970 to 9999, with Apple's extensions.
    ///
    /// - Returns: The chain.
    /// - Throws: `SignedDataError` with `cryptographyFailed`.
    public static func generate() throws(SignedDataError) -> SigningChain {
        try SigningChain(root: .root, intermediate: .intermediate, leaf: .leaf)
    }

    init(
        root rootTemplate: CertificateTemplate, intermediate intermediateTemplate: CertificateTemplate,
        leaf leafTemplate: CertificateTemplate, leafKey: SigningKey? = nil
    ) throws(SignedDataError) {
        rootKey = try SigningKey.generate()
        root = try rootTemplate.issue(for: rootKey, by: nil)
        intermediateKey = try SigningKey.generate()
        intermediate = try intermediateTemplate.issue(
            for: intermediateKey, by: CertificateTemplate.Issuer(certificate: root, key: rootKey))
        if let leafKey { self.leafKey = leafKey } else { self.leafKey = try SigningKey.generate() }
        leaf = try leafTemplate.issue(
            for: self.leafKey, by: CertificateTemplate.Issuer(certificate: intermediate, key: intermediateKey))
    }

    /// All certificates and keys in PEM. Anyone who can read it can sign, so store it in a file of mode 0600.
    public var pem: String {
        [leaf.pem, leafKey.pem, intermediate.pem, intermediateKey.pem, root.pem, rootKey.pem].joined()
    }

    /// Creates a chain from the text of ``pem``.
    ///
    /// - Parameter pem: The text.
    /// - Throws: `SignedDataError` with `signingChainInvalid` unless the text has three certificates and their keys,
    ///   leaf first, that form a chain; with `certificateMalformed` if a certificate cannot be read.
    public init(pem: [UInt8]) throws(SignedDataError) {
        let certificates = try Certificate.all(inPEM: pem)
        let keys = Self.privateKeys(in: pem)
        guard certificates.count == 3, keys.count == 3 else {
            throw SignedDataError(
                .signingChainInvalid,
                "A signing chain has three certificates and three P-256 keys, not \(certificates.count) and \(keys.count)."
            )
        }
        for (certificate, key) in zip(certificates, keys) {
            guard certificate.verificationKey()?.der == key.verificationKey.der else {
                throw SignedDataError(
                    .signingChainInvalid, "The key after the certificate \(certificate.subject) does not belong to it.")
            }
        }
        do {
            _ = try CertificateChain(certificates.map(\.der), trusting: [TrustAnchor(certificates[2])])
        } catch {
            throw SignedDataError(.signingChainInvalid, error.reason, underlying: error)
        }
        (leaf, intermediate, root) = (certificates[0], certificates[1], certificates[2])
        (leafKey, intermediateKey, rootKey) = (keys[0], keys[1], keys[2])
    }

    private static func privateKeys(in pem: [UInt8]) -> [SigningKey] {
        var keys: [SigningKey] = []
        _ = OpenSSL.reading(pem) { bio -> Bool? in
            while let key = PEM_read_bio_PrivateKey(bio, nil, PrivateKeyFile.refusePassphrase, nil) {
                guard VerificationKey.isP256(key) else {
                    EVP_PKEY_free(key)
                    continue
                }
                keys.append(SigningKey(owning: key))
            }
            return nil
        }
        return keys
    }
}
