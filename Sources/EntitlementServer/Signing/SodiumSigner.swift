import CSodium
import SignedData

/// A private key of Ed25519 (RFC 8032) with which libsodium signs. All threads can share one.
///
/// It is `Sendable` because its memory does not change between its creation and its end.
final class SodiumSigner: @unchecked Sendable {
    /// The form in which libsodium expects a private key.
    private let secret: UnsafeMutablePointer<UInt8>
    private static let secretLength = crypto_sign_secretkeybytes()

    /// `sodium_init` selects the fastest code for the processor. If it fails, the portable code is used.
    private static let initialized: Void = { _ = sodium_init() }()

    init(_ key: Ed25519.PrivateKey) {
        _ = Self.initialized
        secret = .allocate(capacity: Self.secretLength)
        secret.initialize(repeating: 0, count: Self.secretLength)
        var seed = key.raw
        var publicKey = [UInt8](repeating: 0, count: crypto_sign_publickeybytes())
        crypto_sign_seed_keypair(&publicKey, secret, &seed)
        sodium_memzero(&seed, seed.count)
    }

    deinit {
        sodium_memzero(secret, Self.secretLength)
        secret.deallocate()
    }

    /// Returns the 64 bytes of the signature. The same message always has the same signature.
    func signature(of message: [UInt8]) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: crypto_sign_bytes())
        crypto_sign_detached(&signature, nil, message, UInt64(message.count), secret)
        return signature
    }
}
