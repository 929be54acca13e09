import COpenSSL
import Foundation

/// A signer of receipts whose certificates and signatures use 2048-bit RSA, as Apple's do. It has a root certificate,
/// and an intermediate and a leaf with Apple's marker extensions. It signs with `CMS_sign`.
struct RSAReceiptSigner {
    let root: [UInt8]
    private let leaf: [UInt8]
    private let intermediate: [UInt8]
    private let leafCertificate: OpaquePointer
    private let leafKey: OpaquePointer
    private let intermediateCertificate: OpaquePointer
    private let rootCertificate: OpaquePointer

    init() throws {
        let failure = BenchmarkFailure("OpenSSL cannot create certificates")
        guard let rootKey = souk_generate_rsa_key(2048), let intermediateKey = souk_generate_rsa_key(2048),
            let leafKey = souk_generate_rsa_key(2048),
            let root = Self.certificate("Root", key: rootKey, issuer: nil, signer: rootKey, authority: true),
            let intermediate = Self.certificate(
                "Intermediate", key: intermediateKey, issuer: root, signer: rootKey, authority: true,
                marker: "1.2.840.113635.100.6.2.1"),
            let leaf = Self.certificate(
                "Leaf", key: leafKey, issuer: intermediate, signer: intermediateKey, authority: false,
                marker: "1.2.840.113635.100.6.11.1")
        else { throw failure }
        (rootCertificate, intermediateCertificate, leafCertificate) = (root, intermediate, leaf)
        self.leafKey = leafKey
        self.root = Self.der { i2d_X509(root, $0) }
        self.intermediate = Self.der { i2d_X509(intermediate, $0) }
        self.leaf = Self.der { i2d_X509(leaf, $0) }
    }

    /// Returns a receipt with this content.
    func sign(_ content: [UInt8]) throws -> [UInt8] {
        var others: [OpaquePointer?] = [intermediateCertificate, rootCertificate]
        let stack = souk_x509_stack(&others, 2)
        defer { souk_x509_stack_free(stack) }
        let flags = UInt32(CMS_BINARY | CMS_NOATTR | CMS_NOSMIMECAP)
        let container = content.withUnsafeBytes { content -> OpaquePointer? in
            let input = BIO_new_mem_buf(content.baseAddress, Int32(content.count))
            defer { BIO_free(input) }
            return CMS_sign(leafCertificate, leafKey, stack, input, flags)
        }
        guard let container else { throw BenchmarkFailure("OpenSSL cannot sign the receipt") }
        defer { CMS_ContentInfo_free(container) }
        var receipt = Self.der { i2d_CMS_ContentInfo(container, $0) }
        // OpenSSL sorts the certificates by their bytes, but Apple's receipts have the leaf first. The order is not
        // signed, so it can be changed here.
        let certificates = leaf + intermediate + root
        let starts = [leaf, intermediate, root].compactMap { Self.place(of: $0, in: receipt) }
        guard starts.count == 3, let start = starts.min() else { throw BenchmarkFailure("certificates are missing") }
        receipt.replaceSubrange(start..<start + certificates.count, with: certificates)
        return receipt
    }

    private static func place(of part: [UInt8], in bytes: [UInt8]) -> Int? {
        (0...bytes.count - part.count).first { bytes[$0] == part[0] && bytes[$0..<$0 + part.count].elementsEqual(part) }
    }

    private static func der(
        _ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
    ) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(encode(nil))) { buffer, count in
            var cursor = buffer.baseAddress
            count = Int(encode(&cursor))
        }
    }

    private static func certificate(
        _ name: String, key: OpaquePointer, issuer: OpaquePointer?, signer: OpaquePointer, authority: Bool,
        marker: String? = nil
    ) -> OpaquePointer? {
        guard let certificate = X509_new(), let subject = X509_get_subject_name(certificate) else { return nil }
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int(name.utf8.count))
        for text in [name, "Worldwide Developer Relations of a Benchmark"] {
            X509_NAME_add_entry_by_txt(
                subject, text == name ? "CN" : "OU", MBSTRING_FLAG | 0, text, Int32(text.utf8.count), -1, 0)
        }
        X509_set_issuer_name(certificate, issuer.map { X509_get_subject_name($0) } ?? subject)
        ASN1_TIME_set_string_X509(X509_getm_notBefore(certificate), "20200101000000Z")
        ASN1_TIME_set_string_X509(X509_getm_notAfter(certificate), "20400101000000Z")
        X509_set_pubkey(certificate, key)
        let extensions = [
            (NID_basic_constraints, authority ? "critical,CA:TRUE" : "critical,CA:FALSE"),
            (NID_key_usage, authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature"),
        ]
        for (identifier, value) in extensions {
            let made = X509V3_EXT_conf_nid(nil, nil, identifier, value)
            X509_add_ext(certificate, made, -1)
            X509_EXTENSION_free(made)
        }
        if let marker {
            let value = ASN1_OCTET_STRING_new()
            ASN1_OCTET_STRING_set(value, [0x05, 0x00], 2)
            let made = X509_EXTENSION_create_by_OBJ(nil, OBJ_txt2obj(marker, 1), 0, value)
            X509_add_ext(certificate, made, -1)
            X509_EXTENSION_free(made)
        }
        return X509_sign(certificate, signer, EVP_sha256()) > 0 ? certificate : nil
    }
}
