import Primitives

/// What is signed of an answer to a request with `?nonce=`, and how the signature stands in the answer's headers (WIRE.md,
/// "Signed answers"). Server and client make the same bytes of the same answer.
///
///     let message = SignedAnswer.message(
///         nonce: nonce, target: "/v1/customers/anna?nonce=…", date: date, etag: etag, body: body)
///     try verifier.verify(signature.bytes, of: message, keyID: signature.keyID)
package enum SignedAnswer {
    /// The header with the signature.
    package static let signatureField = "Souk-Signature"
    /// The header that says when the answer was signed, in real time; its text is what was signed.
    package static let dateField = "Souk-Signature-Date"
    /// The query item by which a signed answer is asked for.
    package static let nonceItem = "nonce"
    /// The query item in which a client says what else it asked: `requestDigest(environment:body:)`. Path and query are signed,
    /// so a server that got another body, or another environment, refuses instead of signing an answer to that.
    package static let requestDigestItem = "asked"
    /// What a nonce must be, for refusals.
    package static let nonceRule = "1 to 128 visible ASCII characters"

    /// Whether `nonce` can stand on a line of its own.
    package static func isNonce(_ nonce: String) -> Bool {
        (1...128).contains(nonce.utf8.count) && nonce.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// What a request asks besides its path and query, in lower-case hexadecimal: the SHA-256 of two lines, the text of
    /// `Souk-Environment` (empty without one) and the SHA-256 of the body in the same form.
    package static func requestDigest(environment: String?, body: [UInt8]) -> String {
        Hex.encode(SHA256.hash(Array("\(environment ?? "")\n\(Hex.encode(SHA256.hash(body)))".utf8)))
    }

    /// The bytes that are signed: six lines, the last the SHA-256 of the body in lower-case hexadecimal, with nothing
    /// after it. A line is empty where the answer has no such header.
    ///
    /// - Parameters:
    ///   - nonce: the decoded query item.
    ///   - target: path and query exactly as the server received them.
    ///   - date: the text of `Souk-Signature-Date`.
    ///   - etag: the text of `ETag`.
    package static func message(nonce: String, target: String, date: String, etag: String?, body: [UInt8]) -> [UInt8] {
        let digest = Hex.encode(SHA256.hash(body))
        return Array("souk-1\n\(nonce)\n\(target)\n\(date)\n\(etag ?? "")\n\(digest)".utf8)
    }

    /// The value of `Souk-Signature`: `keyid="…", ed25519=<base64>`.
    package struct Signature: Hashable, Sendable {
        /// What the server calls the key it signed with; without quotation marks.
        package let keyID: String
        /// The 64 bytes of RFC 8032.
        package let bytes: [UInt8]

        package init(keyID: String, bytes: [UInt8]) {
            self.keyID = keyID
            self.bytes = bytes
        }

        /// Reads the header; `nil` when it is not of that form.
        package init?(parsing field: String) {
            let parts = field.split(separator: ",", maxSplits: 1)
            guard parts.count == 2, let keyID = Self.value(of: "keyid", in: parts[0]),
                let text = Self.value(of: "ed25519", in: parts[1]), let bytes = Base64.decode(text)
            else { return nil }
            guard keyID.count >= 2, keyID.first == "\"", keyID.last == "\"" else { return nil }
            self.init(keyID: String(keyID.dropFirst().dropLast()), bytes: bytes)
        }

        package var field: String { "keyid=\"\(keyID)\", ed25519=\(Base64.encode(bytes))" }

        private static func value(of name: String, in part: Substring) -> String? {
            let part = part.drop { $0 == " " }
            guard part.hasPrefix("\(name)=") else { return nil }
            return String(part.dropFirst(name.count + 1))
        }
    }
}

/// GET `/v1/signing-keys`: the keys that answers are or were or will be signed with, the current one first.
package struct SigningKeysAnswer: Codable, Hashable, Sendable {
    package var keys: [Key]

    package init(keys: [Key]) { self.keys = keys }

    package struct Key: Codable, Hashable, Sendable {
        package var id: String
        /// `ed25519`.
        package var algorithm: String
        /// Base64 of the 32 bytes of RFC 8032.
        package var publicKey: String

        package init(id: String, algorithm: String = "ed25519", publicKey: String) {
            self.id = id
            self.algorithm = algorithm
            self.publicKey = publicKey
        }
    }
}
