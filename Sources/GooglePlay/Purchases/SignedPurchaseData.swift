import Foundation
import Primitives
import SignedData
import StoreModel

/// A purchase as Google Play gives it to the app: `INAPP_PURCHASE_DATA`, signed with the key of the app.
///
/// It says that the purchase was made. It does not say whether it still holds: fetch the purchase for that.
package struct SignedPurchaseData: PlayResource {
    package var orderId: String?
    package var packageName: String?
    package var productId: String?
    /// Milliseconds since 1970.
    package var purchaseTime: Int64?
    /// 0 purchased, 4 pending.
    package var purchaseState: Int?
    package var purchaseToken: String?
    package var quantity: Int?
    package var acknowledged: Bool?
    package var autoRenewing: Bool?
    package var obfuscatedAccountId: String?
    package var obfuscatedProfileId: String?

    package init() {}

    /// The longest data that `init(verifying:signature:key:)` reads.
    package static let maximumLength = 1 << 16

    /// Returns the JSON and its signature. Throws `SignedDataError` (`cryptographyFailed`).
    package func signed(by key: RSASigningKey) throws -> (data: String, signature: String) {
        let data = try WireJSON.encode(self)
        return (String(decoding: data, as: UTF8.self), Base64.encode(try key.signature(of: data, .sha1)))
    }

    /// Reads data whose signature is valid: RSA with PKCS#1 v1.5 and SHA-1, in base64, over the bytes of the data.
    ///
    /// Throws `SignedDataError` with `tooLarge`, `malformed`, `signatureInvalid` or `payloadMalformed`. The package name
    /// is not checked.
    package init(
        verifying data: String, signature: String, key: RSAVerificationKey
    ) throws(SignedDataError) {
        guard data.utf8.count <= Self.maximumLength, signature.utf8.count <= Self.maximumLength else {
            throw SignedDataError(.tooLarge, "The purchase data has more than \(Self.maximumLength) bytes.")
        }
        guard let bytes = Base64.decode(signature) else {
            throw SignedDataError(.malformed, "The signature of the purchase data is not canonical base64.")
        }
        guard key.isValid(signature: bytes, of: Array(data.utf8), .sha1) else {
            throw SignedDataError(.signatureInvalid, "The signature is not that of the app's licence key.")
        }
        do {
            self = try WireJSON.decode(Self.self, from: Array(data.utf8))
        } catch {
            throw SignedDataError(.payloadMalformed, "The purchase data is not the expected JSON.", underlying: error)
        }
    }
}
