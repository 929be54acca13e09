import Foundation
import Primitives
import StoreModel

/// The value of a receipt's attribute as a place in its bytes. In most attributes it is one ASN.1 element.
struct ReceiptValue {
    let bytes: UnsafeRawBufferPointer
    let place: Range<Int>

    /// The result of decoding a value.
    enum Reading<Value> {
        case value(Value)
        /// The attribute has no octets or an empty string.
        case empty
        /// The value has another type than the requested one.
        case unfit

        func flatMap<Other>(_ transform: (Value) -> Other?) -> Reading<Other> {
            switch self {
            case .value(let value): transform(value).map { .value($0) } ?? .unfit
            case .empty: .empty
            case .unfit: .unfit
            }
        }
    }

    /// The octets.
    var octets: Reading<[UInt8]> { place.isEmpty ? .empty : .value(Array(bytes[place])) }

    /// A string of any type that is ASCII or UTF-8 (X.690 section 8.23).
    var text: Reading<String> {
        textContent.flatMap { content in
            let text = String(decoding: UnsafeRawBufferPointer(rebasing: bytes[content]), as: UTF8.self)
            // Decoding replaces invalid UTF-8, so the octets are compared.
            return isPlain(content) || text.utf8.elementsEqual(bytes[content]) ? text : nil
        }
    }

    /// Decodes a string as an identifier. The rule of `ID` must accept each plain string of 1 to 255 characters.
    func identifier<ID: Identifier>() -> Reading<ID> {
        guard case .value(let content) = textContent, content.count <= 255, isPlain(content) else {
            return text.flatMap { ID(rawValue: $0) }
        }
        return .value(ID(unchecked: String(decoding: UnsafeRawBufferPointer(rebasing: bytes[content]), as: UTF8.self)))
    }

    /// Returns whether these are printable ASCII characters and spaces. It compares eight at a time.
    private func isPlain(_ content: Range<Int>) -> Bool {
        var position = content.lowerBound
        // An octet outside 0x20...0x7E sets its high bit. Only such an octet borrows from the next one or carries.
        var outside: UInt64 = 0
        while content.upperBound &- position >= 8 {
            let word = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            outside |= word | (word &- 0x2020_2020_2020_2020) | (word &+ 0x0101_0101_0101_0101)
            position &+= 8
        }
        while position < content.upperBound {
            outside |= bytes[position] &- 0x20 < 0x5F ? 0 : 0x80
            position &+= 1
        }
        return outside & 0x8080_8080_8080_8080 == 0
    }

    /// An INTEGER of at most 64 bits.
    var integer: Reading<Int64> {
        if place.count == 3, bytes[place.lowerBound] == BERTag.integer, bytes[place.lowerBound + 1] == 1 {
            return .value(Int64(Int8(bitPattern: bytes[place.lowerBound + 2])))
        }
        return element.flatMap { tag, content in
            tag == BERTag.integer ? BERReader(bytes, in: content, rules: .basic).integer(content) : nil
        }
    }

    /// An identifier that is a number in some receipts and a string in others.
    var integerText: Reading<String> {
        let number = integer.flatMap { String($0) }
        if case .unfit = number { return text }
        return number
    }

    /// A date in a string, in any of the forms of `ReceiptDate`.
    var date: Reading<Date> {
        textContent.flatMap { content in
            ReceiptDate(UnsafeRawBufferPointer(rebasing: bytes[content])).map {
                Date(timeIntervalSince1970: $0.seconds)
            }
        }
    }

    private var textContent: Reading<Range<Int>> {
        let reading: Reading<Range<Int>> = element.flatMap { tag, content in
            switch tag {
            case BERTag.utf8String, BERTag.ia5String, BERTag.printableString, BERTag.visibleString: content
            default: nil
            }
        }
        if case .value(let content) = reading, content.isEmpty { return .empty }
        return reading
    }

    /// The single element of the value.
    @inline(__always)
    private var element: Reading<(tag: UInt8, content: Range<Int>)> {
        if place.isEmpty { return .empty }
        let start = place.lowerBound
        if place.count >= 2, bytes[start + 1] < 0x80, place.count == 2 &+ Int(bytes[start + 1]) {
            return .value((bytes[start], Range(uncheckedBounds: (start &+ 2, place.upperBound))))
        }
        return longElement
    }

    private var longElement: Reading<(tag: UInt8, content: Range<Int>)> {
        var reader = BERReader(bytes, in: place, rules: .basic)
        guard let element = try? reader.read(), reader.isAtEnd else { return .unfit }
        return .value((element.tag, element.content))
    }
}

extension UnsafeRawBufferPointer {
    /// Returns whether two places have the same octets.
    func areEqual(_ first: Range<Int>, _ second: Range<Int>) -> Bool {
        guard first.count == second.count else { return false }
        guard let base = baseAddress, !first.isEmpty else { return true }
        return memcmp(base + first.lowerBound, base + second.lowerBound, first.count) == 0
    }
}

/// A date in a receipt (Apple: Receipt Fields, "IA5STRING, interpreted as an RFC 3339 date"). The forms that Xcode
/// writes are also read: with a fraction, with an offset without a colon, and with AM or PM on machines with a
/// twelve-hour clock.
///
///     2024-02-23T17:03:40Z   2020-07-22T18:33:15+0100   2021-03-04T05:06:07.089Z   2020-07-22T6:33:15 PM+0100
struct ReceiptDate {
    /// The seconds since 1970.
    let seconds: Double

