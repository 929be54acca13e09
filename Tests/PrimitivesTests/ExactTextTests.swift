import BaseTestSupport
import Foundation
import Primitives
import Testing

@Suite struct ExactTextTests {
    private struct Name: ExactText, Codable { let rawValue: String }

    /// Compares as generic code does, without the operators of the type.
    private static func areEqual<Value: Hashable>(_ left: Value, _ right: Value) -> Bool {
        left == right || !(left != right) || Set([left, right]).count == 1 || [left: 1][right] != nil
    }

    @Test(arguments: UnicodeForms.pairs)
    func `two forms of one string are two values, in every comparison`(pair: UnicodeForms) {
        #expect(pair.composed == pair.other, "Swift's strings are equal, or this proves nothing")
        let (left, right) = (Name(rawValue: pair.composed), Name(rawValue: pair.other))
        #expect(left != right)
        #expect(!(left == right))
        #expect(!Self.areEqual(left, right))
        #expect(!Self.areEqual(ExactString(pair.composed), ExactString(pair.other)))
        #expect(!Self.areEqual([left], [right]))
        #expect(!Self.areEqual(left as Name?, right as Name?))
        #expect(left.hashValue != right.hashValue)
        #expect((left < right) != (right < left))
        #expect((left < right) == Array(pair.composed.utf8).lexicographicallyPrecedes(Array(pair.other.utf8)))
    }

    @Test func `equal bytes are equal values, wherever they are stored`() {
        for text in ["", "a", "pro", String(repeating: "monthly", count: 9), "caf\u{E9}", "日本", "e\u{301}"] {
            let part = String("<\(text)>".dropFirst().dropLast())
            let rebuilt = String(decoding: Array(text.utf8), as: UTF8.self)
            #expect(text.hasSameBytes(as: part) && part.hasSameBytes(as: rebuilt))
            #expect(Set([ExactString(text), ExactString(part), ExactString(rebuilt)]).count == 1)
            #expect(Name(rawValue: text).hashValue == Name(rawValue: rebuilt).hashValue)
            #expect(!text.hasSameBytes(as: text + "x") && !(text + "x").hasSameBytes(as: text))
        }
    }

    @Test func `strings are ordered by their bytes, as in the database`() {
        var numbers = SeededNumbers(state: 7)
        let texts = (0..<200).flatMap { _ -> [String] in
            let pair = UnicodeForms.random(using: &numbers)
            return [pair.composed, pair.other]
        }
        let sorted = texts.map { ExactString($0) }.sorted().map { Array($0.rawValue.utf8) }
        #expect(sorted == texts.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
    }

    @Test func `a key is not found in another Unicode form`() {
        let prices = ["caf\u{E9}": 3]
        #expect(prices["cafe\u{301}"] == 3, "Swift's dictionary finds it, or this proves nothing")
        #expect(prices[exactly: "caf\u{E9}"] == 3)
        #expect(prices[exactly: "cafe\u{301}"] == nil)
        #expect(prices[exactly: "tea"] == nil)
        let name: String? = "caf\u{E9}"
        #expect(name.hasSameBytes(as: "caf\u{E9}") && !name.hasSameBytes(as: "cafe\u{301}"))
        #expect(!(nil as String?).hasSameBytes(as: ""))
    }

    @Test func `consecutive strings are hashed separately`() {
        func hash(_ parts: [String]) -> Int {
            var hasher = Hasher()
            for part in parts { hasher.combine(ExactString(part)) }
            return hasher.finalize()
        }
        #expect(hash(["ab", "c"]) != hash(["a", "bc"]))
        #expect(hash(["ab", ""]) != hash(["", "ab"]))
    }
}

@Suite struct NormalFormTests {
    @Test(arguments: UnicodeForms.pairs)
    func `of two forms of a string only the composed one is in normal form C`(pair: UnicodeForms) {
        #expect(pair.composed.isInNormalFormC)
        #expect(!pair.other.isInNormalFormC)
    }

    @Test func `random strings that are equal for Swift and both normal have the same bytes`() {
        var numbers = SeededNumbers(state: 11)
        for _ in 0..<UnicodeForms.rounds(2000) {
            let pair = UnicodeForms.random(using: &numbers)
            #expect(pair.composed == pair.other, "\(pair)")
            #expect(pair.composed.isInNormalFormC, "\(pair)")
            #expect(pair.other.hasSameBytes(as: pair.composed) || !pair.other.isInNormalFormC, "\(pair)")
        }
    }

    /// All of Unicode if `SOUK_IDENTITIES` is set; otherwise the ranges with composed letters.
    @Test(
        arguments: ProcessInfo.processInfo.environment["SOUK_IDENTITIES"] == nil
            ? [0...0x33FF, 0xAC00...0xACFF, 0xD700...0xD7FF, 0xF900...0xFAFF, 0x1D000...0x1D1FF, 0x2F800...0x2FA1F]
            : (0...16).map { plane in plane << 16...plane << 16 | 0xFFFF } as [ClosedRange<UInt32>])
    func `a code point is in normal form C exactly if normalizing it keeps its bytes`(range: ClosedRange<UInt32>) {
        var wrong: [String] = []
        for value in range {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = String(scalar)
            let normal = text.decomposedStringWithCanonicalMapping.precomposedStringWithCanonicalMapping
            let isRight =
                text == normal && normal.isInNormalFormC
                && text.isInNormalFormC == text.utf8.elementsEqual(normal.utf8)
            if !isRight { wrong.append("U+" + String(value, radix: 16)) }
        }
        #expect(wrong == [])
    }

    @Test(arguments: ["", "a", "store.purchase", "ÀÉ", "日本", "👩‍👩‍👧", "ﬁ", "①", "e\u{20DD}", "नि"])
    func `text with one spelling is in normal form`(text: String) {
        #expect(text.isInNormalFormC)
    }
}
