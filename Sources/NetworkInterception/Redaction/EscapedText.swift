import Foundation

/// A text with its escape sequences decoded, and the position in the original of each decoded byte.
struct EscapedText {
    /// The length of the longest character reference that is decoded.
    private static let longestReference = 10
    private static let entities: [(name: StaticString, character: UInt8)] = [
        ("lt", 0x3C), ("gt", 0x3E), ("amp", 0x26), ("apos", 0x27), ("equals", 0x3D), ("colon", 0x3A),
    ]
    private static let quote = Array("&quot;".utf8)

    private(set) var bytes: [UInt8] = []
    /// The position in the original of each decoded byte, and the end of the original.
    private var positions: [Int] = []

    /// Decodes the percent-encoding of a range.
    init(percentEncoded text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) {
        bytes.reserveCapacity(range.count)
        positions.reserveCapacity(range.count + 1)
        var position = range.lowerBound
        while position < range.upperBound {
            positions.append(position)
            let (decoded, length) = Self.percentEscape(in: text[position..<range.upperBound])
            bytes.append(decoded)
            position += length
        }
        positions.append(position)
    }

    /// Decodes the escape sequences of JSON and XML: `\u003c` and `&lt;` become `<`. Quotation marks stay escaped, so
    /// that no string ends too early. Decodes only printable ASCII characters. `nil` if nothing is decoded, which is
    /// the usual case.
    init?(_ text: UnsafeBufferPointer<UInt8>) {
        guard let start = text.baseAddress,
            memchr(start, 0x5C, text.count) != nil || memchr(start, 0x26, text.count) != nil
        else { return nil }
        var written = 0
        var position = 0
        while position < text.count {
            guard text[position] == UInt8(ascii: "\\") || text[position] == UInt8(ascii: "&") else {
                position += 1
                continue
            }
            // JSON in a string of JSON has additional backslashes.
            var escapeStart = position
            while text[escapeStart] == UInt8(ascii: "\\"), escapeStart + 1 < text.count,
                text[escapeStart + 1] == text[escapeStart]
            { escapeStart += 1 }
            guard let (decoded, end) = Self.escape(in: text, at: escapeStart) else {
                position = escapeStart + 1
                continue
            }
            if written == 0 { bytes.reserveCapacity(text.count) }
            append(text, written..<position)
            let encoded = decoded == UInt8(ascii: "\"") ? Self.quote : [decoded]
            bytes += encoded
            positions += repeatElement(position, count: encoded.count)
            (written, position) = (end, end)
        }
        guard written > 0 else { return nil }
        append(text, written..<text.count)
        positions.append(text.count)
    }

    /// Decodes a string of JSON completely, including quotation marks and line ends. An escaped character outside of
    /// ASCII becomes U+FFFD.
    init(string text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) {
        bytes.reserveCapacity(range.count)
        positions.reserveCapacity(range.count + 1)
        var position = range.lowerBound
        while position < range.upperBound {
            let (decoded, length) = Self.stringEscape(in: text[position..<range.upperBound])
            bytes += decoded
            positions += repeatElement(position, count: decoded.count)
            position += length
        }
        positions.append(position)
    }

    /// Returns the strings of JSON that contain escaped line ends, also if a string in the string contains them. Text
    /// between two quotation marks counts as a string, so that truncated JSON and other texts work too. Strings of
    /// Python and JavaScript in single quotation marks count if white space or punctuation precedes them.
    static func stringsWithEscapedLineEnds(in text: UnsafeBufferPointer<UInt8>) -> [Range<Int>] {
        guard let address = text.baseAddress, memchr(address, 0x5C, text.count) != nil else { return [] }
        var strings: [Range<Int>] = []
        var (start, position, hasLineEnds) = (0, 0, false)
        var singleQuoted: (start: Int, hasLineEnds: Bool)?
        while position < text.count {
            if text[position] == UInt8(ascii: "\\") {
                let firstBackslash = position
                while position < text.count, text[position] == UInt8(ascii: "\\") { position += 1 }
                guard position < text.count else { break }
                if "nr".utf8.contains(text[position]) || text[position...].prefix(4).elementsEqual("u000".utf8) {
                    hasLineEnds = true
                    singleQuoted?.hasLineEnds = true
                }
                if (position - firstBackslash) % 2 == 1 { position += 1 }
                continue
            }
            if text[position] == UInt8(ascii: "\"") {
                if hasLineEnds { strings.append(start..<position) }
                (start, hasLineEnds, singleQuoted) = (position + 1, false, nil)
            } else if text[position] == UInt8(ascii: "'") {
                if let found = singleQuoted {
                    if found.hasLineEnds { strings.append(found.start..<position) }
                    singleQuoted = nil
                } else if position > 0, text[position - 1] <= 0x20 || ":=,([{".utf8.contains(text[position - 1]) {
                    singleQuoted = (position + 1, false)
                }
            }
            position += 1
        }
        if hasLineEnds { strings.append(start..<text.count) }
        if let singleQuoted, singleQuoted.hasLineEnds { strings.append(singleQuoted.start..<text.count) }
        return strings
    }

