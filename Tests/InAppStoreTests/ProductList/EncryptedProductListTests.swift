import Foundation
import StoreModel
import Testing

@testable import InAppStore

/// The file format around the cipher. The tests of each decryptor cover AES-256-GCM.
struct EncryptedProductListTests {
    private static let json = Array(#"[{"identifier": "a", "productType": "consumable"}]"#.utf8)

    /// A test cipher that authenticates every byte and encrypts none. Its output is twelve bytes of nonce, the text,
    /// and sixteen bytes of checksums.
    private struct Seal: ProductListDecryptor {
        struct Refused: Error {}
        let key: UInt8

        private func tag(_ text: [UInt8], _ header: [UInt8]) -> [UInt8] {
            let sum = (header + text).reduce(UInt64(key)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
            return withUnsafeBytes(of: (sum, ~sum)) { Array($0) }
        }

        func seal(_ text: [UInt8], _ header: [UInt8]) -> [UInt8] {
            let body = [UInt8](repeating: key, count: 12) + text
            return body + tag(body, header)
        }

        func decrypt(_ sealed: [UInt8], authenticating header: [UInt8]) throws -> [UInt8] {
            guard Array(sealed.suffix(16)) == tag(sealed.dropLast(16), header) else { throw Refused() }
            return Array(sealed.dropFirst(12).dropLast(16))
        }
    }

    private let seal = Seal(key: 7)

    private func file(_ json: [UInt8] = json) throws -> [UInt8] {
        try EncryptedProductList.file(of: json, sealedBy: seal.seal)
    }

    private func refusal(
        _ file: [UInt8], _ decryptor: (any ProductListDecryptor)?
    ) -> PurchaseError? {
        do {
            _ = try ProductList(parsing: file, file: "list.souk", decryptor: decryptor)
            return nil
        } catch {
            return error
        }
    }

    @Test func `an encrypted list is decrypted to the original`() throws {
        let list = try ProductList(parsing: try file(), file: "list.souk", decryptor: seal)
        #expect(list.products.map(\.id) == ["a"])
    }

    @Test func `the header has the format, its version and the length of the rest`() throws {
        let file = try file()
        #expect(EncryptedProductList.recognizes(file))
        #expect(!EncryptedProductList.recognizes(Self.json))
        let count = UInt8(Self.json.count + 28)
        #expect(Array(file.prefix(16)) == Array("SOUKLIST".utf8) + [0, 0, 0, 1, 0, 0, 0, count])
        #expect(file.count == 16 + Self.json.count + 28)
    }

    @Test func `a list is refused with another key`() throws {
        let error = refusal(try file(), Seal(key: 8))
        #expect(error?.code == .productListDecryptionFailed)
        #expect(error?.underlying is Seal.Refused)
        #expect(error?.reason.contains("list.souk") == true)
    }

    @Test func `without a key an encrypted list is refused with an error code of its own`() throws {
        #expect(refusal(try file(), nil)?.code == .productListKeyMissing)
    }

    @Test func `with a key a list without encryption is refused`() throws {
        let error = refusal(Self.json, seal)
        #expect(error?.code == .productListMalformed)
        #expect(error?.reason.contains("not encrypted") == true)
    }

    @Test func `a file that is truncated anywhere, or extended, is refused`() throws {
        let file = try file()
        for count in file.indices {
            let code = refusal(Array(file.prefix(count)), seal)?.code
            #expect(code == .productListMalformed, "\(count) bytes")
        }
        #expect(refusal(file + [0], seal)?.code == .productListMalformed)
    }

    @Test func `a file with any changed bit is refused`() throws {
        let file = try file()
        for bit in 0..<8 * file.count {
            var changed = file
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(refusal(changed, seal) != nil, "bit \(bit)")
        }
    }

    @Test func `the error of a later version names the version`() throws {
        var file = try file()
        file[11] = 2
        #expect(refusal(file, seal)?.reason.contains("version 2") == true)
    }

    @Test func `a decrypted list is checked like any other`() throws {
        let error = refusal(try file(Array("[{}]".utf8)), seal)
        #expect(error?.code == .productListMalformed)
        #expect(error?.reason.contains("list.souk at /0/identifier") == true)
    }

    @Test func `the linter decrypts a list, or reports the reason why it cannot`() throws {
        let text = #"[{"identifier": "a", "productType": "consumable", "color": 1}]"#
        let file = try file(Array(text.utf8))
        func pointers(_ decryptor: (any ProductListDecryptor)?) -> [String] {
            ProductList.lint(file, file: "list.souk", decryptor: decryptor).findings.map(\.description)
        }
        #expect(pointers(seal).count == 1 && pointers(seal)[0].hasPrefix("list.souk at /0/color: "))
        #expect(pointers(nil)[0].contains("list.souk: the product list is encrypted"))
        #expect(pointers(Seal(key: 1))[0].contains("list.souk: the product list was encrypted with another key"))
        #expect(
            ProductList.lint(Self.json, file: "list.json", decryptor: seal).list != nil,
            "The linter must accept a list without encryption too.")
    }

    @Test func `a file on disk is decrypted`() throws {
        let path = FileManager.default.temporaryDirectory.path + "/list-\(UUID().uuidString).souk"
        try Data(try file()).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try ProductList(contentsOf: path, decryptor: seal).products.count == 1)
        #expect(throws: PurchaseError(.productListKeyMissing, "")) { try ProductList(contentsOf: path) }
    }
}
