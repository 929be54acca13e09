import AppStorePayloads
import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// `--online`: requests to the certificates' issuers, here OpenSSL's responder behind a server on loopback.
@Suite struct OnlineCommandTests {
    @Test func `a revoked certificate is refused without a retry, and a check without an answer is retryable`()
        async throws
    {
        let responder = try Responder()
        try await withLoopbackServer(responder) { url in
            let chain = try responder.chain(at: url)
            let folder = responder.folder
            let date = Date(timeIntervalSince1970: 1_700_000_000)
            let jws = try JWSSigner(chain).sign(
                JWSTransactionDecodedPayload {
                    $0.bundleId = "com.example"
                    $0.signedDate = date
                    $0.environment = .sandbox
                })
            let receipt = try ReceiptSigner(chain).sign(
                AppReceipt(receiptType: "ProductionSandbox", bundleID: "com.example", creationDate: date))
            let root = ["--root", try folder.write("root.pem", chain.root.pem), "--json"]
            let commands = [
                ["jws", "verify", try folder.write("transaction.jws", jws), "--type", "transaction"] + root,
                ["receipt", "verify", try folder.write("receipt", receipt)] + root,
            ]
            for command in commands {
                responder.certificateStatus.withLock { $0 = "V" }
                #expect(try await SoukExecutable.run(command).status == 0)
                #expect(responder.questions.withLock { $0.isEmpty }, "no request is sent without --online")
                let good = try await SoukExecutable.run(command + ["--online"])
                #expect(good.status == 0, "\(good.output)")
                #expect(responder.questions.withLock { Set($0) } == ["/leaf", "/intermediate"])

                responder.certificateStatus.withLock { $0 = "R" }
                let revoked = try await SoukExecutable.run(command + ["--online"])
                #expect(revoked.status == 1 && revoked.json?["error"]?["code"] == "revoked", "\(revoked.output)")
                #expect(revoked.json?["error"]?["retryable"] == false)

                responder.certificateStatus.withLock { $0 = "" }
                let silent = try await SoukExecutable.run(command + ["--online"])
                #expect(silent.status == 1 && silent.json?["error"]?["code"] == "onlineCheckFailed")
                #expect(silent.json?["error"]?["retryable"] == true)
                responder.questions.withLock { $0 = [] }
            }
        }
    }
}

/// An OCSP server over `openssl ocsp`, in which each certificate's issuer signs.
private final class Responder: HTTPHandler {
    let folder: TemporaryFolder
    /// The status of the leaf in the notation of `openssl ca`: `V` is valid, `R` revoked; empty for a server error.
    let certificateStatus = Locked("V")
    let questions = Locked<[String]>([])
    private let made = Locked<SigningChain?>(nil)

    init() throws { folder = try TemporaryFolder() }

    func chain(at url: String) throws -> SigningChain {
        var (intermediate, leaf) = (CertificateTemplate.intermediate, CertificateTemplate.leaf)
        intermediate.ocspResponder = url + "/intermediate"
        leaf.ocspResponder = url + "/leaf"
        let chain = try SigningChain(root: .root, intermediate: intermediate, leaf: leaf)
        made.withLock { $0 = chain }
        return chain
    }

    func respond(to request: HTTPRequest) -> HTTPReply {
        .suspended { [self] in
            questions.withLock { $0.append(request.path) }
            let certificateStatus = certificateStatus.withLock { $0 }
            guard let question = request.body.buffered, !certificateStatus.isEmpty,
                request.headers["Content-Type"] == "application/ocsp-request",
                let answer = try? await answer(to: question, ofLeaf: request.path == "/leaf", certificateStatus)
            else { return HTTPResponse(status: 503) }
            return HTTPResponse(
                status: 200, headers: ["Content-Type": "application/ocsp-response"], body: .bytes(answer))
        }
    }

    private func answer(to question: [UInt8], ofLeaf isLeaf: Bool, _ certificateStatus: String) async throws -> [UInt8]
    {
        let chain = try #require(made.withLock { $0 })
        let name = UUID().uuidString
        let (certificate, issuer, key) =
            isLeaf
            ? (chain.leaf, chain.intermediate, chain.intermediateKey)
            : (chain.intermediate, chain.root, chain.rootKey)
        let openssl = try #require(OutsideJudge.path(of: "openssl"))
        let subject = try await OutsideJudge.run(openssl, ["x509", "-noout", "-serial"], input: certificate.pem)
        let serial = subject.output.trimmingCharacters(in: .whitespacesAndNewlines).drop { $0 != "=" }.dropFirst()
        let isRevoked = isLeaf && certificateStatus == "R"
        let row =
            "\(isRevoked ? "R" : "V")\t491231235959Z\t\(isRevoked ? "231114221320Z" : "")\t\(serial)\tunknown\t/CN=x\n"
        let answer = folder.file(name + ".answer")
        let verdict = try await OutsideJudge.run(
            openssl,
            [
                "ocsp", "-index", try folder.write(name + ".txt", row), "-CA",
                try folder.write(name + ".pem", issuer.pem),
                "-rsigner", folder.file(name + ".pem"), "-rkey", try folder.write(name + ".key", key.pem),
                "-reqin", try folder.write(name + ".question", question), "-respout", answer, "-nmin", "60",
            ], input: "")
        try #require(verdict.status == 0, "\(verdict.errors)")
        return Array(try Data(contentsOf: URL(fileURLWithPath: answer)))
    }
}
