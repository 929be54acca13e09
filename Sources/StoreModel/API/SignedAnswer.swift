import Primitives

/// The format of signed answers, to requests with `?nonce=`: the bytes that the server signs, and the headers with the
/// signature. Server and client compute the same bytes for the same answer. See Documentation/SignedAnswers.md.
///
///     let message = SignedAnswer.message(
///         nonce: nonce, target: "/v1/customers/anna?nonce=…", date: date, etag: etag, body: body)
///     try verifier.verify(signature.bytes, of: message, keyID: signature.keyID)
package enum SignedAnswer {
    /// The header with the signature.
    package static let signatureField = "Souk-Signature"
    /// The header with the time of the signature, in real time. Its text is part of the signed bytes.
    package static let dateField = "Souk-Signature-Date"
    /// The query item that requests a signed answer.
    package static let nonceItem = "nonce"
    /// The query item with the client's `requestDigest(environment:body:)`. The signature covers the query. A server
    /// that received another body or environment refuses the request and signs no answer.
    package static let requestDigestItem = "asked"
    /// The rule of `isNonce`, for error messages.
    package static let nonceRule = "1 to 128 visible ASCII characters"

    /// Returns whether `nonce` is a valid nonce, which fits on one line of the signed bytes.
    package static func isNonce(_ nonce: String) -> Bool {
        (1...128).contains(nonce.utf8.count) && nonce.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Returns the digest of a request's environment and body: the SHA-256 of two lines, in lower-case hexadecimal. The
    /// first line is the value of `Souk-Environment`, or empty without this header. The second line is the SHA-256 of
    /// the body in lower-case hexadecimal.
    package static func requestDigest(environment: String?, body: [UInt8]) -> String {
        Hex.encode(SHA256.hash(Array("\(environment ?? "")\n\(Hex.encode(SHA256.hash(body)))".utf8)))
    }

    /// Returns the bytes to sign: six lines, of which the last is the SHA-256 of the body in lower-case hexadecimal,
    /// without a line break after it. The line of the ETag is empty if the answer has none.
    ///
    /// - Parameters:
    ///   - nonce: The decoded query item.
    ///   - target: The path and query exactly as the server received them.
    ///   - date: The value of `Souk-Signature-Date`.
    ///   - etag: The value of `ETag`, or `nil`.
    ///   - body: The body of the answer.
    package static func message(nonce: String, target: String, date: String, etag: String?, body: [UInt8]) -> [UInt8] {
        message(nonce: nonce, target: target, date: date, etag: etag, bodyDigest: SHA256.hash(body))
    }

    /// Returns the signed bytes of an answer, given the SHA-256 of its body.
    package static func message(
        nonce: String, target: String, date: String, etag: String?, bodyDigest: [UInt8]
    ) -> [UInt8] {
        let lines = ["souk-1", nonce, target, date, etag ?? ""]
        var message: [UInt8] = []
        message.reserveCapacity(lines.reduce(2 * bodyDigest.count) { $0 + $1.utf8.count + 1 })
        for line in lines {
            message += line.utf8
            message.append(UInt8(ascii: "\n"))
        }
        message += Hex.encode(bodyDigest).utf8
        return message
    }

    /// The value of `Souk-Signature`: `keyid="…", ed25519=<base64>`.
    package struct Signature: Hashable, Sendable {
        /// The id of the key that made the signature, without quotation marks.
        package let keyID: String
        /// The 64 bytes of the signature (RFC 8032).
        package let bytes: [UInt8]

        package init(keyID: String, bytes: [UInt8]) {
            self.keyID = keyID
            self.bytes = bytes
        }

        /// Parses the header. Returns `nil` if the value does not have this form.
        package init?(parsing field: String) {
            let parts = field.split(separator: ",", maxSplits: 1)
            guard parts.count == 2, let keyID = Self.value(of: "keyid", in: parts[0]),
                let text = Self.value(of: "ed25519", in: parts[1]), let bytes = Base64.decode(text)
            else { return nil }
            guard keyID.count >= 2, keyID.first == "\"", keyID.last == "\"" else { return nil }
            self.init(keyID: String(keyID.dropFirst().dropLast()), bytes: bytes)
        }

        /// The value of the header.
        package var field: String { "keyid=\"\(keyID)\", ed25519=\(Base64.encode(bytes))" }

        private static func value(of name: String, in part: Substring) -> String? {
            let part = part.drop { $0 == " " }
            guard part.hasPrefix("\(name)=") else { return nil }
            return String(part.dropFirst(name.count + 1))
        }
    }
}

/// GET `/v1/signing-keys`: the past, current and future keys that sign answers, the current one first.
package struct SigningKeysAnswer: Codable, Hashable, Sendable {
    package var keys: [Key]

    package init(keys: [Key]) { self.keys = keys }

    package struct Key: Codable, Hashable, Sendable {
        package var id: String
        /// Always `ed25519`.
        package var algorithm: String
        /// The 32 bytes of the public key (RFC 8032) in base64.
        package var publicKey: String

        package init(id: String, algorithm: String = "ed25519", publicKey: String) {
            self.id = id
            self.algorithm = algorithm
            self.publicKey = publicKey
        }
    }
}
