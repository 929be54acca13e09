/// Verifies the signatures of answers with the public keys of the server, which the app contains.
///
/// A verifier only checks bytes; the caller computes the signed bytes and reads the signature from the answer.
/// `SignedData.Ed25519AnswerVerifier` implements it over OpenSSL. On Apple platforms, CryptoKit's
/// `Curve25519.Signing.PublicKey` can implement it.
public protocol AnswerVerifier: Sendable {
    /// Verifies a signature. The answer must not be used if this method throws.
    ///
    /// - Parameters:
    ///   - signature: The 64 bytes of the signature (RFC 8032).
    ///   - message: The signed bytes.
    ///   - keyID: The server's id of the key.
    /// - Throws: An error if the key is not trusted, or if it did not make the signature.
    func verify(_ signature: [UInt8], of message: [UInt8], keyID: String) throws
}
