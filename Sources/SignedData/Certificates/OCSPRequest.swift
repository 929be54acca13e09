import COpenSSL
import Foundation

/// A request to an OCSP responder for the revocation status of one certificate (RFC 6960 section 4.1).
struct OCSPRequest: Sendable {
    /// The OCSPRequest in DER, which is the body to post.
    let der: [UInt8]
    /// The address to post it to.
    let responder: URL
    let issuer: Certificate

    /// Creates a request. It identifies the certificate by the SHA-1 of its issuer's name and key and by its serial
    /// number, as RFC 5019 section 2.1.1 requires. The digest only identifies the issuer; the security of the answer
    /// does not depend on it.
    ///
    /// A nonce has 32 bytes (RFC 9654 section 2.1). Throws `chainInvalid` if the certificate has no OCSP responder.
    init(about subject: Certificate, issuedBy issuer: Certificate, withNonce: Bool) throws(SignedDataError) {
        guard let responder = subject.ocspResponders.first else {
            throw SignedDataError(
                .chainInvalid,
                "The certificate \(Excerpt(subject.subject)) has no OCSP responder, so its revocation cannot be checked."
            )
        }
        self.responder = responder
        self.issuer = issuer
        let failure = OpenSSL.failed("make an OCSP request")
        guard let request = OCSP_REQUEST_new() else { throw failure }
        defer { OCSP_REQUEST_free(request) }
        guard let identifier = OCSP_cert_to_id(EVP_sha1(), subject.pointer, issuer.pointer) else { throw failure }
        guard OCSP_request_add0_id(request, identifier) != nil else {
            OCSP_CERTID_free(identifier)
            throw failure
        }
        guard !withNonce || OCSP_request_add1_nonce(request, nil, 32) == 1,
            let der = OpenSSL.der({ i2d_OCSP_REQUEST(request, $0) })
        else { throw failure }
        self.der = der
    }
}

/// The use of a nonce in OCSP requests (RFC 9654), which prevents the replay of old answers.
package enum OCSPNonce: Sendable {
    /// The request has no nonce. Old answers are detected only by their dates.
    case none
    /// The request has a nonce. An answer without a nonce is accepted, because large responders sign their answers in
    /// advance (RFC 5019 section 4). An answer with another nonce is refused.
    case preferred
    /// The request has a nonce, and the answer must have the same one.
    case required
}
