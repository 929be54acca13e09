import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

@Suite struct ChangedReceiptTests {
    let store: ReceiptStore

    init() throws { store = try ReceiptStore() }

    @Test func `a receipt with any changed byte is refused`() throws {
        let bytes = try store.sign()
        let verifier = store.verifier
        _ = try verifier.verify(bytes)
        for position in bytes.indices {
            var changed = bytes
            changed[position] ^= 1 << UInt8(position % 8)
            #expect(refusal { try verifier.verify(changed) } != nil, "byte \(position)")
        }
    }

    @Test func `a receipt is refused with other values of the bytes around the content`() throws {
        for form in [ReceiptContainer.Form.distinguished, .pieces] {
            var container = try store.container()
            container.form = form
            container.signedAttributes = try container.usualAttributes()
            let bytes = try container.bytes()
            let verifier = store.verifier
            _ = try verifier.verify(bytes)
            let leaf = try #require(bytes.firstRange(of: store.chain.leaf.der))
            let signer = try #require(bytes.lastRange(of: container.signerIdentity))
            let places =
                Array(0..<60) + Array(leaf.lowerBound - 24..<leaf.lowerBound + 4)
                + Array(signer.lowerBound - 24..<signer.lowerBound) + Array(signer.upperBound..<bytes.count)
            for position in places {
                for value: UInt8 in [1, 2, 4, 8, 16, 32, 64, 128, 0x7F, 0xFF, bytes[position], ~bytes[position]] {
                    var changed = bytes
                    changed[position] ^= value
                    if value == 0 { continue }
                    #expect(refusal { try verifier.verify(changed) } != nil, "byte \(position) by \(value)")
                }
            }
        }
    }

    @Test(arguments: [ReceiptContainer.Form.distinguished, .indefinite, .pieces])
    func `a receipt truncated anywhere, or with a byte more or less, is refused`(_ form: ReceiptContainer.Form) throws {
        var container = try store.container()
        container.form = form
        let bytes = try container.bytes()
        let verifier = store.verifier
        _ = try verifier.verify(bytes)
        for position in bytes.indices {
            #expect(refusal { try verifier.verify(Array(bytes[..<position])) } != nil, "cut at \(position)")
            #expect(refusal { try UnverifiedReceipt(unverified: Array(bytes[..<position])) } != nil)
            guard form == .distinguished else { continue }
            var shorter = bytes
            shorter.remove(at: position)
            #expect(refusal { try verifier.verify(shorter) } != nil, "without \(position)")
            var longer = bytes
            longer.insert(0, at: position)
            #expect(refusal { try verifier.verify(longer) } != nil, "with one at \(position)")
        }
    }

    @Test func `lengths in more octets than they need are refused`() throws {
        let bytes = try store.sign()
        #expect(bytes[1] == 0x82)
        var longer = bytes
        longer[1] = 0x83
        longer.insert(0, at: 2)
        #expect(refusal { try store.verifier.verify(longer) } == .malformed)
    }

    @Test func `a receipt with more than 100 000 attributes is refused, and accepted with a higher limit`() throws {
        let attributes = (0..<100_000).map { ReceiptAttribute(type: $0 % 3 == 0 ? 2 : 6, value: [0x0C, 1, 0x41]) }
        let receipt = AppReceipt(
            receiptType: "ProductionSandbox", creationDate: ReceiptStore.creationDate,
            otherAttributes: ReceiptAttributes(attributes))
        let bytes = try ReceiptSigner(store.chain).sign(receipt)
        var configuration = store.configuration
        configuration.bundleIDs = nil
        #expect(refusal { try ReceiptVerifier(configuration: configuration).verify(bytes) } == .tooLarge)
        #expect(refusal { try UnverifiedReceipt(unverified: bytes) } == .tooLarge)
        configuration.maximumAttributes = 100_002
        let verified = try ReceiptVerifier(configuration: configuration).verify(bytes)
        #expect(verified.receipt.bundleID == "A")
        #expect(
            verified.receipt.otherAttributes.count == 99_999,
            "the first attribute of a type counts, the others are kept")
        #expect(verified.receipt.json["unknownAttributes"]?["2"]?.arrayValue?.count == 33_333)
    }

    @Test func `deep nesting and false lengths are refused`() throws {
        let verifier = store.verifier
        let count = 2 << 20
        let header = Array(try store.sign().prefix(19))
        let bombs: [[UInt8]] = [
            [UInt8](repeating: 0x30, count: count), (0..<count).map { $0 % 2 == 0 ? 0x30 : 0x80 },
            (0..<count).map { $0 % 2 == 0 ? 0x24 : 0x80 }, [0x30, 0x80] + [UInt8](repeating: 0, count: count),
            [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x30, 0x88, 0x7F] + [UInt8](repeating: 0xFF, count: 7),
            [0x30, 0xFF] + [UInt8](repeating: 1, count: 200),
            [0x30, 0x80] + (0..<count).map { $0 % 2 == 0 ? 0x04 : 0x00 },
            header + [UInt8](repeating: 0xA0, count: count), [0x30, 0x1F, 0x1F],
            [0x3F] + [UInt8](repeating: 0xFF, count: 100), [0x30], [0x30, 0x80], [0x30, 0x82, 0x01],
        ]
        for (index, bomb) in bombs.enumerated() {
            #expect(refusal { try verifier.verify(bomb) } == .malformed, "\(index)")
            #expect(refusal { try UnverifiedReceipt(unverified: bomb) } == .malformed, "\(index)")
        }
        for (depth, isRead) in [(16, true), (17, false), (5000, false)] {
            var container = try store.container()
            container.form = .distinguished
            var content = DERWriter.element(BERTag.octetString, container.payload)
            for _ in 0..<depth { content = DERWriter.element(BERTag.constructedOctetString, content) }
            let whole = try container.bytes()
            let plain = DERWriter.element(BERTag.octetString, container.payload)
            let inner = DERWriter.sequence(
                DERWriter.objectIdentifier(CMSIdentifier.data), DERWriter.element(BERTag.context(0), content))
            let outer = DERWriter.sequence(
                DERWriter.objectIdentifier(CMSIdentifier.data), DERWriter.element(BERTag.context(0), plain))
            let signedData = try #require(whole.firstRange(of: outer))
            let body = whole[23..<signedData.lowerBound] + inner + whole[signedData.upperBound...]
            let bytes = DERWriter.sequence(
                DERWriter.objectIdentifier(CMSIdentifier.signedData),
                DERWriter.element(BERTag.context(0), DERWriter.element(BERTag.sequence, body)))
            #expect((refusal { try verifier.verify(bytes) } == nil) == isRead, "\(depth)")
        }
    }
}

extension Array where Element == UInt8 {
    func firstRange(of other: [UInt8]) -> Range<Int>? {
        indices.lazy.compactMap { self.place(of: other, at: $0) }.first
    }

    func lastRange(of other: [UInt8]) -> Range<Int>? {
        indices.reversed().lazy.compactMap { self.place(of: other, at: $0) }.first
    }

    private func place(of other: [UInt8], at index: Int) -> Range<Int>? {
        index + other.count <= count && self[index..<index + other.count].elementsEqual(other)
            ? index..<index + other.count : nil
    }
}
