import Foundation
import Primitives

/// What the device hash of a receipt is made of: `identifierForVendor` on iOS, the MAC address of the first network
/// interface on macOS (Apple: Validating receipts on the device). It never describes itself.
public struct DeviceIdentifier: Hashable, Sendable {
    /// 16 bytes of a UUID, 6 of a MAC address, or any.
    public let bytes: [UInt8]

    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// `identifierForVendor`.
    public init(_ uuid: UUID) { bytes = withUnsafeBytes(of: uuid.uuid) { Array($0) } }

    /// From text: with hyphens a UUID, with colons a MAC address (`a4:83:e7:01:02:03`), else base64. Throws `malformed`.
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

    /// SHA-1 over this, a receipt's opaque value and the value of its attribute 2, in this order: what attribute 5 of a
    /// receipt for this device holds. Throws `cryptographyFailed`.
    func receiptHash(
        opaqueValue: some Sequence<UInt8>, encodedBundleID: some Sequence<UInt8>
    ) throws(SignedDataError) -> [UInt8] {
        try ReceiptDigest.sha1.hash(bytes + opaqueValue + encodedBundleID)
    }
}

extension DeviceIdentifier: CustomStringConvertible, CustomReflectable {
    public var description: String { "device of \(bytes.count) bytes" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
