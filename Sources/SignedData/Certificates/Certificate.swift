import COpenSSL
import Foundation

/// An X.509 certificate (RFC 5280), parsed once and shared.
///
/// It is `Sendable` because `init` fills the caches in OpenSSL's X509 object, which does not change later.
package final class Certificate: @unchecked Sendable {
    let pointer: OpaquePointer

    /// The bytes of the certificate.
    package let der: [UInt8]
    /// The SHA-256 of `der`: 32 bytes.
    package let fingerprint: [UInt8]
    /// The first and the last second at which the certificate is valid.
    package let validity: ClosedRange<Date>

    /// Creates a certificate from DER. No byte may follow it, and no other encoding is accepted (X.690 section 10), so
    /// that a certificate has one fingerprint. Throws `certificateMalformed`.
    package convenience init(der: [UInt8]) throws(SignedDataError) {
        let pointer = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var cursor = bytes.baseAddress
            guard let certificate = d2i_X509(nil, &cursor, bytes.count) else { return nil }
            // OpenSSL also reads BER, but writes DER, except for the signed part, which it writes unchanged.
            let isWhole = cursor == bytes.baseAddress.map { $0 + bytes.count }
            if isWhole, OpenSSL.der({ i2d_X509(certificate, $0) })?.elementsEqual(bytes) == true { return certificate }
            X509_free(certificate)
            return nil
        }
        guard let pointer else {
            OpenSSL.clearErrors()
            throw SignedDataError(.certificateMalformed, "A certificate is not X.509 in DER.")
        }
        try self.init(owning: pointer, der: der)
    }

    /// Creates a certificate from DER, or from the first certificate in PEM. Throws `certificateMalformed`, also for a
    /// damaged later certificate in PEM.
    package convenience init(_ encoded: [UInt8]) throws(SignedDataError) {
        guard PEM.isPEM(encoded) else {
            try self.init(der: encoded)
            return
        }
        guard let first = try Self.all(inPEM: encoded).first else {
            throw SignedDataError(.certificateMalformed, "There is no certificate in the PEM text.")
        }
        try self.init(der: first.der)
    }

    /// Creates a certificate from an OpenSSL reference and takes ownership of the reference.
    init(owning pointer: OpaquePointer, der: [UInt8]) throws(SignedDataError) {
        self.pointer = pointer
        self.der = der
        fingerprint = MessageDigest.sha256(der)
        // Fills OpenSSL's caches before threads share the certificate.
        X509_check_purpose(pointer, -1, 0)
        let isReadable = X509_get_extension_flags(pointer) & UInt32(EXFLAG_INVALID) == 0
        if let start = Self.instant(X509_get0_notBefore(pointer)), let end = Self.instant(X509_get0_notAfter(pointer)),
            start <= end, isReadable
        {
            validity = start...end
        } else {
            validity = Date.distantPast...Date.distantPast
            OpenSSL.clearErrors()
            throw SignedDataError(.certificateMalformed, "A certificate has extensions or dates that cannot be read.")
        }
    }

    deinit { X509_free(pointer) }

    /// Returns the certificates in PEM, in their order. Throws `certificateMalformed` if one cannot be read.
    package static func all(inPEM text: [UInt8]) throws(SignedDataError) -> [Certificate] {
        var encoded: [[UInt8]] = []
        var isDamaged = false
        _ = OpenSSL.reading(text) { bio -> Bool? in
            while let certificate = PEM_read_bio_X509(bio, nil, nil, nil) {
                encoded.append(OpenSSL.der { i2d_X509(certificate, $0) } ?? [])
                X509_free(certificate)
            }
            // After the last certificate, OpenSSL finds no line that begins another.
            isDamaged = ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE
            return nil
        }
        guard !isDamaged else {
            throw SignedDataError(
                .certificateMalformed, "The certificate \(encoded.count + 1) of the PEM text cannot be read.")
        }
        var certificates: [Certificate] = []
        for der in encoded { certificates.append(try Certificate(der: der)) }
        return certificates
    }

    /// The certificate in PEM.
    package var pem: String {
        String(decoding: OpenSSL.written { PEM_write_bio_X509($0, self.pointer) } ?? [], as: UTF8.self)
    }

    /// The name of the subject on one line (RFC 2253).
    package var subject: String { Self.line(X509_get_subject_name(pointer)) }
    /// The name of the issuer on one line (RFC 2253).
    package var issuer: String { Self.line(X509_get_issuer_name(pointer)) }

    /// Whether the certificate may sign certificates, by its basic constraints.
    package var isCertificateAuthority: Bool { X509_check_ca(pointer) == 1 }

    /// Whether this is a root of version 1, which has no extensions. It may sign certificates if it is trusted.
    var isRootOfVersion1: Bool { X509_check_ca(pointer) == 3 }

    /// Returns whether the certificate has the extension with a dotted object identifier.
    package func hasExtension(_ identifier: String) -> Bool {
        guard let object = OBJ_txt2obj(identifier, 1) else { return false }
        defer { ASN1_OBJECT_free(object) }
        return X509_get_ext_by_OBJ(pointer, object, -1) >= 0
    }

    /// The HTTP addresses of the issuer's OCSP responders, in their order: `id-ad-ocsp` of authority information access
    /// (RFC 5280 section 4.2.2.1).
    var ocspResponders: [URL] {
        guard let texts = X509_get1_ocsp(pointer) else { return [] }
        defer { X509_email_free(texts) }
        return (0..<souk_text_stack_count(texts)).compactMap { index in
            guard let text = souk_text_stack_element(texts, index), let url = URL(string: String(cString: text)),
                let host = url.host, !host.isEmpty
            else { return nil }
            return ["http", "https"].contains(url.scheme?.lowercased()) ? url : nil
        }
    }

    /// Returns whether both certificates have the same subject and key.
    func isSameAuthority(as other: Certificate) -> Bool {
        guard X509_NAME_cmp(X509_get_subject_name(pointer), X509_get_subject_name(other.pointer)) == 0,
            let key = X509_get0_pubkey(pointer), let otherKey = X509_get0_pubkey(other.pointer)
        else {
            OpenSSL.clearErrors()
            return false
        }
        return EVP_PKEY_eq(key, otherKey) == 1
    }

    /// Whether the subject is the issuer and the certificate's own key signed it.
    var isSelfSigned: Bool {
        defer { OpenSSL.clearErrors() }
        guard X509_NAME_cmp(X509_get_subject_name(pointer), X509_get_issuer_name(pointer)) == 0,
            let key = X509_get0_pubkey(pointer)
        else { return false }
        return X509_verify(pointer, key) == 1
    }

    /// Returns the public key if it can verify ES256, otherwise `nil`.
    func verificationKey() -> VerificationKey? {
        defer { OpenSSL.clearErrors() }
        return X509_get_pubkey(pointer).flatMap { VerificationKey(owning: $0) }
    }

    private static func line(_ name: OpaquePointer?) -> String {
        guard let name else { return "" }
        let text = OpenSSL.written { souk_print_name($0, name) }
        return String(decoding: text ?? [], as: UTF8.self)
    }

    static func instant(_ time: UnsafePointer<ASN1_TIME>?) -> Date? {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(timegm(&parts)))
    }
}

extension Certificate: Hashable {
    package static func == (left: Certificate, right: Certificate) -> Bool { left.der == right.der }
    package func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }
}
