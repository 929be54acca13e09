import Foundation
import Primitives

/// POST `/v1/receipts/validate`: the request.
package struct ValidateReceiptRequest: Codable, Sendable, Equatable {
    /// Base64 of an app receipt.
    package var receipt: String
    /// The app that is expected; it has to be the key's.
    package var bundleID: BundleID?
    /// The device it must have been made for: a UUID with hyphens, a MAC address with colons, or base64. Absent, it may be
    /// any device's.
    package var deviceID: String?

    package init(receipt: String, bundleID: BundleID? = nil, deviceID: String? = nil) {
        self.receipt = receipt
        self.bundleID = bundleID
        self.deviceID = deviceID
    }
}

/// POST `/v1/receipts/validate`: the answer. A receipt that is not true is an answer too, and then has an error instead of a
/// content.
package struct ReceiptValidation: Codable, Sendable, Equatable {
    package var isValid: Bool
    /// Why it is not true.
    package var error: ReceiptError?
    package var validatedAt: Date
    /// The request's `Souk-Request-Id`.
    package var requestID: String
    /// What the receipt says, as `souk receipt verify` prints it (`AppReceipt.json`).
    package var receipt: JSONValue?
    /// The latest state known of whoever has the receipt's purchases. Of purchases that nobody has yet, or several have,
    /// what follows from these purchases alone.
    package var customer: Customer?

    package init(
        isValid: Bool, error: ReceiptError? = nil, validatedAt: Date, requestID: String, receipt: JSONValue? = nil,
        customer: Customer? = nil
    ) {
        self.isValid = isValid
        self.error = error
        self.validatedAt = validatedAt
        self.requestID = requestID
        self.receipt = receipt
        self.customer = customer
    }
}

/// Why a receipt is not accepted as true.
package struct ReceiptError: Codable, Hashable, Sendable {
    /// A code of refused signed data (WIRE.md), for example `deviceMismatch`.
    package var code: String
    package var detail: String
    /// Whether the same receipt may be accepted later.
    package var retryable: Bool

    package init(code: String, detail: String, retryable: Bool) {
        self.code = code
        self.detail = detail
        self.retryable = retryable
    }
}
