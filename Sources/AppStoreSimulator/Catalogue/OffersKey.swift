/// The key pair with which promotional offers are signed (`subscriptionOffersKeyPair`). The private half is a secret of a
/// test only, and is kept out of every description all the same.
package struct OffersKey: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The key's identifier, which a signature names.
    package var id: String
    /// PKCS #8 in base64: a private key on P-256.
    package var privateKey: String

    package init(id: String, privateKey: String) {
        self.id = id
        self.privateKey = privateKey
    }

    package var description: String { "OffersKey(\(id))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
