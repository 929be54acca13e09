import COpenSSL
import Foundation
import Primitives

/// A verified answer of an OCSP responder about one certificate (RFC 6960 section 3.2).
struct OCSPAnswer: Sendable, Equatable {
    let isRevoked: Bool
    /// The end of the time in which the answer may be used.
    let validUntil: Date

    struct Rules: Sendable {
        var nonce: OCSPNonce
        /// The allowed difference from the responder's clock.
        var tolerance: TimeInterval
        /// The time for which an answer without an end is used.
        var lifetime: TimeInterval
        var maximumLength: Int
    }

    /// Verifies the bytes that a responder sent for `request`.
    ///
    /// Throws `onlineCheckFailed` if the answer is too long, is malformed, is an error, is about another certificate or
    /// has the status `unknown`. Also throws it if the signer is not authorised, the answer is too old or from the
    /// future, or its nonce breaks the rule `nonce`.
    init(
        _ response: [UInt8], to request: OCSPRequest, trusting anchor: Certificate, at now: Date, rules: Rules
    ) throws(SignedDataError) {
        defer { OpenSSL.clearErrors() }
        guard response.count <= rules.maximumLength else {
            throw Self.refusal("It has \(response.count) bytes; at most \(rules.maximumLength) are read.")
        }
        guard let basic = try Self.basicResponse(in: response) else {
            throw Self.refusal("It is not an OCSP response in DER.")
        }
        defer { OCSP_BASICRESP_free(basic) }
        guard let requested = Self.parsed(request.der, { d2i_OCSP_REQUEST(nil, $0, $1) }, OCSP_REQUEST_free) else {
            throw OpenSSL.failed("read an OCSP request again")
        }
        defer { OCSP_REQUEST_free(requested) }
        try Self.checkNonce(of: requested, in: basic, rule: rules.nonce)
        try Self.checkSignature(of: basic, issuer: request.issuer, anchor: anchor, at: now)
        let single = try Self.answer(to: requested, in: basic)
        let status = OCSP_single_get0_status(single, nil, nil, nil, nil)
        validUntil = try Self.end(of: single, at: now, rules: rules)
        switch status {
        case V_OCSP_CERTSTATUS_GOOD: isRevoked = false
        case V_OCSP_CERTSTATUS_REVOKED: isRevoked = true
        default: throw Self.refusal("The responder does not know the certificate.")
        }
    }

    private static func refusal(_ reason: String) -> SignedDataError {
        SignedDataError(.onlineCheckFailed, "The OCSP answer cannot be used. \(reason)")
    }

