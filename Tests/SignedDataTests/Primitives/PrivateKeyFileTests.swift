import COpenSSL
import Foundation
import Testing

@testable import SignedData

/// The error for a file without a private key names the kind of the file.
@Suite struct PrivateKeyFileTests {
    private func reason(_ encoded: [UInt8]) -> String? {
        do { _ = try SigningKey(encoded) } catch { return error.code == .keyMalformed ? error.reason : nil }
        return nil
    }

    private func reason(_ text: String) throws -> String { try #require(reason(Array(text.utf8))) }

    private func pem(_ write: (OpaquePointer) -> Int32) throws -> String {
        let written = OpenSSL.written(write)
        return String(decoding: try #require(written), as: UTF8.self)
    }

    @Test func `the error for an encrypted key says how to decrypt it`() throws {
        let key = try SigningKey.generate()
        let text = try reason(
            pem { PEM_write_bio_PKCS8PrivateKey($0, key.pointer, EVP_aes_256_cbc(), "secret", 6, nil, nil) })
        #expect(text.contains("encrypted") && text.contains("openssl pkey"))
        #expect(try reason("-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n").contains("encrypted"))
    }

    @Test func `a public key and a certificate are named`() throws {
        let chain = try SigningChain.generate()
        #expect(try reason(pem { PEM_write_bio_PUBKEY($0, chain.leafKey.pointer) }).contains("a public key"))
        #expect(try reason(chain.leaf.pem).contains("a certificate"))
        #expect(reason(chain.leafKey.verificationKey.der)?.contains("PKCS#8") == true)
    }

    @Test func `a key of another kind is named`() throws {
        #expect(try reason(SigningKey.generate(onCurve: "P-384").pem).contains("of P-384"))
        #expect(try reason(SigningKey.generate(onCurve: "secp256k1").pem).contains("of secp256k1"))
        #expect(try reason(Ed25519.PrivateKey.generate().pem).contains("of Ed25519"))
        let rsa = try #require(souk_generate_rsa_key(1024))
        defer { EVP_PKEY_free(rsa) }
        #expect(try reason(pem { PEM_write_bio_PKCS8PrivateKey($0, rsa, nil, nil, 0, nil, nil) }).contains("of RSA"))
    }
}
