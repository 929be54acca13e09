import AppStorePayloads
import Primitives
import StoreModel

/// Signs payloads as the App Store does: ES256 with the chain in the header (`x5c`). All threads can share one signer.
///
///     let signer = JWSSigner(chain)
///     let payload = JWSTransactionDecodedPayload {
///         $0.transactionId = "1"
///         $0.signedDate = clock.now()
///     }
///     let jws = try signer.sign(payload)
public struct JWSSigner: Sendable {
    private let key: SigningKey
    private let header: String

    /// Creates a signer.
    ///
    /// - Parameter chain: The certificates and keys.
    public init(_ chain: SigningChain) {
        self.init(key: chain.leafKey, certificates: chain.certificates.map(\.der))
    }

    init(key: SigningKey, certificates: [[UInt8]]) {
        let chain = certificates.map { JSONValue.string(Base64.encode($0)) }
        self.init(key: key, header: ["alg": "ES256", "x5c": .array(chain)])
    }

    init(key: SigningKey, header: JSONValue) {
        self.key = key
        self.header = Base64.encodeURL(header.encoded())
    }

    /// Signs the JSON of a payload.
    ///
    /// - Parameter payload: The payload.
    /// - Returns: A compact JWS (RFC 7515).
    /// - Throws: `SignedDataError` with `cryptographyFailed`.
    public func sign(_ payload: AppStorePayload<some AppStorePayloadFields>) throws(SignedDataError) -> String {
        try sign(payload.json.encoded())
    }

    /// Signs bytes without a change.
    ///
    /// - Parameter payload: The bytes of the payload.
    /// - Returns: A compact JWS (RFC 7515).
    /// - Throws: `SignedDataError` with `cryptographyFailed`.
    public func sign(_ payload: [UInt8]) throws(SignedDataError) -> String {
        let input = header + "." + Base64.encodeURL(payload)
        return input + "." + Base64.encodeURL(try key.signature(of: Array(input.utf8)))
    }
}
