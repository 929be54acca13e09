import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

@Suite struct ReceiptPayloadTests {
    private func attribute(_ type: Int64, version: Int64 = 1, _ value: [UInt8]) -> [UInt8] {
        DERWriter.sequence(
            DERWriter.integer(type), DERWriter.integer(version), DERWriter.element(BERTag.octetString, value))
    }

    /// Encodes attributes in the given order, which DER would change.
    private func set(_ attributes: [[UInt8]]) -> [UInt8] { DERWriter.element(BERTag.set, attributes.joined()) }

    private func receipt(_ attributes: [UInt8]...) throws -> AppReceipt {
        try ReceiptPayload(set(attributes)[...], maximumAttributes: 1000).receipt
    }

    private func purchase(_ attributes: [UInt8]...) throws -> AppReceipt.InAppPurchase {
        let purchases = try receipt(attribute(17, set(attributes))).inAppPurchases
        #expect(purchases.count == 1)
        return purchases[0]
    }

    @Test func `numbers have zero to eight octets`() throws {
        func quantity(_ octets: [UInt8]) throws -> AppReceipt.InAppPurchase {
            try purchase(attribute(1701, DERWriter.element(BERTag.integer, octets)))
        }
        #expect(try quantity([]).quantity == 0)
        #expect(try quantity([0x7F]).quantity == 127)
        #expect(try quantity([0x80]).quantity == -128)
        #expect(try quantity([0, 0x80]).quantity == 128)
        #expect(try quantity([0x7F] + Array(repeating: 0xFF, count: 7)).quantity == .max)
        #expect(try quantity([0x80] + Array(repeating: 0, count: 7)).quantity == .min)
        let tooLarge = try quantity([1] + Array(repeating: 0, count: 8))
        #expect(tooLarge.quantity == nil)
        #expect(tooLarge.otherAttributes.map(\.type) == [1701], "kept unread")
    }

