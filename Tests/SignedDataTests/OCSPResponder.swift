import BaseTestSupport
import Foundation
import HostTestSupport
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// OpenSSL's own OCSP responder (`openssl ocsp`), for the certificates of one store. It runs once for each request.
final class OCSPResponder: Sendable {
    static let leafURL = "http://ocsp.example/leaf"
    static let intermediateURL = "http://ocsp.example/intermediate"

    let store: TestStore
    private let folder: URL
    private let state = Locked(State())

    struct State {
        var questions: [String] = []
        /// The faults of the next requests, in order.
        var faults: [Fault] = []
        /// Additional options of `openssl ocsp`.
        var options = ["-nmin", "60"]
        /// The responder for the leaf, which the intermediate authorised.
        var leafSigner: Signer?
    }

    struct Fault: Error {}

    struct Signer {
        let certificate: Certificate
        let key: SigningKey
    }

    enum CertificateStatus: String { case good = "V", revoked = "R", unknown = "" }

    static func store(_ change: (inout CertificateTemplate, inout CertificateTemplate) -> Void = { _, _ in }) throws
        -> TestStore
    {
        var leaf = CertificateTemplate.leaf
        leaf.ocspResponder = leafURL
        var intermediate = CertificateTemplate.intermediate
        intermediate.ocspResponder = intermediateURL
        change(&leaf, &intermediate)
        return try TestStore(intermediate: intermediate, leaf: leaf)
    }

    init(store: TestStore? = nil, leaf: CertificateStatus = .good, intermediate: CertificateStatus = .good) async throws
    {
        self.store = try store ?? Self.store()
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("souk-ocsp-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try await register(leaf, intermediate)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func change(_ body: @Sendable (inout State) -> Void) { state.withLock { body(&$0) } }
    var questions: [String] { state.withLock { $0.questions } }

    /// Writes the responder's database.
    func register(_ leaf: CertificateStatus, _ intermediate: CertificateStatus) async throws {
        var index = ""
        for (certificate, status) in [(store.chain.leaf, leaf), (store.chain.intermediate, intermediate)]
        where status != .unknown {
            let revocation = status == .revoked ? "231114221320Z,keyCompromise" : ""
            let serial = try await serial(certificate)
            index +=
                "\(status.rawValue)\t491231235959Z\t\(revocation)\t\(serial)\tunknown\t/CN=\(status)-\(index.count)\n"
        }
        try Data(index.utf8).write(to: file("index.txt"))
    }

    private func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

    private func serial(_ certificate: Certificate) async throws -> String {
        let (output, status) = try await OpenSSLCommand.run(
            ["x509", "-noout", "-serial"], input: Array(certificate.pem.utf8))
        try #require(status == 0)
        return String(output.trimmingCharacters(in: .whitespacesAndNewlines).drop { $0 != "=" }.dropFirst())
    }

    /// Returns a responder that `issuer` authorised, with the extended key usage `usage`.
    static func signer(
        issuedBy issuer: CertificateTemplate.Issuer, usage: String? = "OCSPSigning"
    ) throws -> Signer {
        let template = CertificateTemplate(
            commonName: "OCSP Responder", basicConstraints: "critical,CA:FALSE",
            keyUsage: "critical,digitalSignature", extendedKeyUsage: usage)
        let key = try SigningKey.generate()
        return Signer(certificate: try template.issue(for: key, by: issuer), key: key)
    }

    var root: CertificateTemplate.Issuer { .init(certificate: store.chain.root, key: store.chain.rootKey) }
    var intermediate: CertificateTemplate.Issuer {
        .init(certificate: store.chain.intermediate, key: store.chain.intermediateKey)
    }

    /// Answers a posted request, as `RevocationChecker.Configuration.post`.
    func post(_ url: URL, _ request: [UInt8]) async throws -> [UInt8] {
        let (isFault, options, chosen) = state.withLock { state in
            state.questions.append(url.absoluteString)
            let isFault = !state.faults.isEmpty
            if isFault { state.faults.removeFirst() }
            return (isFault, state.options, state.leafSigner)
        }
        if isFault { throw Fault() }
        return try await answer(url, request, options: options, leafSigner: chosen)
    }

    func answer(
        _ url: URL, _ request: [UInt8], options: [String] = ["-nmin", "60"], leafSigner: Signer? = nil
    ) async throws -> [UInt8] {
        let isLeaf = url.absoluteString == Self.leafURL
        let issuer = isLeaf ? intermediate : root
        let signer = try isLeaf ? leafSigner ?? Self.signer(issuedBy: issuer) : Self.signer(issuedBy: issuer)
        let name = UUID().uuidString
        let parts = ["ca.pem": issuer.certificate.pem, "signer.pem": signer.certificate.pem, "key.pem": signer.key.pem]
        for (part, text) in parts { try Data(text.utf8).write(to: file(name + part)) }
        try Data(request).write(to: file(name + "request"))
        let (output, status) = try await OpenSSLCommand.run(
            [
                "ocsp", "-index", file("index.txt").path, "-CA", file(name + "ca.pem").path,
                "-rsigner", file(name + "signer.pem").path, "-rkey", file(name + "key.pem").path,
                "-reqin", file(name + "request").path, "-respout", file(name + "response").path,
            ] + options)
        try #require(status == 0, "\(output)")
        return Array(try Data(contentsOf: file(name + "response")))
    }
}

/// The command `openssl`.
enum OpenSSLCommand {
    /// Runs the command to its end. Returns its output, followed by its standard error.
    static func run(_ arguments: [String], input: [UInt8] = []) async throws -> (output: String, status: Int32) {
        let outcome = try await ChildProgram.run("/usr/bin/env", ["openssl"] + arguments, input: .bytes(input))
        return (outcome.output + outcome.errors, outcome.status)
    }
}

/// A clock that does not run until it is moved.
final class StillClock: WallClock {
    private let state = Locked((start: Date(), moved: TimeInterval(0)))

    func now() -> Date { state.withLock { $0.start + $0.moved } }
    func move(by seconds: TimeInterval) { state.withLock { $0.moved += seconds } }
    /// Adds the real time that has passed, because OpenSSL dates answers by the real clock.
    func catchUp() { state.withLock { $0.start = Date() } }
    func sleep(until deadline: Date) async throws { throw CancellationError() }
}
