import Primitives
import SignedData

/// What an app's server sends to `/verifyReceipt` (Apple: requestBody).
struct VerifyReceiptRequest: Sendable {
    /// PKCS #7, as it came.
    let receipt: [UInt8]
    let password: String?
    /// Of each subscription only the latest transaction is asked for.
    let excludesOldTransactions: Bool

    /// Of the body, in bytes: twice what the longest receipt has in base64.
    static let longestBody = 32 << 20

    /// Throws `malformed` for what is not the JSON that Apple documents. A member that is null is one that is not there.
    init(parsing body: [UInt8]) throws(ReceiptStatus) {
        guard let json = try? JSONValue(parsing: body, depth: 16), let members = json.objectValue,
            let encoded = members["receipt-data"]?.stringValue,
            let receipt = try? ReceiptEncoding.bytes(of: Array(encoded.utf8))
        else { throw .malformed }
        self.receipt = receipt
        password = try Self.member(members["password"], \.stringValue)
        excludesOldTransactions = try Self.member(members["exclude-old-transactions"], \.boolValue) ?? false
    }

    private static func member<Value>(
        _ json: JSONValue?, _ read: (JSONValue) -> Value?
    ) throws(ReceiptStatus) -> Value? {
        guard let json, !json.isNull else { return nil }
        guard let value = read(json) else { throw .malformed }
        return value
    }
}
