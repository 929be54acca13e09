import Foundation

/// When a notification that did not arrive is sent again (Apple, "Responding to App Store Server Notifications").
struct RetrySchedule: Sendable, Hashable {
    /// Hours from one attempt to the next, in virtual time.
    private let hours: [Int]

    /// Five times, as the App Store does in production.
    static let production = RetrySchedule(hours: [1, 12, 24, 48, 72])
    /// Never, as in Apple's sandbox.
    static let once = RetrySchedule(hours: [])

    /// The instant of the attempt that follows attempt number `number`, which was made at `date`; attempts count from 1.
    /// `nil`: that one was the last.
    func next(after number: Int, madeAt date: Date) -> Date? {
        guard hours.indices.contains(number - 1) else { return nil }
        return date.addingTimeInterval(Double(hours[number - 1]) * 3600)
    }
}
