import Foundation
import StoreModel

/// The time on a device whose clock may be wrong.
///
/// If the clock is ahead of the server's time, the difference is subtracted until the clock is set. If the clock shows
/// less than a known instant, only its pace is used. Time then continues from the latest instant as fast as the clock
/// runs, until the clock has caught up or the server sends the time. The time that passes while the clock is not read
/// is unknown.
struct DeviceTime: Sendable, Equatable, Codable {
    /// The difference, in seconds, up to which two clocks count as equal: the server sends whole seconds, with a delay.
    static let tolerance: TimeInterval = 60

    /// The latest known instant.
    private(set) var latest: Date
    /// The clock's time at that instant.
    private(set) var reading: Date
    /// How far the clock is ahead, in seconds, compared with the server; `nil` if it is not, or was set since.
    private(set) var lead: TimeInterval?

    init(reading: Date) {
        latest = reading
        self.reading = reading
    }

    /// Takes a reading of the clock. Returns the current time.
    mutating func read(_ clock: Date) -> Date {
        if clock + Self.tolerance < reading { lead = nil }
        let time = clock - (lead ?? 0)
        latest = time >= latest ? time : latest + max(0, clock.timeIntervalSince(reading))
        reading = clock
        return latest
    }

    /// Takes an answer of the server, whose time counts more than any clock's. The answer's data is from `asOf`; it may
    /// also contain the server's current time.
    ///
    /// Returns whether the clock is found ahead for the first time.
    ///
    /// If the server does not send the time, an unchanged answer may be as old as the one before (HTTP's 304). It then
    /// proves only that its end has not come.
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
