import Foundation

/// The delays of the retries of a notification (Apple, "Responding to App Store Server Notifications").
struct RetrySchedule: Sendable, Hashable {
    /// The hours from one attempt to the next, in virtual time.
    private let hours: [Int]

    /// Five retries, as in production.
    static let production = RetrySchedule(hours: [1, 12, 24, 48, 72])
    /// No retries, as in Apple's sandbox.
    static let once = RetrySchedule(hours: [])

    /// Returns the instant of the attempt after attempt `number`, which was made at `date`; `nil` after the last one.
    /// The first attempt has the number 1.
    func next(after number: Int, madeAt date: Date) -> Date? {
        guard hours.indices.contains(number - 1) else { return nil }
        return date.addingTimeInterval(Double(hours[number - 1]) * 3600)
    }
}
