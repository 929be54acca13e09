import Primitives

/// Percent-encoding of UTF-8 text (RFC 3986 section 2.1).
public enum PercentEncoding {
    /// Escapes everything except letters, digits and `-._~`. The result is valid as one path segment or as a query
    /// value.
    ///
    /// - Parameter text: The text to encode.
    /// - Returns: The encoded text.
    public static func encode(_ text: String) -> String {
        var out: [UInt8] = []
        for byte in text.utf8 {
            if isUnreserved(byte) {
                out.append(byte)
            } else {
                out += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Decodes percent-encoded text.
    ///
    /// - Parameter encoded: The encoded text.
    /// - Returns: The decoded text, or `nil` when an escape is incomplete or the bytes are not UTF-8.
    public static func decode(_ encoded: some StringProtocol) -> String? {
        decode(encoded.utf8, plusIsSpace: false)
    }

    /// Decodes the name or the value of a query item, where `+` is a space. Most have nothing to decode.
    static func decodeItem(_ encoded: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
        let isPlain = encoded.allSatisfy { $0 != UInt8(ascii: "%") && $0 != UInt8(ascii: "+") }
        let bytes = UnsafeBufferPointer(rebasing: encoded)
        return isPlain ? String(utf8: bytes) : decode(bytes, plusIsSpace: true)
    }

    static func decode(_ encoded: some Sequence<UInt8>, plusIsSpace: Bool) -> String? {
        guard let bytes = decodeBytes(encoded, plusIsSpace: plusIsSpace) else { return nil }
        return String(utf8: bytes)
    }

    static func decodeBytes(_ encoded: some Sequence<UInt8>, plusIsSpace: Bool) -> [UInt8]? {
        var out: [UInt8] = []
        out.reserveCapacity(encoded.underestimatedCount)
        var rest = encoded.makeIterator()
        while let byte = rest.next() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.next().flatMap(value), let low = rest.next().flatMap(value) else { return nil }
                out.append(high << 4 | low)
            } else if plusIsSpace, byte == UInt8(ascii: "+") {
                out.append(UInt8(ascii: " "))
            } else {
                out.append(byte)
            }
        }
        return out
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
