import AppStorePayloads
import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Requests the revocation status from OpenSSL's own responder.
@Suite struct RevocationTests {
    let clock = StillClock()

    private func checker(
        _ responder: OCSPResponder, _ change: (inout RevocationChecker.Configuration) -> Void = { _ in }
    ) -> RevocationChecker {
        var configuration = RevocationChecker.Configuration { [clock] in
            defer { clock.catchUp() }
            return try await responder.post($0, $1)
        }
        configuration.clock = clock
        change(&configuration)
        return RevocationChecker(configuration: configuration)
    }

    private func verifier(
        _ responder: OCSPResponder, _ change: (inout RevocationChecker.Configuration) -> Void = { _ in }
    ) -> SignedDataVerifier {
        var configuration = responder.store.configuration
        configuration.revocation = checker(responder, change)
        return SignedDataVerifier(configuration: configuration)
    }

    /// Returns the error of a transaction that is verified online.
    private func outcome(_ verifier: SignedDataVerifier, _ jws: String) async -> SignedDataError? {
        do {
            _ = try await verifier.online { verifier throws(SignedDataError) in try verifier.transaction(jws) }
            return nil
        } catch { return error }
    }

    private func document(_ responder: OCSPResponder, _ id: String = "1") throws -> String {
        try responder.store.signer.sign(TestStore.transaction(id: id))
    }

    // MARK: - Requests

    @Test func `leaf and intermediate are requested once, and the answers are cached for all documents of the chain`()
        async throws
    {
        let responder = try await OCSPResponder()
        let verifier = verifier(responder)
        for id in ["1", "2", "1"] { #expect(await outcome(verifier, try document(responder, id)) == nil) }
        #expect(responder.questions.sorted() == [OCSPResponder.intermediateURL, OCSPResponder.leafURL])
        #expect(refusal { try verifier.transaction(document(responder, "3")) } == nil, "no request is needed now")
    }

    @Test func `a call without network refuses a document that needs a request, with a retryable error`()
        async throws
    {
        let responder = try await OCSPResponder()
        let verifier = verifier(responder)
        let jws = try document(responder)
        for _ in 1...2 {
            #expect {
                try verifier.transaction(jws)
            } throws: { error in
                let error = error as? SignedDataError
                return error?.code == .onlineCheckFailed && error?.isRetryable == true
            }
        }
        #expect(responder.questions.isEmpty)
        #expect(await outcome(verifier, jws) == nil)
        #expect(refusal { try verifier.transaction(jws) } == nil)
    }

    @Test func `without revocation in the configuration no request is sent`() async throws {
        let responder = try await OCSPResponder(leaf: .revoked)
        #expect(await outcome(responder.store.verifier, try document(responder)) == nil)
        #expect(responder.questions.isEmpty)
    }

    @Test func `no request is sent about a document that is refused anyway`() async throws {
        let responder = try await OCSPResponder()
        let verifier = verifier(responder)
        var other = TestStore.transaction()
        other.bundleId = "com.example.other"
        #expect(await outcome(verifier, try responder.store.signer.sign(other))?.code == .wrongBundle)
        let forged = try responder.store.signed(signature: { [UInt8]($0.reversed()) })
        #expect(await outcome(verifier, forged)?.code == .signatureInvalid)
        #expect(await outcome(verifier, try TestStore().signer.sign(TestStore.transaction()))?.code == .untrustedRoot)
        #expect(responder.questions.isEmpty)
    }

    @Test func `answers are used for fifteen minutes, also for a document seen before`() async throws {
        let responder = try await OCSPResponder()
        let verifier = verifier(responder)
        let jws = try document(responder)
        #expect(await outcome(verifier, jws) == nil)
        clock.move(by: 15 * 60 - 1)
        #expect(refusal { try verifier.transaction(jws) } == nil)
        clock.move(by: 1)
        #expect(refusal { try verifier.transaction(jws) } == .onlineCheckFailed)
        try await responder.register(.revoked, .good)
        #expect(await outcome(verifier, jws)?.code == .revoked)
        #expect(responder.questions.count == 4)
    }

    @Test func `an answer that expires earlier is not used after its end`() async throws {
        let responder = try await OCSPResponder()
        responder.change { $0.options = ["-nmin", "2"] }
        let verifier = verifier(responder) { $0.tolerance = 30 }
        let jws = try document(responder)
        #expect(await outcome(verifier, jws) == nil)
        clock.move(by: 100)
        #expect(refusal { try verifier.transaction(jws) } == nil)
        clock.move(by: 600)
        #expect(refusal { try verifier.transaction(jws) } == .onlineCheckFailed)
    }

    @Test func `a clock that is set back does not make an answer valid for longer`() async throws {
        let responder = try await OCSPResponder()
        let verifier = verifier(responder)
        let jws = try document(responder)
        #expect(await outcome(verifier, jws) == nil)
        clock.move(by: -1)
        #expect(refusal { try verifier.transaction(jws) } == .onlineCheckFailed)
    }

    @Test func `the number of cached chains is limited`() async throws {
        var started: [OCSPResponder] = []
        for _ in 0..<4 { started.append(try await OCSPResponder()) }
        let responders = started
        let current = Locked(0)
        let checker = checker(responders[0]) { configuration in
            configuration.chainCacheCapacity = 2
            configuration.post = { try await responders[current.withLock { $0 }].post($0, $1) }
        }
        let chains = try responders.map { responder in
            try CertificateChain(responder.store.certificates, trusting: [TrustAnchor(responder.store.chain.root)])
        }
        for index in chains.indices {
            current.withLock { $0 = index }
            try await checker.check(chains[index])
            try checker.require(chains[index])
        }
        let remembered = chains.filter { chain in refusal { try checker.require(chain) } == nil }
        #expect((1...2).contains(remembered.count))
    }