    /// Returns the value that `read` parses from all of `der`, or `nil` if `read` fails or bytes follow the value.
    private static func parsed(
        _ der: [UInt8], _ read: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?,
        _ free: (OpaquePointer?) -> Void
    ) -> OpaquePointer? {
        der.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            guard let value = read(&cursor, bytes.count) else { return nil }
            if cursor == bytes.baseAddress.map({ $0 + bytes.count }) { return value }
            free(value)
            return nil
        }
    }

    /// Returns the signed part of a response, or `nil` if it cannot be read.
    private static func basicResponse(in der: [UInt8]) throws(SignedDataError) -> OpaquePointer? {
        guard let response = parsed(der, { d2i_OCSP_RESPONSE(nil, $0, $1) }, OCSP_RESPONSE_free) else { return nil }
        defer { OCSP_RESPONSE_free(response) }
        let status = OCSP_response_status(response)
        guard status == OCSP_RESPONSE_STATUS_SUCCESSFUL else {
            let words = OCSP_response_status_str(Int(status)).map { String(cString: $0) } ?? "status \(status)"
            throw refusal("The responder returned an error: \(words).")
        }
        return OCSP_response_get1_basic(response)
    }

    /// Compares the nonces of request and response. OpenSSL returns 1 if they are equal, 0 if they differ, 2 if there
    /// is none, 3 if only the response has one, and -1 if only the request has one.
    private static func checkNonce(
        of request: OpaquePointer, in response: OpaquePointer, rule: OCSPNonce
    ) throws(SignedDataError) {
        let comparison = OCSP_check_nonce(request, response)
        let isAccepted =
            switch rule {
            case .none: comparison == 2 || comparison == 3
            case .preferred: comparison == 1 || comparison == -1
            case .required: comparison == 1
            }
        guard isAccepted else { throw refusal("Its nonce is not the one sent, so the answer may be an old one.") }
    }

    /// Checks that the answer was signed by the certificate's issuer, or by a responder whose certificate this issuer
    /// signed for OCSP (RFC 6960 section 4.2.2.2). The certificate chain of the signer must lead to the anchor at
    /// `now`.
    private static func checkSignature(
        of response: OpaquePointer, issuer: Certificate, anchor: Certificate, at now: Date
    ) throws(SignedDataError) {
        var others: [OpaquePointer?] = [issuer.pointer]
        guard let store = X509_STORE_new(), let otherStack = souk_x509_stack(&others, 1) else {
            throw OpenSSL.failed("prepare the verification of an OCSP answer")
        }
        defer {
            X509_STORE_free(store)
            souk_x509_stack_free(otherStack)
        }
        guard X509_STORE_add_cert(store, anchor.pointer) == 1, let parameters = X509_STORE_get0_param(store) else {
            throw OpenSSL.failed("prepare the verification of an OCSP answer")
        }
        X509_VERIFY_PARAM_set_time(parameters, time_t(now.timeIntervalSince1970))
        X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        // Without NOEXPLICIT, any certificate under a root trusted for OCSP could answer.
        guard OCSP_basic_verify(response, otherStack, store, UInt(OCSP_NOEXPLICIT)) == 1 else {
            throw refusal("It is not signed by a responder of the issuer \(Excerpt(issuer.subject)).")
        }
    }

    /// Returns the single answer about the requested certificate.
    private static func answer(
        to request: OpaquePointer, in response: OpaquePointer
    ) throws(SignedDataError) -> OpaquePointer {
        guard let firstRequest = OCSP_request_onereq_get0(request, 0), let requested = OCSP_onereq_get0_id(firstRequest)
        else {
            throw OpenSSL.failed("read an OCSP request again")
        }
        let matches = (0..<OCSP_resp_count(response)).compactMap { OCSP_resp_get0(response, $0) }
            .filter { OCSP_id_cmp(requested, OCSP_SINGLERESP_get0_id($0)) == 0 }
        guard let only = matches.first, matches.count == 1 else {
            throw refusal(
                matches.isEmpty ? "It is about another certificate." : "It has more than one status of the certificate."
            )
        }
        return only
    }

    /// Checks that an answer is current (RFC 6960 section 3.2, conditions 5 and 6), and returns the end of its
    /// validity. The tolerance extends the validity at both ends.
    private static func end(
        of single: OpaquePointer, at now: Date, rules: Rules
    ) throws(SignedDataError) -> Date {
        var thisUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        _ = OCSP_single_get0_status(single, nil, nil, &thisUpdate, &nextUpdate)
        guard let start = Certificate.instant(thisUpdate) else { throw refusal("It has no date (thisUpdate).") }
        var end = start.addingTimeInterval(rules.lifetime)
        if let nextUpdate {
            guard let next = Certificate.instant(nextUpdate) else { throw refusal("Its nextUpdate cannot be read.") }
            end = next
        }
        guard start <= end, start <= now.addingTimeInterval(rules.tolerance) else {
            throw refusal("It is from the future: \(RFC3339.string(from: start)).")
        }
        end = end.addingTimeInterval(rules.tolerance)
        guard now < end else { throw refusal("It was valid until \(RFC3339.string(from: end)) and is too old.") }
        return end
    }
}