    @Test func `the line item id is a string, even if the receipt has a number`() throws {
        #expect(
            try purchase(attribute(1711, DERWriter.integer(340_000_558_053_130))).webOrderLineItemID
                == "340000558053130")
        #expect(try purchase(attribute(1711, DERWriter.integer(.max))).webOrderLineItemID == "9223372036854775807")
        #expect(try purchase(attribute(1711, DERWriter.utf8String("abc"))).webOrderLineItemID == "abc")
        #expect(try purchase(attribute(1711, DERWriter.null)).webOrderLineItemID == nil)
    }

    @Test(
        arguments: [
            ("2024-02-23T17:03:40Z", "2024-02-23T17:03:40Z"), ("2020-07-22T18:33:15+0100", "2020-07-22T17:33:15Z"),
            ("2020-07-22T18:33:15+01:00", "2020-07-22T17:33:15Z"), ("2020-07-22T18:33:15-0330", "2020-07-22T22:03:15Z"),
            ("2020-07-22T18:33:15-08", "2020-07-23T02:33:15Z"), ("4001-01-01T00:00:00+0000", "4001-01-01T00:00:00Z"),
            ("2021-03-04T05:06:07.089Z", "2021-03-04T05:06:07.089Z"),
            ("2021-03-04T05:06:07.5+0200", "2021-03-04T03:06:07.500Z"),
            ("2021-03-04T05:06:07.0890000000000001Z", "2021-03-04T05:06:07.089Z"),
            ("2020-07-22T6:33:15 PM+0100", "2020-07-22T17:33:15Z"),
            ("2020-07-22T12:33:15AM+0000", "2020-07-22T00:33:15Z"),
            ("2020-07-22T12:33:15\u{202F}pm+0000", "2020-07-22T12:33:15Z"),
            ("2020-02-29T00:00:00Z", "2020-02-29T00:00:00Z"),
            ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"), ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
            ("", nil), ("2021-02-29T00:00:00Z", nil), ("2020-07-22T18:33:15", nil), ("2020-07-22", nil),
            ("2020-13-22T18:33:15Z", nil), ("2020-07-22T24:00:00Z", nil), ("2020-07-22T13:00:00PM+0000", nil),
            ("2020-07-22T00:00:00AM+0000", nil), ("2020-07-22T18:33:15Z ", nil), ("2020-07-22T18:33:15.Z", nil),
            ("2020-07-22T18:33:15+2400", nil), ("2020-07-22T18:60:15Z", nil), ("+020-07-22T18:33:15Z", nil),
        ] as [(String, String?)]) func `dates are decoded in the forms of stores and Xcode`(
            _ text: String, _ expected: String?
        ) throws
    {
        for encoded in [DERWriter.ia5String(text), DERWriter.utf8String(text)] {
            let receipt = try receipt(attribute(12, encoded))
            #expect(receipt.creationDate.map { RFC3339.string(from: $0) } == expected)
            #expect(
                receipt.otherAttributes.isEmpty == (expected != nil || text.isEmpty), "a text that is no date is kept")
        }
    }

    @Test func `an empty value is missing`() throws {
        let empty = try receipt(
            attribute(0, []), attribute(2, DERWriter.utf8String("")), attribute(3, DERWriter.utf8String("")),
            attribute(4, []), attribute(5, []), attribute(12, DERWriter.ia5String("")), attribute(21, []))
        #expect(empty == AppReceipt())
        #expect(
            try purchase(attribute(1712, DERWriter.ia5String("")), attribute(1721, DERWriter.utf8String(""))) == .init()
        )
        #expect(try receipt(attribute(17, set([]))).inAppPurchases == [.init()])
    }

    @Test func `the first value that is not empty counts, and further values are kept`() throws {
        let receipt = try receipt(
            attribute(3, DERWriter.utf8String("")), attribute(3, DERWriter.utf8String("1")),
            attribute(3, version: 2, DERWriter.utf8String("2")), attribute(3, DERWriter.null))
        #expect(receipt.appVersion == "1")
        #expect(receipt.otherAttributes.map(\.version) == [2, 1])
        #expect(receipt.otherAttributes.map(\.type) == [3, 3])
        let bundle = set([
            attribute(2, DERWriter.utf8String("not a bundle id")), attribute(2, DERWriter.utf8String("com.a")),
            attribute(2, DERWriter.utf8String("com.b")),
        ])
        let payload = try ReceiptPayload(bundle[...], maximumAttributes: 3)
        #expect(payload.receipt.bundleID == "com.a")
        #expect(Array(payload.encodedBundleID) == DERWriter.utf8String("com.a"), "the input of the device hash")
    }

    @Test func `no value of an attribute is refused, except an invalid purchase`() throws {
        let values: [[UInt8]] = [
            [], [0], [5, 0], [0x0C], [0x0C, 5, 65], [0x0C, 1, 0xFF], [0x02, 0x80], [0x24, 0x80, 0, 0],
            [0x0C, 0x81, 1, 65],
            [0x1F, 0x1F], [UInt8](repeating: 0xFF, count: 300), [0x16, 2, 65, 65, 65],
        ]
        for type in Array(0...30) + [-1, 1 << 40] where type != 17 {
            for value in values {
                let receipt = try receipt(attribute(Int64(type), value), attribute(2, DERWriter.utf8String("com.a")))
                #expect(receipt.bundleID == "com.a" || type == 2)
            }
        }
        for type in 1700...1730 {
            for value in values { _ = try purchase(attribute(Int64(type), value)) }
        }
        #expect(throws: SignedDataError(.payloadMalformed, "")) { try receipt(attribute(17, [0x30, 0])) }
        #expect(throws: SignedDataError(.payloadMalformed, "")) { try receipt(attribute(17, [])) }
    }

    @Test func `attributes without a member can be read and written`() throws {
        let receipt = try receipt(
            attribute(1, DERWriter.integer(690_661_663)), attribute(8, DERWriter.ia5String("2024-02-23T17:03:40Z")),
            attribute(10, DERWriter.ia5String("17+")), attribute(15, DERWriter.integer(74_011_462_945_433)),
            attribute(16, DERWriter.integer(863_855_306)), attribute(18, DERWriter.ia5String("2016-08-16T15:15:43Z")),
            attribute(99, [1, 2, 3]))
        #expect(receipt.appItemID == 690_661_663 && receipt.ageRating == "17+")
        #expect(receipt.downloadID == 74_011_462_945_433 && receipt.versionExternalID == 863_855_306)
        #expect(receipt.requestDate == Date(timeIntervalSince1970: 1_708_707_820))
        #expect(receipt.originalPurchaseDate == Date(timeIntervalSince1970: 1_471_360_543))
        #expect(receipt.otherAttributes.last == ReceiptAttribute(type: 99, value: [1, 2, 3]))
        #expect(try purchase(attribute(1710, DERWriter.integer(1_297_233_222))).itemID == 1_297_233_222)
        #expect(ReceiptAttribute(type: 1, text: "a").textValue == "a")
        #expect(ReceiptAttribute(type: 1, text: "a").integerValue == nil)
        #expect(ReceiptAttribute(type: 1, integer: -129).integerValue == -129)
    }

    @Test func `signed content may be BER`() throws {
        let content: [UInt8] =
            [0x31, 0x80, 0x30, 0x80, 0x02, 0x81, 0x01, 0x03, 0x02, 0x01, 0x01, 0x04, 0x82, 0, 3]
            + DERWriter.utf8String("7") + [0, 0, 0, 0]
        #expect(try ReceiptPayload(content[...], maximumAttributes: 1).receipt.appVersion == "7")
        #expect(throws: SignedDataError(.tooLarge, "")) { try ReceiptPayload(content[...], maximumAttributes: 0) }
    }
}
