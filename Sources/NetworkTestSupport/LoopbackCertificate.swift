import Foundation

/// A self-signed certificate and its key, as PEM files, for TLS servers on the loopback interface.
package struct LoopbackCertificate: Sendable {
    package let certificate: String
    package let key: String
    /// The path of a key that does not belong to the certificate.
    package let otherKey: String

    /// Runs `body` with the files, and removes them afterwards.
    package static func withFiles(_ body: (LoopbackCertificate) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func write(_ name: String, _ text: String) throws -> String {
            let file = folder.appendingPathComponent(name)
            try text.write(to: file, atomically: true, encoding: .utf8)
            return file.path
        }
        try await body(
            LoopbackCertificate(
                certificate: write("certificate.pem", certificateText), key: write("key.pem", keyText),
                otherKey: write("other.pem", otherKeyText)))
    }

    /// A certificate for these tests, for 127.0.0.1 and localhost, valid from 2020 to 2120.
    private static let certificateText = """
        -----BEGIN CERTIFICATE-----
        MIIBbjCCARWgAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA1Mb29wYmFj
        ayB0ZXN0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAYMRYwFAYD
        VQQDDA1Mb29wYmFjayB0ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAExKZq
        AGaE7SD6Z0fvwyyp25OVTVwWP7ta/H2plF2RZue4HBT9Y/6/4avhK7Vn0XGz+RXW
        bCNgkCkyEnjU7xzhP6NOMEwwGgYDVR0RBBMwEYcEfwAAAYIJbG9jYWxob3N0MA8G
        A1UdEwEB/wQFMAMBAf8wHQYDVR0OBBYEFFcB0nJRSoCrxvRZoQpNRvWIbAamMAoG
        CCqGSM49BAMCA0cAMEQCIFHNSOMaS8+M64FkfxAfdLLewWKLQgEvlsrNuQVywAU1
        AiBZ+FPux5TgPXUDwaYhFm0AaRrW4rgEvttknY1sH8MF1w==
        -----END CERTIFICATE-----
        """

    private static let keyText = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgcHE+DNLswa/OlgrZ
        7+I2OqXhtj3GDrh71xlC/A4riFuhRANCAATEpmoAZoTtIPpnR+/DLKnbk5VNXBY/
        u1r8famUXZFm57gcFP1j/r/hq+ErtWfRcbP5FdZsI2CQKTISeNTvHOE/
        -----END PRIVATE KEY-----
        """

    private static let otherKeyText = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgVzp2wlSr075SBX/4
        hC9VK0YpmOVH50ZjipEHKDD9vJChRANCAARO2u99csqLkVHkUv9/HNSZ6iHRQvyR
        D29Z0FGzlnYW+tJwWoYDb8u9/I1wThqlB7PKfWp00cq4TbDb+6np+NQu
        -----END PRIVATE KEY-----
        """
}
