/// Checks that a signed answer is the server's own: with the server's public keys, which the app brings along.
///
/// What is signed, and where the signature stands, is the wire's business; this only judges bytes.
/// `SignedData.Ed25519AnswerVerifier` is the one over OpenSSL; on Apple platforms CryptoKit's
/// `Curve25519.Signing.PublicKey` does the same.
public protocol AnswerVerifier: Sendable {
    /// Returns when `signature` (64 bytes, RFC 8032) over `message` was made with the key that the server names `keyID`.
    ///
    /// Throws when no such key is trusted or the signature is another's: the answer must not be used then.
    func verify(_ signature: [UInt8], of message: [UInt8], keyID: String) throws
}
