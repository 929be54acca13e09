import Foundation

/// A length of time in calendar units, written as an ISO 8601 duration such as `P1M`.
public struct SubscriptionPeriod: Hashable, Sendable, Codable {
    public var value: Int
    public var unit: Unit

    public init(value: Int, unit: Unit) {
        self.value = value
        self.unit = unit
    }

    /// Calendar units in which stores bill. Closed: ISO 8601 knows no others that a store could name.
    public enum Unit: String, Hashable, Sendable, Codable, CaseIterable {
        case second, minute, hour, day, week, month, year

        /// Its usual length.
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

    public static func days(_ value: Int) -> SubscriptionPeriod { .init(value: value, unit: .day) }
    public static func weeks(_ value: Int) -> SubscriptionPeriod { .init(value: value, unit: .week) }
    public static func months(_ value: Int) -> SubscriptionPeriod { .init(value: value, unit: .month) }
    public static func years(_ value: Int) -> SubscriptionPeriod { .init(value: value, unit: .year) }

    /// From one ISO 8601 component: `P3D`, `P1W`, `P1M`, `P1Y`, `PT5M`; otherwise `nil`.
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

    /// As people write durations: `90s`, `15m`, `6h`, `40d`, `2w`, `1y` or one ISO 8601 component; otherwise `nil`.
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

    /// The ISO 8601 text.
    public var iso8601: String {
        let (isTime, letter, _) = Self.designators.first { $0.2 == unit } ?? (false, "D", .day)
        return "P\(isTime ? "T" : "")\(value)\(letter)"
    }

    private static let designators: [(Bool, Character, Unit)] = [
        (true, "S", .second), (true, "M", .minute), (true, "H", .hour), (false, "D", .day), (false, "W", .week),
        (false, "M", .month), (false, "Y", .year),
    ]

    /// The instant `count` periods after `start`, in the Gregorian calendar and UTC. Counting from the start keeps the
    /// day of the month: from 31 January, one month is 28 or 29 February and two months are 31 March. What lasts longer
    /// than 10,000 years, in either direction, ends after 10,000 years. From a start that is further than that from 1970
    /// months and years have their usual lengths.
    public func end(from start: Date, count: Int = 1) -> Date {
        let length = Double(value) * Double(count) * unit.seconds
        guard length.magnitude <= Self.longest else {
            return start.addingTimeInterval(length < 0 ? -Self.longest : Self.longest)
        }
        let amount = value * count
        guard start.timeIntervalSince1970.magnitude <= Self.longest else { return start.addingTimeInterval(length) }
        switch unit {
        case .second, .minute, .hour, .day, .week: return start.addingTimeInterval(length)
        case .month: return Self.calendar.date(byAdding: .month, value: amount, to: start) ?? start
        case .year: return Self.calendar.date(byAdding: .year, value: amount, to: start) ?? start
        }
    }

    /// Beyond it calendars answer anything.
    private static let longest = 10_000 * Unit.year.seconds

    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? calendar.timeZone
        return calendar
    }()

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
