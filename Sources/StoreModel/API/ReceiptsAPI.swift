import Foundation
import Primitives

/// POST `/v1/receipts/validate`: the request.
package struct ValidateReceiptRequest: Codable, Sendable, Equatable {
    /// Base64 of an app receipt.
    package var receipt: String
    /// The app that the receipt must be for. It must be the app of the API key.
    package var bundleID: BundleID?
    /// The device that the receipt must be for: a UUID with hyphens, a MAC address with colons, or base64. Without it,
    /// any device is accepted.
    package var deviceID: String?

    package init(receipt: String, bundleID: BundleID? = nil, deviceID: String? = nil) {
        self.receipt = receipt
        self.bundleID = bundleID
        self.deviceID = deviceID
    }
}

/// POST `/v1/receipts/validate`: the answer. An invalid receipt is answered too, with an error in place of a receipt.
package struct ReceiptValidation: Codable, Sendable, Equatable {
    package var isValid: Bool
    /// The reason for which the receipt is invalid, or `nil` for a valid receipt.
    package var error: ReceiptError?
    package var validatedAt: Date
    /// The request's `Souk-Request-Id`.
    package var requestID: String
    /// The content of the receipt, as `souk receipt verify` prints it (`AppReceipt.json`).
    package var receipt: JSONValue?
    /// The latest known state of the customer who has the receipt's purchases. If no customer or several customers have
    /// them, the state that follows from these purchases alone.
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

/// The reason for which a receipt is invalid.
package struct ReceiptError: Codable, Hashable, Sendable {
    /// The error code, one of `SignedDataError.Code`, for example `deviceMismatch`.
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
