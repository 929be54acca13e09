import Foundation

/// Base64url without padding (RFC 4648 section 5) and strict base64 (section 4).
package enum Base64 {
    /// Encodes with the URL alphabet and no padding.
    package static func encodeURL(_ bytes: some Sequence<UInt8>) -> String {
        encode(bytes, alphabet: urlAlphabet, padded: false)
    }

    /// Encodes with the standard alphabet and padding.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        encode(bytes, alphabet: standardAlphabet, padded: true)
    }

    /// Decodes canonical base64url. Returns `nil` for padding, foreign characters, an impossible length or unused bits
    /// that are not zero.
    package static func decodeURL(_ text: some Collection<UInt8>) -> [UInt8]? {
        decode(text, table: urlTable)
    }

    package static func decodeURL(_ text: String) -> [UInt8]? {
        decodeURL(text.utf8)
    }

    /// Decodes canonical base64 with padding. Returns `nil` for any other text, including white space.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        var padding = 0
        for byte in text.suffix(2) where byte == UInt8(ascii: "=") { padding += 1 }
        return decode(text.dropLast(padding), table: standardTable)
    }

    package static func decode(_ text: String) -> [UInt8]? {
        decode(text.utf8)
    }

    private static let standardAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let urlAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let standardTable = inverse(of: standardAlphabet)
    private static let urlTable = inverse(of: urlAlphabet)

    private static func inverse(of alphabet: [UInt8]) -> [UInt8] {
        var table = [UInt8](repeating: 0xFF, count: 256)
        for (value, character) in alphabet.enumerated() { table[Int(character)] = UInt8(value) }
        return table
    }

    private static func encode(_ bytes: some Sequence<UInt8>, alphabet: [UInt8], padded: Bool) -> String {
        bytes.withContiguousStorageIfAvailable { encode($0, alphabet: alphabet, padded: padded) }
            ?? Array(bytes).withUnsafeBufferPointer { encode($0, alphabet: alphabet, padded: padded) }
    }

    // Takes a buffer, because other modules cannot specialise generic code, and a call per byte is 20 times slower.
    private static func encode(_ bytes: UnsafeBufferPointer<UInt8>, alphabet: [UInt8], padded: Bool) -> String {
        let unpadded = (bytes.count * 8 + 5) / 6
        let length = padded ? (unpadded + 3) / 4 * 4 : unpadded
        return String(unsafeUninitializedCapacity: length) { out in
            var position = 0
            var pending: UInt32 = 0
            var bits = 0
            for byte in bytes {
                pending = pending << 8 | UInt32(byte)
                bits += 8
                while bits >= 6 {
                    bits -= 6
                    out[position] = alphabet[Int(pending >> UInt32(bits) & 63)]
                    position += 1
                }
            }
            if bits > 0 {
                out[position] = alphabet[Int(pending << UInt32(6 - bits) & 63)]
                position += 1
            }
            while position < length {
                out[position] = UInt8(ascii: "=")
                position += 1
            }
            return length
        }
    }

    private static func decode(_ text: some Collection<UInt8>, table: [UInt8]) -> [UInt8]? {
        text.withContiguousStorageIfAvailable { decode($0, table: table) }
            ?? Array(text).withUnsafeBufferPointer { decode($0, table: table) }
    }

    private static func decode(_ text: UnsafeBufferPointer<UInt8>, table: [UInt8]) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        // With capacity 0, the initializer writes to storage that all empty arrays of the process share.
        guard !text.isEmpty else { return [] }
        var isCanonical = false
        let out = [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4) { out, count in
            table.withUnsafeBufferPointer { table in isCanonical = decode(text, table, to: out) }
            count = isCanonical ? text.count * 3 / 4 : 0
        }
        return isCanonical ? out : nil
    }

    /// Decodes four characters at a time. Returns `false` for text that is not canonical.
    ///
    /// The value of a foreign character is 0xFF, the only one with its highest bit set. All values are collected in
    /// `seen`, so that one test at the end finds such a character.
    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, _ table: UnsafeBufferPointer<UInt8>,
        to out: UnsafeMutableBufferPointer<UInt8>
    ) -> Bool {
        var seen: UInt8 = 0
        func value(_ position: Int) -> UInt32 {
            let value = table[Int(text[position])]
            seen |= value
            return UInt32(value)
        }
        var (read, written) = (0, 0)
        while read + 4 <= text.count {
            let bits = value(read) << 18 | value(read + 1) << 12 | value(read + 2) << 6 | value(read + 3)
            out[written] = UInt8(truncatingIfNeeded: bits >> 16)
            out[written + 1] = UInt8(truncatingIfNeeded: bits >> 8)
            out[written + 2] = UInt8(truncatingIfNeeded: bits)
            read += 4
            written += 3
        }
        var unused: UInt32 = 0
        switch text.count - read {
        case 2:
            let bits = value(read) << 6 | value(read + 1)
            out[written] = UInt8(truncatingIfNeeded: bits >> 4)
            unused = bits & 0xF
        case 3:
            let bits = value(read) << 12 | value(read + 1) << 6 | value(read + 2)
            out[written] = UInt8(truncatingIfNeeded: bits >> 10)
            out[written + 1] = UInt8(truncatingIfNeeded: bits >> 2)
            unused = bits & 0x3
        default: break
        }
        return seen < 0x80 && unused == 0
    }
}

/// Hexadecimal digits: written in lower case, read in either case.
package enum Hex {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let bytes = Array(bytes)
        return String(unsafeUninitializedCapacity: bytes.count * 2) { digits in
            for (place, byte) in bytes.enumerated() {
                digits[2 * place] = digit(byte >> 4)
                digits[2 * place + 1] = digit(byte & 15)
            }
            return bytes.count * 2
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// Decodes hexadecimal digits in either case. Returns `nil` for an odd number of digits or other characters.
    package static func decode(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var out: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Character(UnicodeScalar(digits[index])).hexDigitValue,
                let low = Character(UnicodeScalar(digits[index + 1])).hexDigitValue
            else { return nil }
            out.append(UInt8(high << 4 | low))
        }
        return out
    }
}
