import Foundation
import Primitives
import SignedData

/// The key with which a server signs its requests to the App Store Server API, as App Store Connect issues it.
public struct ServerAPIKey: Sendable, Hashable {
    /// The key ID: ten letters and digits.
    public let keyID: String
    /// The issuer ID of the team: a UUID.
    public let issuerID: String
    /// The path of the private key (PKCS#8 in PEM, mode 0600).
    public let privateKey: String

    /// Reads the key in `folder`. The first call creates it. The issuer ID is computed from the fingerprint of the
    /// store's root certificate.
    ///
    /// Throws `SimulatorError` (`dataFolder`) if the file cannot be written, and `SignedDataError` if the file does not
    /// contain a key.
    static func open(in folder: String, rootFingerprint: [UInt8]) throws -> ServerAPIKey {
        let path = file(in: folder)
        if !FileManager.default.fileExists(atPath: path) {
            try PrivateFile.write(Array(SigningKey.generate().pem.utf8), to: path)
        }
        return try read(path, rootFingerprint: rootFingerprint)
    }

    /// The path of the private key in a data folder.
    static func file(in folder: String) -> String { folder + "/server-api-key.p8" }

    /// Reads an existing key.
    static func read(_ path: String, rootFingerprint: [UInt8]) throws -> ServerAPIKey {
        let key = try SigningKey(Array(Data(contentsOf: URL(fileURLWithPath: path))))
        let keyID = Hex.encode(SHA256.hash(key.verificationKey.der)).prefix(10).uppercased()
        let issuer = UUID(namespace: .simulatedStore, name: "issuer \(Hex.encode(rootFingerprint))")
        return ServerAPIKey(keyID: keyID, issuerID: issuer.uuidString.lowercased(), privateKey: path)
    }
}

extension UUID {
    /// The namespace of the UUIDs that the simulator computes.
    static let simulatedStore = UUID(
        uuid: (0x5B, 0x0F, 0x1C, 0x63, 0xD2, 0x7E, 0x4A, 0x91, 0x8C, 0x3A, 0x64, 0xE8, 0x0B, 0x97, 0x2F, 0xD5))
}
