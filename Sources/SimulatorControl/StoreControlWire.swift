import Foundation
import Primitives
import StoreModel

/// The simulator's control API: all paths below `/control/v1`, in the JSON of `StoreWire`.
///
/// `GET /openapi.json` and `Documentation/Reference/SimulatorHTTP.md` describe each operation.
///
/// An error is an `HTTPProblem` with the code of a `SimulatorError`. Its status is 400 for `malformed`, 404 for
/// `unknownAccount` and similar codes, 409 for an operation that the present state does not allow, and 422 for
/// `invalidValue`, `unknownStorefront`, `otherGroup` and `tooManyTransactions`. If the store refuses a sale, the
/// problem has the code of a `StoreFailure`: 404 for `invalidProduct`, and 422 for all others. Other codes are
/// `tooLarge` (413), `storage` and `closed` (503), and `internal` (500).
public enum StoreControlWire {}

extension StoreControlWire {
    /// The virtual time: `now` at the time of the answer, with a rate of `rate` virtual seconds for each real second. A
    /// rate of 0 is a frozen clock. `revision` grows with every jump and every change of rate.
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

    /// A jump of the clock. Exactly one value is set: a calendar period (`P1M`), a number of seconds, or the instant to
    /// jump to.
    package struct Advance: Codable, Sendable, Equatable {
        package var period: SubscriptionPeriod?
        package var seconds: Double?
        package var to: Date?
        package init(period: SubscriptionPeriod? = nil, seconds: Double? = nil, to: Date? = nil) {
            self.period = period
            self.seconds = seconds
            self.to = to
        }

        /// Creates a jump from a duration such as `90s`, `40d` or `P1M`, or from an RFC 3339 instant. Returns `nil` for
        /// any other string. Months and years are those of the calendar; shorter units become seconds.
        package init?(_ text: String) {
            if let instant = RFC3339.date(from: text) {
                self.init(to: instant)
            } else if let period = SubscriptionPeriod(duration: text) {
                let isCalendarUnit = period.unit == .month || period.unit == .year
                let zero = Date(timeIntervalSince1970: 0)
                self.init(
                    period: isCalendarUnit ? period : nil,
                    seconds: isCalendarUnit ? nil : period.end(from: zero).timeIntervalSince(zero))
            } else {
                return nil
            }
        }
    }

    /// The new rate of the clock: a name that the option `--time-rate` accepts.
    package struct ClockRate: Codable, Sendable, Equatable {
        package var timeRate: String
        package init(timeRate: String) { self.timeRate = timeRate }
    }
}

extension StoreControlWire {
    /// A setting. The value is a string, a Boolean or a number, depending on the setting.
    public struct Setting: Codable, Sendable, Equatable {
        /// The name of the setting.
        public var name: String
        /// The value of the setting.
        public var value: JSONValue
        /// Creates a setting.
        ///
        /// - Parameters:
        ///   - name: The name of the setting.
        ///   - value: The value of the setting.
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
