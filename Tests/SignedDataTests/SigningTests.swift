import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

@Suite struct SigningKeyTests {
    @Test func `a key survives PEM, and its signatures are valid`() throws {
        let key = try SigningKey.generate()
        let copy = try SigningKey(Array(key.pem.utf8))
        let message = Array("message".utf8)
        let signature = try copy.signature(of: message)
        #expect(signature.count == 64)
        #expect(key.verificationKey.isValid(signature: signature, of: message))
        #expect(key.verificationKey.isValid(signature: signature, ofDigest: SHA256.hash(message)))
        #expect(!key.verificationKey.isValid(signature: signature, of: message + [0]))
        #expect(try VerificationKey(key.verificationKey.der).isValid(signature: signature, of: message))
    }

    @Test func `r and s keep their leading zeros`() throws {
        let key = try SigningKey.generate()
        let verificationKey = key.verificationKey
        for index in 0..<400 {
            let message = Array("message \(index)".utf8)
            let signature = try key.signature(of: message)
            #expect(signature.count == 64)
            #expect(verificationKey.isValid(signature: signature, of: message))
        }
    }

    @Test func `a key that is not P-256 is refused`() throws {
        let other = try SigningKey.generate(onCurve: "P-384")
        let pem = try SigningKey.generate().pem
        let changed = pem.replacingOccurrences(of: "MIG", with: "MIX")
        for text in [other.pem, "", "-----BEGIN PRIVATE KEY-----", changed, "0000"] {
            #expect(refusal { try SigningKey(Array(text.utf8)) } == .keyMalformed)
            #expect(refusal { try VerificationKey(Array(text.utf8)) } == .keyMalformed)
        }
        let store = try TestStore(leafKey: other)
        #expect(store.chain.leaf.verificationKey() == nil)
    }
}

@Suite struct SigningChainTests {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("souk-signing-\(UUID().uuidString)")

    private func removeFolder() { try? FileManager.default.removeItem(at: folder) }

    private func mode(_ file: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
    }

    @Test func `a chain is created once and stored`() throws {
        defer { removeFolder() }
        #expect(try SigningChain.load(from: folder) == nil)
        let made = try SigningChain.open(in: folder)
        let again = try SigningChain.open(in: folder)
        #expect(made.certificates == again.certificates)
        #expect(try mode(SigningChain.file(in: folder)) == 0o600)
        #expect(try Data(contentsOf: SigningChain.rootFile(in: folder)) == Data(made.root.der))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2, "no drafts are left")

        let jws = try JWSSigner(again).sign(TestStore.transaction())
        let configuration = SignedDataVerifier.Configuration(
            bundleIDs: ["com.example"], environments: [.sandbox], trustAnchors: [TrustAnchor(made.root)])
        #expect(refusal { try SignedDataVerifier(configuration: configuration).transaction(jws) } == nil)
    }

    @Test func `the root's file is written again when it is missing or changed`() throws {
        defer { removeFolder() }
        let chain = try SigningChain.open(in: folder)
        for spoil in [{ try FileManager.default.removeItem(at: $0) }, { try Data([1]).write(to: $0) }] {
            try spoil(SigningChain.rootFile(in: folder))
            #expect(try SigningChain.open(in: folder).root == chain.root)
            #expect(try Data(contentsOf: SigningChain.rootFile(in: folder)) == Data(chain.root.der))
        }
    }

    @Test func `concurrent calls of open return the same chain`() async throws {
        defer { removeFolder() }
        let folder = folder
        let roots = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<8 { group.addTask { try SigningChain.open(in: folder).root.der } }
            return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
        }
        #expect(roots.count == 1)
    }

    @Test func `a file that is not a chain is refused and stays unchanged`() throws {
        defer { removeFolder() }
        let chain = try SigningChain.open(in: folder)
        let other = try SigningChain.generate()
        let mixed = chain.pem.replacingOccurrences(of: chain.leafKey.pem, with: other.leafKey.pem)
        let foreignRoot = chain.pem.replacingOccurrences(of: chain.root.pem, with: other.root.pem)
            .replacingOccurrences(of: chain.rootKey.pem, with: other.rootKey.pem)
        for text in ["", "nonsense", chain.leaf.pem, mixed, foreignRoot] {
            try Data(text.utf8).write(to: SigningChain.file(in: folder))
            #expect(refusal { try SigningChain.open(in: folder) } == .signingChainInvalid)
            #expect(try Data(contentsOf: SigningChain.file(in: folder)) == Data(text.utf8))
        }
    }

    @Test func `the error names a folder that cannot be created`() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("souk-file-\(UUID().uuidString)")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect {
            try SigningChain.open(in: file.appendingPathComponent("data"))
        } throws: { error in
            let error = error as? SignedDataError
            return error?.code == .storageFailed && error?.reason.contains(file.path) == true
        }
    }

    @Test func `certificates are valid from 1970 to 9999 and have the markers`() throws {
        let chain = try SigningChain.generate()
        for certificate in chain.certificates {
            #expect(certificate.validity.lowerBound == Date(timeIntervalSince1970: 0))
            #expect(certificate.validity.upperBound > Date(timeIntervalSince1970: 250_000_000_000))
            for identifier in ["2.5.29.14", "2.5.29.15", "2.5.29.19"] { #expect(certificate.hasExtension(identifier)) }
        }
        #expect(chain.leaf.hasExtension(CertificateChain.leafMarker))
        #expect(chain.intermediate.hasExtension(CertificateChain.intermediateMarker))
        #expect(chain.leaf.issuer == chain.intermediate.subject)
        #expect(!chain.leaf.isCertificateAuthority && chain.root.isCertificateAuthority)
    }
}
