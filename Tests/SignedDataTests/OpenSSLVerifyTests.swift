import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Compares with `openssl verify`. A chain that it refuses must be refused here. Our verifier may refuse more; the table
/// has the reasons.
@Suite struct OpenSSLVerifyTests {
    struct Case {
        let name: String
        let ours: SignedDataError.Code?
        let openssl: Bool
        let store: TestStore
        var seconds = TestStore.signedDate.timeIntervalSince1970
    }

    struct Templates {
        var root = CertificateTemplate.root
        var intermediate = CertificateTemplate.intermediate
        var leaf = CertificateTemplate.leaf
    }

    static func store(_ change: (inout Templates) -> Void = { _ in }) throws -> TestStore {
        var templates = Templates()
        change(&templates)
        return try TestStore(root: templates.root, intermediate: templates.intermediate, leaf: templates.leaf)
    }

    static func constraints() throws -> [Case] {
        func expect(
            _ name: String, _ ours: SignedDataError.Code?, _ openssl: Bool, _ change: (inout Templates) -> Void
        ) throws -> Case { Case(name: name, ours: ours, openssl: openssl, store: try store(change)) }
        return [
            try expect("unchanged", nil, true) { _ in },
            try expect("leaf without constraints and usage", nil, true) {
                $0.leaf.basicConstraints = nil
                $0.leaf.keyUsage = nil
            },
            // OpenSSL ignores Apple's extensions.
            try expect("leaf without marker", .missingMarkerOID, true) { $0.leaf.markers = [] },
            try expect("intermediate without marker", .missingMarkerOID, true) { $0.intermediate.markers = [] },
            // OpenSSL does not check the key usage of the leaf.
            try expect("leaf is an authority", .chainInvalid, true) {
                $0.leaf.basicConstraints = "critical,CA:TRUE"
                $0.leaf.keyUsage = "critical,keyCertSign"
            },
            try expect("intermediate is no authority", .notACertificateAuthority, false) {
                $0.intermediate.basicConstraints = "critical,CA:FALSE"
                $0.intermediate.keyUsage = nil
            },
            try expect("intermediate may not sign", .notACertificateAuthority, false) {
                $0.intermediate.keyUsage = "critical,digitalSignature"
            },
            try expect("root is no authority", .notACertificateAuthority, false) {
                $0.root.basicConstraints = "critical,CA:FALSE"
                $0.root.keyUsage = nil
            },
            try expect("root allows no intermediate", .notACertificateAuthority, false) {
                $0.root.basicConstraints = "critical,CA:TRUE,pathlen:0"
            },
        ]
    }

    static func times() throws -> [Case] {
        let year = try store {
            $0.leaf.notBefore = "20230101000000Z"
            $0.leaf.notAfter = "20231231235959Z"
        }
        let (start, end) = (Date.instant("2023-01-01T00:00:00Z"), Date.instant("2023-12-31T23:59:59Z"))
        let late = try store { $0.intermediate.notAfter = "20200101000000Z" }
        let early = try store { $0.root.notBefore = "20300101000000Z" }
        return [
            Case(name: "expired intermediate", ours: .certificateExpired, openssl: false, store: late),
            Case(name: "root of the future", ours: .certificateExpired, openssl: false, store: early),
            Case(name: "a second early", ours: .certificateExpired, openssl: false, store: year, seconds: start - 1),
            Case(name: "the first second", ours: nil, openssl: true, store: year, seconds: start),
            Case(name: "the last second but one", ours: nil, openssl: true, store: year, seconds: end - 1),
            Case(name: "the last second", ours: .certificateExpired, openssl: false, store: year, seconds: end),
            Case(name: "a second late", ours: .certificateExpired, openssl: false, store: year, seconds: end + 1),
        ]
    }

