import Primitives
import StoreModel

/// Believes the transactions whose signature the system itself verified on this device: StoreKit does so for each that it
/// hands out. A store that has it as its `localVerifier` gives provisional access without OpenSSL.
///
///     let connection = StoreKitConnection()
///     configuration.connection = connection
///     configuration.localVerifier = connection.verifier
public final class SystemVerifier: TransactionVerifier {
    /// A transaction that the system has not verified.
    public struct Unverified: Error, CustomStringConvertible {
        public var description: String { "The system has not verified this transaction on this device." }
    }

    private struct Known {
        var digests: Set<[UInt8]> = []
        var order: [[UInt8]] = []
    }

    /// So many of the latest are remembered; a device has few that are unfinished.
    private static let capacity = 1000
    private let known = Locked(Known())

    init() {}

    /// Notes that the system found the signature of this JWS good.
    func note(_ signedTransaction: String) {
        let digest = SHA256.hash(Array(signedTransaction.utf8))
        known.withLock { known in
            guard known.digests.insert(digest).inserted else { return }
            known.order.append(digest)
            if known.order.count > Self.capacity { known.digests.remove(known.order.removeFirst()) }
        }
    }

    /// Throws `Unverified`, and `AppStorePayloadError` or `JSONError` for a payload that is not one of Apple's.
    public func verify(_ signedTransaction: String) async throws -> JWSTransactionDecodedPayload {
        let digest = SHA256.hash(Array(signedTransaction.utf8))
        guard known.withLock({ $0.digests.contains(digest) }) else { throw Unverified() }
        let parts = signedTransaction.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64.decodeURL(String(parts[1])) else { throw Unverified() }
        return try JWSTransactionDecodedPayload(json: JSONValue(parsing: payload))
    }
}
