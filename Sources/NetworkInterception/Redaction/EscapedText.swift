import Foundation

/// A text with its escape sequences decoded, and the position of each byte in the original.
struct EscapedText {
    /// The length of the longest character reference of XML, `&#x0022;`.
    private static let longestEntity = 10
    private static let names: [(name: StaticString, meaning: UInt8)] = [
        ("lt", 0x3C), ("gt", 0x3E), ("amp", 0x26), ("apos", 0x27), ("equals", 0x3D), ("colon", 0x3A),
    ]
    private static let quote = Array("&quot;".utf8)

    private(set) var bytes: [UInt8] = []
    /// The position of each byte in the original, and the end of the original.
    private var places: [Int] = []

    /// Decodes the percent-encoding of a range.
    init(percentEncoded text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) {
        bytes.reserveCapacity(range.count)
        places.reserveCapacity(range.count + 1)
        var place = range.lowerBound
        while place < range.upperBound {
            places.append(place)
            let (meaning, length) = Self.percentEscape(in: text[place..<range.upperBound])
            bytes.append(meaning)
            place += length
        }
        places.append(place)
    }

    /// Decodes the escape sequences of JSON and XML: `\u003c` and `&lt;` become `<`. Quotation marks stay escaped, so
    /// that each string keeps its end. `nil` if the text has no escape sequences, as nearly all texts.
    init?(_ text: UnsafeBufferPointer<UInt8>) {
        guard let start = text.baseAddress,
            memchr(start, 0x5C, text.count) != nil || memchr(start, 0x26, text.count) != nil
        else { return nil }
        var written = 0
        var place = 0
        while place < text.count {
            guard text[place] == UInt8(ascii: "\\") || text[place] == UInt8(ascii: "&") else {
                place += 1
                continue
            }
            // JSON in a string of JSON has additional backslashes.
            var sign = place
            while text[sign] == UInt8(ascii: "\\"), sign + 1 < text.count, text[sign + 1] == text[sign] { sign += 1 }
            guard let (meaning, end) = Self.escape(in: text, at: sign) else {
                place = sign + 1
                continue
            }
            if written == 0 { bytes.reserveCapacity(text.count) }
            append(text, written..<place)
            let meant = meaning == UInt8(ascii: "\"") ? Self.quote : [meaning]
            bytes += meant
            places += repeatElement(place, count: meant.count)
            (written, place) = (end, end)
        }
        guard written > 0 else { return nil }
        append(text, written..<text.count)
        places.append(text.count)
    }

    /// Decodes a string of JSON completely, including quotation marks and line ends. A character outside of ASCII
    /// becomes U+FFFD.
    init(string text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) {
        bytes.reserveCapacity(range.count)
        places.reserveCapacity(range.count + 1)
        var place = range.lowerBound
        while place < range.upperBound {
            let (meaning, length) = Self.stringEscape(in: text[place..<range.upperBound])
            bytes += meaning
            places += repeatElement(place, count: meaning.count)
            place += length
        }
        places.append(place)
    }

    /// The strings of JSON that contain escaped line ends, including strings in strings. Text between two quotation
    /// marks counts as a string, so that cut JSON and other texts work too. Strings of Python and JavaScript in single
    /// quotation marks count if the mark follows punctuation.
    static func stringsWithLines(in text: UnsafeBufferPointer<UInt8>) -> [Range<Int>] {
        guard let address = text.baseAddress, memchr(address, 0x5C, text.count) != nil else { return [] }
        var strings: [Range<Int>] = []
        var (start, place, hasLines) = (0, 0, false)
        var single: (start: Int, hasLines: Bool)?
        while place < text.count {
            if text[place] == UInt8(ascii: "\\") {
                let sign = place
                while place < text.count, text[place] == UInt8(ascii: "\\") { place += 1 }
                guard place < text.count else { break }
                if "nr".utf8.contains(text[place]) || text[place...].prefix(4).elementsEqual("u000".utf8) {
                    hasLines = true
                    single?.hasLines = true
                }
                if (place - sign) % 2 == 1 { place += 1 }
                continue
            }
            if text[place] == UInt8(ascii: "\"") {
                if hasLines { strings.append(start..<place) }
                (start, hasLines, single) = (place + 1, false, nil)
            } else if text[place] == UInt8(ascii: "'") {
                if let found = single {
                    if found.hasLines { strings.append(found.start..<place) }
                    single = nil
                } else if place > 0, text[place - 1] <= 0x20 || ":=,([{".utf8.contains(text[place - 1]) {
                    single = (place + 1, false)
                }
            }
            place += 1
        }
        if hasLines { strings.append(start..<text.count) }
        if let single, single.hasLines { strings.append(single.start..<text.count) }
        return strings
    }

