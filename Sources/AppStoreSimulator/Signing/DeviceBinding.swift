import Foundation
import Primitives
import SignedData
import StoreModel

/// The values that bind signed data to a device, as StoreKit does.
struct DeviceBinding: Sendable, Hashable {
    /// The device verification id, which is also the vendor identifier in this store.
    let device: UUID
    /// The seed of the store. Stores of the same seed create the same nonces.
    let seed: UInt64

    /// Returns `nil` if the id of the device is not a UUID.
    init?(_ device: DeviceID, seed: UInt64) {
        guard let id = UUID(text: device.rawValue) else { return nil }
        self.device = id
        self.seed = seed
    }

    /// Returns a UUID of version 5 over the seed, the device and the name of the document.
    func nonce(for document: String) -> UUID {
        UUID(namespace: .simulatedStore, name: "nonce \(seed) \(device.uuidString) \(document)")
    }

    /// Returns the members `deviceVerification` and `deviceVerificationNonce` of a document.
    func verification(for document: String) throws -> (verification: String, nonce: String) {
        let nonce = nonce(for: document)
        return (
            try DeviceVerification.value(nonce: nonce, deviceVerificationID: device), nonce.uuidString.lowercased()
        )
    }

    /// The opaque value in the device's receipt: 16 bytes that are hashed together with the device's id.
    var opaqueValue: [UInt8] { withUnsafeBytes(of: nonce(for: "receipt").uuid) { Array($0) } }
}
