import Primitives

/// The content of a JWS that was not verified. Show it to developers, but never base a decision on it.
package struct UnverifiedJWS: Sendable {
    /// The header.
    package let unverifiedHeader: JSONValue
    /// The payload.
    package let unverifiedPayload: JSONValue
    /// The bytes of the payload.
    package let unverifiedPayloadBytes: [UInt8]
    /// The readable certificates of the header (x5c), the leaf first. They are parsed at each access.
    package var unverifiedCertificates: [Certificate] {
        (unverifiedHeader["x5c"]?.arrayValue ?? []).compactMap { element in
            element.stringValue.flatMap { Base64.decode($0) }.flatMap { try? Certificate(der: $0) }
        }
    }

    /// Decodes a compact JWS. Throws `malformed`, `payloadMalformed`, or `tooLarge` above one mebibyte.
    package init(unverified jws: String) throws(SignedDataError) {
        guard jws.utf8.count <= 1 << 20 else {
            throw SignedDataError(.tooLarge, "The JWS has more than a megabyte.")
        }
        let parts = try CompactJWS(Array(jws.utf8))
        let header = try parts.header()
        do { unverifiedHeader = try JSONValue(parsing: header, depth: 32) } catch {
            throw SignedDataError(
                .malformed, "The header is not JSON: \(Excerpt(error.description)).", underlying: error)
        }
        unverifiedPayloadBytes = try parts.payload()
        do { unverifiedPayload = try JSONValue(parsing: unverifiedPayloadBytes, depth: 32) } catch {
            throw SignedDataError(
                .payloadMalformed, "The payload is not JSON: \(Excerpt(error.description)).", underlying: error)
        }
    }
}
