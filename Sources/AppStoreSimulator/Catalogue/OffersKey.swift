/// The key pair for signing promotional offers (`subscriptionOffersKeyPair`). The private key is used only in
/// tests. Descriptions omit it nevertheless.
package struct OffersKey: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The key's identifier, which a signature names.
    package var id: String
    /// The private key on P-256, as PKCS #8 in base64.
    package var privateKey: String

    package init(id: String, privateKey: String) {
        self.id = id
        self.privateKey = privateKey
    }

    package var description: String { "OffersKey(\(id))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}
