import AppStorePayloads
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer
@testable import SignedData

/// The server's question whether certificates of signed data were revoked (OCSP).
@Suite struct RevocationCheckTests {
    /// A store whose certificates name a responder: `openssl ocsp` with the keys of the issuers.
    private final class Responder: Sendable {
        struct Unreachable: Error {}

        let chain: SigningChain
        let isReachable = Locked(true)
        let questions = Locked(0)
        private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("souk-\(UUID().uuidString)")

        init(revoking isRevoked: (leaf: Bool, intermediate: Bool) = (false, false)) async throws {
            var (leaf, intermediate) = (CertificateTemplate.leaf, CertificateTemplate.intermediate)
            leaf.ocspResponder = "http://ocsp.example/leaf"
            intermediate.ocspResponder = "http://ocsp.example/intermediate"
            chain = try SigningChain(root: .root, intermediate: intermediate, leaf: leaf)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            var index = ""
            for (name, certificate, isRevoked) in [
                ("leaf", chain.leaf, isRevoked.leaf), ("intermediate", chain.intermediate, isRevoked.intermediate),
            ] {
                let shown = try await openSSL("x509", "-noout", "-serial", "-in", write(certificate.pem, "\(name).pem"))
                let serial = shown.drop { $0 != "=" }.dropFirst().trimmingCharacters(in: .whitespacesAndNewlines)
                let revocation = isRevoked ? "R\t491231235959Z\t231114221320Z" : "V\t491231235959Z\t"
                index += "\(revocation)\t\(serial)\tunknown\t/CN=\(name)\n"
            }
            _ = try write(index, "index.txt")
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        private func write(_ text: String, _ name: String) throws -> String {
            let file = folder.appendingPathComponent(name)
            try Data(text.utf8).write(to: file)
            return file.path
        }

        private func openSSL(_ arguments: String...) async throws -> String {
            let outcome = try await ChildProgram.run("/usr/bin/env", ["openssl"] + arguments)
            try #require(outcome.status == 0, "\(outcome.errors)")
            return outcome.output
        }

        func post(_ url: URL, _ question: [UInt8]) async throws -> [UInt8] {
            questions.withLock { $0 += 1 }
            guard isReachable.withLock(\.self) else { throw Unreachable() }
            let isLeaf = url.lastPathComponent == "leaf"
            let (issuer, key) =
                isLeaf ? (chain.intermediate, chain.intermediateKey) : (chain.root, chain.rootKey)
            let name = UUID().uuidString
            let request = folder.appendingPathComponent(name)
            try Data(question).write(to: request)
            let signer = try write(issuer.pem, name + ".pem")
            _ = try await openSSL(
                "ocsp", "-index", folder.appendingPathComponent("index.txt").path, "-CA", signer, "-rsigner", signer,
                "-rkey", write(key.pem, name + ".key"), "-reqin", request.path, "-respout", request.path + ".answer",
                "-nmin", "60")
            return Array(try Data(contentsOf: URL(fileURLWithPath: request.path + ".answer")))
        }

        func bench(isRequired: Bool, usesRealTime: Bool = true) async throws -> ServerBench {
            try await ServerBench {
                $0.trustAnchors = [TrustAnchor(chain.root)]
                $0.revocation = .init(isRequired: isRequired) { try await self.post($0, $1) }
                // OpenSSL dates its answers by the real clock.
                if usesRealTime { $0.realClock = SystemClock() }
            }
        }
    }

    private static func signed(_ id: String, _ bench: ServerBench, by chain: SigningChain) throws -> String {
        try bench.sign(bench.purchasePayload(id), by: .success(chain))
    }

