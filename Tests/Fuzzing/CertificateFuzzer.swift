import COpenSSL
import Foundation
import Primitives
import StoreModel

@testable import SignedData

/// Certificates and keys in four forms, chosen by the first byte of an input. These are a certificate in DER with all
/// its fields; a replacement in a good chain; PEM; and an OCSP response.
#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
#endif
public func fuzzCertificates(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Fuzzing.bytes(start, count)
    guard let way = input.first else { return 0 }
    let rest = Array(input.dropFirst())
    switch way % 4 {
    case 0:
        if let certificate = try? Certificate(der: rest) { examine(certificate, rest) }
        _ = try? Certificate(rest)
        _ = try? VerificationKey(rest)
        _ = try? SigningKey(rest)
    case 1:
        guard let choice = rest.first else { break }
        let (place, use) = (Int(choice) % 3, choice < 128 ? CertificateChain.Use.jws : .receipts)
        var encoded = world.chain.certificates.map(\.der)
        let good = encoded[place]
        encoded[place] = Array(rest.dropFirst())
        guard (try? CertificateChain(encoded, trusting: world.anchors, use: use)) != nil else { break }
        // An embedded root need only have the name and the key of the trusted one.
        let isSame = encoded[place] == good || place == 2 && use == .jws
        Fuzzing.claim(isSame, "no certificate of a chain can be exchanged")
    case 2:
        for certificate in (try? Certificate.all(inPEM: rest)) ?? [] { examine(certificate, certificate.der) }
        _ = try? TrustAnchor.certificates(in: rest)
        _ = try? SigningChain(pem: rest)
        _ = try? Ed25519.PublicKey(rest)
        _ = try? Ed25519.PrivateKey(rest)
    default:
        let rules = OCSPAnswer.Rules(nonce: .none, tolerance: 300, lifetime: 900, maximumLength: 1 << 16)
        let answer = try? OCSPAnswer(rest, to: world.request, trusting: world.chain.root, at: world.now, rules: rules)
        Fuzzing.claim(answer.map { !$0.isRevoked } ?? true, "no forged answer revokes a good certificate")
    }
    return 0
}

private func examine(_ certificate: Certificate, _ der: [UInt8]) {
    Fuzzing.claim(certificate.der == der, "a certificate keeps its bytes")
    Fuzzing.claim(
        (try? Certificate.all(inPEM: Array(certificate.pem.utf8))) == [certificate], "PEM keeps a certificate")
    Fuzzing.claim(certificate.validity.lowerBound <= certificate.validity.upperBound, "validity is a range")
    _ = (certificate.subject, certificate.issuer, certificate.isCertificateAuthority, certificate.isSelfSigned)
    _ = (certificate.hasExtension(CertificateChain.leafMarker), certificate.ocspResponders)
    _ = certificate.isSameAuthority(as: world.chain.root)
    if let key = certificate.verificationKey() { _ = key.isValid(signature: world.signature, of: [1]) }
}

private let world = World()

private struct World {
    let chain = Fuzzing.must { try SigningChain.open(in: Fuzzing.keys) }
    let anchors: [TrustAnchor]
    let subject: Certificate
    let request: OCSPRequest
    let signature: [UInt8]
    let now = Date(timeIntervalSince1970: 1_700_000_000)

    init() {
        anchors = [TrustAnchor(chain.root)]
        let chain = chain
        signature = Fuzzing.must { try chain.leafKey.signature(of: [1]) }
        var template = CertificateTemplate.leaf
        template.commonName = "Asked About"
        template.ocspResponder = "http://ocsp.example/leaf"
        let asked = template
        let pem = Fuzzing.kept("asked-about.pem") {
            let issuer = CertificateTemplate.Issuer(certificate: chain.intermediate, key: chain.intermediateKey)
            return try Array(asked.issue(for: .generate(), by: issuer).pem.utf8)
        }
        let known = Fuzzing.must { try Certificate.all(inPEM: pem)[0] }
        subject = known
        request = Fuzzing.must { try OCSPRequest(about: known, issuedBy: chain.intermediate, withNonce: false) }
    }

    /// The authority's own response to `request`, in DER.
    func goodAnswer() -> [UInt8] {
        let basic = OCSP_BASICRESP_new()
        let begin = ASN1_TIME_set(nil, Int(now.timeIntervalSince1970) - 60)
        let end = ASN1_TIME_set(nil, Int(now.timeIntervalSince1970) + 3600)
        let identifier = OCSP_cert_to_id(EVP_sha1(), subject.pointer, chain.intermediate.pointer)
        OCSP_basic_add1_status(basic, identifier, V_OCSP_CERTSTATUS_GOOD, 0, nil, begin, end)
        OCSP_basic_sign(
            basic, chain.intermediate.pointer, chain.intermediateKey.pointer, EVP_sha256(), nil, UInt(OCSP_NOTIME))
        let response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic)
        let der = OpenSSL.der { i2d_OCSP_RESPONSE(response, $0) } ?? []
        let rules = OCSPAnswer.Rules(nonce: .none, tolerance: 300, lifetime: 900, maximumLength: 1 << 16)
        let answer = Fuzzing.must {
            try OCSPAnswer(der, to: request, trusting: chain.root, at: now, rules: rules)
        }
        Fuzzing.claim(!answer.isRevoked, "the good answer is accepted")
        return der
    }
}

/// The seeds of the search.
func certificateSeeds() -> [[UInt8]] {
    let certificates = world.chain.certificates
    var seeds: [[UInt8]] = certificates.flatMap { [[0] + $0.der, [2] + Array($0.pem.utf8)] }
    for (place, certificate) in certificates.enumerated() {
        seeds += [[1, UInt8(place)] + certificate.der, [1, UInt8(place) + 129] + certificate.der]
    }
    seeds.append([2] + Array(world.chain.pem.utf8))
    seeds.append([0] + world.chain.leafKey.verificationKey.der)
    seeds.append([2] + Array(world.chain.leafKey.pem.utf8))
    let ed25519 = Fuzzing.must { try Ed25519.PrivateKey(raw: [UInt8](repeating: 7, count: 32)) }
    seeds.append([2] + Array((ed25519.pem + ed25519.publicKey.pem).utf8))
    let tryLater: [UInt8] = [3, 0x30, 0x03, 0x0A, 0x01, 0x03]
    seeds += [tryLater, [3] + world.goodAnswer()]
    return seeds
}

#if FUZZING
    @_cdecl("LLVMFuzzerInitialize")
#endif
public func initializeCertificates(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
    Fuzzing.plant(certificateSeeds())
    return 0
}
