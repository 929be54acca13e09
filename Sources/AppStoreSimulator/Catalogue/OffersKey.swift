/// The key pair with which promotional offers are signed (`subscriptionOffersKeyPair`). The private half is a secret of a
/// test only, and is kept out of every description all the same.
public struct OffersKey: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The key's identifier, which a signature names.
    public var id: String
    /// PKCS #8 in base64: a private key on P-256.
    public var privateKey: String

    public init(id: String, privateKey: String) {
        self.id = id
        self.privateKey = privateKey
    }

    public var description: String { "OffersKey(\(id))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
