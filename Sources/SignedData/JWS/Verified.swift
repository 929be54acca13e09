import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// A payload whose signature and chain were verified. Only `SignedDataVerifier` creates it, so a function that takes
/// one needs no check of its own.
public struct Verified<Payload: Sendable>: Sendable {
    /// The payload.
    public let payload: Payload
    /// The bytes of the payload as they were signed.
    public let payloadBytes: [UInt8]
    /// The SHA-256 of `payloadBytes`, which identifies the fact. The same bytes signed twice have the same digest.
    public let payloadDigest: [UInt8]
    /// The date of the signature, as the payload states it.
    public let signedDate: Date
    /// The certificates of the signer.
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
    /// Returns whether the same bytes were signed.
    public static func == (left: Verified, right: Verified) -> Bool { left.payloadBytes == right.payloadBytes }
}

/// A verified notification with its verified documents.
public struct VerifiedNotification: Sendable {
    /// The notification.
    public let notification: Verified<ResponseBodyV2DecodedPayload>
    /// The transaction in `data.signedTransactionInfo`, or `nil` if there is none.
    public let transaction: Verified<JWSTransactionDecodedPayload>?
    /// The renewal info in `data.signedRenewalInfo`, or `nil` if there is none.
    public let renewalInfo: Verified<JWSRenewalInfoDecodedPayload>?
    /// The app transaction in `appData.signedAppTransactionInfo`, or `nil` if there is none.
    public let appTransaction: Verified<AppTransaction>?

    /// The payload of the notification.
    public var payload: ResponseBodyV2DecodedPayload { notification.payload }
    /// The environment of the notification, or `nil` if the payload does not state it.
    public var environment: AppStoreEnvironment? { payload.audience?.environment }
}

/// A document with a valid signature, before the check of its app and environment.
final class VerifiedDocument: Sendable {
    let members: JSONMembers
    /// The app and environment that the payload is for, which each verification checks.
    let audience: Audience?
    let payloadBytes: [UInt8]
    let payloadDigest: [UInt8]
    let signedDate: Date
    let chain: CertificateChain

    init(
        members: JSONMembers, audience: Audience?, payloadBytes: [UInt8], signedDate: Date, chain: CertificateChain
    ) {
        self.members = members
        self.audience = audience
        self.payloadBytes = payloadBytes
        self.signedDate = signedDate
        self.chain = chain
        payloadDigest = MessageDigest.sha256(payloadBytes)
    }
}
