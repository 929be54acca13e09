import COpenSSL
import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Compares with OpenSSL. A receipt that OpenSSL refuses must be refused here.
@Suite struct ReceiptJudgeTests {
    /// All kinds of receipts, including old ones, and the encodings of Xcode.
    private static func good() throws -> [(name: String, store: ReceiptStore, bytes: [UInt8])] {
        let receipt = ReceiptStore.receipt(purchases: 3)
        var all: [(String, ReceiptStore, [UInt8])] = []
        for (kind, key) in [("ECDSA", nil), ("RSA", ReceiptStore.rsaKey)] as [(String, SigningKey?)] {
            let store = try ReceiptStore(leafKey: key)
            for digest in ReceiptDigest.allCases {
                for form in [ReceiptContainer.Form.distinguished, .indefinite, .pieces] {
                    for hasAttributes in [false, true] {
                        var container = try store.container(receipt)
                        container.digest = digest
                        container.form = form
                        if hasAttributes { container.signedAttributes = try container.usualAttributes() }
                        let name = "\(kind) \(digest) \(form)\(hasAttributes ? " with attributes" : "")"
                        all.append((name, store, try container.bytes()))
                    }
                }
                var container = try store.container(receipt)
                container.digest = digest
                container.digestAlgorithm = ReceiptContainer.algorithm(digest.objectIdentifier, null: false)
                if key != nil {
                    container.signatureAlgorithm = ReceiptContainer.algorithm(digest.withRSA, null: true)
                }
                all.append(("\(kind) \(digest), other names of algorithms", store, try container.bytes()))
            }
        }
        return all
    }

    @Test func `OpenSSL and our verifier accept every kind of receipt`() throws {
        for (name, store, bytes) in try Self.good() {
            #expect(refusal { try store.verifier.verify(bytes) } == nil, "\(name)")
            #expect(OpenSSLJudge.accepts(bytes, root: store.chain.root), "\(name)")
        }
    }

    @Test func `certificates signed with SHA-1 are accepted, because early receipts have them, and with MD5 refused`()
        throws
    {
        let chain = try SigningChain.generate()
        let issuer = CertificateTemplate.Issuer(certificate: chain.root, key: chain.rootKey)
        let key = ReceiptStore.rsaKey
        let intermediate = try CertificateTemplate.intermediate.issue(for: key, by: issuer)
        let leaf = try CertificateTemplate.leaf.issue(
            for: chain.leafKey, by: .init(certificate: intermediate, key: key))
        func refused(_ digest: OpaquePointer) throws -> SignedDataError.Code? {
            let copy = try #require(X509_dup(leaf.pointer))
            defer { X509_free(copy) }
            #expect(X509_sign(copy, key.pointer, digest) > 0)
            let certificate = try Certificate(der: try #require(OpenSSL.der { i2d_X509(copy, $0) }))
            let bytes = try ReceiptContainer(
                payload: ReceiptStore.receipt().der, certificates: [certificate, intermediate, chain.root],
                key: chain.leafKey
            ).bytes()
            let configuration = ReceiptVerifier.Configuration(
                bundleIDs: nil, environments: nil, trustAnchors: [TrustAnchor(chain.root)])
            return refusal { try ReceiptVerifier(configuration: configuration).verify(bytes) }
        }
        #expect(try refused(EVP_sha1()) == nil)
        #expect(try refused(EVP_sha512()) == nil)
        #expect(try refused(EVP_md5()) == .chainInvalid)
    }

    @Test func `our verifier refuses changed receipts, some of which OpenSSL accepts`() throws {
        let store = try ReceiptStore(leafKey: ReceiptStore.rsaKey)
        let container = try store.container()
        let bytes = try container.bytes()
        let root = try #require(bytes.firstRange(of: store.chain.root.der))
        let leaf = try #require(bytes.firstRange(of: store.chain.leaf.der))
        let intermediate = try #require(bytes.firstRange(of: store.chain.intermediate.der))
        let signer = try #require(bytes.lastRange(of: container.signerIdentity))
        let content = try #require(bytes.firstRange(of: container.payload))
        let verifier = store.verifier
        var differences: Set<String> = []
        for position in bytes.indices {
            var changed = bytes
            changed[position] ^= 1 << UInt8(position % 8)
            #expect(refusal { try verifier.verify(changed) } != nil, "byte \(position)")
            guard OpenSSLJudge.accepts(changed, root: store.chain.root) else { continue }
            switch position {
            case root: differences.insert("the embedded root")
            case leaf, intermediate: differences.insert("the other certificates")
            case signer: differences.insert("the signer's name")
            case content: differences.insert("the content")
            case ..<content.lowerBound: differences.insert("before the content")
            case signer.upperBound...: differences.insert("the signer's algorithms and signature")
            default: differences.insert("between certificates and signer")
            }
        }
        #expect(
            differences == [
                "the embedded root", "before the content", "between certificates and signer", "the signer's name",
                "the signer's algorithms and signature",
            ])
        let lax: [(String, [UInt8])] = [
            ("bytes after the end", bytes + [1, 2, 3]),
            ("an unneeded certificate", changed(container) { $0.certificates.append($0.certificates[2]) }),
            ("no root inside", changed(container) { $0.certificates.removeLast() }),
            ("certificates in another order", changed(container) { $0.certificates.reverse() }),
            (
                "an unsigned attribute",
                changed(container) {
                    $0.afterSignature = DERWriter.element(
                        BERTag.context(1),
                        ReceiptContainer.attribute(CMSIdentifier.contentType, DERWriter.objectIdentifier([0x2A])))
                }
            ),
            ("no digest in the set", changed(container) { $0.digestSet = [] }),
            ("another version", changed(container) { $0.version = DERWriter.integer(4) }),
        ]
        for (name, bytes) in lax {
            #expect(refusal { try verifier.verify(bytes) } != nil, "\(name)")
            let isAccepted = OpenSSLJudge.accepts(bytes, root: store.chain.root)
            #expect(isAccepted == (name != "no digest in the set"), "\(name)")
        }
    }

