import Foundation
import Primitives
import StoreModel

/// The length of the periods of a series. Days are those of UTC, and weeks begin on Monday.
package enum FigureInterval: String, CaseIterable, Sendable {
    case day, week, month

    /// Returns the first day of the period that contains a day.
    package func start(of day: Int64) -> Int64 {
        switch self {
        case .day: return day
        case .week:
            // 1970-01-01 was a Thursday.
            let offset = (day + 3) % 7
            return day - (offset < 0 ? offset + 7 : offset)
        case .month: return day - FigureDay.date(of: day).day + 1
        }
    }

    /// Returns the first day of the period after the one that begins on `start`.
    func next(after start: Int64) -> Int64 {
        switch self {
        case .day: start + 1
        case .week: start + 7
        case .month: FigureDay.adding(months: 1, to: start)
        }
    }

    /// Returns the first day of a series of the usual length that ends on `day`: 30 days, 13 weeks or 12 months.
    package func usualStart(before day: Int64) -> Int64 {
        switch self {
        case .day: day - 29
        case .week: start(of: day) - 84
        case .month: FigureDay.adding(months: -11, to: start(of: day))
        }
    }

    /// The earliest and the latest day of a query: 1970-01-01 and 9999-12-31.
    package static let days: ClosedRange<Int64> = 0...2_932_896

    /// Parses a day such as `2026-11-20`, or the day of a date of RFC 3339. For a day outside of `days`, returns the
    /// nearest day of the range.
    package static func day(from text: String) -> Int64? {
        let instant = RFC3339.date(from: text.utf8.count == 10 ? "\(text)T00:00:00Z" : text)
        return instant.map { min(max(FigureDay.containing($0), days.lowerBound), days.upperBound) }
    }

    /// Returns a day as `2026-11-20`.
    package static func text(of day: Int64) -> String {
        String(RFC3339.string(from: FigureDay.start(of: day)).prefix(10))
    }
}

/// The dimension by which a series is divided.
package enum FigureGroup: String, CaseIterable, Sendable {
    case product, country, source, offer, app

    /// The column of `figure`.
    var column: String { rawValue }
}
