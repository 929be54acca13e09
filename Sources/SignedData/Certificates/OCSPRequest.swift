import COpenSSL
import Foundation

/// The question whether one certificate was revoked, put to whoever answers for its issuer (RFC 6960 section 4.1).
struct OCSPRequest: Sendable {
    /// An OCSPRequest in DER: the body to post.
    let der: [UInt8]
    /// Where to post it.
    let responder: URL
    let issuer: Certificate

    /// Names the certificate by SHA-1 of its issuer's name and key and its serial number, as RFC 5019 section 2.1.1 asks
    /// for and every responder understands; the digest only finds the issuer and protects nothing.
    ///
    /// Throws `chainInvalid` when the certificate names no responder.
    init(about subject: Certificate, issuedBy issuer: Certificate, withNonce: Bool) throws(SignedDataError) {
        guard let responder = subject.ocspResponders.first else {
            throw SignedDataError(
                .chainInvalid,
                "The certificate \(Excerpt(subject.subject)) names no OCSP responder, and revocation is to be checked.")
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
        // 32 random bytes: RFC 9654 section 2.1.
        guard !withNonce || OCSP_request_add1_nonce(request, nil, 32) == 1,
            let der = OpenSSL.der({ i2d_OCSP_REQUEST(request, $0) })
        else { throw failure }
        self.der = der
    }
}

/// What is asked of the random number in an OCSP request (RFC 9654), which keeps old answers from being given again.
package enum OCSPNonce: Sendable {
    /// None is sent. What is too old is known by the answer's own dates alone.
    case none
    /// One is sent; an answer without it is accepted, for large stores answer with what they signed before (RFC 5019
    /// section 4), an answer with another is not.
    case preferred
    /// One is sent and must come back.
    case required
}
