import Foundation
import Primitives
import SignedData
import Testing

/// Compares receipts of other stores with the results of other tools.
@Suite(.enabled(if: TestFiles.conformance != nil, "SOUK_CONFORMANCE names no folder of conformance data"))
struct RealReceiptTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let data = (TestFiles.conformance ?? "") + "/receipts"

    private func expected(_ name: String) throws -> JSONValue {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: Self.data + "/expected.json"))
        let all = try JSONValue(parsing: Array(bytes)).arrayValue
        return try #require(all?.first { $0["source"]?.stringValue == name })
    }

    /// Apple's receipts need no arguments, Xcode's the environment and the certificate in it.
    private func arguments(_ name: String) throws -> [String] {
        let path = "\(Self.data)/\(name)"
        guard name.hasPrefix("xcode") else { return [path] }
        let bytes = try ReceiptEncoding.bytes(of: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
        let certificate = try #require(try UnverifiedReceipt(unverified: bytes).unverifiedCertificates.first)
        return [path, "--environment", "xcode", "--root", try folder.write("xcode.der", certificate.der)]
    }

    @Test(arguments: ["production-2024.b64", "xcode-2020.b64"])
    func `every field of a real receipt has the value that other tools read`(name: String) async throws {
        let expected = try expected(name)
        let outcome = try await SoukExecutable.run(["receipt", "verify", "--json"] + arguments(name))
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
        var receipt = try #require(outcome.json?.objectValue)
        let purchases = try #require(receipt.removeValue(forKey: "inAppPurchases")?.arrayValue)
        let unknown = try #require(receipt["unknownAttributes"]?.objectValue)
        let read = Fields(receipt)
        let expectedFields = Fields(expected: try #require(expected["fields"]?.objectValue))
        #expect(read.named == expectedFields.named)
        for (number, value) in expectedFields.unnamed { #expect(read.unnamed[number] == value, "\(number)") }
        // The other tools list only numbers and texts.
        let binary = Set(read.unnamed.keys).subtracting(expectedFields.unnamed.keys)
        #expect(binary.allSatisfy { read.unnamed[$0] == nil || ["6", "7"].contains($0) }, "\(binary)")
        #expect(unknown.count + read.named.count + purchases.count == expected["n_attributes"]?.intValue)

        let others = try #require(expected["in_app"]?.arrayValue)
        #expect(purchases.count == others.count)
        for (purchase, other) in zip(purchases, others) {
            let read = Fields(try #require(purchase.objectValue))
            let expectedFields = Fields(expected: try #require(other.objectValue))
            #expect(read.named == expectedFields.named)
            #expect(read.unnamed == expectedFields.unnamed)
        }
    }

    @Test(arguments: ["production-2024.b64", "xcode-2020.b64"])
    func `a real receipt is refused for another app, time or device, and after a change of one byte`(name: String)
        async throws
    {
        func code(_ arguments: [String]) async throws -> String? {
            let outcome = try await SoukExecutable.run(["receipt", "verify", "--json"] + arguments)
            #expect(outcome.status == 1)
            return outcome.json?["error"]?["code"]?.stringValue
        }
        var arguments = try arguments(name)
        #expect(try await code(arguments + ["--bundle-id", "com.example"]) == "wrongBundle")
        #expect(try await code(arguments + ["--at", "2100-01-01T00:00:00Z"]) == "certificateExpired")
        #expect(try await code(arguments + ["--device-id", "AQID"]) == "deviceMismatch")
        var bytes = try ReceiptEncoding.bytes(of: Array(try Data(contentsOf: URL(fileURLWithPath: arguments[0]))))
        let bundle = try #require(
            bytes.firstRange(of: Array("org.getpure".utf8)) ?? bytes.firstRange(of: Array("net.z".utf8)))
        bytes[bundle.lowerBound] ^= 1
        arguments[0] = try folder.write("forged", bytes)
        #expect(try await code(arguments) == "digestMismatch")
    }
}

/// The fields of a receipt or a purchase as texts, from the command's output or from the other tools.
private struct Fields {
    private(set) var named: [String: String] = [:]
    /// The values by number.
    private(set) var unnamed: [String: String] = [:]

    /// Reads the command's output. Decodes hexadecimal values here, independently of the tested code.
    init(_ members: JSONObject) {
        for (name, value) in members {
            guard name == "unknownAttributes" else {
                named[name] = Self.text(value)
                continue
            }
            for (number, value) in value.objectValue ?? [:] {
                unnamed[number] = value.stringValue.flatMap(Hex.decode).flatMap(Self.decode)
            }
        }
    }

    /// Reads the other tools' list, where an empty text is an absent member.
    init(expected: JSONObject) {
        for (name, value) in expected {
            let text = Self.utc(Self.text(value))
            if let member = Self.members[name] {
                guard !text.isEmpty else { continue }
                named[member] = member.hasPrefix("is") ? (text == "0" ? "false" : "true") : text
            } else {
                unnamed[Self.numbers[name] ?? String(name.dropFirst())] = text
            }
        }
    }

    private static let members = [
        "bundle_id": "bundleID", "app_version": "appVersion", "original_app_version": "originalAppVersion",
        "receipt_type": "receiptType", "creation_date": "creationDate", "expiration_date": "expirationDate",
        "opaque": "opaqueValue", "sha1": "sha1Hash", "product_id": "productID", "quantity": "quantity",
        "transaction_id": "transactionID", "orig_transaction_id": "originalTransactionID",
        "purchase_date": "purchaseDate", "orig_purchase_date": "originalPurchaseDate", "expires": "expiresDate",
        "cancellation": "cancellationDate", "web_order_line_item_id": "webOrderLineItemID",
        "is_trial": "isTrialPeriod", "is_intro": "isInIntroOfferPeriod", "promo_offer_id": "promotionalOfferID",
        "type": "productType",
    ]
    private static let numbers = [
        "app_item_id": "1", "tx_date(8)": "8", "age_rating": "10", "download_id": "15", "version_external_id": "16",
        "original_purchase_date": "18",
    ]

    private static func text(_ value: JSONValue) -> String {
        switch value {
        case .string(let text): text
        case .bool(let flag): String(flag)
        default: value.text()
        }
    }

    /// Converts a date with an offset to UTC; returns any other text unchanged.
    private static func utc(_ text: String) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "UTC")
        formatter.dateFormat = "yyyy-MM-dd'T'HH:mm:ssZ"
        guard text.count == 24, let date = formatter.date(from: text) else { return text }
        formatter.dateFormat = "yyyy-MM-dd'T'HH:mm:ss'Z'"
        return formatter.string(from: date)
    }

    /// Decodes one short ASN.1 number or text; `nil` for anything else.
    private static func decode(_ bytes: [UInt8]) -> String? {
        guard bytes.count >= 2 else { return bytes.isEmpty ? "" : nil }
        let content = bytes.dropFirst(2)
        guard content.count == Int(bytes[1]) else { return nil }
        switch bytes[0] {
        case 0x02:
            let isNegative = content.first.map { $0 >= 0x80 } ?? false
            return String(content.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) })
        case 0x0C, 0x16: return String(decoding: content, as: UTF8.self)
        default: return nil
        }
    }
}