    private static func notification(
        _ id: String, _ bench: ServerBench, by chain: SigningChain
    ) throws -> JSONValue {
        let transaction = try signed(id, bench, by: chain)
        let payload = ResponseBodyV2DecodedPayload {
            $0.notificationType = .oneTimeCharge
            $0.notificationUUID = "n\(id)"
            $0.data = .init {
                $0.bundleId = ServerBench.app.rawValue
                $0.environment = .sandbox
                $0.signedTransactionInfo = transaction
            }
            $0.version = "2.0"
            $0.signedDate = bench.clock.now()
        }
        return ["signedPayload": .string(try bench.sign(payload, by: .success(chain)))]
    }

    private static func notify(_ body: JSONValue, at bench: ServerBench) async throws -> ServerBench.Reply {
        try await bench.send(.post, "/v1/notifications/app-store", as: .none, body: .json(body))
    }

    @Test(arguments: [true, false])
    func `documents are accepted if their certificates are good, with one question for each certificate`(
        isRequired: Bool
    ) async throws {
        let responder = try await Responder()
        let bench = try await responder.bench(isRequired: isRequired)
        async let both = [
            bench.post(Self.signed("1", bench, by: responder.chain)),
            bench.post(Self.signed("2", bench, by: responder.chain), for: "ben"),
        ]
        #expect(try await both.map(\.status) == [200, 200])
        #expect(try await Self.notify(Self.notification("3", bench, by: responder.chain), at: bench).status == 200)
        #expect(responder.questions.withLock(\.self) == 2)
        #expect(
            try await bench.send(.get, "/metrics", as: .none).text.contains(
                "souk_revocation_requests_total{result=\"answered\"} 2\n"))
        await bench.close()
    }

    @Test(arguments: [true, false], [(true, false), (false, true)])
    func `a document with a revoked certificate is refused`(isRequired: Bool, revoking: (Bool, Bool)) async throws {
        let responder = try await Responder(revoking: revoking)
        let bench = try await responder.bench(isRequired: isRequired)
        let signed = try Self.signed("1", bench, by: responder.chain)
        let alone = try await bench.post(signed)
        #expect(alone.status == 422 && alone.code == "revoked" && alone.json["retryable"] == false, "\(alone.text)")
        let batch = try await bench.post([signed, Self.signed("9", bench, by: responder.chain)])
        #expect(batch.acknowledged == [] && batch.json["rejected"]?[0]?["code"] == "revoked", "\(batch.text)")
        let notified = try await Self.notify(Self.notification("2", bench, by: responder.chain), at: bench)
        #expect(notified.status == 422 && notified.code == "revoked", "\(notified.text)")
        #expect(try bench.count("fact") == 0)
        #expect(try bench.count("document") == 0)
        await bench.close()
    }

    @Test func `a hard check refuses documents until the responder answers`() async throws {
        let responder = try await Responder()
        let bench = try await responder.bench(isRequired: true)
        responder.isReachable.withLock { $0 = false }
        let signed = try Self.signed("1", bench, by: responder.chain)
        let alone = try await bench.post(signed)
        #expect(alone.status == 503 && alone.headers["Retry-After"] != nil, "\(alone.text)")
        let batch = try await bench.post([signed, Self.signed("9", bench, by: responder.chain)])
        #expect(batch.acknowledged == [] && batch.json["rejected"]?[0]?["code"] == "onlineCheckFailed")
        #expect(batch.json["rejected"]?[0]?["retryable"] == true)
        let notification = try Self.notification("2", bench, by: responder.chain)
        #expect(try await Self.notify(notification, at: bench).status == 503)
        #expect(try bench.count("fact") == 0)
        await bench.close()
    }

