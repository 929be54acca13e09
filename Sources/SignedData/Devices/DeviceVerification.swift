import COpenSSL
import Foundation
import Primitives

/// The value that binds a signed transaction, renewal info or app transaction to one device (Apple:
/// `deviceVerificationID`).
///
///     let value = try DeviceVerification.value(nonce: nonce, deviceVerificationID: device)
///     payload.deviceVerification == value          // the document was made for this device
package enum DeviceVerification {
    /// Returns the member `deviceVerification`: the base64 of the SHA-384 of the nonce and then the device's
    /// verification id, both in lower case. Throws `cryptographyFailed`.
    package static func value(nonce: UUID, deviceVerificationID: UUID) throws(SignedDataError) -> String {
        let text = Array((nonce.uuidString + deviceVerificationID.uuidString).lowercased().utf8)
        var digest = [UInt8](repeating: 0, count: 48)
        guard EVP_Q_digest(nil, "SHA384", nil, text, text.count, &digest, nil) == 1 else {
            throw OpenSSL.failed("hash")
        }
        return Base64.encode(digest)
    }
}
