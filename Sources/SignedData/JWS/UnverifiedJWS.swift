import Primitives

/// What a JWS says without anybody having checked that it is true: for showing to people, never for deciding.
package struct UnverifiedJWS: Sendable {
    /// The header, whatever it holds.
    package let unverifiedHeader: JSONValue
    /// The payload, whatever it holds.
    package let unverifiedPayload: JSONValue
    /// The payload's bytes.
    package let unverifiedPayloadBytes: [UInt8]
    /// The certificates of the header (x5c) that can be read, the leaf first. Reading them takes a while.
    package var unverifiedCertificates: [Certificate] {
        (unverifiedHeader["x5c"]?.arrayValue ?? []).compactMap { element in
            element.stringValue.flatMap { Base64.decode($0) }.flatMap { try? Certificate(der: $0) }
        }
    }

    /// Takes a compact JWS apart. Throws `malformed`, `payloadMalformed`, or `tooLarge` beyond a megabyte.
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