    @Test func `no case is accepted that openssl refuses`() async throws {
        for item in try Self.constraints() + Self.times() {
            var payload = TestStore.transaction()
            payload.signedDate = Date(timeIntervalSince1970: item.seconds)
            let jws = try item.store.signer.sign(payload)
            #expect(refusal { try item.store.verifier.transaction(jws) } == item.ours, "\(item.name)")
            let verdict = try await Self.openssl(item.store.chain.certificates.map(\.der), at: item.seconds)
            #expect(verdict == item.openssl, "\(item.name)")
            #expect(item.ours != nil || item.openssl, "\(item.name): accepted although openssl refuses it")
        }
    }

    @Test func `certificates of another chain are refused by both`() async throws {
        let (store, other) = (try TestStore(), try TestStore())
        let mixtures = [
            [other.certificates[0], store.certificates[1], store.certificates[2]],
            [store.certificates[0], other.certificates[1], store.certificates[2]],
            [other.certificates[0], other.certificates[1], store.certificates[2]],
        ]
        for certificates in mixtures {
            let seconds = TestStore.signedDate.timeIntervalSince1970
            #expect(try await !Self.openssl(certificates, at: seconds))
            #expect(refusal { try CertificateChain(certificates, trusting: [TrustAnchor(store.chain.root)]) } != nil)
        }
    }

    @Test func `openssl accepts every changed leaf that is accepted here`() async throws {
        let store = try TestStore()
        let changed = store.certificates[0].indices.map { position in
            var leaf = store.certificates[0]
            leaf[position] ^= 1 << UInt8(position % 8)
            return leaf
        }
        let byOpenSSL = try await Self.openssl(leaves: changed, of: store)
        #expect(byOpenSSL.count == changed.count)
        for (leaf, isAccepted) in zip(changed, byOpenSSL) {
            let chain = [leaf, store.certificates[1], store.certificates[2]]
            let code = refusal { try CertificateChain(chain, trusting: [TrustAnchor(store.chain.root)]) }
            #expect(code != nil || isAccepted)
        }
        #expect(try await Self.openssl(leaves: [store.certificates[0]], of: store) == [true])
    }

    // MARK: - The judge

    private static func openssl(_ certificates: [[UInt8]], at seconds: TimeInterval) async throws -> Bool {
        let folder = try Folder()
        defer { withExtendedLifetime(folder) {} }
        let files = try certificates.enumerated().map { index, der in
            try folder.write(Array(Certificate(der: der).pem.utf8), "\(index).pem")
        }
        let arguments = ["-attime", String(Int(seconds)), "-CAfile", files[2], "-untrusted", files[1], files[0]]
        return try await OpenSSLCommand.run(["verify", "-no-CAstore", "-no-CApath"] + arguments).status == 0
    }

    private static func openssl(leaves: [[UInt8]], of store: TestStore) async throws -> [Bool] {
        let folder = try Folder()
        defer { withExtendedLifetime(folder) {} }
        let root = try folder.write(Array(store.chain.root.pem.utf8), "root.pem")
        let intermediate = try folder.write(Array(store.chain.intermediate.pem.utf8), "intermediate.pem")
        let files = try leaves.enumerated().map { try folder.write($0.element, "\($0.offset).der") }
        let time = String(Int(TestStore.signedDate.timeIntervalSince1970))
        let (output, _) = try await OpenSSLCommand.run(
            ["verify", "-attime", time, "-CAfile", root, "-untrusted", intermediate] + files)
        let accepted = Set(output.split(separator: "\n").filter { $0.hasSuffix(": OK") }.map { String($0.dropLast(4)) })
        return files.map { accepted.contains($0) }
    }

    private final class Folder {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("souk-verify-\(UUID().uuidString)")

        init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: url) }

        func write(_ bytes: [UInt8], _ name: String) throws -> String {
            let file = url.appendingPathComponent(name)
            try Data(bytes).write(to: file)
            return file.path
        }
    }
}

extension Date {
    /// Returns the seconds since 1970 of an RFC 3339 date.
    fileprivate static func instant(_ text: String) -> TimeInterval {
        RFC3339.date(from: text)?.timeIntervalSince1970 ?? .nan
    }
}
