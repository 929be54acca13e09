import Foundation
import Primitives
import Testing

@testable import StoreModel

@Suite struct AppReceiptTests {
    private let date = Date(timeIntervalSince1970: 1_700_000_000.25)

    @Test func `the JSON of a receipt has the members of the format and no others`() {
        let receipt = AppReceipt(
            receiptType: "ProductionSandbox", bundleID: "com.example", appVersion: "42", originalAppVersion: "1.0",
            creationDate: date, expirationDate: date, opaqueValue: [0, 0xAB], sha1Hash: [1],
            inAppPurchases: [
                .init(
                    quantity: 2, productID: "coins", transactionID: "7", purchaseDate: date, originalTransactionID: "6",
                    originalPurchaseDate: date, productType: .consumable, expiresDate: date, webOrderLineItemID: "5",
                    cancellationDate: date, isTrialPeriod: true, isInIntroOfferPeriod: false, promotionalOfferID: "p",
                    otherAttributes: [.init(type: 1709, value: [0x0C, 0])])
            ],
            otherAttributes: [
                .init(type: 6, version: 3, value: [1, 2]), .init(type: 25, value: [3]), .init(type: 25, value: []),
            ])
        #expect(
            receipt.json.text()
                == #"{"bundleID":"com.example","appVersion":"42","originalAppVersion":"1.0","#
                + #""receiptType":"ProductionSandbox","creationDate":"2023-11-14T22:13:20.250Z","#
                + #""expirationDate":"2023-11-14T22:13:20.250Z","opaqueValue":"00ab","sha1Hash":"01","#
                + #""inAppPurchases":[{"productID":"coins","quantity":2,"transactionID":"7","#
                + #""originalTransactionID":"6","purchaseDate":"2023-11-14T22:13:20.250Z","#
                + #""originalPurchaseDate":"2023-11-14T22:13:20.250Z","expiresDate":"2023-11-14T22:13:20.250Z","#
                + #""cancellationDate":"2023-11-14T22:13:20.250Z","webOrderLineItemID":"5","isTrialPeriod":true,"#
                + #""isInIntroOfferPeriod":false,"promotionalOfferID":"p","productType":1,"#
                + #""unknownAttributes":{"1709":"0c00"}}],"unknownAttributes":{"25":["03",""],"6":"0102"}}"#)
    }

    @Test func `a missing value has no member`() {
        #expect(AppReceipt(inAppPurchases: [.init()]).json.text() == #"{"inAppPurchases":[{}],"unknownAttributes":{}}"#)
    }

    @Test(arguments: [
        ("Production", "Production"), ("ProductionVPP", "Production"), ("ProductionSandbox", "Sandbox"),
        ("ProductionVPPSandbox", "Sandbox"), ("Sandbox", "Sandbox"), ("Xcode", "Xcode"), ("Moon", "Moon"),
    ]) func `the type of a receipt determines its environment`(_ type: String, _ environment: String) {
        #expect(AppReceipt(receiptType: type).environment?.rawValue == environment)
    }

    @Test func `a receipt ends at its expiration date, exclusively`() {
        let receipt = AppReceipt(expirationDate: date)
        #expect(!receipt.isExpired(at: date.addingTimeInterval(-0.001)))
        #expect(receipt.isExpired(at: date))
        #expect(!AppReceipt().isExpired(at: .distantFuture) && AppReceipt().environment == nil)
    }
}

@Suite struct ReceiptAttributesTests {
    @Test func `attributes are kept in their order and are equal by their values`() {
        let one = ReceiptAttribute(type: 6, version: 2, value: [1, 2, 3])
        let other = ReceiptAttribute(type: 7, value: [])
        var attributes: ReceiptAttributes = [one]
        attributes.append(other)
        attributes.append(one)
        #expect(Array(attributes) == [one, other, one])
        #expect(attributes == ReceiptAttributes([one, other, one]))
        #expect(attributes != [one, other])
        #expect(Set([attributes, [one, other, one]]).count == 1)
        #expect(ReceiptAttributes().isEmpty)
    }

    @Test func `places are counted from the start of the document, and an attribute can have its own value instead`() {
        let document: ArraySlice<UInt8> = [9, 9, 1, 2, 3, 4][2...]
        var attributes = ReceiptAttributes(of: document)
        attributes.append(type: 6, version: 1, place: 1..<3)
        attributes.append(type: 7, version: 1, place: 4..<4)
        attributes.append(ReceiptAttribute(type: 8, value: [5]))
        #expect(attributes.map { Array($0.value) } == [[2, 3], [], [5]])
        #expect(Array(document) == [1, 2, 3, 4])
    }
}
