import BaseTestSupport
import Foundation
import Primitives
import Testing

@Suite struct Base64EdgeTests {
    /// RFC 4648 section 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func `the examples of RFC 4648 are read and written`(plain: String, encoded: String) {
        #expect(Base64.encode(plain.utf8) == encoded)
        #expect(Base64.decode(encoded) == Array(plain.utf8))
        let url = encoded.replacing("=", with: "")
        #expect(Base64.encodeURL(plain.utf8) == url)
        #expect(Base64.decodeURL(url) == Array(plain.utf8))
    }

    @Test func `text of any length is read as by Foundation`() throws {
        var numbers = SeededNumbers(state: 28)
        for count in 0...130 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &numbers) }
            let text = Data(bytes).base64EncodedString()
            let url = text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
            #expect(Base64.decode(text) == bytes)
            #expect(Base64.decodeURL(url) == bytes)
            for place in url.utf8.indices {
                var foreign = Array(url.utf8)
                foreign[url.utf8.distance(from: url.startIndex, to: place)] = [0x2B, 0x3D, 0x20, 0xC3][count % 4]
                #expect(Base64.decodeURL(foreign) == nil)
            }
        }
    }

    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    @Test func `exactly the characters of each alphabet are accepted`() {
        let standard = Set(Self.letters + Array("+/".utf8))
        let url = Set(Self.letters + Array("-_".utf8))
        for byte in UInt8.min...UInt8.max {
            let text: [UInt8] = [0x41, byte, 0x41, 0x41]
            #expect((Base64.decode(text) != nil) == standard.contains(byte), "\(byte)")
            #expect((Base64.decodeURL(text) != nil) == url.contains(byte), "\(byte)")
        }
    }

    @Test func `only one encoding of the same bytes is accepted`() {
        let alphabet = Self.letters + Array("-_".utf8)
        var (ofOne, ofTwo) = (0, 0)
        for first in alphabet {
            for second in alphabet {
                let pair = String(decoding: [first, second], as: UTF8.self)
                if let bytes = Base64.decodeURL(pair) {
                    ofOne += 1
                    if Base64.encodeURL(bytes) != pair { Issue.record("\(pair) is not canonical") }
                }
                if let bytes = Base64.decodeURL("A" + pair) {
                    ofTwo += 1
                    if Base64.encodeURL(bytes) != "A" + pair { Issue.record("A\(pair) is not canonical") }
                }
            }
        }
        #expect(ofOne == 256, "one text for each byte")
        #expect(ofTwo == 64 * 16, "the first six bits are those of A")
    }

    @Test(arguments: [
        "=", "==", "===", "====", "A===", "AA=", "AAA==", "=AAA", "A=AA", "AA==AA==", "AAAA=", "AAAA====",
    ])
    func `text with wrong padding is refused`(text: String) {
        #expect(Base64.decode(text) == nil)
        #expect(Base64.decodeURL(text) == nil)
    }

    @Test func `bytes without contiguous storage are encoded and decoded in the same way`() {
        let bytes = (0..<100).map { UInt8($0) }
        #expect(Base64.encode(bytes.lazy.map { $0 }) == Base64.encode(bytes))
        #expect(Base64.decodeURL(Base64.encodeURL(bytes).utf8.reversed().reversed()) == bytes)
    }
}

@Suite struct HexTests {
    @Test func `every byte is two lower-case digits, and is read in either case`() {
        let all = Array(UInt8.min...UInt8.max)
        let text = Hex.encode(all)
        #expect(text.count == 512 && text.hasPrefix("000102") && text.hasSuffix("fdfeff"))
        #expect(text == text.lowercased())
        #expect(Hex.decode(text) == all)
        #expect(Hex.decode(text.uppercased()) == all)
        #expect(Hex.encode([]) == "" && Hex.decode("") == [])
    }

    @Test(arguments: ["0", "000", "0g", "g0", "0x", " 0", "0 ", "-1", "+1", "é", "１２", "00\n"])
    func `text other than pairs of hexadecimal digits is refused`(text: String) {
        #expect(Hex.decode(text) == nil)
    }
}
