import Foundation
import Testing

@testable import SignedData

@Suite struct BERReaderTests {
    @discardableResult
    private func read<Result>(_ bytes: [UInt8], _ rules: BERReader.Rules, _ body: (inout BERReader) throws -> Result)
        rethrows -> Result
    {
        try bytes.withUnsafeBytes { bytes in
            var reader = BERReader(bytes, rules: rules)
            return try body(&reader)
        }
    }

    @Test func `elements of definite and indefinite length are found`() throws {
        let bytes: [UInt8] = [0x30, 0x80, 0x24, 0x80, 4, 1, 7, 0, 0, 5, 0, 0, 0, 2, 1, 9]
        try read(bytes, .indefiniteLengths) { reader in
            let sequence = try reader.read(BERTag.sequence)
            #expect(sequence.whole == 0..<13 && sequence.content == 2..<11)
            var inner = reader.inside(sequence)
            let octets = try inner.read()
            #expect(try reader.pieces(ofOctetString: octets) == [6..<7])
            #expect(try inner.readIfPresent(BERTag.integer) == nil)
            #expect(try inner.read(BERTag.null).content.isEmpty)
            #expect(inner.isAtEnd && inner.nextTag == nil)
            #expect(try reader.readInteger() == 9)
            try reader.requireEnd()
        }
    }

    @Test func `the fast path decodes the same as the full parser, or nothing`() {
        var random = SeededGenerator(seed: 8)
        for _ in 0..<20_000 {
            let tag: UInt8 = Bool.random(using: &random) ? 0x30 : 4
            let lengths: [[UInt8]] = [
                [3], [0x7F], [0x80], [0x81, 0x80], [0x82, 0, 3], [0x82, 1, 0], [0x83, 0, 1, 0], [0xFF],
            ]
            var bytes = [tag] + lengths.randomElement(using: &random)!
            bytes += [UInt8](repeating: 0, count: Int.random(in: 0...300, using: &random))
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            for rules in [BERReader.Rules.distinguished, .basic] {
                read(bytes, rules) { reader in
                    var careful = reader
                    let expected = try? careful.read(0x30)
                    if let content = reader.readQuickly(0x30) {
                        #expect(content == expected?.content && reader.position == careful.position)
                    } else {
                        #expect(reader.position == 0)
                    }
                }
            }
        }
    }

    @Test func `an attribute in the common form is decoded as by the full parser, or not at all`() {
        var random = SeededGenerator(seed: 9)
        var (plain, others) = (0, 0)
        for _ in 0..<20_000 {
            let length = UInt8.random(in: 0...0x7F, using: &random)
            var bytes: [UInt8] = [
                0x30, length &+ 9, 2, 2, .random(in: 0...0xFF, using: &random), .random(in: 0...0xFF, using: &random),
                2, 1, .random(in: 0...0xFF, using: &random), 4, length,
            ]
            bytes += [UInt8](repeating: 5, count: Int(length) + Int.random(in: 0...3, using: &random))
            if Bool.random(using: &random) {
                bytes[Int.random(in: 0..<11, using: &random)] = [0, 1, 2, 3, 4, 0x30, 0x7F, 0x80, 0x81, 0xFF]
                    .randomElement(using: &random)!
            }
            if Int.random(in: 0..<4, using: &random) == 0 {
                bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            }
            read(bytes, .basic) { reader in
                var careful = reader
                guard let attribute = reader.readPlainAttribute() else {
                    others += 1
                    #expect(reader.position == 0)
                    return
                }
                plain += 1
                let element = try? careful.read(BERTag.sequence)
                var parts = careful.inside(element?.content ?? 0..<0)
                #expect((try? parts.readInteger()) == Int64(attribute.type))
                #expect((try? parts.readInteger()) == Int64(attribute.version))
                #expect((try? parts.read(BERTag.octetString))?.content == attribute.value)
                #expect(parts.isAtEnd && reader.position == careful.position)
            }
        }
        #expect(plain > 1000 && others > 1000)
    }

    @Test(
        arguments: [
            [], [0x30], [0x30, 1], [0x30, 0x80], [0x30, 0x80, 0], [0x30, 0x80, 0, 1], [4, 0x80, 0, 0], [0x1F, 1, 0],
            [0x30, 0x81], [0x30, 0x81, 1, 0], [0x30, 0x82, 0, 1, 0], [0x30, 0x85, 0, 0, 0, 0, 0],
            [0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xFF],
            [0x30, 0x80, 4, 0x80, 0, 0, 0, 0], [0x30, 0x80, 4, 5, 0, 0],
        ] as [[UInt8]]) func `bytes that are not an element are refused`(_ bytes: [UInt8])
    {
        read(bytes, .indefiniteLengths) { reader in
            #expect(throws: BERError.self) { try reader.read() }
        }
    }

    @Test func `DER has no indefinite lengths, and no longer lengths than necessary`() {
        for bytes in [[0x30, 0x80, 0, 0], [0x30, 0x81, 0], [0x30, 0x82, 0, 0]] as [[UInt8]] {
            read(bytes, .distinguished) { reader in #expect(throws: BERError.self) { try reader.read() } }
            read(bytes, .basic) { reader in #expect(throws: Never.self) { try reader.read() } }
        }
    }

    @Test func `encoded elements are decoded`() throws {
        for count in [0, 1, 127, 128, 255, 256, 65_535, 65_536] {
            let content = [UInt8](repeating: 7, count: count)
            try read(DERWriter.element(BERTag.octetString, content), .distinguished) { reader in
                #expect(try reader.read(BERTag.octetString).content.count == count)
                try reader.requireEnd()
            }
        }
        for value in [0, 1, -1, 127, 128, -128, -129, 255, 256, .max, .min] as [Int64] {
            #expect(try read(DERWriter.integer(value), .distinguished) { try $0.readInteger() } == value)
        }
        #expect(DERWriter.integer(128) == [2, 2, 0, 128] && DERWriter.integer(-128) == [2, 1, 128])
        #expect(DERWriter.set([[2, 1, 3], [1, 1, 0], [2, 1, 1]]) == [0x31, 9, 1, 1, 0, 2, 1, 1, 2, 1, 3])
    }
}
