import Foundation

/// A length of time in calendar units, written as an ISO 8601 duration such as `P1M`.
public struct SubscriptionPeriod: Hashable, Sendable, Codable {
    /// The number of units.
    public var value: Int
    /// The calendar unit.
    public var unit: Unit

    /// Creates a period.
    ///
    /// - Parameters:
    ///   - value: The number of units.
    ///   - unit: The calendar unit.
    public init(value: Int, unit: Unit) {
        self.value = value
        self.unit = unit
    }

    /// A calendar unit in which stores bill. The set is closed: ISO 8601 has no other unit that a store could use.
    public enum Unit: String, Hashable, Sendable, Codable, CaseIterable {
        case second, minute, hour, day, week, month, year

        /// The average length of the unit.
        fileprivate var seconds: TimeInterval {
            switch self {
            case .second: 1
            case .minute: 60
            case .hour: 3600
            case .day: 86_400
            case .week: 604_800
            case .month: 2_629_746
            case .year: 31_556_952
            }
        }
    }

    /// Creates a period of `value` days.
    ///
    /// - Parameter value: The number of days.
    public static func days(_ value: Int) -> SubscriptionPeriod { .init(value: value, unit: .day) }
    /// Creates a period of `value` weeks.
    ///
    /// - Parameter value: The number of weeks.
    public static func weeks(_ value: Int) -> SubscriptionPeriod { .init(value: value, unit: .week) }
    /// Creates a period of `value` months.
    ///
    /// - Parameter value: The number of months.
    public static func months(_ value: Int) -> SubscriptionPeriod { .init(value: value, unit: .month) }
    /// Creates a period of `value` years.
    ///
    /// - Parameter value: The number of years.
    public static func years(_ value: Int) -> SubscriptionPeriod { .init(value: value, unit: .year) }

    /// Creates a period from an ISO 8601 duration with one component, such as `P3D`, `P1W`, `P1M`, `P1Y` or `PT5M`.
    /// Returns `nil` for any other string, and for a value over 10,000.
    ///
    /// - Parameter text: The duration.
    public init?(iso8601 text: String) {
        var rest = Substring(text)
        guard rest.popFirst() == "P" else { return nil }
        let isTime = rest.first == "T"
        if isTime { rest = rest.dropFirst() }
        guard let last = rest.popLast(), let value = Int(rest), value > 0, value <= 10_000,
            rest.allSatisfy(\.isNumber), let unit = Self.designators.first(where: { $0 == (isTime, last, $0.2) })?.2
        else { return nil }
        self.init(value: value, unit: unit)
    }

    /// Creates a period from a short duration such as `90s`, `15m`, `6h`, `40d`, `2w` or `1y`, or from one ISO 8601
    /// component. Returns `nil` for any other string, and for a short duration of over 1,000,000,000 units.
    ///
    /// - Parameter text: The duration.
    public init?(duration text: String) {
        if let period = SubscriptionPeriod(iso8601: text) {
            self = period
            return
        }
        let units: [Character: Unit] = ["s": .second, "m": .minute, "h": .hour, "d": .day, "w": .week, "y": .year]
        let digits = text.dropLast()
        guard let unit = text.last.flatMap({ units[$0] }), digits.allSatisfy(\.isNumber), let value = Int(digits),
            value > 0, value <= 1_000_000_000
        else { return nil }
        self.init(value: value, unit: unit)
    }

    /// The period as an ISO 8601 duration.
    public var iso8601: String {
        let (isTime, letter, _) = Self.designators.first { $0.2 == unit } ?? (false, "D", .day)
        return "P\(isTime ? "T" : "")\(value)\(letter)"
    }

    private static let designators: [(Bool, Character, Unit)] = [
        (true, "S", .second), (true, "M", .minute), (true, "H", .hour), (false, "D", .day), (false, "W", .week),
        (false, "M", .month), (false, "Y", .year),
    ]

    /// Returns the instant `count` periods after `start`, in the Gregorian calendar and UTC.
    ///
    /// Counting from the start keeps the day of the month: from 31 January, one month is 28 or 29 February and two
    /// months are 31 March. A result is at most 10,000 years from the start, in either direction. If the start is
    /// further than that from 1970, months and years have their average lengths.
    ///
    /// - Parameters:
    ///   - start: The instant from which the periods count.
    ///   - count: The number of periods.
    /// - Returns: The end of the last period.
    public func end(from start: Date, count: Int = 1) -> Date {
        let length = Double(value) * Double(count) * unit.seconds
        guard length.magnitude <= Self.longest else {
            return start.addingTimeInterval(length < 0 ? -Self.longest : Self.longest)
        }
        let amount = value * count
        guard start.timeIntervalSince1970.magnitude <= Self.longest else { return start.addingTimeInterval(length) }
        switch unit {
        case .second, .minute, .hour, .day, .week: return start.addingTimeInterval(length)
        case .month: return Self.adding(months: amount, to: start)
        case .year: return Self.adding(months: 12 * amount, to: start)
        }
    }

    /// Adds months with the arithmetic of whole days, because a call of `Calendar` takes a microsecond. `Calendar` adds
    /// them to dates before the Gregorian calendar was introduced.
    private static func adding(months: Int, to start: Date) -> Date {
        let day = Int64((start.timeIntervalSince1970 / 86_400).rounded(.down))
        let end = FigureDay.adding(months: Int64(months), to: day)
        guard day >= gregorianSince, end >= gregorianSince else {
            return calendar.date(byAdding: .month, value: months, to: start) ?? start
        }
        return start.addingTimeInterval(Double(end - day) * 86_400)
    }

    private static let gregorianSince = FigureDay.number(year: 1583, month: 1, day: 1)

    /// The longest time that `Calendar` adds correctly.
    private static let longest = 10_000 * Unit.year.seconds

    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? calendar.timeZone
        return calendar
    }()

    /// Decodes a period from its ISO 8601 duration.
    ///
    /// - Parameter decoder: The decoder to read from.
    /// - Throws: `DecodingError` if the string is not an ISO 8601 duration with one component.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let period = SubscriptionPeriod(iso8601: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "a period is one ISO 8601 component such as \"P1M\"")
        }
        self = period
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(iso8601)
    }
}
