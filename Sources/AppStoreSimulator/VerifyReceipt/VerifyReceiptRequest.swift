import Primitives
import SignedData

/// The request of an app's server to `/verifyReceipt` (Apple: requestBody).
struct VerifyReceiptRequest: Sendable {
    /// The receipt: PKCS #7 bytes.
    let receipt: [UInt8]
    let password: String?
    /// Whether the response leaves out all but the latest transaction of each subscription.
    let excludesOldTransactions: Bool

    /// The maximum length of the body in bytes: twice the length of the longest receipt in base64.
    static let longestBody = 32 << 20

    /// Parses a body. Throws `malformed` unless it is the JSON that Apple documents. A member that is null counts as
    /// absent.
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
