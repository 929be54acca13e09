import Foundation
import Primitives
import StoreModel

/// The value of a receipt's attribute in place: octets that are one ASN.1 element in most attributes.
struct ReceiptValue {
    let bytes: UnsafeRawBufferPointer
    let place: Range<Int>

    /// What a value reads as.
    enum Reading<Value> {
        case value(Value)
        /// There, but nothing in it: no octets, no text.
        case empty
        /// Something else than what was asked for.
        case unfit

        func flatMap<Other>(_ transform: (Value) -> Other?) -> Reading<Other> {
            switch self {
            case .value(let value): transform(value).map { .value($0) } ?? .unfit
            case .empty: .empty
            case .unfit: .unfit
            }
        }
    }

    /// The octets themselves.
    var octets: Reading<[UInt8]> { place.isEmpty ? .empty : .value(Array(bytes[place])) }

    /// A text of any of the kinds that are ASCII or UTF-8 (X.690 section 8.23).
    var text: Reading<String> {
        textContent.flatMap { content in
            let text = String(decoding: bytes[content], as: UTF8.self)
            // Decoding repairs what is not UTF-8; what was repaired is longer or other text.
            return text.utf8.count == content.count && text.utf8.elementsEqual(bytes[content]) ? text : nil
        }
    }

    /// An INTEGER of at most 64 bits.
    var integer: Reading<Int64> {
        element.flatMap { tag, content in
            tag == BERTag.integer ? BERReader(bytes, in: content, rules: .basic).integer(content) : nil
        }
    }

    /// An identifier that is a number in one receipt and a text in another.
    var integerText: Reading<String> {
        let number = integer.flatMap { String($0) }
        if case .unfit = number { return text }
        return number
    }

    /// A date in text, in any of the forms of `ReceiptDate`.
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

    /// The one element that the value is.
    private var element: Reading<(tag: UInt8, content: Range<Int>)> {
        if place.isEmpty { return .empty }
        let start = place.lowerBound
        if place.count >= 2, bytes[start + 1] < 0x80, place.count == 2 + Int(bytes[start + 1]) {
            return .value((bytes[start], start + 2..<place.upperBound))
        }
        var reader = BERReader(bytes, in: place, rules: .basic)
        guard let element = try? reader.read(), reader.isAtEnd else { return .unfit }
        return .value((element.tag, element.content))
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the same octets stand in two places.
    func areEqual(_ first: Range<Int>, _ second: Range<Int>) -> Bool {
        guard first.count == second.count else { return false }
        guard let base = baseAddress, !first.isEmpty else { return true }
        return memcmp(base + first.lowerBound, base + second.lowerBound, first.count) == 0
    }
}

/// A date in a receipt (Apple: Receipt Fields, "IA5STRING, interpreted as an RFC 3339 date"), and as Xcode writes it:
/// with a fraction, with an offset without a colon, and, on machines set to twelve hours, with AM or PM.
///
///     2024-02-23T17:03:40Z   2020-07-22T18:33:15+0100   2021-03-04T05:06:07.089Z   2020-07-22T6:33:15 PM+0100
struct ReceiptDate {
    /// Since 1970.
    let seconds: Double

    init?(_ text: UnsafeRawBufferPointer) {
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

        /// 0 without one; digits beyond the nanoseconds do not count.
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

        /// Whether it is the afternoon; `nil` when that is not said.
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

        /// Seconds east of UTC: `Z`, `+01:00`, `+0100` or `+01`.
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
