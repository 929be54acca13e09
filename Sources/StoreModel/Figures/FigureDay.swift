import Foundation
import Primitives

/// Days of the UTC calendar as numbers since 1970-01-01, for figures.
package enum FigureDay {
    private static let length: Int64 = 86_400_000

    /// Returns the day that contains an instant. The limits of `figureMilliseconds` apply.
    package static func containing(_ instant: Date) -> Int64 {
        let milliseconds = instant.figureMilliseconds
        return milliseconds >= 0 ? milliseconds / length : -((length - 1 - milliseconds) / length)
    }

    /// Returns the first instant of a day.
    package static func start(of day: Int64) -> Date { Date(timeIntervalSince1970: Double(day) * 86400) }

    /// Returns the year, the month from 1 to 12, and the day of the month from 1 to 31.
    package static func date(of day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // The months are counted from March, so that the leap day is the last day of a year.
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let inEra = shifted - era * 146_097
        let yearInEra = (inEra - inEra / 1460 + inEra / 36_524 - inEra / 146_096) / 365
        let inYear = inEra - (365 * yearInEra + yearInEra / 4 - yearInEra / 100)
        let month = (5 * inYear + 2) / 153
        let fromJanuary = month < 10 ? month + 3 : month - 9
        return (yearInEra + era * 400 + (fromJanuary <= 2 ? 1 : 0), fromJanuary, inYear - (153 * month + 2) / 5 + 1)
    }

    /// Returns the number of a day of the calendar.
    package static func number(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearInEra = shiftedYear - era * 400
        let inYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearInEra * 365 + yearInEra / 4 - yearInEra / 100 + inYear - 719_468
    }

    /// Returns the same day of the month `months` later, or the last day of that month if it is shorter.
    package static func adding(months: Int64, to day: Int64) -> Int64 {
        let date = date(of: day)
        let index = date.year * 12 + date.month - 1 + months
        let year = index >= 0 ? index / 12 : -((11 - index) / 12)
        let first = number(year: year, month: index - year * 12 + 1, day: 1)
        let next = index + 1
        let nextYear = next >= 0 ? next / 12 : -((11 - next) / 12)
        let length = number(year: nextYear, month: next - nextYear * 12 + 1, day: 1) - first
        return first + min(date.day, length) - 1
    }

    /// Returns the number of whole months from `first` to `day`; 0 for an earlier day.
    package static func months(from first: Int64, to day: Int64) -> Int64 {
        guard day > first else { return 0 }
        let (start, end) = (date(of: first), date(of: day))
        let months = (end.year - start.year) * 12 + end.month - start.month
        return adding(months: months, to: first) <= day ? months : months - 1
    }
}

extension Date {
    /// The milliseconds since 1970, from -9 × 10^15 to 9 × 10^15 (285,000 years). A date beyond counts as the limit.
    var figureMilliseconds: Int64 {
        let milliseconds = (timeIntervalSince1970 * 1000).rounded()
        return Int64(exactly: min(max(milliseconds, -9e15), 9e15)) ?? 0
    }
}
