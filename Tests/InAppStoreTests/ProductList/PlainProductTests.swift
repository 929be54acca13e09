import BaseTestSupport
import Foundation
import Primitives
import StoreModel
import Testing

@testable import InAppStore

/// Most products are read directly from the bytes of the file. An escape in a name makes the other reader read them, so
/// both can be compared.
struct PlainProductTests {
    private struct Outcome: Equatable {
        let products: [ListedProduct]?
        let findings: [String]
    }

    private func outcome(_ text: String) -> Outcome {
        let read = ProductList.lint(Array(text.utf8), file: "list.json")
        // An escape moves the columns of JSON errors.
        let findings = read.findings.map { "\($0)".replacing(#/ at line \d+, column \d+/#, with: "") }
        return Outcome(products: read.list?.products, findings: findings)
    }

    private func expectAgreement(_ text: String) {
        let escaped = text.replacing("\"identifier\"", with: #""\u0069dentifier""#)
        #expect(outcome(text) == outcome(escaped), "\(text)")
    }

    private static let plain = #"{"identifier":"a.1","productType":"consumable"}"#

    @Test func `a plain product has its members`() throws {
        let text = #"""
            [{"identifier": "a", "productType": "renewableSubscription"},
             {"preAcquired": true, "productType": "consumable", "identifier": "b", "isSubscribersOnly": false},
             {"identifier": "c", "isSubscribersOnly": true, "preAcquiredViaSubscription": true,
              "productType": "nonConsumable"},
             {"identifier": "d", "productType": "nonRenewingSubscription", "preAcquired": false}]
            """#
        let products = try ProductList(parsing: Array(text.utf8), file: "list.json").products
        #expect(
            products == [
                ListedProduct(id: "a", productType: .autoRenewableSubscription),
                ListedProduct(id: "b", productType: .consumable, preAcquired: true),
                ListedProduct(
                    id: "c", productType: .nonConsumable, isSubscribersOnly: true, preAcquiredViaSubscription: true),
                ListedProduct(id: "d", productType: .nonRenewingSubscription),
            ])
    }

    @Test(arguments: [
        "{}", #"{"identifier":"b"}"#, #"{"productType":"consumable"}"#, #"{"identifier":"b","productType":"gift"}"#,
        #"{"identifier":"","productType":"consumable"}"#, #"{"identifier":true,"productType":"consumable"}"#,
        #"{"identifier":"b","productType":false}"#, #"{"identifier":"b","identifier":"c","productType":"consumable"}"#,
        #"{"identifier":"b","productType":"consumable","productType":"consumable"}"#,
        #"{"identifier":"b","productType":"consumable","preAcquired":"true"}"#,
        #"{"identifier":"b","productType":"consumable","preAcquired":true,"preAcquired":true}"#,
        #"{"identifier":"b","productType":"consumable","priceInfo":"1"}"#,
        #"{"identifier":"b","productType":"consumable","preacquired":true}"#,
        #"{"identifier":"b","productType":"consumable","variants":["A"]}"#,
        #"{"identifier":"b","productType":"consumable","discountedProducts":["a.1"]}"#,
        #"{"identifier":"b","productType":"consumable","fullPriceProductIdentifier":"a.1"}"#,
        #"{"identifier":"b","productType":"consumable","fullPriceProductIdentifier":"z"}"#,
        #"{"identifier":"a.1","productType":"consumable"}"#, #"{"identifier":"\u0061.1","productType":"consumable"}"#,
        #"{"identifier":"é","productType":"consumable"}"#, #"{"identifier":"b","productType":"consumable""#, "1",
        "{\"identifier\":\"e\u{301}\",\"productType\":\"consumable\"}", #"{"identifier":"b","productType":null}"#,
        "{\"identifier\":\"\(String(repeating: "b", count: 255))\",\"productType\":\"consumable\"}",
        "{\"identifier\":\"\(String(repeating: "b", count: 256))\",\"productType\":\"consumable\"}",
    ])
    func `every product is read as by the other reader`(product: String) {
        for text in ["[\(product)]", "[\(Self.plain),\(product)]", "[\(product),\(Self.plain)]"] {
            expectAgreement(text)
        }
    }

    @Test func `changed lists are read alike`() {
        var numbers = SeededNumbers(state: 28)
        let list = Array(
            #"[{"identifier":"a","productType":"consumable","preAcquired":true},{"identifier":"b","productType":"x"}]"#)
        for _ in 0..<3000 {
            var changed = list
            let place = Int.random(in: changed.indices, using: &numbers)
            changed[place] = Array(#"{}[],:"\ atb"#).randomElement(using: &numbers) ?? "x"
            expectAgreement(String(changed))
        }
    }

    @Test func `a file that is not JSON has no other finding`() {
        let findings = outcome(#"[{"identifier":"a"},{"identifier":"b","productType":"consumable"},"#).findings
        #expect(findings.count == 1)
        #expect(findings.first?.contains("this is not JSON") == true)
    }

    // MARK: - Stored products

    @Test(arguments: [
        #"{"customer":"anna","value":[]}"#, #"{"customer":"anna","value":["a","b","a"]}"#, "{", "[]",
        #"{"value":["é"],"customer":"AB-é"}"#, #"{"customer":"","value":[]}"#, #"{"customer":"anna"}"#,
        #"{"customer":"anna","value":null}"#, #"{"customer":"anna","value":["a",1]}"#,
        #"{"customer":"anna","value":[""]}"#, #"{"customer":"anna","value":"a"}"#, #"{"value":["a"]}"#,
        #"{"customer":"anna","value":["a"],"more":1}"#, "{\"customer\":\"anna\",\"value\":[\"e\u{301}\"]}",
        #"{"customer":"0A1B2C3D-0A1B-4C3D-8A1B-0A1B2C3D4E5F","value":["a"]}"#,
    ])
    func `stored products are read as by a decoder`(text: String) {
        typealias Stored = StoreRecords.StoredValue<Set<ProductID>>
        let read = try? Stored(parsing: Array(text.utf8))
        let decoded = try? WireJSON.decode(Stored.self, from: Array(text.utf8))
        #expect(read?.customer == decoded?.customer)
        #expect(read?.value == decoded?.value)
    }
}
