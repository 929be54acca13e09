import Primitives
import SignedData

/// A key that answers are signed with, under the name that clients know it by. It never describes itself.
public struct AnswerSigningKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// What `Souk-Signature` calls the key.
    public let id: String
    let key: Ed25519.PrivateKey

    /// - Parameters:
    ///   - key: signs the answers.
    ///   - id: visible ASCII characters without quotation marks; by default made of the public key, so that the same key
    ///     has the same name wherever it is used.
    public init(_ key: Ed25519.PrivateKey, id: String? = nil) {
        self.key = key
        self.id = id ?? Base64.encodeURL(SHA256.hash(key.publicKey.raw).prefix(9))
    }

    public var description: String { "signing key \(id)" }
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