    @Test func `the status of every chain in a notification is requested`() async throws {
        let (outer, inner) = (try await OCSPResponder(), try await OCSPResponder())
        let data = try AppStoreServerAPI.NotificationData {
            $0.bundleId = "com.example"
            $0.environment = .sandbox
            $0.signedTransactionInfo = try inner.store.signer.sign(TestStore.transaction())
        }
        let jws = try outer.store.signer.sign(TestStore.notification(data))
        let serials = Locked<[String]>([])
        var revocation = RevocationChecker.Configuration { url, request in
            serials.withLock { $0.append(url.path) }
            for responder in [outer, inner] {
                let answer = try await responder.answer(url, request)
                if try await OCSPTexts.text(of: answer).contains("Cert Status: good") { return answer }
            }
            throw OCSPResponder.Fault()
        }
        revocation.clock = clock
        var configuration = outer.store.configuration
        configuration.trustAnchors.append(TrustAnchor(inner.store.chain.root))
        configuration.revocation = RevocationChecker(configuration: revocation)
        let verified = try await SignedDataVerifier(configuration: configuration)
            .online { verifier throws(SignedDataError) in try verifier.notification(jws) }
        #expect(verified.transaction != nil)
        #expect(serials.withLock { $0.count } == 4)
    }

    @Test func `no request is sent about a local certificate`() async throws {
        let local = try LocalChainTests()
        var payload = TestStore.transaction()
        payload.environment = .xcode
        let jws = try JWSSigner(key: local.key, certificates: [local.certificate.der]).sign(payload)
        var configuration = SignedDataVerifier.Configuration(
            bundleIDs: nil, environments: [.xcode], trustAnchors: [TrustAnchor(local.certificate)])
        configuration.revocation = RevocationChecker(configuration: .init { _, _ in throw OCSPResponder.Fault() })
        #expect(await outcome(SignedDataVerifier(configuration: configuration), jws) == nil)
    }

    // MARK: - Answers

    @Test func `a revoked leaf or intermediate certificate is refused, and the error is not retryable`() async throws {
        for (leaf, intermediate) in [
            (OCSPResponder.CertificateStatus.revoked, OCSPResponder.CertificateStatus.good), (.good, .revoked),
        ] {
            let responder = try await OCSPResponder(leaf: leaf, intermediate: intermediate)
            let verifier = verifier(responder)
            let jws = try document(responder)
            let error = await outcome(verifier, jws)
            #expect(error?.code == .revoked && error?.isRetryable == false)
            #expect(refusal { try verifier.transaction(jws) } == .revoked)
        }
    }

    @Test func `a revoked certificate is refused even if the other request got no answer`() async throws {
        let responder = try await OCSPResponder(leaf: .revoked)
        var configuration = RevocationChecker.Configuration { url, body in
            if url.absoluteString == OCSPResponder.intermediateURL { throw OCSPResponder.Fault() }
            return try await responder.post(url, body)
        }
        configuration.clock = clock
        var accepted = responder.store.configuration
        accepted.revocation = RevocationChecker(configuration: configuration)
        #expect(await outcome(SignedDataVerifier(configuration: accepted), try document(responder))?.code == .revoked)
    }

    @Test func `a certificate that the responder does not know is refused and requested again`() async throws {
        for (leaf, intermediate) in [
            (OCSPResponder.CertificateStatus.unknown, OCSPResponder.CertificateStatus.good), (.good, .unknown),
        ] {
            let responder = try await OCSPResponder(leaf: leaf, intermediate: intermediate)
            let verifier = verifier(responder)
            let jws = try document(responder)
            let error = await outcome(verifier, jws)
            #expect(error?.code == .onlineCheckFailed && error?.isRetryable == true)
            try await responder.register(.good, .good)
            #expect(await outcome(verifier, jws) == nil)
        }
    }

    @Test func `a failed request is not cached, and the next call repeats it`() async throws {
        let responder = try await OCSPResponder()
        responder.change { $0.faults = Array(repeating: .init(), count: 4) }
        let verifier = verifier(responder)
        let jws = try document(responder)
        for round in 1...2 {
            let error = await outcome(verifier, jws)
            #expect(error?.code == .onlineCheckFailed && error?.isRetryable == true)
            #expect(error?.underlying is OCSPResponder.Fault)
            #expect(responder.questions.count == round * 2)
        }
        #expect(await outcome(verifier, jws) == nil)
        #expect(responder.questions.count == 6)
    }

    @Test func `a certificate without a responder is refused if revocation is checked`() async throws {
        let mute = try await OCSPResponder(store: OCSPResponder.store { leaf, _ in leaf.ocspResponder = nil })
        let foreign = try await OCSPResponder(
            store: OCSPResponder.store { _, intermediate in
                intermediate.ocspResponder = "ldap://ocsp.example/"
            })
        for responder in [mute, foreign] {
            let error = await outcome(verifier(responder), try document(responder))
            #expect(error?.code == .chainInvalid && error?.isRetryable == false)
            #expect(responder.questions.isEmpty)
        }
    }
}

/// The output of `openssl ocsp`.
enum OCSPTexts {
    static func text(of response: [UInt8]) async throws -> String {
        try await OpenSSLCommand.run(["ocsp", "-respin", "/dev/stdin", "-noverify", "-resp_text"], input: response)
            .output
    }
}
