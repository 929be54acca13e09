import Foundation

/// Dates as RFC 3339 strings in UTC, the format of Souk's own API.
public enum RFC3339 {
    /// The instants that the format can express: the years 0 to 9999 in UTC, in milliseconds since 1970.
    private static let milliseconds = -62_167_219_200_000.0...253_402_300_799_999

    /// Returns whether the format can express an instant, to the millisecond.
    package static func hasText(for date: Date) -> Bool {
        milliseconds.contains((date.timeIntervalSince1970 * 1000).rounded())
    }

    /// Returns the string of an instant, such as `2026-11-20T14:40:00Z`. It contains milliseconds only if they are not
    /// zero.
    ///
    /// - Parameter date: The instant. If the format cannot express it, the nearest one in the format's range is used.
    /// - Returns: The string.
    public static func string(from date: Date) -> String {
        let rounded = (date.timeIntervalSince1970 * 1000).rounded()
        let milliseconds = Int64(max(milliseconds.lowerBound, min(rounded, milliseconds.upperBound)))
        let inDay = (milliseconds % 86_400_000 + 86_400_000) % 86_400_000
        let days = (milliseconds - inDay) / 86_400_000
        let (year, month, day) = civil(fromDays: days)
        let seconds = inDay / 1000
        let fraction = inDay % 1000
        return String(unsafeUninitializedCapacity: 24) { text in
            var count = 0
            func write(_ value: Int64, digits: Int, then separator: Unicode.Scalar) {
                var rest = value
                for place in (count..<count + digits).reversed() {
                    text[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                    rest /= 10
                }
                text[count + digits] = UInt8(ascii: separator)
                count += digits + 1
            }
            write(year, digits: 4, then: "-")
            write(month, digits: 2, then: "-")
            write(day, digits: 2, then: "T")
            write(seconds / 3600, digits: 2, then: ":")
            write(seconds / 60 % 60, digits: 2, then: ":")
            write(seconds % 60, digits: 2, then: fraction == 0 ? "Z" : ".")
            if fraction != 0 { write(fraction, digits: 3, then: "Z") }
            return count
        }
    }

    /// Parses a date. Accepts any offset, `T` or `t`, `Z` or `z`, and a fraction of any length.
    ///
    /// - Parameter text: The string to parse.
    /// - Returns: The instant, or `nil` for an invalid string or for an instant that the format cannot express in UTC.
    public static func date(from text: String) -> Date? {
        var scanner = Scanner(bytes: Array(text.utf8))
        guard let year = scanner.digits(4), scanner.take("-"), let month = scanner.digits(2), scanner.take("-"),
            let day = scanner.digits(2), scanner.take("T", "t"), let hour = scanner.digits(2), scanner.take(":"),
            let minute = scanner.digits(2), scanner.take(":"), let second = scanner.digits(2),
            let days = days(year: year, month: month, day: day), hour <= 23, minute <= 59, second <= 60,
            let fraction = scanner.fraction(), let offset = scanner.offset(), scanner.isAtEnd
        else { return nil }
        let whole = days * 86400 + hour * 3600 + minute * 60 + second - offset
        let date = Date(timeIntervalSince1970: Double(whole) + fraction)
        return hasText(for: date) ? date : nil
    }

    private static func lengthOfMonth(_ month: Int64, in year: Int64) -> Int64 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][Int(month) - 1]
    }

    /// Returns the days since 1970-01-01 of a date in the proleptic Gregorian calendar, or `nil` for a date that does
    /// not exist.
    package static func days(year: Int64, month: Int64, day: Int64) -> Int64? {
        guard (1...12).contains(month), day >= 1, day <= lengthOfMonth(month, in: year) else { return nil }
        return daysFromCivil(year: year, month: month, day: day)
    }

    /// Returns the days since 1970-01-01, counted in eras of 400 years that begin in March.
    private static func daysFromCivil(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        )
    }

    private struct Scanner {
        let bytes: [UInt8]
        var position = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        var isAtEnd: Bool { position == bytes.count }

        mutating func digit() -> Int64? {
            guard position < bytes.count, (0x30...0x39).contains(bytes[position]) else { return nil }
            defer { position += 1 }
            return Int64(bytes[position] - 0x30)
        }

        mutating func digits(_ count: Int) -> Int64? {
            var value: Int64 = 0
            for _ in 0..<count {
                guard let next = digit() else { return nil }
                value = value * 10 + next
            }
            return value
        }

        mutating func take(_ choices: Unicode.Scalar...) -> Bool {
            guard position < bytes.count, choices.contains(Unicode.Scalar(bytes[position])) else { return false }
            position += 1
            return true
        }

        mutating func fraction() -> Double? {
            guard take(".") else { return 0 }
            guard let first = digit() else { return nil }
            var numerator = Double(first)
            var denominator = 10.0
            while let next = digit() {
                guard denominator < 1e15 else { continue }
                numerator = numerator * 10 + Double(next)
                denominator *= 10
            }
            return numerator / denominator
        }

        /// Reads an offset and returns it in seconds east of UTC.
        mutating func offset() -> Int64? {
            if take("Z", "z") { return 0 }
            let isWest = position < bytes.count && bytes[position] == UInt8(ascii: "-")
            guard take("+", "-"), let hours = digits(2), take(":"), let minutes = digits(2), hours <= 23, minutes <= 59
            else { return nil }
            return (hours * 3600 + minutes * 60) * (isWest ? -1 : 1)
        }
    }
}