    private func changed(
        _ container: ReceiptContainer, _ change: (inout ReceiptContainer) -> Void
    ) -> [UInt8] {
        var container = container
        change(&container)
        return (try? container.bytes()) ?? []
    }

    @Test func `a changed receipt that OpenSSL refuses is refused here`() throws {
        var random = SeededGenerator(seed: 4)
        let good = try Self.good()
        var refused = 0
        for round in 0..<1500 {
            let (name, store, bytes) = good[round % good.count]
            var changed = bytes
            for _ in 0...Int.random(in: 0...2, using: &random) {
                let position = Int.random(in: changed.indices, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: changed[position] = UInt8.random(in: 0...255, using: &random)
                case 1: changed.remove(at: position)
                case 2: changed.insert(UInt8.random(in: 0...255, using: &random), at: position)
                case 3: changed.swapAt(position, Int.random(in: changed.indices, using: &random))
                default:
                    let end = min(changed.count, position + Int.random(in: 1...40, using: &random))
                    changed.append(contentsOf: changed[position..<end])
                }
            }
            guard refusal({ try store.verifier.verify(changed) }) == nil else {
                refused += 1
                continue
            }
            #expect(OpenSSLJudge.accepts(changed, root: store.chain.root), "\(name), round \(round)")
        }
        #expect(refused > 1400)
    }

    @Test func `openssl cms -verify reads the same content out of our receipts`() async throws {
        let store = try ReceiptStore()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("souk-receipt-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ name: String) -> String { folder.appendingPathComponent(name).path }
        try Data(store.chain.root.pem.utf8).write(to: URL(fileURLWithPath: file("root.pem")))
        func judge(_ bytes: [UInt8]) async throws -> Bool {
            try Data(bytes).write(to: URL(fileURLWithPath: file("receipt")))
            let (_, status) = try await OpenSSLCommand.run([
                "cms", "-verify", "-binary", "-inform", "DER", "-in", file("receipt"), "-CAfile", file("root.pem"),
                "-no-CApath", "-purpose", "any", "-attime", "1700000000", "-out", file("content"),
            ])
            return status == 0
        }
        let receipt = ReceiptStore.receipt(purchases: 4)
        let bytes = try store.sign(receipt, for: ReceiptStore.device)
        #expect(try await judge(bytes))
        let content = Array(try Data(contentsOf: URL(fileURLWithPath: file("content"))))
        #expect(content == Array(try store.verifier.verify(bytes).payloadBytes))
        var tampered = bytes
        tampered[200] ^= 1
        #expect(try await !judge(tampered))
    }

    @Test func `receipts of openssl cms -sign are accepted`() throws {
        let store = try ReceiptStore(leafKey: ReceiptStore.rsaKey)
        var flags = UInt32(CMS_BINARY | CMS_NOSMIMECAP)
        for noAttributes in [false, true] {
            if noAttributes { flags |= UInt32(CMS_NOATTR) }
            let content = ReceiptStore.receipt(purchases: 2).der
            var others: [OpaquePointer?] = [store.chain.intermediate.pointer, store.chain.root.pointer]
            let stack = souk_x509_stack(&others, 2)
            defer { souk_x509_stack_free(stack) }
            let bytes = OpenSSL.reading(content) { input -> [UInt8]? in
                guard
                    let container = CMS_sign(
                        store.chain.leaf.pointer, store.chain.leafKey.pointer, stack, input, flags)
                else { return nil }
                defer { CMS_ContentInfo_free(container) }
                return OpenSSL.der { i2d_CMS_ContentInfo(container, $0) }
            }
            var made = try #require(bytes)
            #expect(OpenSSLJudge.accepts(made, root: store.chain.root))
            // OpenSSL orders certificates by their bytes; the store has the leaf first.
            let places = try made.withUnsafeBytes { try CMSSignedData($0).certificateSet }
            made.replaceSubrange(places, with: store.chain.certificates.flatMap(\.der))
            #expect(refusal { try store.verifier.verify(made) } == nil)
        }
    }
}
