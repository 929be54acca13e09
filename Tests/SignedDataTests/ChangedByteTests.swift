import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Changes every position of a valid JWS. Each change must be detected.
@Suite struct ChangedByteTests {
    let store: TestStore
    let jws: [UInt8]

    init() throws {
        store = try TestStore()
        jws = Array(try store.signer.sign(TestStore.transaction()).utf8)
    }

    private func isRefused(_ bytes: [UInt8], by verifier: SignedDataVerifier) -> Bool {
        refusal { try verifier.transaction(String(decoding: bytes, as: UTF8.self)) } != nil
    }

    @Test func `every changed character of header, payload and signature is detected`() throws {
        let verifier = store.verifier
        #expect(!isRefused(jws, by: verifier))
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        for (position, byte) in jws.enumerated() {
            let place = alphabet.firstIndex(of: byte) ?? 0
            let others =
                [alphabet[(place + 1) % 64]] + (position % 7 == 0 ? [alphabet[place ^ 32], byte ^ 0x80, 0x2E] : [])
            for other in others where other != byte {
                var changed = jws
                changed[position] = other
                #expect(isRefused(changed, by: verifier), "byte \(position): \(byte) to \(other)")
            }
        }
        #expect(!isRefused(jws, by: verifier))
    }

    @Test func `every truncation is detected, and so are omitted and doubled characters`() throws {
        let verifier = store.verifier
        #expect(!isRefused(jws, by: verifier))
        for position in jws.indices {
            #expect(isRefused(Array(jws[..<position]), by: verifier), "cut at \(position)")
            if position % 5 == 0 || position > jws.count - 90 {
                #expect(isRefused(Array(jws[..<position] + jws[(position + 1)...]), by: verifier))
                #expect(isRefused(Array(jws[...position] + jws[position...]), by: verifier))
            }
        }
    }

    private func chain(changing place: Int, at position: Int) throws -> CertificateChain {
        var certificates = store.certificates
        certificates[place][position] ^= 1 << UInt8(position % 8)
        return try CertificateChain(certificates, trusting: [TrustAnchor(store.chain.root)])
    }

    @Test func `a changed bit in any byte of the leaf or the intermediate is detected`() throws {
        for place in 0..<2 {
            for position in store.certificates[place].indices {
                let code = refusal { try chain(changing: place, at: position) }
                #expect(code != nil, "certificate \(place), byte \(position)")
            }
        }
    }

    @Test func `a root with another issuer's name is refused in a receipt, and accepted in a JWS`() throws {
        let store = try TestStore()
        let (root, name) = (store.certificates[2], Array("Root".utf8))
        let place = try #require(root.indices.first { root[$0...].starts(with: name) })
        var renamed = root
        renamed[place] ^= 0x01
        let encoded = Array(store.certificates.dropLast()) + [renamed]
        let anchors = [TrustAnchor(store.chain.root)]
        #expect(try CertificateChain(encoded, trusting: anchors, use: .jws).anchor == store.chain.root)
        #expect(
            refusal { try CertificateChain(encoded, trusting: anchors, use: .receipts) } == .untrustedRoot)
    }

    @Test func `an accepted embedded root has the subject and key of its anchor`() throws {
        let accepted = store.certificates[2].indices.compactMap { try? chain(changing: 2, at: $0) }
        #expect(accepted.count > 100, "the root's own signature and dates do not count")
        for chain in accepted {
            #expect(chain.anchor == store.chain.root)
            #expect(chain.root.isSameAuthority(as: store.chain.root))
        }
    }

    @Test func `an ECDSA signature is accepted with s and with n - s, because the App Store creates both`() throws {
        // The order n of P-256 (SEC 2 section 2.4.2). RFC 7518 allows both s and n − s.
        let order = try #require(Hex.decode("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"))
        let half = try #require(Hex.decode("7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8"))
        var forms = Set<Bool>()
        for id in 1...8 {
            let jws = try store.signer.sign(TestStore.transaction(id: String(id)))
            var segments = jws.split(separator: ".").map(String.init)
            let signature = try #require(Base64.decodeURL(segments[2]))
            let other = Self.difference(order, Array(signature[32...]))
            segments[2] = Base64.encodeURL(signature[..<32] + other)
            forms.insert(half.lexicographicallyPrecedes(signature[32...]))
            forms.insert(half.lexicographicallyPrecedes(other))
            #expect(refusal { try store.verifier.transaction(jws) } == nil)
            #expect(refusal { try store.verifier.transaction(segments.joined(separator: ".")) } == nil)
        }
        #expect(forms == [true, false])
    }

    private static func difference(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var result = left
        var borrow = 0
        for index in left.indices.reversed() {
            let value = Int(left[index]) - Int(right[index]) - borrow
            result[index] = UInt8(truncatingIfNeeded: value)
            borrow = value < 0 ? 1 : 0
        }
        return result
    }
}
