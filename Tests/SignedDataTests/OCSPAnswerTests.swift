import Foundation
import Primitives
import Testing

@testable import SignedData

/// Answers of OpenSSL's own OCSP responder, with one fault each.
@Suite struct OCSPAnswerTests {
    let responder: OCSPResponder
    let url: URL
    let now = Date()

    init() async throws {
        responder = try await OCSPResponder()
        url = try #require(URL(string: OCSPResponder.leafURL))
    }

    private func request(withNonce: Bool = true) throws -> OCSPRequest {
        try OCSPRequest(
            about: responder.store.chain.leaf, issuedBy: responder.store.chain.intermediate, withNonce: withNonce)
    }

    private func rules(_ nonce: OCSPNonce = .preferred) -> OCSPAnswer.Rules {
        OCSPAnswer.Rules(nonce: nonce, tolerance: 300, lifetime: 900, maximumLength: 64 * 1024)
    }

    private func judge(
        _ response: [UInt8], to request: OCSPRequest, at instant: Date? = nil, nonce: OCSPNonce = .preferred
    ) throws(SignedDataError) -> OCSPAnswer {
        try OCSPAnswer(
            response, to: request, trusting: responder.store.chain.root, at: instant ?? now, rules: rules(nonce))
    }

    /// Returns the reason of `onlineCheckFailed`, the code of another error, or an empty string without an error.
    private func refusalReason(_ body: () throws -> OCSPAnswer) -> String {
        do {
            _ = try body()
            return ""
        } catch {
            guard let error = error as? SignedDataError, error.code == .onlineCheckFailed else { return "\(error)" }
            return error.reason.replacing("The OCSP answer cannot be used. ", with: "")
        }
    }

    @Test func `OpenSSL decodes the request`() async throws {
        let request = try request()
        let (text, status) = try await OpenSSLCommand.run(
            ["ocsp", "-reqin", "/dev/stdin", "-req_text", "-noverify"], input: request.der)
        #expect(status == 0)
        #expect(text.contains("Hash Algorithm: sha1") && text.contains("OCSP Nonce"))
        #expect(request.responder == url)
        let plain = try self.request(withNonce: false)
        let (other, _) = try await OpenSSLCommand.run(["ocsp", "-reqin", "/dev/stdin", "-req_text"], input: plain.der)
        #expect(!other.contains("OCSP Nonce"))
        #expect(try self.request().der != request.der, "two requests have different nonces")
    }

