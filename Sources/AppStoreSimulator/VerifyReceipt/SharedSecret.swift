import Primitives
import StoreModel

/// An app's shared secret as the store keeps, lists and exports it: its SHA-256, from which nobody reads it back.
struct SharedSecret: Hashable, Sendable {
    /// `sha256:` and 64 hexadecimal digits.
    let kept: String

    /// Of a secret as people write it, or of what `kept` was before; `nil` for what is empty, longer than 255 bytes or has a
    /// control character.
    init?(_ given: String) {
        guard AccountName.isValid(given) else { return nil }
        kept = Self.isKept(given) ? given : Self.digest(of: given)
    }

    func isSame(as password: String) -> Bool { Self.digest(of: password) == kept }

    private static let prefix = "sha256:"

    private static func digest(of text: String) -> String { prefix + Hex.encode(SHA256.hash(text.utf8)) }

    private static func isKept(_ text: String) -> Bool {
        guard text.hasPrefix(prefix), let bytes = Hex.decode(String(text.dropFirst(prefix.count))) else { return false }
        return bytes.count == 32
    }
}
