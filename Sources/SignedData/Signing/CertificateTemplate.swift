import COpenSSL
import Foundation

/// The content of a certificate to issue. The defaults of the three roles satisfy strict verifiers (RFC 5280 and
/// OpenSSL's `X509_V_FLAG_X509_STRICT`): key identifiers, critical basic constraints and key usage.
struct CertificateTemplate {
    /// The certificate and key of the authority that signs.
    struct Issuer {
        let certificate: Certificate
        let key: SigningKey
    }

    var commonName: String
    var organization = "Souk"
    /// The value of basic constraints in OpenSSL's notation; `nil` leaves the extension out.
    var basicConstraints: String?
    /// The value of key usage in OpenSSL's notation; `nil` leaves the extension out.
    var keyUsage: String?
    /// The value of extended key usage in OpenSSL's notation; `nil` leaves the extension out.
    var extendedKeyUsage: String?
    /// The address of the OCSP responder (authority information access), or `nil` for none.
    var ocspResponder: String?
    /// Extensions that only mark a certificate, with the ASN.1 value NULL as in Apple's.
    var markers: [String] = []
    /// The validity. It begins before the first transaction and ends in the last year that RFC 5280 allows, because
    /// virtual clocks can show any date.
    var notBefore = "19700101000000Z"
    var notAfter = "99991231235959Z"

    static let root = CertificateTemplate(
        commonName: "Souk Test Root CA", basicConstraints: "critical,CA:TRUE",
        keyUsage: "critical,keyCertSign,cRLSign")
    static let intermediate = CertificateTemplate(
        commonName: "Souk Test Store Relations CA", basicConstraints: "critical,CA:TRUE,pathlen:0",
        keyUsage: "critical,keyCertSign,cRLSign", markers: [CertificateChain.intermediateMarker])
    static let leaf = CertificateTemplate(
        commonName: "Souk Test Store Receipt Signing", basicConstraints: "critical,CA:FALSE",
        keyUsage: "critical,digitalSignature", markers: [CertificateChain.leafMarker])

    /// Returns a certificate for `key`, signed by `issuer` or, without one, by `key` itself. Throws
    /// `cryptographyFailed`.
    func issue(for key: SigningKey, by issuer: Issuer?) throws(SignedDataError) -> Certificate {
        let failure = OpenSSL.failed("make the certificate \(commonName)")
        guard let certificate = X509_new(), let subject = X509_NAME_new() else { throw failure }
        defer {
            X509_free(certificate)
            X509_NAME_free(subject)
        }
        let issuerName = issuer.map { X509_get_subject_name($0.certificate.pointer) } ?? subject
        guard X509_set_version(certificate, 2) == 1, setSerialNumber(of: certificate),
            add(commonName, "CN", to: subject), add(organization, "O", to: subject),
            X509_set_subject_name(certificate, subject) == 1, X509_set_issuer_name(certificate, issuerName) == 1,
            ASN1_TIME_set_string_X509(X509_getm_notBefore(certificate), notBefore) == 1,
            ASN1_TIME_set_string_X509(X509_getm_notAfter(certificate), notAfter) == 1,
            X509_set_pubkey(certificate, key.pointer) == 1,
            addExtensions(to: certificate, issuer: issuer?.certificate.pointer ?? certificate),
            X509_sign(certificate, issuer?.key.pointer ?? key.pointer, EVP_sha256()) > 0,
            let der = OpenSSL.der({ i2d_X509(certificate, $0) })
        else { throw failure }
        return try Certificate(der: der)
    }

    /// Sets a positive serial number with 126 random bits, which is unpredictable and unique.
    private func setSerialNumber(of certificate: OpaquePointer) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 16)
        guard RAND_bytes(&bytes, 16) == 1 else { return false }
        bytes[0] = bytes[0] & 0x7F | 0x40
        guard let number = BN_bin2bn(bytes, 16, nil) else { return false }
        defer { BN_free(number) }
        return BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil
    }

    private func add(_ text: String, _ field: String, to name: OpaquePointer) -> Bool {
        X509_NAME_add_entry_by_txt(name, field, MBSTRING_FLAG | 0, Array(text.utf8), Int32(text.utf8.count), -1, 0) == 1
    }

    private func addExtensions(to certificate: OpaquePointer, issuer: OpaquePointer) -> Bool {
        var extensions = [(NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid:always")]
        if let basicConstraints { extensions.append((NID_basic_constraints, basicConstraints)) }
        if let keyUsage { extensions.append((NID_key_usage, keyUsage)) }
        if let extendedKeyUsage { extensions.append((NID_ext_key_usage, extendedKeyUsage)) }
        if let ocspResponder { extensions.append((NID_info_access, "OCSP;URI:\(ocspResponder)")) }
        for (identifier, value) in extensions {
            // A new context for each: the root's authority key identifier reads the subject key identifier just added.
            var context = X509V3_CTX()
            X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
            guard let made = X509V3_EXT_conf_nid(nil, &context, identifier, value) else { return false }
            defer { X509_EXTENSION_free(made) }
            guard X509_add_ext(certificate, made, -1) == 1 else { return false }
        }
        return markers.allSatisfy { addMarker($0, to: certificate) }
    }

    private func addMarker(_ identifier: String, to certificate: OpaquePointer) -> Bool {
        guard let object = OBJ_txt2obj(identifier, 1), let value = ASN1_OCTET_STRING_new() else { return false }
        defer {
            ASN1_OBJECT_free(object)
            ASN1_OCTET_STRING_free(value)
        }
        guard ASN1_OCTET_STRING_set(value, [0x05, 0x00], 2) == 1,
            let made = X509_EXTENSION_create_by_OBJ(nil, object, 0, value)
        else { return false }
        defer { X509_EXTENSION_free(made) }
        return X509_add_ext(certificate, made, -1) == 1
    }
}
