import Foundation
import Primitives
import StoreModel

/// The simulator's control API, everything below `/control/v1`, in the JSON of `StoreWire`.
///
/// `GET /openapi.json` of a running simulator describes each operation, `Documentation/ControlAPI.md` lists them.
///
/// Refusals are `HTTPProblem`s: a `SimulatorError`'s code (`unknownAccount` and its kind 404, `accountExists` 409,
/// `malformed` 400, what cannot be done now 422), and a `StoreFailure`'s code where the store does not sell
/// (`invalidProduct` 404, others 422).
public enum StoreControlWire {}

// MARK: - Time

extension StoreControlWire {
    /// Virtual time: `now` at the moment of the answer, running at `rate` virtual seconds a real second (0 is frozen).
    /// `revision` grows with every jump and every change of rate.
    package struct ClockState: Codable, Sendable, Equatable {
        package var now: Date
        package var rate: Double
        package var revision: Int64
        package init(now: Date, rate: Double, revision: Int64) {
            self.now = now
            self.rate = rate
            self.revision = revision
        }
    }

    /// Exactly one of the three: a calendar period (`P1M`), seconds, or the instant that it is then.
    package struct Advance: Codable, Sendable, Equatable {
        package var period: SubscriptionPeriod?
        package var seconds: Double?
        package var to: Date?
        package init(period: SubscriptionPeriod? = nil, seconds: Double? = nil, to: Date? = nil) {
            self.period = period
            self.seconds = seconds
            self.to = to
        }

        /// As people write it: a duration such as `90s`, `40d` or `P1M`, or an instant of RFC 3339; otherwise `nil`.
        /// Months and years are the calendar's, everything shorter is seconds.
        package init?(_ text: String) {
            if let instant = RFC3339.date(from: text) {
                self.init(to: instant)
            } else if let period = SubscriptionPeriod(duration: text) {
                let isOfCalendar = period.unit == .month || period.unit == .year
                let zero = Date(timeIntervalSince1970: 0)
                self.init(
                    period: isOfCalendar ? period : nil,
                    seconds: isOfCalendar ? nil : period.end(from: zero).timeIntervalSince(zero))
            } else {
                return nil
            }
        }
    }

    /// How fast time runs from now on: one of the names of `--time-rate`.
    package struct ClockRate: Codable, Sendable, Equatable {
        package var timeRate: String
        package init(timeRate: String) { self.timeRate = timeRate }
    }
}

// MARK: - Settings

extension StoreControlWire {
    /// One setting. The value is a text, a truth value or a number, as the setting's kind has it.
    public struct Setting: Codable, Sendable, Equatable {
        public var name: String
        public var value: JSONValue
        public init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    package struct SettingValue: Codable, Sendable, Equatable {
        package var value: JSONValue
        package init(value: JSONValue) { self.value = value }
    }

    package struct Settings: Codable, Sendable, Equatable {
        package var settings: [Setting]
        package init(settings: [Setting]) { self.settings = settings }
    }
}
