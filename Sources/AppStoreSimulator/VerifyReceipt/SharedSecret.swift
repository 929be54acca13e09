import Primitives
import StoreModel

/// An app's shared secret as the store keeps, lists and exports it: its SHA-256 hash, which does not reveal the secret.
struct SharedSecret: Hashable, Sendable {
    /// `sha256:` and 64 hexadecimal digits.
    let kept: String

    /// Creates the value from a secret, or from a value of `kept`. Returns `nil` for a secret that is empty, longer
    /// than 255 bytes or has a control character.
    init?(_ given: String) {
        guard AccountName.isValid(given) else { return nil }
        kept = Self.isKept(given) ? given : Self.digest(of: given)
    }

    func matches(_ password: String) -> Bool { Self.digest(of: password) == kept }

    private static let prefix = "sha256:"

    private static func digest(of text: String) -> String { prefix + Hex.encode(SHA256.hash(text.utf8)) }

    private static func isKept(_ text: String) -> Bool {
        guard text.hasPrefix(prefix), let bytes = Hex.decode(String(text.dropFirst(prefix.count))) else { return false }
        return bytes.count == 32
    }
}