    init?(_ text: UnsafeRawBufferPointer) {
        if let seconds = Self.secondsOfUsualForm(text) {
            self.seconds = seconds
            return
        }
        var scanner = Scanner(text: text)
        guard let year = scanner.number(of: 4), scanner.take("-"), let month = scanner.number(of: 2),
            scanner.take("-"), let day = scanner.number(of: 2), scanner.take("T") || scanner.take(" "),
            let days = RFC3339.days(year: year, month: month, day: day), var hour = scanner.number(upTo: 2),
            scanner.take(":"), let minute = scanner.number(of: 2), scanner.take(":"),
            let second = scanner.number(of: 2), minute <= 59, second <= 60, let fraction = scanner.fraction()
        else { return nil }
        if let isAfternoon = scanner.halfOfDay() {
            guard (1...12).contains(hour) else { return nil }
            hour = hour % 12 + (isAfternoon ? 12 : 0)
        }
        guard hour <= 23, let offset = scanner.offset(), scanner.isAtEnd else { return nil }
        seconds = Double(days * 86400 + hour * 3600 + minute * 60 + second - offset) + fraction
    }

    /// Returns the same result as the scanner, several times faster, for the form that Apple writes: 20 characters that
    /// end in `Z`.
    private static func secondsOfUsualForm(_ text: UnsafeRawBufferPointer) -> Double? {
        guard text.count == 20, text[4] == 0x2D, text[7] == 0x2D, text[10] == 0x54, text[13] == 0x3A, text[16] == 0x3A,
            text[19] == 0x5A
        else { return nil }
        var isNumeric = true
        func pair(_ position: Int) -> Int64 {
            let (tens, ones) = (text[position] &- 0x30, text[position + 1] &- 0x30)
            isNumeric = isNumeric && tens < 10 && ones < 10
            return Int64(tens) &* 10 &+ Int64(ones)
        }
        let (year, month, day) = (pair(0) &* 100 &+ pair(2), pair(5), pair(8))
        let (hour, minute, second) = (pair(11), pair(14), pair(17))
        guard isNumeric, hour <= 23, minute <= 59, second <= 60,
            let days = RFC3339.days(year: year, month: month, day: day)
        else { return nil }
        return Double(days &* 86400 &+ hour &* 3600 &+ minute &* 60 &+ second)
    }

    private struct Scanner {
        let text: UnsafeRawBufferPointer
        var position = 0

        init(text: UnsafeRawBufferPointer) { self.text = text }

        var isAtEnd: Bool { position == text.count }

        mutating func digit() -> Int64? {
            guard position < text.count, (0x30...0x39).contains(text[position]) else { return nil }
            position += 1
            return Int64(text[position - 1] - 0x30)
        }

        mutating func number(of count: Int) -> Int64? {
            var value: Int64 = 0
            for _ in 0..<count {
                guard let next = digit() else { return nil }
                value = value * 10 + next
            }
            return value
        }

        mutating func number(upTo count: Int) -> Int64? {
            guard var value = digit() else { return nil }
            for _ in 1..<count { if let next = digit() { value = value * 10 + next } }
            return value
        }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard position < text.count, text[position] == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        /// Reads a fraction, which is 0 if there is none. Digits after the nanoseconds are ignored.
        mutating func fraction() -> Double? {
            guard take(".") || take(",") else { return 0 }
            guard let first = digit() else { return nil }
            var (numerator, denominator) = (Double(first), 10.0)
            while let next = digit() {
                guard denominator < 1e9 else { continue }
                numerator = numerator * 10 + Double(next)
                denominator *= 10
            }
            return numerator / denominator
        }

        /// Reads AM or PM. Returns whether it is PM, or `nil` if there is neither.
        mutating func halfOfDay() -> Bool? {
            let start = position
            // Newer systems write U+202F, NARROW NO-BREAK SPACE, before it.
            if !take(" "), position + 3 <= text.count, text[position] == 0xE2, text[position + 1] == 0x80,
                text[position + 2] == 0xAF
            {
                position += 3
            }
            if position + 2 <= text.count, text[position + 1] | 0x20 == UInt8(ascii: "m") {
                let letter = text[position] | 0x20
                if letter == UInt8(ascii: "a") || letter == UInt8(ascii: "p") {
                    position += 2
                    return letter == UInt8(ascii: "p")
                }
            }
            position = start
            return nil
        }

        /// Reads an offset in seconds east of UTC: `Z`, `+01:00`, `+0100` or `+01`.
        mutating func offset() -> Int64? {
            if take("Z") || take("z") { return 0 }
            let isWest = take("-")
            guard isWest || take("+"), let hours = number(of: 2), hours <= 23 else { return nil }
            if isAtEnd { return hours * (isWest ? -3600 : 3600) }
            _ = take(":")
            guard let minutes = number(of: 2), minutes <= 59 else { return nil }
            return (hours * 3600 + minutes * 60) * (isWest ? -1 : 1)
        }
    }
}
