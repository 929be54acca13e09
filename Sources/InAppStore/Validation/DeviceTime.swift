import Foundation
import StoreModel

/// What time it is on a device whose clock may be wrong.
///
/// A clock that is ahead of what the server says is believed so much less, until it is set. One that reads less than an
/// instant that is known to have come is believed in nothing but its pace: time goes on from where it was as fast as the
/// clock runs, until the clock has caught up or the server says what time it is. What passed while nobody read the clock
/// is not known.
struct DeviceTime: Sendable, Equatable, Codable {
    /// Clocks that differ by no more than this, in seconds, are the same: the server says whole seconds, and late.
    static let tolerance: TimeInterval = 60

    /// The latest instant known to have come.
    private(set) var latest: Date
    /// What the clock read then.
    private(set) var reading: Date
    /// By how much the clock is ahead, in seconds, as the server's word showed; `nil` when it is not, or was set since.
    private(set) var lead: TimeInterval?

    init(reading: Date) {
        latest = reading
        self.reading = reading
    }

    /// The clock was read. Returns what time it is.
    mutating func read(_ clock: Date) -> Date {
        if clock + Self.tolerance < reading { lead = nil }
        let time = clock - (lead ?? 0)
        latest = time >= latest ? time : latest + max(0, clock.timeIntervalSince(reading))
        reading = clock
        return latest
    }

    /// The server has answered, and its word counts more than any clock's. What it knew is as old as `asOf`; what time it
    /// is now it may have said besides.
    ///
    /// Returns whether the clock is found to be ahead, and was not before.
    ///
    /// Of a server that does not say the time, an answer that has not changed since may be as old as the one before
    /// (HTTP's 304): it only proves that its end has not come.
    mutating func learn(_ answer: CustomerAnswer, after before: Customer?) -> Bool {
        let leadBefore = lead
        let (asOf, validUntil) = (answer.customer.asOf, answer.customer.validUntil)
        if let saidAt = answer.saidAt {
            latest = max(saidAt, asOf)
            let ahead = reading.timeIntervalSince(latest)
            lead = ahead > Self.tolerance ? ahead : nil
        } else if asOf != before?.asOf || validUntil.map({ $0 <= latest }) ?? false {
            latest = asOf
        }
        return leadBefore == nil && lead != nil
    }
}