    @Test func `a soft check accepts documents without an answer, and asks once in a minute`() async throws {
        let responder = try await Responder()
        let bench = try await responder.bench(isRequired: false, usesRealTime: false)
        responder.isReachable.withLock { $0 = false }
        #expect(try await bench.post(Self.signed("1", bench, by: responder.chain)).acknowledged == ["1"])
        let first = responder.questions.withLock(\.self)
        #expect(first == 2)
        #expect(try await bench.post(Self.signed("2", bench, by: responder.chain)).acknowledged == ["2"])
        #expect(try await Self.notify(Self.notification("3", bench, by: responder.chain), at: bench).status == 200)
        #expect(responder.questions.withLock(\.self) == first)
        bench.realClock.advance(by: 61)
        #expect(try await bench.post(Self.signed("4", bench, by: responder.chain)).acknowledged == ["4"])
        #expect(responder.questions.withLock(\.self) == 2 * first)
        // A document under a root that is not trusted is still refused.
        let foreign = try await bench.post(bench.sign(bench.purchasePayload("5"), by: ServerBench.foreignChain))
        #expect(foreign.code == "untrustedRoot")
        await bench.close()
    }

    @Test func `certificates without a responder are refused by a hard check only`() async throws {
        for (isRequired, status) in [(true, 422), (false, 200)] {
            let bench = try await ServerBench {
                $0.revocation = .init(isRequired: isRequired) { _, _ in throw Responder.Unreachable() }
            }
            let reply = try await bench.post(bench.purchase("1"))
            #expect(reply.status == status && reply.code == (isRequired ? "chainInvalid" : nil), "\(reply.text)")
            await bench.close()
        }
    }

    @Test(arguments: [true, false], [(false, false), (true, false), (false, true)])
    func `the certificates of a receipt are asked about too`(isRequired: Bool, revoking: (Bool, Bool)) async throws {
        let isRevoked = revoking.0 || revoking.1
        let responder = try await Responder(revoking: revoking)
        let bench = try await responder.bench(isRequired: isRequired)
        let receipt = try bench.receipt([bench.receiptPurchase("1")], by: .success(responder.chain))
        let verdict = try await bench.validate(receipt).validation()
        #expect(verdict.isValid != isRevoked && verdict.error?.code == (isRevoked ? "revoked" : nil))
        let presented = try await bench.present(receipt: receipt)
        #expect(presented.status == (isRevoked ? 422 : 200), "\(presented.text)")
        #expect(presented.code == (isRevoked ? "revoked" : nil))
        #expect(try bench.count("fact") == (isRevoked ? 0 : 1))
        #expect(responder.questions.withLock(\.self) == 2)
        await bench.close()
    }

    @Test func `a receipt without an answer is refused for now by a hard check, also when its request is repeated`()
        async throws
    {
        let responder = try await Responder()
        let bench = try await responder.bench(isRequired: true, usesRealTime: false)
        responder.isReachable.withLock { $0 = false }
        let receipt = try bench.receipt([bench.receiptPurchase("1")], by: .success(responder.chain))
        var headers = HTTPHeaders()
        headers["Idempotency-Key"] = "a receipt"
        for _ in 0..<2 {
            let verdict = try await bench.validate(receipt, headers: headers)
            #expect(verdict.status == 503 && verdict.headers["Retry-After"] != nil, "\(verdict.text)")
        }
        #expect(try await bench.present(receipt: receipt).status == 503)
        #expect(try bench.count("fact") == 0)
        await bench.close()

        let answered = try await responder.bench(isRequired: true)
        responder.isReachable.withLock { $0 = true }
        let other = try answered.receipt([answered.receiptPurchase("1")], by: .success(responder.chain))
        #expect(try await answered.validate(other, headers: headers).validation().isValid)
        await answered.close()
    }

    @Test func `a receipt whose certificates have expired is accepted without a question`() async throws {
        let responder = try await Responder()
        let bench = try await responder.bench(isRequired: true, usesRealTime: false)
        responder.isReachable.withLock { $0 = false }
        let receipt = try bench.receipt([bench.receiptPurchase("1")], by: .success(responder.chain))
        let end = responder.chain.leaf.validity.upperBound
        bench.realClock.advance(by: end.timeIntervalSince(bench.realClock.now()) + 1)
        #expect(try await bench.present(receipt: receipt).status == 200)
        #expect(responder.questions.withLock(\.self) == 0)
        await bench.close()
    }
}
