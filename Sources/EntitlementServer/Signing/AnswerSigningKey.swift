import Primitives
import SignedData

/// A key that signs answers. Clients select the public key by its id. Descriptions do not contain the private key.
public struct AnswerSigningKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The id of the key in `Souk-Signature`.
    public let id: String
    let publicKey: Ed25519.PublicKey
    private let signer: SodiumSigner

    /// Creates a signing key.
    ///
    /// - Parameters:
    ///   - key: The private key.
    ///   - id: The id: 1 to 64 visible ASCII characters without quotation marks. By default the id is derived from the
    ///     public key, so the same key has the same id on every server.
    public init(_ key: Ed25519.PrivateKey, id: String? = nil) {
        publicKey = key.publicKey
        signer = SodiumSigner(key)
        self.id = id ?? Base64.encodeURL(SHA256.hash(publicKey.raw).prefix(9))
    }

    /// A description without the private key.
    public var description: String { "signing key \(id)" }
    /// A mirror without the private key.
    public var customMirror: Mirror { Mirror(self, children: ["id": id]) }

    func signature(of message: [UInt8]) -> [UInt8] { signer.signature(of: message) }

    func check() throws(EntitlementServerError) {
        let isName = !id.isEmpty && id.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }
        guard isName, id.utf8.count <= 64 else {
            throw EntitlementServerError(
                .invalidConfiguration,
                "The id of a signing key must have 1 to 64 visible ASCII characters and no quotation mark.")
        }
    }
}
