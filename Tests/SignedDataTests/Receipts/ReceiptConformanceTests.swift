import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Receipts of other stores in the folder `SOUK_CONFORMANCE`, with the content that other tools read in them.
@Suite(.enabled(if: Conformance.folder != nil, "SOUK_CONFORMANCE names no folder of conformance data"))
struct ReceiptConformanceTests {
    static func receipt(_ name: String) throws -> [UInt8] {
        try ReceiptEncoding.bytes(of: Conformance.bytes("receipts/\(name)"))
    }

    private func expected(_ name: String) throws -> JSONValue {
        let all = try JSONValue(parsing: Conformance.bytes("receipts/expected.json")).arrayValue
        return try #require(all?.first { $0["source"]?.stringValue == name })
    }

    /// Verifies Apple's receipts with Apple's root, and Xcode's with the only certificate in them.
    static func verifier(_ name: String) throws -> ReceiptVerifier {
        guard name.hasPrefix("xcode") else {
            return ReceiptVerifier(configuration: .init(bundleIDs: nil, environments: [.production, .sandbox]))
        }
        let certificates = try UnverifiedReceipt(unverified: receipt(name)).unverifiedCertificates
        return ReceiptVerifier(
            configuration: .init(
                bundleIDs: nil, environments: [.xcode], trustAnchors: certificates.map { TrustAnchor($0) }))
    }

    static let names = ["production-2024.b64", "xcode-2020.b64"]

    @Test(arguments: names) func `a real receipt is accepted with the content that other tools read`(_ name: String)
        throws
    {
        let expected = try expected(name)
        let bytes = try Self.receipt(name)
        #expect(bytes.count == expected["der_bytes"]?.intValue)
        let verified = try Self.verifier(name).verify(bytes)
        let receipt = verified.receipt
        let json = receipt.json
        var reader = ExpectedFields(try #require(expected["fields"]?.objectValue))
        reader.compare("bundle_id", json["bundleID"])
        reader.compare("app_version", json["appVersion"])
        reader.compare("original_app_version", json["originalAppVersion"])
        reader.compare("receipt_type", json["receiptType"])
        reader.compare("creation_date", date: json["creationDate"])
        reader.compare("expiration_date", date: json["expirationDate"])
        reader.compare("opaque", json["opaqueValue"])
        reader.compare("sha1", json["sha1Hash"])
        reader.compare("tx_date(8)", date: receipt.requestDate.map { .string(RFC3339.string(from: $0)) })
        reader.compare(
            "original_purchase_date", date: receipt.originalPurchaseDate.map { .string(RFC3339.string(from: $0)) })
        reader.compare("age_rating", receipt.ageRating.map { .string($0) })
        reader.compare("app_item_id", receipt.appItemID.map { .number($0) })
        reader.compare("download_id", receipt.downloadID.map { .number($0) })
        reader.compare("version_external_id", receipt.versionExternalID.map { .number($0) })
        reader.compareRest(receipt.otherAttributes)
        #expect(receipt.inAppPurchases.count == expected["n_in_app"]?.intValue)
        let purchases = try #require(expected["in_app"]?.arrayValue)
        for (purchase, expected) in zip(receipt.inAppPurchases, purchases) {
            let json = purchase.json
            var reader = ExpectedFields(try #require(expected.objectValue))
            reader.compare("quantity", json["quantity"])
            reader.compare("type", json["productType"])
            reader.compare("product_id", json["productID"])
            reader.compare("transaction_id", json["transactionID"])
            reader.compare("orig_transaction_id", json["originalTransactionID"])
            reader.compare("purchase_date", date: json["purchaseDate"])
            reader.compare("orig_purchase_date", date: json["originalPurchaseDate"])
            reader.compare("expires", date: json["expiresDate"])
            reader.compare("cancellation", date: json["cancellationDate"])
            reader.compare("web_order_line_item_id", json["webOrderLineItemID"])
            reader.compare("is_trial", json["isTrialPeriod"])
            reader.compare("is_intro", json["isInIntroOfferPeriod"])
            reader.compare("promo_offer_id", json["promotionalOfferID"])
            reader.compareRest(purchase.otherAttributes)
        }
        let unnamed = receipt.otherAttributes.count + receipt.inAppPurchases.count
        let named = [
            "bundleID", "appVersion", "originalAppVersion", "receiptType", "creationDate", "expirationDate",
            "opaqueValue", "sha1Hash",
        ].count { json[$0] != nil }
        #expect(unnamed + named == expected["n_attributes"]?.intValue)
    }

    @Test(arguments: names) func `a real receipt is refused if its chain is verified at a date in 2042`(_ name: String)
        throws
    {
        var configuration = try Self.verifier(name).configuration
        configuration.chainDate = Date(timeIntervalSince1970: 2_300_000_000)
        let receipt = try Self.receipt(name)
        #expect(refusal { try ReceiptVerifier(configuration: configuration).verify(receipt) } == .certificateExpired)
    }

    @Test func `Xcode's receipt is accepted only with its environment and its certificate`() throws {
        let receipt = try Self.receipt("xcode-2020.b64")
        var configuration = try Self.verifier("xcode-2020.b64").configuration
        configuration.environments = nil
        #expect(refusal { try ReceiptVerifier(configuration: configuration).verify(receipt) } == .chainLength)
        configuration.environments = [.production, .sandbox]
        #expect(refusal { try ReceiptVerifier(configuration: configuration).verify(receipt) } == .chainLength)
        configuration.environments = [.xcode]
        configuration.trustAnchors = TrustAnchor.apple
        #expect(refusal { try ReceiptVerifier(configuration: configuration).verify(receipt) } == .untrustedRoot)
    }

    @Test(arguments: names) func `a real receipt with any changed byte is refused`(_ name: String) throws {
        let verifier = try Self.verifier(name)
        let receipt = try Self.receipt(name)
        for position in receipt.indices {
            var flipped = receipt
            flipped[position] ^= 1 << UInt8(position % 8)
            #expect(refusal { try verifier.verify(flipped) } != nil, "byte \(position)")
        }
    }
}

/// Fields as in `expected.json`: an empty string for an empty value, `?` and the number for an attribute without a name.
private struct ExpectedFields {
    private var left: JSONObject

    init(_ fields: JSONObject) { left = fields }

    mutating func compare(_ name: String, _ value: JSONValue?) {
        let expected = left.removeValue(forKey: name).flatMap { $0 == "" ? nil : $0 }
        switch (expected, value) {
        case (.number(let number), .string(let text)): #expect(number.text == text, "\(name)")
        case (.number(let number), .bool(let flag)): #expect((number.int == 1) == flag, "\(name)")
        default: #expect(expected == value, "\(name)")
        }
    }

    mutating func compare(_ name: String, date: JSONValue?) {
        let expected = left.removeValue(forKey: name)?.stringValue ?? ""
        let text =
            expected.hasSuffix("Z") || expected.isEmpty
            ? expected
            : "\(expected.dropLast(2)):\(expected.suffix(2))"
        #expect(RFC3339.date(from: text) == date?.stringValue.flatMap { RFC3339.date(from: $0) }, "\(name)")
    }

    mutating func compareRest(_ attributes: ReceiptAttributes) {
        for (name, expected) in left {
            let attribute = attributes.first { "?\($0.type)" == name }
            switch expected {
            case .number(let number): #expect(attribute?.integerValue.map(String.init) == number.text, "\(name)")
            default: #expect(attribute != nil && (attribute?.textValue ?? "") == expected.stringValue, "\(name)")
            }
        }
    }
}
