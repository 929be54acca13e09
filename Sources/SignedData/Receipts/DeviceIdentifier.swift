import Foundation
import Primitives

/// The device identifier in the device hash of a receipt: `identifierForVendor` on iOS, the MAC address of the first
/// network interface on macOS (Apple: Validating receipts on the device). Its description does not contain the bytes.
public struct DeviceIdentifier: Hashable, Sendable {
    /// The bytes: 16 of a UUID, 6 of a MAC address, or any number.
    public let bytes: [UInt8]

    /// Creates an identifier from bytes.
    ///
    /// - Parameter bytes: The bytes of the identifier.
    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// Creates an identifier from a UUID.
    ///
    /// - Parameter uuid: `identifierForVendor`.
    public init(_ uuid: UUID) { bytes = withUnsafeBytes(of: uuid.uuid) { Array($0) } }

    /// Creates an identifier from a string: a UUID with hyphens, a MAC address with colons (`a4:83:e7:01:02:03`), or
    /// base64.
    ///
    /// - Parameter text: The string.
    /// - Throws: `SignedDataError` with `malformed` for any other string.
    public init(_ text: String) throws(SignedDataError) {
        let bytes: [UInt8]?
        if text.contains("-") {
            bytes = UUID(text: text).map { DeviceIdentifier($0).bytes }
        } else if text.contains(":") {
            let octets = text.split(separator: ":", omittingEmptySubsequences: false).map { part in
                part.utf8.count == 2 ? Hex.decode(String(part)).flatMap(\.first) : nil
            }
            bytes = octets.count == 6 && !octets.contains(nil) ? octets.compactMap { $0 } : nil
        } else {
            bytes = Base64.decode(text)
        }
        guard let bytes, !bytes.isEmpty else {
            throw SignedDataError(
                .malformed, "A device is a UUID with hyphens, a MAC address with colons, or bytes in base64.")
        }
        self.bytes = bytes
    }

    /// Returns the SHA-1 of the identifier, a receipt's opaque value and the value of its attribute 2, in this order.
    /// It is attribute 5 of a receipt for this device. Throws `cryptographyFailed`.
    func receiptHash(
        opaqueValue: some Sequence<UInt8>, encodedBundleID: some Sequence<UInt8>
    ) throws(SignedDataError) -> [UInt8] {
        try ReceiptDigest.sha1.hash(bytes + opaqueValue + encodedBundleID)
    }
}

extension DeviceIdentifier: CustomStringConvertible, CustomReflectable {
    public var description: String { "device of \(bytes.count) bytes" }
    /// An empty mirror, so that no log contains the identifier.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
