import Primitives

/// A JWS in compact serialization (RFC 7515 section 3.1), split into its segments. Nothing is decoded yet.
struct CompactJWS {
    let bytes: [UInt8]
    private let firstDot: Int
    private let secondDot: Int

    /// Splits a JWS. Throws `malformed` unless there are exactly three segments, none of them empty.
    init(_ bytes: [UInt8]) throws(SignedDataError) {
        self.bytes = bytes
        let dot = UInt8(ascii: ".")
        guard let first = bytes.index(ofByte: dot), let second = bytes.index(ofByte: dot, from: first + 1),
            bytes.index(ofByte: dot, from: second + 1) == nil, first > 0, second > first + 1, second + 1 < bytes.count
        else { throw SignedDataError(.malformed, "A JWS is three segments with dots between them.") }
        firstDot = first
        secondDot = second
    }

    /// The encoded header. Documents of one signer have the same header.
    var headerSegment: ArraySlice<UInt8> { bytes[..<firstDot] }
    /// The range of the signed bytes.
    var signingInput: Range<Int> { 0..<secondDot }

    /// Returns the SHA-256 of the signed bytes: the header, a dot and the payload.
    ///
    /// - Parameter header: The digest of the encoded header, if it is known; `nil` to hash the header too.
    func signingDigest(continuing header: DigestPrefix?) -> [UInt8] { digest(..<secondDot, header) }

    /// Returns the SHA-256 of the whole document.
    ///
    /// - Parameter header: The digest of the encoded header, if it is known; `nil` to hash the header too.
    func digest(continuing header: DigestPrefix?) -> [UInt8] { digest(..<bytes.count, header) }

    private func digest(_ range: PartialRangeUpTo<Int>, _ header: DigestPrefix?) -> [UInt8] {
        bytes.withUnsafeBytes { bytes in
            guard let header else { return MessageDigest.sha256(UnsafeRawBufferPointer(rebasing: bytes[range])) }
            return header.sha256(continuing: UnsafeRawBufferPointer(rebasing: bytes[firstDot..<range.upperBound]))
        }
    }

    /// Returns the decoded payload. Throws `malformed` unless the segment is canonical base64url without padding.
    func payload() throws(SignedDataError) -> [UInt8] { try decoded(firstDot + 1..<secondDot, "payload") }
    func signature() throws(SignedDataError) -> [UInt8] { try decoded(secondDot + 1..<bytes.count, "signature") }
    func header() throws(SignedDataError) -> [UInt8] { try decoded(0..<firstDot, "header") }

    private func decoded(_ range: Range<Int>, _ name: String) throws(SignedDataError) -> [UInt8] {
        guard let decoded = Base64.decodeURL(bytes[range]) else {
            throw SignedDataError(.malformed, "The \(name) is not canonical base64url without padding.")
        }
        return decoded
    }
}

/// The protected header of a signed document (RFC 7515 section 4.1, Apple: `JWSDecodedHeader`), with ES256 and a chain.
struct JWSHeader {
    /// The certificates in DER, the leaf first: three or one. `CertificateChain` decides which number is accepted.
    let certificates: [[UInt8]]

    init(_ encoded: [UInt8]) throws(SignedDataError) {
        let json: JSONValue
        do { json = try JSONValue(parsing: encoded, depth: 8) } catch {
            throw SignedDataError(
                .malformed, "The header is not JSON: \(Excerpt(error.description)).", underlying: error)
        }
        guard case .object(let members) = json else {
            throw SignedDataError(.malformed, "The header is not a JSON object.")
        }
        // RFC 7515 section 4.1.11: unknown critical extensions must be refused, and none are known here.
        guard members["crit"] == nil else {
            throw SignedDataError(.malformed, "The header demands extensions (crit) that are not known here.")
        }
        guard let algorithm = members["alg"]?.stringValue else {
            throw SignedDataError(.malformed, "The header has no algorithm (alg).")
        }
        // RFC 7515 section 4.1.1. Other algorithms of the header are refused, among them `none` and HS256.
        guard algorithm == "ES256" else {
            throw SignedDataError(.unsupportedAlgorithm, "The algorithm is not ES256, the only one accepted.")
        }
        guard let chain = members["x5c"] else {
            throw SignedDataError(.missingCertificateChain, "The header has no certificate chain (x5c).")
        }
        certificates = try Self.certificates(chain)
    }

    /// Decodes the chain (RFC 7515 section 4.1.6): standard base64 of DER, the leaf first.
    private static func certificates(_ chain: JSONValue) throws(SignedDataError) -> [[UInt8]] {
        guard case .array(let elements) = chain else {
            throw SignedDataError(.malformed, "The certificate chain (x5c) is not an array.")
        }
        guard elements.count == 3 || elements.count == 1 else {
            throw SignedDataError(.chainLength, "The chain has \(elements.count) certificates; it must have three.")
        }
        var certificates: [[UInt8]] = []
        for element in elements {
            guard case .string(let text) = element, let der = Base64.decode(text), !der.isEmpty else {
                throw SignedDataError(
                    .certificateMalformed, "A certificate of the chain (x5c) is not canonical base64.")
            }
            certificates.append(der)
        }
        return certificates
    }
}