    @Test func `only an authorised responder and the issuer may answer`() async throws {
        let request = try request()
        let stranger = try await OCSPResponder()
        let issuer = responder.intermediate
        let allowed = [
            try OCSPResponder.signer(issuedBy: issuer),
            OCSPResponder.Signer(certificate: issuer.certificate, key: issuer.key),
        ]
        for signer in allowed {
            let answer = try await judge(responder.answer(url, request.der, leafSigner: signer), to: request)
            #expect(!answer.isRevoked)
        }
        let chain = responder.store.chain
        let refused: [(String, OCSPResponder.Signer)] = [
            ("without the purpose", try OCSPResponder.signer(issuedBy: issuer, usage: nil)),
            ("for another purpose", try OCSPResponder.signer(issuedBy: issuer, usage: "serverAuth")),
            ("appointed by the root", try OCSPResponder.signer(issuedBy: responder.root)),
            (
                "appointed by the leaf",
                try OCSPResponder.signer(issuedBy: .init(certificate: chain.leaf, key: chain.leafKey))
            ),
            ("the root itself", .init(certificate: chain.root, key: chain.rootKey)),
            ("the leaf itself", .init(certificate: chain.leaf, key: chain.leafKey)),
            ("of another store", try OCSPResponder.signer(issuedBy: stranger.intermediate)),
            (
                "the other store's issuer",
                .init(certificate: stranger.intermediate.certificate, key: stranger.intermediate.key)
            ),
        ]
        for (name, signer) in refused {
            let response = try await responder.answer(url, request.der, leafSigner: signer)
            #expect(
                refusalReason { try judge(response, to: request) }.hasPrefix(
                    "It is not signed by a responder of the issuer"), "\(name)")
        }
    }

    @Test func `an authorised responder with an expired certificate may not answer`() async throws {
        let request = try request()
        let template = CertificateTemplate(
            commonName: "OCSP Responder", basicConstraints: "critical,CA:FALSE",
            keyUsage: "critical,digitalSignature", extendedKeyUsage: "OCSPSigning", notAfter: "20200101000000Z")
        let key = try SigningKey.generate()
        let certificate = try template.issue(for: key, by: responder.intermediate)
        let response = try await responder.answer(
            url, request.der, leafSigner: .init(certificate: certificate, key: key))
        #expect(
            refusalReason { try judge(response, to: request) }.hasPrefix(
                "It is not signed by a responder of the issuer"))
    }

    @Test func `an answer is valid from shortly before its date until shortly after its end`() async throws {
        let request = try request()
        let response = try await responder.answer(url, request.der, options: ["-nmin", "60"])
        let endless = try await responder.answer(url, request.der, options: [])
        let cases: [(TimeInterval, [UInt8], String)] = [
            (-200, response, ""), (-400, response, "It is from the future"), (0, response, ""),
            (3600 + 200, response, ""), (3600 + 400, response, "It was valid until"),
            (900 + 200, endless, ""), (900 + 400, endless, "It was valid until"),
        ]
        for (seconds, response, expected) in cases {
            let words = refusalReason { try judge(response, to: request, at: now.addingTimeInterval(seconds)) }
            #expect(expected.isEmpty ? words.isEmpty : words.hasPrefix(expected), "\(seconds): \(words)")
        }
    }

    @Test func `an answer about another certificate is refused`() async throws {
        let chain = responder.store.chain
        let issuer = responder.intermediate
        var template = CertificateTemplate.leaf
        template.ocspResponder = OCSPResponder.leafURL
        let sibling = try template.issue(for: chain.leafKey, by: issuer)
        let asked = try request(withNonce: false)
        let other = try OCSPRequest(about: sibling, issuedBy: issuer.certificate, withNonce: false)
        let about = try OCSPRequest(about: chain.intermediate, issuedBy: chain.root, withNonce: false)
        let response = try await responder.answer(url, other.der)
        let another = "It is about another certificate."
        #expect(refusalReason { try judge(response, to: asked, nonce: .none) } == another)
        let intermediateURL = try #require(URL(string: OCSPResponder.intermediateURL))
        let ofIntermediate = try await responder.answer(intermediateURL, about.der)
        #expect(refusal { try judge(ofIntermediate, to: asked, nonce: .none) } == .onlineCheckFailed)
        #expect(refusal { try judge(ofIntermediate, to: about, nonce: .none) } == nil)
    }

    @Test func `an older answer is detected by its nonce`() async throws {
        let (one, two, none) = (try request(), try request(), try request(withNonce: false))
        let answers = (
            one: try await responder.answer(url, one.der), none: try await responder.answer(url, none.der)
        )
        #expect(refusal { try judge(answers.one, to: one, nonce: .required) } == nil)
        #expect(refusalReason { try judge(answers.one, to: two) }.hasPrefix("Its nonce is not the one sent"))
        #expect(refusal { try judge(answers.none, to: one) } == nil)
        #expect(refusalReason { try judge(answers.none, to: one, nonce: .required) }.hasPrefix("Its nonce"))
        #expect(refusal { try judge(answers.none, to: none, nonce: .none) } == nil)
        #expect(refusal { try judge(answers.one, to: none, nonce: .none) } == nil)
    }

    @Test func `bytes that are not an answer are refused`() async throws {
        let request = try request()
        let good = try await responder.answer(url, request.der)
        let refusals: [[UInt8]] = [
            [], [0x30], Array("<html>".utf8), Array(good.dropLast()), good + [0], Array(good.prefix(40)),
            [0x30, 3, 0x0A, 1, 1], [0x30, 3, 0x0A, 1, 2], [0x30, 3, 0x0A, 1, 3], [0x30, 3, 0x0A, 1, 5],
            [0x30, 3, 0x0A, 1, 6], [0x30, 3, 0x0A, 1, 0], [UInt8](repeating: 0x30, count: 100_000),
            try await responder.answer(url, request.der, options: ["-nmin", "60", "-badsig"]),
        ]
        for response in refusals {
            #expect(refusal { try judge(response, to: request) } == .onlineCheckFailed, "\(response.prefix(8))")
        }
    }

    @Test func `a changed bit in any byte does not turn revoked into good`() async throws {
        try await responder.register(.revoked, .good)
        let request = try request()
        let response = try await responder.answer(url, request.der)
        #expect(try judge(response, to: request).isRevoked)
        for position in response.indices {
            var changed = response
            changed[position] ^= 1 << UInt8(position % 8)
            if let answer = try? judge(changed, to: request) { #expect(answer.isRevoked, "byte \(position)") }
        }
    }
}
