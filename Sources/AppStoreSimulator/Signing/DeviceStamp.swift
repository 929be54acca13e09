import Foundation
import Primitives
import SignedData
import StoreModel

/// For which device a document is signed: what StoreKit hands out is bound to the device that asked.
struct DeviceStamp: Sendable, Hashable {
    /// The device's verification id and the id of its vendor: in this store one and the same.
    let device: UUID
    /// The store's, so that a store of the same seed makes the same nonces.
    let seed: UInt64

    /// `nil` for a device whose name is no UUID.
    init?(_ device: DeviceID, seed: UInt64) {
        guard let id = UUID(text: device.rawValue) else { return nil }
        self.device = id
        self.seed = seed
    }

    /// A UUID of version 5 over the seed, the device and what is signed.
    func nonce(for document: String) -> UUID {
        UUID(namespace: .simulatedStore, name: "nonce \(seed) \(device.uuidString) \(document)")
    }

    /// The members `deviceVerification` and `deviceVerificationNonce` of a document.
    func marks(for document: String) throws -> (verification: String, nonce: String) {
        let nonce = nonce(for: document)
        return (
            try DeviceVerification.value(nonce: nonce, deviceVerificationID: device), nonce.uuidString.lowercased()
        )
    }

    /// The 16 bytes that go into the hash of the device's receipt.
    var opaqueValue: [UInt8] { withUnsafeBytes(of: nonce(for: "receipt").uuid) { Array($0) } }
}