    /// Escapes a replacement for a string of JSON.
    static func escaped(_ replacement: [UInt8]) -> [UInt8] {
        replacement.flatMap { "\"\\".utf8.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
    }

    /// Decodes the first character or escape sequence, and returns its length.
    private static func stringEscape(in text: Slice<UnsafeBufferPointer<UInt8>>) -> ([UInt8], Int) {
        let position = text.startIndex
        guard text[position] == UInt8(ascii: "\\"), text.count > 1 else { return ([text[position]], 1) }
        switch text[position + 1] {
        case UInt8(ascii: "n"): return ([0x0A], 2)
        case UInt8(ascii: "r"): return ([0x0D], 2)
        case UInt8(ascii: "t"): return ([0x09], 2)
        case UInt8(ascii: "u") where text.count > 5:
            var decoded: UInt32 = 0
            for digit in text[position + 2..<position + 6] {
                guard let value = digit.hexValue else { return ([text[position + 1]], 2) }
                decoded = decoded << 4 | UInt32(value)
            }
            return (decoded < 0x80 ? [UInt8(decoded)] : [0xEF, 0xBF, 0xBD], 6)
        case let byte: return ([byte], 2)
        }
    }

    private mutating func append(_ text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) {
        bytes += text[range]
        positions += range
    }

    /// Returns the range in the original that corresponds to a range of the decoded text.
    func original(_ range: Range<Int>) -> Range<Int> { positions[range.lowerBound]..<positions[range.upperBound] }

    /// Decodes the escape sequence of a printable ASCII character at `position`, and returns its end.
    private static func escape(in text: UnsafeBufferPointer<UInt8>, at position: Int) -> (UInt8, Int)? {
        if text[position] == UInt8(ascii: "\\") {
            guard position + 5 < text.count, text[position + 1] == UInt8(ascii: "u"),
                text[position + 2] == UInt8(ascii: "0"),
                text[position + 3] == UInt8(ascii: "0"), let high = text[position + 4].hexValue,
                let low = text[position + 5].hexValue
            else { return nil }
            let decoded = high << 4 | low
            return isPrintable(decoded) && !"\"\\".utf8.contains(decoded) ? (decoded, position + 6) : nil
        }
        let limit = min(text.count, position + longestReference)
        guard let end = text[position..<limit].firstIndex(of: UInt8(ascii: ";")) else { return nil }
        let name = text[position + 1..<end]
        for entity in entities where name.count == entity.name.utf8CodeUnitCount {
            if name.elementsEqual(UnsafeBufferPointer(start: entity.name.utf8Start, count: name.count)) {
                return (entity.character, end + 1)
            }
        }
        guard name.first == UInt8(ascii: "#") else { return nil }
        let isHexadecimal = name.dropFirst().first.map { $0 | 0x20 } == UInt8(ascii: "x")
        let digits = String(decoding: name.dropFirst(isHexadecimal ? 2 : 1), as: UTF8.self)
        guard let decoded = UInt8(digits, radix: isHexadecimal ? 16 : 10), isPrintable(decoded) else { return nil }
        return (decoded, end + 1)
    }

    /// Decodes a percent-encoded byte, `+` as a space, or another byte at the start of `text`. Also returns its length.
    static func percentEscape(in text: Slice<UnsafeBufferPointer<UInt8>>) -> (decoded: UInt8, length: Int) {
        let position = text.startIndex
        if text[position] == UInt8(ascii: "%"), text.count > 2, let high = text[position + 1].hexValue,
            let low = text[position + 2].hexValue
        {
            return (high << 4 | low, 3)
        }
        return (text[position] == UInt8(ascii: "+") ? 0x20 : text[position], 1)
    }

    private static func isPrintable(_ byte: UInt8) -> Bool { (0x20..<0x7F).contains(byte) }
}
