import BaseTestSupport
import Foundation
import Primitives
import Testing

@testable import SignedData

/// The parts of a verification that are shared among documents, or were made faster than OpenSSL's functions.
@Suite struct SharedDigestTests {
    private static func random(_ count: Int, _ numbers: inout SeededNumbers) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &numbers) }
    }

    @Test func `a digest that continues a prefix is the digest of the whole`() {
        var numbers = SeededNumbers(state: 28)
        for count in [0, 1, 63, 64, 65, 3000] {
            let start = Self.random(count, &numbers)
            let prefix = start.withUnsafeBytes { DigestPrefix($0) }
            for more in [0, 1, 55, 56, 64, 900] {
                let rest = Self.random(more, &numbers)
                for _ in 1...2 {
                    let digest = rest.withUnsafeBytes { prefix.sha256(continuing: $0) }
                    #expect(digest == SHA256.hash(start + rest), "\(count) and \(more) bytes")
                }
            }
        }
    }

    @Test func `many threads share a prefix`() async {
        let start = [UInt8](repeating: 7, count: 3000)
        let prefix = start.withUnsafeBytes { DigestPrefix($0) }
        await withTaskGroup(of: Void.self) { group in
            for task in UInt8(0)..<8 {
                group.addTask {
                    for round in UInt8(0)..<50 {
                        let rest = [task, round]
                        let digest = rest.withUnsafeBytes { prefix.sha256(continuing: $0) }
                        #expect(digest == MessageDigest.sha256(start + rest))
                    }
                }
            }
        }
    }

    @Test func `keys of equal hash differ in any byte`() {
        let bytes = [UInt8](repeating: 1, count: 4000)
        let key = ByteKey(bytes[...])
        for place in bytes.indices {
            var other = bytes
            other[place] = 2
            #expect(ByteKey(other[...]) != key)
        }
        #expect(ByteKey(bytes.dropLast()) != key)
        #expect(ByteKey(([9] + bytes).dropFirst()) == key)
        #expect(ByteKey(([9] + bytes).dropFirst()).hashValue == key.hashValue)
    }

    @Test func `the hash of a key works for every length`() {
        let bytes = [UInt8](repeating: 1, count: 600)
        for count in 0...bytes.count {
            #expect(Set([ByteKey(bytes[..<count]), ByteKey(bytes[..<count])]).count == 1)
        }
    }

    @Test func `signatures are converted to DER and back`() {
        var numbers = SeededNumbers(state: 28)
        for zeros in 0..<32 {
            for first in [UInt8(1), 0x7F, 0x80, 0xFF] {
                let r = [UInt8](repeating: 0, count: zeros) + [first] + Self.random(31 - zeros, &numbers)
                let s = Self.random(31, &numbers) + [1]
                for raw in [r + s, s + r] {
                    let der = ECDSASignature.der(fromRaw: raw)
                    #expect(der.flatMap { ECDSASignature.raw(fromDER: $0) } == raw)
                    #expect(der?.count ?? 0 <= 72)
                }
            }
        }
        let one = [UInt8](repeating: 0, count: 31) + [1]
        let zero = [UInt8](repeating: 0, count: 32)
        #expect(ECDSASignature.der(fromRaw: one + one) == [0x30, 6, 2, 1, 1, 2, 1, 1])
        for raw in [zero + one, one + zero, zero + zero, one, one + one + [1], []] {
            #expect(ECDSASignature.der(fromRaw: raw) == nil)
        }
    }
}
