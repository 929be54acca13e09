import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// A payload whose signature and chain hold. Only `SignedDataVerifier` makes one, so a function that takes one needs no
/// check of its own.
public struct Verified<Payload: Sendable>: Sendable {
    /// What was signed.
    public let payload: Payload
    /// The payload's bytes as they were signed.
    public let payloadBytes: [UInt8]
    /// SHA-256 of `payloadBytes`: the identity of the fact. The same fact signed twice with the same words has the same one.
    public let payloadDigest: [UInt8]
    /// When the store signed it, by its own word.
    public let signedDate: Date
    /// Who signed it.
    package let chain: CertificateChain

    init(_ payload: Payload, _ document: VerifiedDocument) {
        self.payload = payload
        payloadBytes = document.payloadBytes
        payloadDigest = document.payloadDigest
        signedDate = document.signedDate
        chain = document.chain
    }
}

extension Verified: Equatable where Payload: Equatable {
    /// Equal when the same bytes were signed.
    public static func == (left: Verified, right: Verified) -> Bool { left.payloadBytes == right.payloadBytes }
}

/// A verified notification with what is signed inside it, each part verified by itself.
public struct VerifiedNotification: Sendable {
    public let notification: Verified<ResponseBodyV2DecodedPayload>
    /// From `data.signedTransactionInfo`.
    public let transaction: Verified<JWSTransactionDecodedPayload>?
    /// From `data.signedRenewalInfo`.
    public let renewalInfo: Verified<JWSRenewalInfoDecodedPayload>?
    /// From `appData.signedAppTransactionInfo`.
    public let appTransaction: Verified<AppTransaction>?

    public var payload: ResponseBodyV2DecodedPayload { notification.payload }
    /// The store it is from; `nil` when the part that would say so is missing.
    public var environment: AppStoreEnvironment? { payload.audience?.environment }
}

/// What verification found, before anybody asked whom it is for.
final class VerifiedDocument: Sendable {
    let members: JSONMembers
    let payloadBytes: [UInt8]
    let payloadDigest: [UInt8]
    let signedDate: Date
    let chain: CertificateChain

    init(members: JSONMembers, payloadBytes: [UInt8], signedDate: Date, chain: CertificateChain) {
        self.members = members
        self.payloadBytes = payloadBytes
        self.signedDate = signedDate
        self.chain = chain
        payloadDigest = MessageDigest.sha256(payloadBytes)
    }
}
