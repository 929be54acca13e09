import Primitives
import SignedData

/// A key that signs answers, with the id by which clients find it. Its descriptions do not contain the key.
public struct AnswerSigningKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The id of the key in `Souk-Signature`.
    public let id: String
    let key: Ed25519.PrivateKey

    /// Creates a signing key.
    ///
    /// - Parameters:
    ///   - key: The private key.
    ///   - id: The id: visible ASCII characters without quotation marks. By default it is derived from the public key,
    ///     so
    ///     that the same key has the same id everywhere.
    public init(_ key: Ed25519.PrivateKey, id: String? = nil) {
        self.key = key
        self.id = id ?? Base64.encodeURL(SHA256.hash(key.publicKey.raw).prefix(9))
    }

    /// A description without the private key.
    public var description: String { "signing key \(id)" }
    /// A mirror without the private key.
    public var customMirror: Mirror { Mirror(self, children: ["id": id]) }

    func check() throws(EntitlementServerError) {
        let isName = !id.isEmpty && id.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }
        guard isName, id.utf8.count <= 64 else {
            throw EntitlementServerError(
                .invalidConfiguration,
                "The name of a signing key has 1 to 64 visible ASCII characters and no quotation mark.")
        }
    }
}
