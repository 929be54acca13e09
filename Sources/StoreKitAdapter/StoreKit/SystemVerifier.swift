import Foundation
import Primitives
import StoreModel

/// Accepts transactions whose signature the system has verified on this device. StoreKit checks the signature of each
/// transaction that it returns. A store with this `localVerifier` gives provisional access without OpenSSL.
///
///     let connection = StoreKitConnection(configuration: .init())
///     configuration.connection = connection
///     configuration.localVerifier = connection.verifier
package final class SystemVerifier: TransactionVerifier {
    /// A transaction that the system has not verified.
    package struct Unverified: Error, CustomStringConvertible {
        package var description: String { "The system has not verified this transaction on this device." }
    }

    private struct Known {
        var digests: Set<[UInt8]> = []
        var order: [[UInt8]] = []
    }

    /// The number of transactions to remember. A device has few unfinished ones.
    private static let capacity = 1000
    private let known = Locked(Known())

    init() {}

    /// Records that the system verified the signature of this JWS.
    func recordVerified(_ signedTransaction: String) {
        let digest = SHA256.hash(Array(signedTransaction.utf8))
        known.withLock { known in
            guard known.digests.insert(digest).inserted else { return }
            known.order.append(digest)
            if known.order.count > Self.capacity { known.digests.remove(known.order.removeFirst()) }
        }
    }

    /// Verifies a signed transaction.
    ///
    /// - Parameter signedTransaction: The JWS of the transaction.
    /// - Returns: The fields of the transaction.
    /// - Throws: `Unverified` if the system has not verified it; `JSONError` or `DecodingError` if the payload is
    ///   malformed.
    package func verify(_ signedTransaction: String) async throws -> VerifiedTransaction {
        let digest = SHA256.hash(Array(signedTransaction.utf8))
        guard known.withLock({ $0.digests.contains(digest) }) else { throw Unverified() }
        let parts = signedTransaction.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64.decodeURL(String(parts[1])) else { throw Unverified() }
        return VerifiedTransaction(try JSONValue(parsing: payload).decode(Payload.self))
    }
}

/// The members of Apple's `JWSTransactionDecodedPayload` that decide about provisional access.
private struct Payload: Decodable {
    let transactionId: String?
    let originalTransactionId: String?
    let productId: String?
    let type: String?
    let purchaseDate: Milliseconds?
    let expiresDate: Milliseconds?
    let revocationDate: Milliseconds?
    let isUpgraded: Bool?
    let appAccountToken: String?

    /// A date in milliseconds since 1970, in the range of years that RFC 3339 can represent.
    struct Milliseconds: Decodable {
        let date: Date

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            date = Date(timeIntervalSince1970: try container.decode(Double.self) / 1000)
            guard RFC3339.hasText(for: date) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "The date is out of range.")
            }
        }
    }
}

extension VerifiedTransaction {
    fileprivate init(_ payload: Payload) {
        self.init(
            id: payload.transactionId.flatMap { TransactionID(rawValue: $0) },
            originalID: payload.originalTransactionId.flatMap { TransactionID(rawValue: $0) },
            productID: payload.productId.flatMap { ProductID(rawValue: $0) },
            kind: payload.type.map { ProductType(apple: $0) }, purchaseDate: payload.purchaseDate?.date,
            expiresDate: payload.expiresDate?.date, revocationDate: payload.revocationDate?.date,
            isUpgraded: payload.isUpgraded ?? false, appAccountToken: payload.appAccountToken.flatMap { UUID(text: $0) }
        )
    }
}