    /// Escapes a replacement for a string of JSON.
    static func escaped(_ replacement: [UInt8]) -> [UInt8] {
        replacement.flatMap { "\"\\".utf8.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
    }

    /// Decodes the first character or escape sequence, and returns its length.
    private static func stringEscape(in text: Slice<UnsafeBufferPointer<UInt8>>) -> ([UInt8], Int) {
        let place = text.startIndex
        guard text[place] == UInt8(ascii: "\\"), text.count > 1 else { return ([text[place]], 1) }
        switch text[place + 1] {
        case UInt8(ascii: "n"): return ([0x0A], 2)
        case UInt8(ascii: "r"): return ([0x0D], 2)
        case UInt8(ascii: "t"): return ([0x09], 2)
        case UInt8(ascii: "u") where text.count > 5:
            var meaning: UInt32 = 0
            for digit in text[place + 2..<place + 6] {
                guard let value = digit.hexValue else { return ([text[place + 1]], 2) }
                meaning = meaning << 4 | UInt32(value)
            }
            return (meaning < 0x80 ? [UInt8(meaning)] : [0xEF, 0xBF, 0xBD], 6)
        case let byte: return ([byte], 2)
        }
    }

    private mutating func append(_ text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) {
        bytes += text[range]
        places += range
    }

    /// The range in the original that corresponds to a range of the decoded text.
    func original(_ range: Range<Int>) -> Range<Int> { places[range.lowerBound]..<places[range.upperBound] }

    /// Decodes the escape sequence of a printable ASCII character at `place`, and returns its end.
    private static func escape(in text: UnsafeBufferPointer<UInt8>, at place: Int) -> (UInt8, Int)? {
        if text[place] == UInt8(ascii: "\\") {
            guard place + 5 < text.count, text[place + 1] == UInt8(ascii: "u"), text[place + 2] == UInt8(ascii: "0"),
                text[place + 3] == UInt8(ascii: "0"), let high = text[place + 4].hexValue,
                let low = text[place + 5].hexValue
            else { return nil }
            let meaning = high << 4 | low
            return isPrintable(meaning) && !"\"\\".utf8.contains(meaning) ? (meaning, place + 6) : nil
        }
        let limit = min(text.count, place + longestEntity)
        guard let end = text[place..<limit].firstIndex(of: UInt8(ascii: ";")) else { return nil }
        let name = text[place + 1..<end]
        for known in names where name.count == known.name.utf8CodeUnitCount {
            if name.elementsEqual(UnsafeBufferPointer(start: known.name.utf8Start, count: name.count)) {
                return (known.meaning, end + 1)
            }
        }
        guard name.first == UInt8(ascii: "#") else { return nil }
        let isHexadecimal = name.dropFirst().first.map { $0 | 0x20 } == UInt8(ascii: "x")
        let digits = String(decoding: name.dropFirst(isHexadecimal ? 2 : 1), as: UTF8.self)
        guard let meaning = UInt8(digits, radix: isHexadecimal ? 16 : 10), isPrintable(meaning) else { return nil }
        return (meaning, end + 1)
    }

    /// Decodes the first byte or percent-encoded byte, and returns its length.
    static func percentEscape(in text: Slice<UnsafeBufferPointer<UInt8>>) -> (meaning: UInt8, length: Int) {
        let place = text.startIndex
        if text[place] == UInt8(ascii: "%"), text.count > 2, let high = text[place + 1].hexValue,
            let low = text[place + 2].hexValue
        {
            return (high << 4 | low, 3)
        }
        return (text[place] == UInt8(ascii: "+") ? 0x20 : text[place], 1)
    }

    private static func isPrintable(_ byte: UInt8) -> Bool { (0x20..<0x7F).contains(byte) }
}
